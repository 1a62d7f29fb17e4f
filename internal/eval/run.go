package eval

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// idsOnly asks for hits without their notes.
var idsOnly = []string{"id"}

// Variant is one way to search.
type Variant struct {
	Name    string             `json:"-"`
	Mode    string             `json:"mode"`
	Profile string             `json:"profile,omitempty"`
	Weights map[string]float64 `json:"weights,omitempty"`
	// Dialogue asks with the dialogue instead of its last message.
	Dialogue bool `json:"dialogue,omitempty"`
	// Auto asks for as many hits as score clearly above the rest.
	Auto bool `json:"auto,omitempty"`
}

// Bench is a gateway that has a data set loaded, with a collection for each conversation.
type Bench struct {
	Client   *Client
	Data     *Dataset
	Loaded   []Loaded // by conversation
	Loading  time.Duration
	Embedder string
	Policy   string
	Config   map[string]any // of the policy; nil for the defaults
	Talk     bool           // loaded as messages; hits are scored by the turns they were derived from
	Stored   []Stored       // by conversation, if Talk
	Engine   string         // the gateway's store, for results; set by the caller
}

// Open loads a data set into new collections with a policy, named by prefix and conversation. It
// returns when all jobs have ended and every note can be found in every mode. logf logs progress.
func Open(ctx context.Context, c *Client, d *Dataset, prefix, policy string, logf func(format string, args ...any)) (*Bench, error) {
	b := &Bench{Client: c, Data: d, Policy: policy}
	start := time.Now()
	for i := range d.Conversations {
		conversation := &d.Conversations[i]
		at := time.Now()
		logged := time.Now()
		l, err := Load(ctx, c, prefix+conversation.ID, policy, conversation, func(written, jobs int) {
			if time.Since(logged) > 5*time.Second {
				logged = time.Now()
				logf("%s: %s: %d of %d notes, %d jobs or more left", d.Name, conversation.ID, written, len(conversation.Turns), max(jobs, 0))
			}
		})
		if err != nil {
			return nil, err
		}
		if l.Failed > 0 || l.Pending > 0 || l.Notes < int64(len(conversation.Turns)) {
			err := fmt.Errorf("%s: %d of %d notes are stored, %d refused, %d without a vector", conversation.ID, l.Notes, len(conversation.Turns), l.Failed, l.Pending)
			if l.Refusal != nil {
				err = fmt.Errorf("%w; the first refusal: %w", err, l.Refusal)
			}
			return nil, err
		}
		logf("%s: %s loaded, %d of %d, %d notes in %.1f s", d.Name, conversation.ID, i+1, len(d.Conversations), l.Notes, time.Since(at).Seconds())
		b.Embedder = l.Embedder
		b.Loaded = append(b.Loaded, l)
	}
	b.Loading = time.Since(start)
	return b, nil
}

// Ask asks every question with a variant and measures the answers.
func (b *Bench) Ask(ctx context.Context, v Variant) ([]Row, error) {
	return measure(b.Data, func(i int) (Asker, error) {
		l := &b.Loaded[i]
		return func(q *Question) (Ranking, error) {
			start := time.Now()
			asOf, err := l.AsOf(q)
			if err != nil {
				return Ranking{}, err
			}
			query := Query{Text: q.Text, Mode: v.Mode, K: cutOff, Profile: v.Profile, Weights: v.Weights, Fields: idsOnly, AsOf: asOf}
			if v.Auto {
				query.K = kAuto
			}
			if v.Dialogue {
				query.Text, query.Messages = "", q.Dialogue
			}
			found, err := b.Client.Search(ctx, l.Collection, query)
			wall := time.Since(start)
			if err != nil {
				return Ranking{}, err
			}
			if found.Degraded != "" {
				return Ranking{}, errors.New("degraded: " + found.Degraded)
			}
			out := ranking(&found, wall)
			out.Turns, err = l.Turns(found.Hits)
			return out, err
		}, nil
	})
}

// ranking returns the Ranking of an answer without its turns.
func ranking(found *Found, wall time.Duration) Ranking {
	out := Ranking{Took: time.Duration(found.TookMs * float64(time.Millisecond)), Wall: wall, Answerable: math.NaN(), Profile: found.Profile}
	if len(found.Hits) > 0 {
		out.Best = found.Hits[0].Score
	}
	if found.Answerable != nil {
		out.Answerable = *found.Answerable
	}
	return out
}

// Signals returns the signals of a variant, in order of appearance, from the explanations of the
// first questions of each conversation.
func (b *Bench) Signals(ctx context.Context, v Variant) ([]Signal, error) {
	const questions = 20
	var out []Signal
	seen := map[string]bool{}
	for i := range b.Data.Conversations {
		for j, q := range b.Data.Conversations[i].Questions {
			if j == questions {
				break
			}
			found, err := b.Client.Search(ctx, b.Loaded[i].Collection, Query{Text: q.Text, Mode: v.Mode, K: cutOff, Profile: v.Profile, Weights: v.Weights, Explain: true})
			if err != nil {
				return nil, err
			}
			for _, h := range found.Hits {
				for _, s := range h.Explain.Signals {
					if !seen[s.Name] {
						seen[s.Name] = true
						out = append(out, s)
					}
				}
			}
		}
	}
	return out, nil
}
