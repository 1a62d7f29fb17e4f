package cli

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/app/command"
	"github.com/slipboxhq/slipbox/internal/clip"
	slipbox "github.com/slipboxhq/slipbox/sdk/go"
)

const reviews = "/v1/reviews"

// review is a proposal, with its notes as the API shows them.
type review struct {
	ID         string         `json:"id"`
	Collection string         `json:"collection"`
	State      string         `json:"state"`
	Reason     string         `json:"reason"`
	Created    *time.Time     `json:"created_at"`
	Changes    []reviewChange `json:"changes"`
}

type reviewChange struct {
	noteChange

	Links []slipbox.NoteLink `json:"links"`
	Call  *slipbox.ToolCall  `json:"call"`
}

// content returns what is decided about: the text of the note, or the call of a tool.
func (n *reviewChange) content() string {
	if n.Call != nil {
		return n.Call.Tool + " " + string(n.Call.Arguments)
	}
	return cmp.Or(valueOf(n.After, "content"), valueOf(n.Before, "content"))
}

const (
	// mostListed and mostBegun bound what a list prints of a proposal: changes, and characters of each text.
	mostListed = 3
	mostBegun  = 200
)

func (c *cli) review() *cobra.Command {
	return command.Group("review", "Decide about changes that wait for a person, such as a merge that was proposed",
		c.listReviews(), c.showReview(), c.approveReview(),
		c.decideReview("reject", "Reject a proposal: nothing of it is written", "rejected"),
		c.decideReview("undo", "Undo what was approved, or made without asking; a rollback undoes a merge", "undone"))
}

func (c *cli) listReviews() *cobra.Command {
	var state string
	var limit int
	cmd := &cobra.Command{
		Use: "list", Short: "List what waits for a decision", Args: command.NoArgs,
		Long: "List the proposals that wait for a decision, newest first, of one collection with --collection or an id of your\n" +
			"application. In a pipe each line is a proposal.",
		RunE: c.run(func(cmd *cobra.Command, _ []string, to *client) error {
			query, err := c.jobsOf(cmd.Context(), to)
			if err != nil {
				return err
			}
			query.Set("state", state)
			return listed(cmd, c, to, reviews, query, limit, "nothing waits for a decision", func(r review) error {
				for i := range min(len(r.Changes), mostListed) {
					c.out.text("", clip.Runes(r.Changes[i].content(), mostBegun))
					if err := c.out.links(cmd.Context(), to, &r, i); err != nil {
						return err
					}
				}
				return c.out.details(2, cmp.Or(r.Reason, "a change"), count(len(r.Changes), "note", "notes"), when(r.Created), r.ID)
			})
		}),
	}
	cmd.Flags().StringVar(&state, "state", "open", "proposals in this `state`: open, applied, approved, rejected or undone")
	limitFlag(cmd, &limit, "proposals")
	return cmd
}

func (c *cli) showReview() *cobra.Command {
	return &cobra.Command{
		Use: "show REVIEW", Short: "Show what a proposal would change, note by note",
		Args: command.OneArg("the id of a review (`slipbox review list` prints it)"),
		RunE: c.run(func(cmd *cobra.Command, args []string, to *client) error {
			r := request{Method: http.MethodGet, Path: reviews + "/" + url.PathEscape(args[0])}
			return answered(cmd, c, to, r, func(got *review) error {
				c.out.details(0, got.State, got.Reason, when(got.Created))
				for i := range got.Changes {
					c.out.reviewed(&got.Changes[i])
					if err := c.out.links(cmd.Context(), to, got, i); err != nil {
						return err
					}
				}
				return c.out.err
			})
		}),
	}
}

// reviewed prints what a proposal changes of a note.
func (s *screen) reviewed(n *reviewChange) {
	switch {
	case n.Call != nil:
		s.text("+ call ", n.content())
		return
	case n.Before == nil:
		n.Change = "added"
	case n.After == nil:
		n.Change = "removed"
	default:
		n.Change, n.Fields = "changed", fieldsThatDiffer(n.Before, n.After)
		if n.Before["content"] != n.After["content"] || len(n.Fields) == 0 {
			n.Fields = append([]string{"content"}, n.Fields...)
		}
	}
	s.difference(n.noteChange)
	if n.Before != nil && n.After != nil && n.Before["content"] == n.After["content"] {
		s.text("  ", n.content())
	}
}

// links prints the links that one change of a proposal adds, by the texts of the notes that they lead to.
func (s *screen) links(ctx context.Context, to *client, r *review, change int) error {
	for _, l := range r.Changes[change].Links {
		text, err := r.textOf(ctx, to, l.Target)
		if err != nil {
			return err
		}
		s.text("  + link ", l.Relation+" to "+clip.Runes(text, mostBegun))
	}
	return s.err
}

// textOf returns the text of a note that a proposal adds or links.
func (r *review) textOf(ctx context.Context, to *client, id string) (string, error) {
	for i := range r.Changes {
		if r.Changes[i].Note == id {
			return r.Changes[i].content(), nil
		}
	}
	var note slipbox.Note
	_, _, err := to.get(ctx, request{Method: http.MethodGet, Path: collections + "/" + r.Collection + "/notes/" + url.PathEscape(id)}, &note)
	if refused, ok := errors.AsType[*refusal](err); ok && refused.Status == http.StatusNotFound {
		return "a note that is gone", nil
	}
	return note.Content, err
}

func (c *cli) approveReview() *cobra.Command {
	var notes []string
	cmd := c.decideReview("approve", "Approve a proposal, or some of its notes", "approved")
	cmd.Long = "Approve a proposal. Of a merge, --note approves only some notes: the others stay as they are, and the proposal is closed."
	cmd.Example = "  slipbox review show 01a209ee-4f42-78fb-9893-5cff446707b3\n" +
		"  slipbox review approve 01a209ee-4f42-78fb-9893-5cff446707b3 --note 01a209ee-4f42-78fb-9893-5cff446707b4"
	cmd.Flags().StringSliceVar(&notes, "note", nil, "of a merge: approve only this note, by its `id`; may be repeated")
	return cmd
}

// decideReview is the command of a decision.
func (c *cli) decideReview(decision, short, done string) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: decision + " REVIEW", Short: short,
		Args: command.OneArg("the id of a review (`slipbox review list` prints it)"),
		RunE: c.run(func(cmd *cobra.Command, args []string, to *client) error {
			var ask slipbox.ReviewDecision
			if reason != "" {
				ask.Reason = &reason
			}
			if list, err := cmd.Flags().GetStringSlice("note"); err == nil { // of approve
				if ask.Notes, err = ids(list); err != nil {
					return err
				}
			}
			r := request{Method: http.MethodPost, Path: reviews + "/" + url.PathEscape(args[0]) + "/" + decision, Body: ask}
			return answered(cmd, c, to, r, func(got *review) error {
				notes := count(len(got.Changes), "note", "notes")
				if len(ask.Notes) > 0 {
					return c.out.line("%d of %s %s", len(ask.Notes), notes, done)
				}
				return c.out.line("%s %s", notes, done)
			})
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "`why`; it is kept with the review")
	return cmd
}
