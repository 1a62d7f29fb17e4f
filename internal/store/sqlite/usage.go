package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// hotBatch is how many of the hottest are looked for in the view at a time.
const hotBatch = 256

const usageColumns = "u.note, u.access_count, u.last_access, u.strength, u.heat"

// usage reads through the layers: the nearest that has a row decides.
func (q *session) usage(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, wanted []uuid.UUID) (map[uuid.UUID]memory.Usage, error) {
	out := make(map[uuid.UUID]memory.Usage, len(wanted))
	for i := len(layers) - 1; i >= 0 && len(wanted) > 0; i-- {
		err := q.eachUsage(ctx, out, "json_each(?) j CROSS JOIN usage u WHERE u.tenant = ? AND u.layer = ? AND u.note = unhex(j.value)",
			ids(wanted), blob(tenantID), blob(layers[i].Collection))
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// used is usage of every note that has any, visible or not.
func (q *session) used(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer) (map[uuid.UUID]memory.Usage, error) {
	out := map[uuid.UUID]memory.Usage{}
	for _, l := range slices.Backward(layers) {
		if err := q.eachUsage(ctx, out, "usage u WHERE u.tenant = ? AND u.layer = ?", blob(tenantID), blob(l.Collection)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (q *session) eachUsage(ctx context.Context, out map[uuid.UUID]memory.Usage, from string, args ...any) error {
	return q.each(ctx, "SELECT "+usageColumns+" FROM "+from, args, func(rows *sql.Rows) error {
		var id uuid.UUID
		var u memory.Usage
		var last int64
		if err := rows.Scan(&id, &u.AccessCount, &last, &u.Strength, &u.Heat); err != nil {
			return err
		}
		u.LastAccess = timeOf(last)
		out[id] = u
		return nil
	})
}

// Usage implements memory.Reader.
func (s *Store) Usage(ctx context.Context, sc tenant.Scope, v memory.View, wanted []uuid.UUID) (out map[uuid.UUID]memory.Usage, err error) {
	if err := v.Check(sc); err != nil {
		return nil, err
	}
	err = s.reading(ctx, func(ctx context.Context, q *session) error {
		if out, err = q.usage(ctx, sc.Tenant(), v.Layers, wanted); err != nil || len(out) == 0 {
			return err
		}
		found, err := q.versions(ctx, sc.Tenant(), v.Layers, reader{}, wanted)
		for id := range out {
			if n, ok := found[id]; !ok || n.Deleted {
				delete(out, id)
			}
		}
		return err
	})
	return out, err
}

func (q *session) setUsage(ctx context.Context, tenantID, layer, note uuid.UUID, u memory.Usage) error {
	_, err := q.exec(ctx, `INSERT INTO usage (tenant, layer, note, access_count, last_access, strength, heat) VALUES (?, ?, ?, ?, ?, ?, ?)
 ON CONFLICT DO UPDATE SET access_count = excluded.access_count, last_access = excluded.last_access, strength = excluded.strength, heat = excluded.heat`,
		blob(tenantID), blob(layer), blob(note), u.AccessCount, micros(u.LastAccess), u.Strength, u.Heat)
	return err
}

// AddUsage implements memory.Reader. What is no longer visible is passed over.
func (s *Store) AddUsage(ctx context.Context, sc tenant.Scope, v memory.View, deltas []memory.UsageDelta) error {
	if err := v.Check(sc); err != nil {
		return err
	}
	if len(deltas) == 0 {
		return nil
	}
	deltas = slices.Clone(deltas)
	slices.SortStableFunc(deltas, func(a, b memory.UsageDelta) int { return bytes.Compare(a.Note[:], b.Note[:]) })
	wanted := make([]uuid.UUID, 0, len(deltas))
	for _, d := range deltas {
		wanted = append(wanted, d.Note)
	}
	return s.writing(ctx, func(ctx context.Context, q *session) error {
		r, err := q.live(ctx, sc, v.Collection.ID, s.now())
		if err != nil {
			return err
		}
		found, err := q.versions(ctx, sc.Tenant(), v.Layers, reader{}, wanted)
		if err != nil {
			return err
		}
		usage, err := q.usage(ctx, sc.Tenant(), v.Layers, wanted)
		if err != nil {
			return err
		}
		for _, d := range deltas {
			if n, ok := found[d.Note]; !ok || n.Deleted {
				continue
			}
			u, ok := usage[d.Note]
			if !ok {
				u.Strength = 1
			}
			u.AccessCount += d.Accesses
			if last := trunc(d.LastAccess); last.After(u.LastAccess) {
				u.LastAccess = last
			}
			usage[d.Note] = u
			if err := q.setUsage(ctx, sc.Tenant(), r.ID, d.Note, u); err != nil {
				return err
			}
		}
		return nil
	})
}

// Hot implements memory.Reader.
func (s *Store) Hot(ctx context.Context, sc tenant.Scope, v memory.View, n int) ([]memory.HotNote, error) {
	if err := v.Check(sc); err != nil {
		return nil, err
	}
	now := s.now()
	var out []memory.HotNote
	err := s.reading(ctx, func(ctx context.Context, q *session) error {
		used, err := q.used(ctx, sc.Tenant(), v.Layers)
		if err != nil {
			return err
		}
		all := make([]memory.HotNote, 0, len(used))
		for id, u := range used {
			if u.AccessCount > 0 {
				all = append(all, memory.HotNote{Note: id, Usage: u, Score: memory.HotScore(u, now)})
			}
		}
		slices.SortFunc(all, func(a, b memory.HotNote) int {
			return cmp.Or(cmp.Compare(b.Score, a.Score), bytes.Compare(a.Note[:], b.Note[:]))
		})
		for batch := range slices.Chunk(all, hotBatch) {
			wanted := make([]uuid.UUID, len(batch))
			for i := range batch {
				wanted[i] = batch[i].Note
			}
			found, err := q.versions(ctx, sc.Tenant(), v.Layers, reader{}, wanted)
			if err != nil {
				return err
			}
			for _, h := range batch {
				if e, ok := found[h.Note]; !ok || e.Deleted {
					continue
				}
				if out = append(out, h); n > 0 && len(out) == n {
					return nil
				}
			}
		}
		return nil
	})
	return out, err
}
