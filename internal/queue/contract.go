package queue

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// Source is the outbox of a store. Its methods are safe for concurrent use.
type Source interface {
	// Due lists collections with a job that could be claimed now.
	Due(ctx context.Context, limit int) ([]memory.Due, error)
	// Claim leases up to limit due jobs of a collection and stage under a new token until a
	// time. Of the decide stage it leases at most one, and none while another is leased.
	Claim(ctx context.Context, c memory.Due, stage memory.Stage, token uuid.UUID, until time.Time, limit int) ([]memory.Job, error)
	// Heartbeat prolongs the lease of a claimed job. held is false when the lease was lost:
	// the job was canceled, or claimed again.
	Heartbeat(ctx context.Context, j memory.Job, until time.Time) (held bool, err error)
	// NextDue returns when the next waiting job can be claimed; zero when none waits.
	NextDue(ctx context.Context) (time.Time, error)
}

// Handler does jobs.
type Handler interface {
	// Deadline returns how long one try of the job may take; 0 means no limit.
	Deadline(j memory.Job) time.Duration
	// Handle does the job and records its end itself, in the transaction of its
	// effect. An error means that the job is still leased: Settle is called.
	// It may be called twice for one job, if a process died in between.
	Handle(ctx context.Context, j memory.Job) error
	// Settle records a failed try. err is the error of Handle; its chain holds ErrPanic after a
	// panic, and ErrStopped when the runner stopped, in which case the job is released without
	// counting a try. The context is not that of the try.
	Settle(ctx context.Context, j memory.Job, err error) error
}

// ErrStopped is the cause of a job's context, which Settle receives, when the runner stops.
var ErrStopped = errors.New("the job runner stopped")

// ErrLost is the cause of a job's context after its lease was lost. Such a job is not settled.
var ErrLost = errors.New("the lease of the job was lost")

// ErrPanic is in the error chain of a try whose handler panicked.
var ErrPanic = errors.New("the job's handler panicked")
