package mem0

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// keyRefresh is the key of TaskSummary if it was requested because the summary is stale.
// It differs from the key of one that an exchange requested, so both can be queued.
const keyRefresh = "refresh"

// Refresh asks to write stale summaries and records again, and to mark the facts that come
// from a deleted message or note.
func (p *Policy) Refresh(was, is *memory.Note, stale []memory.Note) []memory.Follow {
	var out []memory.Follow
	for i := range stale {
		n := &stale[i]
		if session, ok := strings.CutPrefix(n.Key, KeyProcedure); ok {
			out = append(out, memory.Follow{Task: memory.Task{Name: TaskProcedure, Key: session}})
		} else if n.Key == KeySummary {
			out = append(out, memory.Follow{Task: memory.Task{Name: TaskSummary, Key: keyRefresh}})
		}
	}
	if is == nil && (was.Kind == memory.KindMessage || was.Kind == memory.KindNote) {
		out = append(out, memory.Follow{Task: memory.Task{Name: TaskMarkOrphans, Key: was.ID.String()}})
	}
	return out
}

// markOrphans marks the facts that come from a deleted message as stale. They may still be
// true, and searches find them as before.
func (p *Policy) markOrphans(ctx context.Context, d memory.Desk, key string) (memory.Decision, error) {
	id, err := uuid.Parse(key)
	if err != nil {
		return memory.Decision{}, fault.InvalidField("key", "must be the id of a message")
	}
	out := Outcome{Policy: p.Name(), Decision: policy.DecisionKeep}
	existing, err := d.Notes(ctx, []uuid.UUID{id})
	if err != nil {
		return memory.Decision{}, fmt.Errorf("read the message: %w", err)
	}
	if len(existing) > 0 { // the message was restored
		return memory.Decision{Outcome: policy.Encode(&out)}, nil
	}
	dec := memory.Decision{Cause: memory.CauseDelete}
	for n, err := range policy.EachNote(ctx, d, memory.NoteQuery{Kinds: []memory.Kind{memory.KindFact}}) {
		if err != nil {
			return memory.Decision{}, fmt.Errorf("read the facts: %w", err)
		}
		if slices.Contains(n.Provenance.Sources, id) && !n.Provenance.Stale {
			fact := *n
			fact.Provenance.Stale = true
			dec.Puts = append(dec.Puts, fact)
			out.Stale = append(out.Stale, n.ID)
		}
	}
	dec.Outcome = policy.Encode(&out)
	return dec, nil
}

// Reanalyzes reports that the exchange or note of a fact is extracted from again. The facts that it has are compared
// with the new ones as any others are, and only a decision that names one changes or retires it.
func (*Policy) Reanalyzes(kind memory.Kind) bool { return kind == memory.KindFact }

var (
	_ memory.Refresher  = (*Policy)(nil)
	_ memory.Reanalyzer = (*Policy)(nil)
)
