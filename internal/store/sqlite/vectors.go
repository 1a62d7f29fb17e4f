package sqlite

import (
	"context"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// AddVectors implements memory.Writer.
func (s *Store) AddVectors(ctx context.Context, sc tenant.Scope, v memory.View, embedder string, vectors []memory.VersionVector) error {
	if err := v.Check(sc); err != nil {
		return err
	}
	vectors, err := store.FurtherVectors(&v, embedder, vectors)
	if err != nil {
		return err
	}
	return s.writing(ctx, func(ctx context.Context, q *session) error {
		if _, err := q.live(ctx, sc, v.Collection.ID, s.now()); err != nil {
			return err
		}
		for _, l := range v.Layers {
			var one int
			ok, err := q.get(ctx, "SELECT 1 FROM collections WHERE tenant = ? AND id = ? AND state <> 'deleting'", []any{blob(sc.Tenant()), blob(l.Collection)}, &one)
			if err != nil {
				return err
			}
			if !ok {
				return store.ErrLineage
			}
		}
		for _, x := range vectors {
			_, err := q.exec(ctx, `INSERT OR IGNORE INTO vectors (tenant, layer, note, from_rev, embedder, vec, tokens) SELECT tenant, layer, id, from_rev, ?, ?, ?
 FROM notes WHERE tenant = ? AND layer = ? AND id = ? AND from_rev = ? AND deleted = 0`,
				embedder, store.HalfBytes(x.Vector), append([]byte{}, x.Tokens...), blob(sc.Tenant()), blob(x.Layer), blob(x.Note), rev(x.From))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// CountVectors implements memory.Reader.
func (s *Store) CountVectors(ctx context.Context, sc tenant.Scope, v memory.View, embedder string, dim int) (n, other int64, err error) {
	if err := v.Check(sc); err != nil {
		return 0, 0, err
	}
	err = s.reading(ctx, func(ctx context.Context, q *session) error {
		for i, l := range v.Layers {
			hidden, args := hiddenNotes(sc.Tenant(), v.Layers[:i])
			args = append([]any{2 * dim, 2 * dim, embedder, blob(sc.Tenant()), blob(l.Collection), rev(l.Bound), rev(l.Bound)}, args...)
			var same, not int64
			_, err := q.get(ctx, `SELECT COALESCE(SUM(length(v.vec) = ?), 0), COALESCE(SUM(length(v.vec) <> ?), 0) FROM notes n
 JOIN vectors v ON v.tenant = n.tenant AND v.layer = n.layer AND v.note = n.id AND v.from_rev = n.from_rev AND v.embedder = ?
 WHERE n.tenant = ? AND n.layer = ? AND n.from_rev <= ? AND n.to_rev > ? AND n.deleted = 0`+hidden, args, &same, &not)
			if err != nil {
				return err
			}
			n, other = n+same, other+not
		}
		return nil
	})
	return n, other, err
}

// SetEmbedder implements memory.Tx.
func (t *tx) SetEmbedder(ctx context.Context, name string, dim int, job uuid.UUID) error {
	if err := store.CheckEmbedder(name, dim); err != nil {
		return err
	}
	_, err := t.q.exec(context.WithoutCancel(ctx), "UPDATE collections SET embedder = ?, dim = ?, reembedded = ? WHERE tenant = ? AND id = ?",
		name, dim, blob(job), blob(t.tenant()), blob(t.row.ID))
	if err != nil {
		return err
	}
	t.row.Embedder, t.row.Dim, t.row.Reembedded, t.logged = name, dim, job, true
	return nil
}

// Unended implements memory.Tx.
func (t *tx) Unended(ctx context.Context, kind memory.JobKind) ([]memory.Job, error) {
	return t.q.jobs(context.WithoutCancel(ctx), "SELECT "+jobColumns+" FROM jobs j WHERE j.tenant = ? AND j.collection = ? AND j.state IN ('queued', 'running') AND j.kind = ? ORDER BY j.seq",
		blob(t.tenant()), blob(t.row.ID), string(kind))
}

// embedLater leaves out a vector that the collection's embedder did not make,
// and enqueues the job that makes the right one.
func (t *tx) embedLater(ctx context.Context, n *memory.Note) error {
	late, err := store.OtherEmbedder(&t.row.Collection, n)
	if err != nil || late == nil {
		return err
	}
	_, err = t.Enqueue(ctx, *late)
	return err
}
