package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// LogPage implements store.LogRows.
func (q *session) LogPage(ctx context.Context, tenantID uuid.UUID, nr store.NoteReader, p store.LogPage) (out []store.NoteVersion, err error) {
	r := reader(nr)
	join, args := r.join()
	args = append(args, tenantID, nr.Collection, p.To)
	where, from := "n.from_rev <= ?", "n.from_rev"
	if p.Ended {
		// The "+" and the last condition make SQLite read the index of what has ended, not the whole log.
		from = "+n.from_rev"
		where, args = "n.to_rev <= ? AND n.to_rev > ? AND +n.from_rev <= ? AND n.to_rev < 9223372036854775807", append(args, p.After, p.After)
	}
	err = q.each(ctx, "SELECT "+r.columns()+" FROM notes n"+join+" WHERE n.tenant = ? AND n.layer = ? AND "+where+
		" AND ("+from+", n.id) > (?, ?) ORDER BY "+from+", n.id LIMIT +?", append(args, p.From, p.Note, p.Limit), func(rows *sql.Rows) error {
		n, err := r.scan(rows)
		out = append(out, n)
		return err
	})
	return out, err
}

const changesetColumns = "collection, revision, at, actor, job, trigger, cause, undoes"

func (q *session) changesets(ctx context.Context, where string, args ...any) (out []memory.Changeset, err error) {
	err = q.each(ctx, "SELECT "+changesetColumns+" FROM changesets WHERE "+where, args, func(rows *sql.Rows) error {
		c, err := store.ScanChangeset(rows)
		out = append(out, c)
		return err
	})
	return out, err
}

// ListChangesets implements store.LogRows.
func (q *session) ListChangesets(ctx context.Context, tenantID, collection uuid.UUID, after, to memory.Revision, n int) ([]memory.Changeset, error) {
	return q.changesets(ctx, "tenant = ? AND collection = ? AND revision > ? AND revision <= ? ORDER BY revision LIMIT +?", tenantID, collection, after, to, limit(n))
}

// CountChangesets implements store.LogRows.
func (q *session) CountChangesets(ctx context.Context, tenantID, collection uuid.UUID, to memory.Revision, cause memory.Cause, from, before time.Time) (map[string]int64, error) {
	days := map[string]int64{}
	err := q.each(ctx, `SELECT date(at / 1000000, 'unixepoch'), count(*) FROM changesets
 WHERE tenant = ? AND collection = ? AND revision <= ? AND cause = ? AND at >= ? AND at < ? GROUP BY 1`,
		[]any{tenantID, collection, to, cause, from, before}, func(rows *sql.Rows) error {
			var day string
			var n int64
			err := rows.Scan(&day, &n)
			days[day] = n
			return err
		})
	return days, err
}

// InsertChangeset implements store.ChangesetWrites.
func (q *session) InsertChangeset(ctx context.Context, tenantID uuid.UUID, c memory.Changeset) error {
	from, err := store.MergedFromText(c.MergedFrom)
	if err != nil {
		return err
	}
	_, err = q.exec(ctx, "INSERT INTO changesets (tenant, collection, revision, at, actor, job, trigger, cause, undoes, merged_from) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		tenantID, c.Collection, c.Revision, c.At, c.Actor, c.Job, c.Trigger, c.Cause, c.Undoes, from)
	return err
}

// UndoneBy implements store.ChangesetWrites.
func (q *session) UndoneBy(ctx context.Context, tenantID, collection uuid.UUID, undone memory.Revision) (r memory.Revision, ok bool, err error) {
	ok, err = q.get(ctx, "SELECT revision FROM changesets WHERE tenant = ?1 AND collection = ?2 AND revision > ?3 AND undoes = ?3 LIMIT 1", []any{tenantID, collection, undone}, &r)
	return r, ok, err
}

// CountEvolved implements store.ChangesetWrites.
func (q *session) CountEvolved(ctx context.Context, tenantID, collection uuid.UUID) (n int64, err error) {
	_, err = q.get(ctx, "UPDATE collection_heads SET evolved_adds = evolved_adds + 1 WHERE tenant = ? AND collection = ? RETURNING evolved_adds", []any{tenantID, collection}, &n)
	return n, err
}

// SetEmbedder implements store.ChangesetWrites.
func (q *session) SetEmbedder(ctx context.Context, tenantID, collection uuid.UUID, name string, dim int, job uuid.UUID) error {
	_, err := q.exec(ctx, "UPDATE collections SET embedder = ?, dim = ?, reembedded = ? WHERE tenant = ? AND id = ?", name, dim, job, tenantID, collection)
	return err
}

// TouchedNotes implements store.LogRows.
func (q *session) TouchedNotes(ctx context.Context, tenantID uuid.UUID, span memory.Span) (out []uuid.UUID, err error) {
	err = q.each(ctx, "SELECT DISTINCT n.id FROM notes n WHERE n.tenant = ? AND n.layer = ? AND n.from_rev > ? AND n.from_rev <= ? ORDER BY n.id",
		[]any{tenantID, span.Layer, span.After, span.To}, func(rows *sql.Rows) error {
			var id uuid.UUID
			err := rows.Scan(&id)
			out = append(out, id)
			return err
		})
	return out, err
}

// TouchedLinks implements store.LogRows.
func (q *session) TouchedLinks(ctx context.Context, tenantID uuid.UUID, span memory.Span) (out []memory.LinkID, err error) {
	err = q.each(ctx, `SELECT DISTINCT l.source, l.relation, l.target FROM links l
 WHERE l.tenant = ? AND l.layer = ? AND l.from_rev > ? AND l.from_rev <= ? AND l.confidence >= 0`,
		[]any{tenantID, span.Layer, span.After, span.To}, func(rows *sql.Rows) error {
			var id memory.LinkID
			err := rows.Scan(&id.Source, &id.Relation, &id.Target)
			out = append(out, id)
			return err
		})
	return out, err
}

// ListMerges implements store.LogRows.
func (q *session) ListMerges(ctx context.Context, tenantID uuid.UUID, span memory.Span) (out []memory.Changeset, err error) {
	err = q.each(ctx, "SELECT "+changesetColumns+`, merged_from FROM changesets c WHERE tenant = ?1 AND collection = ?2 AND revision > ?3 AND revision <= ?4
 AND merged_from <> '' AND NOT EXISTS (SELECT 1 FROM changesets u WHERE u.tenant = ?1 AND u.collection = ?2 AND u.revision > c.revision AND u.revision <= ?4
 AND u.undoes = c.revision) ORDER BY revision DESC`, []any{tenantID, span.Layer, span.After, span.To}, func(rows *sql.Rows) error {
		c, err := store.ScanMerge(rows)
		out = append(out, c)
		return err
	})
	return out, err
}
