package sqlite

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// DecidesFilter implements store.NoteRows.
func (q *session) DecidesFilter(e filter.Expr) bool { return compile(e).Exact }

// ListNotes implements store.NoteRows.
func (q *session) ListNotes(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, p store.NotePage) ([]store.NoteVersion, error) {
	r := reader(p.NoteReader)
	var end uuid.UUID // of the stretch; zero: it is all that is left
	steps, most := p.Steps(), 0
	findEnd := func() error {
		text, args := nextNote(tenantID, layers, &p, "?", p.Stretch(len(layers)))
		_, err := q.get(ctx, "SELECT "+text, args, &end)
		return err
	}
	if steps && len(layers) > 1 {
		if err := findEnd(); err != nil {
			return nil, err
		}
	} else if steps {
		most = p.Stretch(1)
	}
	text, args := listText(tenantID, layers, &p, end, most, r.columns())
	out, err := collect(ctx, q, text, args, r.scanner())
	if err == nil && steps && len(layers) == 1 && len(out) < p.Limit {
		err = findEnd()
	}
	if err != nil || end == uuid.Nil || len(out) == p.Limit {
		return out, err
	}
	if n := len(out); n > 0 && out[n-1].ID == end {
		out = out[:n-1] // the stretch ends between its versions
	}
	p.After, p.Limit = end, p.Limit-len(out)
	text, args = stepText(tenantID, layers, &p)
	rest, err := collect(ctx, q, text, args, r.scanner())
	return append(out, rest...), err
}

// nextNote returns the expression for the id in the layers that is so many entries behind an id. From 0 on it is that of the next note,
// however many versions there are of it.
func nextNote(tenantID uuid.UUID, layers []memory.Layer, p *store.NotePage, after string, behind int) (string, []any) {
	index, kind, beyond := "", "", " > "+after+" ORDER BY n.id"
	if p.Newest {
		beyond = " < " + after + " ORDER BY n.id DESC"
	}
	if p.IsOfRareKind() {
		index, kind = " INDEXED BY notes_kind", " AND n.kind = ? AND "+store.RareKinds
	}
	texts := make([]string, len(layers))
	var args []any
	for i, l := range layers {
		texts[i] = "(SELECT n.id FROM notes n" + index + " WHERE n.tenant = ? AND n.layer = ?" + kind + " AND n.id" + beyond + " LIMIT 1 OFFSET +?)"
		args = append(args, tenantID, l.Collection)
		if kind != "" {
			args = append(args, string(p.Kinds[0]))
		}
		if after == "?" {
			args = append(args, p.Begin())
		}
		args = append(args, behind)
	}
	if len(layers) == 1 {
		return texts[0], args
	}
	nearest := "MIN"
	if p.Newest {
		nearest = "MAX"
	}
	return "(SELECT " + nearest + "(id) FROM (SELECT " + strings.Join(texts, " AS id UNION ALL SELECT ") + " AS id))", args
}

// stepText is the statement of a page that steps from note to note, from that with the id After on. The nearest layer that holds a
// note decides, by its newest version.
func stepText(tenantID uuid.UUID, layers []memory.Layer, p *store.NotePage) (string, []any) {
	r := reader(p.NoteReader)
	next, args := nextNote(tenantID, layers, p, "k.id", 0)
	args = append([]any{p.After}, args...)
	newest := make([]string, len(layers), len(layers)+1)
	for i, l := range layers {
		newest[i] = "(SELECT m.rowid FROM notes m WHERE m.tenant = ? AND m.layer = ? AND m.id = k.id AND m.from_rev <= ? ORDER BY m.from_rev DESC LIMIT 1)"
		args = append(args, tenantID, l.Collection, l.Bound)
	}
	join, joinArgs := r.join()
	args = append(args, joinArgs...)
	kind := ""
	if p.IsOfRareKind() {
		kind, args = " AND +n.kind = ?", append(args, string(p.Kinds[0]))
	}
	return "WITH RECURSIVE k(id) AS (SELECT ? UNION ALL SELECT " + next + " FROM k WHERE k.id IS NOT NULL) SELECT " + r.columns() +
		" FROM k CROSS JOIN notes n ON n.rowid = COALESCE(" + strings.Join(append(newest, "NULL"), ", ") + ")" + join + " WHERE n.deleted = 0" + kind + " LIMIT +?", append(args, p.Limit)
}

// listText is the statement of a page: one ordered, limited branch per layer, so that a page costs
// the same however long the log is. Of several layers the branches find the rows, and only those of the page are read. It ends before the
// note with the id end, or after most entries of one layer; zero: with its limit.
func listText(tenantID uuid.UUID, layers []memory.Layer, p *store.NotePage, end uuid.UUID, most int, columns string) (string, []any) {
	r := reader(p.NoteReader)
	order, beyond := "ASC", ">"
	if p.Newest {
		order, beyond = "DESC", "<"
	}
	var common strings.Builder
	var commonArgs []any
	// The signs make SQLite sort all found rows together. It would merge the layers pair by pair, each row through all pairs.
	by, merged := "n.id "+order, "+id "+order
	if p.ByTime {
		by, merged = "n.occurred_at "+order+", n.id "+order, "+occurred_at "+order+", +id "+order
	}
	if p.ByRevision {
		by, merged = "n.from_rev "+order+", n.id "+order, "+from_rev "+order+", +id "+order
	}
	switch {
	case p.After == uuid.Nil:
	case p.ByRevision:
		common.WriteString(" AND (n.from_rev, n.id) " + beyond + " (?, ?)")
		commonArgs = append(commonArgs, p.Written, p.After)
	case p.ByTime:
		common.WriteString(" AND (n.occurred_at, n.id) " + beyond + " (?, ?)")
		commonArgs = append(commonArgs, p.Since, p.After)
	default:
		common.WriteString(" AND n.id " + beyond + " ?")
		commonArgs = append(commonArgs, p.After)
	}
	if end != uuid.Nil {
		common.WriteString(" AND n.id " + map[bool]string{false: "<", true: ">"}[p.Newest] + " ?")
		commonArgs = append(commonArgs, end)
	}
	index := ""
	if p.IsMessageList() {
		common.WriteString(" AND n.kind = 'message'") // the condition of their indexes
	}
	if values, ok := p.Session(); p.Listed {
		common.WriteString(" AND json_type(NULLIF(n.attributes, ''), '$.session') = 'array'")
		index = " INDEXED BY notes_session_lists"
	} else if ok {
		const session = " AND json_extract(NULLIF(n.attributes, ''), '$.session')"
		index = " INDEXED BY notes_session"
		switch len(values) {
		case 0:
			common.WriteString(session + " IS NULL")
		case 1: // in the order of the index
			common.WriteString(session + " = ?")
		default:
			common.WriteString(session + " IN (" + marks(len(values)) + ")")
		}
		for _, v := range values {
			arg, _, _ := operand(v)
			commonArgs = append(commonArgs, arg)
		}
	}
	if p.Keyed {
		common.WriteString(" AND n.key <> ''")
		if len(p.Kinds) > 0 && !p.ByTime && !p.ByRevision {
			index = " INDEXED BY notes_newest_by_key"
		}
	}
	if p.IsOfRareKind() {
		common.WriteString(" AND n.kind = ? AND " + store.RareKinds)
		commonArgs = append(commonArgs, string(p.Kinds[0]))
		index = " INDEXED BY notes_kind"
	}
	in := func(column string, n int) {
		common.WriteString(" AND n." + column + " IN (" + strings.TrimSuffix(strings.Repeat("?, ", n), ", ") + ")")
	}
	if len(p.Kinds) > 0 && !p.IsOfRareKind() {
		in("kind", len(p.Kinds))
		for _, k := range p.Kinds {
			commonArgs = append(commonArgs, string(k))
		}
	}
	if len(p.States) > 0 {
		in("state", len(p.States))
		for _, st := range p.States {
			commonArgs = append(commonArgs, string(st))
		}
	}
	if p.Digests != nil {
		common.WriteString(" AND n.digest <> 0 AND n.digest IN (SELECT value FROM json_each(?))")
		commonArgs = append(commonArgs, numberTexts(p.Digests))
		index = " INDEXED BY notes_digest"
	}
	if p.Sources != nil {
		common.WriteString(" AND n.provenance <> '' AND EXISTS (SELECT 1 FROM json_each(?) j WHERE instr(n.provenance, j.value) > 0)")
		commonArgs = append(commonArgs, idTexts(p.Sources))
	}
	if p.Lacks != "" {
		common.WriteString(" AND NOT EXISTS (SELECT 1 FROM vectors x WHERE x.tenant = n.tenant AND x.layer = n.layer AND x.note = n.id AND x.from_rev = n.from_rev AND x.embedder = ?)")
		commonArgs = append(commonArgs, p.Lacks)
	}
	if p.Filter != nil {
		if c := compile(p.Filter); c.Text != "" {
			common.WriteString(" AND (" + c.Text + ")")
			commonArgs = append(commonArgs, c.Args...)
		}
	}
	// Without statistics SQLite takes the index of revisions, by which it would read and sort all notes of the layer for
	// each page. The sign keeps a condition from being looked for in an index.
	live := "n.from_rev <= ? AND n.to_rev > ?"
	if !p.Keyed && len(p.States) == 0 {
		live = "+n.from_rev <= ? AND +n.to_rev > ?"
	}
	if p.ByRevision {
		index, live = " INDEXED BY notes_began", "n.from_rev <= ? AND +n.to_rev > ?"
	}
	join, joinArgs := r.join()
	var text strings.Builder
	var args []any
	branch := func(i int, columns, join string, joinArgs []any) {
		l := layers[i]
		hidden, hiddenArgs := hiddenOnPage(tenantID, layers[:i], p)
		text.WriteString("SELECT " + columns + " FROM notes n" + index + join + " WHERE n.tenant = ? AND n.layer = ? AND " + live + " AND n.deleted = 0" +
			common.String() + hidden + " ORDER BY " + by + " LIMIT +?")
		args = append(args, joinArgs...)
		args = append(args, tenantID, l.Collection, l.Bound, l.Bound)
		args = append(args, commonArgs...)
		args = append(args, hiddenArgs...)
		args = append(args, limit(p.Limit))
	}
	if most > 0 {
		args = append(append([]any{tenantID, layers[0].Collection}, commonArgs...), most)
		args = append(append(args, joinArgs...), layers[0].Bound, layers[0].Bound, limit(p.Limit))
		return "SELECT " + columns + " FROM (SELECT n.rowid AS row FROM notes n" + index + " WHERE n.tenant = ? AND n.layer = ?" + common.String() + " ORDER BY " + by +
			" LIMIT +?) page CROSS JOIN notes n ON n.rowid = page.row" + join + " WHERE " + live + " AND n.deleted = 0 LIMIT +?", args
	}
	if len(layers) == 1 {
		branch(0, columns, join, joinArgs)
		return text.String(), args
	}
	text.WriteString("SELECT " + columns + " FROM (SELECT row FROM (")
	for i := range layers {
		text.WriteString([]string{"SELECT * FROM (", " UNION ALL SELECT * FROM ("}[min(i, 1)])
		branch(i, "n.rowid AS row, n.id AS id, n.occurred_at AS occurred_at, n.from_rev AS from_rev", "", nil)
		text.WriteString(")")
	}
	text.WriteString(") ORDER BY " + merged + " LIMIT +?) page CROSS JOIN notes n ON n.rowid = page.row" + join)
	return text.String(), append(append(args, limit(p.Limit)), joinArgs...)
}

// hiddenOnPage is hiddenNotes for a page. In the order of ids, what comes before the first note that a nearer layer holds is not
// looked for there: most forks hold notes that are newer than those of their base.
func hiddenOnPage(tenantID uuid.UUID, nearer []memory.Layer, p *store.NotePage) (string, []any) {
	if p.ByTime || p.ByRevision {
		return hiddenNotes(tenantID, nearer)
	}
	after := p.After
	if p.Newest {
		after = uuid.Nil
	}
	var b strings.Builder
	var args []any
	for i, l := range nearer {
		hidden, more := hiddenNotes(tenantID, nearer[i:i+1])
		b.WriteString(" AND (+n.id < COALESCE((SELECT MIN(h.id) FROM notes h WHERE h.tenant = ? AND h.layer = ? AND h.id > ?), " +
			"x'ffffffffffffffffffffffffffffffff') OR " + strings.TrimPrefix(hidden, " AND ") + ")")
		args = append(append(args, tenantID, l.Collection, after), more...)
	}
	return b.String(), args
}

// idTexts returns ids as a JSON array of texts.
func idTexts(list []uuid.UUID) string {
	if len(list) == 0 {
		return "[]"
	}
	var b strings.Builder
	for i, id := range list {
		b.WriteString([]string{`["`, `","`}[min(i, 1)])
		b.WriteString(id.String())
	}
	b.WriteString(`"]`)
	return b.String()
}

// numberTexts returns numbers as a JSON array.
func numberTexts(list []int64) string {
	text, _ := json.Marshal(list) //nolint:errchkjson // numbers
	return string(text)
}
