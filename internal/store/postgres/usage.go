package postgres

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// layerIDs names the layers, nearest first.
func layerIDs(layers []memory.Layer) ids {
	out := make(ids, len(layers))
	for i, l := range layers {
		out[i] = l.Collection
	}
	return out
}

func scanUsage(rows pgx.Rows) (note uuid.UUID, u memory.Usage, err error) {
	var last *time.Time
	err = rows.Scan(&note, &u.AccessCount, &last, &u.Strength, &u.Heat)
	u.LastAccess = timeOf(last)
	return note, u, err
}

// usage reads through the layers: the nearest that has a row decides.
func (q *session) usage(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, wanted []uuid.UUID) (map[uuid.UUID]memory.Usage, error) {
	out := make(map[uuid.UUID]memory.Usage, len(wanted))
	if len(wanted) == 0 {
		return out, nil
	}
	err := q.each(ctx, `SELECT DISTINCT ON (u.note) u.note, u.access_count, u.last_access, u.strength, u.heat
 FROM unnest($2::uuid[]) WITH ORDINALITY l (layer, depth) JOIN usage u ON u.tenant = $1 AND u.layer = l.layer AND u.note = ANY($3::uuid[]) ORDER BY u.note, l.depth`,
		[]any{tenantID, layerIDs(layers), wanted}, func(rows pgx.Rows) error {
			id, u, err := scanUsage(rows)
			out[id] = u
			return err
		})
	return out, err
}

// alive tells which notes are visible through the layers.
func (q *session) alive(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, wanted []uuid.UUID) (map[uuid.UUID]bool, error) {
	out := make(map[uuid.UUID]bool, len(wanted))
	p := params{args: []any{tenantID, wanted}}
	err := q.each(ctx, "SELECT w.id FROM unnest($2::uuid[]) w (id) WHERE "+p.noteVisible("w.id", layers), p.args, func(rows pgx.Rows) error {
		var id uuid.UUID
		err := rows.Scan(&id)
		out[id] = true
		return err
	})
	return out, err
}

// Usage implements memory.Reader.
func (s *Store) Usage(ctx context.Context, sc tenant.Scope, v memory.View, wanted []uuid.UUID) (out map[uuid.UUID]memory.Usage, err error) {
	if err := v.Check(sc); err != nil {
		return nil, err
	}
	err = s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		if out, err = q.usage(ctx, sc.Tenant(), v.Layers, wanted); err != nil || len(out) == 0 {
			return err
		}
		alive, err := q.alive(ctx, sc.Tenant(), v.Layers, wanted)
		for id := range out {
			if !alive[id] {
				delete(out, id)
			}
		}
		return err
	})
	return out, err
}

// Hot implements memory.Reader. The order is that of HotScore, by its logarithm:
// Postgres fails where a power vanishes, as Go's does after 1074 halvings.
// Notes are looked at in that order until enough of them are visible.
func (s *Store) Hot(ctx context.Context, sc tenant.Scope, v memory.View, n int) (out []memory.HotNote, err error) {
	if err := v.Check(sc); err != nil {
		return nil, err
	}
	now := s.now()
	p := params{args: []any{sc.Tenant(), layerIDs(v.Layers), now, memory.HotHalfLife.Seconds()}}
	text := `SELECT u.note, u.access_count, u.last_access, u.strength, u.heat FROM (
 SELECT n.* FROM (SELECT DISTINCT ON (u.note) u.*
  FROM unnest($2::uuid[]) WITH ORDINALITY l (layer, depth) JOIN usage u ON u.tenant = $1 AND u.layer = l.layer ORDER BY u.note, l.depth) n
 WHERE n.access_count > 0
 ORDER BY CASE WHEN n.last_access IS NULL OR ($3::timestamptz - n.last_access) > 1074 * make_interval(secs => $4) THEN '-infinity'
  ELSE ln(n.access_count::float8) / ln(2::float8) - GREATEST(EXTRACT(EPOCH FROM $3::timestamptz - n.last_access), 0)::float8 / $4::float8 END DESC, n.note OFFSET 0) u
 WHERE ` + p.noteVisible("u.note", v.Layers) + " LIMIT " + p.add(limit(n))
	err = s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		out = nil
		return q.each(ctx, text, p.args, func(rows pgx.Rows) error {
			id, u, err := scanUsage(rows)
			out = append(out, memory.HotNote{Note: id, Usage: u, Score: memory.HotScore(u, now)})
			return err
		})
	})
	slices.SortStableFunc(out, func(a, b memory.HotNote) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), bytes.Compare(a.Note[:], b.Note[:]))
	})
	return out, err
}

// setUsage goes with the next statement.
func (q *session) setUsage(_ context.Context, tenantID, layer, note uuid.UUID, u memory.Usage) error {
	q.later(`INSERT INTO usage (tenant, layer, note, access_count, last_access, strength, heat) VALUES ($1, $2, $3, $4, $5, $6, $7)
 ON CONFLICT (tenant, layer, note) DO UPDATE SET access_count = excluded.access_count, last_access = excluded.last_access, strength = excluded.strength, heat = excluded.heat`,
		tenantID, layer, note, u.AccessCount, at(u.LastAccess), u.Strength, u.Heat)
	return nil
}

// AddUsage implements memory.Reader. What is no longer visible is passed over.
// Both statements take their rows in the order of the notes, so that gateways
// that flush at once wait for each other and never in a circle.
func (s *Store) AddUsage(ctx context.Context, sc tenant.Scope, v memory.View, deltas []memory.UsageDelta) error {
	if err := v.Check(sc); err != nil {
		return err
	}
	if len(deltas) == 0 {
		return nil
	}
	sum := make(map[uuid.UUID]memory.UsageDelta, len(deltas))
	for _, d := range deltas {
		t := sum[d.Note]
		t.Accesses += d.Accesses
		if last := trunc(d.LastAccess); last.After(t.LastAccess) {
			t.LastAccess = last
		}
		sum[d.Note] = t
	}
	wanted := make(ids, 0, len(sum))
	for id := range sum {
		wanted = append(wanted, id)
	}
	slices.SortFunc(wanted, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return s.writing(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		q.holdCollections(sc.Tenant(), v.Collection.ID)
		r, err := q.live(ctx, sc, v.Collection.ID, s.now())
		if err != nil {
			return err
		}
		alive, err := q.alive(ctx, sc.Tenant(), v.Layers, wanted)
		if err != nil {
			return err
		}
		notes, counts, lasts := make(ids, 0, len(wanted)), make([]int64, 0, len(wanted)), make([]*time.Time, 0, len(wanted))
		for _, id := range wanted {
			if alive[id] {
				notes, counts, lasts = append(notes, id), append(counts, sum[id].Accesses), append(lasts, at(sum[id].LastAccess))
			}
		}
		if len(notes) == 0 {
			return errDone
		}
		if len(v.Layers) > 1 {
			// What the nearest ancestor counted is copied up first, once.
			q.later(`INSERT INTO usage (tenant, layer, note, access_count, last_access, strength, heat)
 SELECT DISTINCT ON (u.note) $1::uuid, $2::uuid, u.note, u.access_count, u.last_access, u.strength, u.heat
 FROM unnest($4::uuid[]) WITH ORDINALITY l (layer, depth) JOIN usage u ON u.tenant = $1 AND u.layer = l.layer AND u.note = ANY($3::uuid[])
 WHERE NOT EXISTS (SELECT 1 FROM usage o WHERE o.tenant = $1 AND o.layer = $2 AND o.note = u.note)
 ORDER BY u.note, l.depth ON CONFLICT DO NOTHING`, sc.Tenant(), r.ID, notes, layerIDs(v.Layers[1:]))
		}
		q.later(`INSERT INTO usage AS u (tenant, layer, note, access_count, last_access, strength, heat)
 SELECT $1, $2, d.note, d.accesses, d.last, 1, 0 FROM unnest($3::uuid[], $4::bigint[], $5::timestamptz[]) d (note, accesses, last) ORDER BY d.note
 ON CONFLICT (tenant, layer, note) DO UPDATE SET access_count = u.access_count + excluded.access_count, last_access = GREATEST(u.last_access, excluded.last_access)`,
			sc.Tenant(), r.ID, notes, counts, lasts)
		return nil
	})
}
