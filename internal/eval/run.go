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

// Variant is one way to ask.
type Variant struct {
	Name    string             `json:"-"`
	Mode    string             `json:"mode"`
	Profile string             `json:"profile,omitempty"`
	Weights map[string]float64 `json:"weights,omitempty"`
}

// Bench is a gateway with a data set in it: a collection for each conversation.
type Bench struct {
	Client   *Client
	Data     *Dataset
	Loaded   []Loaded // by conversation
	Loading  time.Duration
	Embedder string
	Policy   string
	Config   map[string]any // of the policy; nil: its defaults
	Talk     bool           // loaded as messages of conversations; then hits are scored by what they were made from
	Stored   []Stored       // by conversation, when Talk
	Engine   string         // what the gateway stores in, for results; set by who knows
}

// Open loads a data set into new collections with a policy, named by prefix and
// conversation. It returns when no job is left and every note can be searched in every
// mode. tellf is called with what goes on.
func Open(ctx context.Context, c *Client, d *Dataset, prefix, policy string, tellf func(format string, args ...any)) (*Bench, error) {
	b := &Bench{Client: c, Data: d, Policy: policy}
	start := time.Now()
	for i := range d.Conversations {
		conversation := &d.Conversations[i]
		at := time.Now()
		told := time.Now()
		l, err := Load(ctx, c, prefix+conversation.ID, policy, conversation.Turns, func(written, jobs int) {
			if time.Since(told) > 5*time.Second {
				told = time.Now()
				tellf("%s: %s: %d of %d notes, %d jobs or more left", d.Name, conversation.ID, written, len(conversation.Turns), max(jobs, 0))
			}
		})
		if err != nil {
			return nil, err
		}
		if l.Failed > 0 || l.Pending > 0 || l.Notes < int64(len(conversation.Turns)) {
			return nil, fmt.Errorf("%s: %d of %d notes are there, %d refused, %d without a vector", conversation.ID, l.Notes, len(conversation.Turns), l.Failed, l.Pending)
		}
		tellf("%s: %s loaded, %d of %d, %d notes in %.1f s", d.Name, conversation.ID, i+1, len(d.Conversations), l.Notes, time.Since(at).Seconds())
		b.Embedder = l.Embedder
		b.Loaded = append(b.Loaded, l)
	}
	b.Loading = time.Since(start)
	return b, nil
}

// Ask asks every question in one way and measures the answers.
func (b *Bench) Ask(ctx context.Context, v Variant) ([]Row, error) {
	return Measure(b.Data, func(i int) (Asker, error) {
		l := &b.Loaded[i]
		return func(q *Question) (Ranking, error) {
			start := time.Now()
			found, err := b.Client.Search(ctx, l.Collection, Query{
				Text: q.Text, Mode: v.Mode, K: cutOff, Profile: v.Profile, Weights: v.Weights, Fields: idsOnly,
			})
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

// ranking takes over what stands beside the hits.
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

// Signals gives the names of the signals of a way to ask, by what the gateway explains
// of the answers to the first questions of each conversation, in order of appearance.
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
