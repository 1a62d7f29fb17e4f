package sqlite

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// CopyRows implements memory.CollectionStore. The cursor is the id of the last note copied. Each
// step is one transaction of INSERT OR IGNORE by key; repeating it is a no-op. What to copy is listed
// before the writer is entered: the rows of a view do not change. Only the last step is synced, and
// with it all before: a copy that a loss of power interrupts begins again.
func (s *Store) CopyRows(ctx context.Context, sc tenant.Scope, v memory.View, target uuid.UUID, cursor string, n int) (copied int, next string, err error) {
	if err := v.Check(sc); err != nil {
		return 0, "", err
	}
	after := uuid.Nil
	if cursor != "" {
		if after, err = uuid.Parse(cursor); err != nil {
			return 0, "", fault.InvalidField("cursor", "is not one of this copy")
		}
	}
	if n <= 0 {
		n = 1000
	}
	var notes []memory.Version
	err = s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		notes, err = q.listVersions(ctx, sc.Tenant(), v.Layers, after, n)
		return err
	})
	if err != nil {
		return 0, "", err
	}
	step := s.writing
	if len(notes) == n {
		next, step = notes[n-1].Note.String(), s.noting
	}
	err = step(ctx, ofJob(sc.Tenant()), func(ctx context.Context, q *session) error {
		now := s.now()
		// The source may have been deleted since the view was opened.
		if _, err := store.ReachVisible(ctx, q, sc, v.Collection.ID, now); err != nil {
			return err
		}
		r, err := store.ReachVisible(ctx, q, sc, target, now)
		if err != nil {
			return err
		}
		if r.State != memory.CollectionCopying {
			return store.ErrRollback // the copy was finished, and this step with it
		}
		return q.copyStep(ctx, &r, v, notes, next == "", now)
	})
	if err != nil {
		return 0, "", err
	}
	return len(notes), next, nil
}

// copyStep copies notes into r. The last step finishes the copy.
func (q *session) copyStep(ctx context.Context, r *store.CollectionRow, v memory.View, notes []memory.Version, last bool, now time.Time) error {
	h, err := q.Head(ctx, r.Tenant, r.ID)
	if err != nil {
		return err
	}
	if h.Revision < v.At {
		h.Revision = v.At
		_, err := q.exec(ctx, "UPDATE collection_heads SET floor = ?, origin = ? WHERE tenant = ? AND collection = ?", v.At, v.At, r.Tenant, r.ID)
		if err != nil {
			return err
		}
	}
	if err := q.copyNotes(ctx, r, v, notes, &h.Stored); err != nil {
		return err
	}
	if h.Counted = last; last {
		if _, err := q.exec(ctx, "UPDATE collections SET state = ? WHERE tenant = ? AND id = ?", string(memory.CollectionActive), r.Tenant, r.ID); err != nil {
			return err
		}
		if err := store.FinishCopy(ctx, q, r, &h, now); err != nil {
			return err
		}
	}
	return q.SaveHead(ctx, r.Tenant, r.ID, h)
}

const openEnd = "9223372036854775807"

// copyChunk is how many notes are copied by one statement: a call of the engine costs more than what it does
// for a row, and SQLite holds the rows of a statement in memory.
const copyChunk = 100

// listVersions returns a page of the visible versions of notes, in the order of their ids.
func (q *session) listVersions(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, after uuid.UUID, n int) ([]memory.Version, error) {
	text, args := listText(tenantID, layers, &store.NotePage{After: after, Limit: n}, uuid.Nil, 0, "n.id, n.layer, n.from_rev")
	return collect(ctx, q, text, args, func(rows store.Scanner) (v memory.Version, err error) {
		err = rows.Scan(&v.Note, &v.Layer, &v.From)
		return v, err
	})
}

// copyNotes copies the versions with their vectors, outgoing links and usage, and adds what was not
// copied before to stored.
func (q *session) copyNotes(ctx context.Context, r *store.CollectionRow, v memory.View, notes []memory.Version, stored *store.Stored) error {
	if len(notes) == 0 {
		return nil
	}
	all := make([]uuid.UUID, 0, len(notes))
	in := make(map[uuid.UUID][]memory.Version, len(v.Layers))
	for _, n := range notes {
		all = append(all, n.Note)
		in[n.Layer] = append(in[n.Layer], n)
	}
	for layer, list := range in {
		for chunk := range slices.Chunk(list, copyChunk) {
			if err := q.copyVersions(ctx, r, layer, chunk, stored); err != nil {
				return err
			}
		}
	}
	usage, err := q.UsageOf(ctx, r.Tenant, v.Layers, all)
	if err != nil {
		return err
	}
	for _, id := range all {
		if u, ok := usage[id]; ok {
			if err := store.SetUsage(ctx, q, r.Tenant, r.ID, id, u); err != nil {
				return err
			}
		}
	}
	columns, values := store.Copied("links", "l", openEnd)
	for i := range v.Layers {
		where, args := visibleLinks(r.Tenant, v.Layers, i, bothEnds)
		args = append([]any{r.ID, ids(all)}, args...)
		n, err := q.exec(ctx, "INSERT OR IGNORE INTO links (tenant, layer, "+columns+") SELECT l.tenant, ?, "+values+
			" FROM links l WHERE l.source IN (SELECT unhex(value) FROM json_each(?)) AND "+where, args...)
		if err != nil {
			return err
		}
		stored.Links += n
	}
	return nil
}

// copyVersions copies versions of one layer with their vectors. A version is open in the target: what
// ended it in the source lies beyond the view.
func (q *session) copyVersions(ctx context.Context, r *store.CollectionRow, layer uuid.UUID, list []memory.Version, stored *store.Stored) error {
	wanted := make([]string, len(list)) // the id in 32 hexadecimal digits, then the revision
	for i, n := range list {
		wanted[i] = hex.EncodeToString(n.Note[:]) + strconv.FormatInt(int64(n.From), 10)
	}
	doc, err := json.Marshal(wanted)
	if err != nil {
		return err
	}
	const rows = " j CROSS JOIN notes x WHERE x.tenant = ? AND x.layer = ? AND x.id = unhex(substr(j.value, 1, 32)) AND x.from_rev = CAST(substr(j.value, 33) AS INTEGER)"
	columns, values := store.Copied("notes", "x", openEnd)
	args := func() []any { return []any{r.ID, string(doc), r.Tenant, layer} }
	text := "INSERT OR IGNORE INTO notes (tenant, layer, " + columns + ") SELECT x.tenant, ?, " + values + " FROM json_each(?)" + rows + " RETURNING bytes"
	err = q.each(ctx, text, args(), func(rows *sql.Rows) error {
		var bytes int64
		err := rows.Scan(&bytes)
		stored.Notes++
		stored.Bytes += bytes
		return err
	})
	if err != nil {
		return err
	}
	_, err = q.exec(ctx, "INSERT OR IGNORE INTO vectors (tenant, layer, note, from_rev, embedder, vec, tokens) SELECT x.tenant, ?, x.note, x.from_rev, x.embedder, x.vec, x.tokens"+
		" FROM json_each(?)"+strings.NewReplacer("notes x", "vectors x", "x.id", "x.note").Replace(rows), args()...)
	return err
}

// Flatten implements store.CollectionRemoval.
func (q *session) Flatten(ctx context.Context, r store.CollectionRow, layers []memory.Layer, keep int) error {
	for i := 1; i < keep; i++ {
		if err := q.flattenLayer(ctx, r, layers, i); err != nil {
			return err
		}
	}
	to, err := store.FlattenTo(ctx, q, r, layers, keep)
	if err != nil {
		return err
	}
	if _, err := q.exec(ctx, `UPDATE collections SET fork_revision = CASE WHEN fork_of = zeroblob(16) THEN parent_revision ELSE fork_revision END,
 fork_of = CASE WHEN fork_of = zeroblob(16) THEN parent ELSE fork_of END, parent = ?, parent_revision = ?, lineage = ? WHERE tenant = ? AND id = ?`,
		to.Reads.Collection, to.Reads.Bound, to.Lineage, r.Tenant, r.ID); err != nil {
		return err
	}
	if _, err := q.exec(ctx, "UPDATE collection_heads SET origin = ? WHERE tenant = ? AND collection = ?", to.Origin, r.Tenant, r.ID); err != nil {
		return err
	}
	h, err := q.Head(ctx, r.Tenant, r.ID)
	if err != nil {
		return err
	}
	if h.Stored, err = q.CountStored(ctx, r.Tenant, r.ID); err != nil {
		return err
	}
	return q.SaveHead(ctx, r.Tenant, r.ID, h)
}

func (q *session) flattenLayer(ctx context.Context, r store.CollectionRow, layers []memory.Layer, i int) error {
	l := layers[i]
	tenantID := r.Tenant
	// Where a nearer layer has its first version, this layer is no longer read.
	ends := func(table, same string) (string, []any) {
		var b strings.Builder
		args := []any{l.Bound, int64(store.OpenEnd)}
		b.WriteString("MIN(CASE WHEN x.to_rev <= ? THEN x.to_rev ELSE ? END")
		for _, near := range layers[:i] {
			// What is already copied into the own layer has lower revisions, and is left out by the
			// fork's first own revision.
			b.WriteString(", COALESCE((SELECT MIN(s.from_rev) FROM " + table + " s WHERE s.tenant = ? AND s.layer = ? AND " + same + " AND s.from_rev <= ? AND s.from_rev > ?), ?)")
			args = append(args, tenantID, near.Collection, near.Bound, l.Bound, int64(store.OpenEnd))
		}
		b.WriteString(")")
		return b.String(), args
	}
	base := []any{tenantID, l.Collection, l.Bound}
	for _, copied := range [][2]string{{"notes", "s.id = x.id"}, {"links", "s.source = x.source AND s.relation = x.relation AND s.target = x.target"}} {
		table, same := copied[0], copied[1]
		end, args := ends(table, same)
		columns, values := store.Copied(table, "x", end)
		if _, err := q.exec(ctx, "INSERT INTO "+table+" (tenant, layer, "+columns+") SELECT x.tenant, ?, "+values+
			" FROM "+table+" x WHERE x.tenant = ? AND x.layer = ? AND x.from_rev <= ?", append(append([]any{r.ID}, args...), base...)...); err != nil {
			return err
		}
	}
	for _, text := range []string{
		"INSERT INTO vectors (tenant, layer, note, from_rev, embedder, vec, tokens) SELECT tenant, ?, note, from_rev, embedder, vec, tokens FROM vectors WHERE tenant = ? AND layer = ? AND from_rev <= ?",
		`INSERT INTO changesets (tenant, collection, revision, at, actor, job, trigger, cause, undoes, merged_from)
 SELECT tenant, ?, revision, at, actor, job, trigger, cause, undoes, merged_from FROM changesets WHERE tenant = ? AND collection = ? AND revision <= ?`,
	} {
		if _, err := q.exec(ctx, text, append([]any{r.ID}, base...)...); err != nil {
			return err
		}
	}
	// The use that nearer layers counted is in the own layer already and is kept.
	_, err := q.exec(ctx, `INSERT OR IGNORE INTO usage (tenant, layer, note, access_count, last_access, strength, heat)
 SELECT tenant, ?, note, access_count, last_access, strength, heat FROM usage WHERE tenant = ? AND layer = ?`, r.ID, tenantID, l.Collection)
	return err
}
