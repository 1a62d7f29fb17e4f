package eval

import (
	"context"
	"fmt"
)

// Recall asks every scored question of a loaded conversation and returns the
// mean by category; key 0 is overall, categories 1 to 4.
func Recall(ctx context.Context, c *Client, loaded Loaded, questions []Question, mode string) (map[int][]Score, error) {
	out := map[int][]Score{}
	for _, q := range questions {
		if len(q.Gold) == 0 {
			continue
		}
		hits, err := c.Search(ctx, loaded.Collection, Query{Text: q.Text, Mode: mode, K: 50})
		if err != nil {
			return nil, fmt.Errorf("search %q: %w", q.Text, err)
		}
		ranked := make([]string, 0, len(hits))
		for _, h := range hits {
			turn, ok := loaded.IDs[h.Note.ID]
			if !ok {
				return nil, fmt.Errorf("search %q: note %s is not of this collection", q.Text, h.Note.ID)
			}
			ranked = append(ranked, turn)
		}
		s := Measure(ranked, q.Gold)
		out[q.Category] = append(out[q.Category], s)
		if q.Category >= 1 && q.Category <= 4 {
			out[0] = append(out[0], s)
		}
	}
	return out, nil
}
