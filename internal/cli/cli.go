package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/app/command"
	"github.com/slipboxhq/slipbox/internal/build"
)

// cli holds what all subcommands share: streams, the environment and the flags of all commands.
type cli struct {
	in     io.Reader
	out    *screen
	errs   *screen
	getenv func(string) string
	http   *http.Client

	profile    string // flag; "": the default profile
	url        string // flag
	collection string // flag
	ids        map[string]*string
	json, text bool
}

// idNames are the ids of an application that name a collection, in the order of the contract.
var idNames = []string{"user", "agent", "app", "run"}

// New returns the root command. It reads os.Stdin and the environment of the process.
func New(stdout, stderr io.Writer) *cobra.Command {
	c := &cli{
		in: os.Stdin, out: newScreen(stdout, os.Getenv), errs: newScreen(stderr, os.Getenv), getenv: func(name string) string { return strings.TrimSpace(os.Getenv(name)) },
		http: &http.Client{Transport: transport()}, ids: map[string]*string{},
	}
	root := command.Root(&cobra.Command{
		Use:   "slipbox",
		Short: "Add to the memories of slipbox, and ask them",
		Long: "Add to memories, search them, chat with them, fork and merge them. slipbox calls a gateway (`gateway serve`)\n" +
			"over HTTP. `slipbox login` keeps its address and a key; SLIPBOX_URL and SLIPBOX_API_KEY (or\n" +
			"SLIPBOX_KEY) win over what is kept, and flags win over both.\n\n" +
			"A memory is a collection: --collection names it, or ids of your application do (--user).\n\n" +
			"On a terminal the output is text, in a pipe it is the JSON of the API; --json and --text choose.\n" +
			"NO_COLOR=1 turns colors off.\n\n" +
			"Exit codes: 0 done, 1 refused or used wrongly, 2 the key is not accepted or may not do this,\n" +
			"3 not found, 4 the gateway is away or busy (try again), 130 interrupted.",
		Example: "  slipbox login http://127.0.0.1:8080 --collection demo\n" +
			"  slipbox add \"The kiln is inspected on Friday.\"\n" +
			"  slipbox search \"When is the kiln ready?\"\n" +
			"  slipbox search kiln | jq -r '.hits[].note.content'",
		Version: build.Current().Version,
	}, stdout, stderr)
	f := root.PersistentFlags()
	f.StringVar(&c.profile, "profile", "", "`name` of the profile to use (default: the one of the last login)")
	f.StringVar(&c.url, "url", "", "address of the gateway, as a `URL` (SLIPBOX_URL)")
	f.StringVarP(&c.collection, "collection", "c", "", "id or `name` of the collection (SLIPBOX_COLLECTION; default: that of the profile)")
	for _, name := range idNames {
		c.ids[name] = f.String(name, "", "your application's `id` of the "+name+", in place of --collection")
	}
	f.BoolVar(&c.json, "json", false, "print JSON, also on a terminal")
	f.BoolVar(&c.text, "text", false, "print text, also in a pipe (COLUMNS: its width; default 80)")
	root.PersistentPreRunE = c.check
	root.PersistentPostRunE = func(*cobra.Command, []string) error { return cmp.Or(c.out.err, c.errs.err) }
	root.AddCommand(c.login(), c.add(), c.search(), c.chat(), c.fork(), c.diff(), c.merge(), c.rollback(), c.review(), c.snapshot(), c.blame(), c.experiment(), c.list(), c.notes(), c.facts(), c.history(),
		c.changes(), c.webhook(), c.remove(), c.imports(), c.export(), c.file(), c.watch(), c.job(), c.hook())
	c.completion(root)
	return root
}

// completion adds the command that prints the completion of a shell. It completes commands, flags, collections and profiles, and
// files where a command takes them.
func (c *cli) completion(root *cobra.Command) {
	root.CompletionOptions.HiddenDefaultCmd = false
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.InitDefaultCompletionCmd()
	for _, sub := range root.Commands() {
		if sub.Name() == "completion" {
			command.AsGroup(sub).Short = "Print the completion of commands for a shell"
		}
	}
	for flag, complete := range map[string]func(context.Context) []string{
		"collection": func(ctx context.Context) []string {
			to, err := c.connect()
			if err != nil {
				return nil
			}
			to.noRetry = true
			return to.names(ctx)
		},
		"profile": func(context.Context) []string {
			list, _ := c.readProfiles()
			return slices.Sorted(maps.Keys(list.Profiles))
		},
	} {
		// It fails for a flag that does not exist.
		_ = root.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
			defer cancel()
			return complete(ctx), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// completionTime bounds the wait of a person who presses the key of completion.
const completionTime = time.Second

// files completes arguments that are files.
func files(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// run returns the RunE of a command that calls the gateway. The error of an interrupted command says that it was.
func (c *cli) run(fn func(cmd *cobra.Command, args []string, to *client) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		to, err := c.connect()
		if err != nil {
			return err
		}
		err = fn(cmd, args, to)
		if r, ok := errors.AsType[*refusal](err); ok {
			r.whose = c.whose()
			r.takes = func(flag string) bool { return cmd.Flags().Lookup(flag) != nil }
		}
		return explain(cmd.Context(), to, err)
	}
}

// runOn is run for a command on the collection that is named: its path and the query that names it.
func (c *cli) runOn(fn func(cmd *cobra.Command, args []string, to *client, path string, query url.Values) error) func(*cobra.Command, []string) error {
	return c.run(func(cmd *cobra.Command, args []string, to *client) error {
		path, query, err := c.target(to)
		if err != nil {
			return err
		}
		return fn(cmd, args, to, path, query)
	})
}

// explain adds to an error what a person needs to know next.
func explain(ctx context.Context, to *client, err error) error {
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[failure](err); ok && f.code == ExitInterrupted {
		return f
	}
	if ctx.Err() != nil {
		return failure{"interrupted; run the command again to continue", ExitInterrupted}
	}
	if r, ok := errors.AsType[*refusal](err); ok && r.fix == "" && r.missesCollection() {
		if names := to.names(ctx); len(names) > 0 {
			r.fix = "there are " + strings.Join(names, ", ") + "; name one with --collection"
		}
	}
	return err
}

// reading returns what read returns, or the error of the context. A read of a terminal or a pipe cannot be interrupted, so it
// is not waited for.
func reading[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := read()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// asJSON reports whether results are printed as JSON.
func (c *cli) asJSON() bool { return c.json || !c.text && !c.out.terminal }

// check refuses flags of all commands that exclude each other.
func (c *cli) check(cmd *cobra.Command, _ []string) error {
	return command.Exclude(cmd, "json", "text")
}

// whose names the ids of an application that flags name; "": none.
func (c *cli) whose() string {
	var out []string
	for _, name := range idNames {
		if id := *c.ids[name]; id != "" {
			out = append(out, fmt.Sprintf("%s %q", name, id))
		}
	}
	return strings.Join(out, ", ")
}

// given returns the ids of an application that flags name.
func (c *cli) given() url.Values {
	query := url.Values{}
	for _, name := range idNames {
		if id := *c.ids[name]; id != "" {
			query.Set(name, id)
		}
	}
	return query
}

// target returns the path and the query of the collection that flags, environment and profile name.
func (c *cli) target(to *client) (path string, query url.Values, err error) {
	if query = c.given(); len(query) > 0 {
		if c.collection != "" {
			return "", nil, errors.New("--collection and ids of an application (--user, --agent, --app, --run) name two collections; use one of them")
		}
		return collections + "/by", query, nil
	}
	name := cmp.Or(c.collection, c.getenv("SLIPBOX_COLLECTION"), to.collection)
	if name == "" {
		return "", nil, errors.New("no collection is named; pass --collection NAME or --user ID, or keep one with `slipbox login --collection NAME`")
	}
	return collections + "/" + url.PathEscape(name), query, nil
}

const collections = "/v1/collections"

// timeout bounds the wait for an answer that is not a stream. Adding with --wait takes up to 25 seconds.
const timeout = time.Minute
