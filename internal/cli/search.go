package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/api/wire"
)

// found is what is shown of a search.
type found struct {
	Hits []struct {
		Note struct {
			ID         uuid.UUID  `json:"id"`
			Content    string     `json:"content"`
			OccurredAt *time.Time `json:"occurred_at"`
		} `json:"note"`
		Score      float64        `json:"score"`
		IsNeighbor bool           `json:"is_neighbor"`
		Explain    map[string]any `json:"explain"`
	} `json:"hits"`
	Degraded string `json:"degraded"`
}

func (c *cli) search() *cobra.Command {
	var k string
	var asOf int64
	var links int
	var explain bool
	cmd := &cobra.Command{
		Use: "search QUERY…", Short: "Find notes by meaning and words",
		Example: "  slipbox search when is the kiln ready\n" +
			"  slipbox search kiln -k 20 --as-of 12\n" +
			"  slipbox search kiln | jq -r '.hits[].note.content'",
		RunE: c.run(func(cmd *cobra.Command, args []string, to *client) error {
			query, err := c.content(args, "a question")
			if err != nil {
				return err
			}
			path, ids, err := c.target(to)
			if err != nil {
				return err
			}
			ask := wire.SearchRequest{Query: &query}
			if cmd.Flags().Changed("limit") {
				var many any = k
				if n, err := strconv.Atoi(k); err == nil {
					many = n
				}
				ask.K = &many
			}
			if cmd.Flags().Changed("as-of") {
				ask.AsOf = &asOf
			}
			if links > 0 {
				ask.ExpandLinks = &links
			}
			if explain {
				ask.Explain = &explain
			}
			var got found
			raw, _, err := to.get(cmd.Context(), request{method: http.MethodPost, path: path + "/search", query: ids, body: ask, repeatable: true}, &got)
			if err != nil {
				return err
			}
			return c.show(raw, got)
		}),
	}
	f := cmd.Flags()
	f.StringVarP(&k, "limit", "k", "5", "at most so many `hits`, or \"auto\"")
	f.Int64Var(&asOf, "as-of", 0, "search the past: the collection at this `revision`")
	f.IntVar(&links, "links", 0, "follow links so far: 1 or 2")
	f.BoolVar(&explain, "explain", false, "say what each score is made of")
	return cmd
}

func (c *cli) show(raw json.RawMessage, got found) error {
	if c.asJSON() {
		return c.out.line("%s", raw)
	}
	if got.Degraded != "" {
		if err := c.errs.line("%s", clean(got.Degraded)); err != nil {
			return err
		}
	}
	if len(got.Hits) == 0 {
		return c.errs.line("nothing was found")
	}
	for i, h := range got.Hits {
		head := fmt.Sprintf("%2d ", i+1)
		if err := c.out.text(head, h.Note.Content); err != nil {
			return err
		}
		values := []string{strconv.FormatFloat(h.Score, 'f', 2, 64), when(h.Note.OccurredAt), h.Note.ID.String()}
		if h.IsNeighbor {
			values = slices.Insert(values, 1, "by a link")
		}
		if err := c.out.facts(len(head), append(values, signals(h.Explain)...)...); err != nil {
			return err
		}
	}
	return nil
}

// signals returns the parts of a score, largest first.
func signals(explain map[string]any) []string {
	type signal struct {
		name  string
		value float64
	}
	var list []signal
	for name, v := range explain {
		if n, ok := v.(float64); ok && n != 0 {
			list = append(list, signal{name, n})
		}
	}
	slices.SortFunc(list, func(a, b signal) int {
		if a.value != b.value {
			if a.value > b.value {
				return -1
			}
			return 1
		}
		if a.name < b.name {
			return -1
		}
		return 1
	})
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = s.name + " " + strconv.FormatFloat(s.value, 'f', 2, 64)
	}
	return out
}

// count returns a number with its noun; "" for 0.
func count(n int, one, many string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
