package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"

	"github.com/slipboxhq/slipbox/internal/clone"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/engine"
	"github.com/slipboxhq/slipbox/internal/queue"
	"github.com/slipboxhq/slipbox/internal/telemetry"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// handler passes each kind of job to the service that does it.
type handler struct {
	store    memory.JobLeases
	engine   *engine.Engine
	clone    *clone.Service
	importer Import // nil: import jobs fail
	file     File   // nil: jobs of files fail
	step     Step   // nil: runs fail
	hook     Step   // nil: jobs of webhooks fail
	cfg      Config
	tracer   trace.Tracer
	waited   metric.Float64Histogram
	clock    memory.Clock
	log      *slog.Logger
	company  company
	// following has a slot for each decision that may follow its first stage immediately, in the slot of that.
	following chan struct{}
}

// newWaitHistogram makes the metric of how long jobs wait. A nil meter measures nothing.
func newWaitHistogram(m metric.Meter) (metric.Float64Histogram, error) {
	if m == nil {
		m = noopmetric.Meter{}
	}
	return m.Float64Histogram("slipbox.job.wait", metric.WithUnit("s"),
		metric.WithDescription("Time from the enqueuing of a job to the first try of a stage."),
		metric.WithExplicitBucketBoundaries(.05, .5, 5, 30, 60, 300, 600, 3600))
}

// Deadline returns the time limit of one try, by kind and stage.
func (h *handler) Deadline(j memory.Job) time.Duration {
	switch j.Kind {
	case memory.JobNote, memory.JobExchange:
		if j.Stage == memory.StageDecide {
			return h.cfg.DecideDeadline
		}
		return h.cfg.PrepareDeadline + h.cfg.DecideDeadline // the decision may follow immediately
	case memory.JobPolicy:
		return h.cfg.PolicyDeadline
	case memory.JobAdopt:
		return h.cfg.AdoptDeadline
	case memory.JobStep, memory.JobFlush:
		return h.cfg.StepDeadline
	case memory.JobConsolidate, memory.JobRefresh:
		return h.cfg.ConsolidateDeadline
	case memory.JobCopy, memory.JobImport, memory.JobRemove, memory.JobReembed, memory.JobFile, memory.JobErase, memory.JobWebhook, memory.JobFlatten, memory.JobMerge, memory.JobRollback:
		return h.cfg.LongDeadline
	}
	return h.cfg.LongDeadline
}

// Handle does one try of a job, as a span of the trace in which the job was enqueued: an add is one
// trace from its request to the last call of a model.
func (h *handler) Handle(ctx context.Context, j memory.Job) error {
	ctx, span := h.start(telemetry.WithTraceparent(ctx, j.Trace), j)
	defer span.End()
	if j.Attempts == 0 && j.Claims <= 1 {
		h.waited.Record(ctx, max(0, h.clock().Sub(j.CreatedAt)).Seconds(), metric.WithAttributeSet(attribute.NewSet(
			telemetry.JobKind.String(string(j.Kind)), telemetry.JobStage.String(string(j.Stage)))))
	}
	err := h.dispatch(ctx, j)
	if err != nil {
		code := string(fault.CodeOf(err))
		span.SetAttributes(telemetry.ErrorType.String(code))
		if !errors.Is(err, memory.ErrPaused) && !errors.Is(context.Cause(ctx), queue.ErrStopped) {
			span.SetStatus(codes.Error, code)
		}
	}
	return err
}

// start starts the span of one try of a job, or of one stage of it.
func (h *handler) start(ctx context.Context, j memory.Job) (context.Context, trace.Span) {
	name := "job " + string(j.Kind)
	if j.Kind == memory.JobNote || j.Kind == memory.JobExchange {
		name += " " + string(j.Stage) // one of two
	}
	return h.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindConsumer), //nolint:spancheck // the caller ends it
		trace.WithAttributes(telemetry.Tenant.String(j.Tenant.String()), telemetry.Collection.String(j.Collection.String()),
			telemetry.Job.String(j.ID.String()), telemetry.JobKind.String(string(j.Kind)), telemetry.JobStage.String(string(j.Stage)),
			telemetry.JobAttempt.Int(j.Attempts)))
}

func (h *handler) dispatch(ctx context.Context, j memory.Job) error {
	s := jobScope(j.Tenant, j.ID)
	if paused, err := h.pauseAfterLoss(ctx, s, &j); paused || err != nil {
		return err
	}
	leave, err := h.enter(ctx, s, &j)
	if err != nil {
		return err
	}
	defer leave()
	progress := func(ctx context.Context, p memory.Progress) error {
		return h.store.SetProgress(ctx, s, j.ID, j.Lease, p)
	}
	switch j.Kind {
	case memory.JobStep, memory.JobFlush:
		if h.step != nil {
			return h.step(ctx, s, j)
		}
	case memory.JobNote, memory.JobExchange:
		if j.Stage == memory.StageDecide {
			return h.engine.RunDecide(ctx, s, j)
		}
		return h.engine.RunStages(ctx, s, j, engine.Stages{Prepare: h.cfg.PrepareDeadline, Decide: h.cfg.DecideDeadline, Follow: h.follow(j)})
	case memory.JobPolicy:
		return h.engine.RunPolicy(ctx, s, j)
	case memory.JobAdopt:
		return h.engine.RunAdopt(ctx, s, j)
	case memory.JobConsolidate:
		return h.engine.RunConsolidate(ctx, s, j, progress)
	case memory.JobReembed:
		return h.engine.RunReembed(ctx, s, j, progress)
	case memory.JobRefresh:
		return h.engine.RunRefresh(ctx, s, j, progress)
	case memory.JobCopy:
		return h.finish(ctx, s, j, h.clone.RunCopy(ctx, s, j, progress))
	case memory.JobRemove:
		return h.finish(ctx, s, j, h.clone.RunRemove(ctx, s, j, progress))
	case memory.JobMerge:
		end, err := h.clone.RunMerge(ctx, s, j, progress)
		return h.end(ctx, s, j, end, err)
	case memory.JobRollback:
		end, err := h.clone.RunRollback(ctx, s, j, progress)
		return h.end(ctx, s, j, end, err)
	case memory.JobFlatten:
		return h.finish(ctx, s, j, h.clone.RunFlatten(ctx, s, j))
	case memory.JobErase:
		return h.finish(ctx, s, j, h.engine.RunErase(ctx, s, j))
	case memory.JobImport:
		if h.importer != nil {
			result, err := h.importer(ctx, s, j, progress)
			return h.end(ctx, s, j, memory.JobEnd{State: memory.JobDone, Stage: j.Stage, Result: result}, err)
		}
	case memory.JobWebhook:
		if h.hook != nil {
			return h.hook(ctx, s, j)
		}
	case memory.JobFile:
		if h.file != nil {
			return h.finish(ctx, s, j, h.file(ctx, s, j, progress))
		}
	}
	return fault.New(fault.Invalid, "no worker here does jobs of the kind %q; a newer version may have made it", j.Kind)
}

// follow takes one of the slots for decisions that follow their first stage immediately, and returns what
// engine.Stages asks for: the decision is a span below that of the first stage.
func (h *handler) follow(j memory.Job) func(ctx context.Context) (follow context.Context, done func(), ok bool) {
	return func(ctx context.Context) (context.Context, func(), bool) {
		select {
		case h.following <- struct{}{}:
		default:
			return ctx, nil, false
		}
		j.Stage = memory.StageDecide
		ctx, span := h.start(ctx, j)
		return ctx, func() { span.End(); <-h.following }, true
	}
}

// finish ends a job that succeeded. A job that ended itself, or was deleted with its collection,
// has nothing left to end.
func (h *handler) finish(ctx context.Context, s tenant.Scope, j memory.Job, err error) error {
	return h.end(ctx, s, j, memory.JobEnd{State: memory.JobDone, Stage: j.Stage}, err)
}

// end is finish for a job that ends with a result.
func (h *handler) end(ctx context.Context, s tenant.Scope, j memory.Job, end memory.JobEnd, err error) error {
	if err != nil {
		return err
	}
	end.Attempts = j.Attempts
	err = h.store.ReleaseJob(ctx, s, j.ID, j.Lease, end)
	if fault.Is(err, fault.Conflict) || fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// Settle records a failed try, or releases the job when the runner stopped.
func (h *handler) Settle(ctx context.Context, j memory.Job, cause error) error {
	ctx = telemetry.WithTraceparent(ctx, j.Trace) // for the log
	s := jobScope(j.Tenant, j.ID)
	if !errors.Is(cause, queue.ErrStopped) {
		return h.engine.Fail(ctx, s, j, cause)
	}
	err := h.store.ReleaseJob(ctx, s, j.ID, j.Lease, memory.JobEnd{State: memory.JobQueued, Stage: j.Stage, Attempts: j.Attempts, Error: j.Error})
	if fault.Is(err, fault.Conflict) || fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}
