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

// QueuedJob is the condition of a job j that counts as queued for its tenant: that of a note or a message,
// which has not ended. Tasks, such as those that wait for a date, do not count.
const QueuedJob = "j.state IN ('queued', 'running') AND j.stage IN ('prepare', 'decide')"

// ClaimedKinds returns the stage of the jobs j that a claim names, and the condition on their kinds, which an AND
// follows, or "".
func ClaimedKinds(stage memory.Stage) (of memory.Stage, condition string) {
	var kinds []string
	for _, k := range memory.UpkeepKinds() {
		kinds = append(kinds, "'"+string(k)+"'")
	}
	list := " IN (" + strings.Join(kinds, ", ") + ") AND "
	switch stage {
	case memory.StageTask:
		return stage, "j.kind NOT" + list
	case memory.StageUpkeep:
		return memory.StageTask, "j.kind" + list
	case memory.StagePrepare, memory.StageDecide, memory.StageSend:
	}
	return stage, ""
}

// RareKind is the condition of the index of jobs j that are not those of notes and messages, which may be many.
const RareKind = "j.kind NOT IN ('note', 'exchange')"

// JobRows are the rows of jobs. The order of claims is the engines' own.
type JobRows interface {
	// JobByID returns a job of a collection that the scope reaches. While a collection is removed
	// its rows may be gone before its jobs: then only scopes of the whole tenant reach them.
	JobByID(ctx context.Context, s tenant.Scope, id uuid.UUID) (j memory.Job, ok bool, err error)
	// ListJobs lists the jobs of visible collections, newest first.
	ListJobs(ctx context.Context, s tenant.Scope, q memory.JobQuery, now time.Time) ([]memory.Job, error)
	// UnendedJobs lists the jobs of a kind of a collection that wait or run, oldest first; none of a kind that is not RareKind.
	UnendedJobs(ctx context.Context, tenantID, collection uuid.UUID, kind memory.JobKind) ([]memory.Job, error)
	// HasTask reports whether a task of a collection's policy is queued whose payload begins so, up to its arguments.
	HasTask(ctx context.Context, tenantID, collection uuid.UUID, task string) (bool, error)
	// CountJobsBefore counts the jobs of a collection, except tasks, that have not ended and have a
	// lower Seq.
	CountJobsBefore(ctx context.Context, j memory.Job) (int, error)
	// CountWork counts what waits in a collection, task by task if it is due at a time.
	CountWork(ctx context.Context, tenantID, collection uuid.UUID, now time.Time) (memory.Work, error)
	JobWrites
}

// JobWrites add and change jobs.
type JobWrites interface {
	// NextSeq allots the next place in the queue of a collection, under the lock of its head.
	NextSeq(ctx context.Context, tenantID, collection uuid.UUID) (int64, error)
	InsertJob(ctx context.Context, j memory.Job) error
	// RequeueJob makes a job that has ended wait again, at a place, without tries.
	RequeueJob(ctx context.Context, j memory.Job, seq int64) error
	CancelJob(ctx context.Context, j memory.Job, now time.Time) error
	// EndJob applies an end to a job that is held with the lease, else Conflict.
	EndJob(ctx context.Context, tenantID, job, lease uuid.UUID, end memory.JobEnd, now time.Time) error
}

// JobColumns are the columns of jobs j that ScanJob reads.
const JobColumns = `j.tenant, j.id, j.collection, j.note, j.kind, j.stage, j.state, j.seq, j.attempts, j.payload, j.result, j.progress, j.error,
 j.not_before, j.lease, j.lease_until, j.created_at, j.finished_at, j.claims, j.losses, j.alone, j.trace, j.worked`

// ScanJob reads JobColumns.
func ScanJob(row Scanner) (j memory.Job, err error) {
	var worked int64
	err = row.Scan(&j.Tenant, &j.ID, &j.Collection, &j.Note, &j.Kind, &j.Stage, &j.State, &j.Seq, &j.Attempts, JSON(&j.Payload), JSON(&j.Result), JSON(&j.Progress), &j.Error,
		Time(&j.NotBefore), &j.Lease, Time(&j.LeaseUntil), Time(&j.CreatedAt), Time(&j.FinishedAt), &j.Claims, &j.Losses, &j.Alone, &j.Trace, &worked)
	j.Worked = time.Duration(worked) * time.Microsecond
	return j, err
}

// ErrLeaseLost is the fault for a job that is not held with the lease.
var ErrLeaseLost = fault.New(fault.Conflict, "the lease of the job was lost")

func findJob(ctx context.Context, q JobRows, s tenant.Scope, id uuid.UUID) (memory.Job, error) {
	j, ok, err := q.JobByID(ctx, s, id)
	if err == nil && !ok {
		err = fault.Missing("job")
	}
	return j, err
}

// enqueue adds a job at the end of the queue of its collection.
func enqueue(ctx context.Context, q JobRows, tenantID uuid.UUID, j memory.Job, now time.Time) (memory.Job, error) {
	if err := Text("trace", j.Trace); err != nil {
		return j, err
	}
	var err error
	if j.ID == uuid.Nil {
		if j.ID, err = uuid.NewV7(); err != nil {
			return j, err
		}
	}
	if j.Seq, err = q.NextSeq(ctx, tenantID, j.Collection); err != nil {
		return j, err
	}
	j.State, j.Error = cmp.Or(j.State, memory.JobQueued), Clean(j.Error)
	j.Tenant, j.CreatedAt, j.NotBefore = tenantID, now, Micros(j.NotBefore)
	j.Lease, j.LeaseUntil, j.FinishedAt = uuid.Nil, time.Time{}, time.Time{}
	if j.Ended() {
		j.FinishedAt = now
	}
	return j, q.InsertJob(ctx, j)
}

// FinishCopy counts what a copy holds, in its head, and enqueues an adopt job when it holds notes that a job must finish.
func FinishCopy(ctx context.Context, q Session, r *CollectionRow, h *Head, now time.Time) error {
	copied := []memory.Layer{{Collection: r.ID, Bound: h.Revision}}
	var err error
	if h.Counts, err = q.CountVisible(ctx, r.Tenant, copied); err != nil {
		return err
	}
	if h.NextExpiry, err = firstExpiry(ctx, q, r.Tenant, copied, time.Time{}); err != nil {
		return err
	}
	adopt, err := needsAdoption(ctx, q, r.Tenant, r.Policy, h, copied)
	if err != nil || !adopt {
		return err
	}
	_, err = enqueue(ctx, q, r.Tenant, memory.Job{Collection: r.ID, Kind: memory.JobAdopt, Stage: memory.StageTask}, now)
	return err
}

// endJob ends a job that is held with the lease, or gives it back.
func endJob(ctx context.Context, q Session, s tenant.Scope, job, lease uuid.UUID, end memory.JobEnd, now time.Time) error {
	if end.Awaits != uuid.Nil {
		q.LockJob(s.Tenant(), end.Awaits) // it ends before this is written, or wakes what this writes
		awaited, ok, err := q.JobByID(ctx, s, end.Awaits)
		if err != nil {
			return err
		}
		if !ok || awaited.Ended() {
			end.Awaits, end.NotBefore = uuid.Nil, time.Time{}
		}
	}
	return q.EndJob(ctx, s.Tenant(), job, lease, end, now)
}

// FinishedAt checks how a job ends, and returns when it has finished: zero when it waits again.
func FinishedAt(end *memory.JobEnd, now time.Time) (time.Time, error) {
	end.Error, end.NotBefore = Clean(end.Error), Micros(end.NotBefore)
	switch end.State {
	case memory.JobQueued:
		return time.Time{}, nil
	case memory.JobDone, memory.JobFailed, memory.JobDead, memory.JobCanceled:
		return now, nil
	case memory.JobRunning, memory.JobScheduled:
	}
	return time.Time{}, fault.New(fault.Internal, "a job cannot be ended as %q", end.State)
}

// Job implements memory.Queue.
func (b *Base) Job(ctx context.Context, s tenant.Scope, id uuid.UUID) (memory.Job, error) {
	return read(ctx, b, s, func(ctx context.Context, q Session) (memory.Job, error) {
		return findJob(ctx, q, s, id)
	})
}

// ListJobs implements memory.Queue.
func (b *Base) ListJobs(ctx context.Context, s tenant.Scope, jq memory.JobQuery) ([]memory.Job, error) {
	return read(ctx, b, s, func(ctx context.Context, q Session) ([]memory.Job, error) {
		if jq.Collection != uuid.Nil {
			if _, err := ReachVisible(ctx, q, s, jq.Collection, b.now()); err != nil {
				return nil, err
			}
		}
		return q.ListJobs(ctx, s, jq, b.now())
	})
}

// JobsAhead implements memory.Queue.
func (b *Base) JobsAhead(ctx context.Context, s tenant.Scope, id uuid.UUID) (j memory.Job, ahead int, err error) {
	if err := s.Check(); err != nil {
		return j, 0, err
	}
	err = b.transactions.Reading(ctx, s.Tenant(), func(ctx context.Context, q Session) error {
		if j, err = findJob(ctx, q, s, id); err != nil || j.Ended() {
			return err
		}
		ahead, err = q.CountJobsBefore(ctx, j)
		return err
	})
	return j, ahead, err
}

// Work implements memory.Queue.
func (b *Base) Work(ctx context.Context, s tenant.Scope, v memory.View) (memory.Work, error) {
	return readView(ctx, b, s, &v, func(ctx context.Context, q Session) (memory.Work, error) {
		return q.CountWork(ctx, s.Tenant(), v.Collection.ID, b.now())
	})
}

// Names of counts that are of no stage.
const (
	countEmbedding = "embedding"
	countDead      = "dead"
)

// WorkParts are what the engines say differently: jobs read by an index, the condition that a task is due, and the payload as text. The
// parameters 1 and 2 are tenant and collection, 3 what is said with each statement.
type WorkParts struct {
	From               func(index string) string
	Parameter          string // the prefix of parameters
	Due, PayloadAsText string
}

func (p *WorkParts) of() string {
	return "tenant = " + p.Parameter + "1 AND collection = " + p.Parameter + "2"
}

// Counts selects what waits: the stage and the number. Parameter 3 is the time at which tasks are due.
func (p *WorkParts) Counts() string {
	const open = " AND state IN ('queued', 'running') AND "
	waiting := p.From("jobs_waiting") + " WHERE " + p.of() + open
	return "SELECT stage, COUNT(*) FROM " + waiting + "stage IN ('prepare', 'decide') GROUP BY stage" +
		" UNION ALL SELECT 'task', COUNT(*) FROM " + waiting + "stage = 'task' AND " + p.Due +
		" UNION ALL SELECT '" + countEmbedding + "', COUNT(*) FROM " + p.From("jobs_embedding") + " WHERE " + p.of() + open + p.PayloadAsText + ` = '{"embed_only":true}'` +
		" UNION ALL SELECT '" + countDead + "', COUNT(*) FROM " + p.From("jobs_dead") + " WHERE " + p.of() + " AND state = 'dead'"
}

// lastEnded is how many jobs a rate is taken from.
const lastEnded = "64"

// Ended selects how many of the last jobs before the first that waits were done, and when the first and the last of them ended. Parameter
// 3 is the stage of the one that waits; those that are tried again are left out, as others overtake them.
func (p *WorkParts) Ended() string {
	return "SELECT n, since, until FROM (SELECT COUNT(*) AS n, MIN(finished_at) AS since, MAX(finished_at) AS until FROM (" +
		"SELECT finished_at, state, stage FROM " + p.From("jobs_collection") + " WHERE " + p.of() + " AND id < (SELECT id FROM " + p.From("jobs_waiting") + " WHERE " + p.of() +
		" AND stage = " + p.Parameter + "3 AND state IN ('queued', 'running') AND attempts = 0 ORDER BY seq LIMIT 1) ORDER BY id DESC LIMIT " + lastEnded +
		") page WHERE state = 'done' AND stage IN ('prepare', 'decide')) page WHERE n > 0"
}

// AddCount adds a row of WorkCounts.
func AddCount(w *memory.Work, name string, n int64) {
	switch name {
	case string(memory.StagePrepare):
		w.Description += n
	case string(memory.StageDecide):
		w.Links = n
	case string(memory.StageTask):
		w.Policy = n
	case countEmbedding:
		w.Vectors = n
		w.Description -= n
	case countDead:
		w.Dead = n
	}
}

// FirstStage returns the stage whose first job waits for those that ended last; ok is false when none waits.
func FirstStage(w *memory.Work) (stage memory.Stage, ok bool) {
	if w.Links > 0 {
		return memory.StageDecide, true
	}
	return memory.StagePrepare, w.Description+w.Vectors > 0
}

// RetryJob implements memory.Queue.
func (b *Base) RetryJob(ctx context.Context, s tenant.Scope, id uuid.UUID, audit memory.AuditEntry) (memory.Job, error) {
	return b.changeJob(ctx, s, id, audit, func(ctx context.Context, q Session, j memory.Job) error {
		if j.State == memory.JobDone || !j.Ended() && !j.WaitsForRetry(b.now()) {
			return fault.New(fault.Conflict, "the job is %s; only a dead, failed or cancelled one, or one that waits for its next try, is tried again", j.State)
		}
		seq, err := q.NextSeq(ctx, j.Tenant, j.Collection)
		if err != nil {
			return err
		}
		return q.RequeueJob(ctx, j, seq)
	})
}

// CancelJob implements memory.Queue.
func (b *Base) CancelJob(ctx context.Context, s tenant.Scope, id uuid.UUID, audit memory.AuditEntry) (memory.Job, error) {
	return b.changeJob(ctx, s, id, audit, func(ctx context.Context, q Session, j memory.Job) error {
		if j.Ended() {
			return fault.New(fault.Conflict, "the job is %s already", j.State)
		}
		return q.CancelJob(ctx, j, b.now())
	})
}

// changeJob calls fn with a job of a visible collection and returns the job as it is then. The
// head of the collection is locked first, as by a write that ends the job, then the job.
func (b *Base) changeJob(ctx context.Context, s tenant.Scope, id uuid.UUID, audit memory.AuditEntry, fn func(context.Context, Session, memory.Job) error) (j memory.Job, err error) {
	err = b.write(ctx, s, func(ctx context.Context, q Session) error {
		if j, err = findJob(ctx, q, s, id); err != nil {
			return err
		}
		q.LockHead(s.Tenant(), j.Collection)
		if _, err := ReachVisible(ctx, q, s, j.Collection, b.now()); err != nil {
			if fault.Is(err, fault.NotFound) {
				return fault.Missing("job")
			}
			return err
		}
		q.LockJob(s.Tenant(), id)
		if j, err = findJob(ctx, q, s, id); err != nil {
			return err
		}
		if err := fn(ctx, q, j); err != nil {
			return err
		}
		if err := auditTarget(ctx, q, s, id, audit, b.now()); err != nil {
			return err
		}
		j, err = findJob(ctx, q, s, id)
		return err
	})
	if err != nil {
		return memory.Job{}, err
	}
	return j, nil
}
