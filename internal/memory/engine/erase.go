package engine

import (
	"context"
	"encoding/json"
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
	shown, err := e.store.Notes(ctx, s, v, p.Notes, memory.ReadOptions{})
	if err != nil {
		return err
	}
	visible := map[uuid.UUID]bool{}
	for i := range shown {
		if shown[i].Provenance.Stale {
			return &fault.Error{Code: fault.Unavailable, Message: "a summary is not made again yet", RetryAfter: time.Second}
		}
		visible[shown[i].ID] = true
	}
	var gone, past []uuid.UUID
	for _, id := range p.Notes {
		if visible[id] {
			past = append(past, id)
		} else {
			gone = append(gone, id)
		}
	}
	_, err = e.store.EraseNotes(ctx, s, job.Collection, memory.Erasing{Notes: gone, Past: past}, memory.AuditEntry{Action: "note.erase", Target: job.Collection.String()})
	return err
}
