package cli

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/app/command"
	slipbox "github.com/slipboxhq/slipbox/sdk/go"
)

// headerSources names the notes that may still say what was deleted.
const headerSources = "Slipbox-Sources"

func (c *cli) remove() *cobra.Command {
	var erase bool
	var sources string
	cmd := &cobra.Command{
		Use: "delete NOTE", Short: "Delete a note, or erase it",
		Long: "Delete a note and what was derived from it alone. Of a fact, the sentences that say it leave a mark in the\n" +
			"messages that it was taken from. What was deleted stays in the history, until it is erased: --erase removes\n" +
			"every version for good, also of a note that is deleted already. In a pipe the answer is JSON.",
		Example: "  slipbox delete 01a209ee-4f42-78fb-9893-5cff446707b3\n" +
			"  slipbox delete --erase --sources delete 01a209ee-4f42-78fb-9893-5cff446707b3",
		Args: command.OneArg("the id of a note (`slipbox search` prints it)"),
		RunE: c.runOn(func(cmd *cobra.Command, args []string, to *client, path string, query url.Values) error {
			choose(query, "sources", sources)
			if erase {
				query.Set("erase", "true")
			}
			r := request{Method: http.MethodDelete, Path: path + "/notes/" + url.PathEscape(args[0]), Query: query}
			raw, header, err := to.get(cmd.Context(), r, nil)
			if err != nil {
				return err
			}
			var said []string
			if ids := header.Get(headerSources); ids != "" {
				said = strings.Split(ids, ",")
			}
			if err := c.removed(args[0], raw, said); err != nil || len(said) == 0 {
				return err
			}
			return c.errs.line("may still say it: %s; --sources delete deletes them, too", clean(strings.Join(said, " ")))
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&erase, "erase", false, "remove every version, in forks too; nothing can be restored")
	f.StringVar(&sources, "sources", "", "`choice` of what happens to the notes that it was derived from: keep or delete (default: the sentences that say it are taken out)")
	return cmd
}

// removed prints what was deleted; report is that of an erasure.
func (c *cli) removed(note string, report json.RawMessage, said []string) error {
	if len(report) == 0 {
		if !c.asJSON() {
			return c.out.line("deleted %s", clean(note))
		}
		return c.out.value(struct {
			Deleted string   `json:"deleted"`
			Sources []string `json:"sources,omitempty"`
		}{note, said})
	}
	if c.asJSON() {
		return c.out.json(report)
	}
	var got slipbox.ErasureReport
	if err := json.Unmarshal(report, &got); err != nil {
		return err
	}
	c.out.line("erased %s", count(len(got.Erased), "note", "notes"))
	details := []string{count(int(got.Versions), "version", "versions"), count(len(got.Rewritten), "note keeps", "notes keep") + " the current version only"}
	if n := len(got.Waiting); n > 0 {
		details = append(details, "summaries are made again first (`slipbox watch`)")
	}
	switch got.Traces {
	case slipbox.TracesCleared, slipbox.TracesAutovacuum:
	case slipbox.TracesPending:
		details = append(details, "gaps of the database's file may keep pieces until the gateway vacuums it, in some minutes")
	case slipbox.TracesVacuumNeeded:
		details = append(details, "gaps of the database's file may keep pieces until an operator runs `gateway vacuum`")
	}
	for _, k := range got.Kept {
		details = append(details, "something is left in "+clean(k.Name)+": erase it there")
	}
	return c.out.details(0, details...)
}
