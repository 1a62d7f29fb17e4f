package policy

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// expiries puts off the deleting of facts to when their time is over. Each
// time has a task of its own, since one that waits for a later one would stand
// in the way of it.
func expiries(facts ...memory.Note) []memory.Follow {
	var out []memory.Follow
	for i := range facts {
		at, ok := expiryOf(&facts[i])
		if !ok {
			continue
		}
		key := stamp(at)
		if !slices.ContainsFunc(out, func(f memory.Follow) bool { return f.Task.Key == key }) {
			out = append(out, memory.Follow{Task: memory.Task{Name: TaskExpire, Key: key}, After: at})
		}
	}
	return out
}

// expire deletes the facts whose time is over.
func (p *Mem0) expire(ctx context.Context, d memory.Desk, c *Mem0Config) (memory.Decision, error) {
	out := Mem0Outcome{Policy: p.Name(), Decision: DecisionKeep}
	now := d.Now()
	q := memory.NoteQuery{
		Kinds:  []memory.Kind{memory.KindFact},
		Filter: &filter.Leaf{Field: filter.Attributes, Path: []string{memory.AttrExpires}, Op: filter.Exists, Want: true},
	}
	dec := memory.Decision{Cause: memory.CauseForget}
	var removed []memory.Note
	err := listed(ctx, d, q, func(n *memory.Note) {
		if hasExpired(n, now) {
			dec.Deletes = append(dec.Deletes, n.ID)
			removed = append(removed, *n)
		}
	})
	if err != nil {
		return memory.Decision{}, fmt.Errorf("read facts that expire: %w", err)
	}
	if out.Expired = dec.Deletes; len(out.Expired) > 0 {
		out.Decision = DecisionForgotten
		if c.Graph {
			if err := p.graph.ingest(ctx, d, c, nil, removed, &dec, &out); err != nil {
				return memory.Decision{}, err
			}
		}
	}
	dec.Outcome = out.encode()
	return dec, nil
}

// hasExpired tells that the time of a fact is over.
func hasExpired(n *memory.Note, now time.Time) bool {
	at, ok := expiryOf(n)
	return ok && !at.After(now)
}

// expiryOf is when a fact ends; ok is false for one that does not.
func expiryOf(n *memory.Note) (at time.Time, ok bool) {
	s, isText := n.Attributes[memory.AttrExpires].(string)
	if !isText {
		return time.Time{}, false
	}
	at, err := filter.ParseTime(s)
	return at, err == nil
}

// laterExpiry gives the attributes of a memory after a fact was merged into
// it: its own, which ends when the later of the two does.
func laterExpiry(own, merged map[string]any) map[string]any {
	a, aOK := expiryOf(&memory.Note{Attributes: own})
	b, bOK := expiryOf(&memory.Note{Attributes: merged})
	if !aOK || !bOK || !b.After(a) {
		return own
	}
	out := maps.Clone(own)
	out[memory.AttrExpires] = merged[memory.AttrExpires]
	return out
}
