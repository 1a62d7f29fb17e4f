package eval

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/slipboxhq/slipbox/internal/covered"
	"github.com/slipboxhq/slipbox/internal/eval/reference"
	"github.com/slipboxhq/slipbox/internal/text/quote"
)

// Origins finds the turns that a note was derived from, directly or through other notes.
type Origins struct {
	client *Client
	loaded *Loaded
	notes  map[string][]string // sources of the notes read so far
}

// newOrigins returns the Origins of a loaded conversation.
func newOrigins(c *Client, l *Loaded) *Origins {
	return &Origins{client: c, loaded: l, notes: map[string][]string{}}
}

// Turns returns the turns that a note covers. When hit has the note's sources, they are not read again.
func (o *Origins) Turns(ctx context.Context, hit FoundNote) ([]string, error) {
	if hit.Kind != "" {
		o.notes[hit.ID] = hit.Provenance.Sources
	}
	turn := func(note string) (string, bool) {
		t, ok := o.loaded.IDs[note]
		return t, ok
	}
	return covered.Turns(hit.ID, turn, func(note string) ([]string, error) {
		if sources, ok := o.notes[note]; ok {
			return sources, nil
		}
		n, err := o.client.Note(ctx, o.loaded.Collection, note)
		if err != nil && !isNotFound(err) { // one that is not found was deleted
			return nil, err
		}
		o.notes[note] = n.Provenance.Sources
		return n.Provenance.Sources, nil
	})
}

// derivedMetrics returns the metrics for hits that may be derived notes: recall within each budget of tokens, and of the first
// ten texts recall, tokens, and the share of the answer. A hit longer than a budget ends it: where hits are whole
// exchanges of a thousand tokens, only the first ten tell something.
func derivedMetrics(budgets []int) []string {
	var out []string
	for _, b := range budgets {
		out = append(out, budgetMetric(b))
	}
	return append(out, "recall@10", "tokens@10", answerMetric)
}

// AskDerived asks like Ask, but counts the turns that hits cover through their sources. A hit costs
// the tokens of its rendered text, with its date.
func (b *Bench) AskDerived(ctx context.Context, v Variant) ([]Row, error) {
	return b.askCovered(func(l *Loaded, origins *Origins, q *Question) (Ranking, Score, Score, error) {
		start := time.Now()
		found, err := b.Client.Search(ctx, l.Collection, Query{Text: q.Text, Mode: v.Mode, K: cutOff, Profile: v.Profile, Weights: v.Weights})
		r := ranking(&found, time.Since(start))
		if err != nil {
			return r, nil, nil, err
		}
		texts := make([]string, len(found.Hits))
		covers := make([][]string, len(found.Hits))
		for i, h := range found.Hits {
			shown := h.Exchange
			if len(shown) == 0 {
				shown = []FoundNote{h.Note}
			}
			for j := range shown {
				turns, err := origins.Turns(ctx, shown[j])
				if err != nil {
					return r, nil, nil, err
				}
				covers[i] = append(covers[i], turns...)
				texts[i] += shown[j].rendered()
			}
		}
		first := texts[:min(10, len(texts))]
		tokens := 0
		for _, text := range first {
			tokens += Tokens(text)
		}
		scores := [2]Score{}
		for i, gold := range [][]string{q.Gold, q.Audited} {
			for _, budget := range b.Data.Budgets {
				var turns []string
				for j, text := range texts {
					if budget -= Tokens(text); budget < 0 {
						break
					}
					turns = append(turns, covers[j]...)
				}
				scores[i] = append(scores[i], coveredShare(turns, gold))
			}
			inFirst := coveredShare(slices.Concat(covers[:len(first)]...), gold)
			scores[i] = append(scores[i], inFirst, float64(tokens), answerIn(first, q.Answer))
		}
		return r, scores[0], scores[1], nil
	})
}

// rendered returns the text of a note with its date and speaker, as in a context: a fact says itself whom it is about, and
// the date of a quotation is there once.
func (n *FoundNote) rendered() string {
	when, who, content := "", "", n.Content
	if n.OccurredAt != nil {
		when = n.OccurredAt.Format(sessionTime)
		content = quote.WithoutDay(content, *n.OccurredAt)
	}
	if n.Attributes.Name != "" && n.Kind != kindFact { // which names whom it is about
		who = n.Attributes.Name + ": "
	}
	return "[" + when + "] " + who + content
}

// contextMetrics returns the metrics of contexts: recall, the share of the answer, and the tokens
// used, for each budget.
func contextMetrics(budgets []int) []string {
	var out []string
	for _, b := range budgets {
		out = append(out, budgetMetric(b), fmt.Sprintf("answer@%dt", b), fmt.Sprintf("tokens@%dt", b))
	}
	return out
}

// AskContext asks for a context of each budget. A context covers the turns that it cites. It is an
// error when a context reports more tokens than its budget.
func (b *Bench) AskContext(ctx context.Context) ([]Row, error) {
	return b.askCovered(func(l *Loaded, origins *Origins, q *Question) (r Ranking, score, audited Score, err error) {
		r.Best, r.Answerable = math.NaN(), math.NaN()
		asOf, err := l.AsOf(q)
		if err != nil {
			return r, nil, nil, err
		}
		for _, budget := range b.Data.Budgets {
			start := time.Now()
			p, err := b.Client.Context(ctx, l.Collection, q.Text, budget, asOf)
			if err != nil {
				return r, nil, nil, err
			}
			r.Wall += time.Since(start) / time.Duration(len(b.Data.Budgets))
			if p.Tokens > budget {
				return r, nil, nil, fmt.Errorf("a context of %d tokens for a budget of %d", p.Tokens, budget)
			}
			var turns []string
			for _, c := range p.Citations {
				covers, err := origins.Turns(ctx, FoundNote{ID: c.Note})
				if err != nil {
					return r, nil, nil, err
				}
				turns = append(turns, covers...)
			}
			answer := answerIn([]string{p.Text}, q.Answer)
			score = append(score, coveredShare(turns, q.Gold), answer, float64(p.Tokens))
			audited = append(audited, coveredShare(turns, q.Audited), answer, float64(p.Tokens))
		}
		return r, score, audited, nil
	})
}

func (b *Bench) askCovered(ask func(l *Loaded, o *Origins, q *Question) (Ranking, Score, Score, error)) ([]Row, error) {
	var out []Row
	for i := range b.Data.Conversations {
		c := &b.Data.Conversations[i]
		origins := newOrigins(b.Client, &b.Loaded[i])
		for j := range c.Questions {
			q := &c.Questions[j]
			if len(q.Gold) == 0 {
				continue
			}
			r, score, audited, err := ask(&b.Loaded[i], origins, q)
			if err != nil {
				return nil, fmt.Errorf("%s: %q: %w", c.ID, q.Text, err)
			}
			out = append(out, Row{Question: q, Ranking: r, Score: score, Audited: audited})
		}
	}
	return out, nil
}

// coveredShare returns the share of gold turns that are covered.
func coveredShare(turns, gold []string) float64 {
	return recallAt(rankByTurn(turns), gold, len(turns))
}

// answerIn returns the share of the answer's terms in some texts; NaN when it has no terms.
func answerIn(texts []string, answer string) float64 {
	have := map[string]bool{}
	for _, t := range texts {
		for _, term := range reference.Stemmed(t) {
			have[term] = true
		}
	}
	return termShare(answer, func(term string) bool { return have[term] })
}
