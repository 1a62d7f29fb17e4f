package postgres

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// CreateCollection implements memory.CollectionStore.
func (s *Store) CreateCollection(ctx context.Context, sc tenant.Scope, n memory.NewCollection) (out memory.CollectionCreated, err error) {
	if err := sc.Check(); err != nil {
		return out, err
	}
	if err := store.CheckNewCollection(sc, &n); err != nil {
		return out, err
	}
	err = s.writing(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		out = memory.CollectionCreated{}
		now := s.now()
		q.holdTenant(sc.Tenant())
		if err := q.checkTenant(ctx, sc.Tenant()); err != nil {
			return err
		}
		if n.Idempotency != nil {
			seen, ok, err := q.replayed(ctx, sc, *n.Idempotency, now)
			if err != nil {
				return err
			}
			if ok {
				out.Replay = &seen
				return errDone
			}
		}
		c, err := q.newCollection(ctx, sc, n.Collection, n.CopyJob != nil, now)
		if err != nil {
			return err
		}
		if n.CopyJob != nil {
			j := *n.CopyJob
			j.Collection = c.ID
			if j, err = q.enqueue(ctx, sc.Tenant(), j, now); err != nil {
				return err
			}
			out.Job = &j
		}
		audit := n.Audit
		audit.Target = cmp.Or(audit.Target, c.ID.String())
		if err := q.audit(ctx, sc, now, audit); err != nil {
			return err
		}
		if n.Idempotency != nil {
			k := *n.Idempotency
			if k.IDs == nil {
				// The answer is rebuilt from the id.
				k.IDs = store.CreatedIDs(&n, c.ID, out.Job)
			}
			if err := q.remember(ctx, sc, k, now); err != nil {
				return err
			}
		}
		r, _, err := q.collection(ctx, sc.Tenant(), c.ID)
		out.Collection = r.Collection
		return err
	})
	return out, err
}

func (q *session) newCollection(ctx context.Context, sc tenant.Scope, c memory.Collection, copying bool, now time.Time) (memory.Collection, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return c, err
	}
	c.ID, c.CreatedAt, c.State = id, now, memory.CollectionActive
	if copying {
		c.State = memory.CollectionCopying
	}
	if c.Agent != uuid.Nil {
		q.holdAgent(sc.Tenant(), c.Agent)
		if _, err := q.agent(ctx, sc, c.Agent.String()); err != nil {
			return c, err
		}
	}
	if err := q.freeName(ctx, sc.Tenant(), c, now); err != nil {
		return c, err
	}
	h := head{Counts: memory.Counts{}, counted: true}
	adopt := false
	if c.Parent != uuid.Nil {
		if h, adopt, err = q.forkPoint(ctx, sc, &c, now); err != nil {
			return c, err
		}
	} else {
		c.ParentRevision, c.Reembedded = 0, uuid.Nil
	}
	metadata, err := object("metadata", c.Metadata)
	if err != nil {
		return c, err
	}
	kinds, err := document("kinds", h.Kinds)
	if err != nil {
		return c, err
	}
	_, err = q.exec(ctx, `INSERT INTO collections (tenant, id, agent, name, display_name, policy, policy_config, embedder, dim, reembedded, metadata, ephemeral,
 state, parent, parent_revision, expires_at, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
		sc.Tenant(), id, c.Agent, c.Name, c.DisplayName, c.Policy, raw(c.PolicyConfig), c.Embedder, c.Dim, c.Reembedded, metadata, c.Ephemeral,
		string(c.State), c.Parent, rev(c.ParentRevision), at(c.ExpiresAt), now)
	if unique(err, "collections_name") {
		err = fault.New(fault.Exists, "a collection with the name %q exists", c.Name) // made by another transaction meanwhile
	}
	if err != nil {
		return c, err
	}
	q.later(`INSERT INTO collection_heads (tenant, collection, head, floor, origin, job_seq, evolved_adds, erase_epoch, counted,
 v_notes, v_links, v_pending, v_in_review, v_bytes, v_kinds, s_notes, s_links, s_bytes) VALUES ($1, $2, $3, $4, $3, 0, 0, 0, $5, $6, $7, $8, $9, $10, $11, 0, 0, 0)`,
		sc.Tenant(), id, rev(c.ParentRevision), rev(c.Floor), h.counted, h.Notes, h.Links, h.Pending, h.InReview, h.Bytes, kinds)
	if adopt {
		_, err = q.enqueue(ctx, sc.Tenant(), memory.Job{Collection: id, Kind: memory.JobAdopt, Stage: memory.StageTask}, now)
	}
	return c, err
}

// freeName refuses a name that is taken. An expired collection that the sweep
// has not met yet gives its name away.
func (q *session) freeName(ctx context.Context, tenantID uuid.UUID, c memory.Collection, now time.Time) error {
	found, err := q.collections(ctx, "WHERE c.tenant = $1 AND c.name = $2 AND c.agent = $3 AND c.state <> 'deleting'", tenantID, c.Name, c.Agent)
	if err != nil {
		return err
	}
	for i := range found {
		if store.Visible(&found[i].Collection, now) {
			return fault.New(fault.Exists, "a collection with the name %q exists", c.Name)
		}
		q.later("UPDATE collections SET name = $3 WHERE tenant = $1 AND id = $2", tenantID, found[i].ID, found[i].ID.String())
	}
	return nil
}

// forkPoint checks the parent and gives the counts that the fork starts with,
// and whether it inherits notes that no policy has finished. The parent is held
// against its deletion, not against its writers: a fork never waits for them,
// and what they write meanwhile lies beyond its revision.
func (q *session) forkPoint(ctx context.Context, sc tenant.Scope, c *memory.Collection, now time.Time) (h head, adopt bool, err error) {
	q.holdCollections(sc.Tenant(), c.Parent)
	p, err := q.live(ctx, sc, c.Parent, now)
	if err != nil {
		return h, false, err
	}
	if err := store.CheckFork(c, &p.Collection); err != nil {
		return h, false, err
	}
	layers, err := q.layers(ctx, p, c.ParentRevision)
	if err != nil {
		return h, false, err
	}
	if len(layers) >= memory.MaxLineage {
		return h, false, fault.New(fault.LineageTooDeep, "the lineage would pass %d layers", memory.MaxLineage)
	}
	if h, err = q.head(ctx, sc.Tenant(), p.ID); err != nil {
		return h, false, err
	}
	if h.revision != c.ParentRevision {
		h = head{} // of another revision: the fork has no counts yet
	}
	if c.Policy == memory.PolicyNone && h.counted && h.Pending == 0 {
		// No policy waits for these notes and each has its vector: they stay
		// raw, and a job would look at all of them for nothing.
		return h, false, nil
	}
	adopt, err = q.unfinished(ctx, sc.Tenant(), layers)
	return h, adopt, err
}

// unfinished tells whether a visible note is raw or pending.
func (q *session) unfinished(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer) (found bool, err error) {
	p := params{args: []any{tenantID}}
	looks := make([]string, len(layers))
	for i, l := range layers {
		looks[i] = "EXISTS (SELECT 1 FROM notes n WHERE n.tenant = $1 AND " + p.live("n", l) +
			" AND n.state IN ('raw', 'pending') AND NOT n.deleted" + p.hiddenNotes(layers[:i]) + ")"
	}
	_, err = q.get(ctx, "SELECT "+strings.Join(looks, " OR "), p.args, &found)
	return found, err
}
