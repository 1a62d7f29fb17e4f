package sqlite

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// LogPage implements store.LogRows.
func (q *session) LogPage(ctx context.Context, tenantID uuid.UUID, nr store.NoteReader, p store.LogPage) ([]store.NoteVersion, error) {
	r := reader(nr)
	join, args := r.join()
	args = append(args, tenantID, nr.Collection, p.To)
	where, from := "n.from_rev <= ?", "n.from_rev"
	if p.Ended {
		// The "+" and the last condition make SQLite read the index of what has ended, not the whole log.
		from = "+n.from_rev"
		where, args = "n.to_rev <= ? AND n.to_rev > ? AND +n.from_rev <= ? AND n.to_rev < 9223372036854775807", append(args, p.After, p.After)
	}
	where, args = where+" AND ("+from+", n.id) > (?, ?)", append(args, p.From, p.Note)
	if len(p.Kinds) > 0 { // not by the index of kinds, which has another order
		where += " AND +n.kind IN (?" + strings.Repeat(", ?", len(p.Kinds)-1) + ")"
		for _, k := range p.Kinds {
			args = append(args, string(k))
		}
	}
	return collect(ctx, q, "SELECT "+r.columns()+" FROM notes n"+join+" WHERE n.tenant = ? AND n.layer = ? AND "+where+
		" ORDER BY "+from+", n.id LIMIT +?", append(args, p.Limit), r.scanner())
}

// CountChangesets implements store.LogRows.
func (q *session) CountChangesets(ctx context.Context, tenantID uuid.UUID, span memory.Span, cause memory.Cause, from, before time.Time) (map[string]int64, error) {
	days := map[string]int64{}
	err := q.each(ctx, `SELECT date(at / 1000000, 'unixepoch'), count(*) FROM changesets
 WHERE tenant = ? AND collection = ? AND revision > ? AND revision <= ? AND cause = ? AND at >= ? AND at < ? GROUP BY 1`,
		[]any{tenantID, span.Layer, span.After, span.To, cause, from, before}, func(rows *sql.Rows) error {
			var day string
			var n int64
			err := rows.Scan(&day, &n)
			days[day] = n
			return err
		})
	return days, err
}

// ListMerges implements store.LogRows.
func (q *session) ListMerges(ctx context.Context, tenantID uuid.UUID, span memory.Span) ([]memory.Changeset, error) {
	return collect(ctx, q, "SELECT "+store.ChangesetColumns+`, merged_from FROM changesets c WHERE tenant = ?1 AND collection = ?2 AND revision > ?3 AND revision <= ?4
 AND merged_from <> '' AND NOT EXISTS (SELECT 1 FROM changesets u WHERE u.tenant = ?1 AND u.collection = ?2 AND u.revision > c.revision AND u.revision <= ?4
 AND u.undoes = c.revision) ORDER BY revision DESC`, []any{tenantID, span.Layer, span.After, span.To}, store.ScanMerge)
}

// begun returns the text that lists rows x of the first layer that began after one revision and up to another, with whether
// what they are of was live before, which rows e of the same key in the layers tell; and its arguments. guard is the
// condition of the index; what also holds for was live, too.
func begun(tenantID uuid.UUID, layers []memory.Layer, after, to memory.Revision, table, index, guard, key, same, also string, n int) (string, []any) {
	var before strings.Builder
	var args []any
	for _, l := range layers {
		before.WriteString("(SELECT e.deleted = 0 FROM " + table + " e WHERE e.tenant = x.tenant AND e.layer = ? AND " + same +
			" AND e.from_rev < x.from_rev AND e.from_rev <= ? ORDER BY e.from_rev DESC LIMIT 1), ")
		args = append(args, l.Collection, l.Bound)
	}
	text := "SELECT * FROM (SELECT x.from_rev, " + key + ", x.deleted, " + also + " OR COALESCE(" + before.String() + "0) AS before FROM " + table + " x INDEXED BY " + index +
		" WHERE " + guard + " AND x.tenant = ? AND x.layer = ? AND x.from_rev > ? AND x.from_rev <= ?) WHERE deleted = 0 OR before = 1 ORDER BY from_rev, " +
		strings.ReplaceAll(key, "x.", "") + " LIMIT +?"
	return text, append(args, tenantID, layers[0].Collection, after, to, limit(n))
}

// erased is the condition that a row x is what is left of a note that was erased.
const erased = "x.state = '" + string(store.StateErased) + "'"

// NotesBegun implements store.LogRows.
func (q *session) NotesBegun(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, after, to memory.Revision, n int) (out []store.NoteBegun, err error) {
	text, args := begun(tenantID, layers, after, to, "notes", "notes_began", "x.from_rev >= 0", "x.id", "e.id = x.id", erased, n)
	err = q.each(ctx, text, args, func(rows *sql.Rows) error {
		var c store.NoteBegun
		var deleted, before bool
		err := rows.Scan(&c.At, &c.Note, &deleted, &before)
		c.Change = store.Became(deleted, before)
		out = append(out, c)
		return err
	})
	return out, err
}

// LinksBegun implements store.LogRows.
func (q *session) LinksBegun(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, after, to memory.Revision, n int) (out []store.LinkBegun, err error) {
	text, args := begun(tenantID, layers, after, to, "links", "links_log", "x.confidence >= 0", "x.source, x.relation, x.target",
		"e.source = x.source AND e.relation = x.relation AND e.target = x.target", "0", n)
	err = q.each(ctx, text, args, func(rows *sql.Rows) error {
		var c store.LinkBegun
		var deleted, before bool
		err := rows.Scan(&c.At, &c.Source, &c.Relation, &c.Target, &deleted, &before)
		c.Change = store.Became(deleted, before)
		out = append(out, c)
		return err
	})
	return out, err
}
