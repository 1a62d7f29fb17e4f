package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// EraseVersions implements store.NoteErasure. It finds the rows of each note by its id, and deletes each row by its whole key: a
// condition on a list of ids may be answered by reading the layer.
func (q *session) EraseVersions(ctx context.Context, tenantID, layer uuid.UUID, notes, past []uuid.UUID, kept []memory.Version) (versions int64, less store.Stored, err error) {
	for i, of := range [][]uuid.UUID{notes, past} {
		if len(of) == 0 {
			continue
		}
		ended, live, told := "", " AND NOT x.deleted", ""
		if i == 1 {
			told = " AND x.attributes IS NOT NULL"
			ended = " AND x.to_rev <> " + openEnd // not the condition of the index of ended versions
		}
		rows := func(columns, table, id, ended string) string {
			return "SELECT x.layer, " + columns + ", x.from_rev, (x.to_rev = " + openEnd + " AND NOT x.deleted)::int FROM unnest($3::uuid[]) k (id) CROSS JOIN LATERAL (SELECT * FROM " + table +
				" x WHERE x.tenant = $1 AND x.layer = $2 AND x." + id + " = k.id" + ended + " OFFSET 0) x"
		}
		args := []any{tenantID, layer, of}
		found, err := collect(ctx, q, rows("x.bytes, x.id", "notes", "id", ended+live), args, func(row store.Scanner) (v memory.Version, err error) {
			var open, bytes int64
			if err = row.Scan(&v.Layer, &bytes, &v.Note, &v.From, &open); err == nil && (i == 0 || !slices.Contains(kept, v)) {
				versions, less.Notes, less.Bytes = versions+1, less.Notes+open, less.Bytes+bytes
			}
			return v, err
		})
		if err != nil {
			return 0, less, err
		}
		if i == 1 {
			found = slices.DeleteFunc(found, func(v memory.Version) bool { return slices.Contains(kept, v) })
		}
		for _, v := range found {
			_ = store.DeleteNote(ctx, q, tenantID, v) // goes with the next statement
		}
		for _, end := range []string{"source", "target"} {
			links, err := collect(ctx, q, rows("x.source, x.relation, x.target", "links", end, ended+told), args, func(row store.Scanner) (l memory.Link, err error) {
				var open int64
				err = row.Scan(&l.Layer, &l.Source, &l.Relation, &l.Target, &l.From, &open)
				less.Links += open
				return l, err
			})
			if err != nil {
				return 0, less, err
			}
			for i := range links {
				_ = store.DeleteLink(ctx, q, tenantID, links[i])
			}
		}
	}
	for _, id := range past {
		q.later(meets("notes", "n.id = x.id")+" AND x.id = $3", tenantID, layer, id)
		q.later(meets("links", sameLink)+" AND x.source = $3", tenantID, layer, id)
		q.later(meets("links", sameLink)+" AND x.target = $3", tenantID, layer, id)
	}
	if err := q.keepTombstones(ctx, tenantID, layer, notes, &versions); err != nil {
		return 0, less, err
	}
	for _, id := range notes {
		q.later("DELETE FROM usage WHERE tenant = $1 AND layer = $2 AND note = $3", tenantID, layer, id)
	}
	return versions, less, nil
}

// meets is the text by which rows of a table end where the next ones of the same key begin, without those that were between them.
func meets(table, same string) string {
	return "UPDATE " + table + " x SET to_rev = COALESCE((SELECT min(n.from_rev) FROM " + table + " n WHERE n.tenant = $1 AND n.layer = $2 AND " + same + " AND n.from_rev > x.from_rev), x.to_rev)" +
		" WHERE x.tenant = $1 AND x.layer = $2 AND x.to_rev <> " + openEnd
}

const sameLink = "n.source = x.source AND n.relation = x.relation AND n.target = x.target"

// keepTombstones makes the tombstones of notes those of erased ones, and counts them.
func (q *session) keepTombstones(ctx context.Context, tenantID, layer uuid.UUID, notes []uuid.UUID, n *int64) error {
	found, err := collect(ctx, q, "SELECT x.id, x.from_rev FROM unnest($3::uuid[]) k (id) CROSS JOIN LATERAL (SELECT * FROM notes x"+
		" WHERE x.tenant = $1 AND x.layer = $2 AND x.id = k.id AND x.deleted AND NOT "+erased+" OFFSET 0) x", []any{tenantID, layer, notes},
		func(row store.Scanner) (v memory.Version, err error) { return v, row.Scan(&v.Note, &v.From) })
	for _, v := range found {
		q.later("UPDATE notes SET state = $5 WHERE tenant = $1 AND layer = $2 AND id = $3 AND from_rev = $4", tenantID, layer, v.Note, rev(v.From), store.StateErased)
	}
	*n += int64(len(found))
	return err
}

// named is the condition that a document has one of the texts $4.
func named(column string) string {
	return "(SELECT true FROM unnest($4::text[]) e WHERE strpos(" + column + "::text, e) > 0 LIMIT 1)" // one row: it is not joined
}

// endedSince is the condition that a job x with a result ended since a time, or has not ended.
func endedSince(mark string) string {
	return "x.result IS NOT NULL AND CASE WHEN x.finished_at IS NULL THEN 'infinity' ELSE x.finished_at END >= " + mark
}

// moves is what stays of a result, NULL if nothing does: the moves of pairs and sessions, which repeat nothing that was said, without
// those of the notes $5.
const moves = `(SELECT json_build_object('moves', json_agg(m.value ORDER BY m.n), 'policy', result -> 'policy')
 FROM json_array_elements(CASE WHEN json_typeof(result -> 'moves') = 'array' THEN result -> 'moves' END) WITH ORDINALITY m (value, n)
 WHERE NOT EXISTS (SELECT FROM unnest($5::text[]) e WHERE strpos(m.value::text, e) > 0) HAVING COUNT(*) > 0)`

// EraseJobs implements store.NoteErasure.
func (q *session) EraseJobs(ctx context.Context, tenantID, collection uuid.UUID, notes, past []uuid.UUID, since time.Time) (int64, error) {
	all, names := slices.Concat(notes, past), idTexts(notes)
	gone, err := collect(ctx, q, `SELECT x.id FROM unnest($3::uuid[]) k (note) CROSS JOIN LATERAL (SELECT * FROM jobs x
 WHERE x.tenant = $1 AND x.note = k.note AND x.note <> `+zeroID+` AND x.collection = $2 AND x.state NOT IN ('queued', 'running') OFFSET 0) x
 WHERE $4::int = 0 AND `+moves+" IS NULL", []any{tenantID, collection, all, 0, names}, store.ScanOne[uuid.UUID])
	if err != nil {
		return 0, err
	}
	for _, id := range gone {
		q.later("DELETE FROM jobs WHERE tenant = $1 AND id = $2", tenantID, id)
	}
	cleared, err := collect(ctx, q, "SELECT x.id FROM jobs x WHERE x.tenant = $1 AND x.collection = $2 AND "+endedSince("$3")+" AND "+named("x.result")+`
 UNION SELECT x.id FROM unnest($5::uuid[]) k (note) CROSS JOIN LATERAL (SELECT * FROM jobs x WHERE x.tenant = $1 AND x.note = k.note AND x.note <> `+zeroID+`
 AND x.collection = $2 AND x.state NOT IN ('queued', 'running') OFFSET 0) x WHERE x.result IS NOT NULL`, []any{tenantID, collection, since, idTexts(all), all}, store.ScanOne[uuid.UUID])
	for _, id := range cleared {
		q.later(`UPDATE jobs SET result = `+moves+`, error = '', payload = CASE WHEN state IN ('queued', 'running') THEN payload END,
 note = CASE WHEN note = ANY($3::uuid[]) AND state NOT IN ('queued', 'running') THEN `+zeroID+` ELSE note END WHERE tenant = $1 AND id = $2 AND $4::int = 0`, tenantID, id, notes, 0, names)
	}
	return int64(len(gone) + len(cleared)), err
}

// EraseReviews implements store.NoteErasure.
func (q *session) EraseReviews(ctx context.Context, tenantID, collection uuid.UUID, notes []uuid.UUID) (int64, error) {
	return q.exec(ctx, "DELETE FROM reviews WHERE tenant = $1 AND collection = $2 AND (trigger = ANY($3::uuid[]) OR "+named("changes")+")", tenantID, collection, notes, idTexts(notes))
}

// EraseProposals implements store.NoteErasure.
func (q *session) EraseProposals(ctx context.Context, tenantID uuid.UUID, from, notes []uuid.UUID) (int64, error) {
	return q.exec(ctx, "DELETE FROM reviews WHERE tenant = $1 AND $2::int = 0 AND changes #>> '{0,merge,collection}' = ANY($3::text[]) AND "+named("changes"),
		tenantID, 0, idTexts(from), idTexts(notes))
}

// RaiseEpoch implements store.NoteErasure.
func (q *session) RaiseEpoch(_ context.Context, tenantID, layer uuid.UUID) error {
	q.later("UPDATE collection_heads SET erase_epoch = erase_epoch + 1 WHERE tenant = $1 AND collection = $2", tenantID, layer)
	return nil
}

// ClearJobs implements store.NoteErasure.
func (q *session) ClearJobs(_ context.Context, tenantID, collection uuid.UUID, texts []string, since time.Time) error {
	q.later(`UPDATE jobs x SET result = `+moves+" WHERE x.tenant = $1 AND x.collection = $2 AND "+endedSince("$3")+" AND x.state NOT IN ('queued', 'running') AND "+
		named("x.result"), tenantID, collection, since, texts, []string{})
	return nil
}
