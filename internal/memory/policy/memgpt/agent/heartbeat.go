package agent

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// maxPause is how many minutes regular heartbeats may pause.
const maxPause = 360

// Heartbeats are the regular heartbeats of an agent.
type Heartbeats struct {
	Every    time.Duration
	Until    time.Time // the pause; in the past: there is none
	Revision memory.Revision
}

// Pause keeps an agent from regular heartbeats for a number of minutes, from now on; 0 ends the pause (notes:write). The
// agent reads of it. Timers and heartbeats that were posted are not affected. Invalid without the setting
// heartbeat_minutes.
func (a *Service) Pause(ctx context.Context, s tenant.Scope, ref string, minutes int) (Heartbeats, error) {
	v, p, err := a.openWritable(ctx, s, ref)
	if err != nil {
		return Heartbeats{}, err
	}
	switch {
	case minutes < 0 || minutes > maxPause:
		return Heartbeats{}, fault.InvalidField("minutes", "must be from 0 to %d", maxPause)
	case p.Heartbeat == 0:
		return Heartbeats{}, fault.New(fault.Invalid, "the agent has no regular heartbeats; policy_config.heartbeat_minutes sets them")
	}
	out := Heartbeats{Every: p.Heartbeat, Until: a.now().Add(time.Duration(minutes) * time.Minute).Truncate(time.Second)}
	n := memory.Note{
		Kind: memory.KindMessage, Key: memory.KeyPause, Category: memory.DefaultCategory, Importance: memory.DefaultImportance, State: memory.StateRaw,
		Content: "There are no regular heartbeats until " + out.Until.Format("2006-01-02 15:04") + " UTC.",
		Attributes: map[string]any{
			memory.AttrRole: string(memory.RoleUser), memory.AttrEvent: string(memory.EventAlert), attrKind: alertPause, memory.AttrRecall: true,
			memory.AttrUntil: out.Until.Format(time.RFC3339),
		},
		Provenance: memory.Provenance{Actor: s.Actor()},
	}
	next := a.now().Add(p.Heartbeat)
	if minutes == 0 {
		n.Content, next = "Regular heartbeats go on.", a.now()
		if err := a.dropHeartbeat(ctx, s, v.Collection.ID); err != nil { // it waits for the end of the pause
			return Heartbeats{}, err
		}
	}
	o := memory.WriteOptions{Cause: memory.CauseAdd, Audit: []memory.AuditEntry{
		{Action: "heartbeats.pause", Target: v.Collection.ID.String(), Detail: map[string]any{"minutes": minutes}},
	}}
	w, err := a.store.Write(ctx, s, v.Collection.ID, o, func(ctx context.Context, tx memory.Tx) error {
		// A new message, so that it is the newest one in the window.
		switch old, err := tx.NoteByKey(ctx, memory.KindMessage, memory.KeyPause); {
		case err == nil:
			if err := tx.Delete(ctx, old.ID); err != nil {
				return err
			}
		case !fault.Is(err, fault.NotFound):
			return err
		}
		put := n
		put.OccurredAt = tx.Now()
		if _, err := a.notes.PutDerived(ctx, s, tx, put); err != nil {
			return err
		}
		return nextHeartbeat(ctx, tx, next)
	})
	out.Revision = w.Revision
	return out, err
}

// dropHeartbeat cancels the waiting task of regular heartbeats.
func (a *Service) dropHeartbeat(ctx context.Context, s tenant.Scope, collection uuid.UUID) error {
	for j, err := range memory.EachJob(ctx, a.store, s, memory.JobQuery{Collection: collection, State: memory.JobScheduled, Limit: memory.MaxPage}) {
		if err != nil {
			return err
		}
		var task memory.Task
		if j.Kind != memory.JobPolicy || json.Unmarshal(j.Payload, &task) != nil || task.Name != memory.TaskHeartbeat {
			continue
		}
		entry := memory.AuditEntry{Action: "job.cancel", Target: j.ID.String(), Detail: map[string]any{"collection": collection.String()}}
		if _, err := a.store.CancelJob(ctx, s, j.ID, entry); err != nil && !fault.Is(err, fault.Conflict) {
			return err
		}
	}
	return nil
}

// nextHeartbeat enqueues the task of regular heartbeats, unless it waits already. When its time comes and something has
// happened meanwhile, it is done later.
func nextHeartbeat(ctx context.Context, tx memory.Tx, at time.Time) error {
	return memory.EnqueueFollows(ctx, tx, tx.View().Collection.ID, []memory.Follow{{Task: memory.Task{Name: memory.TaskHeartbeat}, After: at}})
}
