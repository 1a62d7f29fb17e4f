package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"slices"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Versions implements memory.Reader.
func (s *Store) Versions(ctx context.Context, sc tenant.Scope, v memory.View, keys []memory.Version) ([]memory.Note, error) {
	if err := v.Check(sc); err != nil {
		return nil, err
	}
	r := reader{Collection: v.Collection.ID}
	found := make(map[memory.Version]memory.Note, len(keys))
	err := s.reading(ctx, func(ctx context.Context, q *session) error {
		for _, l := range v.Layers {
			wanted := make([][2]any, 0, len(keys))
			for _, k := range keys {
				if k.Layer == l.Collection {
					wanted = append(wanted, [2]any{k.Note, k.From})
				}
			}
			if len(wanted) == 0 {
				continue
			}
			list, err := json.Marshal(wanted)
			if err != nil {
				return err
			}
			err = q.each(ctx, "SELECT "+r.columns()+` FROM json_each(?) j CROSS JOIN notes n WHERE n.tenant = ? AND n.layer = ?
 AND n.id = unhex(j.value ->> 0, '-') AND n.from_rev = j.value ->> 1 AND n.from_rev <= ? AND n.deleted = 0`,
				[]any{string(list), sc.Tenant(), l.Collection, l.Bound}, func(rows *sql.Rows) error {
					n, err := r.scan(rows)
					found[n.Version()] = n.Note
					return err
				})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := make([]memory.Note, 0, len(found))
	for _, k := range keys {
		if n, ok := found[k]; ok {
			out = append(out, n)
		}
	}
	return out, nil
}

// Nearest implements memory.Reader. Only ids and vectors are read, unless a filter needs more.
func (s *Store) Nearest(ctx context.Context, sc tenant.Scope, v memory.View, nq memory.NearestQuery) (out []memory.Nearest, err error) {
	if err := v.Check(sc); err != nil {
		return nil, err
	}
	vector, err := store.QueryVector(&v.Collection, nq.Vector)
	if err != nil {
		return nil, err
	}
	r := reader{Embedder: v.Collection.Embedder}
	var c store.Condition
	columns := "n.id, n.from_rev, v.vec"
	if nq.Filter != nil {
		c, columns = compile(nq.Filter), r.columns()
	}
	best := func(all []memory.Nearest) []memory.Nearest {
		slices.SortFunc(all, func(a, b memory.Nearest) int {
			return cmp.Or(cmp.Compare(b.Score, a.Score), bytes.Compare(a.Note[:], b.Note[:]))
		})
		if nq.Limit > 0 && len(all) > nq.Limit {
			return all[:nq.Limit]
		}
		return all
	}
	err = s.reading(ctx, func(ctx context.Context, q *session) error {
		for i, l := range v.Layers {
			hidden, hiddenArgs := hiddenNotes(sc.Tenant(), v.Layers[:i])
			text := "SELECT " + columns + ` FROM notes n JOIN vectors v ON v.tenant = n.tenant AND v.layer = n.layer AND v.note = n.id
 AND v.from_rev = n.from_rev AND v.embedder = ? WHERE n.tenant = ? AND n.layer = ? AND n.from_rev <= ? AND n.to_rev > ? AND n.deleted = 0`
			args := []any{r.Embedder, sc.Tenant(), l.Collection, l.Bound, l.Bound}
			if c.Text != "" {
				text, args = text+" AND ("+c.Text+")", append(args, c.Args...)
			}
			err := q.each(ctx, text+hidden, append(args, hiddenArgs...), func(rows *sql.Rows) error {
				var n store.NoteVersion
				var err error
				if nq.Filter == nil {
					var vec sql.RawBytes
					err = rows.Scan(&n.ID, &n.From, &vec)
					n.Vector = store.HalfOf(vec)
				} else if n, err = r.scan(rows); err == nil && !store.Matches(nq.Filter, &n.Note) {
					return nil
				}
				if err != nil {
					return err
				}
				score, ok := memory.Cosine(vector, n.Vector)
				if !ok {
					return nil
				}
				out = append(out, memory.Nearest{Version: memory.Version{Layer: l.Collection, Note: n.ID, From: n.From}, Score: score})
				if nq.Limit > 0 && len(out) >= 2*nq.Limit+1024 {
					out = best(out)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return best(out), err
}
