package postgres

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// DecidesFilter implements store.NoteRows.
func (q *session) DecidesFilter(e filter.Expr) bool { return compile(e).Exact }

// ListNotes implements store.NoteRows: one ordered, limited branch per layer, so that a page costs
// the same however long the log is.
func (q *session) ListNotes(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, pg store.NotePage) ([]store.NoteVersion, error) {
	r := reader(pg.NoteReader)
	order, beyond := " ASC", ">"
	if pg.Newest {
		order, beyond = " DESC", "<"
	}
	p := params{args: []any{tenantID, store.Limit(pg.Limit)}}
	var common string
	by, merged := "n.id"+order, "id"+order
	if pg.ByTime {
		by, merged = "n.occurred_at"+order+", n.id"+order, "occurred_at"+order+", id"+order
	}
	if pg.ByRevision {
		by, merged = "n.from_rev"+order+", n.id"+order, "from_rev"+order+", id"+order
		common += " AND n.bytes >= 0" // the condition of the index of the log
	}
	switch {
	case pg.After == uuid.Nil:
	case pg.ByRevision:
		common += " AND (n.from_rev, n.id) " + beyond + " (" + p.add(rev(pg.Written)) + ", " + p.add(pg.After) + ")"
	case pg.ByTime:
		common += " AND (n.occurred_at, n.id) " + beyond + " (" + p.add(pg.Since) + ", " + p.add(pg.After) + ")"
	default:
		common += " AND n.id " + beyond + " " + p.add(pg.After)
	}
	session, ofSession := pg.Session()
	switch {
	case pg.Listed:
		common += " AND n.kind || '' = 'message' AND jsonb_typeof(n.attributes->'session') = 'array'"
	case ofSession:
		common += " AND n.kind || '' = 'message' AND jsonb_hash(COALESCE(n.attributes->'session', 'null')) = k.hash"
	case pg.IsMessageList():
		common += " AND n.kind = 'message'" // the condition of their index
	}
	if pg.Keyed {
		common += " AND n.key <> ''"
	}
	switch {
	case ofSession:
	case pg.IsOfRareKind() && storable(string(pg.Kinds[0])):
		common += " AND " + store.RareKinds + " AND n.kind = " + p.add(string(pg.Kinds[0]))
	case len(pg.Kinds) > 0 && pg.ByRevision: // not the condition of the index of kinds, which has another order
		common += " AND n.kind || '' = ANY(" + p.add(storableTexts(pg.Kinds)) + "::text[])"
	case len(pg.Kinds) > 0:
		common += " AND n.kind = ANY(" + p.add(storableTexts(pg.Kinds)) + "::text[])"
	}
	if len(pg.States) > 0 {
		common += " AND n.state = ANY(" + p.add(storableTexts(pg.States)) + "::text[])"
	}
	if pg.Digests != nil {
		common += " AND n.digest <> 0 AND n.digest = ANY(" + p.add(pg.Digests) + ")"
	}
	if pg.Sources != nil {
		common += " AND n.provenance->'sources' ?| " + p.add(idTexts(pg.Sources)) + "::text[]"
	}
	if pg.Lacks != "" {
		common += " AND (SELECT 1 FROM" + vectorOf(p.add(pg.Lacks)) + ") IS NULL"
	}
	if pg.Filter != nil {
		if c := compile(pg.Filter); c.Text != "" {
			common += " AND (" + p.bind(c) + ")"
		}
	}
	columns, with := r.columns(), ""
	steps := pg.Steps() && (len(pg.Kinds) == 0 || storable(string(pg.Kinds[0])))
	stretch := pg.Stretch(len(layers))
	if steps && len(layers) > 1 {
		with = "WITH stretch AS MATERIALIZED (SELECT COALESCE(" + p.nextNote(layers, &pg, p.add(pg.Begin()), " OFFSET "+p.add(stretch)) + ", " + p.add(pg.End()) + ") AS id) "
		columns += ", (SELECT stretch.id FROM stretch) AS ends"
		common += " AND n.id " + map[bool]string{false: "<", true: ">"}[pg.Newest] + " (SELECT stretch.id FROM stretch)"
	}
	vector := r.vector(&p)
	from, page := " FROM notes n"+vector, " ORDER BY "+by+" LIMIT $2"
	if ofSession && !pg.Listed {
		// Each session has its page, by its index. With a list of sessions that index would have another order, and all messages were read.
		from = " FROM (SELECT DISTINCT unnest(" + p.hashes(session) + ") AS hash) k CROSS JOIN LATERAL (SELECT * FROM tenant_notes n"
		page += ") n" + vector + page
	}
	var text string
	if steps && len(layers) == 1 {
		// A stretch, and the entry behind it if the page lacks notes then.
		entries := " FROM notes n WHERE n.tenant = $1 AND n.layer = " + p.add(layers[0].Collection) + common + " ORDER BY " + by
		most, b := p.add(stretch), p.add(rev(layers[0].Bound))
		text = "(SELECT " + columns + ", NULL::uuid FROM (SELECT n.*" + entries + " LIMIT " + most + ") n" + vector + " WHERE n.from_rev <= " + b + " AND n.to_rev > " + b + " AND NOT n.deleted" + page +
			") UNION ALL (SELECT " + reader{}.columns() + ", n.id" + entries + " LIMIT 1 OFFSET " + most + ") LIMIT $2"
	} else {
		branches := make([]string, len(layers))
		for i, l := range layers {
			branches[i] = "(SELECT " + columns + from + " WHERE n.tenant = $1 AND " + p.live("n", l) + " AND NOT n.deleted" + common + p.hiddenNotes(layers[:i]) + page + ")"
		}
		text = strings.Join(branches, " UNION ALL ")
	}
	if len(layers) > 1 {
		text += " ORDER BY " + merged + " LIMIT $2"
	}
	read := inOrder[store.NoteVersion]
	// No index has the order, or another one leads to few.
	if pg.Keyed || len(pg.States) > 0 || pg.Digests != nil || pg.ByTime && !pg.IsMessageList() {
		read = collect
	}
	if !steps {
		return read(ctx, q, text, p.args, func(rows store.Scanner) (store.NoteVersion, error) { return r.scan(rows) })
	}
	var end *uuid.UUID // of the stretch
	out, err := read(ctx, q, with+text, p.args, func(rows store.Scanner) (store.NoteVersion, error) { return r.scan(rows, &end) })
	n := len(out)
	switch {
	case err != nil || len(layers) == 1 && end == nil || len(layers) > 1 && n == pg.Limit:
		return out, err
	case len(layers) == 1: // the last is the entry behind the stretch
		if out = out[:n-1]; n > 1 && out[n-2].ID == *end {
			out = out[:n-2] // the stretch ends between its versions
		}
	case end == nil: // the stretch has no note
		end = new(pg.Begin())
	case *end == pg.End():
		return out, nil
	}
	pg.Limit -= len(out)
	text, args := stepText(tenantID, layers, &pg, *end)
	rest, err := read(ctx, q, text, args, func(rows store.Scanner) (store.NoteVersion, error) { return r.scan(rows) })
	return append(out, rest...), err
}

// stepText is the statement of a page that steps from note to note: from an id on, or behind its beginning. The nearest layer that holds a
// note decides, by its newest version.
func stepText(tenantID uuid.UUID, layers []memory.Layer, pg *store.NotePage, from uuid.UUID) (string, []any) {
	r := reader(pg.NoteReader)
	p := params{args: []any{tenantID, store.Limit(pg.Limit), from}}
	first := "$3::uuid"
	if from == pg.Begin() {
		first = p.nextNote(layers, pg, first, "")
	}
	newest := make([]string, len(layers))
	for i, l := range layers {
		newest[i] = "(SELECT n.* FROM notes n WHERE n.tenant = $1 AND n.layer = " + p.add(l.Collection) + " AND n.id = k.id AND n.from_rev <= " + p.add(rev(l.Bound)) + " ORDER BY n.from_rev DESC LIMIT 1)"
	}
	kind := ""
	if pg.IsOfRareKind() {
		kind = " AND n.kind = " + p.add(string(pg.Kinds[0]))
	}
	return "WITH RECURSIVE k (id) AS (SELECT " + first + " UNION ALL SELECT " + p.nextNote(layers, pg, "k.id", "") + " FROM k WHERE k.id IS NOT NULL)" +
		" SELECT " + r.columns() + " FROM k CROSS JOIN LATERAL (SELECT * FROM (" + strings.Join(newest, " UNION ALL ") + ") n LIMIT 1) n" + r.vector(&p) +
		" WHERE NOT n.deleted" + kind + " LIMIT $2", p.args
}

// nextNote returns the expression for the id in the layers that is so many entries of an index behind an id: that of the next note, however
// many versions there are of it, or of one behind a stretch.
func (p *params) nextNote(layers []memory.Layer, pg *store.NotePage, after, behind string) string {
	kind, beyond, nearest := "", " > "+after+" ORDER BY n.id", "LEAST("
	if pg.Newest {
		beyond, nearest = " < "+after+" ORDER BY n.id DESC", "GREATEST("
	}
	if pg.IsOfRareKind() {
		kind = " AND " + store.RareKinds + " AND n.kind = " + p.add(string(pg.Kinds[0]))
	}
	of := make([]string, len(layers))
	for i, l := range layers {
		of[i] = "(SELECT n.id FROM notes n WHERE n.tenant = $1 AND n.layer = " + p.add(l.Collection) + kind + " AND n.id" + beyond + " LIMIT 1" + behind + ")"
	}
	return nearest + strings.Join(of, ", ") + ")"
}

// hashes are what the index of sessions has of some. Another session may have the same hash: the filter looks at it again.
func (p *params) hashes(values []filter.Value) string {
	hashes := make([]string, 0, len(values))
	for _, v := range values {
		arg, mark, _ := operand(v)
		hashes = append(hashes, "jsonb_hash(to_jsonb("+strings.Replace(mark, "?", p.add(arg), 1)+"))")
	}
	if len(hashes) == 0 {
		hashes = []string{"jsonb_hash('null')"}
	}
	return "ARRAY[" + strings.Join(hashes, ", ") + "]"
}

// storableTexts returns kinds or states as the driver takes them.
func storableTexts[S ~string](l []S) []string {
	out := make([]string, 0, len(l))
	for _, s := range l {
		if storable(string(s)) { // else no row has it
			out = append(out, string(s))
		}
	}
	return out
}

func idTexts(list []uuid.UUID) []string {
	out := make([]string, len(list))
	for i, id := range list {
		out[i] = id.String()
	}
	return out
}
