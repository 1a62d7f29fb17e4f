package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func (q *session) jobs(ctx context.Context, text string, args ...any) ([]memory.Job, error) {
	return collect(ctx, q, text, args, store.ScanJob)
}

// NextSeq implements store.JobWrites.
func (q *session) NextSeq(ctx context.Context, tenantID, collection uuid.UUID) (n int64, err error) {
	ok, err := q.get(ctx, "UPDATE collection_heads SET job_seq = job_seq + 1 WHERE tenant = ? AND collection = ? RETURNING job_seq",
		[]any{tenantID, collection}, &n)
	if err == nil && !ok {
		err = fault.Missing("collection")
	}
	return n, err
}

// InsertJob implements store.JobWrites.
func (q *session) InsertJob(ctx context.Context, j memory.Job) error {
	progress := ""
	if j.Progress != nil {
		var err error
		if progress, err = store.Document("progress", j.Progress); err != nil {
			return err
		}
	}
	_, err := q.exec(ctx, `INSERT INTO jobs (tenant, id, collection, note, kind, stage, state, seq, attempts, payload, result, progress, error,
 not_before, lease, lease_until, created_at, finished_at, trace) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, zeroblob(16), 0, ?, ?, ?)`,
		j.Tenant, j.ID, j.Collection, j.Note, j.Kind, j.Stage, j.State, j.Seq, j.Attempts, j.Payload, j.Result, progress, j.Error,
		j.NotBefore, j.CreatedAt, j.FinishedAt, j.Trace)
	return err
}

// claimable is the condition that a job j could be leased at a time, ?1, if no rule of order
// forbade it: it waits, or its lease has expired.
const claimable = "(j.state = 'queued' AND j.not_before <= ?1 OR j.state = 'running' AND j.lease_until <= ?1)"

// Of the decides of a collection, only the first may be leased, and only in order: while no other
// decide is leased, and no earlier job is still to be prepared for the first time. A decide that
// waits after a failed try or a lost lease is skipped; one that waits without any (for an endpoint
// that is paused) keeps its place. Each subquery reads a few rows, however many jobs wait. These are the
// conditions, for a collection and a seq.
const (
	inLine       = "(" + claimable + " OR j.state = 'queued' AND j.attempts = 0 AND j.losses = 0)"
	nonePrepared = `NOT EXISTS (SELECT 1 FROM jobs o WHERE o.tenant = c.tenant AND o.collection = c.collection AND o.stage = 'prepare' AND o.seq < c.first
  AND o.state IN ('queued', 'running') AND o.attempts = 0 AND o.losses = 0)`
	noneHeld = `NOT EXISTS (SELECT 1 FROM jobs o INDEXED BY jobs_running WHERE o.tenant = c.tenant AND o.collection = c.collection AND o.stage = 'decide'
  AND o.state = 'running' AND o.lease_until > ?1)`
	firstDecide = `SELECT j.seq FROM jobs j INDEXED BY jobs_waiting WHERE j.tenant = w.tenant AND j.collection = w.collection AND j.stage = 'decide'
  AND j.state IN ('queued', 'running') AND ` + inLine + ` ORDER BY j.seq LIMIT 1`
	firstIsDue = `EXISTS (SELECT 1 FROM jobs j INDEXED BY jobs_waiting WHERE j.tenant = c.tenant AND j.collection = c.collection AND j.stage = 'decide'
  AND j.seq = c.first AND j.state IN ('queued', 'running') AND ` + claimable + ")"
)

// DueCollections implements memory.Queue. When there are more than asked for, each tenant has its part of
// them, and they are chosen at random, so that neither a tenant nor a collection starves.
func (s *Store) DueCollections(ctx context.Context, now time.Time, n int) ([]memory.Due, error) {
	return s.due(ctx, `WITH c AS MATERIALIZED (
 SELECT w.tenant, w.collection, (`+firstDecide+`) AS first,
  EXISTS (SELECT 1 FROM jobs j INDEXED BY jobs_waiting WHERE j.tenant = w.tenant AND j.collection = w.collection AND j.stage IN ('prepare', 'task', 'send')
   AND j.state IN ('queued', 'running') AND `+claimable+`) AS other
 FROM (SELECT DISTINCT tenant, collection FROM jobs INDEXED BY jobs_waiting WHERE state IN ('queued', 'running')) w)
SELECT c.tenant, c.collection FROM c WHERE c.other OR c.first IS NOT NULL AND `+firstIsDue+" AND "+noneHeld+" AND "+nonePrepared+`
 ORDER BY row_number() OVER (PARTITION BY c.tenant ORDER BY random()), random() LIMIT +?2`, now, limit(n))
}

// NextDue implements memory.Queue.
func (s *Store) NextDue(ctx context.Context) (t time.Time, err error) {
	err = s.reading(ctx, uuid.Nil, func(ctx context.Context, q *session) error {
		_, err := q.get(ctx, "SELECT MIN(CASE state WHEN 'queued' THEN MAX(not_before, 1) ELSE MAX(lease_until, 1) END) FROM jobs WHERE state IN ('queued', 'running')", nil, store.Time(&t))
		return err
	})
	return t, err
}

// Backlog implements memory.Queue.
func (s *Store) Backlog(ctx context.Context, now time.Time) (out []memory.Backlog, err error) {
	// The first condition is that of an index, without which all jobs would be read.
	const text = `SELECT COUNT(*), MIN(MAX(created_at, not_before)) FROM jobs
 WHERE state IN ('queued', 'running') AND state = 'queued' AND stage = ?1 AND not_before <= ?2`
	err = s.reading(ctx, uuid.Nil, func(ctx context.Context, q *session) error {
		out = nil
		for _, stage := range memory.Stages() {
			b := memory.Backlog{Stage: stage}
			if _, err := q.get(ctx, text, []any{string(stage), now}, &b.Waiting, store.Time(&b.Oldest)); err != nil {
				return err
			}
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
	err = s.noting(ctx, ofJob(sc.Tenant()), func(ctx context.Context, q *session) error {
		out = nil
		now := s.now()
		if err := q.reachJobs(ctx, sc, collection); err != nil {
			return err
		}
		of, kinds := store.ClaimedKinds(stage)
		waiting := " FROM jobs j WHERE j.tenant = ?2 AND j.collection = ?3 AND j.stage = ?4 AND j.state IN ('queued', 'running') AND " + kinds
		text := "SELECT " + store.JobColumns + waiting + claimable + " ORDER BY j.seq LIMIT +?5"
		if stage == memory.StageDecide {
			text = "SELECT " + store.JobColumns + " FROM (SELECT j.*, j.seq AS first" + waiting + inLine + " ORDER BY j.seq LIMIT +?5) c JOIN jobs j ON j.tenant = c.tenant AND j.id = c.id WHERE " +
				claimable + " AND " + noneHeld + " AND " + nonePrepared
			n = 1
		}
		jobs, err := q.jobs(ctx, text, now, sc.Tenant(), collection, string(of), limit(n))
		if err != nil || len(jobs) == 0 {
			return orDone(err)
		}
		for _, j := range jobs {
			_, err := q.exec(ctx, "UPDATE jobs SET state = 'running', lease = ?, lease_until = ?, claims = claims + 1, claimed_at = ? WHERE tenant = ? AND id = ?",
				lease, until, now, sc.Tenant(), j.ID)
			if err != nil {
				return err
			}
			j.State, j.Lease, j.LeaseUntil, j.Claims = memory.JobRunning, lease, store.Micros(until), j.Claims+1
			out = append(out, j)
		}
		return nil
	})
	return out, err
}

func orDone(err error) error {
	if err == nil {
		return store.ErrRollback
	}
	return err
}

// reachJobs returns NotFound unless the scope reaches the jobs of a collection. While the
// collection is being removed, its rows may be gone.
func (q *session) reachJobs(ctx context.Context, sc tenant.Scope, collection uuid.UUID) error {
	r, ok, err := q.Collection(ctx, sc.Tenant(), collection)
	if err != nil {
		return err
	}
	if ok {
		if !r.ReachedBy(sc) {
			return fault.Missing("collection")
		}
		return nil
	}
	var one int
	ok, err = q.get(ctx, "SELECT 1 FROM jobs WHERE tenant = ? AND collection = ? LIMIT 1", []any{sc.Tenant(), collection}, &one)
	if err == nil && (!ok || !sc.IsWhole()) {
		err = fault.Missing("collection")
	}
	return err
}

// JobByID implements store.JobRows.
func (q *session) JobByID(ctx context.Context, s tenant.Scope, id uuid.UUID) (j memory.Job, ok bool, err error) {
	j, ok, err = store.First(q.jobs(ctx, "SELECT "+store.JobColumns+" FROM jobs j WHERE j.tenant = ? AND j.id = ?", s.Tenant(), id))
	if err != nil || !ok {
		return j, false, err
	}
	err = q.reachJobs(ctx, s, j.Collection)
	if fault.Is(err, fault.NotFound) {
		return memory.Job{}, false, nil
	}
	return j, err == nil, err
}

// transactionOf runs fn in a write transaction: writing or noting.
type transactionOf func(ctx context.Context, t turn, fn func(context.Context, *session) error) error

// withLease calls fn with a job that is held with the lease.
func (s *Store) withLease(ctx context.Context, t turn, sc tenant.Scope, job, lease uuid.UUID, write transactionOf, fn func(context.Context, *session, memory.Job) error) error {
	if err := sc.Check(); err != nil {
		return err
	}
	return write(ctx, t, func(ctx context.Context, q *session) error {
		j, ok, err := q.JobByID(ctx, sc, job)
		if err == nil && !ok {
			err = fault.Missing("job")
		}
		if err != nil {
			return err
		}
		if j.State != memory.JobRunning || j.Lease != lease || lease == uuid.Nil {
			return store.ErrLeaseLost
		}
		return fn(ctx, q, j)
	})
}

// Heartbeat implements memory.Queue. A lease that has expired, and that no other claim took, is
// held again. It does not wait behind callers: the lease would be lost meanwhile.
func (s *Store) Heartbeat(ctx context.Context, sc tenant.Scope, job, lease uuid.UUID, until time.Time) error {
	return s.withLease(ctx, ofCaller(sc.Tenant()), sc, job, lease, s.noting, func(ctx context.Context, q *session, j memory.Job) error {
		_, err := q.exec(ctx, "UPDATE jobs SET lease_until = ? WHERE tenant = ? AND id = ?", until, j.Tenant, j.ID)
		return err
	})
}

// SetProgress implements memory.Queue.
func (s *Store) SetProgress(ctx context.Context, sc tenant.Scope, job, lease uuid.UUID, p memory.Progress) error {
	return s.withLease(ctx, ofJob(sc.Tenant()), sc, job, lease, s.noting, func(ctx context.Context, q *session, j memory.Job) error {
		doc, err := store.Document("progress", p)
		if err != nil {
			return err
		}
		_, err = q.exec(ctx, "UPDATE jobs SET progress = ? WHERE tenant = ? AND id = ?", doc, j.Tenant, j.ID)
		return err
	})
}

// SetAlone implements memory.Queue.
func (s *Store) SetAlone(ctx context.Context, sc tenant.Scope, job, lease uuid.UUID, n int) error {
	return s.withLease(ctx, ofJob(sc.Tenant()), sc, job, lease, s.noting, func(ctx context.Context, q *session, j memory.Job) error {
		_, err := q.exec(ctx, "UPDATE jobs SET alone = ? WHERE tenant = ? AND id = ?", n, j.Tenant, j.ID)
		return err
	})
}

// ReleaseJob implements memory.Queue.
func (s *Store) ReleaseJob(ctx context.Context, sc tenant.Scope, job, lease uuid.UUID, end memory.JobEnd) error {
	return s.withLease(ctx, ofJob(sc.Tenant()), sc, job, lease, s.writing, func(ctx context.Context, q *session, j memory.Job) error {
		if err := q.EndJob(ctx, j.Tenant, job, lease, end, s.now()); err != nil {
			return err
		}
		// The job that removed a collection is deleted after all its rows.
		_, err := q.exec(ctx, `DELETE FROM jobs WHERE tenant = ?1 AND id = ?2 AND state NOT IN ('queued', 'running')
 AND NOT EXISTS (SELECT 1 FROM collections c WHERE c.tenant = ?1 AND c.id = jobs.collection)`, j.Tenant, j.ID)
		return err
	})
}

// EndJob implements store.JobWrites.
func (q *session) EndJob(ctx context.Context, tenantID, job, lease uuid.UUID, end memory.JobEnd, now time.Time) error {
	finished, err := store.FinishedAt(&end, now)
	if err != nil {
		return err
	}
	n, err := q.exec(ctx, `UPDATE jobs SET state = ?, stage = CASE ?2 WHEN '' THEN stage ELSE ?2 END, payload = CASE ?3 WHEN '' THEN payload ELSE ?3 END,
 result = CASE ?4 WHEN '' THEN result ELSE ?4 END, error = ?5, not_before = ?6, attempts = ?7, finished_at = ?8, lease = zeroblob(16), lease_until = 0, claims = 0,
 losses = ?12, alone = ?13, awaits = ?14, worked = worked + MAX(0, ?15 - claimed_at) WHERE tenant = ?9 AND id = ?10 AND state = 'running' AND lease = ?11`,
		end.State, end.Stage, end.Payload, end.Result, end.Error, end.NotBefore, end.Attempts, finished, tenantID, job, lease, end.Losses, end.Alone, end.Awaits, now)
	if err == nil && n == 0 {
		err = store.ErrLeaseLost
	}
	if err != nil || finished.IsZero() {
		return err
	}
	return q.wake(ctx, tenantID, job)
}

// wake makes the jobs due that await the end of a job. Without the name of the index SQLite reads all jobs of the tenant.
func (q *session) wake(ctx context.Context, tenantID, job uuid.UUID) error {
	_, err := q.exec(ctx, "UPDATE jobs INDEXED BY jobs_awaits SET not_before = 0, awaits = zeroblob(16) WHERE tenant = ? AND awaits = ? AND awaits <> zeroblob(16)", tenantID, job)
	return err
}

// VoidLeases implements memory.Queue.
func (s *Store) VoidLeases(ctx context.Context) (n int, err error) {
	err = s.writing(ctx, ofCaller(uuid.Nil), func(ctx context.Context, q *session) error {
		changed, err := q.exec(ctx, "UPDATE jobs SET state = 'queued', lease = zeroblob(16), lease_until = 0 WHERE state = 'running'")
		n = int(changed)
		return err
	})
	return n, err
}

// shownState is the state of a job j as memory.Job.Shown returns it, at a time that is both of its arguments.
const shownState = `CASE WHEN j.state = 'queued' AND j.not_before > ? AND j.attempts = 0 AND j.losses = 0 AND j.error = '' THEN 'scheduled'
 WHEN j.state = 'running' AND j.lease_until <= ? THEN 'queued' ELSE j.state END`

// ListJobs implements store.JobRows.
func (q *session) ListJobs(ctx context.Context, s tenant.Scope, jq memory.JobQuery, now time.Time) ([]memory.Job, error) {
	seen, args := seenCollections(s, now)
	from := "jobs j"
	if jq.OnlyOpen() {
		from = "jobs j INDEXED BY jobs_open"
		seen += " AND j.state <> 'done'"
	}
	text := "SELECT " + store.JobColumns + " FROM " + from + " CROSS JOIN collections c WHERE c.tenant = j.tenant AND c.id = j.collection AND j.tenant = ?" + seen
	args = append([]any{s.Tenant()}, args...)
	if jq.Collection != uuid.Nil {
		text, args = text+" AND j.collection = ?", append(args, jq.Collection)
	}
	if jq.State != "" {
		text, args = text+" AND "+shownState+" = ?", append(args, now, now, jq.State)
	}
	if jq.Notes != nil {
		text, args = text+" AND j.note IN (SELECT unhex(value) FROM json_each(?)) AND j.note <> zeroblob(16)", append(args, ids(jq.Notes))
	}
	if jq.Unended {
		text += " AND j.state IN ('queued', 'running')"
	}
	if jq.Before != uuid.Nil {
		text, args = text+" AND j.id < ?", append(args, jq.Before)
	}
	return q.jobs(ctx, text+" ORDER BY j.id DESC LIMIT +?", append(args, limit(jq.Limit))...)
}

// UnendedJobs implements store.JobRows.
func (q *session) UnendedJobs(ctx context.Context, tenantID, collection uuid.UUID, kind memory.JobKind) ([]memory.Job, error) {
	return q.jobs(ctx, "SELECT "+store.JobColumns+" FROM jobs j INDEXED BY jobs_kind WHERE "+store.RareKind+" AND j.tenant = ? AND j.collection = ? AND j.state IN ('queued', 'running') AND j.kind = ? ORDER BY j.seq",
		tenantID, collection, kind)
}

// HasTask implements store.JobRows.
func (q *session) HasTask(ctx context.Context, tenantID, collection uuid.UUID, task string) (bool, error) {
	return q.get(ctx, "SELECT 1 FROM jobs j INDEXED BY jobs_kind WHERE "+store.RareKind+` AND j.tenant = ? AND j.collection = ? AND j.kind = 'policy'
 AND CASE j.kind WHEN 'policy' THEN substr(rtrim(substr(j.payload, 1, instr(j.payload || ',"args":', ',"args":') - 1), '}'), 1, 300) END = ?
 AND j.state IN ('queued', 'running') AND +j.state = 'queued' LIMIT 1`, []any{tenantID, collection, task}, new(int))
}

// CountJobsBefore implements store.JobRows. Without the name of the index SQLite reads all jobs of the tenant.
func (q *session) CountJobsBefore(ctx context.Context, j memory.Job) (n int, err error) {
	_, err = q.get(ctx, "SELECT COUNT(*) FROM jobs j INDEXED BY jobs_waiting WHERE j.tenant = ? AND j.collection = ? AND j.seq < ? AND "+store.QueuedJob, []any{j.Tenant, j.Collection, j.Seq}, &n)
	return n, err
}

// workParts: without the names of indexes SQLite reads all jobs of the tenant.
var workParts = store.WorkParts{
	From: func(index string) string { return "jobs INDEXED BY " + index }, Parameter: "?", Due: "not_before <= ?3", PayloadAsText: "payload",
}

// CountWork implements store.JobRows.
func (q *session) CountWork(ctx context.Context, tenantID, collection uuid.UUID, now time.Time) (w memory.Work, err error) {
	err = q.each(ctx, workParts.Counts(), []any{tenantID, collection, now}, func(rows *sql.Rows) error {
		var name string
		var n int64
		err := rows.Scan(&name, &n)
		store.AddCount(&w, name, n)
		return err
	})
	if stage, ok := store.FirstStage(&w); err == nil && ok {
		_, err = q.get(ctx, workParts.Ended(), []any{tenantID, collection, stage}, &w.Ended, store.Time(&w.First), store.Time(&w.Last))
	}
	return w, err
}

// RequeueJob implements store.JobWrites.
func (q *session) RequeueJob(ctx context.Context, j memory.Job, seq int64) error {
	_, err := q.exec(ctx, "UPDATE jobs SET state = 'queued', seq = ?, attempts = 0, claims = 0, losses = 0, alone = 0, error = '', not_before = 0, awaits = zeroblob(16), finished_at = 0 WHERE tenant = ? AND id = ?", seq, j.Tenant, j.ID)
	return err
}

// CancelJob implements store.JobWrites.
func (q *session) CancelJob(ctx context.Context, j memory.Job, now time.Time) error {
	_, err := q.exec(ctx, `UPDATE jobs SET state = 'cancelled', lease = zeroblob(16), lease_until = 0, finished_at = ?1,
 worked = worked + CASE state WHEN 'running' THEN MAX(0, ?1 - claimed_at) ELSE 0 END WHERE tenant = ?2 AND id = ?3`, now, j.Tenant, j.ID)
	if err != nil {
		return err
	}
	return q.wake(ctx, j.Tenant, j.ID)
}
