package postgres

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// locked is a collection whose writing lock a transaction holds. The writes of
// one transaction take their turns at it; what each leaves is what the next one
// finds.
type locked struct {
	q      *session
	bare   context.Context //nolint:containedctx // of the transaction
	row    row
	found  bool // there is such a collection
	head   head
	layers []memory.Layer
	now    func() time.Time
}

// take allots a revision and takes the lock. The row is read by a statement
// of its own: it sees what was written while the lock was waited for.
func (l *locked) take(tenantID, collection uuid.UUID) error {
	l.q.later("UPDATE collection_heads SET head = head + 1 WHERE tenant = $1 AND collection = $2", tenantID, collection)
	var line lineage
	dest, finish := l.row.dest()
	headDest, headFinish := l.head.dest()
	dest = append(append(dest, headDest...), line.dest()...)
	var err error
	l.found, err = l.q.get(l.bare, "SELECT "+collectionColumns+", "+headColumns+", "+lineageColumns+collectionTables+lineageOf("h.head - 1")+
		"WHERE c.tenant = $1 AND c.id = $2", []any{tenantID, collection}, dest...)
	if err != nil || !l.found {
		return err
	}
	if err := finish(); err != nil {
		return err
	}
	if err := headFinish(); err != nil {
		return err
	}
	l.head.revision-- // it is allotted, and used when something is logged
	l.q.queue = &queue{collection, l.head.jobs}
	l.layers, err = line.resolve()
	return err
}

// write runs one write. An error means that what it has sent is to be undone;
// kept is false when there is nothing to keep.
func (l *locked) write(ctx context.Context, r *request) (w memory.Written, kept bool, err error) {
	if err := ctx.Err(); err != nil {
		return w, false, err
	}
	now := l.now()
	if !l.found || !r.scope.Reaches(l.row.Agent) || !store.Visible(&l.row.Collection, now) {
		return w, false, fault.Missing("collection")
	}
	o := &r.options
	head := l.head.revision
	if o.Idempotency != nil {
		seen, ok, err := l.q.replayed(l.bare, r.scope, *o.Idempotency, now)
		if err != nil {
			return w, false, err
		}
		if ok {
			return memory.Written{Revision: head, Replay: &seen}, false, nil
		}
	}
	if l.row.State == memory.CollectionCopying && !o.System {
		return w, false, fault.New(fault.Conflict, "the collection is still being copied")
	}
	t := l.begin(r.scope, now)
	if err := r.fn(ctx, t); err != nil {
		return w, false, err
	}
	if err := t.finish(o); err != nil {
		return w, false, err
	}
	if err := ctx.Err(); err != nil {
		return w, false, err
	}
	l.head, l.row.EvolvedAdds = t.head, t.row.EvolvedAdds
	l.row.Embedder, l.row.Dim, l.row.Reembedded = t.row.Embedder, t.row.Dim, t.row.Reembedded
	l.head.jobs = l.q.queue.last
	return memory.Written{Revision: l.head.revision, Logged: t.logged}, true, nil
}

// tx implements memory.Tx.
type tx struct {
	q        *session
	bare     context.Context //nolint:containedctx // of the transaction: a caller that goes away interrupts no statement
	scope    tenant.Scope
	row      row
	view     memory.View
	layers   []memory.Layer // bounded by the new revision, so that own writes are read
	revision memory.Revision
	now      time.Time
	head     head
	logged   bool
	answer   json.RawMessage // nil: none was given
}

var _ memory.Tx = (*tx)(nil)

func (l *locked) begin(sc tenant.Scope, now time.Time) *tx {
	at := l.head.revision
	r, layers := l.row, append([]memory.Layer(nil), l.layers...)
	r.Head, layers[0].Bound = at, at
	t := &tx{
		q: l.q, bare: l.bare, scope: sc, row: r, view: memory.NewView(sc, r.Collection, at, layers),
		revision: at + 1, now: now, head: l.head,
	}
	t.head.Kinds = maps.Clone(l.head.Kinds)
	t.layers = append([]memory.Layer(nil), layers...)
	t.layers[0].Bound = t.revision
	return t
}

// finish writes what belongs to the changeset as a whole.
func (t *tx) finish(o *memory.WriteOptions) error {
	if t.logged {
		if err := t.undoneOnce(o.Undoes); err != nil {
			return err
		}
		t.head.revision = t.revision
		t.q.later("INSERT INTO changesets (tenant, collection, revision, at, actor, job, trigger, cause, undoes) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
			t.tenant(), t.row.ID, rev(t.revision), t.now, t.scope.Actor(), o.Job, o.Trigger, string(o.Cause), rev(o.Undoes))
	}
	for _, e := range o.Audit {
		if err := t.q.audit(t.bare, t.scope, t.now, e); err != nil {
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
	return t.q.remember(t.bare, t.scope, k, t.now)
}

// undoneOnce refuses a second undoing of a revision.
func (t *tx) undoneOnce(undoes memory.Revision) error {
	if undoes == 0 {
		return nil
	}
	var by int64
	ok, err := t.q.get(t.bare, "SELECT revision FROM changesets WHERE tenant = $1 AND collection = $2 AND revision > $3 AND undoes = $3 LIMIT 1",
		[]any{t.tenant(), t.row.ID, rev(undoes)}, &by)
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
	return t.q.notes(t.bare, t.tenant(), t.layers, newReader(&t.row.Collection, o), wanted)
}

func (t *tx) NoteByKey(_ context.Context, kind memory.Kind, key string) (memory.Note, error) {
	n, ok, err := t.q.byKey(t.bare, t.tenant(), t.layers, newReader(&t.row.Collection, memory.ReadOptions{}), kind, key)
	if err == nil && !ok {
		err = fault.Missing("note")
	}
	return n.Note, err
}

func (t *tx) Links(_ context.Context, lq memory.LinkQuery) ([]memory.Link, error) {
	return t.q.links(t.bare, t.tenant(), t.layers, lq)
}

func (t *tx) SetUsage(_ context.Context, note uuid.UUID, u memory.Usage) error {
	if _, err := t.visible(t.bare, note); err != nil {
		return err
	}
	return t.q.setUsage(t.bare, t.tenant(), t.row.ID, note, u)
}

func (t *tx) Enqueue(_ context.Context, j memory.Job) (memory.Job, error) {
	j.Collection = t.row.ID
	return t.q.enqueue(t.bare, t.tenant(), j, t.now)
}

func (t *tx) EndJob(_ context.Context, job, lease uuid.UUID, end memory.JobEnd) error {
	return t.q.endJob(t.bare, t.tenant(), job, lease, end, t.now)
}

func (t *tx) CountEvolved(context.Context) (int64, error) {
	_, err := t.q.get(t.bare, "UPDATE collection_heads SET evolved_adds = evolved_adds + 1 WHERE tenant = $1 AND collection = $2 RETURNING evolved_adds",
		[]any{t.tenant(), t.row.ID}, &t.row.EvolvedAdds)
	return t.row.EvolvedAdds, err
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
	found, err := t.q.versions(ctx, t.tenant(), t.layers, reader{collection: t.row.ID}, ids{note})
	if err != nil {
		return n, false, err
	}
	n, ok = found[note]
	return n, ok, nil
}
