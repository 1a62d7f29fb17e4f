package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// checkNewCollection returns an error for a collection that the scope cannot create.
func checkNewCollection(s tenant.Scope, n *memory.NewCollection) error {
	if err := checkName("name", n.Name); err != nil {
		return err
	}
	if err := Text("display_name", n.DisplayName); err != nil {
		return err
	}
	if err := n.External.Check("external."); err != nil {
		return err
	}
	if !s.Reaches(n.Agent) {
		return fault.Missing("agent")
	}
	if !n.ReachedBy(s) {
		return fault.InvalidField("external", "must have the ids that the credential is limited to%s, and one of its own where a collection has "+
			"those alone, such as a run", namesOf(memory.External(s.Limit())))
	}
	if n.CopyJob != nil && n.Parent != uuid.Nil {
		return fault.New(fault.Internal, "a copy has no parent")
	}
	if len(n.Seed) > 0 && n.CopyJob != nil {
		return fault.New(fault.Internal, "a copy begins with the notes of its source")
	}
	return nil
}

// namesOf returns which ids are set, such as " (user=ida)".
func namesOf(e memory.External) string {
	var set []string
	for _, id := range e.IDs() {
		if id.Value != "" {
			set = append(set, id.Name+"="+id.Value)
		}
	}
	return " (" + strings.Join(set, ", ") + ")"
}

// checkFork returns an error for a fork that its parent cannot have, and sets what the fork shares
// with the parent: the embedder with its vectors, and the floor, below which the fork cannot be
// read either.
func checkFork(fork, parent *memory.Collection) error {
	if err := CheckRevision("at_revision", parent, fork.ParentRevision); err != nil {
		return err
	}
	if parent.State == memory.CollectionCopying {
		return fault.New(fault.Conflict, "the collection is still being copied")
	}
	if fork.Embedder == "" {
		fork.Embedder, fork.Dim = parent.Embedder, parent.Dim
	}
	if fork.Embedder != parent.Embedder || fork.Dim != parent.Dim {
		return fault.InvalidField("embedder", "a fork has the embedder of its parent, %q with %d dimensions", parent.Embedder, parent.Dim)
	}
	fork.Floor, fork.Reembedded = parent.Floor, parent.Reembedded
	return nil
}

// createdIDs returns what is stored under the idempotency key of a request that created a
// collection. The job may be nil.
func createdIDs(n *memory.NewCollection, made uuid.UUID, job *memory.Job) []byte {
	ids := memory.AnswerIDs{Collection: n.Source, Made: made}
	if job != nil {
		ids.Job = &job.ID
	}
	return ids.Raw()
}

// CreateCollection implements memory.CollectionStore.
func (b *Base) CreateCollection(ctx context.Context, s tenant.Scope, n memory.NewCollection) (out memory.CollectionCreated, err error) {
	if err := s.Check(); err != nil {
		return out, err
	}
	if err := checkNewCollection(s, &n); err != nil {
		return out, err
	}
	var refused error // what First returned is returned as it is
	if n.First != nil {
		first, do := *n.First, n.First.Do
		first.Do = func(inner context.Context, tx memory.Tx) error {
			refused = do(inner, tx)
			return refused
		}
		n.First = &first
	}
	for {
		err = b.transactions.Writing(ctx, s.Tenant(), func(ctx context.Context, q Session) error {
			refused = nil
			out, err = createCollection(ctx, q, s, n, b.now())
			return err
		})
		if refused != nil {
			return memory.CollectionCreated{}, refused
		}
		if !errors.Is(err, errDeep) {
			return out, err
		}
		if err := b.FlattenLineage(ctx, s, n.Parent); err != nil {
			return out, err
		}
	}
}

// errDeep is returned for a fork of a collection that no job has flattened yet, and that must be flattened first.
var errDeep = errors.New("the lineage is too deep")

func createCollection(ctx context.Context, q Session, s tenant.Scope, n memory.NewCollection, now time.Time) (out memory.CollectionCreated, err error) {
	if err := CheckTenant(ctx, q, s.Tenant()); err != nil {
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
	for _, a := range n.Attach {
		a.Collection = c.ID
		if _, err := attach(ctx, q, s, a, now); err != nil {
			return out, err
		}
	}
	if len(n.Seed) > 0 {
		if err := seed(ctx, q, s, c.ID, n.Seed, now); err != nil {
			return out, err
		}
	}
	if n.First != nil {
		if out.Written, err = WriteIn(ctx, q, s, c.ID, &n.First.Options, n.First.Do, now); err != nil {
			return out, err
		}
	}
	if n.CopyJob != nil {
		j := *n.CopyJob
		j.Collection = c.ID
		if j, err = enqueue(ctx, q, s.Tenant(), j, now); err != nil {
			return out, err
		}
		out.Job = &j
	}
	if err := auditTarget(ctx, q, s, c.ID, n.Audit, now); err != nil {
		return out, err
	}
	if n.Idempotency != nil {
		k := *n.Idempotency
		if k.IDs == nil {
			// The answer is rebuilt from the id.
			k.IDs = createdIDs(&n, c.ID, out.Job)
		}
		if err := remember(ctx, q, s, k, now); err != nil {
			return out, err
		}
	}
	if n.Limits != nil {
		if err := checkLimits(ctx, q, s.Tenant(), uuid.Nil, memory.TenantUsage{}, n.Limits, now); err != nil {
			return out, err
		}
	}
	r, _, err := q.Collection(ctx, s.Tenant(), c.ID)
	out.Collection = r.Collection
	return out, err
}

func insertCollection(ctx context.Context, q Session, s tenant.Scope, c memory.Collection, copying bool, now time.Time) (memory.Collection, error) {
	var err error
	if c.ID == uuid.Nil {
		if c.ID, err = uuid.NewV7(); err != nil {
			return c, err
		}
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
	if err := freeExternal(ctx, q, s.Tenant(), c.External, now); err != nil {
		return c, err
	}
	h := Head{Counted: true}
	var jobs []memory.JobKind
	if c.Parent != uuid.Nil {
		if h, jobs, err = forkPoint(ctx, q, s, &c, now); err != nil {
			return c, err
		}
	} else {
		c.ParentRevision, c.Reembedded = 0, uuid.Nil
	}
	h.Written = now
	if err := q.InsertCollection(ctx, s.Tenant(), c, h); err != nil {
		return c, err
	}
	for _, kind := range jobs {
		if _, err := enqueue(ctx, q, s.Tenant(), memory.Job{Collection: c.ID, Kind: kind, Stage: memory.StageTask}, now); err != nil {
			return c, err
		}
	}
	return c, nil
}

// seed writes the first notes of a collection as its first changeset, and enqueues the jobs that embed
// them.
func seed(ctx context.Context, q Session, s tenant.Scope, collection uuid.UUID, notes []memory.Note, now time.Time) error {
	_, err := WriteIn(ctx, q, s, collection, &memory.WriteOptions{Cause: memory.CauseAdd}, func(ctx context.Context, t memory.Tx) error {
		for _, n := range notes {
			if n.OccurredAt.IsZero() {
				n.OccurredAt = now
			}
			n, err := t.Put(ctx, n)
			if err != nil {
				return err
			}
			if n.Vector != nil {
				continue
			}
			if _, err := t.Enqueue(ctx, memory.Job{
				Collection: collection, Note: n.ID, Kind: memory.JobNote, Stage: memory.StagePrepare, Payload: memory.EmbedOnly(),
			}); err != nil {
				return err
			}
		}
		return nil
	}, now)
	return err
}

// freeName returns Exists when a name is taken. An expired collection that was not swept yet loses
// its name.
func freeName(ctx context.Context, q Session, tenantID uuid.UUID, c memory.Collection, now time.Time) error {
	found, err := q.CollectionsByName(ctx, tenantID, c.Agent, c.Name)
	if err != nil {
		return err
	}
	for i := range found {
		if visible(&found[i].Collection, now) {
			return NameTaken(c.Name)
		}
		if err := q.Later(ctx, "UPDATE collections SET name = $3, words = '' WHERE tenant = $1 AND id = $2", tenantID, found[i].ID, found[i].ID.String()); err != nil {
			return err
		}
	}
	return nil
}

// freeExternal returns Exists when another collection of the tenant has the ids. An expired collection that was
// not swept yet loses them.
func freeExternal(ctx context.Context, q Session, tenantID uuid.UUID, e memory.External, now time.Time) error {
	if e.IsZero() {
		return nil
	}
	found, err := q.CollectionsByExternal(ctx, tenantID, e)
	if err != nil {
		return err
	}
	for i := range found {
		if visible(&found[i].Collection, now) {
			return ExternalTaken()
		}
		err := q.Later(ctx, "UPDATE collections SET external_user = '', external_agent = '', external_app = '', external_run = '', words = '' WHERE tenant = $1 AND id = $2", tenantID, found[i].ID)
		if err != nil {
			return err
		}
	}
	return nil
}

// ExternalTaken is the fault for ids of an application that another collection of the tenant has.
func ExternalTaken() error {
	return &fault.Error{
		Code: fault.Exists, Message: "a collection with these external ids exists",
		Fields: []fault.Field{{Field: "external", Reason: "another collection of the tenant has these ids"}},
	}
}

// NameTaken is the fault for a name that another collection of the same owner has.
func NameTaken(name string) error {
	return fault.New(fault.Exists, "a collection with the name %q exists", name)
}

// forkPoint checks the parent of a fork. It returns the counts that the fork starts with, and the jobs that it needs: one when it
// inherits notes that no policy has finished, one when its lineage is deep. The parent is held against its deletion,
// not against its writers: a fork never waits for them, and what they write meanwhile lies beyond
// its revision.
func forkPoint(ctx context.Context, q Session, s tenant.Scope, fork *memory.Collection, now time.Time) (h Head, jobs []memory.JobKind, err error) {
	q.HoldCollections(s.Tenant(), fork.Parent)
	p, err := ReachVisible(ctx, q, s, fork.Parent, now)
	if err != nil {
		return h, nil, err
	}
	if err := checkFork(fork, &p.Collection); err != nil {
		return h, nil, err
	}
	layers, err := q.Layers(ctx, p, fork.ParentRevision)
	if err != nil {
		return h, nil, err
	}
	if len(layers) > memory.DeepestLineage {
		return h, nil, errDeep
	}
	if h, err = q.Head(ctx, s.Tenant(), p.ID); err != nil {
		return h, nil, err
	}
	if h.Revision != fork.ParentRevision {
		h = Head{} // of another revision: the fork has no counts yet
		if h.NextExpiry, err = firstExpiry(ctx, q, s.Tenant(), layers, time.Time{}); err != nil {
			return h, nil, err
		}
	}
	adopt, err := needsAdoption(ctx, q, s.Tenant(), fork.Policy, &h, layers)
	if adopt {
		jobs = append(jobs, memory.JobAdopt)
	}
	if len(layers) >= memory.MaxLineage {
		jobs = append(jobs, memory.JobFlatten)
	}
	return h, jobs, err
}

// needsAdoption reports whether layers hold notes that an adopt job of a collection with the policy must
// finish. h is the head of the collection.
func needsAdoption(ctx context.Context, q Session, tenantID uuid.UUID, policy string, h *Head, layers []memory.Layer) (bool, error) {
	if !memory.Decides(policy) && h.Counted && h.Pending == 0 {
		// No policy waits for these notes and each has its vector: they stay raw, and a job would
		// look at all of them for nothing.
		return false, nil
	}
	return q.HasUnfinished(ctx, tenantID, layers)
}
