package store

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// CollectionRow is a collection with what its rows hold besides.
type CollectionRow struct {
	memory.Collection
	Tenant     uuid.UUID
	Origin     memory.Revision // the changesets of its own log begin after it
	EraseEpoch int64
}

// Head is the narrow row of a collection that every write changes.
type Head struct {
	Revision      memory.Revision
	Counted       bool // Counts are right at Revision
	memory.Counts      // what is visible at Revision
	Stored        Stored
}

// Stored counts the rows of a collection's own layer: open notes and links, and the bytes of all
// versions.
type Stored struct{ Notes, Links, Bytes int64 }

// CollectionRows are the rows of collections and of their heads.
type CollectionRows interface {
	// Collection returns a collection in any state.
	Collection(ctx context.Context, tenantID, id uuid.UUID) (r CollectionRow, ok bool, err error)
	// CollectionsByRef lists up to two visible collections that the scope reaches and that have the
	// reference as their id or name, the scope's own agent's first.
	CollectionsByRef(ctx context.Context, s tenant.Scope, ref string, now time.Time) ([]CollectionRow, error)
	// CollectionsByName lists collections of an owner that have the name and are not being deleted.
	CollectionsByName(ctx context.Context, tenantID, agent uuid.UUID, name string) ([]CollectionRow, error)
	// ListCollections lists the visible collections that the scope reaches, by name and then id, after
	// a place; zero: from the start.
	ListCollections(ctx context.Context, s tenant.Scope, q memory.CollectionQuery, after CollectionPlace, now time.Time) ([]CollectionRow, error)
	// Layers returns the lineage of a collection read at a revision: the collection bounded by it,
	// every ancestor by the least of it and of the fork points on the way.
	Layers(ctx context.Context, r CollectionRow, at memory.Revision) ([]memory.Layer, error)
	CollectionHeads
	CollectionWrites
	CollectionRemoval
}

// CollectionPlace is the place of a collection in a list.
type CollectionPlace struct {
	Name string
	ID   uuid.UUID
}

// CollectionHeads are the heads of collections, and what they count.
type CollectionHeads interface {
	// Head returns NotFound when there is no such collection.
	Head(ctx context.Context, tenantID, collection uuid.UUID) (Head, error)
	// CountVisible counts what layers show. A note waits when its state says so or when it has no
	// vector yet.
	CountVisible(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer) (memory.Counts, error)
	CountStored(ctx context.Context, tenantID, layer uuid.UUID) (Stored, error)
	// HasUnfinished reports whether a note that layers show is raw or pending.
	HasUnfinished(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer) (bool, error)
}

// CollectionWrites add and change collections.
type CollectionWrites interface {
	// InsertCollection inserts a collection with its head. Exists when the name is taken.
	InsertCollection(ctx context.Context, tenantID uuid.UUID, c memory.Collection, h Head) error
	RenameCollection(ctx context.Context, tenantID, id uuid.UUID, name string) error
	// UpdateCollection writes DisplayName, PolicyConfig, Metadata, ExpiresAt, State and EvolvedAdds.
	UpdateCollection(ctx context.Context, tenantID uuid.UUID, c memory.Collection) error
	// LogConfig writes a changeset of cause config after the head.
	LogConfig(ctx context.Context, s tenant.Scope, c memory.Collection, now time.Time) error
}

// CollectionRemoval deletes collections.
type CollectionRemoval interface {
	// Forks lists the collections that read c through their lineage and are not being deleted: its
	// children. An expired one counts only while a child of its own still reads through it.
	Forks(ctx context.Context, c CollectionRow, now time.Time) ([]CollectionRow, error)
	// Flatten makes a fork independent: everything that its lineage ever showed it is copied into its
	// own layer, at the revisions where it was visible, and the changesets with it. What is read at
	// any revision stays the same.
	Flatten(ctx context.Context, r CollectionRow) error
	// MarkCollectionDeleted marks a collection as deleting and cancels its jobs.
	MarkCollectionDeleted(ctx context.Context, r CollectionRow, now time.Time) error
	// DeleteCollectionRows deletes up to limit rows of a collection, and the collection after its last
	// row; then gone is true. The job that removes the collection is kept, and the use of
	// models is kept as the tenant's.
	DeleteCollectionRows(ctx context.Context, r CollectionRow, limit int) (gone bool, err error)
}

// Reach finds a collection that the scope reaches, in any state; NotFound.
func Reach(ctx context.Context, q CollectionRows, s tenant.Scope, id uuid.UUID) (CollectionRow, error) {
	r, ok, err := q.Collection(ctx, s.Tenant(), id)
	if err == nil && (!ok || !s.Reaches(r.Agent)) {
		err = fault.Missing("collection")
	}
	if err != nil {
		return CollectionRow{}, err
	}
	return r, nil
}

// ReachVisible finds a collection that the scope reaches and that is neither being deleted nor
// expired; NotFound.
func ReachVisible(ctx context.Context, q CollectionRows, s tenant.Scope, id uuid.UUID, now time.Time) (CollectionRow, error) {
	r, err := Reach(ctx, q, s, id)
	if err == nil && !Visible(&r.Collection, now) {
		err = fault.Missing("collection")
	}
	if err != nil {
		return CollectionRow{}, err
	}
	return r, nil
}

// ResolveCollection implements memory.CollectionStore.
func (b *Base) ResolveCollection(ctx context.Context, s tenant.Scope, ref string) (c memory.Collection, err error) {
	if err := s.Check(); err != nil {
		return c, err
	}
	err = b.transactions.Reading(ctx, s.Tenant(), func(ctx context.Context, q Session) error {
		found, err := q.CollectionsByRef(ctx, s, ref, b.now())
		if err != nil {
			return err
		}
		r, err := PickCollection(s, ref, found)
		c = r.Collection
		return err
	})
	return c, err
}

// ListCollections implements memory.CollectionStore.
func (b *Base) ListCollections(ctx context.Context, s tenant.Scope, cq memory.CollectionQuery) (out []memory.Collection, err error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if cq.Agent != nil && !s.Reaches(*cq.Agent) {
		return nil, fault.Missing("agent")
	}
	var after CollectionPlace
	if cq.After != "" {
		name, id, _ := strings.Cut(cq.After, "\x00")
		if after.ID, err = uuid.Parse(id); err != nil || Text("", name) != nil {
			return nil, fault.InvalidField("cursor", "is not one of this list")
		}
		after.Name = name
	}
	err = b.transactions.Reading(ctx, s.Tenant(), func(ctx context.Context, q Session) error {
		if cq.Parent != uuid.Nil {
			if _, err := Reach(ctx, q, s, cq.Parent); err != nil {
				return err
			}
		}
		rows, err := q.ListCollections(ctx, s, cq, after, b.now())
		out = make([]memory.Collection, len(rows))
		for i := range rows {
			out[i] = rows[i].Collection
		}
		return err
	})
	return out, err
}

// UpdateCollection implements memory.CollectionStore.
func (b *Base) UpdateCollection(ctx context.Context, s tenant.Scope, id uuid.UUID, audit memory.AuditEntry, fn func(*memory.Collection) error) (c memory.Collection, err error) {
	if err := s.Check(); err != nil {
		return c, err
	}
	err = b.transactions.Writing(ctx, s.Tenant(), func(ctx context.Context, q Session) error {
		now := b.now()
		q.LockHead(s.Tenant(), id)
		r, err := ReachVisible(ctx, q, s, id, now)
		if err != nil {
			return err
		}
		n := r.Collection
		if err := fn(&n); err != nil {
			return err
		}
		n.ID = id
		if n.State == memory.CollectionDeleting {
			return fault.New(fault.Conflict, "a collection is deleted by deleting it")
		}
		if err := Text("display_name", n.DisplayName); err != nil {
			return err
		}
		if !EqualConfig(r.PolicyConfig, n.PolicyConfig) {
			if err := q.LogConfig(ctx, s, r.Collection, now); err != nil {
				return err
			}
		}
		if err := q.UpdateCollection(ctx, s.Tenant(), n); err != nil {
			return err
		}
		if err := writeAudit(ctx, q, s, now, audit); err != nil {
			return err
		}
		r, _, err = q.Collection(ctx, s.Tenant(), id)
		c = r.Collection
		return err
	})
	return c, err
}

// CreateCollection implements memory.CollectionStore.
func (b *Base) CreateCollection(ctx context.Context, s tenant.Scope, n memory.NewCollection) (out memory.CollectionCreated, err error) {
	if err := s.Check(); err != nil {
		return out, err
	}
	if err := CheckNewCollection(s, &n); err != nil {
		return out, err
	}
	err = b.transactions.Writing(ctx, s.Tenant(), func(ctx context.Context, q Session) error {
		out, err = createCollection(ctx, q, s, n, b.now())
		return err
	})
	return out, err
}

func createCollection(ctx context.Context, q Session, s tenant.Scope, n memory.NewCollection, now time.Time) (out memory.CollectionCreated, err error) {
	if err := q.CheckTenant(ctx, s.Tenant()); err != nil {
		return out, err
	}
	if n.Idempotency != nil {
		found, ok, err := answered(ctx, q, s, *n.Idempotency, now)
		if err != nil {
			return out, err
		}
		if ok {
			return memory.CollectionCreated{Replay: &found}, ErrRollback
		}
	}
	c, err := insertCollection(ctx, q, s, n.Collection, n.CopyJob != nil, now)
	if err != nil {
		return out, err
	}
	if n.CopyJob != nil {
		j := *n.CopyJob
		j.Collection = c.ID
		if j, err = enqueue(ctx, q, s.Tenant(), j, now); err != nil {
			return out, err
		}
		out.Job = &j
	}
	n.Audit.Target = cmp.Or(n.Audit.Target, c.ID.String())
	if err := writeAudit(ctx, q, s, now, n.Audit); err != nil {
		return out, err
	}
	if n.Idempotency != nil {
		k := *n.Idempotency
		if k.IDs == nil {
			// The answer is rebuilt from the id.
			k.IDs = CreatedIDs(&n, c.ID, out.Job)
		}
		if err := remember(ctx, q, s, k, now); err != nil {
			return out, err
		}
	}
	r, _, err := q.Collection(ctx, s.Tenant(), c.ID)
	out.Collection = r.Collection
	return out, err
}

func insertCollection(ctx context.Context, q Session, s tenant.Scope, c memory.Collection, copying bool, now time.Time) (memory.Collection, error) {
	var err error
	if c.ID, err = uuid.NewV7(); err != nil {
		return c, err
	}
	c.CreatedAt, c.State = now, memory.CollectionActive
	if copying {
		c.State = memory.CollectionCopying
	}
	if c.Agent != uuid.Nil {
		q.HoldAgent(s.Tenant(), c.Agent)
		if _, err := agentByRef(ctx, q, s, c.Agent.String()); err != nil {
			return c, err
		}
	}
	if err := freeName(ctx, q, s.Tenant(), c, now); err != nil {
		return c, err
	}
	h := Head{Counted: true}
	adopt := false
	if c.Parent != uuid.Nil {
		if h, adopt, err = forkPoint(ctx, q, s, &c, now); err != nil {
			return c, err
		}
	} else {
		c.ParentRevision, c.Reembedded = 0, uuid.Nil
	}
	if err := q.InsertCollection(ctx, s.Tenant(), c, h); err != nil {
		return c, err
	}
	if adopt {
		_, err = enqueue(ctx, q, s.Tenant(), memory.Job{Collection: c.ID, Kind: memory.JobAdopt, Stage: memory.StageTask}, now)
	}
	return c, err
}

// freeName returns Exists when a name is taken. An expired collection that was not swept yet loses
// its name.
func freeName(ctx context.Context, q CollectionRows, tenantID uuid.UUID, c memory.Collection, now time.Time) error {
	found, err := q.CollectionsByName(ctx, tenantID, c.Agent, c.Name)
	if err != nil {
		return err
	}
	for i := range found {
		if Visible(&found[i].Collection, now) {
			return NameTaken(c.Name)
		}
		if err := q.RenameCollection(ctx, tenantID, found[i].ID, found[i].ID.String()); err != nil {
			return err
		}
	}
	return nil
}

// NameTaken is the fault for a name that another collection of the same owner has.
func NameTaken(name string) error {
	return fault.New(fault.Exists, "a collection with the name %q exists", name)
}

// forkPoint checks the parent of a fork. It returns the counts that the fork starts with, and
// whether it inherits notes that no policy has finished. The parent is held against its deletion,
// not against its writers: a fork never waits for them, and what they write meanwhile lies beyond
// its revision.
func forkPoint(ctx context.Context, q Session, s tenant.Scope, fork *memory.Collection, now time.Time) (h Head, adopt bool, err error) {
	q.HoldCollections(s.Tenant(), fork.Parent)
	p, err := ReachVisible(ctx, q, s, fork.Parent, now)
	if err != nil {
		return h, false, err
	}
	if err := CheckFork(fork, &p.Collection); err != nil {
		return h, false, err
	}
	layers, err := q.Layers(ctx, p, fork.ParentRevision)
	if err != nil {
		return h, false, err
	}
	if len(layers) >= memory.MaxLineage {
		return h, false, fault.New(fault.LineageTooDeep, "the lineage would pass %d layers", memory.MaxLineage)
	}
	if h, err = q.Head(ctx, s.Tenant(), p.ID); err != nil {
		return h, false, err
	}
	if h.Revision != fork.ParentRevision {
		h = Head{} // of another revision: the fork has no counts yet
	}
	if fork.Policy == memory.PolicyNone && h.Counted && h.Pending == 0 {
		// No policy waits for these notes and each has its vector: they stay raw, and a job would
		// look at all of them for nothing.
		return h, false, nil
	}
	adopt, err = q.HasUnfinished(ctx, s.Tenant(), layers)
	return h, adopt, err
}

// AdoptUnfinished enqueues an adopt job where a layer that was copied holds raw or pending notes.
func AdoptUnfinished(ctx context.Context, q Session, tenantID uuid.UUID, copied memory.Layer, now time.Time) error {
	unfinished, err := q.HasUnfinished(ctx, tenantID, []memory.Layer{copied})
	if err != nil || !unfinished {
		return err
	}
	_, err = enqueue(ctx, q, tenantID, memory.Job{Collection: copied.Collection, Kind: memory.JobAdopt, Stage: memory.StageTask}, now)
	return err
}

// DeleteCollection implements memory.CollectionStore. Each fork is made independent in a
// transaction of its own, so that others may write in between.
func (b *Base) DeleteCollection(ctx context.Context, s tenant.Scope, id uuid.UUID, materialise bool, audit memory.AuditEntry) error {
	if err := s.Check(); err != nil {
		return err
	}
	for {
		again := false
		err := b.transactions.Writing(ctx, s.Tenant(), func(ctx context.Context, q Session) (err error) {
			again, err = deleteCollection(ctx, q, s, id, materialise, audit, b.now())
			return err
		})
		if err != nil || !again {
			return err
		}
	}
}

// deleteCollection marks a collection as deleted, or makes one of its forks independent; then
// again is true.
func deleteCollection(ctx context.Context, q Session, s tenant.Scope, id uuid.UUID, materialise bool, audit memory.AuditEntry, now time.Time) (again bool, err error) {
	// Waits for those who fork it, copy it or count its use; they find it deleted afterwards.
	q.LockHead(s.Tenant(), id)
	q.LockCollection(s.Tenant(), id)
	r, err := Reach(ctx, q, s, id)
	if err != nil {
		return false, err
	}
	if r.State == memory.CollectionDeleting {
		return false, fault.Missing("collection")
	}
	forks, err := q.Forks(ctx, r, now)
	if err != nil {
		return false, err
	}
	if len(forks) == 0 {
		if err := q.MarkCollectionDeleted(ctx, r, now); err != nil {
			return false, err
		}
		if _, err := enqueue(ctx, q, r.Tenant, memory.Job{Collection: r.ID, Kind: memory.JobRemove, Stage: memory.StageTask}, now); err != nil {
			return false, err
		}
		audit.Target = cmp.Or(audit.Target, r.ID.String())
		return false, writeAudit(ctx, q, s, now, audit)
	}
	if !materialise {
		return false, fault.New(fault.HasForks, "%d forks read this collection; make them independent with forks=materialise", len(forks))
	}
	q.LockHead(s.Tenant(), forks[0].ID)
	fork, ok, err := q.Collection(ctx, s.Tenant(), forks[0].ID)
	if err != nil {
		return false, err
	}
	if !ok || fork.State == memory.CollectionDeleting || fork.Parent != r.ID {
		return true, ErrRollback // it was deleted while its writer was waited for
	}
	return true, q.Flatten(ctx, fork)
}

// RemoveRows implements memory.CollectionStore. The job that removes is kept until it is
// released; what was spent on models is kept as the tenant's.
func (b *Base) RemoveRows(ctx context.Context, s tenant.Scope, id uuid.UUID, limit int) (gone bool, err error) {
	if err := s.Check(); err != nil {
		return false, err
	}
	if limit <= 0 {
		limit = RemovalBatch
	}
	err = b.transactions.Writing(ctx, s.Tenant(), func(ctx context.Context, q Session) error {
		q.LockHead(s.Tenant(), id)
		r, err := Reach(ctx, q, s, id)
		if err != nil {
			return err
		}
		if r.State != memory.CollectionDeleting {
			return fault.New(fault.Conflict, "the collection is not being deleted")
		}
		gone, err = q.DeleteCollectionRows(ctx, r, limit)
		return err
	})
	return gone, err
}

// Counts implements memory.Reader. At the head they are stored; at another revision, or in a fork
// of the past, they are counted now.
func (b *Base) Counts(ctx context.Context, s tenant.Scope, v memory.View) (c memory.Counts, err error) {
	if err := v.Check(s); err != nil {
		return c, err
	}
	err = b.transactions.Reading(ctx, s.Tenant(), func(ctx context.Context, q Session) error {
		h, err := q.Head(ctx, s.Tenant(), v.Collection.ID)
		if err != nil {
			return err
		}
		if h.Counted && h.Revision == v.At {
			c = h.Counts
		} else if c, err = q.CountVisible(ctx, s.Tenant(), v.Layers); err != nil {
			return err
		}
		if c.Kinds == nil {
			c.Kinds = map[memory.Kind]int64{}
		}
		return nil
	})
	return c, err
}
