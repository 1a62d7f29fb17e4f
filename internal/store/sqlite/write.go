package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Write implements memory.Writer.
func (s *Store) Write(ctx context.Context, sc tenant.Scope, collection uuid.UUID, o memory.WriteOptions, fn func(context.Context, memory.Tx) error) (w memory.Written, err error) {
	if err := sc.Check(); err != nil {
		return w, err
	}
	err = s.writing(ctx, func(bare context.Context, q *session) error {
		now := s.now()
		r, err := q.live(bare, sc, collection, now)
		if err != nil {
			return err
		}
		if o.Idempotency != nil {
			seen, ok, err := q.replayed(bare, sc, *o.Idempotency, now)
			if err != nil {
				return err
			}
			if ok {
				w = memory.Written{Revision: r.Head, Replay: &seen}
				return errDone
			}
		}
		if r.State == memory.CollectionCopying && !o.System {
			return fault.New(fault.Conflict, "the collection is still being copied")
		}
		t, err := q.begin(bare, sc, r, now)
		if err != nil {
			return err
		}
		if err := fn(ctx, t); err != nil {
			return passed{err}
		}
		if err := t.finish(bare, o); err != nil {
			return err
		}
		w = memory.Written{Revision: r.Head, Logged: t.logged}
		if t.logged {
			w.Revision = t.revision
		}
		return nil
	})
	if p, ok := errors.AsType[passed](err); ok {
		err = s.translate(p.error)
	}
	if err != nil {
		return memory.Written{}, err
	}
	return w, nil
}

// passed is an error of the caller's closure, which is returned as it is.
type passed struct{ error }

func (p passed) Unwrap() error { return p.error }

// tx implements memory.Tx.
type tx struct {
	q        *session
	scope    tenant.Scope
	row      row
	view     memory.View
	layers   []memory.Layer // bounded by the new revision, so that own writes are read
	revision memory.Revision
	now      time.Time
	before   head
	head     head
	logged   bool
	answer   json.RawMessage // nil: none was given
}

var _ memory.Tx = (*tx)(nil)

func (q *session) begin(ctx context.Context, sc tenant.Scope, r row, now time.Time) (*tx, error) {
	layers, err := q.layers(ctx, r, r.Head)
	if err != nil {
		return nil, err
	}
	h, err := q.head(ctx, sc.Tenant(), r.ID)
	if err != nil {
		return nil, err
	}
	t := &tx{
		q: q, scope: sc, row: r, view: memory.NewView(sc, r.Collection, r.Head, layers),
		revision: r.Head + 1, now: now, before: h, head: h,
	}
	t.head.Kinds = maps.Clone(h.Kinds)
	t.layers = append([]memory.Layer(nil), layers...)
	t.layers[0].Bound = t.revision
	return t, nil
}

// finish writes what belongs to the changeset as a whole.
func (t *tx) finish(ctx context.Context, o memory.WriteOptions) error {
	id := t.row.ID
	if t.logged {
		if err := t.undoneOnce(ctx, o.Undoes); err != nil {
			return err
		}
		t.head.revision = t.revision
		_, err := t.q.exec(ctx, "INSERT INTO changesets (tenant, collection, revision, at, actor, job, trigger, cause, undoes, merged_from) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '')",
			blob(t.scope.Tenant()), blob(id), rev(t.revision), micros(t.now), t.scope.Actor(), blob(o.Job), blob(o.Trigger), string(o.Cause), rev(o.Undoes))
		if err != nil {
			return err
		}
		if err := t.q.saveHead(ctx, t.scope.Tenant(), id, t.head); err != nil {
			return err
		}
	}
	for _, e := range o.Audit {
		if err := t.q.audit(ctx, t.scope, t.now, e); err != nil {
			return err
		}
	}
	if o.Idempotency == nil {
		return nil
	}
	k := *o.Idempotency
	if t.answer != nil {
		k.IDs = t.answer
	}
	return t.q.remember(ctx, t.scope, k, t.now)
}

// undoneOnce refuses a second undoing of a revision.
func (t *tx) undoneOnce(ctx context.Context, undoes memory.Revision) error {
	if undoes == 0 {
		return nil
	}
	var by int64
	ok, err := t.q.get(ctx, "SELECT revision FROM changesets WHERE tenant = ? AND collection = ? AND revision > ? AND undoes = ? LIMIT 1",
		[]any{blob(t.tenant()), blob(t.row.ID), rev(undoes), rev(undoes)}, &by)
	if err == nil && ok {
		err = fault.New(fault.Conflict, "revision %d was undone already, at revision %d", undoes, by)
	}
	return err
}

func (t *tx) View() memory.View         { return t.view }
func (t *tx) Revision() memory.Revision { return t.revision }
func (t *tx) Now() time.Time            { return t.now }

func (t *tx) Answer(ids json.RawMessage) {
	t.answer = slices.Clone(ids)
}

func (t *tx) tenant() uuid.UUID { return t.scope.Tenant() }

func (t *tx) Notes(ctx context.Context, wanted []uuid.UUID, o memory.ReadOptions) ([]memory.Note, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return t.q.notes(context.WithoutCancel(ctx), t.tenant(), t.layers, newReader(&t.row.Collection, o), wanted)
}

func (t *tx) NoteByKey(ctx context.Context, kind memory.Kind, key string) (memory.Note, error) {
	n, ok, err := t.q.byKey(context.WithoutCancel(ctx), t.tenant(), t.layers, newReader(&t.row.Collection, memory.ReadOptions{}), kind, key)
	if err == nil && !ok {
		err = fault.Missing("note")
	}
	return n.Note, err
}

func (t *tx) Links(ctx context.Context, lq memory.LinkQuery) ([]memory.Link, error) {
	return t.q.links(context.WithoutCancel(ctx), t.tenant(), t.layers, lq)
}

func (t *tx) SetUsage(ctx context.Context, note uuid.UUID, u memory.Usage) error {
	if _, err := t.visible(ctx, note); err != nil {
		return err
	}
	return t.q.setUsage(context.WithoutCancel(ctx), t.tenant(), t.row.ID, note, u)
}

func (t *tx) Enqueue(ctx context.Context, j memory.Job) (memory.Job, error) {
	j.Collection = t.row.ID
	return t.q.enqueue(context.WithoutCancel(ctx), t.tenant(), j, t.now)
}

func (t *tx) EndJob(ctx context.Context, job, lease uuid.UUID, end memory.JobEnd) error {
	return t.q.endJob(context.WithoutCancel(ctx), t.tenant(), job, lease, end, t.now)
}

func (t *tx) CountEvolved(ctx context.Context) (n int64, err error) {
	_, err = t.q.get(context.WithoutCancel(ctx), "UPDATE collection_heads SET evolved_adds = evolved_adds + 1 WHERE tenant = ? AND collection = ? RETURNING evolved_adds",
		[]any{blob(t.tenant()), blob(t.row.ID)}, &n)
	return n, err
}

// visible finds the version of a visible note.
func (t *tx) visible(ctx context.Context, note uuid.UUID) (version, error) {
	n, ok, err := t.version(ctx, note)
	if err == nil && (!ok || n.Deleted) {
		err = fault.Missing("note")
	}
	return n, err
}

// version finds the version that decides about a note, tombstones included.
func (t *tx) version(ctx context.Context, note uuid.UUID) (n version, ok bool, err error) {
	found, err := t.q.versions(context.WithoutCancel(ctx), t.tenant(), t.layers, reader{collection: t.row.ID}, []uuid.UUID{note})
	if err != nil {
		return n, false, err
	}
	n, ok = found[note]
	return n, ok, nil
}
