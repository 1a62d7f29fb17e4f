package clone

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Store is what cloning asks of a store.
type Store interface {
	memory.CollectionStore
	OpenView(ctx context.Context, s tenant.Scope, ref string, at memory.At) (memory.View, error)
	Counts(ctx context.Context, s tenant.Scope, v memory.View) (memory.Counts, error)
	Replayed(ctx context.Context, s tenant.Scope, k memory.Idempotency) (memory.Idempotency, bool, error)
	Job(ctx context.Context, s tenant.Scope, id uuid.UUID) (memory.Job, error)
}

// Deps are the parts that cloning works with.
type Deps struct {
	Store  Store
	Agents memory.Agents
	Clock  memory.Clock // default time.Now
	Quota  memory.Quota // nil: no quotas
	Wake   func()       // called after a commit that enqueued a job
}

// Config of cloning.
type Config struct {
	BatchSize   int // notes per step of a copy; default 1,000
	RemoveBatch int // rows per step of a removal; default 5,000
}

// Mode says how a clone comes to be.
type Mode string

// The modes.
const (
	Fork Mode = "fork"
	Copy Mode = "copy"
)

// Input asks for a clone.
type Input struct {
	Mode       Mode   // default fork
	Agent      string // ref of the owner; "": the caller's agent, else shared
	Name       string // default <source>__clone, then <source>__clone-2, …
	AtRevision *memory.Revision
	TTLSeconds *int64
	BatchSize  int // of a copy, 1..10,000; 0: the configured one
}

// Result is a clone.
type Result struct {
	Collection memory.Collection
	Counts     *memory.Counts // nil: not known yet
	Job        *memory.Job    // of a copy
	Replayed   bool
}

// Service clones.
type Service struct{}

var errUnfinished = fault.New(fault.Internal, "being written")

// New makes the service.
func New(deps Deps, cfg Config) (*Service, error) { return nil, errUnfinished }

// Clone forks or copies a collection (scope clone). A missing source leaves nothing behind.
func (c *Service) Clone(ctx context.Context, s tenant.Scope, ref string, in Input, r memory.Request) (Result, error) {
	return Result{}, errUnfinished
}

// Progress is told how far a job has come.
type Progress func(ctx context.Context, p memory.Progress) error

// RunCopy does the work of a copy job, from the start or from where an earlier try left it.
func (c *Service) RunCopy(ctx context.Context, s tenant.Scope, job memory.Job, progress Progress) error {
	return errUnfinished
}

// RunRemove does the work of a remove job: the rows of a deleted collection, in batches.
func (c *Service) RunRemove(ctx context.Context, s tenant.Scope, job memory.Job, progress Progress) error {
	return errUnfinished
}

// Expire deletes a collection whose time is over, forks of it made independent first. It is
// no error when it is gone already.
func (c *Service) Expire(ctx context.Context, s tenant.Scope, due memory.Due, now time.Time) error {
	return errUnfinished
}
