package sqlite

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

var collectionColumns = store.CollectionColumns("zeroblob(16)")

const collectionTables = ` FROM collections c
 JOIN collection_heads h ON h.tenant = c.tenant AND h.collection = c.id
 LEFT JOIN agents a ON a.tenant = c.tenant AND a.id = c.agent `

// collections reads the collections c of a condition.
func (q *session) collections(ctx context.Context, where string, args ...any) ([]store.CollectionRow, error) {
	return collect(ctx, q, "SELECT "+collectionColumns+collectionTables+where, args, store.ScanCollection)
}

// Collection implements store.CollectionRows.
func (q *session) Collection(ctx context.Context, tenantID, id uuid.UUID) (store.CollectionRow, bool, error) {
	return store.First(q.collections(ctx, "WHERE c.tenant = ? AND c.id = ?", tenantID, id))
}

// seenCollections returns the condition for collections c that callers with the scope see, and its
// arguments.
func seenCollections(s tenant.Scope, now time.Time) (string, []any) {
	// Without the "+" SQLite would prepare the statement again for each time: whether the partial index
	// of expiring collections can be used depends on the parameter.
	where, args := " AND c.state <> 'deleting' AND (c.expires_at = 0 OR +c.expires_at > ?)", []any{now}
	reached, reachedArgs := reachedBy(s)
	return where + reached, append(args, reachedArgs...)
}

// reachedBy returns the condition that the scope reaches a collection c, and its arguments.
func reachedBy(s tenant.Scope) (where string, args []any) {
	if s.HasAgent() {
		where, args = " AND c.agent IN (?, zeroblob(16))", append(args, s.Agent())
	}
	l := s.Limit()
	if !l.IsZero() { // the index of ids is used
		where += " AND " + hasExternal
	}
	for _, id := range memory.External(l).IDs() {
		if id.Value != "" {
			where, args = where+" AND c.external_"+id.Name+" = ?", append(args, id.Value)
		}
	}
	return where, args
}

// CollectionsByRef implements store.CollectionRows. The agent's own comes first: a shared base has
// the zero id as its agent.
func (q *session) CollectionsByRef(ctx context.Context, s tenant.Scope, ref string, now time.Time) ([]store.CollectionRow, error) {
	column, value := "c.name", any(ref)
	if id, err := uuid.Parse(ref); err == nil {
		column, value = "c.id", id
	}
	seen, args := seenCollections(s, now)
	return q.collections(ctx, "WHERE c.tenant = ? AND "+column+" = ?"+seen+" ORDER BY c.agent DESC LIMIT 2", append([]any{s.Tenant(), value}, args...)...)
}

// CollectionsByName implements store.CollectionRows.
func (q *session) CollectionsByName(ctx context.Context, tenantID, agent uuid.UUID, name string) ([]store.CollectionRow, error) {
	return q.collections(ctx, "WHERE c.tenant = ? AND c.name = ? AND c.agent = ? AND c.state <> 'deleting'", tenantID, name, agent)
}

// hasExternal is the condition of the index of external ids, as it is written there.
const hasExternal = "c.external_user || c.external_agent || c.external_app || c.external_run <> ''"

// CollectionsByExternal implements store.CollectionRows.
func (q *session) CollectionsByExternal(ctx context.Context, tenantID uuid.UUID, e memory.External) ([]store.CollectionRow, error) {
	return q.collections(ctx, "WHERE c.tenant = ? AND c.external_user = ? AND c.external_agent = ? AND c.external_app = ? AND c.external_run = ? AND "+
		hasExternal+" AND c.state <> 'deleting'", tenantID, e.User, e.Agent, e.App, e.Run)
}

// byWriting finds collections from their heads: the index of their times leads to both.
const byWriting = ` FROM collection_heads h
 CROSS JOIN collections c ON c.tenant = h.tenant AND c.id = h.collection
 LEFT JOIN agents a ON a.tenant = c.tenant AND a.id = c.agent `

// ListCollections implements store.CollectionRows.
func (q *session) ListCollections(ctx context.Context, s tenant.Scope, cq memory.CollectionQuery, after *memory.Collection, now time.Time) ([]store.CollectionRow, error) {
	tables, where := collectionTables, "WHERE c.tenant = ?"
	if cq.Order == memory.UpdatedCollections {
		tables, where = byWriting, "WHERE h.tenant = ?"
	}
	seen, args := seenCollections(s, now)
	of, ofArgs := ofCollections(s, &cq)
	args = append(append([]any{s.Tenant()}, args...), ofArgs...)
	where += seen + of
	name := "c.name"
	if cq.Parent != uuid.Nil { // by the index of names all collections would be read for a few forks
		name = "+c.name"
	}
	columns, values, descending := store.PlaceOf(cq.Order, name, after)
	order, beyond := "", ">"
	if descending {
		order, beyond = " DESC", "<"
	}
	if after != nil {
		where += " AND (" + strings.Join(columns, ", ") + ") " + beyond + " (" + strings.TrimSuffix(strings.Repeat("?, ", len(values)), ", ") + ")"
		args = append(args, values...)
	}
	where += " ORDER BY " + strings.Join(columns, order+", ") + order + " LIMIT +?"
	return collect(ctx, q, "SELECT "+collectionColumns+", "+store.CountColumns+tables+where, append(args, limit(cq.Limit)), store.ScanCounted)
}

// forks are the ids of the forks of a collection: of those that read it, and of those that were flattened since.
const forks = `SELECT id FROM collections INDEXED BY collections_parent WHERE tenant = ? AND parent = ? AND parent <> zeroblob(16) AND fork_of = zeroblob(16)
 UNION ALL SELECT id FROM collections INDEXED BY collections_flattened WHERE tenant = ? AND fork_of = ? AND lineage <> ''`

// ofCollections is the condition that a list is of these collections c, with its arguments.
func ofCollections(s tenant.Scope, cq *memory.CollectionQuery) (string, []any) {
	var where strings.Builder
	var args []any
	add := func(text string, more ...any) {
		where.WriteString(" AND " + text)
		args = append(args, more...)
	}
	if cq.Agent != nil {
		add("c.agent = ?", *cq.Agent)
	}
	if cq.Parent != uuid.Nil {
		add("c.id IN ("+forks+")", s.Tenant(), cq.Parent, s.Tenant(), cq.Parent)
	}
	switch {
	case !cq.External.IsZero(), cq.Order == memory.CollectionsByUser, cq.Named != nil && *cq.Named:
		add(hasExternal)
	case cq.Named != nil:
		add("NOT (" + hasExternal + ")")
	}
	for _, id := range cq.External.IDs() {
		if id.Value != "" {
			add("c.external_"+id.Name+" = ?", id.Value)
		}
	}
	if cq.Note != uuid.Nil {
		add("c.id IN (SELECT layer FROM notes WHERE tenant = ? AND id = ?)", s.Tenant(), cq.Note)
	}
	for _, word := range store.SearchedWords(cq.Text) {
		add("(instr(c.words, ?) > 0 OR c.words = '')", word)
	}
	return where.String(), args
}

// limit returns SQLite's "no limit" for zero.
func limit(n int) int {
	if n <= 0 {
		return -1
	}
	return n
}

// InsertCollection implements store.CollectionWrites.
func (q *session) InsertCollection(ctx context.Context, tenantID uuid.UUID, c memory.Collection, h store.Head) error {
	metadata, err := store.Object("metadata", c.Metadata)
	if err != nil {
		return err
	}
	_, err = q.exec(ctx, `INSERT INTO collections (tenant, id, agent, name, display_name, policy, policy_config, embedder, dim, reembedded, metadata, ephemeral,
 state, parent, parent_revision, expires_at, created_at, external_user, external_agent, external_app, external_run, words)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		tenantID, c.ID, c.Agent, c.Name, c.DisplayName, c.Policy, c.PolicyConfig, c.Embedder, c.Dim, c.Reembedded, metadata, c.Ephemeral,
		c.State, c.Parent, c.ParentRevision, c.ExpiresAt, c.CreatedAt, c.External.User, c.External.Agent, c.External.App, c.External.Run, store.WordsOf(&c))
	if err != nil {
		return err
	}
	kinds, err := store.Document("kinds", h.Kinds)
	if err != nil {
		return err
	}
	_, err = q.exec(ctx, `INSERT INTO collection_heads (tenant, collection, head, floor, origin, job_seq, evolved_adds, erase_epoch, counted,
 v_notes, v_links, v_pending, v_in_review, v_bytes, v_kinds, s_notes, s_links, s_bytes, next_expiry, written_at) VALUES (?1, ?2, ?3, ?4, ?3, 0, 0, 0, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 0, 0, 0, ?12, ?13)`,
		tenantID, c.ID, c.ParentRevision, c.Floor, h.Counted, h.Notes, h.Links, h.Pending, h.InReview, h.Bytes, kinds, h.NextExpiry, h.Written)
	return err
}

func (s *Store) due(ctx context.Context, text string, args ...any) (out []memory.Due, err error) {
	err = s.reading(ctx, uuid.Nil, func(ctx context.Context, q *session) error {
		return q.each(ctx, text, args, func(rows *sql.Rows) error {
			var d memory.Due
			if err := rows.Scan(&d.Tenant, &d.Collection); err != nil {
				return err
			}
			out = append(out, d)
			return nil
		})
	})
	return out, err
}

// ExpiredCollections implements memory.CollectionStore.
func (s *Store) ExpiredCollections(ctx context.Context, now time.Time, n int) ([]memory.Due, error) {
	return s.due(ctx, "SELECT tenant, id FROM collections WHERE expires_at > 0 AND expires_at <= ? AND state <> 'deleting' ORDER BY expires_at LIMIT +?", now, limit(n))
}

// EphemeralCollections implements memory.CollectionStore.
func (s *Store) EphemeralCollections(ctx context.Context, n int) ([]memory.Due, error) {
	return s.due(ctx, "SELECT tenant, id FROM collections WHERE ephemeral = 1 AND state <> 'deleting' ORDER BY tenant, id LIMIT +?", limit(n))
}
