package queue

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
)

// Ref names a collection that has jobs.
type Ref struct {
	Tenant     uuid.UUID
	Collection uuid.UUID
}

// Stage is a kind of work with its own bound and order.
type Stage string

// The stages. Prepare and Task run in parallel; of Decide one runs at a time
// per collection, in order.
const (
	Prepare Stage = "prepare"
	Decide  Stage = "decide"
	Task    Stage = "task"
)

// Stages lists every stage.
func Stages() []Stage { return []Stage{Prepare, Decide, Task} }

// Lease is what a claimed job is held by.
type Lease struct {
	Ref   Ref
	Job   uuid.UUID
	Token uuid.UUID
}

// Source is the outbox. Its methods are safe for concurrent use.
type Source[J any] interface {
	// Due lists collections with a job that could be claimed now.
	Due(ctx context.Context, limit int) ([]Ref, error)
	// Claim leases up to limit due jobs of a collection and stage under the token until a
	// time; of Decide at most one, and none while another is leased.
	Claim(ctx context.Context, r Ref, stage Stage, token uuid.UUID, until time.Time, limit int) ([]J, error)
	// Heartbeat prolongs a lease; held is false when it was lost (the job was
	// cancelled, or claimed by another).
	Heartbeat(ctx context.Context, l Lease, until time.Time) (held bool, err error)
	// NextDue is when the next waiting job can be claimed; zero: none waits.
	NextDue(ctx context.Context) (time.Time, error)
	// ID gives the id of a claimed job.
	ID(j J) uuid.UUID
	// Kind names what a job does; there are few kinds, and metrics are kept by them.
	Kind(j J) string
}

// Handler does jobs.
type Handler[J any] interface {
	// Deadline is how long one try of the job may take; 0: as long as it likes.
	Deadline(j J) time.Duration
	// Handle does the job and records its end itself, in the transaction of its
	// effect. An error means that the job is still leased: Settle is called.
	// It may be called twice for one job, if a process died in between.
	Handle(ctx context.Context, j J) error
	// Settle records a failed try. The error is what Handle gave, ErrPanic in its chain after
	// a panic, ErrStopped when the runner stopped: then the job is given back
	// without counting a try. The context is not that of the try.
	Settle(ctx context.Context, j J, err error) error
	// Done is told that a claimed job left this runner, whatever its end.
	Done(j J)
}

// ErrStopped is why a job's context ends, and what Settle is given, when the runner stops.
var ErrStopped = errors.New("the job runner stopped")

// ErrLost is why a job's context ends when its lease was lost; it is not settled.
var ErrLost = errors.New("the lease of the job was lost")

// ErrPanic is in the chain of the error of a handler that panicked.
var ErrPanic = errors.New("the job's handler panicked")
