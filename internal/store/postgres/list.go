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
	vector := r.vector(&p)
	from, page := " FROM notes n"+vector, " ORDER BY "+by+" LIMIT $2"
	if ofSession && !pg.Listed {
		// Each session has its page, by its index. With a list of sessions that index would have another order, and all messages were read.
		from = " FROM (SELECT DISTINCT unnest(" + p.hashes(session) + ") AS hash) k CROSS JOIN LATERAL (SELECT * FROM tenant_notes n"
		page += ") n" + vector + page
	}
	branches := make([]string, len(layers))
	for i, l := range layers {
		branches[i] = "(SELECT " + r.columns() + from + " WHERE n.tenant = $1 AND " + p.live("n", l) + " AND NOT n.deleted" + common + p.hiddenNotes(layers[:i]) + page + ")"
	}
	text := strings.Join(branches, " UNION ALL ")
	if len(layers) > 1 {
		text += " ORDER BY " + merged + " LIMIT $2"
	}
	read := inOrder[store.NoteVersion]
	// No index has the order, or another one leads to few.
	if pg.Keyed || len(pg.States) > 0 || pg.Digests != nil || pg.ByTime && !pg.IsMessageList() {
		read = collect
	}
	return read(ctx, q, text, p.args, func(rows store.Scanner) (store.NoteVersion, error) { return r.scan(rows) })
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
