package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	slipbox "github.com/slipboxhq/slipbox/sdk/go"
)

// headerCreate names the policy of a collection that a request creates.
const headerCreate = "Slipbox-Create"

// headerRedacted names the kinds of secrets that were taken out.
const headerRedacted = "Slipbox-Redacted"

// maxText bounds what is read from a pipe, in bytes. The gateway takes 64 KiB in a note, and says so.
const maxText = 1 << 20

func (c *cli) add() *cobra.Command {
	var tags []string
	var at, expires, create string
	var ttl time.Duration
	var wait bool
	cmd := &cobra.Command{
		Use: "add [TEXT…]", Short: "Add a note",
		Long: "Add a note: the arguments, or what comes from a pipe. A note that is there already is not added\n" +
			"again, so a command that was interrupted can be repeated.",
		Example: "  slipbox add \"Nora moved to Lisbon.\" --tag people\n" +
			"  pbpaste | slipbox add --create amem --collection inbox\n" +
			"  slipbox add --user nora@example.com --create mem0 \"I am a vegetarian.\"",
		RunE: c.run(func(cmd *cobra.Command, args []string, to *client) error {
			content, err := c.content(cmd.Context(), args, "a note")
			if err != nil {
				return err
			}
			path, query, err := c.target(to)
			if err != nil {
				return err
			}
			note := slipbox.NoteInput{Content: content, Tags: tags}
			if at != "" {
				note.OccurredAt = &at
			}
			if expires != "" {
				note.ExpiresAt = &expires
			}
			if cmd.Flags().Changed("ttl") {
				note.TTLSeconds = new(int64(ttl / time.Second))
			}
			if wait {
				query.Set("wait", "evolved")
				c.errs.statusf("waiting for the analysis…")
				defer c.errs.done()
			}
			r := request{Method: http.MethodPost, Path: path + "/notes", Query: query, Body: note}
			once(&r, newKey())
			var got slipbox.NoteCreated
			var raw json.RawMessage
			var header http.Header
			err = c.create(cmd.Context(), to, create, func() (err error) {
				raw, header, err = to.get(cmd.Context(), r, &got)
				return err
			})
			if err != nil {
				return err
			}
			c.errs.done()
			if kinds := header.Get(headerRedacted); kinds != "" {
				c.errs.line("taken out before it was stored: %s", clean(kinds))
			}
			if c.asJSON() {
				return c.out.json(raw)
			}
			return c.out.added(got, to.status == http.StatusCreated)
		}),
	}
	f := cmd.Flags()
	f.StringSliceVarP(&tags, "tag", "t", nil, "`tag` of the note; may be repeated")
	f.StringVar(&at, "at", "", "`time` at which it happened, such as 2026-03-01T09:30:00Z (default: now)")
	f.StringVar(&expires, "expires-at", "", "`time` at which it expires, such as 2099-01-31T00:00:00Z (default: never)")
	f.DurationVar(&ttl, "ttl", 0, "`time` until it expires, such as 24h, instead of --expires-at")
	f.StringVar(&create, "create", "", "create the collection if there is none, with this `policy` (amem, mem0 …)")
	f.BoolVar(&wait, "wait", false, "wait until the note is analyzed and linked, for at most 25 seconds")
	return cmd
}

func (s *screen) added(got slipbox.NoteCreated, created bool) error {
	what := "known"
	if created {
		what = "added"
	}
	if got.Note.State == "evolved" {
		s.details(0, strings.Join(got.Note.Keywords, ", "), count(len(got.Note.Links), "link", "links"))
	}
	return s.details(0, what, got.Note.ID)
}

// content returns the arguments as one text, or what comes from a pipe.
func (c *cli) content(ctx context.Context, args []string, what string) (string, error) {
	text := strings.Join(args, " ")
	if _, typed := terminal(c.in); len(args) == 0 && !typed || text == "-" {
		raw, err := reading(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(c.in, maxText+1)) })
		if err != nil {
			return "", err
		}
		if text = strings.TrimSpace(string(raw)); len(raw) > maxText {
			return "", errors.New("the text has more than 1 MiB; `slipbox import` takes long files")
		}
	}
	if strings.TrimSpace(text) == "" {
		return "", errors.New("the text is empty; pass " + what + " as an argument, or pipe it in")
	}
	return text, nil
}

// create calls send. If the collection does not exist it calls send again with a policy, with which the request creates it: one that is
// refused creates none.
func (c *cli) create(ctx context.Context, to *client, policy string, send func() error) error {
	err := send()
	refused, ok := errors.AsType[*refusal](err)
	if !ok || !refused.missesCollection() {
		return err
	}
	if policy == "" {
		c.suggest(ctx, to, refused)
		return err
	}
	to.policy = policy
	defer func() { to.policy = "" }()
	return send()
}

// suggest adds to an error what may be done about a collection that does not exist.
func (c *cli) suggest(ctx context.Context, to *client, r *refusal) {
	r.whose = c.whose()
	r.fix = "create it with --create amem"
	if names := to.names(ctx); len(names) > 0 && len(c.given()) == 0 {
		r.fix = "there are " + strings.Join(names, ", ") + "; " + r.fix
	}
}
