package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

const jobColumns = `j.tenant, j.id, j.collection, j.note, j.kind, j.stage, j.state, j.seq, j.attempts, j.payload, j.result, j.progress, j.error,
 j.not_before, j.lease, j.lease_until, j.created_at, j.finished_at, j.claims, j.trace`

func scanJob(rows interface{ Scan(...any) error }) (j memory.Job, err error) {
	var payload, result, progress string
	var notBefore, until, created, finished int64
	err = rows.Scan(&j.Tenant, &j.ID, &j.Collection, &j.Note, &j.Kind, &j.Stage, &j.State, &j.Seq, &j.Attempts, &payload, &result, &progress, &j.Error,
		&notBefore, &j.Lease, &until, &created, &finished, &j.Claims, &j.Trace)
	if err != nil {
		return j, err
	}
	j.Payload, j.Result = rawOf(payload), rawOf(result)
	j.NotBefore, j.LeaseUntil, j.CreatedAt, j.FinishedAt = timeOf(notBefore), timeOf(until), timeOf(created), timeOf(finished)
	if progress != "" {
		j.Progress = new(memory.Progress)
		err = json.Unmarshal([]byte(progress), j.Progress)
	}
	return j, err
}

func (q *session) jobs(ctx context.Context, text string, args ...any) (out []memory.Job, err error) {
	err = q.each(ctx, text, args, func(rows *sql.Rows) error {
		j, err := scanJob(rows)
		out = append(out, j)
		return err
	})
	return out, err
}

// seq allots the next place in the queue of a collection.
func (q *session) seq(ctx context.Context, tenantID, collection uuid.UUID) (n int64, err error) {
	ok, err := q.get(ctx, "UPDATE collection_heads SET job_seq = job_seq + 1 WHERE tenant = ? AND collection = ? RETURNING job_seq",
		[]any{blob(tenantID), blob(collection)}, &n)
	if err == nil && !ok {
		err = fault.Missing("collection")
	}
	return n, err
}

func (q *session) enqueue(ctx context.Context, tenantID uuid.UUID, j memory.Job, now time.Time) (memory.Job, error) {
	if err := store.Text("trace", j.Trace); err != nil {
		return j, err
	}
	var err error
	j.Error = store.Clean(j.Error)
	if j.ID == uuid.Nil {
		if j.ID, err = uuid.NewV7(); err != nil {
			return j, err
		}
	}
	if j.Seq, err = q.seq(ctx, tenantID, j.Collection); err != nil {
		return j, err
	}
	if j.State == "" {
		j.State = memory.JobQueued
	}
	progress := ""
	if j.Progress != nil {
		if progress, err = store.Document("progress", j.Progress); err != nil {
			return j, err
		}
	}
	j.Tenant, j.CreatedAt, j.NotBefore = tenantID, now, trunc(j.NotBefore)
	j.Lease, j.LeaseUntil, j.FinishedAt = uuid.Nil, time.Time{}, time.Time{}
	if j.Ended() {
		j.FinishedAt = now
	}
	_, err = q.exec(ctx, `INSERT INTO jobs (tenant, id, collection, note, kind, stage, state, seq, attempts, payload, result, progress, error,
 not_before, lease, lease_until, created_at, finished_at, trace) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?)`,
		blob(tenantID), blob(j.ID), blob(j.Collection), blob(j.Note), string(j.Kind), string(j.Stage), string(j.State), j.Seq, j.Attempts,
		string(j.Payload), string(j.Result), progress, j.Error, micros(j.NotBefore), blob(uuid.Nil), micros(now), micros(j.FinishedAt), j.Trace)
	return j, err
}

// claimable is the condition for a job j that could be leased at a time, the
// parameter, if no rule of order forbade it: it waits, or its lease is over.
const claimable = "(j.state = 'queued' AND j.not_before <= ?1 OR j.state = 'running' AND j.lease_until <= ?1)"

// Of the decides of a collection only the first may be leased, and only in
// order: while no other is held, and none before it is still prepared without
// a failed try. One that waits after a failed try is passed over; one that
// waits without any, for an endpoint that is not asked now, keeps its place.
// Each look reads a few rows, however many jobs wait; these conditions say so
// for a collection and a seq.
const (
	inLine       = "(" + claimable + " OR j.state = 'queued' AND j.attempts = 0)"
	nonePrepared = `NOT EXISTS (SELECT 1 FROM jobs o WHERE o.tenant = c.tenant AND o.collection = c.collection AND o.stage = 'prepare' AND o.seq < c.first
  AND o.state IN ('queued', 'running') AND o.attempts = 0)`
	noneHeld = `NOT EXISTS (SELECT 1 FROM jobs o INDEXED BY jobs_running WHERE o.tenant = c.tenant AND o.collection = c.collection AND o.stage = 'decide'
  AND o.state = 'running' AND o.lease_until > ?1)`
	firstDecide = `SELECT j.seq FROM jobs j INDEXED BY jobs_waiting WHERE j.tenant = w.tenant AND j.collection = w.collection AND j.stage = 'decide'
  AND j.state IN ('queued', 'running') AND ` + inLine + ` ORDER BY j.seq LIMIT 1`
	firstIsDue = `EXISTS (SELECT 1 FROM jobs j INDEXED BY jobs_waiting WHERE j.tenant = c.tenant AND j.collection = c.collection AND j.stage = 'decide'
  AND j.seq = c.first AND j.state IN ('queued', 'running') AND ` + claimable + ")"
)

// DueCollections implements memory.Queue. Where there are more than asked for
// chance chooses, so that none is left out for long.
func (s *Store) DueCollections(ctx context.Context, now time.Time, n int) ([]memory.Due, error) {
	return s.due(ctx, `WITH c AS MATERIALIZED (
 SELECT w.tenant, w.collection, (`+firstDecide+`) AS first,
  EXISTS (SELECT 1 FROM jobs j INDEXED BY jobs_waiting WHERE j.tenant = w.tenant AND j.collection = w.collection AND j.stage IN ('prepare', 'task')
   AND j.state IN ('queued', 'running') AND `+claimable+`) AS other
 FROM (SELECT DISTINCT tenant, collection FROM jobs INDEXED BY jobs_waiting WHERE state IN ('queued', 'running')) w)
SELECT c.tenant, c.collection FROM c WHERE c.other OR c.first IS NOT NULL AND `+firstIsDue+" AND "+noneHeld+" AND "+nonePrepared+`
 ORDER BY random() LIMIT ?2`, micros(now), limit(n))
}

// NextDue implements memory.Queue.
func (s *Store) NextDue(ctx context.Context) (t time.Time, err error) {
	err = s.reading(ctx, func(ctx context.Context, q *session) error {
		var at *int64
		_, err := q.get(ctx, "SELECT MIN(CASE state WHEN 'queued' THEN MAX(not_before, 1) ELSE MAX(lease_until, 1) END) FROM jobs WHERE state IN ('queued', 'running')", nil, &at)
		t = eventOf(at)
		return err
	})
	return t, err
}

// Backlog implements memory.Queue.
func (s *Store) Backlog(ctx context.Context) (out []memory.Backlog, err error) {
	// The first condition is that of an index, without which all jobs would be read.
	const text = "SELECT COUNT(*), MIN(created_at) FROM jobs WHERE state IN ('queued', 'running') AND state = 'queued' AND stage = ?"
	err = s.reading(ctx, func(ctx context.Context, q *session) error {
		out = nil
		for _, stage := range memory.Stages() {
			b := memory.Backlog{Stage: stage}
			var oldest *int64
			if _, err := q.get(ctx, text, []any{string(stage)}, &b.Waiting, &oldest); err != nil {
				return err
			}
			b.Oldest = eventOf(oldest)
			out = append(out, b)
		}
		return nil
	})
	return out, err
}

// ClaimJobs implements memory.Queue.
func (s *Store) ClaimJobs(ctx context.Context, sc tenant.Scope, collection uuid.UUID, stage memory.Stage, lease uuid.UUID, until time.Time, n int) (out []memory.Job, err error) {
	if err := sc.Check(); err != nil {
		return nil, err
	}
	if lease == uuid.Nil {
		return nil, fault.InvalidField("lease", "is required")
	}
	err = s.writing(ctx, func(ctx context.Context, q *session) error {
		out = nil
		now := s.now()
		if err := q.reachJobs(ctx, sc, collection); err != nil {
			return err
		}
		const waiting = " FROM jobs j WHERE j.tenant = ?2 AND j.collection = ?3 AND j.stage = ?4 AND j.state IN ('queued', 'running') AND "
		text := "SELECT " + jobColumns + waiting + claimable + " ORDER BY j.seq LIMIT ?5"
		if stage == memory.StageDecide {
			text = "SELECT " + jobColumns + " FROM (SELECT j.*, j.seq AS first" + waiting + inLine + " ORDER BY j.seq LIMIT ?5) c JOIN jobs j ON j.tenant = c.tenant AND j.id = c.id WHERE " +
				claimable + " AND " + noneHeld + " AND " + nonePrepared
			n = 1
		}
		jobs, err := q.jobs(ctx, text, micros(now), blob(sc.Tenant()), blob(collection), string(stage), limit(n))
		if err != nil || len(jobs) == 0 {
			return orDone(err)
		}
		for _, j := range jobs {
			_, err := q.exec(ctx, "UPDATE jobs SET state = 'running', lease = ?, lease_until = ?, claims = claims + 1 WHERE tenant = ? AND id = ?",
				blob(lease), micros(until), blob(sc.Tenant()), blob(j.ID))
			if err != nil {
				return err
			}
			j.State, j.Lease, j.LeaseUntil, j.Claims = memory.JobRunning, lease, trunc(until), j.Claims+1
			out = append(out, j)
		}
		return nil
	})
	return out, err
}

func orDone(err error) error {
	if err == nil {
		return errDone
	}
	return err
}

// reachJobs is reach for the jobs of a collection, whose rows may be gone
// while its removal is still being finished.
func (q *session) reachJobs(ctx context.Context, sc tenant.Scope, collection uuid.UUID) error {
	r, ok, err := q.collection(ctx, sc.Tenant(), collection)
	if err != nil {
		return err
	}
	if ok {
		if !sc.Reaches(r.Agent) {
			return fault.Missing("collection")
		}
		return nil
	}
	var one int
	ok, err = q.get(ctx, "SELECT 1 FROM jobs WHERE tenant = ? AND collection = ? LIMIT 1", []any{blob(sc.Tenant()), blob(collection)}, &one)
	if err == nil && (!ok || sc.HasAgent()) {
		err = fault.Missing("collection")
	}
	return err
}

// job finds a job that the scope reaches.
func (q *session) job(ctx context.Context, sc tenant.Scope, id uuid.UUID) (j memory.Job, err error) {
	jobs, err := q.jobs(ctx, "SELECT "+jobColumns+" FROM jobs j WHERE j.tenant = ? AND j.id = ?", blob(sc.Tenant()), blob(id))
	if err != nil {
		return j, err
	}
	if len(jobs) == 0 || q.reachJobs(ctx, sc, jobs[0].Collection) != nil {
		return j, fault.Missing("job")
	}
	return jobs[0], nil
}

var errLeaseLost = fault.New(fault.Conflict, "the lease of the job was lost")

// leased changes a job that is held with the lease.
func (s *Store) leased(ctx context.Context, sc tenant.Scope, job, lease uuid.UUID, fn func(context.Context, *session, memory.Job) error) error {
	if err := sc.Check(); err != nil {
		return err
	}
	return s.writing(ctx, func(ctx context.Context, q *session) error {
		j, err := q.job(ctx, sc, job)
		if err != nil {
			return err
		}
		if j.State != memory.JobRunning || j.Lease != lease || lease == uuid.Nil {
			return errLeaseLost
		}
		return fn(ctx, q, j)
	})
}

// Heartbeat implements memory.Queue. A lease that ran out and was taken by
// nobody is held again.
func (s *Store) Heartbeat(ctx context.Context, sc tenant.Scope, job, lease uuid.UUID, until time.Time) error {
	return s.leased(ctx, sc, job, lease, func(ctx context.Context, q *session, j memory.Job) error {
		_, err := q.exec(ctx, "UPDATE jobs SET lease_until = ? WHERE tenant = ? AND id = ?", micros(until), blob(j.Tenant), blob(j.ID))
		return err
	})
}

// SetProgress implements memory.Queue.
func (s *Store) SetProgress(ctx context.Context, sc tenant.Scope, job, lease uuid.UUID, p memory.Progress) error {
	return s.leased(ctx, sc, job, lease, func(ctx context.Context, q *session, j memory.Job) error {
		doc, err := store.Document("progress", p)
		if err != nil {
			return err
		}
		_, err = q.exec(ctx, "UPDATE jobs SET progress = ? WHERE tenant = ? AND id = ?", doc, blob(j.Tenant), blob(j.ID))
		return err
	})
}

// ReleaseJob implements memory.Queue.
func (s *Store) ReleaseJob(ctx context.Context, sc tenant.Scope, job, lease uuid.UUID, end memory.JobEnd) error {
	return s.leased(ctx, sc, job, lease, func(ctx context.Context, q *session, j memory.Job) error {
		if err := q.endJob(ctx, j.Tenant, job, lease, end, s.now()); err != nil {
			return err
		}
		// The job that removed a collection goes last of all its rows.
		_, err := q.exec(ctx, `DELETE FROM jobs WHERE tenant = ?1 AND id = ?2 AND state NOT IN ('queued', 'running')
 AND NOT EXISTS (SELECT 1 FROM collections c WHERE c.tenant = ?1 AND c.id = jobs.collection)`, blob(j.Tenant), blob(j.ID))
		return err
	})
}

// endJob applies an end to a job held with the lease.
func (q *session) endJob(ctx context.Context, tenantID, job, lease uuid.UUID, end memory.JobEnd, now time.Time) error {
	j := memory.Job{State: end.State}
	switch end.State {
	case memory.JobQueued, memory.JobDone, memory.JobFailed, memory.JobDead, memory.JobCancelled:
	default:
		return fault.New(fault.Internal, "a job cannot be ended as %q", end.State)
	}
	finished := int64(0)
	if j.Ended() {
		finished = micros(now)
	}
	n, err := q.exec(ctx, `UPDATE jobs SET state = ?, stage = CASE ?2 WHEN '' THEN stage ELSE ?2 END, payload = CASE ?3 WHEN '' THEN payload ELSE ?3 END,
 result = CASE ?4 WHEN '' THEN result ELSE ?4 END, error = ?5, not_before = ?6, attempts = ?7, finished_at = ?8, lease = zeroblob(16), lease_until = 0, claims = 0
 WHERE tenant = ?9 AND id = ?10 AND state = 'running' AND lease = ?11`,
		string(end.State), string(end.Stage), string(end.Payload), string(end.Result), store.Clean(end.Error), micros(trunc(end.NotBefore)), end.Attempts, finished,
		blob(tenantID), blob(job), blob(lease))
	if err == nil && n == 0 {
		err = errLeaseLost
	}
	return err
}

// VoidLeases implements memory.Queue.
func (s *Store) VoidLeases(ctx context.Context) (n int, err error) {
	err = s.writing(ctx, func(ctx context.Context, q *session) error {
		changed, err := q.exec(ctx, "UPDATE jobs SET state = 'queued', lease = zeroblob(16), lease_until = 0 WHERE state = 'running'")
		n = int(changed)
		return err
	})
	return n, err
}

// Job implements memory.Queue.
func (s *Store) Job(ctx context.Context, sc tenant.Scope, id uuid.UUID) (j memory.Job, err error) {
	if err := sc.Check(); err != nil {
		return j, err
	}
	err = s.reading(ctx, func(ctx context.Context, q *session) error {
		j, err = q.job(ctx, sc, id)
		return err
	})
	return j, err
}

// ListJobs implements memory.Queue.
func (s *Store) ListJobs(ctx context.Context, sc tenant.Scope, jq memory.JobQuery) (out []memory.Job, err error) {
	if err := sc.Check(); err != nil {
		return nil, err
	}
	text := "SELECT " + jobColumns + " FROM jobs j JOIN collections c ON c.tenant = j.tenant AND c.id = j.collection WHERE j.tenant = ? AND " + visibleCollections
	args := []any{blob(sc.Tenant()), micros(s.now())}
	if sc.HasAgent() {
		text += " AND c.agent IN (?, zeroblob(16))"
		args = append(args, blob(sc.Agent()))
	}
	if jq.Collection != uuid.Nil {
		text += " AND j.collection = ?"
		args = append(args, blob(jq.Collection))
	}
	if jq.State != "" {
		text += " AND j.state = ?"
		args = append(args, string(jq.State))
	}
	if jq.Note != uuid.Nil {
		text += " AND j.note = ? AND j.note <> zeroblob(16)"
		args = append(args, blob(jq.Note))
	}
	if jq.Before != uuid.Nil {
		text += " AND j.id < ?"
		args = append(args, blob(jq.Before))
	}
	args = append(args, limit(jq.Limit))
	err = s.reading(ctx, func(ctx context.Context, q *session) error {
		if jq.Collection != uuid.Nil {
			if _, err := q.live(ctx, sc, jq.Collection, s.now()); err != nil {
				return err
			}
		}
		out, err = q.jobs(ctx, text+" ORDER BY j.id DESC LIMIT ?", args...)
		return err
	})
	return out, err
}

// JobsAhead implements memory.Queue.
func (s *Store) JobsAhead(ctx context.Context, sc tenant.Scope, id uuid.UUID) (n int, err error) {
	if err := sc.Check(); err != nil {
		return 0, err
	}
	err = s.reading(ctx, func(ctx context.Context, q *session) error {
		j, err := q.job(ctx, sc, id)
		if err != nil {
			return err
		}
		_, err = q.get(ctx, "SELECT COUNT(*) FROM jobs WHERE tenant = ? AND collection = ? AND stage <> ? AND seq < ? AND state IN ('queued', 'running')",
			[]any{blob(j.Tenant), blob(j.Collection), string(memory.StageTask), j.Seq}, &n)
		return err
	})
	return n, err
}

// RetryJob implements memory.Queue.
func (s *Store) RetryJob(ctx context.Context, sc tenant.Scope, id uuid.UUID, audit memory.AuditEntry) (memory.Job, error) {
	return s.changeJob(ctx, sc, id, audit, func(ctx context.Context, q *session, j memory.Job) error {
		if !j.Ended() || j.State == memory.JobDone {
			return fault.New(fault.Conflict, "the job is %s; only a dead, failed or cancelled one is tried again", j.State)
		}
		seq, err := q.seq(ctx, j.Tenant, j.Collection)
		if err != nil {
			return err
		}
		_, err = q.exec(ctx, "UPDATE jobs SET state = 'queued', seq = ?, attempts = 0, error = '', not_before = 0, finished_at = 0 WHERE tenant = ? AND id = ?",
			seq, blob(j.Tenant), blob(j.ID))
		return err
	})
}

// CancelJob implements memory.Queue.
func (s *Store) CancelJob(ctx context.Context, sc tenant.Scope, id uuid.UUID, audit memory.AuditEntry) (memory.Job, error) {
	return s.changeJob(ctx, sc, id, audit, func(ctx context.Context, q *session, j memory.Job) error {
		if j.Ended() {
			return fault.New(fault.Conflict, "the job is %s already", j.State)
		}
		_, err := q.exec(ctx, "UPDATE jobs SET state = 'cancelled', lease = zeroblob(16), lease_until = 0, finished_at = ? WHERE tenant = ? AND id = ?",
			micros(s.now()), blob(j.Tenant), blob(j.ID))
		return err
	})
}

func (s *Store) changeJob(ctx context.Context, sc tenant.Scope, id uuid.UUID, audit memory.AuditEntry, fn func(context.Context, *session, memory.Job) error) (j memory.Job, err error) {
	if err := sc.Check(); err != nil {
		return j, err
	}
	err = s.writing(ctx, func(ctx context.Context, q *session) error {
		if j, err = q.job(ctx, sc, id); err != nil {
			return err
		}
		if _, err := q.live(ctx, sc, j.Collection, s.now()); err != nil {
			return fault.Missing("job")
		}
		if err := fn(ctx, q, j); err != nil {
			return err
		}
		audit.Target = cmp.Or(audit.Target, id.String())
		if err := q.audit(ctx, sc, s.now(), audit); err != nil {
			return err
		}
		j, err = q.job(ctx, sc, id)
		return err
	})
	if err != nil {
		return memory.Job{}, err
	}
	return j, nil
}
