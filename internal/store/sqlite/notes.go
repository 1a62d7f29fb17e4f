package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

const noteColumns = `n.id, n.layer, n.from_rev, n.to_rev, n.deleted, n.kind, n.state, n.key, n.importance, n.occurred_at, n.created_at, n.updated_at,
 n.bytes, n.embedder, n.category, n.context, n.keywords, n.tags, n.attributes, n.error, n.analyst, n.supplied, n.provenance, n.content`

// version is a row of notes.
type version struct {
	memory.Note
	to    memory.Revision
	bytes int64
}

// reader describes what to read of notes, and scans it.
type reader struct {
	collection uuid.UUID // shown as Note.Collection
	embedder   string    // whose vectors to read; "": none
}

func newReader(c *memory.Collection, o memory.ReadOptions) reader {
	r := reader{collection: c.ID}
	if o.Vector {
		r.embedder = c.Embedder
	}
	return r
}

func (r reader) columns() string {
	if r.embedder == "" {
		return noteColumns + ", NULL, NULL"
	}
	return noteColumns + ", v.vec, v.tokens"
}

// join gives what has to follow "FROM notes n", and its arguments.
func (r reader) join() (string, []any) {
	if r.embedder == "" {
		return "", nil
	}
	return " LEFT JOIN vectors v ON v.tenant = n.tenant AND v.layer = n.layer AND v.note = n.id AND v.from_rev = n.from_rev AND v.embedder = ?", []any{r.embedder}
}

func (r reader) scan(rows interface{ Scan(...any) error }) (n version, err error) {
	var occurred, created *int64
	var updated int64
	var keywords, tags, attributes, supplied, provenance string
	var vec, tokens sql.RawBytes
	dest := []any{
		&n.ID, &n.Layer, &n.From, &n.to, &n.Deleted, &n.Kind, &n.State, &n.Key, &n.Importance, &occurred, &created, &updated,
		&n.bytes, &n.Embedder, &n.Category, &n.Context, &keywords, &tags, &attributes, &n.Error, &n.Analyst, &supplied, &provenance, &n.Content, &vec, &tokens,
	}
	if err := rows.Scan(dest...); err != nil {
		return n, err
	}
	n.Collection = r.collection
	n.OccurredAt, n.CreatedAt, n.UpdatedAt = eventOf(occurred), eventOf(created), timeOf(updated)
	if n.Keywords, err = listOf(keywords); err != nil {
		return n, err
	}
	if n.Tags, err = listOf(tags); err != nil {
		return n, err
	}
	if n.Supplied, err = listOf(supplied); err != nil {
		return n, err
	}
	if n.Attributes, err = store.ObjectOf(attributes); err != nil {
		return n, err
	}
	if provenance != "" {
		if err := json.Unmarshal([]byte(provenance), &n.Provenance); err != nil {
			return n, err
		}
	}
	if len(vec) > 0 {
		n.Vector, n.Tokens, n.Embedder = store.HalfOf(vec), append([]byte(nil), tokens...), r.embedder
	}
	return n, nil
}

// versions finds, for every id that the layers hold at all, the version that
// decides: a tombstone tells that the note is not visible.
func (q *session) versions(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, r reader, wanted []uuid.UUID) (map[uuid.UUID]version, error) {
	found := make(map[uuid.UUID]version, len(wanted))
	missing := wanted
	for _, l := range layers {
		if len(missing) == 0 {
			break
		}
		join, args := r.join()
		text := "SELECT " + r.columns() + " FROM "
		if len(missing) == 1 {
			text += "notes n" + join + " WHERE n.tenant = ? AND n.layer = ? AND n.id = ? AND n.from_rev <= ? ORDER BY n.from_rev DESC LIMIT 1"
			args = append(args, blob(tenantID), blob(l.Collection), blob(missing[0]), rev(l.Bound))
		} else {
			text += "json_each(?) j CROSS JOIN notes n" + join + " WHERE n.tenant = ? AND n.layer = ? AND n.id = unhex(j.value) AND n.from_rev <= ? AND n.to_rev > ?"
			args = append(append([]any{ids(missing)}, args...), blob(tenantID), blob(l.Collection), rev(l.Bound), rev(l.Bound))
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

// notes gives the visible ones, in the order of ids.
func (q *session) notes(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, r reader, wanted []uuid.UUID) ([]memory.Note, error) {
	found, err := q.versions(ctx, tenantID, layers, r, wanted)
	if err != nil {
		return nil, err
	}
	out := make([]memory.Note, 0, len(wanted))
	for _, id := range wanted {
		if n, ok := found[id]; ok && !n.Deleted {
			out = append(out, n.Note)
		}
	}
	return out, nil
}

// Notes implements memory.Reader.
func (s *Store) Notes(ctx context.Context, sc tenant.Scope, v memory.View, wanted []uuid.UUID, o memory.ReadOptions) (out []memory.Note, err error) {
	if err := v.Check(sc); err != nil {
		return nil, err
	}
	err = s.reading(ctx, func(ctx context.Context, q *session) error {
		out, err = q.notes(ctx, sc.Tenant(), v.Layers, newReader(&v.Collection, o), wanted)
		return err
	})
	return out, err
}

// byKey finds the visible note with that natural key.
func (q *session) byKey(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, r reader, kind memory.Kind, key string) (n version, ok bool, err error) {
	if key == "" {
		return n, false, nil
	}
	for i, l := range layers {
		join, args := r.join()
		hidden, more := hiddenNotes(tenantID, layers[:i])
		args = append(append(args, blob(tenantID), blob(l.Collection), string(kind), key, rev(l.Bound), rev(l.Bound)), more...)
		err = q.each(ctx, "SELECT "+r.columns()+" FROM notes n"+join+" WHERE n.tenant = ? AND n.layer = ? AND n.kind = ? AND n.key = ? AND n.key <> '' AND n.from_rev <= ? AND n.to_rev > ? AND n.deleted = 0"+hidden+" LIMIT 1",
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

// NoteByKey implements memory.Reader.
func (s *Store) NoteByKey(ctx context.Context, sc tenant.Scope, v memory.View, kind memory.Kind, key string) (n memory.Note, err error) {
	if err := v.Check(sc); err != nil {
		return n, err
	}
	err = s.reading(ctx, func(ctx context.Context, q *session) error {
		found, ok, err := q.byKey(ctx, sc.Tenant(), v.Layers, newReader(&v.Collection, memory.ReadOptions{}), kind, key)
		if err == nil && !ok {
			err = fault.Missing("note")
		}
		n = found.Note
		return err
	})
	return n, err
}

// History implements memory.Reader. Fork points order the layers: a nearer one
// begins where its parent's bound ends, so one order by From serves all.
func (s *Store) History(ctx context.Context, sc tenant.Scope, v memory.View, note uuid.UUID, before memory.Revision, n int) (out []memory.HistoryEntry, err error) {
	if err := v.Check(sc); err != nil {
		return nil, err
	}
	if before <= 0 {
		before = open
	}
	r := newReader(&v.Collection, memory.ReadOptions{})
	err = s.reading(ctx, func(ctx context.Context, q *session) error {
		known := false
		for _, l := range v.Layers {
			if n > 0 && len(out) >= n {
				break
			}
			args := []any{blob(sc.Tenant()), blob(l.Collection), blob(note), rev(min(l.Bound, before-1)), limit(n - len(out))}
			if n <= 0 {
				args[4] = -1
			}
			var versions []memory.Note
			err := q.each(ctx, "SELECT "+r.columns()+" FROM notes n WHERE n.tenant = ? AND n.layer = ? AND n.id = ? AND n.from_rev <= ? ORDER BY n.from_rev DESC LIMIT ?", args, func(rows *sql.Rows) error {
				e, err := r.scan(rows)
				versions = append(versions, e.Note)
				return err
			})
			if err != nil {
				return err
			}
			for _, e := range versions {
				c, err := q.changeset(ctx, sc.Tenant(), l.Collection, e.From)
				if err != nil {
					return err
				}
				if c.At.IsZero() {
					// A copy keeps versions, not changesets.
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
			ok, err := q.get(ctx, "SELECT 1 FROM notes WHERE tenant = ? AND layer = ? AND id = ? AND from_rev <= ? LIMIT 1",
				[]any{blob(sc.Tenant()), blob(l.Collection), blob(note), rev(l.Bound)}, &one)
			if err != nil || ok {
				return err
			}
		}
		return fault.Missing("note")
	})
	return out, err
}
