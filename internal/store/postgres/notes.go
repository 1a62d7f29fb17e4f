package postgres

import (
	"bytes"
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

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
		return noteColumns + ", NULL::halfvec, NULL::bytea"
	}
	return noteColumns + ", v.vec, v.tokens"
}

// from returns the tables of columns.
func (r reader) from(p *params) string { return " FROM notes n" + r.vector(p) }

// vector returns the join of a note n with its vector, if columns has it.
func (r reader) vector(p *params) string {
	if r.Embedder == "" {
		return ""
	}
	return " LEFT JOIN" + vectorOf(p.add(r.Embedder)) + " ON true"
}

// vectorOf returns a lateral table v with the vector of the note n, found by its key.
func vectorOf(embedder string) string {
	return ` LATERAL (SELECT x.vec, x.tokens FROM vectors x
 WHERE x.tenant = $1 AND x.layer = n.layer AND x.note = n.id AND x.from_rev = n.from_rev AND x.embedder = ` + embedder + " LIMIT 1) v"
}

// scan reads columns, and further ones into more.
func (r reader) scan(rows store.Scanner, more ...any) (n store.NoteVersion, err error) {
	var row store.NoteRow
	var vec *pgvector.HalfVector
	var tokens []byte
	dest := append(row.Dest(func(texts *[]string) any { return texts }), &vec, &tokens)
	if err := rows.Scan(append(dest, more...)...); err != nil {
		return n, err
	}

	n, err = row.Read(store.NoteReader(r), store.ObjectOf)
	if vec != nil {
		n.Vector, n.Embedder = vec.Slice(), r.Embedder
		if len(tokens) > 0 {
			n.Tokens = tokens
		}
	}
	return n, err
}

// NoteVersions implements store.NoteRows.
func (q *session) NoteVersions(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, nr store.NoteReader, wanted []uuid.UUID) (map[uuid.UUID]store.NoteVersion, error) {
	r := reader(nr)
	found := make(map[uuid.UUID]store.NoteVersion, len(wanted))
	if len(wanted) == 0 {
		return found, nil
	}
	p := params{args: []any{tenantID, wanted}}
	vector := r.vector(&p)
	branches := make([]string, len(layers))
	for i, l := range layers {
		bound := p.add(rev(l.Bound))
		branches[i] = "SELECT " + r.columns() + ", " + p.add(i) + "::int FROM unnest($2::uuid[]) k (id) CROSS JOIN LATERAL (SELECT n.* FROM notes n" +
			" WHERE n.tenant = $1 AND n.layer = " + p.add(l.Collection) + " AND n.id = k.id AND n.from_rev <= " + bound +
			" ORDER BY n.from_rev DESC LIMIT 1) n" + vector + " WHERE n.to_rev > " + bound
	}
	nearest := make(map[uuid.UUID]int, len(wanted))
	err := q.each(ctx, strings.Join(branches, " UNION ALL "), p.args, func(rows pgx.Rows) error {
		var i int
		n, err := r.scan(rows, &i)
		if was, ok := nearest[n.ID]; !ok || i < was {
			found[n.ID], nearest[n.ID] = n, i
		}
		return err
	})
	return found, err
}

// versionOf joins the keys k of versions with their rows n.
const versionOf = ` CROSS JOIN LATERAL (SELECT n.* FROM notes n
 WHERE n.tenant = $1 AND n.layer = k.layer AND n.id = k.note AND n.from_rev = k.from_rev LIMIT 1) n`

// Versions implements memory.Reader.
func (s *Store) Versions(ctx context.Context, sc tenant.Scope, v memory.View, keys []memory.Version) (out []memory.Note, err error) {
	if err := v.Check(sc); err != nil {
		return nil, err
	}
	bounds := make(map[uuid.UUID]memory.Revision, len(v.Layers))
	for _, l := range v.Layers {
		bounds[l.Collection] = l.Bound
	}
	var layers, notes ids
	var froms []int64
	for _, k := range keys {
		if bound, ok := bounds[k.Layer]; ok && k.From <= bound {
			layers, notes, froms = append(layers, k.Layer), append(notes, k.Note), append(froms, rev(k.From))
		}
	}
	if len(layers) == 0 {
		return nil, nil
	}
	r := reader{Collection: v.Collection.ID}
	found := make(map[memory.Version]memory.Note, len(layers))
	err = s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		return q.each(ctx, "SELECT "+r.columns()+" FROM unnest($2::uuid[], $3::uuid[], $4::bigint[]) k (layer, note, from_rev)"+versionOf+" WHERE NOT n.deleted",
			[]any{sc.Tenant(), layers, notes, froms}, func(rows pgx.Rows) error {
				n, err := r.scan(rows)
				found[n.Version()] = n.Note
				return err
			})
	})
	if err != nil {
		return nil, err
	}
	out = make([]memory.Note, 0, len(found))
	for _, k := range keys {
		if n, ok := found[k]; ok {
			out = append(out, n)
		}
	}
	return out, nil
}

// NoteVersionByKey implements store.NoteRows.
func (q *session) NoteVersionByKey(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, nr store.NoteReader, kind memory.Kind, key string) (n store.NoteVersion, ok bool, err error) {
	r := reader(nr)
	if key == "" || !storable(key) || !storable(string(kind)) {
		return n, false, nil
	}
	p := params{args: []any{tenantID, string(kind), key}}
	from := r.from(&p)
	branches := make([]string, len(layers))
	for i, l := range layers {
		// The newest version comes first: the others are not read.
		branches[i] = "(SELECT " + r.columns() + from + " WHERE n.tenant = $1 AND n.kind = $2 AND n.key = $3 AND n.key <> '' AND " + p.live("n", l) +
			" AND NOT n.deleted" + p.hiddenNotes(layers[:i]) + " ORDER BY n.from_rev DESC LIMIT 1)"
	}
	err = q.each(ctx, "SELECT * FROM ("+strings.Join(branches, " UNION ALL ")+") n LIMIT 1", p.args, func(rows pgx.Rows) error {
		ok = true
		n, err = r.scan(rows)
		return err
	})
	return n, ok, err
}

// NoteVersionsByDigest implements store.NoteRows.
func (q *session) NoteVersionsByDigest(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, nr store.NoteReader, digests []int64) (map[int64]store.NoteVersion, error) {
	r := reader(nr)
	p := params{args: []any{tenantID, digests}}
	vector := r.vector(&p)
	branches := make([]string, len(layers))
	for i, l := range layers {
		branches[i] = "SELECT " + r.columns() + ", n.digest FROM unnest($2::bigint[]) k (digest) CROSS JOIN LATERAL (SELECT n.* FROM notes n" +
			" WHERE n.tenant = $1 AND n.digest = k.digest AND n.digest <> 0 AND " + p.live("n", l) + " AND NOT n.deleted" + p.hiddenNotes(layers[:i]) + " OFFSET 0) n" + vector
	}
	found := map[int64]store.NoteVersion{}
	err := q.each(ctx, strings.Join(branches, " UNION ALL "), p.args, func(rows pgx.Rows) error {
		var digest int64
		n, err := r.scan(rows, &digest)
		if was, ok := found[digest]; err == nil && (!ok || bytes.Compare(n.ID[:], was.ID[:]) < 0) {
			found[digest] = n
		}
		return err
	})
	return found, err
}

// History implements memory.Reader. Fork points order the layers: a nearer one begins where its
// parent's bound ends.
func (s *Store) History(ctx context.Context, sc tenant.Scope, v memory.View, note uuid.UUID, before memory.Revision, n int) (out []memory.HistoryEntry, err error) {
	if err := v.Check(sc); err != nil {
		return nil, err
	}
	if before <= 0 {
		before = store.OpenEnd
	}
	r := reader{Collection: v.Collection.ID}
	p := params{args: []any{sc.Tenant(), note, store.Limit(n), rev(before)}}
	known := params{args: []any{sc.Tenant(), note}}
	branches, exists := make([]string, len(v.Layers)), make([]string, len(v.Layers))
	const own = "FROM notes n WHERE n.tenant = $1 AND n.id = $2 AND n.state <> '" + string(store.StateErased) + "' AND n.layer = "
	for i, l := range v.Layers {
		branches[i] = "(SELECT n.*, " + p.add(i) + "::int AS nth " + own + p.add(l.Collection) + " AND n.from_rev > " + p.add(rev(memory.SpanOf(v.Layers, i).After)) + " AND n.from_rev <= " + p.add(rev(l.Bound)) +
			" AND n.from_rev < $4 ORDER BY n.from_rev DESC LIMIT $3)"
		exists[i] = "EXISTS (SELECT 1 " + own + known.add(l.Collection) + " AND n.from_rev <= " + known.add(rev(l.Bound)) + ")"
	}
	err = s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		out = nil
		err := q.each(ctx, "SELECT "+r.columns()+", c.at, c.actor, c.job, c.trigger, c.cause, c.undoes FROM ("+strings.Join(branches, " UNION ALL ")+
			") n LEFT JOIN LATERAL (SELECT * FROM changesets c WHERE c.tenant = $1 AND c.collection = n.layer AND c.revision = n.from_rev LIMIT 1) c ON true ORDER BY n.nth, n.from_rev DESC LIMIT $3",
			p.args, func(rows pgx.Rows) error {
				e, err := r.historyEntry(rows)
				out = append(out, e)
				return err
			})
		if err != nil || len(out) > 0 {
			return err
		}
		var held bool
		_, err = q.get(ctx, "SELECT "+strings.Join(exists, " OR "), known.args, &held)
		if err == nil && !held {
			err = fault.Missing("note")
		}
		return err
	})
	return out, err
}

// historyEntry scans a version with the columns of its changeset. A copy keeps versions, but no
// changesets.
func (r reader) historyEntry(rows pgx.Rows) (e memory.HistoryEntry, err error) {
	var at *time.Time
	var actor, cause *string
	var job, trigger *uuid.UUID
	var undoes *memory.Revision
	n, err := r.scan(rows, &at, &actor, &job, &trigger, &cause, &undoes)
	if err != nil {
		return e, err
	}
	e.Note, e.Changeset.Collection, e.Changeset.Revision = n.Note, n.Layer, n.From
	if at == nil {
		e.Changeset.At, e.Changeset.Actor = n.UpdatedAt, n.Provenance.Actor
		return e, nil
	}
	c := &e.Changeset
	c.At, c.Actor, c.Job, c.Trigger, c.Cause, c.Undoes = at.UTC(), *actor, *job, *trigger, memory.Cause(*cause), *undoes
	return e, nil
}
