package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/filter"
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
	err := s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
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

// Nearest implements memory.Reader. Without a filter no note is read, only ids and vectors.
func (s *Store) Nearest(ctx context.Context, sc tenant.Scope, v memory.View, nq memory.NearestQuery) (out []memory.Nearest, err error) {
	if err := v.Check(sc); err != nil {
		return nil, err
	}
	probe, err := store.QueryProbe(&v.Collection, nq.Vector)
	if err != nil {
		return nil, err
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
	compare := func(key memory.Version, with []byte) {
		score, ok := probe.Cosine(with)
		if !ok {
			return
		}
		out = append(out, memory.Nearest{Version: key, Score: score})
		if nq.Limit > 0 && len(out) >= 2*nq.Limit+1024 {
			out = best(out)
		}
	}
	err = s.snapshot(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		if nq.Filter == nil {
			return q.eachVector(ctx, sc.Tenant(), &v, compare)
		}
		return q.eachMatch(ctx, sc.Tenant(), &v, nq.Filter, compare)
	})
	return best(out), err
}

// eachMatch calls fn with the visible versions that match a filter, and their vectors.
func (q *session) eachMatch(ctx context.Context, tenantID uuid.UUID, v *memory.View, by filter.Expr, fn func(memory.Version, []byte)) error {
	r := reader{Embedder: v.Collection.Embedder}
	c := compile(by)
	for i, l := range v.Layers {
		hidden, hiddenArgs := hiddenNotes(tenantID, v.Layers[:i])
		text := "SELECT " + r.columns() + ` FROM notes n JOIN vectors v ON v.tenant = n.tenant AND v.layer = n.layer AND v.note = n.id
 AND v.from_rev = n.from_rev AND v.embedder = ? WHERE n.tenant = ? AND n.layer = ? AND n.from_rev <= ? AND n.to_rev > ? AND n.deleted = 0`
		args := []any{r.Embedder, tenantID, l.Collection, l.Bound, l.Bound}
		if c.Text != "" {
			text, args = text+" AND ("+c.Text+")", append(args, c.Args...)
		}
		err := q.each(ctx, text+hidden, append(args, hiddenArgs...), func(rows *sql.Rows) error {
			n, err := r.scan(rows)
			if err == nil && n.Matches(by) {
				fn(n.Version(), store.PackVector(n.Vector))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eachVector calls fn with the visible versions that have a vector; the vector is valid during the call. It
// reads vectors in the order of their table and leaves out those of versions that have ended or that a nearer
// layer hides, which indexes list: reading each note for this would take several times as long. A tombstone
// has no vector.
func (q *session) eachVector(ctx context.Context, tenantID uuid.UUID, v *memory.View, fn func(memory.Version, []byte)) error {
	var id uuid.UUID
	var from memory.Revision
	var half sql.RawBytes
	hidden := map[uuid.UUID]struct{}{}
	for i, l := range v.Layers {
		ended := map[memory.Version]struct{}{}
		err := q.each(ctx, "SELECT id, from_rev FROM notes WHERE tenant = ? AND layer = ? AND to_rev <= ? AND to_rev < 9223372036854775807",
			[]any{tenantID, l.Collection, l.Bound}, func(rows *sql.Rows) error {
				err := rows.Scan(&id, &from)
				ended[memory.Version{Layer: l.Collection, Note: id, From: from}] = struct{}{}
				return err
			})
		if err != nil {
			return err
		}
		err = q.each(ctx, "SELECT note, from_rev, vec FROM vectors WHERE tenant = ? AND layer = ? AND from_rev <= ? AND embedder = ?",
			[]any{tenantID, l.Collection, l.Bound, v.Collection.Embedder}, func(rows *sql.Rows) error {
				if err := rows.Scan(&id, &from, &half); err != nil {
					return err
				}
				key := memory.Version{Layer: l.Collection, Note: id, From: from}
				if len(hidden) > 0 {
					if _, ok := hidden[id]; ok {
						return nil
					}
				}
				if len(ended) > 0 {
					if _, ok := ended[key]; ok {
						return nil
					}
				}
				fn(key, half)
				return nil
			})
		if err != nil {
			return err
		}
		if i == len(v.Layers)-1 {
			return nil
		}
		err = q.each(ctx, "SELECT id FROM notes WHERE tenant = ? AND layer = ? AND from_rev <= ?", []any{tenantID, l.Collection, l.Bound}, func(rows *sql.Rows) error {
			err := rows.Scan(&id)
			hidden[id] = struct{}{}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
