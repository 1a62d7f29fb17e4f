package mem0

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// expiryTasks returns the tasks that delete facts when they have expired. Times near each
// other share a task, and more so if they are far ahead, since every decision reads all
// waiting tasks. Until its task runs, an expired fact is ignored where facts are compared.
func expiryTasks(now time.Time, facts ...memory.Note) []memory.Follow {
	var times []time.Time
	for i := range facts {
		if at, ok := memory.ExpiryOf(facts[i].Attributes); ok {
			times = append(times, at)
		}
	}
	return expiryTasksAt(now, times)
}

// expiryTasksAt returns the tasks for times at which facts expire.
func expiryTasksAt(now time.Time, times []time.Time) []memory.Follow {
	var out []memory.Follow
	for _, at := range times {
		at = expiryTaskTime(now, at)
		if key := policy.FormatTime(at); !slices.ContainsFunc(out, func(f memory.Follow) bool { return f.Task.Key == key }) {
			out = append(out, memory.Follow{Task: memory.Task{Name: TaskExpire, Key: key}, After: at})
		}
	}
	return out
}

// expiryTaskTime returns when a task deletes a fact that expires at a time: rounded up to
// the minute within an hour, to the hour within two days, to the day within a year, else
// to 30 days. It is at most ten years ahead; that task then schedules the next.
func expiryTaskTime(now, at time.Time) time.Time {
	const day = 24 * time.Hour
	ahead, step := at.Sub(now), time.Minute
	switch {
	case ahead > 10*365*day:
		at, step = now.Add(10*365*day), 30*day
	case ahead > 365*day:
		step = 30 * day
	case ahead > 2*day:
		step = day
	case ahead > time.Hour:
		step = time.Hour
	}
	at = at.UTC()
	if whole := at.Truncate(step); whole.Before(at) {
		return whole.Add(step)
	}
	return at
}

// maxExpired bounds the facts that one task deletes; another task deletes the rest.
const maxExpired = 1000

// expire deletes the facts that have expired, and schedules the tasks for the others.
func (p *Policy) expire(ctx context.Context, d memory.Desk, c *Config) (memory.Decision, error) {
	out := Outcome{Policy: p.Name(), Decision: policy.DecisionKeep}
	now := d.Now()
	q := memory.NoteQuery{
		Kinds:  []memory.Kind{memory.KindFact},
		Filter: &filter.Leaf{Field: filter.Attributes, Path: []string{memory.AttrExpires}, Op: filter.Exists, Want: true},
	}
	dec := memory.Decision{Cause: memory.CauseForget}
	var removed []memory.Note
	var later []time.Time
	for n, err := range policy.EachNote(ctx, d, q) {
		if err != nil {
			return memory.Decision{}, fmt.Errorf("read facts that expire: %w", err)
		}
		at, ok := memory.ExpiryOf(n.Attributes)
		switch {
		case !ok:
		case at.After(now):
			later = append(later, at)
		case len(removed) < maxExpired:
			dec.Deletes = append(dec.Deletes, n.ID)
			removed = append(removed, *n)
		default:
			later = append(later, now)
		}
	}
	if out.Expired = dec.Deletes; len(out.Expired) > 0 {
		out.Decision = decisionForgotten
		if c.Graph {
			if err := p.graph.update(ctx, d, c, factChange{removed: removed}, &dec, &out); err != nil {
				return memory.Decision{}, err
			}
		}
	}
	dec.Follow = append(dec.Follow, expiryTasksAt(now, later)...)
	out.addFollows(dec.Follow...)
	dec.Outcome = policy.Encode(&out)
	return dec, nil
}

// hasExpired reports whether a fact has expired.
func hasExpired(n *memory.Note, now time.Time) bool {
	at, ok := memory.ExpiryOf(n.Attributes)
	return ok && !at.After(now)
}

// mergedExpiry returns the attributes of a memory after a fact was merged into it: its
// own, with the later of the two expiry times.
func mergedExpiry(own, merged map[string]any) map[string]any {
	a, aOK := memory.ExpiryOf(own)
	b, bOK := memory.ExpiryOf(merged)
	if !aOK || !bOK || !b.After(a) {
		return own
	}
	out := maps.Clone(own)
	out[memory.AttrExpires] = merged[memory.AttrExpires]
	return out
}
