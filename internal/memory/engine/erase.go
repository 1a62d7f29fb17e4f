package engine

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// RunErase erases the earlier versions of notes that an erasure made stale, when their policy has made them again. Until
// then it is tried again: what they say may be what was erased.
func (e *Engine) RunErase(ctx context.Context, s tenant.Scope, job memory.Job) error {
	var p memory.EraseJob
	if err := json.Unmarshal(job.Payload, &p); err != nil {
		return fault.New(fault.Invalid, "the payload of the erase job cannot be read; a newer version may have made it")
	}
	v, err := e.store.OpenView(ctx, s, job.Collection.String(), memory.At{})
	if err != nil {
		return err
	}
	shown, err := e.store.Notes(ctx, s, v, p.Notes, memory.ReadOptions{Vector: true})
	if err != nil {
		return err
	}
	what := memory.Erasing{Notes: slices.Clone(p.Notes)}
	for i := range shown {
		if shown[i].Provenance.Stale {
			return &fault.Error{Code: fault.Unavailable, Message: "a summary is not made again yet", RetryAfter: time.Second}
		}
		what.Past = append(what.Past, shown[i].ID)
		what.Notes = slices.DeleteFunc(what.Notes, func(id uuid.UUID) bool { return id == shown[i].ID })
		past, err := e.store.History(ctx, s, v, shown[i].ID, 0, 0)
		if err != nil {
			return err
		}
		then := slices.IndexFunc(past, func(h memory.HistoryEntry) bool { return h.Note.From <= p.Before })
		for k := 1; k < len(past); k++ {
			next := past[k].Note
			if k <= then || then < 0 {
				next = shown[i]
				next.Layer, next.From = past[k].Note.Layer, past[k].Note.From
			}
			what.Kept = append(what.Kept, next)
		}
	}
	_, err = e.store.EraseNotes(ctx, s, job.Collection, what, memory.AuditEntry{Action: "note.erase", Target: job.Collection.String()})
	return err
}
