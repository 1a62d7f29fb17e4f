package sqlite

import (
	"cmp"
	"context"
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
	err = s.writing(ctx, func(ctx context.Context, q *session) error {
		out = memory.CollectionCreated{}
		now := s.now()
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
		n.Audit.Target = cmp.Or(n.Audit.Target, c.ID.String())
		if err := q.audit(ctx, sc, now, n.Audit); err != nil {
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
		var one int
		ok, err := q.get(ctx, "SELECT 1 FROM agents WHERE tenant = ? AND id = ?", []any{blob(sc.Tenant()), blob(c.Agent)}, &one)
		if err != nil {
			return c, err
		}
		if !ok {
			return c, fault.Missing("agent")
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
	metadata, err := store.Object("metadata", c.Metadata)
	if err != nil {
		return c, err
	}
	_, err = q.exec(ctx, `INSERT INTO collections (tenant, id, agent, name, display_name, policy, policy_config, embedder, dim, reembedded, metadata, ephemeral,
 state, parent, parent_revision, expires_at, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		blob(sc.Tenant()), blob(id), blob(c.Agent), c.Name, c.DisplayName, c.Policy, string(c.PolicyConfig), c.Embedder, c.Dim, blob(c.Reembedded), metadata, c.Ephemeral,
		string(c.State), blob(c.Parent), rev(c.ParentRevision), micros(c.ExpiresAt), micros(now))
	if err != nil {
		return c, err
	}
	kinds, err := store.Document("kinds", h.Kinds)
	if err != nil {
		return c, err
	}
	_, err = q.exec(ctx, `INSERT INTO collection_heads (tenant, collection, head, floor, origin, job_seq, evolved_adds, erase_epoch, counted,
 v_notes, v_links, v_pending, v_in_review, v_bytes, v_kinds, s_notes, s_links, s_bytes) VALUES (?, ?, ?, ?, ?, 0, 0, 0, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0)`,
		blob(sc.Tenant()), blob(id), rev(c.ParentRevision), rev(c.Floor), rev(c.ParentRevision), h.counted, h.Notes, h.Links, h.Pending, h.InReview, h.Bytes, kinds)
	if err != nil {
		return c, err
	}
	if adopt {
		_, err = q.enqueue(ctx, sc.Tenant(), memory.Job{Collection: id, Kind: memory.JobAdopt, Stage: memory.StageTask}, now)
	}
	return c, err
}

// freeName refuses a name that is taken. An expired collection that the sweep
// has not met yet gives its name away.
func (q *session) freeName(ctx context.Context, tenantID uuid.UUID, c memory.Collection, now time.Time) error {
	found, err := q.collections(ctx, "WHERE c.tenant = ? AND c.name = ? AND c.agent = ? AND c.state <> 'deleting'", blob(tenantID), c.Name, blob(c.Agent))
	if err != nil {
		return err
	}
	for i := range found {
		if store.Visible(&found[i].Collection, now) {
			return fault.New(fault.Exists, "a collection with the name %q exists", c.Name)
		}
		_, err := q.exec(ctx, "UPDATE collections SET name = ? WHERE tenant = ? AND id = ?", found[i].ID.String(), blob(tenantID), blob(found[i].ID))
		if err != nil {
			return err
		}
	}
	return nil
}

// forkPoint checks the parent and gives the counts that the fork starts with,
// and whether it inherits notes that no policy has finished.
func (q *session) forkPoint(ctx context.Context, sc tenant.Scope, c *memory.Collection, now time.Time) (h head, adopt bool, err error) {
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
	if c.ParentRevision == p.Head {
		if h, err = q.head(ctx, sc.Tenant(), p.ID); err != nil {
			return h, false, err
		}
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
func (q *session) unfinished(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer) (bool, error) {
	for i, l := range layers {
		hidden, args := hiddenNotes(tenantID, layers[:i])
		var one int
		ok, err := q.get(ctx, `SELECT 1 FROM notes n WHERE n.tenant = ? AND n.layer = ? AND n.to_rev > ? AND n.from_rev <= ?
 AND n.state IN ('raw', 'pending') AND n.deleted = 0`+hidden+" LIMIT 1",
			append([]any{blob(tenantID), blob(l.Collection), rev(l.Bound), rev(l.Bound)}, args...), &one)
		if err != nil || ok {
			return ok, err
		}
	}
	return false, nil
}
