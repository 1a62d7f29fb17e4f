package sqlite

import (
	"context"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// AddVectors implements memory.Writer.
func (s *Store) AddVectors(ctx context.Context, sc tenant.Scope, v memory.View, embedder string, vectors []memory.VersionVector) error {
	if err := v.Check(sc); err != nil {
		return err
	}
	vectors, err := store.CheckVersionVectors(&v, embedder, vectors)
	if err != nil {
		return err
	}
	return s.writing(ctx, ofJob(sc.Tenant()), func(ctx context.Context, q *session) error {
		if _, err := store.ReachVisible(ctx, q, sc, v.Collection.ID, s.now()); err != nil {
			return err
		}
		for _, l := range v.Layers {
			var one int
			ok, err := q.get(ctx, "SELECT 1 FROM collections WHERE tenant = ? AND id = ? AND state <> 'deleting'", []any{sc.Tenant(), l.Collection}, &one)
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
				embedder, store.PackVector(x.Vector), append([]byte{}, x.Tokens...), sc.Tenant(), x.Layer, x.Note, x.From)
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
	err = s.snapshot(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		for i, l := range v.Layers {
			hidden, args := hiddenNotes(sc.Tenant(), v.Layers[:i])
			args = append([]any{dim, dim, embedder, sc.Tenant(), l.Collection, l.Bound, l.Bound}, args...)
			var same, not int64
			_, err := q.get(ctx, "SELECT COALESCE(SUM("+dimensions+" = ?), 0), COALESCE(SUM("+dimensions+" <> ?), 0)"+` FROM notes n
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
