package eval

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/slipboxhq/slipbox/internal/eval/reference"
)

// Ranking is the answer to one question.
type Ranking struct {
	Turns []string // ids of distinct turns, best first
	Best  float64  // score of the first hit; 0 without hits, NaN when hits have no score
	// Answerable is the gateway's own estimate; NaN when it reports none.
	Answerable float64
	Profile    string        // of the ranking, as the gateway reports
	Took       time.Duration // as the gateway reports
	Wall       time.Duration // as the client measures
}

// Asker answers the questions of one conversation.
type Asker func(q *Question) (Ranking, error)

// Row is the measured answer to one question.
type Row struct {
	Question *Question
	Ranking  Ranking
	Score    Score // nil for a question without gold
	Audited  Score // the same against the audited labels
}

// measure asks every question of a data set and measures the answers. with prepares conversation i
// and returns what answers its questions.
func measure(d *Dataset, with func(i int) (Asker, error)) ([]Row, error) {
	var out []Row
	for i := range d.Conversations {
		c := &d.Conversations[i]
		ask, err := with(i)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.ID, err)
		}
		scale := newScale(c.Turns, d.Budgets)
		for j := range c.Questions {
			q := &c.Questions[j]
			if len(q.Gold) == 0 {
				continue
			}
			r, err := ask(q)
			if err != nil {
				return nil, fmt.Errorf("%s: %q: %w", c.ID, q.Text, err)
			}
			row := Row{
				Question: q, Ranking: r,
				Score: scale.Measure(r.Turns, q.Gold, q.Answer), Audited: scale.Measure(r.Turns, q.Audited, q.Answer),
			}
			if d.Sessions {
				of := scale.sessionRecall(r.Turns, q.GoldSessions)
				row.Score, row.Audited = append(row.Score, of), append(row.Audited, of)
			}
			out = append(out, row)
		}
	}
	return out, nil
}

// Reference is a simple scorer with known figures over published data.
type Reference struct {
	Name string
	make func(c *Conversation) (reference.Scorer, func(string) []string)
}

// References returns the scorers to compare with, the simplest first. The first one checks the
// harness: its figures must match to four decimals.
func References() []Reference {
	text := func(t *Turn) string { return t.Text }
	dated := func(t *Turn) string { return t.Rendered }
	return []Reference{
		{"BM25, A", func(c *Conversation) (reference.Scorer, func(string) []string) {
			return reference.BM25(analyzed(c, text, reference.Plain)), reference.Plain
		}},
		{"TF-IDF cosine, B", func(c *Conversation) (reference.Scorer, func(string) []string) {
			return reference.TFIDF(analyzed(c, text, reference.Stemmed)), reference.Stemmed
		}},
		{"BM25, B", func(c *Conversation) (reference.Scorer, func(string) []string) {
			return reference.BM25(analyzed(c, text, reference.Stemmed)), reference.Stemmed
		}},
		{"BM25, B, date", func(c *Conversation) (reference.Scorer, func(string) []string) {
			return reference.BM25(analyzed(c, dated, reference.Stemmed)), reference.Stemmed
		}},
		{"BM25, B, window 1", func(c *Conversation) (reference.Scorer, func(string) []string) {
			docs := analyzed(c, text, reference.Stemmed)
			return reference.BM25(reference.Windows(docs, sessions(c), 1)), reference.Stemmed
		}},
		{"Blend L", func(c *Conversation) (reference.Scorer, func(string) []string) {
			return reference.Blend(analyzed(c, dated, reference.Stemmed), sessions(c)), reference.Stemmed
		}},
	}
}

// Ask measures the scorer over a data set.
func (r Reference) Ask(d *Dataset) ([]Row, error) {
	return measure(d, func(i int) (Asker, error) { return r.asker(&d.Conversations[i]), nil })
}

func (r Reference) asker(c *Conversation) Asker {
	var score reference.Scorer
	var terms func(string) []string
	known := -1 // turns that score covers
	return func(q *Question) (Ranking, error) {
		if n := cmp.Or(q.Before, len(c.Turns)); n != known {
			before := *c
			before.Turns = c.Turns[:n]
			score, terms = r.make(&before)
			known = n
		}
		scores := score(terms(q.Text))
		out := Ranking{Answerable: math.NaN()}
		for _, i := range reference.Rank(scores) {
			if len(out.Turns) == 0 {
				out.Best = scores[i]
			}
			out.Turns = append(out.Turns, c.Turns[i].ID)
		}
		return out, nil
	}
}

func analyzed(c *Conversation, of func(*Turn) string, terms func(string) []string) [][]string {
	out := make([][]string, len(c.Turns))
	for i := range c.Turns {
		out[i] = terms(of(&c.Turns[i]))
	}
	return out
}

func sessions(c *Conversation) []string {
	out := make([]string, len(c.Turns))
	for i := range c.Turns {
		out[i] = c.Turns[i].Session
	}
	return out
}

// column returns one metric of the rows that keep selects, in order.
func column(rows []Row, metric int, keep func(*Row) bool) []float64 {
	var out []float64
	for i := range rows {
		if r := &rows[i]; keep(r) && !math.IsNaN(r.Score[metric]) {
			out = append(out, r.Score[metric])
		}
	}
	return out
}
