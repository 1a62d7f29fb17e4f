package store

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Tx implements memory.Tx: it collects the changesets of a collection whose head the transaction
// holds, usually one. After the closure has run, Finish writes what belongs to the last one as a whole.
type Tx struct {
	q Session
	// ctx is the transaction's: a caller that goes away interrupts no statement.
	ctx      context.Context //nolint:containedctx // see above
	scope    tenant.Scope
	row      CollectionRow
	layers   []memory.Layer // as they are within the changeset
	view     memory.View
	revision memory.Revision
	now      time.Time
	head     Head
	before   Stored                    // of head, before the changesets
	expiry   time.Time                 // NextExpiry of head, before the changesets
	logged   bool                      // something since the last changeset that EndChangeset wrote
	ended    bool                      // EndChangeset has written a changeset
	told     bool                      // a job that tells a webhook was enqueued
	answer   json.RawMessage           // nil: none was given
	foreseen map[uuid.UUID]NoteVersion // the zero version: there is none
	shown    map[uuid.UUID]bool        // whether notes that were written are visible
}

var _ memory.Tx = (*Tx)(nil)

// NewTx returns a Tx on a collection at its head, read through layers.
func NewTx(ctx context.Context, q Session, s tenant.Scope, r CollectionRow, h Head, layers []memory.Layer, now time.Time) *Tx {
	at := append([]memory.Layer(nil), layers...)
	r.Head, at[0].Bound = h.Revision, h.Revision
	h.Kinds = maps.Clone(h.Kinds)
	t := &Tx{
		q: q, ctx: ctx, scope: s, row: r, view: memory.NewView(s, r.Collection, h.Revision, at),
		revision: h.Revision + 1, now: now, head: h, before: h.Stored, expiry: h.NextExpiry,
	}
	t.layers = append([]memory.Layer(nil), at...)
	t.layers[0].Bound = t.revision
	return t
}

// Finish writes the changeset, the audit entries and the idempotency key. It returns the head and
// the collection as they are then, and whether a changeset was written. The caller saves the head.
func (t *Tx) Finish(o *memory.WriteOptions) (h Head, r CollectionRow, logged bool, err error) {
	if t.logged {
		if err := t.checkUndone(o.Undoes); err != nil {
			return h, r, false, err
		}
		if err := t.insertChangeset(memory.Changeset{Job: o.Job, Trigger: o.Trigger, Cause: o.Cause, Undoes: o.Undoes, MergedFrom: o.MergedFrom}); err != nil {
			return h, r, false, err
		}
	}
	if err := t.checkLimits(o.Limits); err != nil {
		return h, r, false, err
	}
	if err := t.passExpiry(); err != nil {
		return h, r, false, err
	}
	if t.logged || t.ended {
		t.head.written(t.now)
		if err := t.tellWebhooks(); err != nil {
			return h, r, false, err
		}
	}
	for _, e := range o.Audit {
		if err := writeAudit(t.ctx, t.q, t.scope, t.now, e); err != nil {
			return h, r, false, err
		}
	}
	if o.Idempotency != nil {
		k := *o.Idempotency
		if t.answer != nil {
			k.IDs = t.answer
		}
		if err := remember(t.ctx, t.q, t.scope, k, t.now); err != nil {
			return h, r, false, err
		}
	}
	return t.head, t.row, t.logged || t.ended, nil
}

// written notes when a head is written, at most once a minute: its index of that time stays as it is in between.
func (h *Head) written(now time.Time) {
	if now.Sub(h.Written) >= time.Minute {
		h.Written = now
	}
}

// insertChangeset writes the changeset of the current revision, and moves the head to it.
func (t *Tx) insertChangeset(c memory.Changeset) error {
	t.head.Revision = t.revision
	c.Collection, c.Revision, c.At, c.Actor = t.row.ID, t.revision, t.now, t.scope.Actor()
	return insertChangeset(t.ctx, t.q, t.scope.Tenant(), &c)
}

// EndChangeset implements memory.Tx.
func (t *Tx) EndChangeset(_ context.Context, cause memory.Cause, job, trigger uuid.UUID) error {
	if !t.logged {
		return nil
	}
	if err := t.insertChangeset(memory.Changeset{Job: job, Trigger: trigger, Cause: cause}); err != nil {
		return err
	}
	t.logged, t.ended = false, true
	t.revision++
	t.layers[0].Bound = t.revision
	return nil
}

// checkUndone returns Conflict when a revision was undone before.
func (t *Tx) checkUndone(undoes memory.Revision) error {
	if undoes == 0 {
		return nil
	}
	by, ok, err := First(collect(t.ctx, t.q, "SELECT revision FROM changesets WHERE tenant = $1 AND collection = $2 AND revision > $3 AND undoes = $3 LIMIT 1",
		[]any{t.scope.Tenant(), t.row.ID, int64(undoes)}, ScanOne[memory.Revision]))
	if err == nil && ok {
		err = fault.New(fault.Conflict, "revision %d was undone already, at revision %d", undoes, by)
	}
	return err
}

// WriteIn runs a write to a collection in the transaction of a session. ErrRollback, with the result, when there is nothing to commit.
func WriteIn(
	ctx context.Context, q Session, s tenant.Scope, collection uuid.UUID, o *memory.WriteOptions, fn func(context.Context, memory.Tx) error, now time.Time,
) (out memory.Written, err error) {
	r, err := Reach(ctx, q, s, collection)
	if err != nil {
		return out, err
	}
	if out.Replay, err = CheckWrite(ctx, q, s, &r, o, now); err != nil {
		return out, err
	}
	if out.Replay != nil {
		out.Revision = r.Head
		return out, ErrRollback
	}
	layers, err := q.Layers(ctx, r, r.Head)
	if err != nil {
		return out, err
	}
	h, err := q.Head(ctx, s.Tenant(), collection)
	if err != nil {
		return out, err
	}
	t := NewTx(ctx, q, s, r, h, layers, now)
	if err := fn(ctx, t); err != nil {
		return out, err
	}
	if h, _, out.Logged, err = t.Finish(o); err != nil {
		return out, err
	}
	out.Revision, out.Told = h.Revision, t.Told()
	if out.Logged || t.Rescheduled() {
		err = q.SaveHead(ctx, s.Tenant(), collection, h)
	}
	return out, err
}

// CheckWrite finds out whether a write to a collection may begin. It returns the answer that is
// stored under the idempotency key, if there is one: then nothing is to be written.
func CheckWrite(ctx context.Context, q Session, s tenant.Scope, r *CollectionRow, o *memory.WriteOptions, now time.Time) (*memory.Idempotency, error) {
	if !r.ReachedBy(s) || !visible(&r.Collection, now) {
		return nil, fault.Missing("collection")
	}
	if o.Idempotency != nil {
		found, ok, err := answered(ctx, q, s, *o.Idempotency, now)
		if err != nil {
			return nil, err
		}
		if ok {
			return &found, nil
		}
	}
	if r.State == memory.CollectionCopying && !o.System {
		return nil, fault.New(fault.Conflict, "the collection is still being copied")
	}
	return nil, checkReads(ctx, q, s, r, o, now) // nil: the write may begin
}

// checkReads returns an error when what the caller has read is no longer so, before anything is decided from it. Who erases a note
// waits for the heads of all collections that have it in their logs, so no such note is erased between this and the commit.
func checkReads(ctx context.Context, q Session, s tenant.Scope, r *CollectionRow, o *memory.WriteOptions, now time.Time) error {
	for i := range o.Reads {
		v := &o.Reads[i]
		of, err := ReachVisible(ctx, q, s, v.Collection.ID, now)
		if err != nil {
			return err
		}
		if of.EraseEpoch != v.Layers[0].EraseEpoch {
			return memory.ErrMoved
		}
	}
	if o.MergedFrom == nil || len(o.Reads) == 0 {
		return nil
	}
	later, err := q.ListMerges(ctx, s.Tenant(), memory.Span{Layer: r.ID, After: o.Reads[0].At, To: OpenEnd - 1})
	if err == nil && len(later) > 0 {
		err = memory.ErrMoved
	}
	return err
}

// Told reports whether a job was enqueued that tells webhooks of the changesets.
func (t *Tx) Told() bool { return t.told }

// Session returns the session of the transaction, for tests of engines.
func (t *Tx) Session() Session { return t.q }

// View implements memory.Tx.
func (t *Tx) View() memory.View { return t.view }

// Revision implements memory.Tx.
func (t *Tx) Revision() memory.Revision { return t.revision }

// Now implements memory.Tx.
func (t *Tx) Now() time.Time { return t.now.In(t.row.Zone()) }

// OthersWait implements memory.Tx.
func (t *Tx) OthersWait() bool { return t.q.OthersWait(t.scope.Tenant()) }

// Answer implements memory.Tx.
func (t *Tx) Answer(ids json.RawMessage) { t.answer = slices.Clone(ids) }

// Answered implements memory.Tx.
func (t *Tx) Answered(_ context.Context, k memory.Idempotency) (memory.Idempotency, bool, error) {
	return answered(t.ctx, t.q, t.scope, k, t.now)
}

// Remember implements memory.Tx.
func (t *Tx) Remember(_ context.Context, k memory.Idempotency) error {
	return remember(t.ctx, t.q, t.scope, k, t.now)
}

// Notes implements memory.Tx.
func (t *Tx) Notes(ctx context.Context, ids []uuid.UUID, o memory.ReadOptions) ([]memory.Note, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return visibleNotes(t.ctx, t.q, t.scope.Tenant(), t.layers, newNoteReader(&t.row.Collection, o), ids)
}

// NoteByKey implements memory.Tx.
func (t *Tx) NoteByKey(_ context.Context, kind memory.Kind, key string) (memory.Note, error) {
	return noteByKey(t.ctx, t.q, t.scope.Tenant(), t.layers, newNoteReader(&t.row.Collection, memory.ReadOptions{}), kind, key)
}

// ListNotes implements memory.Tx.
func (t *Tx) ListNotes(ctx context.Context, q memory.NoteQuery) ([]memory.Note, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return listNotes(t.ctx, t.q, t.scope.Tenant(), t.layers, pageOf(&t.row.Collection, &q))
}

// Duplicates implements memory.Tx.
func (t *Tx) Duplicates(ctx context.Context, notes []memory.Note) ([]memory.Note, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	digests := make([]int64, len(notes))
	for i := range notes {
		digests[i] = memory.DigestOf(&notes[i])
	}
	out := make([]memory.Note, len(notes))
	found, err := t.q.NoteVersionsByDigest(t.ctx, t.scope.Tenant(), t.layers, newNoteReader(&t.row.Collection, memory.ReadOptions{}), digests)
	if err != nil {
		return nil, err
	}
	for i := range notes {
		if n, ok := found[digests[i]]; ok && memory.IsDuplicate(&n.Note, &notes[i]) {
			out[i] = n.Note
		}
	}
	return out, nil
}

// Links implements memory.Tx.
func (t *Tx) Links(_ context.Context, q memory.LinkQuery) ([]memory.Link, error) {
	return t.q.Links(t.ctx, t.scope.Tenant(), t.layers, q)
}

// SetUsage implements memory.Tx.
func (t *Tx) SetUsage(_ context.Context, note uuid.UUID, u memory.Usage) error {
	if _, err := t.visible(note); err != nil {
		return err
	}
	return SetUsage(t.ctx, t.q, t.scope.Tenant(), t.row.ID, note, u)
}

// SetUsage writes the use of a note.
func SetUsage(ctx context.Context, q Conn, tenantID, layer, note uuid.UUID, u memory.Usage) error {
	return q.Later(ctx, `INSERT INTO usage (tenant, layer, note, access_count, last_access, strength, heat) VALUES ($1, $2, $3, $4, $5, $6, $7)
 ON CONFLICT (tenant, layer, note) DO UPDATE SET access_count = excluded.access_count, last_access = excluded.last_access, strength = excluded.strength, heat = excluded.heat`,
		tenantID, layer, note, u.AccessCount, u.LastAccess, u.Strength, u.Heat)
}

// SetEmbedder implements memory.Tx.
func (t *Tx) SetEmbedder(_ context.Context, name string, dim int, job uuid.UUID) error {
	if err := checkEmbedder(name, dim); err != nil {
		return err
	}
	err := t.q.Later(t.ctx, "UPDATE collections SET embedder = $3, dim = $4, reembedded = $5 WHERE tenant = $1 AND id = $2", t.scope.Tenant(), t.row.ID, name, dim, job)
	if err != nil {
		return err
	}
	t.row.Embedder, t.row.Dim, t.row.Reembedded, t.logged = name, dim, job, true
	return nil
}

// CountEvolved implements memory.Tx.
func (t *Tx) CountEvolved(context.Context) (n int64, err error) {
	t.row.EvolvedAdds, _, err = First(collect(t.ctx, t.q, "UPDATE collection_heads SET evolved_adds = evolved_adds + 1 WHERE tenant = $1 AND collection = $2 RETURNING evolved_adds",
		[]any{t.scope.Tenant(), t.row.ID}, ScanOne[int64]))
	return t.row.EvolvedAdds, err
}

// Enqueue implements memory.Tx.
func (t *Tx) Enqueue(_ context.Context, j memory.Job) (memory.Job, error) {
	j.Collection = t.row.ID
	return enqueue(t.ctx, t.q, t.scope.Tenant(), j, t.now)
}

// Unended implements memory.Tx.
func (t *Tx) Unended(_ context.Context, kind memory.JobKind) ([]memory.Job, error) {
	return t.q.UnendedJobs(t.ctx, t.scope.Tenant(), t.row.ID, kind)
}

// HasTask implements memory.Tx.
func (t *Tx) HasTask(_ context.Context, name, key string) (bool, error) {
	payload, err := json.Marshal(memory.Task{Name: name, Key: key})
	if err != nil {
		return false, fault.Wrap(err, fault.Internal, "encode a task")
	}
	task := []rune(strings.TrimRight(string(payload), "}"))
	return t.q.HasTask(t.ctx, t.scope.Tenant(), t.row.ID, string(task[:min(len(task), 300)])) // as much as is indexed
}

// HoldJob implements memory.Tx.
func (t *Tx) HoldJob(_ context.Context, job, lease uuid.UUID) error {
	t.q.LockJob(t.scope.Tenant(), job)
	j, err := findJob(t.ctx, t.q, t.scope, job)
	if err == nil && (j.State != memory.JobRunning || j.Lease != lease || lease == uuid.Nil) {
		err = ErrLeaseLost
	}
	return err
}

// EndJob implements memory.Tx.
func (t *Tx) EndJob(_ context.Context, job, lease uuid.UUID, end memory.JobEnd) error {
	return endJob(t.ctx, t.q, t.scope, job, lease, end, t.now)
}

// Reviews implements memory.Tx.
func (t *Tx) Reviews(_ context.Context, q memory.ReviewQuery) ([]memory.Review, error) {
	q.Collection = t.row.ID
	return t.q.ListReviews(t.ctx, t.scope, q, t.now)
}

// OpenReview implements memory.Tx.
func (t *Tx) OpenReview(_ context.Context, r memory.Review) (memory.Review, error) {
	if r.State == "" {
		r.State = memory.ReviewOpen
	}
	r.Reason, r.Actor = Clean(r.Reason), Clean(r.Actor)
	if r.ID == uuid.Nil {
		var err error
		if r.ID, err = uuid.NewV7(); err != nil {
			return r, err
		}
	}
	r.Collection, r.CreatedAt, r.ClosedAt = t.row.ID, t.now, Micros(r.ClosedAt)
	changes, err := Document("changes", r.Changes)
	if err != nil {
		return r, err
	}
	read, err := Document("read", r.Read)
	if err != nil {
		return r, err
	}
	return r, t.q.Later(t.ctx, `INSERT INTO reviews (tenant, id, collection, job, trigger, state, confidence, changes, read, revision, reason, actor, created_at, closed_at)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`, t.scope.Tenant(), r.ID, r.Collection, r.Job, r.Trigger, string(r.State), r.Confidence,
		changes, read, int64(r.Revision), r.Reason, r.Actor, r.CreatedAt, r.ClosedAt)
}

// UpdateReview implements memory.Tx.
func (t *Tx) UpdateReview(_ context.Context, r memory.Review) error {
	if err := Text("reason", r.Reason); err != nil {
		return err
	}
	state, ok, err := t.q.ReviewState(t.ctx, t.scope.Tenant(), t.row.ID, r.ID)
	if err == nil && !ok {
		err = fault.Missing("review")
	}
	if err == nil {
		err = checkReviewStep(state, r.State)
	}
	if err != nil {
		return err
	}
	r.Collection, r.Actor, r.ClosedAt = t.row.ID, Clean(r.Actor), Micros(r.ClosedAt)
	if r.ClosedAt.IsZero() {
		r.ClosedAt = t.now
	}
	return t.q.Later(t.ctx, "UPDATE reviews SET state = $4, reason = $5, actor = $6, revision = $7, closed_at = $8 WHERE "+ThatReview,
		t.scope.Tenant(), r.ID, r.Collection, string(r.State), r.Reason, r.Actor, int64(r.Revision), r.ClosedAt)
}

// Foresee implements memory.Tx.
func (t *Tx) Foresee(ctx context.Context, ids []uuid.UUID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	found, err := t.q.NoteVersions(t.ctx, t.scope.Tenant(), t.layers, NoteReader{Collection: t.row.ID}, ids)
	if err != nil {
		return err
	}
	t.foresee(ids, found)
	return nil
}

// Fresh implements memory.Tx.
func (t *Tx) Fresh(ids ...uuid.UUID) { t.foresee(ids, nil) }

func (t *Tx) foresee(ids []uuid.UUID, found map[uuid.UUID]NoteVersion) {
	if t.foreseen == nil {
		t.foreseen = make(map[uuid.UUID]NoteVersion, len(ids))
	}
	for _, id := range ids {
		t.foreseen[id] = found[id]
	}
}

// version returns the version that decides about a note, tombstones included. What was foreseen holds until it is replaced.
func (t *Tx) version(note uuid.UUID) (n NoteVersion, ok bool, err error) {
	if n, ok := t.foreseen[note]; ok {
		delete(t.foreseen, note)
		return n, n.ID != uuid.Nil, nil
	}
	found, err := t.q.NoteVersions(t.ctx, t.scope.Tenant(), t.layers, NoteReader{Collection: t.row.ID}, []uuid.UUID{note})
	n, ok = found[note]
	return n, ok, err
}

// visible returns the version of a visible note; NotFound.
func (t *Tx) visible(note uuid.UUID) (NoteVersion, error) {
	n, ok, err := t.version(note)
	if err == nil && (!ok || n.Deleted) {
		err = fault.Missing("note")
	}
	return n, err
}
