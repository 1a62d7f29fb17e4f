package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

const jobColumns = `j.tenant, j.id, j.collection, j.note, j.kind, j.stage, j.state, j.seq, j.attempts, j.payload, j.result, j.progress, j.error,
 j.not_before, j.lease, j.lease_until, j.created_at, j.finished_at, j.claims, j.trace`

func scanJob(rows pgx.Rows) (j memory.Job, err error) {
	var payload, result, progress *string
	var notBefore, until, finished *time.Time
	err = rows.Scan(&j.Tenant, &j.ID, &j.Collection, &j.Note, &j.Kind, &j.Stage, &j.State, &j.Seq, &j.Attempts, &payload, &result, &progress, &j.Error,
		&notBefore, &j.Lease, &until, &j.CreatedAt, &finished, &j.Claims, &j.Trace)
	if err != nil {
		return j, err
	}
	j.Payload, j.Result = rawOf(payload), rawOf(result)
	j.NotBefore, j.LeaseUntil, j.CreatedAt, j.FinishedAt = timeOf(notBefore), timeOf(until), j.CreatedAt.UTC(), timeOf(finished)
	if progress != nil {
		j.Progress = new(memory.Progress)
		err = json.Unmarshal([]byte(*progress), j.Progress)
	}
	return j, err
}

func (q *session) jobs(ctx context.Context, text string, args ...any) (out []memory.Job, err error) {
	err = q.each(ctx, text, args, func(rows pgx.Rows) error {
		j, err := scanJob(rows)
		out = append(out, j)
		return err
	})
	return out, err
}

// reachedJobs is the condition that the scope reaches the collection of a job
// j. The rows of the collection may be gone while its removal is still being
// finished; then only a scope of the whole tenant reaches its jobs.
func reachedJobs(p *params, sc tenant.Scope) string {
	if !sc.HasAgent() {
		return ""
	}
	return " AND EXISTS (SELECT 1 FROM collections c WHERE c.tenant = j.tenant AND c.id = j.collection" + reached(p, sc) + ")"
}

// reached is the condition that the scope reaches a collection c.
func reached(p *params, sc tenant.Scope) string {
	if !sc.HasAgent() {
		return ""
	}
	return " AND c.agent IN (" + p.add(sc.Agent()) + ", " + zeroID + ")"
}

const zeroID = "'00000000-0000-0000-0000-000000000000'"

// seen is the condition that callers with the scope see a collection c.
func seen(p *params, sc tenant.Scope, now time.Time) string {
	return " AND c.state <> 'deleting' AND (c.expires_at IS NULL OR c.expires_at > " + p.add(now) + ")" + reached(p, sc)
}

// seq allots the next place in the queue of a collection, and holds its head:
// whoever changes jobs as well does so after this.
func (q *session) seq(ctx context.Context, tenantID, collection uuid.UUID) (n int64, err error) {
	if q.queue != nil && q.queue.collection == collection {
		q.queue.last++ // it is saved with the head
		return q.queue.last, nil
	}
	ok, err := q.get(ctx, "UPDATE collection_heads SET job_seq = job_seq + 1 WHERE tenant = $1 AND collection = $2 RETURNING job_seq",
		[]any{tenantID, collection}, &n)
	if err == nil && !ok {
		err = fault.Missing("collection")
	}
	return n, err
}

func (q *session) enqueue(ctx context.Context, tenantID uuid.UUID, j memory.Job, now time.Time) (memory.Job, error) {
	var err error
	if j.ID == uuid.Nil {
		if j.ID, err = uuid.NewV7(); err != nil {
			return j, err
		}
	}
	if err := store.Text("trace", j.Trace); err != nil {
		return j, err
	}
	j.Error = store.Clean(j.Error)
	var progress *string
	if j.Progress != nil {
		if progress, err = document("progress", j.Progress); err != nil {
			return j, err
		}
	}
	if j.Seq, err = q.seq(ctx, tenantID, j.Collection); err != nil {
		return j, err
	}
	if j.State == "" {
		j.State = memory.JobQueued
	}
	j.Tenant, j.CreatedAt, j.NotBefore = tenantID, now, trunc(j.NotBefore)
	j.Lease, j.LeaseUntil, j.FinishedAt = uuid.Nil, time.Time{}, time.Time{}
	if j.Ended() {
		j.FinishedAt = now
	}
	q.later(`INSERT INTO jobs (tenant, id, collection, note, kind, stage, state, seq, attempts, payload, result, progress, error,
 not_before, lease, created_at, finished_at, trace) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`,
		tenantID, j.ID, j.Collection, j.Note, string(j.Kind), string(j.Stage), string(j.State), j.Seq, j.Attempts, raw(j.Payload), raw(j.Result), progress,
		j.Error, at(j.NotBefore), uuid.Nil, now, at(j.FinishedAt), j.Trace)
	return j, nil
}

// job finds a job that the scope reaches.
func (q *session) job(ctx context.Context, sc tenant.Scope, id uuid.UUID) (j memory.Job, err error) {
	return q.jobFor(ctx, sc, id, "")
}

func (q *session) jobFor(ctx context.Context, sc tenant.Scope, id uuid.UUID, lock string) (j memory.Job, err error) {
	var p params
	text := "SELECT " + jobColumns + " FROM jobs j WHERE j.tenant = " + p.add(sc.Tenant()) + " AND j.id = " + p.add(id) + reachedJobs(&p, sc) + lock
	jobs, err := q.jobs(ctx, text, p.args...)
	if err != nil {
		return j, err
	}
	if len(jobs) == 0 {
		return j, fault.Missing("job")
	}
	return jobs[0], nil
}

// Job implements memory.Queue.
func (s *Store) Job(ctx context.Context, sc tenant.Scope, id uuid.UUID) (j memory.Job, err error) {
	if err := sc.Check(); err != nil {
		return j, err
	}
	err = s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
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
	var p params
	text := "SELECT " + jobColumns + " FROM jobs j JOIN collections c ON c.tenant = j.tenant AND c.id = j.collection WHERE j.tenant = " + p.add(sc.Tenant()) + seen(&p, sc, s.now())
	if jq.Collection != uuid.Nil {
		text += " AND j.collection = " + p.add(jq.Collection)
	}
	if jq.State != "" {
		text += " AND j.state = " + p.add(store.Clean(string(jq.State)))
	}
	if jq.Note != uuid.Nil {
		text += " AND j.note = " + p.add(jq.Note) + " AND j.note <> " + zeroID
	}
	if jq.Before != uuid.Nil {
		text += " AND j.id < " + p.add(jq.Before)
	}
	text += " ORDER BY j.id DESC LIMIT " + p.add(limit(jq.Limit))
	err = s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		if jq.Collection != uuid.Nil {
			if _, err := q.live(ctx, sc, jq.Collection, s.now()); err != nil {
				return err
			}
		}
		out, err = q.jobs(ctx, text, p.args...)
		return err
	})
	return out, err
}

// JobsAhead implements memory.Queue.
func (s *Store) JobsAhead(ctx context.Context, sc tenant.Scope, id uuid.UUID) (n int, err error) {
	if err := sc.Check(); err != nil {
		return 0, err
	}
	err = s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		j, err := q.job(ctx, sc, id)
		if err != nil {
			return err
		}
		_, err = q.get(ctx, "SELECT COUNT(*) FROM jobs WHERE tenant = $1 AND collection = $2 AND stage <> $3 AND seq < $4 AND state IN ('queued', 'running')",
			[]any{j.Tenant, j.Collection, string(memory.StageTask), j.Seq}, &n)
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
		q.later("UPDATE jobs SET state = 'queued', seq = $3, attempts = 0, error = '', not_before = NULL, finished_at = NULL WHERE tenant = $1 AND id = $2",
			j.Tenant, j.ID, seq)
		return nil
	})
}

// CancelJob implements memory.Queue.
func (s *Store) CancelJob(ctx context.Context, sc tenant.Scope, id uuid.UUID, audit memory.AuditEntry) (memory.Job, error) {
	return s.changeJob(ctx, sc, id, audit, func(_ context.Context, q *session, j memory.Job) error {
		if j.Ended() {
			return fault.New(fault.Conflict, "the job is %s already", j.State)
		}
		q.later("UPDATE jobs SET state = 'cancelled', lease = $3, lease_until = NULL, finished_at = $4 WHERE tenant = $1 AND id = $2",
			j.Tenant, j.ID, uuid.Nil, s.now())
		return nil
	})
}

// changeJob lets fn change a job whose collection callers see. The head of the
// collection is held first, as by a write that ends the job, then the job.
func (s *Store) changeJob(ctx context.Context, sc tenant.Scope, id uuid.UUID, audit memory.AuditEntry, fn func(context.Context, *session, memory.Job) error) (j memory.Job, err error) {
	if err := sc.Check(); err != nil {
		return j, err
	}
	err = s.writing(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		if j, err = q.job(ctx, sc, id); err != nil {
			return err
		}
		q.lock(sc.Tenant(), j.Collection)
		if _, err := q.live(ctx, sc, j.Collection, s.now()); err != nil {
			if fault.Is(err, fault.NotFound) {
				return fault.Missing("job")
			}
			return err
		}
		if j, err = q.jobFor(ctx, sc, id, " FOR UPDATE OF j"); err != nil {
			return err
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
