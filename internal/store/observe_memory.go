package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// ResolveCollection implements memory.CollectionStore.
func (ob *observed) ResolveCollection(ctx context.Context, s tenant.Scope, ref string) (out memory.Collection, err error) {
	ctx, end := ob.begin(ctx, "ResolveCollection", s.Tenant(), uuid.Nil)
	defer end(&err)
	return ob.Store.ResolveCollection(ctx, s, ref)
}

// ListCollections implements memory.CollectionStore.
func (ob *observed) ListCollections(ctx context.Context, s tenant.Scope, q memory.CollectionQuery) (out []memory.Collection, err error) {
	ctx, end := ob.begin(ctx, "ListCollections", s.Tenant(), uuid.Nil)
	defer end(&err)
	return ob.Store.ListCollections(ctx, s, q)
}

// UpdateCollection implements memory.CollectionStore.
func (ob *observed) UpdateCollection(ctx context.Context, s tenant.Scope, id uuid.UUID, audit memory.AuditEntry, fn func(*memory.Collection) error) (out memory.Collection, err error) {
	ctx, end := ob.begin(ctx, "UpdateCollection", s.Tenant(), id)
	defer end(&err)
	return ob.Store.UpdateCollection(ctx, s, id, audit, fn)
}

// DeleteCollection implements memory.CollectionStore.
func (ob *observed) DeleteCollection(ctx context.Context, s tenant.Scope, id uuid.UUID, materialise bool, audit memory.AuditEntry) (err error) {
	ctx, end := ob.begin(ctx, "DeleteCollection", s.Tenant(), id)
	defer end(&err)
	return ob.Store.DeleteCollection(ctx, s, id, materialise, audit)
}

// RemoveRows implements memory.CollectionStore.
func (ob *observed) RemoveRows(ctx context.Context, s tenant.Scope, id uuid.UUID, limit int) (out bool, err error) {
	ctx, end := ob.begin(ctx, "RemoveRows", s.Tenant(), id)
	defer end(&err)
	return ob.Store.RemoveRows(ctx, s, id, limit)
}

// CopyRows implements memory.CollectionStore.
func (ob *observed) CopyRows(ctx context.Context, s tenant.Scope, v memory.View, target uuid.UUID, cursor string, limit int) (n int, next string, err error) {
	ctx, end := ob.begin(ctx, "CopyRows", s.Tenant(), target)
	defer end(&err)
	return ob.Store.CopyRows(ctx, s, v, target, cursor, limit)
}

// ExpiredCollections implements memory.CollectionStore.
func (ob *observed) ExpiredCollections(ctx context.Context, now time.Time, limit int) (out []memory.Due, err error) {
	ctx, end := ob.begin(ctx, "ExpiredCollections", uuid.Nil, uuid.Nil)
	defer end(&err)
	return ob.Store.ExpiredCollections(ctx, now, limit)
}

// EphemeralCollections implements memory.CollectionStore.
func (ob *observed) EphemeralCollections(ctx context.Context, limit int) (out []memory.Due, err error) {
	ctx, end := ob.begin(ctx, "EphemeralCollections", uuid.Nil, uuid.Nil)
	defer end(&err)
	return ob.Store.EphemeralCollections(ctx, limit)
}

// OpenView implements memory.Reader.
func (ob *observed) OpenView(ctx context.Context, s tenant.Scope, ref string, at memory.At) (out memory.View, err error) {
	ctx, end := ob.begin(ctx, "OpenView", s.Tenant(), uuid.Nil)
	defer end(&err)
	return ob.Store.OpenView(ctx, s, ref, at)
}

// Notes implements memory.Reader.
func (ob *observed) Notes(ctx context.Context, s tenant.Scope, v memory.View, ids []uuid.UUID, o memory.ReadOptions) (out []memory.Note, err error) {
	ctx, end := ob.begin(ctx, "Notes", s.Tenant(), v.Collection.ID)
	defer end(&err)
	return ob.Store.Notes(ctx, s, v, ids, o)
}

// AddVectors implements memory.Writer.
func (ob *observed) AddVectors(ctx context.Context, s tenant.Scope, v memory.View, embedder string, vectors []memory.VersionVector) (err error) {
	ctx, end := ob.begin(ctx, "AddVectors", s.Tenant(), v.Collection.ID)
	defer end(&err)
	return ob.Store.AddVectors(ctx, s, v, embedder, vectors)
}

// CountVectors implements memory.Reader.
func (ob *observed) CountVectors(ctx context.Context, s tenant.Scope, v memory.View, embedder string, dim int) (n, other int64, err error) {
	ctx, end := ob.begin(ctx, "CountVectors", s.Tenant(), v.Collection.ID)
	defer end(&err)
	return ob.Store.CountVectors(ctx, s, v, embedder, dim)
}

// NoteByKey implements memory.Reader.
func (ob *observed) NoteByKey(ctx context.Context, s tenant.Scope, v memory.View, kind memory.Kind, key string) (out memory.Note, err error) {
	ctx, end := ob.begin(ctx, "NoteByKey", s.Tenant(), v.Collection.ID)
	defer end(&err)
	return ob.Store.NoteByKey(ctx, s, v, kind, key)
}

// Versions implements memory.Reader.
func (ob *observed) Versions(ctx context.Context, s tenant.Scope, v memory.View, keys []memory.Version) (out []memory.Note, err error) {
	ctx, end := ob.begin(ctx, "Versions", s.Tenant(), v.Collection.ID)
	defer end(&err)
	return ob.Store.Versions(ctx, s, v, keys)
}

// Nearest implements memory.Reader.
func (ob *observed) Nearest(ctx context.Context, s tenant.Scope, v memory.View, q memory.NearestQuery) (out []memory.Nearest, err error) {
	ctx, end := ob.begin(ctx, "Nearest", s.Tenant(), v.Collection.ID)
	defer end(&err)
	return ob.Store.Nearest(ctx, s, v, q)
}

// ListNotes implements memory.Reader.
func (ob *observed) ListNotes(ctx context.Context, s tenant.Scope, v memory.View, q memory.NoteQuery) (out []memory.Note, err error) {
	ctx, end := ob.begin(ctx, "ListNotes", s.Tenant(), v.Collection.ID)
	defer end(&err)
	return ob.Store.ListNotes(ctx, s, v, q)
}

// History implements memory.Reader.
func (ob *observed) History(ctx context.Context, s tenant.Scope, v memory.View, note uuid.UUID, before memory.Revision, limit int) (out []memory.HistoryEntry, err error) {
	ctx, end := ob.begin(ctx, "History", s.Tenant(), v.Collection.ID)
	defer end(&err)
	return ob.Store.History(ctx, s, v, note, before, limit)
}

// Links implements memory.Reader.
func (ob *observed) Links(ctx context.Context, s tenant.Scope, v memory.View, q memory.LinkQuery) (out []memory.Link, err error) {
	ctx, end := ob.begin(ctx, "Links", s.Tenant(), v.Collection.ID)
	defer end(&err)
	return ob.Store.Links(ctx, s, v, q)
}

// Counts implements memory.Reader.
func (ob *observed) Counts(ctx context.Context, s tenant.Scope, v memory.View) (out memory.Counts, err error) {
	ctx, end := ob.begin(ctx, "Counts", s.Tenant(), v.Collection.ID)
	defer end(&err)
	return ob.Store.Counts(ctx, s, v)
}

// Log implements memory.Reader.
func (ob *observed) Log(ctx context.Context, s tenant.Scope, v memory.View, layer int, after memory.Revision, embedder string, fn func(memory.LogRow) error) (out memory.Revision, err error) {
	ctx, end := ob.begin(ctx, "Log", s.Tenant(), v.Collection.ID)
	defer end(&err)
	return ob.Store.Log(ctx, s, v, layer, after, embedder, fn)
}

// Changesets implements memory.Reader.
func (ob *observed) Changesets(ctx context.Context, s tenant.Scope, v memory.View, after memory.Revision, limit int) (out []memory.Changeset, err error) {
	ctx, end := ob.begin(ctx, "Changesets", s.Tenant(), v.Collection.ID)
	defer end(&err)
	return ob.Store.Changesets(ctx, s, v, after, limit)
}

// CountChangesets implements memory.Reader.
func (ob *observed) CountChangesets(ctx context.Context, s tenant.Scope, v memory.View, cause memory.Cause, from, to time.Time) (n int64, err error) {
	ctx, end := ob.begin(ctx, "CountChangesets", s.Tenant(), v.Collection.ID)
	defer end(&err)
	return ob.Store.CountChangesets(ctx, s, v, cause, from, to)
}

// Usage implements memory.Reader.
func (ob *observed) Usage(ctx context.Context, s tenant.Scope, v memory.View, ids []uuid.UUID) (out map[uuid.UUID]memory.Usage, err error) {
	ctx, end := ob.begin(ctx, "Usage", s.Tenant(), v.Collection.ID)
	defer end(&err)
	return ob.Store.Usage(ctx, s, v, ids)
}

// Hot implements memory.Reader.
func (ob *observed) Hot(ctx context.Context, s tenant.Scope, v memory.View, limit int) (out []memory.HotNote, err error) {
	ctx, end := ob.begin(ctx, "Hot", s.Tenant(), v.Collection.ID)
	defer end(&err)
	return ob.Store.Hot(ctx, s, v, limit)
}

// AddUsage implements memory.Reader.
func (ob *observed) AddUsage(ctx context.Context, s tenant.Scope, v memory.View, deltas []memory.UsageDelta) (err error) {
	ctx, end := ob.begin(ctx, "AddUsage", s.Tenant(), v.Collection.ID)
	defer end(&err)
	return ob.Store.AddUsage(ctx, s, v, deltas)
}
