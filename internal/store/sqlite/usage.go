package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// hotBatch is how many of the most used notes are looked for in the view at a time.
const hotBatch = 256

// UsageOf implements store.UsageRows.
func (q *session) UsageOf(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, wanted []uuid.UUID) (map[uuid.UUID]memory.Usage, error) {
	out := make(map[uuid.UUID]memory.Usage, len(wanted))
	for i := len(layers) - 1; i >= 0 && len(wanted) > 0; i-- {
		err := q.eachUsage(ctx, out, "json_each(?) j CROSS JOIN usage u WHERE u.tenant = ? AND u.layer = ? AND u.note = unhex(j.value)",
			ids(wanted), tenantID, layers[i].Collection)
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// used returns the use of every note that was ever used, visible or not.
func (q *session) used(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer) (map[uuid.UUID]memory.Usage, error) {
	out := map[uuid.UUID]memory.Usage{}
	for _, l := range slices.Backward(layers) {
		if err := q.eachUsage(ctx, out, "usage u WHERE u.tenant = ? AND u.layer = ?", tenantID, l.Collection); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (q *session) eachUsage(ctx context.Context, out map[uuid.UUID]memory.Usage, from string, args ...any) error {
	return q.each(ctx, "SELECT "+store.UsageColumns+" FROM "+from, args, func(rows *sql.Rows) error {
		id, u, err := store.ScanUsage(rows)
		out[id] = u
		return err
	})
}

// AddUsage implements memory.Reader. Notes that are no longer visible are skipped.
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
	return s.noting(ctx, ofJob(sc.Tenant()), func(ctx context.Context, q *session) error {
		r, err := store.ReachVisible(ctx, q, sc, v.Collection.ID, s.now())
		if err != nil {
			return err
		}
		visible, err := q.VisibleNotes(ctx, sc.Tenant(), v.Layers, wanted)
		if err != nil {
			return err
		}
		usage, err := q.UsageOf(ctx, sc.Tenant(), v.Layers, wanted)
		if err != nil {
			return err
		}
		for _, d := range deltas {
			if !visible[d.Note] {
				continue
			}
			u, ok := usage[d.Note]
			if !ok {
				u.Strength = 1
			}
			u.AccessCount += d.Accesses
			if last := store.Micros(d.LastAccess); last.After(u.LastAccess) {
				u.LastAccess = last
			}
			usage[d.Note] = u
			if err := store.SetUsage(ctx, q, sc.Tenant(), r.ID, d.Note, u); err != nil {
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
	err := s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
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
			visible, err := q.VisibleNotes(ctx, sc.Tenant(), v.Layers, wanted)
			if err != nil {
				return err
			}
			for _, h := range batch {
				if !visible[h.Note] {
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
