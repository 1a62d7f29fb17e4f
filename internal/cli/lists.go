package cli

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/app/command"
)

// noteOrders are the orders of lists of notes.
const noteOrders = "updated, newest or oldest"

func orderFlag(cmd *cobra.Command, order *string, orders string) {
	cmd.Flags().StringVar(order, "order", "updated", "the `order`: "+orders)
}

func (c *cli) list() *cobra.Command {
	var search, order string
	var limit int
	cmd := &cobra.Command{
		Use: "list", Short: "List collections, the last written first",
		Long: "List collections with their titles, the ids of applications, and how many notes they have. --query finds parts\n" +
			"of names, titles and ids. In a pipe each line is a collection.",
		Example: "  slipbox list\n" +
			"  slipbox list --query ida@example.com\n" +
			"  slipbox list --order newest -n 10",
		Args: command.NoArgs,
		RunE: c.run(func(cmd *cobra.Command, _ []string, to *client) error {
			query := url.Values{"order": {order}}
			for name, ids := range c.given() {
				if name == "agent" { // of an application, not the owner
					name = "agent_id"
				}
				query[name] = ids
			}
			choose(query, "q", search)
			return listed(cmd, c, to, collections, query, limit, "no collections; `slipbox add --create` begins one", c.out.collection)
		}),
	}
	cmd.Flags().StringVar(&search, "query", "", "only collections that have these `words` in name, title or ids")
	orderFlag(cmd, &order, "updated, newest, oldest, name, or user (ids of applications)")
	limitFlag(cmd, &limit, "collections")
	return cmd
}

func (s *screen) collection(col wire.Collection) error {
	var ids []string
	if e := col.External; e != nil {
		for _, id := range []*string{e.User, e.Agent, e.App, e.Run} {
			if id != nil {
				ids = append(ids, *id)
			}
		}
	}
	s.text("", cmp.Or(*cmp.Or(col.DisplayName, new("")), strings.Join(ids, " · "), col.Name))
	notes := ""
	if col.Counts != nil {
		notes = count(int(col.Counts.Notes), "note", "notes")
	}
	return s.details(2, col.Name, col.Policy, notes, when(col.UpdatedAt))
}

func (c *cli) notes() *cobra.Command {
	var kind, order string
	var limit int
	cmd := &cobra.Command{
		Use: "notes", Short: "List the notes of a collection, the last changed first",
		Long: "List notes. `slipbox search` finds them by what they say. In a pipe each line is a note.",
		Example: "  slipbox notes -c diary\n" +
			"  slipbox notes --user ida@example.com --order newest",
		Args: command.NoArgs,
		RunE: c.runOn(func(cmd *cobra.Command, _ []string, to *client, path string, query url.Values) error {
			query.Set("order", order)
			choose(query, "kind", kind)
			return listed(cmd, c, to, path+"/notes", query, limit, "no notes", c.out.note)
		}),
	}
	cmd.Flags().StringVar(&kind, "kind", "", "only notes of this `kind`, such as fact")
	orderFlag(cmd, &order, noteOrders)
	limitFlag(cmd, &limit, "notes")
	return cmd
}

func (s *screen) note(n wire.Note) error {
	s.text("", n.Content)
	return s.details(2, when(n.OccurredAt), string(n.Kind), strings.Join(n.Tags, ", "), n.ID.String())
}
