package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/sergi/go-diff/diffmatchpatch"
	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/app/command"
	"github.com/slipboxhq/slipbox/internal/clip"
	slipbox "github.com/slipboxhq/slipbox/sdk/go"
)

// noteChange is a note of a diff, with its versions as the API shows them.
type noteChange struct {
	Note   string         `json:"note"`
	Change string         `json:"change"`
	Fields []string       `json:"fields"`
	Before map[string]any `json:"before"` // nil: it is not there
	After  map[string]any `json:"after"`
}

func (c *cli) diff() *cobra.Command {
	var at, againstAt, kind string
	var limit int
	cmd := &cobra.Command{
		Use: "diff [AGAINST]", Short: "Show what differs between a fork and its base, two forks, or two revisions",
		Long: "Show what leads from AGAINST to the collection: notes and links that were added (+), removed (-) or changed\n" +
			"(~). Without AGAINST it is the base of a fork, or the collection itself at --against-at. A revision is a\n" +
			"number, a time or the name of a snapshot. In a pipe each line is a page of the API.",
		Example: "  slipbox diff -c what-if\n" +
			"  slipbox diff other-fork -c what-if\n" +
			"  slipbox diff -c demo --against-at \"before the trip\"",
		Args: command.AtMostOneArg,
		RunE: c.run(func(cmd *cobra.Command, args []string, to *client) error {
			if limit < 1 {
				return errors.New("--limit: must be at least 1")
			}
			path, query, err := c.target(to)
			if err != nil {
				return err
			}
			if len(args) > 0 {
				query.Set("against", args[0])
			}
			choose(query, "at", at)
			choose(query, "against_at", againstAt)
			choose(query, "kind", kind)
			return c.differs(cmd, to, path, query, limit)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&at, "at", "", "the collection at this `revision` (default: now)")
	f.StringVar(&againstAt, "against-at", "", "AGAINST at this `revision` (default: now)")
	f.StringVar(&kind, "kind", "", "only notes of this `kind`, and no links")
	limitFlag(cmd, &limit, "differences")
	return cmd
}

// differs prints the pages of a diff.
func (c *cli) differs(cmd *cobra.Command, to *client, path string, query url.Values, limit int) error {
	for shown := 0; ; {
		var page struct {
			From, To slipbox.ViewRef
			Items    []noteChange
			Links    []slipbox.LinkChange
			Cursor   string `json:"next_cursor"`
		}
		query.Set("limit", strconv.Itoa(min(limit-shown, 200)))
		raw, _, err := to.get(cmd.Context(), request{Method: http.MethodGet, Path: path + "/diff", Query: query}, &page)
		if err != nil {
			return err
		}
		first := shown == 0
		shown += len(page.Items) + len(page.Links)
		switch {
		case c.asJSON():
			c.out.json(raw)
		case shown == 0 && page.Cursor == "":
			return c.errs.line("nothing differs")
		default:
			if first {
				c.out.details(0, "from "+side(page.From), "to "+side(page.To))
			}
			c.out.differences(page.Items, page.Links)
		}
		if c.out.err != nil || page.Cursor == "" {
			return c.out.err
		}
		if shown >= limit {
			return c.errs.line("there are more: --limit %d shows them", 4*limit)
		}
		query.Set("cursor", page.Cursor)
	}
}

func side(v slipbox.ViewRef) string {
	return fmt.Sprintf("%s at revision %d", v.Collection, v.Revision)
}

// marks are what a change of a note or link is shown by.
var marks = map[string]string{"added": "+ ", "removed": "- ", "changed": "~ "}

func (s *screen) differences(notes []noteChange, links []slipbox.LinkChange) {
	for _, n := range notes {
		s.difference(n)
	}
	for i := range links {
		s.link("", &links[i])
	}
}

// link prints a change of a link, in one line: ids are not broken.
func (s *screen) link(indent string, l *slipbox.LinkChange) error {
	err := s.line("%s%slink %s %s %s", indent, marks[string(l.Change)], l.Source, clean(l.Relation), l.Target)
	for _, text := range []*string{l.SourceText, l.TargetText} {
		if text != nil {
			err = s.text(indent+"  ", *text)
		}
	}
	return err
}

func (s *screen) difference(n noteChange) {
	s.line("%s", s.bold(marks[n.Change]+"note "+clean(n.Note)))
	if len(n.Fields) > 0 && !slices.Contains(n.Fields, "content") {
		s.text("  ", clip.Runes(valueOf(n.After, "content"), mostBegun))
	}
	fields := n.Fields
	if len(fields) == 0 {
		fields = []string{"content"}
	}
	for _, name := range fields {
		label := name + ": "
		if name == "content" {
			label = ""
		}
		s.replaced(label, valueOf(n.Before, name), valueOf(n.After, name))
	}
}

// replaced prints what took the place of a value. Of texts of several lines it prints the lines that differ.
func (s *screen) replaced(label, was, is string) {
	d := diffmatchpatch.New()
	a, b, lines := d.DiffLinesToRunes(was+"\n", is+"\n")
	for _, part := range d.DiffCharsToLines(d.DiffMainRunes(a, b, false), lines) {
		head := map[diffmatchpatch.Operation]string{diffmatchpatch.DiffDelete: "  - ", diffmatchpatch.DiffInsert: "  + "}[part.Type]
		text := strings.TrimSuffix(part.Text, "\n")
		if head != "" && text != "" {
			s.text(head, label+text)
		}
	}
}

// valueOf returns a field of a note as text; "" if it has none.
func valueOf(note map[string]any, field string) string {
	v := note[field]
	if key, ok := strings.CutPrefix(field, "attributes."); ok {
		attributes, _ := note["attributes"].(map[string]any)
		v = attributes[key]
	}
	if field == "sources" {
		provenance, _ := note["provenance"].(map[string]any)
		v = provenance[field]
	}
	return plain(v)
}

// plain returns a value of JSON as people read it: lists of texts without quotes.
func plain(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case []any:
		parts := make([]string, len(v))
		for i, x := range v {
			parts[i] = plain(x)
		}
		return strings.Join(parts, ", ")
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}

func (c *cli) merge() *cobra.Command {
	var ask slipbox.MergeRequest
	var strategy string
	var notes, kinds []string
	var confidence, approve float64
	var age time.Duration
	var dry, review bool
	cmd := &cobra.Command{
		Use: "merge FROM", Short: "Take over what another collection of the lineage has changed",
		Long: "Take over what FROM, such as a fork, has changed since it was forked or last merged, as one changeset. Both\n" +
			"sides may have changed: fields are merged one by one. Where both changed one field to different values, nothing\n" +
			"is written and the conflicts are listed, unless --strategy says whose value holds. Merging again changes nothing.",
		Example: "  slipbox merge what-if -c demo --dry-run\n" +
			"  slipbox merge what-if -c demo --strategy theirs\n" +
			"  slipbox merge what-if -c demo --review --approve-from 0.9",
		Args: command.OneArg("the collection to merge from"),
		RunE: c.runOn(func(cmd *cobra.Command, args []string, to *client, path string, query url.Values) error {
			var err error
			if ask.Notes, err = ids(notes); err != nil {
				return err
			}
			ask.From = args[0]
			for _, k := range kinds {
				ask.Kinds = append(ask.Kinds, slipbox.Kind(k))
			}
			given := cmd.Flags().Changed
			if given("strategy") {
				ask.Strategy = new(slipbox.MergeRequestStrategy(strategy))
			}
			if given("min-confidence") {
				ask.MinConfidence = &confidence
			}
			if given("min-age") {
				ask.MinAgeSeconds = new(int64(age / time.Second))
			}
			if given("approve-from") {
				ask.ApproveFrom = &approve
			}
			ask.DryRun, ask.Review = &dry, &review
			var got slipbox.MergeResult
			r := request{Method: http.MethodPost, Path: path + "/merge", Query: query, Body: ask, Repeatable: true}
			raw, _, err := to.get(cmd.Context(), r, &got)
			if refused, ok := errors.AsType[*refusal](err); ok && len(refused.Conflicts) > 0 {
				refused.fix = "--strategy ours or theirs decides, --note merges some notes"
				return errors.Join(c.errs.conflicts(refused.Conflicts), err)
			}
			if err != nil {
				return err
			}
			if c.asJSON() {
				return c.out.json(raw)
			}
			if got.Job != nil { // a large merge
				return c.follow(cmd.Context(), to, got.Job.ID, "")
			}
			return c.merged(&got, dry)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&strategy, "strategy", "fail", "whose value holds where both changed a field: `side` is ours, theirs, or fail")
	f.StringSliceVar(&notes, "note", nil, "only this note, by its `id`, and its links; may be repeated")
	f.StringSliceVar(&kinds, "kind", nil, "only notes of this `kind`; may be repeated")
	f.Float64Var(&confidence, "min-confidence", 0, "only notes that are this `sure`, 0 to 1")
	f.DurationVar(&age, "min-age", 0, "only notes that were made this `time` ago or earlier, such as 24h")
	f.BoolVar(&dry, "dry-run", false, "write nothing, and say what a merge would do")
	f.BoolVar(&review, "review", false, "propose the changes: a person approves them, all or some, with `slipbox review`")
	f.Float64Var(&approve, "approve-from", 0, "with --review: new notes that are this `sure` need no approval, 0 to 1")
	return cmd
}

// ids parses the ids of notes.
func ids(list []string) (out []string, err error) {
	for _, text := range list {
		id, err := uuid.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("--note %q is not an id of a note; `slipbox diff` prints them", text)
		}
		out = append(out, id.String())
	}
	return out, nil
}

// merged says what a merge has done, or would do.
func (c *cli) merged(m *slipbox.MergeResult, dry bool) error {
	c.out.conflicts(m.Conflicts)
	what := "merged"
	if dry {
		what = "would merge"
	}
	parts := []string{count(m.Merged.Notes, "note", "notes"), count(m.Merged.Links, "link", "links")}
	if done := strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " and "); done != "" {
		c.out.line("%s %s", what, done)
	} else if m.Review == nil {
		return c.errs.line("there is nothing to merge")
	}
	if m.Review != nil {
		c.out.line("%s in review", count(len(m.Review.Changes), "note is", "notes are"))
		if n := len(m.Replaced); n > 0 {
			c.out.line("in the place of %s", count(n, "earlier review", "earlier reviews"))
		}
		id := m.Review.ID
		return c.out.details(0, "review "+id, "slipbox review show "+id, "slipbox review approve "+id)
	}
	return c.out.details(0, "revision "+strconv.FormatInt(m.Revision, 10))
}

func (s *screen) conflicts(list []slipbox.MergeConflict) error {
	for _, x := range list {
		s.line("%s", s.bold("conflict "+x.Note+"  "+clean(x.Field)))
		for _, side := range []struct {
			name  string
			value any
		}{{"  base:   ", x.Base}, {"  ours:   ", x.Ours}, {"  theirs: ", x.Theirs}} {
			s.text(side.name, plain(side.value))
		}
	}
	return s.err
}

func (c *cli) rollback() *cobra.Command {
	return &cobra.Command{
		Use: "rollback TO", Short: "Return to a revision, a time or a snapshot",
		Long: "Make the collection show what it showed at a revision (a number), a time (2026-03-01T09:30:00Z) or a snapshot\n" +
			"(its name). It is one change: what came between stays in the log, and a rollback takes a rollback back.\n" +
			"`slipbox diff --against-at TO` shows before what it would undo.",
		Example: "  slipbox rollback 20 -c demo\n" +
			"  slipbox rollback \"before the trip\" -c demo",
		Args: command.OneArg("a revision, a time or the name of a snapshot"),
		RunE: c.runOn(func(cmd *cobra.Command, args []string, to *client, path string, query url.Values) error {
			var ask slipbox.RollbackRequest
			if n, err := strconv.ParseInt(args[0], 10, 64); err == nil {
				ask.Revision = &n
			} else if at, err := time.Parse(time.RFC3339, args[0]); err == nil {
				ask.At = &at
			} else {
				ask.Snapshot = &args[0]
			}
			r := request{Method: http.MethodPost, Path: path + "/rollback", Query: query, Body: ask}
			return answered(cmd, c, to, r, func(got *slipbox.RollbackResult) error {
				switch {
				case got.Job != nil: // a large rollback
					return c.follow(cmd.Context(), to, got.Job.ID, "")
				case got.Changed == 0:
					return c.errs.line("the collection shows that already")
				}
				c.out.line("%s as they were", count(got.Changed, "note is", "notes are"))
				return c.out.details(0, fmt.Sprintf("revision %d", got.Revision), fmt.Sprintf("slipbox rollback %d takes it back", got.Revision-1))
			})
		}),
	}
}

func (c *cli) snapshot() *cobra.Command {
	list := &cobra.Command{
		Use: "list", Short: "List the named revisions of a collection", Args: command.NoArgs,
		RunE: c.runOn(func(cmd *cobra.Command, _ []string, to *client, path string, query url.Values) error {
			r := request{Method: http.MethodGet, Path: path + "/snapshots", Query: query}
			return answered(cmd, c, to, r, func(got *slipbox.SnapshotList) error {
				if len(got.Items) == 0 {
					return c.errs.line("no snapshots; `slipbox snapshot create NAME` makes one")
				}
				for i := range got.Items {
					c.out.snapshot(&got.Items[i])
				}
				return c.out.err
			})
		}),
	}
	remove := &cobra.Command{
		Use: "delete NAME", Short: "Delete the name of a revision; the revision stays", Args: command.OneArg("the name of a snapshot"),
		RunE: c.runOn(func(cmd *cobra.Command, args []string, to *client, path string, query url.Values) error {
			return c.delete(cmd, to, path+"/snapshots/", args[0], query)
		}),
	}
	return command.Group("snapshot", "Name revisions of a collection, to return to them and to compare with", list, c.createSnapshot(), remove)
}

func (c *cli) createSnapshot() *cobra.Command {
	var at string
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Name a revision", Args: command.OneArg("a name, which begins with a letter"),
		Example: "  slipbox snapshot create \"before the trip\" -c demo",
		RunE: c.runOn(func(cmd *cobra.Command, args []string, to *client, path string, query url.Values) error {
			ask := slipbox.SnapshotRequest{Name: args[0]}
			if at != "" {
				ask.Revision = new(any(at))
			}
			return answered(cmd, c, to, request{Method: http.MethodPost, Path: path + "/snapshots", Query: query, Body: ask}, c.out.snapshot)
		}),
	}
	cmd.Flags().StringVar(&at, "at", "", "name this `revision`: a number, a time or the name of a snapshot (default: now)")
	return cmd
}

func (s *screen) snapshot(n *slipbox.Snapshot) error {
	s.text("", n.Name)
	return s.details(2, fmt.Sprintf("revision %d", n.Revision), when(&n.CreatedAt))
}

func (c *cli) blame() *cobra.Command {
	var asOf string
	cmd := &cobra.Command{
		Use: "blame NOTE", Short: "Show what wrote each field of a note",
		Long:    "Show for each field of a note the change that it is from: its revision and time, who made it and why, and the\njob that wrote it.",
		Example: "  slipbox blame 01a209ee-4f42-78fb-9893-5cff446707b3",
		Args:    command.OneArg("the id of a note (`slipbox search` prints it)"),
		RunE: c.runOn(func(cmd *cobra.Command, args []string, to *client, path string, query url.Values) error {
			choose(query, "as_of", asOf)
			r := request{Method: http.MethodGet, Path: path + "/notes/" + url.PathEscape(args[0]) + "/blame", Query: query}
			return answered(cmd, c, to, r, func(got *slipbox.Blame) error {
				if got.Text != nil {
					c.out.text("", *got.Text)
				}
				for _, name := range slices.Sorted(maps.Keys(got.Fields)) {
					c.out.origin(name, got.Fields[name])
				}
				return c.out.err
			})
		}),
	}
	asOfFlag(cmd, &asOf, "the note as it was")
	return cmd
}

func (s *screen) origin(field string, o slipbox.FieldOrigin) error {
	s.line("%s", s.bold(clean(field)))
	if err := s.details(2, fmt.Sprintf("revision %d", o.Revision), o.Cause, after("of ", o.Agent), "by "+o.Actor, when(&o.At), after("because of ", o.Trigger), after("job ", o.Job)); err != nil || o.TriggerText == nil {
		return err
	}
	return s.text("  ", *o.TriggerText)
}
