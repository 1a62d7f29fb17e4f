package postgres

import (
	"context"

	"github.com/pgvector/pgvector-go"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// AddVectors implements memory.Writer. Layers are held against their deletion, not against their
// writers.
func (s *Store) AddVectors(ctx context.Context, sc tenant.Scope, v memory.View, embedder string, vectors []memory.VersionVector) error {
	if err := v.Check(sc); err != nil {
		return err
	}
	vectors, err := store.CheckVersionVectors(&v, embedder, vectors)
	if err != nil {
		return err
	}
	return s.writing(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		if err := q.holdSource(ctx, sc, v, s.now()); err != nil {
			return err
		}
		for _, x := range vectors {
			if len(x.Vector) > maxDim {
				return store.VectorTooLong(len(x.Vector), maxDim)
			}
			q.later(`INSERT INTO vectors (tenant, layer, note, from_rev, embedder, vec, tokens) SELECT tenant, layer, id, from_rev, $5, $6, $7
 FROM notes WHERE tenant = $1 AND layer = $2 AND id = $3 AND from_rev = $4 AND NOT deleted ON CONFLICT DO NOTHING`,
				sc.Tenant(), x.Layer, x.Note, rev(x.From), embedder, pgvector.NewHalfVector(x.Vector), append([]byte{}, x.Tokens...))
		}
		return nil
	})
}

// CountVectors implements memory.Reader.
func (s *Store) CountVectors(ctx context.Context, sc tenant.Scope, v memory.View, embedder string, dim int) (n, other int64, err error) {
	if err := v.Check(sc); err != nil {
		return 0, 0, err
	}
	err = s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		n, other = 0, 0
		for i, l := range v.Layers {
			p := params{args: []any{sc.Tenant(), embedder, dim}}
			var same, all int64
			_, err := q.get(ctx, "SELECT COUNT(*) FILTER (WHERE vector_dims(v.vec) = $3::int), COUNT(*) FROM notes n CROSS JOIN"+vectorOf("$2")+
				" WHERE n.tenant = $1 AND "+p.live("n", l)+" AND NOT n.deleted"+p.hiddenNotes(v.Layers[:i]), p.args, &same, &all)
			if err != nil {
				return err
			}
			n, other = n+same, other+all-same
		}
		return nil
	})
	return n, other, err
}
