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
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// layerIDs returns the collections of layers, nearest first.
func layerIDs(layers []memory.Layer) ids {
	out := make(ids, len(layers))
	for i, l := range layers {
		out[i] = l.Collection
	}
	return out
}

// nearestUsage is the use u of the notes $2 in each of the layers $3. DISTINCT ON (u.note) keeps that of the nearest layer.
const nearestUsage = ` FROM unnest($3::uuid[]) WITH ORDINALITY l (layer, depth) CROSS JOIN unnest($2::uuid[]) k (note)
 CROSS JOIN LATERAL (SELECT x.* FROM usage x WHERE x.tenant = $1 AND x.layer = l.layer AND x.note = k.note LIMIT 1) u ORDER BY u.note, l.depth`

// UsageOf implements store.UsageRows.
func (q *session) UsageOf(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, wanted []uuid.UUID) (map[uuid.UUID]memory.Usage, error) {
	out := make(map[uuid.UUID]memory.Usage, len(wanted))
	if len(wanted) == 0 {
		return out, nil
	}
	err := q.each(ctx, "SELECT DISTINCT ON (u.note) u.note, u.access_count, u.last_access, u.strength, u.heat"+nearestUsage,
		[]any{tenantID, wanted, layerIDs(layers)}, func(rows pgx.Rows) error {
			id, u, err := store.ScanUsage(rows)
			out[id] = u
			return err
		})
	return out, err
}

// VisibleNotes implements store.UsageRows.
func (q *session) VisibleNotes(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, wanted []uuid.UUID) (map[uuid.UUID]bool, error) {
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

// Hot implements memory.Reader. The order is that of HotScore, by its logarithm: Postgres fails
// when a power underflows, which in Go happens after 1074 halvings. Notes are read in that order
// until enough of them are visible.
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
 WHERE ` + p.noteVisible("u.note", v.Layers) + " LIMIT " + p.add(store.Limit(n))
	err = s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		out = nil
		return q.each(ctx, text, p.args, func(rows pgx.Rows) error {
			id, u, err := store.ScanUsage(rows)
			out = append(out, memory.HotNote{Note: id, Usage: u, Score: memory.HotScore(u, now)})
			return err
		})
	})
	slices.SortStableFunc(out, func(a, b memory.HotNote) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), bytes.Compare(a.Note[:], b.Note[:]))
	})
	return out, err
}

// copyUsage copies the use of notes that the nearest of the layers has to a collection, where it has none yet. It goes with the
// next statement.
func (q *session) copyUsage(tenantID, target uuid.UUID, notes ids, layers []memory.Layer) {
	q.later(`INSERT INTO usage (tenant, layer, note, access_count, last_access, strength, heat)
 SELECT DISTINCT ON (u.note) $1::uuid, $4::uuid, u.note, u.access_count, u.last_access, u.strength, u.heat`+nearestUsage+" ON CONFLICT DO NOTHING",
		tenantID, notes, layerIDs(layers), target)
}

// AddUsage implements memory.Reader. Notes that are no longer visible are skipped. Both statements
// write rows in the order of the notes, so that gateways that flush concurrently never wait for each
// other in a circle.
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
		if last := store.Micros(d.LastAccess); last.After(t.LastAccess) {
			t.LastAccess = last
		}
		sum[d.Note] = t
	}
	wanted := make(ids, 0, len(sum))
	for id := range sum {
		wanted = append(wanted, id)
	}
	slices.SortFunc(wanted, memory.CompareIDs)
	return s.writing(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		q.HoldCollections(sc.Tenant(), v.Collection.ID)
		r, err := store.ReachVisible(ctx, q, sc, v.Collection.ID, s.now())
		if err != nil {
			return err
		}
		visible, err := q.VisibleNotes(ctx, sc.Tenant(), v.Layers, wanted)
		if err != nil {
			return err
		}
		notes, counts, lasts := make(ids, 0, len(wanted)), make([]int64, 0, len(wanted)), make([]*time.Time, 0, len(wanted))
		for _, id := range wanted {
			if visible[id] {
				notes, counts, lasts = append(notes, id), append(counts, sum[id].Accesses), append(lasts, nullTime(sum[id].LastAccess))
			}
		}
		if len(notes) == 0 {
			return store.ErrRollback
		}
		if len(v.Layers) > 1 {
			// What the nearest ancestor counted is copied up once, before the first change.
			q.copyUsage(sc.Tenant(), r.ID, notes, v.Layers[1:])
		}
		q.later(`INSERT INTO usage AS u (tenant, layer, note, access_count, last_access, strength, heat)
 SELECT $1, $2, d.note, d.accesses, d.last, 1, 0 FROM unnest($3::uuid[], $4::bigint[], $5::timestamptz[]) d (note, accesses, last) ORDER BY d.note
 ON CONFLICT (tenant, layer, note) DO UPDATE SET access_count = u.access_count + excluded.access_count, last_access = GREATEST(u.last_access, excluded.last_access)`,
			sc.Tenant(), r.ID, notes, counts, lasts)
		return nil
	})
}
