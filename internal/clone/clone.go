package clone

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Store is the part of the store that Service calls.
type Store interface {
	memory.CollectionStore
	OpenView(ctx context.Context, s tenant.Scope, ref string, at memory.At) (memory.View, error)
	Counts(ctx context.Context, s tenant.Scope, v memory.View) (memory.Counts, error)
	Notes(ctx context.Context, s tenant.Scope, v memory.View, ids []uuid.UUID, o memory.ReadOptions) ([]memory.Note, error)
	NoteByKey(ctx context.Context, s tenant.Scope, v memory.View, kind memory.Kind, key string) (memory.Note, error)
	ListNotes(ctx context.Context, s tenant.Scope, v memory.View, q memory.NoteQuery) ([]memory.Note, error)
	Write(ctx context.Context, s tenant.Scope, collection uuid.UUID, o memory.WriteOptions, fn func(ctx context.Context, tx memory.Tx) error) (memory.Written, error)
	Links(ctx context.Context, s tenant.Scope, v memory.View, q memory.LinkQuery) ([]memory.Link, error)
	Usage(ctx context.Context, s tenant.Scope, v memory.View, ids []uuid.UUID) (map[uuid.UUID]memory.Usage, error)
	History(ctx context.Context, s tenant.Scope, v memory.View, note uuid.UUID, before memory.Revision, limit int) ([]memory.HistoryEntry, error)
	memory.LogReader
	memory.ReviewStore
	memory.SnapshotStore
	memory.AttachmentStore
	memory.AnswerStore
}

// Deps are the dependencies of Service. Store and Agents are required.
type Deps struct {
	Store  Store
	Agents memory.Agents
	Clock  memory.Clock // default time.Now
	Quota  memory.Quota // nil: no quotas
	// Policies say what is made again when sources change; nil: nothing is.
	Policies memory.PolicySet
	// Forget is called after a collection was deleted, to drop its index; nil: there is none.
	Forget func(tenantID, collection uuid.UUID)
}

// Config configures Service.
type Config struct {
	BatchSize   int // notes per step of a copy; default 1,000
	RemoveBatch int // rows per step of a removal; default 5,000
	MaxInline   int // notes that a merge or a rollback may touch while its caller waits; default 10,000
	// EphemeralTTL is the default time to live of a clone of an ephemeral collection; 0: none,
	// as for other collections.
	EphemeralTTL time.Duration
}

// maxBatchSize bounds the notes per step of a copy.
const maxBatchSize = 10_000

// Mode is the kind of a clone.
type Mode string

// The modes.
const (
	Fork Mode = "fork"
	Copy Mode = "copy"
)

// Input describes a clone to create.
type Input struct {
	Mode       Mode   // default fork
	Agent      string // ref of the owner; "": the caller's agent, else shared
	Name       string // default <source>__clone, then <source>__clone-2, …
	AtRevision *memory.Revision
	TTLSeconds *int64
	BatchSize  int // notes per step of a copy, 1..10,000; 0: the configured one
	Blocks     Blocks
	External   memory.External // Exists when another collection of the tenant has these ids

	// Policy and PolicyConfig take the place of what the source has, in a fork; "" and nil: they are the source's. With another policy,
	// nil means its defaults. They require the permission CollectionsWrite, as a change of settings does.
	Policy       string
	PolicyConfig json.RawMessage
}

// Blocks says what a clone gets of the blocks that are attached to its source.
type Blocks string

// The choices: blocks of its own that say what the attached ones say now, by default, or the same ones.
const (
	CopyBlocks  Blocks = "copy"
	ShareBlocks Blocks = "share"
)

// Result is a created clone.
type Result struct {
	Collection memory.Collection
	Counts     *memory.Counts // of what is visible so far
	Job        *memory.Job    // of a copy; nil for a fork
	Replayed   bool           // true: an earlier answer to the same idempotency key
}

// Service forks and copies collections. It is safe for concurrent use.
type Service struct {
	store    Store
	agents   memory.Agents
	policies memory.PolicySet
	clock    memory.Clock
	quota    memory.Quota
	forget   func(tenantID, collection uuid.UUID)
	cfg      Config
}

// New returns a Service.
func New(deps Deps, cfg Config) (*Service, error) {
	if deps.Store == nil || deps.Agents == nil {
		return nil, fault.New(fault.Internal, "clone: store and agents are required")
	}
	cfg.BatchSize, cfg.RemoveBatch, cfg.MaxInline = cmp.Or(cfg.BatchSize, 1_000), cmp.Or(cfg.RemoveBatch, 5_000), cmp.Or(cfg.MaxInline, 10_000)
	if cfg.BatchSize < 1 || cfg.BatchSize > maxBatchSize || cfg.RemoveBatch < 1 {
		return nil, fault.New(fault.Internal, "clone: batch size must be 1..%d, remove batch at least 1", maxBatchSize)
	}
	c := &Service{
		store: deps.Store, agents: deps.Agents, policies: deps.Policies, clock: deps.Clock, quota: deps.Quota,
		forget: deps.Forget, cfg: cfg,
	}
	if c.clock == nil {
		c.clock = time.Now
	}
	if c.forget == nil {
		c.forget = func(_, _ uuid.UUID) {}
	}
	return c, nil
}

// Clone forks or copies a collection, with its settings and metadata. It requires the
// permission Clone. A fork is complete immediately. A copy is filled by Result.Job; until
// then it can be read but not written. A failed call creates nothing.
func (c *Service) Clone(ctx context.Context, s tenant.Scope, ref string, in Input, r memory.Request) (Result, error) {
	if err := tenant.Check(s, tenant.Clone); err != nil {
		return Result{}, err
	}
	k := memory.OnceKey{Key: r.Idempotency}
	if k.Key != nil {
		source, err := c.store.ResolveCollection(ctx, s, ref)
		if err != nil {
			return Result{}, err
		}
		k.Collection = source.ID
	}
	return memory.Once(ctx, c.store, s, k, func() (Result, *memory.Idempotency, error) {
		return c.clone(ctx, s, ref, in, r.Idempotency)
	}, func(ids memory.AnswerIDs, job *memory.Job) (Result, error) {
		out, err := c.result(ctx, s, ids.Made)
		out.Job, out.Replayed = job, true
		return out, err
	})
}

func (c *Service) clone(ctx context.Context, s tenant.Scope, ref string, in Input, key *memory.Idempotency) (Result, *memory.Idempotency, error) {
	if err := c.validate(&in); err != nil {
		return Result{}, nil, err
	}
	v, err := c.store.OpenView(ctx, s, ref, memory.At{AsOf: in.AtRevision})
	if err != nil {
		return Result{}, nil, renameField(err, "at_revision")
	}
	if v.Collection.State == memory.CollectionCopying {
		return Result{}, nil, fault.New(fault.Conflict, "the collection is still being copied")
	}
	var life time.Duration
	if v.Collection.Ephemeral {
		life = c.cfg.EphemeralTTL
	}
	expires, err := memory.Expiry(in.TTLSeconds, life, c.clock())
	if err != nil {
		return Result{}, nil, err
	}
	if err := c.checkQuota(ctx, s, v, in.Mode); err != nil {
		return Result{}, nil, err
	}
	owner, err := memory.FindOwner(ctx, s, c.agents, in.Agent)
	if err != nil {
		return Result{}, nil, err
	}
	src := &v.Collection
	ask := memory.NewCollection{
		Collection: memory.Collection{
			Agent: owner.ID, Name: in.Name, DisplayName: src.DisplayName, Policy: src.Policy, PolicyConfig: src.PolicyConfig,
			Embedder: src.Embedder, Dim: src.Dim, Metadata: src.Metadata, Ephemeral: src.Ephemeral, ExpiresAt: expires,
			External: in.External,
		},
		Source: src.ID, Idempotency: key,
		Audit: memory.AuditEntry{Action: "collection.clone", Detail: map[string]any{
			"source": src.ID.String(), "revision": int64(v.At), "mode": string(in.Mode),
		}},
	}
	attached, err := c.attached(ctx, s, v)
	if err != nil {
		return Result{}, nil, err
	}
	if ask.Attach, err = c.others(ctx, s, src.ID); err != nil {
		return Result{}, nil, err
	}
	if in.Blocks == ShareBlocks {
		for i := range attached {
			ask.Attach = append(ask.Attach, attached[i].Attachment)
		}
		attached = nil
	}
	if in.Mode == Fork {
		if ask.Seed, err = c.copied(ctx, s, attached, v.Collection.Embedder); err != nil {
			return Result{}, nil, err
		}
		if err := c.underPolicy(ctx, s, &ask, v, &in); err != nil {
			return Result{}, nil, err
		}
		ask.Parent, ask.ParentRevision = src.ID, v.At
		ask.Embedder, ask.Dim = "", 0 // the store sets the parent's current ones
	} else if ask.CopyJob, err = c.copyJob(s, v, in.BatchSize, len(attached) > 0); err != nil {
		return Result{}, nil, err
	}
	made, err := c.createNamed(ctx, s, src.Name, ask)
	if err != nil {
		return Result{}, nil, renameField(err, "at_revision")
	}
	if made.Replay != nil {
		return Result{}, made.Replay, nil
	}
	out, err := c.result(ctx, s, made.Collection.ID)
	out.Job = made.Job
	return out, nil, err
}

func (c *Service) validate(in *Input) error {
	switch in.Mode {
	case "":
		in.Mode = Fork
	case Fork, Copy:
	default:
		return fault.InvalidField("mode", "must be fork or copy")
	}
	if in.Blocks != "" && in.Blocks != CopyBlocks && in.Blocks != ShareBlocks {
		return fault.InvalidField("blocks", "must be copy or share")
	}
	if in.BatchSize = cmp.Or(in.BatchSize, c.cfg.BatchSize); in.BatchSize < 1 || in.BatchSize > maxBatchSize {
		return fault.InvalidField("batch_size", "must be between 1 and %d", maxBatchSize)
	}
	if in.Mode == Copy && (in.Policy != "" || in.PolicyConfig != nil) {
		return fault.InvalidField("mode", "a copy has the policy and the settings of its source; a fork may have others")
	}
	if err := in.External.Check("external."); err != nil || in.Name == "" {
		return err
	}
	return memory.CheckCollectionName("name", in.Name)
}

// checkQuota checks the quota of the tenant. A fork adds no notes and no bytes.
func (c *Service) checkQuota(ctx context.Context, s tenant.Scope, v memory.View, mode Mode) error {
	if c.quota == nil {
		return nil
	}
	if err := c.quota.CheckCollections(ctx, s, mode == Fork); err != nil || mode == Fork {
		return err
	}
	counts, err := c.store.Counts(ctx, s, v)
	if err != nil {
		return err
	}
	return c.quota.CheckNotes(ctx, s, counts.Notes, counts.Bytes)
}

// createNamed inserts the collection with the requested name, or the first free default
// name.
func (c *Service) createNamed(ctx context.Context, s tenant.Scope, source string, ask memory.NewCollection) (memory.CollectionCreated, error) {
	if ask.Name != "" {
		return c.store.CreateCollection(ctx, s, ask)
	}
	for {
		n, err := c.freeNumber(ctx, s, ask.Agent, source)
		if err != nil {
			return memory.CollectionCreated{}, err
		}
		ask.Name = cloneName(source, n)
		made, err := c.store.CreateCollection(ctx, s, ask)
		if f, _ := errors.AsType[*fault.Error](err); fault.Is(err, fault.Exists) && len(f.Fields) == 0 && ctx.Err() == nil {
			continue // a concurrent request took the name, not the External
		}
		return made, err
	}
}

const cloneSuffix = "__clone"

// cloneName returns the n-th default name. It truncates a long source name to fit.
func cloneName(source string, n int) string {
	suffix := cloneSuffix
	if n > 1 {
		suffix += "-" + strconv.Itoa(n)
	}
	return source[:min(len(source), tenant.MaxName-len(suffix))] + suffix
}

// freeNumber returns the number of a default name that is free while the one before it is taken. It looks at few names, however many
// clones there are.
func (c *Service) freeNumber(ctx context.Context, s tenant.Scope, owner uuid.UUID, source string) (int, error) {
	taken := func(n int) (bool, error) {
		name := cloneName(source, n)
		first := name + "\x00" + uuid.Nil.String()
		page, err := c.store.ListCollections(ctx, s, memory.CollectionQuery{Agent: &owner, After: first, Limit: 1})
		return len(page) > 0 && page[0].Name == name, err
	}
	low, high := 0, 1 // the first is taken, or there is none
	for {
		is, err := taken(high)
		if err != nil {
			return 0, err
		}
		if !is {
			break
		}
		low, high = high, 2*high
	}
	for high-low > 1 {
		middle := (low + high) / 2
		is, err := taken(middle)
		if err != nil {
			return 0, err
		}
		if is {
			low = middle
		} else {
			high = middle
		}
	}
	return high, nil
}

// result returns a clone with its counts.
func (c *Service) result(ctx context.Context, s tenant.Scope, id uuid.UUID) (Result, error) {
	v, err := c.store.OpenView(ctx, s, id.String(), memory.At{})
	if err != nil {
		return Result{}, err
	}
	counts, err := c.store.Counts(ctx, s, v)
	if err != nil {
		return Result{}, err
	}
	return Result{Collection: v.Collection, Counts: &counts}, nil
}

// renameField renames the field as_of in a fault, to the name that it has in the body of this
// request.
func renameField(err error, to string) error {
	return fault.Rename(err, func(field string) string {
		if field == "as_of" {
			return to
		}
		return field
	})
}
