package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func (q *session) jobs(ctx context.Context, text string, args ...any) ([]memory.Job, error) {
	return collect(ctx, q, text, args, store.ScanJob)
}

// jobsReachedBy returns the condition that the scope reaches the collection of a job j. While a
// collection is being removed, its rows may be gone before its jobs: then only a scope of the whole
// tenant reaches them.
func jobsReachedBy(p *params, sc tenant.Scope) string {
	if sc.IsWhole() {
		return ""
	}
	return " AND (SELECT true FROM collections c WHERE c.tenant = j.tenant AND c.id = j.collection" + reachedBy(p, sc) + " LIMIT 1)"
}

// NextSeq implements store.JobWrites. It locks the head of the collection, unless the transaction
// already has; jobs are locked after it.
func (q *session) NextSeq(ctx context.Context, tenantID, collection uuid.UUID) (n int64, err error) {
	if q.queue != nil && q.queue.collection == collection {
		q.queue.last++ // saved with the head
		return q.queue.last, nil
	}
	ok, err := q.get(ctx, "UPDATE collection_heads SET job_seq = job_seq + 1 WHERE tenant = $1 AND collection = $2 RETURNING job_seq",
		[]any{tenantID, collection}, &n)
	if err == nil && !ok {
		err = fault.Missing("collection")
	}
	return n, err
}

// InsertJob implements store.JobWrites. It goes with the next statement.
func (q *session) InsertJob(_ context.Context, j memory.Job) error {
	var progress *string
	if j.Progress != nil {
		doc, err := store.Document("progress", j.Progress)
		if err != nil {
			return err
		}
		progress = &doc
	}
	q.later(`INSERT INTO jobs (tenant, id, collection, note, kind, stage, state, seq, attempts, payload, result, progress, error,
 not_before, lease, created_at, finished_at, trace) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`,
		j.Tenant, j.ID, j.Collection, j.Note, string(j.Kind), string(j.Stage), string(j.State), j.Seq, j.Attempts, nullJSON(j.Payload), nullJSON(j.Result), progress,
		j.Error, nullTime(j.NotBefore), uuid.Nil, j.CreatedAt, nullTime(j.FinishedAt), j.Trace)
	return nil
}

// JobByID implements store.JobRows.
func (q *session) JobByID(ctx context.Context, s tenant.Scope, id uuid.UUID) (memory.Job, bool, error) {
	var p params
	text := "SELECT " + store.JobColumns + " FROM jobs j WHERE j.tenant = " + p.add(s.Tenant()) + " AND j.id = " + p.add(id) + jobsReachedBy(&p, s)
	return store.First(q.jobs(ctx, text, p.args...))
}

// ListJobs implements store.JobRows.
func (q *session) ListJobs(ctx context.Context, s tenant.Scope, jq memory.JobQuery, now time.Time) ([]memory.Job, error) {
	var p params
	text := "SELECT " + store.JobColumns + " FROM jobs j CROSS JOIN LATERAL (SELECT * FROM collections c WHERE c.tenant = j.tenant AND c.id = j.collection LIMIT 1) c WHERE j.tenant = " +
		p.add(s.Tenant()) + seenBy(&p, s, now)
	if jq.Collection != uuid.Nil {
		text += " AND j.collection = " + p.add(jq.Collection)
	}
	if jq.State != "" {
		// The state as memory.Job.Shown returns it.
		text += " AND CASE WHEN j.state = 'queued' AND j.not_before > " + p.add(now) +
			" AND j.attempts = 0 AND j.losses = 0 AND j.error = '' THEN 'scheduled' WHEN j.state = 'running' AND j.lease_until <= " + p.add(now) +
			" THEN 'queued' ELSE j.state END = " + p.add(store.Clean(string(jq.State)))
	}
	if jq.OnlyOpen() {
		text += " AND j.state <> 'done'" // the index of open jobs
	}
	if jq.Notes != nil {
		text += " AND j.note = ANY(" + p.add(jq.Notes) + "::uuid[]) AND j.note <> " + zeroID
	}
	if jq.Unended {
		text += " AND j.state IN ('queued', 'running')"
	}
	if jq.Before != uuid.Nil {
		text += " AND j.id < " + p.add(jq.Before)
	}
	text += " ORDER BY j.id DESC LIMIT " + p.add(store.Limit(jq.Limit))
	read := inOrder[memory.Job]
	if jq.Notes != nil { // few of all
		read = collect
	}
	return read(ctx, q, text, p.args, store.ScanJob)
}

// UnendedJobs implements store.JobRows.
func (q *session) UnendedJobs(ctx context.Context, tenantID, collection uuid.UUID, kind memory.JobKind) ([]memory.Job, error) {
	return q.jobs(ctx, "SELECT "+store.JobColumns+" FROM jobs j WHERE j.tenant = $1 AND j.collection = $2 AND j.kind = $3 AND "+rareJob+" ORDER BY j.seq",
		tenantID, collection, string(kind))
}

// rareJob is the condition of the index jobs_kind, which is that of no other one.
const rareJob = store.RareKind + " AND j.state || '' IN ('queued', 'running')"

// HasTask implements store.JobRows.
func (q *session) HasTask(ctx context.Context, tenantID, collection uuid.UUID, task string) (found bool, err error) {
	_, err = q.get(ctx, `SELECT true FROM tenant_jobs j WHERE j.tenant = $1 AND j.collection = $2 AND j.kind = 'policy'
 AND CASE j.kind WHEN 'policy' THEN left(rtrim(split_part(j.payload::text, ',"args":', 1), '}'), 300) END = $3 AND `+rareJob+" AND j.state || '' = 'queued' LIMIT 1",
		[]any{tenantID, collection, task}, &found)
	return found, err
}

// CountJobsBefore implements store.JobRows.
func (q *session) CountJobsBefore(ctx context.Context, j memory.Job) (n int, err error) {
	_, err = q.get(ctx, "SELECT COUNT(*) FROM jobs j WHERE j.tenant = $1 AND j.collection = $2 AND j.seq < $3 AND "+store.QueuedJob, []any{j.Tenant, j.Collection, j.Seq}, &n)
	return n, err
}

var workParts = store.WorkParts{
	From: func(string) string { return "jobs" }, Parameter: "$", Due: "(not_before IS NULL OR not_before <= $3)", PayloadAsText: "payload::text",
}

// CountWork implements store.JobRows.
func (q *session) CountWork(ctx context.Context, tenantID, collection uuid.UUID, now time.Time) (w memory.Work, err error) {
	err = q.each(ctx, workParts.Counts(), []any{tenantID, collection, now}, func(rows pgx.Rows) error {
		var name string
		var n int64
		err := rows.Scan(&name, &n)
		store.AddCount(&w, name, n)
		return err
	})
	if stage, ok := store.FirstStage(&w); err == nil && ok {
		_, err = q.get(ctx, workParts.Ended(), []any{tenantID, collection, string(stage)}, &w.Ended, store.Time(&w.First), store.Time(&w.Last))
	}
	return w, err
}

// RequeueJob implements store.JobWrites. It goes with the next statement.
func (q *session) RequeueJob(_ context.Context, j memory.Job, seq int64) error {
	q.later("UPDATE jobs SET state = 'queued', seq = $3, attempts = 0, claims = 0, losses = 0, alone = 0, error = '', not_before = NULL, awaits = "+zeroID+", finished_at = NULL WHERE tenant = $1 AND id = $2",
		j.Tenant, j.ID, seq)
	return nil
}

// CancelJob implements store.JobWrites. It goes with the next statement.
func (q *session) CancelJob(_ context.Context, j memory.Job, now time.Time) error {
	q.later("UPDATE jobs j SET state = 'cancelled', lease = $3, lease_until = NULL, finished_at = $4, worked = CASE j.state WHEN 'running' THEN "+fmt.Sprintf(workedUntil, "$4")+
		" ELSE j.worked END WHERE j.tenant = $1 AND j.id = $2", j.Tenant, j.ID, uuid.Nil, now)
	q.wake(j.Tenant, j.ID)
	return nil
}
