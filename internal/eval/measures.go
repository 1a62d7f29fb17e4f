package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Measured holds the measures of one question's candidates. With them, any weights can be tried
// without a gateway.
type Measured struct {
	Track        string             `json:"track"`
	Conversation string             `json:"conversation"`
	Category     string             `json:"category"`
	Question     int                `json:"question"` // index in the conversation
	Text         string             `json:"text"`
	Dialogue     bool               `json:"dialogue"` // asked with the dialogue
	Gold         []string           `json:"gold"`
	GoldSessions []string           `json:"gold_sessions"`
	Found        []string           `json:"found"` // the first turns as the gateway ranks by itself
	Features     map[string]float64 `json:"features"`
	Notes        []MeasuredNote     `json:"notes"` // in no useful order
}

// MeasuredNote holds the measures of one candidate.
type MeasuredNote struct {
	Turn      string             `json:"turn"`
	Score     float64            `json:"score"`
	Session   string             `json:"session"`
	Assistant bool               `json:"assistant"`
	Words     int                `json:"words"`  // of its text
	Values    map[string]float64 `json:"values"` // by signal; those that are 0 may be missing
}

// measuredK is how many candidates are measured, the most that a search returns.
const measuredK = 200

// ownHits is how many of the gateway's own hits are measured.
const ownHits = 30

// measuredWeight is a weight that explains a signal and does not choose candidates by it.
const measuredWeight = 1e-6

// WriteMeasures asks every question, and by its dialogue where it has one, and writes a line of JSON for
// each. The best by words and by vector are the candidates; without signals the gateway's own first hits, in its order.
func (b *Bench) WriteMeasures(ctx context.Context, w io.Writer, signals []string) error {
	var weights map[string]float64
	if len(signals) > 0 {
		weights = map[string]float64{"lexical": 1, "window": 1, "session": 1, "vector": 1}
	}
	for _, n := range signals {
		weights[n] = measuredWeight
	}
	enc := json.NewEncoder(w)
	for i := range b.Data.Conversations {
		c := &b.Data.Conversations[i]
		turns := map[string]*Turn{}
		for j := range c.Turns {
			turns[c.Turns[j].ID] = &c.Turns[j]
		}
		for j := range c.Questions {
			q := &c.Questions[j]
			if len(q.Gold) == 0 || q.Category == b.Data.Apart {
				continue
			}
			for _, dialogue := range []bool{false, true} {
				if dialogue && len(q.Dialogue) == 0 {
					continue
				}
				m := Measured{
					Track: b.Data.Name, Conversation: c.ID, Category: q.Category, Question: j, Text: q.Text,
					Dialogue: dialogue, Gold: q.Gold, GoldSessions: q.GoldSessions,
				}
				if err := b.measureQuestion(ctx, &m, &b.Loaded[i], q, turns, weights); err != nil {
					return err
				}
				if err := enc.Encode(m); err != nil {
					return fmt.Errorf("write: %w", err)
				}
			}
		}
	}
	return nil
}

// measureQuestion sets the candidates of a question.
func (b *Bench) measureQuestion(ctx context.Context, m *Measured, l *Loaded, q *Question, turns map[string]*Turn, weights map[string]float64) error {
	asOf, err := l.AsOf(q)
	if err != nil {
		return err
	}
	query := Query{Text: q.Text, Mode: Hybrid, K: measuredK, Profile: ProfileDefault, Weights: weights, Explain: true, Fields: idsOnly, AsOf: asOf}
	if m.Dialogue {
		query.Text, query.Messages = "", q.Dialogue
	}
	own := Query{Text: query.Text, Messages: query.Messages, Mode: Hybrid, K: ownHits, Explain: weights == nil, Fields: idsOnly, AsOf: asOf}
	ranked, err := b.Client.Search(ctx, l.Collection, own)
	if err != nil {
		return err
	}
	if m.Found, err = l.Turns(ranked.Hits); err != nil {
		return err
	}
	found := ranked
	if weights != nil {
		if found, err = b.Client.Search(ctx, l.Collection, query); err != nil {
			return err
		}
	}
	ids, err := l.Turns(found.Hits)
	if err != nil {
		return err
	}
	for i, h := range found.Hits {
		t := turns[ids[i]]
		m.Features = h.Explain.Query
		n := MeasuredNote{
			Turn: t.ID, Score: h.Score, Session: t.Session, Words: len(strings.Fields(t.Text)), Values: map[string]float64{},
			Assistant: strings.HasPrefix(t.Text, "assistant: ") || t.Attributes["role"] == "assistant",
		}
		for _, s := range h.Explain.Signals {
			n.Values[s.Name] = s.Raw
		}
		m.Notes = append(m.Notes, n)
	}
	return nil
}
