package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

var collectionColumns = store.CollectionColumns(zeroID)

const collectionTables = ` FROM collections c
 CROSS JOIN LATERAL (SELECT * FROM collection_heads h WHERE h.tenant = c.tenant AND h.collection = c.id LIMIT 1) h
 LEFT JOIN LATERAL (SELECT a.name FROM agents a WHERE a.tenant = c.tenant AND a.id = c.agent LIMIT 1) a ON true `

// collections reads the collections c of a condition; its parameters begin at $1.
func (q *session) collections(ctx context.Context, where string, args ...any) ([]store.CollectionRow, error) {
	return collect(ctx, q, "SELECT "+collectionColumns+collectionTables+where, args, store.ScanCollection)
}

// Collection implements store.CollectionRows.
func (q *session) Collection(ctx context.Context, tenantID, id uuid.UUID) (store.CollectionRow, bool, error) {
	return store.First(q.collections(ctx, "WHERE c.tenant = $1 AND c.id = $2", tenantID, id))
}

// reachedBy returns the condition that the scope reaches a collection c.
func reachedBy(p *params, s tenant.Scope) string {
	var where strings.Builder
	if s.HasAgent() {
		where.WriteString(" AND c.agent IN (" + p.add(s.Agent()) + ", " + zeroID + ")")
	}
	l := s.Limit()
	if !l.IsZero() { // the index of ids is used
		where.WriteString(" AND " + hasExternal)
	}
	for _, id := range memory.External(l).IDs() {
		if id.Value != "" {
			where.WriteString(" AND c.external_" + id.Name + " = " + p.add(id.Value))
		}
	}
	return where.String()
}

const zeroID = "'00000000-0000-0000-0000-000000000000'"

// notDeleting is the condition that a collection is not being removed, in a form that is not that of an index: a collection is
// found by its id.
const notDeleting = "state || '' <> 'deleting'"

// seenBy returns the condition that callers with the scope see a collection c.
func seenBy(p *params, s tenant.Scope, now time.Time) string {
	return " AND c." + notDeleting + " AND (c.expires_at IS NULL OR c.expires_at > " + p.add(now) + ")" + reachedBy(p, s)
}

// byRef returns the condition for the collections c that a reference may mean, by id or by name; $1
// is the tenant. The agent's own comes first: a shared base has the zero id as its agent.
func byRef(p *params, s tenant.Scope, ref string, now time.Time) string {
	column, value := "c.state <> 'deleting' AND c.name", any(ref)
	if id, err := uuid.Parse(ref); err == nil {
		column, value = "c.id", id
	}
	return "WHERE c.tenant = $1 AND " + column + " = " + p.add(value) + seenBy(p, s, now) + " ORDER BY c.agent DESC LIMIT 2"
}

// CollectionsByRef implements store.CollectionRows.
func (q *session) CollectionsByRef(ctx context.Context, s tenant.Scope, ref string, now time.Time) ([]store.CollectionRow, error) {
	if !storable(ref) {
		return nil, nil // no collection has such a name
	}
	p := params{args: []any{s.Tenant()}}
	where := byRef(&p, s, ref, now)
	return q.collections(ctx, where, p.args...)
}

// CollectionsByName implements store.CollectionRows.
func (q *session) CollectionsByName(ctx context.Context, tenantID, agent uuid.UUID, name string) ([]store.CollectionRow, error) {
	return q.collections(ctx, "WHERE c.tenant = $1 AND c.name = $2 AND c.agent = $3 AND c.state <> 'deleting'", tenantID, name, agent)
}

// hasExternal is the condition of the index of external ids, as it is written there.
const hasExternal = "c.external_user || c.external_agent || c.external_app || c.external_run <> ''"

// CollectionsByExternal implements store.CollectionRows.
func (q *session) CollectionsByExternal(ctx context.Context, tenantID uuid.UUID, e memory.External) ([]store.CollectionRow, error) {
	return q.collections(ctx, "WHERE c.tenant = $1 AND c.external_user = $2 AND c.external_agent = $3 AND c.external_app = $4 AND c.external_run = $5 AND "+
		hasExternal+" AND c.state <> 'deleting'", tenantID, e.User, e.Agent, e.App, e.Run)
}

// byWriting finds collections from their heads: the index of their times leads to both, row by row.
const byWriting = ` FROM collection_heads h
 CROSS JOIN LATERAL (SELECT * FROM collections c WHERE c.tenant = h.tenant AND c.id = h.collection LIMIT 1) c
 LEFT JOIN LATERAL (SELECT a.name FROM agents a WHERE a.tenant = c.tenant AND a.id = c.agent LIMIT 1) a ON true `

// ListCollections implements store.CollectionRows.
func (q *session) ListCollections(ctx context.Context, s tenant.Scope, cq memory.CollectionQuery, after *memory.Collection, now time.Time) ([]store.CollectionRow, error) {
	tables, where := collectionTables, "WHERE c.tenant = $1"
	if cq.Order == memory.UpdatedCollections {
		tables, where = byWriting, "WHERE h.tenant = $1"
	}
	p := params{args: []any{s.Tenant()}}
	where += " AND c.state <> 'deleting'" + seenBy(&p, s, now) + p.ofCollections(&cq)
	name := "c.name"
	if cq.Parent != uuid.Nil { // by the index of names all collections would be read for a few forks
		name = "c.name || ''"
	}
	columns, values, descending := store.PlaceOf(cq.Order, name, after)
	order, beyond := "", ">"
	if descending {
		order, beyond = " DESC", "<"
	}
	if after != nil {
		var place []string
		for _, v := range values {
			place = append(place, p.add(v))
		}
		if cq.Order == memory.CollectionsByUser { // without it a planner that knows nothing of the tenant sorts all of it
			where += " AND c.external_user >= " + place[0]
		}
		where += " AND (" + strings.Join(columns, ", ") + ") " + beyond + " (" + strings.Join(place, ", ") + ")"
	}
	where += " ORDER BY " + strings.Join(columns, order+", ") + order + " LIMIT " + p.add(store.Limit(cq.Limit))
	read := inOrder[store.CollectionRow]
	if cq.Parent != uuid.Nil || cq.Order != memory.CollectionsByUser && (!cq.External.IsZero() || !s.Limit().IsZero()) { // few of all
		read = collect
	}
	return read(ctx, q, "SELECT "+collectionColumns+", "+store.CountColumns+tables+where, p.args, store.ScanCounted)
}

// ofCollections is the condition that a list is of these collections c; $1 is the tenant.
func (p *params) ofCollections(cq *memory.CollectionQuery) string {
	var where strings.Builder
	if cq.Agent != nil {
		where.WriteString(" AND c.agent = " + p.add(*cq.Agent))
	}
	if cq.Parent != uuid.Nil {
		parent := p.add(cq.Parent)
		where.WriteString(" AND (c.parent = " + parent + " AND c.parent <> " + zeroID + " AND c.fork_of = " + zeroID + " OR c.fork_of = " + parent + " AND c.lineage <> '')")
	}
	switch {
	case !cq.External.IsZero(), cq.Order == memory.CollectionsByUser, cq.Named != nil && *cq.Named:
		where.WriteString(" AND " + hasExternal)
	case cq.Named != nil:
		where.WriteString(" AND NOT (" + hasExternal + ")")
	}
	for _, id := range cq.External.IDs() {
		if id.Value != "" {
			where.WriteString(" AND c.external_" + id.Name + " = " + p.add(id.Value))
		}
	}
	if cq.Note != uuid.Nil {
		where.WriteString(" AND (SELECT true FROM notes n WHERE n.tenant = $1 AND n.layer = c.id AND n.id = " + p.add(cq.Note) + " LIMIT 1)")
	}
	for _, word := range store.SearchedWords(cq.Text) {
		where.WriteString(" AND (strpos(c.words, " + p.add(word) + ") > 0 OR c.words = '')")
	}
	return where.String()
}

// InsertCollection implements store.CollectionWrites.
func (q *session) InsertCollection(ctx context.Context, tenantID uuid.UUID, c memory.Collection, h store.Head) error {
	metadata, err := store.Object("metadata", c.Metadata)
	if err != nil {
		return err
	}
	kinds, err := store.Document("kinds", h.Kinds)
	if err != nil {
		return err
	}
	_, err = q.exec(ctx, `INSERT INTO collections (tenant, id, agent, name, display_name, policy, policy_config, embedder, dim, reembedded, metadata, ephemeral,
 state, parent, parent_revision, expires_at, created_at, external_user, external_agent, external_app, external_run, words)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)`,
		tenantID, c.ID, c.Agent, c.Name, c.DisplayName, c.Policy, nullJSON(c.PolicyConfig), c.Embedder, c.Dim, c.Reembedded, orNull(metadata), c.Ephemeral,
		string(c.State), c.Parent, rev(c.ParentRevision), nullTime(c.ExpiresAt), c.CreatedAt, c.External.User, c.External.Agent, c.External.App, c.External.Run, store.WordsOf(&c))
	if isUniqueViolation(err, "collections_name") {
		err = store.NameTaken(c.Name) // inserted by another transaction meanwhile
	}
	if isUniqueViolation(err, "collections_external") {
		err = store.ExternalTaken()
	}
	if err != nil {
		return err
	}
	q.later(`INSERT INTO collection_heads (tenant, collection, head, floor, origin, job_seq, evolved_adds, erase_epoch, counted,
 v_notes, v_links, v_pending, v_in_review, v_bytes, v_kinds, s_notes, s_links, s_bytes, next_expiry, written_at) VALUES ($1, $2, $3, $4, $3, 0, 0, 0, $5, $6, $7, $8, $9, $10, $11, 0, 0, 0, $12, $13)`,
		tenantID, c.ID, rev(c.ParentRevision), rev(c.Floor), h.Counted, h.Notes, h.Links, h.Pending, h.InReview, h.Bytes, kinds, nullTime(h.NextExpiry), h.Written)
	return nil
}
