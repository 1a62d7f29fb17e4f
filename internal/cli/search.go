package cli

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/wording"
	slipbox "github.com/slipboxhq/slipbox/sdk/go"
)

// found is what is shown of a search.
type found struct {
	Hits     []foundHit `json:"hits"`
	Degraded string     `json:"degraded"`
}

type foundHit struct {
	Note       foundNote   `json:"note"`
	Exchange   []foundNote `json:"exchange"`
	Score      float64     `json:"score"`
	IsNeighbor bool        `json:"is_neighbor"`
	Explain    struct {
		Signals []signal `json:"signals"`
	} `json:"explain"`
}

// text returns the content of a hit, or of all messages of its exchange.
func (h *foundHit) text() string {
	if len(h.Exchange) == 0 {
		return h.Note.Content
	}
	texts := make([]string, len(h.Exchange))
	for i := range h.Exchange {
		texts[i] = h.Exchange[i].Content
	}
	return strings.Join(texts, "\n")
}

type foundNote struct {
	ID         string     `json:"id"`
	Content    string     `json:"content"`
	OccurredAt *time.Time `json:"occurred_at"`
}

func (c *cli) search() *cobra.Command {
	var k, asOf string
	var links int
	var explain bool
	cmd := &cobra.Command{
		Use: "search QUERY…", Short: "Find notes by meaning and words",
		Example: "  slipbox search when is the kiln ready\n" +
			"  slipbox search kiln -k 20 --as-of \"before the trip\"\n" +
			"  slipbox search kiln | jq -r '.hits[].note.content'",
		RunE: c.run(func(cmd *cobra.Command, args []string, to *client) error {
			query, err := c.content(cmd.Context(), args, "a question")
			if err != nil {
				return err
			}
			path, ids, err := c.target(to)
			if err != nil {
				return err
			}
			ask := slipbox.SearchRequest{Query: &query}
			if cmd.Flags().Changed("limit") {
				var many any = k
				if n, err := strconv.Atoi(k); err == nil {
					many = n
				}
				ask.K = &many
			}
			if asOf != "" {
				ask.AsOf = new(any(asOf))
			}
			if links > 0 {
				ask.ExpandLinks = &links
			}
			if explain {
				ask.Explain = &explain
			}
			return answered(cmd, c, to, request{Method: http.MethodPost, Path: path + "/search", Query: ids, Body: ask, Repeatable: true}, c.show)
		}),
	}
	f := cmd.Flags()
	f.StringVarP(&k, "limit", "k", "5", "at most so many `hits`, or \"auto\"")
	asOfFlag(cmd, &asOf, "search the past")
	f.IntVar(&links, "links", 0, "follow links this `far`: 1 or 2")
	f.BoolVar(&explain, "explain", false, "say what each score is made of")
	return cmd
}

func (c *cli) show(got *found) error {
	if got.Degraded != "" {
		c.errs.line("%s", clean(got.Degraded))
	}
	if len(got.Hits) == 0 {
		return c.errs.line("nothing was found")
	}
	for i, h := range got.Hits {
		head := fmt.Sprintf("%2d ", i+1)
		c.out.text(head, h.text())
		values := []string{strconv.FormatFloat(h.Score, 'f', 2, 64), when(h.Note.OccurredAt), h.Note.ID}
		if h.IsNeighbor {
			values = slices.Insert(values, 1, "by a link")
		}
		c.out.details(len(head), append(values, parts(h.Explain.Signals)...)...)
	}
	return c.out.err
}

// signal is a part of a score: its value of 0 to 1, times its weight.
type signal struct {
	Name   string  `json:"signal"`
	Value  float64 `json:"normalized"`
	Weight float64 `json:"weight"`
}

// parts returns the parts of a score, largest first, without those that add nothing.
func parts(list []signal) []string {
	slices.SortStableFunc(list, func(a, b signal) int { return cmp.Compare(b.Value*b.Weight, a.Value*a.Weight) })
	var out []string
	for _, s := range list {
		if s.Value*s.Weight != 0 {
			out = append(out, s.Name+" "+strconv.FormatFloat(s.Value*s.Weight, 'f', 2, 64))
		}
	}
	return out
}

// count returns a number with its noun; "" for 0.
func count(n int, one, many string) string {
	if n == 0 {
		return ""
	}
	return wording.Count(n, one, many)
}
