package sqlite

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/google/uuid"

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
	var config, metadata, state string
	var expires, created int64
	dest = []any{
		&r.tenant, &r.ID, &r.Agent, &r.AgentName, &r.Name, &r.DisplayName, &r.Policy, &config, &r.Embedder, &r.Dim, &r.Reembedded, &metadata,
		&r.Ephemeral, &state, &r.Parent, &r.ParentRevision, &expires, &created, &r.Head, &r.Floor, &r.EvolvedAdds, &r.origin, &r.eraseEpoch,
	}
	return dest, func() (err error) {
		r.PolicyConfig, r.State = rawOf(config), memory.CollectionState(state)
		r.ExpiresAt, r.CreatedAt = timeOf(expires), timeOf(created)
		r.Metadata, err = store.ObjectOf(metadata)
		return err
	}
}

func (q *session) collection(ctx context.Context, tenantID, id uuid.UUID) (row, bool, error) {
	var r row
	dest, finish := r.dest()
	ok, err := q.get(ctx, "SELECT "+collectionColumns+collectionTables+"WHERE c.tenant = ? AND c.id = ?", []any{blob(tenantID), blob(id)}, dest...)
	if err != nil || !ok {
		return row{}, false, err
	}
	return r, true, finish()
}

func (q *session) collections(ctx context.Context, where string, args ...any) ([]row, error) {
	var out []row
	err := q.each(ctx, "SELECT "+collectionColumns+collectionTables+where, args, func(rows *sql.Rows) error {
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

// visibleCollections is the condition for what callers can see; its parameter is now.
const visibleCollections = "c.state <> 'deleting' AND (c.expires_at = 0 OR c.expires_at > ?)"

func (q *session) resolve(ctx context.Context, s tenant.Scope, ref string, now int64) (row, error) {
	if id, err := uuid.Parse(ref); err == nil {
		return q.live(ctx, s, id, timeOf(now))
	}
	// Beside the agent's own, ordered last by its id, stands the shared base with the zero id.
	found, err := q.collections(ctx, "WHERE c.tenant = ? AND c.name = ? AND "+visibleCollections+
		" AND (? OR c.agent IN (?, zeroblob(16))) ORDER BY c.agent DESC LIMIT 2", blob(s.Tenant()), ref, now, !s.HasAgent(), blob(s.Agent()))
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
	err = s.reading(ctx, func(ctx context.Context, q *session) error {
		r, err := q.resolve(ctx, sc, ref, micros(s.now()))
		c = r.Collection
		return err
	})
	return c, err
}

// ListCollections implements memory.CollectionStore.
func (s *Store) ListCollections(ctx context.Context, sc tenant.Scope, q memory.CollectionQuery) (out []memory.Collection, err error) {
	if err := sc.Check(); err != nil {
		return nil, err
	}
	where := "WHERE c.tenant = ? AND " + visibleCollections
	args := []any{blob(sc.Tenant()), micros(s.now())}
	if sc.HasAgent() {
		where += " AND c.agent IN (?, zeroblob(16))"
		args = append(args, blob(sc.Agent()))
	}
	if q.Agent != nil {
		if !sc.Reaches(*q.Agent) {
			return nil, fault.Missing("agent")
		}
		where += " AND c.agent = ?"
		args = append(args, blob(*q.Agent))
	}
	if q.Parent != uuid.Nil {
		where += " AND c.parent = ? AND c.parent <> zeroblob(16)"
		args = append(args, blob(q.Parent))
	}
	if q.After != "" {
		name, ref, _ := strings.Cut(q.After, "\x00")
		id, err := uuid.Parse(ref)
		if err != nil {
			return nil, fault.InvalidField("cursor", "is not one of this list")
		}
		where += " AND (c.name, c.id) > (?, ?)"
		args = append(args, name, blob(id))
	}
	err = s.reading(ctx, func(ctx context.Context, ss *session) error {
		if q.Parent != uuid.Nil {
			if _, err := ss.reach(ctx, sc, q.Parent); err != nil {
				return err
			}
		}
		rows, err := ss.collections(ctx, where+" ORDER BY c.name, c.id LIMIT ?", append(args, limit(q.Limit))...)
		for i := range rows {
			out = append(out, rows[i].Collection)
		}
		return err
	})
	return out, err
}

// limit gives SQLite's "no limit" for zero.
func limit(n int) int {
	if n <= 0 {
		return -1
	}
	return n
}

// UpdateCollection implements memory.CollectionStore.
func (s *Store) UpdateCollection(ctx context.Context, sc tenant.Scope, id uuid.UUID, audit memory.AuditEntry, fn func(*memory.Collection) error) (c memory.Collection, err error) {
	if err := sc.Check(); err != nil {
		return c, err
	}
	err = s.writing(ctx, func(ctx context.Context, q *session) error {
		now := s.now()
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
			if err := q.logConfig(ctx, sc, r, now); err != nil {
				return err
			}
		}
		if err := store.Text("display_name", n.DisplayName); err != nil {
			return err
		}
		metadata, err := store.Object("metadata", n.Metadata)
		if err != nil {
			return err
		}
		_, err = q.exec(ctx, "UPDATE collections SET display_name = ?, policy_config = ?, metadata = ?, expires_at = ?, state = ? WHERE tenant = ? AND id = ?",
			n.DisplayName, string(n.PolicyConfig), metadata, micros(n.ExpiresAt), string(n.State), blob(sc.Tenant()), blob(id))
		if err != nil {
			return err
		}
		_, err = q.exec(ctx, "UPDATE collection_heads SET evolved_adds = ? WHERE tenant = ? AND collection = ?", n.EvolvedAdds, blob(sc.Tenant()), blob(id))
		if err != nil {
			return err
		}
		if err := q.audit(ctx, sc, now, audit); err != nil {
			return err
		}
		r, _, err = q.collection(ctx, sc.Tenant(), id)
		c = r.Collection
		return err
	})
	return c, err
}

// logConfig gives a change of the collection's policy_config a place in the log.
func (q *session) logConfig(ctx context.Context, sc tenant.Scope, r row, now time.Time) error {
	t, err := q.begin(ctx, sc, r, now)
	if err != nil {
		return err
	}
	t.logged = true
	return t.finish(ctx, memory.WriteOptions{Cause: memory.CauseConfig})
}

func (s *Store) due(ctx context.Context, text string, args ...any) (out []memory.Due, err error) {
	err = s.reading(ctx, func(ctx context.Context, q *session) error {
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
	return s.due(ctx, "SELECT tenant, id FROM collections WHERE expires_at > 0 AND expires_at <= ? AND state <> 'deleting' ORDER BY expires_at LIMIT ?", micros(now), limit(n))
}

// EphemeralCollections implements memory.CollectionStore.
func (s *Store) EphemeralCollections(ctx context.Context, n int) ([]memory.Due, error) {
	return s.due(ctx, "SELECT tenant, id FROM collections WHERE ephemeral = 1 AND state <> 'deleting' ORDER BY tenant, id LIMIT ?", limit(n))
}
