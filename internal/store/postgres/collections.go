package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// row is a collection with what its head row adds.
type row struct {
	memory.Collection
	tenant     uuid.UUID
	origin     memory.Revision
	eraseEpoch int64
}

const collectionColumns = `c.tenant, c.id, c.agent, COALESCE(a.name, ''), c.name, c.display_name, c.policy, c.policy_config,
 c.embedder, c.dim, c.reembedded, c.metadata, c.ephemeral, c.state, c.parent, c.parent_revision, c.expires_at, c.created_at,
 h.head, h.floor, h.evolved_adds, h.origin, h.erase_epoch`

const collectionTables = ` FROM collections c
 JOIN collection_heads h ON h.tenant = c.tenant AND h.collection = c.id
 LEFT JOIN agents a ON a.tenant = c.tenant AND a.id = c.agent `

// dest gives the targets of collectionColumns; finish is to be called after
// the scan.
func (r *row) dest() (dest []any, finish func() error) {
	var config, metadata *string
	var expires *time.Time
	dest = []any{
		&r.tenant, &r.ID, &r.Agent, &r.AgentName, &r.Name, &r.DisplayName, &r.Policy, &config, &r.Embedder, &r.Dim, &r.Reembedded, &metadata,
		&r.Ephemeral, &r.State, &r.Parent, &r.ParentRevision, &expires, &r.CreatedAt, &r.Head, &r.Floor, &r.EvolvedAdds, &r.origin, &r.eraseEpoch,
	}
	return dest, func() (err error) {
		r.PolicyConfig, r.ExpiresAt, r.CreatedAt = rawOf(config), timeOf(expires), r.CreatedAt.UTC()
		r.Metadata, err = objectOf(metadata)
		return err
	}
}

func (q *session) collection(ctx context.Context, tenantID, id uuid.UUID) (row, bool, error) {
	var r row
	dest, finish := r.dest()
	ok, err := q.get(ctx, "SELECT "+collectionColumns+collectionTables+"WHERE c.tenant = $1 AND c.id = $2", []any{tenantID, id}, dest...)
	if err != nil || !ok {
		return row{}, false, err
	}
	return r, true, finish()
}

// collections reads those of a condition; its parameters begin at $1.
func (q *session) collections(ctx context.Context, where string, args ...any) ([]row, error) {
	var out []row
	err := q.each(ctx, "SELECT "+collectionColumns+collectionTables+where, args, func(rows pgx.Rows) error {
		var r row
		dest, finish := r.dest()
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		if err := finish(); err != nil {
			return err
		}
		out = append(out, r)
		return nil
	})
	return out, err
}

// visibleCollections is the condition for what callers can see; its parameter
// $2 is now.
const visibleCollections = "c.state <> 'deleting' AND (c.expires_at IS NULL OR c.expires_at > $2)"

// byRef is the condition for what a reference may mean, by id or by name. Where
// a scope reaches two of a name, the agent's own stands first: the shared base
// has the zero id.
func byRef(s tenant.Scope, ref string, now time.Time) (where string, args []any) {
	args = []any{s.Tenant(), now}
	where = "WHERE c.tenant = $1 AND " + visibleCollections
	if id, err := uuid.Parse(ref); err == nil {
		where, args = where+" AND c.id = $3", append(args, id)
	} else {
		where, args = where+" AND c.name = $3", append(args, ref)
	}
	if s.HasAgent() {
		where, args = where+" AND c.agent = ANY($4::uuid[])", append(args, ids{s.Agent(), uuid.Nil})
	}
	return where + " ORDER BY c.agent DESC LIMIT 2", args
}

func (q *session) resolve(ctx context.Context, s tenant.Scope, ref string, now time.Time) (row, error) {
	if !possible(ref) {
		return row{}, fault.Missing("collection") // no name is like that
	}
	where, args := byRef(s, ref, now)
	found, err := q.collections(ctx, where, args...)
	if err != nil {
		return row{}, err
	}
	return store.One(s, ref, found)
}

// ResolveCollection implements memory.CollectionStore.
func (s *Store) ResolveCollection(ctx context.Context, sc tenant.Scope, ref string) (c memory.Collection, err error) {
	if err := sc.Check(); err != nil {
		return c, err
	}
	err = s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		r, err := q.resolve(ctx, sc, ref, s.now())
		c = r.Collection
		return err
	})
	return c, err
}

// ListCollections implements memory.CollectionStore.
func (s *Store) ListCollections(ctx context.Context, sc tenant.Scope, cq memory.CollectionQuery) (out []memory.Collection, err error) {
	if err := sc.Check(); err != nil {
		return nil, err
	}
	p := params{args: []any{sc.Tenant(), s.now()}}
	where := "WHERE c.tenant = $1 AND " + visibleCollections
	if sc.HasAgent() {
		where += " AND c.agent = ANY(" + p.add(ids{sc.Agent(), uuid.Nil}) + "::uuid[])"
	}
	if cq.Agent != nil {
		if !sc.Reaches(*cq.Agent) {
			return nil, fault.Missing("agent")
		}
		where += " AND c.agent = " + p.add(*cq.Agent)
	}
	if cq.Parent != uuid.Nil {
		where += " AND c.parent = " + p.add(cq.Parent)
	}
	if cq.After != "" {
		name, ref, _ := strings.Cut(cq.After, "\x00")
		id, err := uuid.Parse(ref)
		if err != nil || !possible(name) {
			return nil, fault.InvalidField("cursor", "is not one of this list")
		}
		where += " AND (c.name, c.id) > (" + p.add(name) + ", " + p.add(id) + ")"
	}
	where += " ORDER BY c.name, c.id LIMIT " + p.add(limit(cq.Limit))
	err = s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		out = nil
		if cq.Parent != uuid.Nil {
			if _, err := q.reach(ctx, sc, cq.Parent); err != nil {
				return err
			}
		}
		rows, err := q.collections(ctx, where, p.args...)
		for i := range rows {
			out = append(out, rows[i].Collection)
		}
		return err
	})
	return out, err
}

// UpdateCollection implements memory.CollectionStore.
func (s *Store) UpdateCollection(ctx context.Context, sc tenant.Scope, id uuid.UUID, audit memory.AuditEntry, fn func(*memory.Collection) error) (c memory.Collection, err error) {
	if err := sc.Check(); err != nil {
		return c, err
	}
	err = s.writing(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		now := s.now()
		q.lock(sc.Tenant(), id)
		r, err := q.live(ctx, sc, id, now)
		if err != nil {
			return err
		}
		n := r.Collection
		if err := fn(&n); err != nil {
			return err
		}
		if n.State == memory.CollectionDeleting {
			return fault.New(fault.Conflict, "a collection is deleted by deleting it")
		}
		if !store.SameConfig(r.PolicyConfig, n.PolicyConfig) {
			q.logConfig(sc, &r.Collection, now)
		}
		metadata, err := object("metadata", n.Metadata)
		if err != nil {
			return err
		}
		if err := store.Text("display_name", n.DisplayName); err != nil {
			return err
		}
		q.later("UPDATE collections SET display_name = $3, policy_config = $4, metadata = $5, expires_at = $6, state = $7 WHERE tenant = $1 AND id = $2",
			sc.Tenant(), id, n.DisplayName, raw(n.PolicyConfig), metadata, at(n.ExpiresAt), string(n.State))
		q.later("UPDATE collection_heads SET evolved_adds = $3 WHERE tenant = $1 AND collection = $2", sc.Tenant(), id, n.EvolvedAdds)
		if err := q.audit(ctx, sc, now, audit); err != nil {
			return err
		}
		r, _, err = q.collection(ctx, sc.Tenant(), id)
		c = r.Collection
		return err
	})
	return c, err
}

// logConfig gives a change of the collection's policy_config a place in the
// log. It goes with the next statement.
func (q *session) logConfig(sc tenant.Scope, c *memory.Collection, now time.Time) {
	q.later("UPDATE collection_heads SET head = head + 1 WHERE tenant = $1 AND collection = $2", sc.Tenant(), c.ID)
	q.later("INSERT INTO changesets (tenant, collection, revision, at, actor, job, trigger, cause, undoes) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
		sc.Tenant(), c.ID, rev(c.Head+1), now, sc.Actor(), uuid.Nil, uuid.Nil, string(memory.CauseConfig), rev(0))
}

// lock waits for the writers of a collection and keeps others out until the
// transaction ends. It goes with the next statement, which sees all that was
// written before.
func (q *session) lock(tenantID, collection uuid.UUID) {
	q.later("SELECT 1 FROM collection_heads WHERE tenant = $1 AND collection = $2 FOR NO KEY UPDATE", tenantID, collection)
}
