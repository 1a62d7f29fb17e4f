package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// EraseVersions implements store.NoteErasure.
func (q *session) EraseVersions(ctx context.Context, tenantID, layer uuid.UUID, notes, past []uuid.UUID, kept []memory.Version) (versions int64, less store.Stored, err error) {
	const of = " IN (SELECT unhex(value) FROM json_each(?3))"
	const closed = " AND to_rev < 9223372036854775807"
	const told = " AND attributes <> ''"
	const unkept = " AND lower(hex(id)) || ' ' || from_rev NOT IN (SELECT value FROM json_each(?4))"
	keys := make([]string, len(kept))
	for i, v := range kept {
		keys[i] = fmt.Sprintf("%x %d", v.Note[:], v.From)
	}
	list, err := store.Document("versions", keys)
	if err != nil {
		return 0, less, err
	}
	const open = " RETURNING to_rev = 9223372036854775807 AND deleted = 0"
	for _, t := range []struct {
		text  string
		notes []uuid.UUID
		open  *int64 // counts the open rows among the deleted ones
	}{
		{"DELETE FROM vectors WHERE tenant = ?1 AND layer = ?2 AND note" + of + " RETURNING 0, 0", notes, new(int64)},
		{"DELETE FROM notes WHERE tenant = ?1 AND layer = ?2 AND deleted = 0 AND id" + of + open + ", bytes", notes, &less.Notes},
		{"UPDATE notes AS x SET state = '" + string(store.StateErased) + "' WHERE tenant = ?1 AND layer = ?2 AND deleted = 1 AND NOT " + erased + " AND id" + of + open + ", 0", notes, &less.Notes},
		{"DELETE FROM links WHERE tenant = ?1 AND layer = ?2 AND source" + of + open + ", 0", notes, &less.Links},
		{"DELETE FROM links WHERE tenant = ?1 AND layer = ?2 AND target" + of + open + ", 0", notes, &less.Links},
		{"DELETE FROM links WHERE tenant = ?1 AND layer = ?2 AND source" + of + closed + told + open + ", 0", past, &less.Links},
		{"DELETE FROM links WHERE tenant = ?1 AND layer = ?2 AND target" + of + closed + told + open + ", 0", past, &less.Links},
		{"DELETE FROM usage WHERE tenant = ?1 AND layer = ?2 AND note" + of + " RETURNING 0, 0", notes, new(int64)},
		{"DELETE FROM notes WHERE tenant = ?1 AND layer = ?2 AND deleted = 0 AND id" + of + closed + unkept + open + ", bytes", past, &less.Notes},
		{meets("notes", "n.id = notes.id") + " AND id" + of + closed + " RETURNING 0, 0", past, new(int64)},
		{meets("links", sameLink) + " AND source" + of + closed + " RETURNING 0, 0", past, new(int64)},
		{meets("links", sameLink) + " AND target" + of + closed + " RETURNING 0, 0", past, new(int64)},
		{"DELETE FROM vectors WHERE tenant = ?1 AND layer = ?2 AND note" + of + ` AND NOT EXISTS (SELECT 1 FROM notes n WHERE n.tenant = vectors.tenant
 AND n.layer = vectors.layer AND n.id = vectors.note AND n.from_rev = vectors.from_rev) RETURNING 0, 0`, past, new(int64)},
	} {
		args := []any{tenantID, layer, ids(t.notes)}
		if strings.Contains(t.text, unkept) {
			args = append(args, list)
		}
		err := q.each(ctx, t.text, args, func(rows *sql.Rows) error {
			var open, bytes int64
			err := rows.Scan(&open, &bytes)
			*t.open += open
			if less.Bytes += bytes; t.open == &less.Notes {
				versions++
			}
			return err
		})
		if err != nil {
			return 0, less, err
		}
	}
	return versions, less, nil
}

// meets is the text by which rows of a table end where the next ones of the same key begin, without those that were between them.
func meets(table, same string) string {
	return "UPDATE " + table + " SET to_rev = COALESCE((SELECT MIN(n.from_rev) FROM " + table + " n WHERE n.tenant = ?1 AND n.layer = ?2 AND " + same + " AND n.from_rev > " + table + ".from_rev), to_rev)" +
		" WHERE tenant = ?1 AND layer = ?2"
}

const sameLink = "n.source = links.source AND n.relation = links.relation AND n.target = links.target"

// named is the condition that a text has one of the ids ?3.
func named(column string) string {
	return "EXISTS (SELECT 1 FROM json_each(?3) e WHERE instr(" + column + ", e.value) > 0)"
}

// endedSince is the condition that a job with a result ended since a time, or has not ended.
func endedSince(mark string) string {
	return "result <> '' AND CASE finished_at WHEN 0 THEN 9223372036854775807 ELSE finished_at END >= " + mark
}

// moves is what stays of a result, NULL if nothing does: the moves of pairs and sessions, which repeat nothing that was said, without
// those of the notes ?4.
const moves = `(SELECT json_object('moves', json_group_array(json(m.value)), 'policy', json_extract(jobs.result, '$.policy'))
 FROM json_each(NULLIF(jobs.result, ''), '$.moves') m WHERE NOT EXISTS (SELECT 1 FROM json_each(?4) e WHERE instr(m.value, e.value) > 0) HAVING COUNT(*) > 0)`

// EraseJobs implements store.NoteErasure.
func (q *session) EraseJobs(ctx context.Context, tenantID, collection uuid.UUID, notes, past []uuid.UUID, since time.Time) (int64, error) {
	const of = "tenant = ?1 AND collection = ?2 AND note <> zeroblob(16) AND note IN (SELECT unhex(replace(value, '-', '')) FROM json_each(?3)) AND state NOT IN ('queued', 'running')"
	args := []any{tenantID, collection, idTexts(slices.Concat(notes, past)), idTexts(notes)}
	gone, err := q.exec(ctx, "DELETE FROM jobs INDEXED BY jobs_note WHERE "+of+" AND "+moves+" IS NULL", args...)
	if err != nil {
		return 0, err
	}
	cleared, err := q.exec(ctx, `UPDATE jobs SET result = COALESCE(`+moves+`, ''), error = '', payload = CASE WHEN state IN ('queued', 'running') THEN payload ELSE '' END,
 note = CASE WHEN note IN (SELECT unhex(replace(value, '-', '')) FROM json_each(?4)) AND state NOT IN ('queued', 'running') THEN zeroblob(16) ELSE note END
 WHERE tenant = ?1 AND id IN (SELECT id FROM jobs INDEXED BY jobs_ended WHERE tenant = ?1 AND collection = ?2 AND `+endedSince("?5")+" AND "+named("result")+
		" UNION SELECT id FROM jobs INDEXED BY jobs_note WHERE result <> '' AND "+of+")", append(args, since)...)
	return gone + cleared, err
}

// EraseReviews implements store.NoteErasure.
func (q *session) EraseReviews(ctx context.Context, tenantID, collection uuid.UUID, notes []uuid.UUID) (int64, error) {
	return q.exec(ctx, "DELETE FROM reviews WHERE tenant = ?1 AND collection = ?2 AND ("+named("changes")+
		" OR trigger IN (SELECT unhex(replace(value, '-', '')) FROM json_each(?3)))", tenantID, collection, idTexts(notes))
}

// EraseProposals implements store.NoteErasure.
func (q *session) EraseProposals(ctx context.Context, tenantID uuid.UUID, from, notes []uuid.UUID) (int64, error) {
	return q.exec(ctx, "DELETE FROM reviews WHERE tenant = ?1 AND json_extract(changes, '$[0].merge.collection') IN (SELECT value FROM json_each(?2)) AND "+named("changes"),
		tenantID, idTexts(from), idTexts(notes))
}

// RaiseEpoch implements store.NoteErasure.
func (q *session) RaiseEpoch(ctx context.Context, tenantID, layer uuid.UUID) error {
	_, err := q.exec(ctx, "UPDATE collection_heads SET erase_epoch = erase_epoch + 1 WHERE tenant = ? AND collection = ?", tenantID, layer)
	return err
}

// ClearJobs implements store.NoteErasure.
func (q *session) ClearJobs(ctx context.Context, tenantID, collection uuid.UUID, texts []string, since time.Time) error {
	list, err := store.Document("texts", texts)
	if err != nil {
		return err
	}
	_, err = q.exec(ctx, "UPDATE jobs INDEXED BY jobs_ended SET result = COALESCE("+moves+", '') WHERE tenant = ?1 AND collection = ?2 AND "+endedSince("?5")+
		" AND state NOT IN ('queued', 'running') AND "+named("result"), tenantID, collection, list, "[]", since)
	return err
}
