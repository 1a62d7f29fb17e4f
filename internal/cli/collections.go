package cli

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/app/command"
	slipbox "github.com/slipboxhq/slipbox/sdk/go"
)

func (c *cli) fork() *cobra.Command {
	var at, owner string
	var ttl time.Duration
	var whole bool
	var ids map[string]string
	cmd := &cobra.Command{
		Use: "fork [NAME]", Short: "Fork a collection: one row, nothing is copied",
		Long: "Fork a collection. The fork reads it as it is now, or at a revision, and neither sees what is written\n" +
			"to the other later. Without a name it is called after its source.",
		Example: "  slipbox fork what-if -c demo\n" +
			"  slipbox fork what-if -c demo --at 20 --ttl 24h\n" +
			"  slipbox fork what-if --user ida --external user=ida,run=what-if",
		Args: command.AtMostOneArg,
		RunE: c.runOn(func(cmd *cobra.Command, args []string, to *client, path string, query url.Values) error {
			var ask slipbox.CloneRequest
			if len(args) > 0 {
				ask.Name = &args[0]
			}
			if owner != "" {
				ask.Agent = &owner
			}
			if at != "" {
				ask.AtRevision = new(any(at))
			}
			if ttl != 0 {
				seconds := int64(ttl / time.Second)
				ask.TTLSeconds = &seconds
			}
			if whole {
				mode := slipbox.CloneRequestModeCopy
				ask.Mode = &mode
			}
			if len(ids) > 0 {
				var err error
				if ask.External, err = externalOf(ids); err != nil {
					return err
				}
			}
			r := request{Method: http.MethodPost, Path: path + "/clone", Query: query, Body: ask}
			once(&r, newKey())
			return c.cloned(cmd, to, r, whole)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&at, "at", "", "fork the past: the collection at this `revision`, a time or a snapshot (default: now)")
	f.StringVar(&owner, "owner", "", "`agent` that owns the fork (default: that of the key)")
	f.DurationVar(&ttl, "ttl", 0, "delete the fork after this `time`, such as 24h (default: never)")
	f.StringToStringVar(&ids, "external", nil, "your application's `ids` of the fork; a key that is limited to some needs them")
	f.Lookup("external").DefValue = "" // its own is printed as []
	f.BoolVar(&whole, "copy", false, "copy what is visible now by a job, in place of a fork")
	return cmd
}

// externalOf reads ids of an application by their names.
func externalOf(ids map[string]string) (*slipbox.External, error) {
	var e slipbox.External
	fields := map[string]**string{"user": &e.User, "agent": &e.Agent, "app": &e.App, "run": &e.Run}
	for name, id := range ids {
		field, ok := fields[name]
		if !ok {
			return nil, fmt.Errorf("--external: %q is not user, agent, app or run, as in user=ida,run=what-if", name)
		}
		*field = &id
	}
	return &e, nil
}

// cloned makes a fork, or the whole copy, and says what was made.
func (c *cli) cloned(cmd *cobra.Command, to *client, r request, whole bool) error {
	if whole {
		return answered(cmd, c, to, r, func(got *slipbox.CloneAccepted) error {
			return c.out.details(0, "copies "+got.Collection.Name, "slipbox watch "+got.Job.ID)
		})
	}
	return answered(cmd, c, to, r, func(got *slipbox.Collection) error {
		from := ""
		if got.Parent != nil {
			from = "at revision " + strconv.FormatInt(got.Parent.Revision, 10)
		}
		c.out.text("", got.Name)
		return c.out.details(0, from, got.ID)
	})
}

func (c *cli) facts() *cobra.Command {
	var relation, validAt string
	var past, conflicts bool
	var limit int
	cmd := &cobra.Command{
		Use: "facts [SUBJECT]", Short: "List what is known of people and things, with when it was true",
		Long: "List facts as subject, relation and object. Collections of the policy layered have them, and those\n" +
			"of mem0g with a model; `slipbox search` finds the memories of the others. In a pipe each line is a fact.",
		Example: "  slipbox facts Nora\n" +
			"  slipbox facts Nora --past\n" +
			"  slipbox facts --valid-at 2025-06-01T00:00:00Z",
		Args: command.AtMostOneArg,
		RunE: c.runOn(func(cmd *cobra.Command, args []string, to *client, path string, query url.Values) error {
			if len(args) > 0 {
				query.Set("subject", args[0])
			}
			choose(query, "relation", relation)
			choose(query, "valid_at", validAt)
			if past {
				query.Set("valid", "any")
			}
			if conflicts {
				query.Set("conflicts", "true")
			}
			return listed(cmd, c, to, path+"/facts", query, limit, "no facts with a subject; layered keeps them, and mem0g needs a model for them; `slipbox notes --kind fact` lists sentences", c.out.fact)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&relation, "relation", "", "only facts with this `relation`, such as lives_in")
	f.StringVar(&validAt, "valid-at", "", "only what was true at this `time`")
	f.BoolVar(&past, "past", false, "also what is no longer true")
	f.BoolVar(&conflicts, "conflicts", false, "only facts that contradict another one")
	limitFlag(cmd, &limit, "facts")
	return cmd
}

func (s *screen) fact(f slipbox.Fact) error {
	since, until := when(f.ValidFrom), when(f.InvalidatedAt)
	if since != "" {
		since = "since " + since
	}
	if until != "" {
		until = "until " + until
	}
	contested := ""
	if f.Contested != nil && *f.Contested {
		contested = "contested"
	}
	s.text("", strings.Join([]string{f.Subject, strings.ReplaceAll(f.Relation, "_", " "), f.Object}, " "))
	return s.details(2, since, until, contested, "confidence "+strconv.FormatFloat(f.Confidence, 'f', 2, 64))
}

func (c *cli) history() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "history NOTE", Short: "Show the versions of a note, what changed and what caused it",
		Long:    "Show the versions of a note, newest first, with what each changed. `slipbox search` prints the ids of\nnotes. In a pipe each line is a version.",
		Example: "  slipbox history 01a209ee-4f42-78fb-9893-5cff446707b3",
		Args:    command.OneArg("the id of a note (`slipbox search` prints it)"),
		RunE: c.runOn(func(cmd *cobra.Command, args []string, to *client, path string, query url.Values) error {
			path += "/notes/" + url.PathEscape(args[0]) + "/history"
			// A version is shown with what it changed, so it waits for the one before.
			var newer *slipbox.HistoryEntry
			show := func(e slipbox.HistoryEntry) error {
				held := newer
				newer = &e
				if held == nil {
					return nil
				}
				return c.out.version(*held, e.Note)
			}
			if err := listed(cmd, c, to, path, query, limit, "no versions", show); err != nil || newer == nil || c.asJSON() {
				return err
			}
			return c.out.version(*newer, nil)
		}),
	}
	limitFlag(cmd, &limit, "versions")
	return cmd
}

// version prints a version with what is new against the one before; nil: it is the first that is shown.
func (s *screen) version(e slipbox.HistoryEntry, before *slipbox.Note) error {
	s.line("%s", s.bold(fmt.Sprintf("revision %d", e.Revision)+"  "+clean(e.Cause)))
	s.details(2, when(&e.ChangedAt), "by "+e.Actor, after("because of ", e.Trigger))
	if e.Note == nil {
		return s.text("  ", "deleted")
	}
	old := *cmp.Or(before, &slipbox.Note{})
	for _, f := range []struct{ name, was, is string }{
		{"", old.Content, e.Note.Content},
		{"context: ", old.Context, e.Note.Context},
		{"keywords: ", strings.Join(old.Keywords, ", "), strings.Join(e.Note.Keywords, ", ")},
		{"tags: ", strings.Join(old.Tags, ", "), strings.Join(e.Note.Tags, ", ")},
		{"earlier: ", earlier(old), earlier(*e.Note)},
		{"links: ", links(old), links(*e.Note)},
		{"state: ", string(old.State), string(e.Note.State)},
	} {
		if f.was == f.is {
			continue
		}
		if f.was != "" {
			s.text("  - ", f.name+f.was)
		}
		if f.is != "" {
			s.text("  + ", f.name+f.is)
		}
	}
	return s.err
}

// earlier returns the older statements that a fact lists.
func earlier(n slipbox.Note) string {
	all, _ := n.Attributes["earlier"].([]any)
	var said []string
	for _, entry := range all {
		if fields, ok := entry.(map[string]any); ok {
			said = append(said, fmt.Sprint(fields["occurred_at"], " ", fields["content"]))
		}
	}
	return strings.Join(said, "; ")
}

func links(n slipbox.Note) string {
	list := make([]string, len(n.Links))
	for i, l := range n.Links {
		list[i] = l.Relation + " " + l.Target
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}
