package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// noteColumns are the columns of the notes n.
var noteColumns = store.NoteNames("n.")

// reader reads versions of notes.
type reader store.NoteReader

func (r reader) columns() string {
	if r.Embedder == "" {
		return noteColumns + ", NULL, NULL"
	}
	return noteColumns + ", v.vec, v.tokens"
}

// join returns what has to follow "FROM notes n", and its arguments.
func (r reader) join() (string, []any) {
	if r.Embedder == "" {
		return "", nil
	}
	return " LEFT JOIN vectors v ON v.tenant = n.tenant AND v.layer = n.layer AND v.note = n.id AND v.from_rev = n.from_rev AND v.embedder = ?", []any{r.Embedder}
}

func (r reader) scan(rows store.Scanner) (store.NoteVersion, error) { return r.scanner()(rows) }

// scanner returns what scans one row after another, into the same destinations.
func (r reader) scanner() func(store.Scanner) (store.NoteVersion, error) {
	var row store.NoteRow
	var vec, tokens sql.RawBytes
	dest := append(row.Dest(func(texts *[]string) any { return store.JSON(texts) }), &vec, &tokens)
	return func(rows store.Scanner) (n store.NoteVersion, err error) {
		row = store.NoteRow{}
		if err := rows.Scan(dest...); err != nil {
			return n, err
		}
		n, err = row.Read(store.NoteReader(r), store.ObjectOf)
		if len(vec) > 0 {
			n.Vector, n.Tokens, n.Embedder = store.VectorOf(vec), append([]byte(nil), tokens...), r.Embedder
		}
		return n, err
	}
}

// newestOfEach is the condition for the version n of each id of the list j that decides in a layer. Older versions are not read.
// Its parameters are the tenant, the layer and its bound.
const newestOfEach = "n.rowid = (SELECT m.rowid FROM notes m WHERE m.tenant = ? AND m.layer = ? AND m.id = unhex(j.value) AND m.from_rev <= ? ORDER BY m.from_rev DESC LIMIT 1)"

// NoteVersions implements store.NoteRows.
func (q *session) NoteVersions(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, nr store.NoteReader, wanted []uuid.UUID) (map[uuid.UUID]store.NoteVersion, error) {
	r := reader(nr)
	found := make(map[uuid.UUID]store.NoteVersion, len(wanted))
	missing := wanted
	for _, l := range layers {
		if len(missing) == 0 {
			break
		}
		join, args := r.join()
		text := "SELECT " + r.columns() + " FROM "
		if len(missing) == 1 {
			text += "notes n" + join + " WHERE n.tenant = ? AND n.layer = ? AND n.id = ? AND n.from_rev <= ? ORDER BY n.from_rev DESC LIMIT 1"
			args = append(args, tenantID, l.Collection, missing[0], l.Bound)
		} else {
			text += "json_each(?) j CROSS JOIN notes n" + join + " WHERE " + newestOfEach
			args = append(append([]any{ids(missing)}, args...), tenantID, l.Collection, l.Bound)
		}
		err := q.each(ctx, text, args, func(rows *sql.Rows) error {
			n, err := r.scan(rows)
			found[n.ID] = n
			return err
		})
		if err != nil {
			return nil, err
		}
		left := make([]uuid.UUID, 0, len(missing))
		for _, id := range missing {
			if _, ok := found[id]; !ok {
				left = append(left, id)
			}
		}
		missing = left
	}
	return found, nil
}

// NoteVersionByKey implements store.NoteRows.
func (q *session) NoteVersionByKey(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, nr store.NoteReader, kind memory.Kind, key string) (n store.NoteVersion, ok bool, err error) {
	r := reader(nr)
	if key == "" {
		return n, false, nil
	}
	for i, l := range layers {
		join, args := r.join()
		hidden, more := hiddenNotes(tenantID, layers[:i])
		args = append(append(args, tenantID, l.Collection, string(kind), key, l.Bound, l.Bound), more...)
		err = q.each(ctx, "SELECT "+r.columns()+" FROM notes n INDEXED BY notes_newest_by_key"+join+" WHERE n.tenant = ? AND n.layer = ? AND n.kind = +? AND n.key = ? AND n.key <> '' AND n.from_rev <= ? AND n.to_rev > ? AND n.deleted = 0"+hidden+" ORDER BY n.from_rev DESC LIMIT 1",
			args, func(rows *sql.Rows) error {
				ok = true
				n, err = r.scan(rows)
				return err
			})
		if err != nil || ok {
			return n, ok, err
		}
	}
	return n, false, nil
}

// NoteVersionsByDigest implements store.NoteRows.
func (q *session) NoteVersionsByDigest(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, nr store.NoteReader, digests []int64) (map[int64]store.NoteVersion, error) {
	r := reader(nr)
	found := map[int64]store.NoteVersion{}
	for i, l := range layers {
		join, args := r.join()
		hidden, more := hiddenNotes(tenantID, layers[:i])
		// Without the name of the index SQLite reads the layer in the order of its log.
		text := "SELECT " + r.columns() + " FROM notes n INDEXED BY notes_digest" + join + " WHERE n.tenant = ? AND n.layer = ? AND n.digest = ? AND n.digest <> 0 AND n.from_rev <= ? AND n.to_rev > ? AND n.deleted = 0" +
			hidden + " ORDER BY n.id LIMIT 1"
		for _, d := range digests {
			all := append(append(slices.Clone(args), tenantID, l.Collection, d, l.Bound, l.Bound), more...)
			err := q.each(ctx, text, all, func(rows *sql.Rows) error {
				n, err := r.scan(rows)
				if was, ok := found[d]; err == nil && (!ok || bytes.Compare(n.ID[:], was.ID[:]) < 0) {
					found[d] = n
				}
				return err
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// History implements memory.Reader. Fork points order the layers: a nearer one begins where its
// parent's bound ends, so one order by From is enough.
func (s *Store) History(ctx context.Context, sc tenant.Scope, v memory.View, note uuid.UUID, before memory.Revision, n int) (out []memory.HistoryEntry, err error) {
	if err := v.Check(sc); err != nil {
		return nil, err
	}
	if before <= 0 {
		before = store.OpenEnd
	}
	r := reader{Collection: v.Collection.ID}
	err = s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		known := false
		for i, l := range v.Layers {
			if n > 0 && len(out) >= n {
				break
			}
			args := []any{sc.Tenant(), l.Collection, note, memory.SpanOf(v.Layers, i).After, min(l.Bound, before-1), limit(n - len(out))}
			if n <= 0 {
				args[5] = -1
			}
			var versions []memory.Note
			err := q.each(ctx, "SELECT "+r.columns()+" FROM notes n WHERE n.tenant = ? AND n.layer = ? AND n.id = ? AND n.from_rev > ? AND n.from_rev <= ? AND n.state <> '"+string(store.StateErased)+"' ORDER BY n.from_rev DESC LIMIT +?", args, func(rows *sql.Rows) error {
				e, err := r.scan(rows)
				versions = append(versions, e.Note)
				return err
			})
			if err != nil {
				return err
			}
			for _, e := range versions {
				c, ok, err := store.First(store.Changesets(ctx, q, sc.Tenant(), l.Collection, e.From-1, e.From, 1))
				if err != nil {
					return err
				}
				if !ok {
					// A copy keeps versions, but no changesets.
					c = memory.Changeset{Collection: l.Collection, Revision: e.From, At: e.UpdatedAt, Actor: e.Provenance.Actor}
				}
				out = append(out, memory.HistoryEntry{Note: e, Changeset: c})
			}
			known = known || len(versions) > 0
		}
		if known {
			return nil
		}
		for _, l := range v.Layers {
			var one int
			ok, err := q.get(ctx, "SELECT 1 FROM notes WHERE tenant = ? AND layer = ? AND id = ? AND from_rev <= ? AND state <> '"+string(store.StateErased)+"' LIMIT 1",
				[]any{sc.Tenant(), l.Collection, note, l.Bound}, &one)
			if err != nil || ok {
				return err
			}
		}
		return fault.Missing("note")
	})
	return out, err
}
