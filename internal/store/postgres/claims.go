package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Leases are compared with the clock of this process, as everywhere in the store, not with the
// server's clock. Between processes whose clocks differ, a lease ends early or late by the
// difference: then work is started twice, or waits. Its result is never applied twice: what ends a
// job names its lease, and a job that was claimed again has another one.

// claimable is the condition that a job j could be leased at a time, $1, if no rule of order
// forbade it: it waits, or its lease has expired.
const claimable = "(j.state = 'queued' AND (j.not_before IS NULL OR j.not_before <= $1) OR j.state = 'running' AND j.lease_until <= $1)"

// claimAny leases the oldest jobs of a stage that no other claim holds now. $1 now, $2 tenant, $3
// collection, $4 lease, $5 until, $6 stage, $7 limit; the verb is the condition on kinds.
const claimAny = `WITH due AS (
 SELECT j.id FROM jobs j WHERE j.tenant = $2 AND j.collection = $3 AND j.stage = $6 AND j.state IN ('queued', 'running') AND %s` + claimable + `
 ORDER BY j.seq LIMIT $7 FOR UPDATE SKIP LOCKED)
UPDATE jobs j SET state = 'running', lease = $4, lease_until = $5, claims = j.claims + 1, claimed_at = $1 FROM due WHERE j.tenant = $2 AND j.id = due.id`

// claimFirst leases the first decide, and only in order: while no other decide is leased, and no
// earlier job is still to be prepared for the first time. A decide that waits after a failed try or a
// lost lease is skipped; one that waits without any (for an endpoint that is paused) keeps its place.
// due_collections has the same rules. Each subquery reads a few rows, however many jobs wait.
//
// The rules look at other rows than the one that is leased, so two concurrent claims could each find
// that none is leased. Claims of one collection therefore take turns by an advisory lock, and each
// sees what the one before it did. The lock of the head would serve too, but claims and writes need
// not wait for each other. The state of the one that is leased is compared in another form, so that it is found by its key, not by
// an index of what waits, and so is the time of a lease, since the index of these has all tenants. Seq is allocated under the head
// lock, which is held until the commit, so jobs become visible in order.
var claimFirst = `UPDATE jobs j SET state = 'running', lease = $4, lease_until = $5, claims = j.claims + 1, claimed_at = $1 FROM (
 SELECT j.id, j.seq FROM jobs j WHERE j.tenant = $2 AND j.collection = $3 AND j.stage = 'decide' AND j.state IN ('queued', 'running')
 AND (` + claimable + ` OR j.state = 'queued' AND j.attempts = 0 AND j.losses = 0) ORDER BY j.seq LIMIT 1) first
WHERE j.tenant = $2 AND j.id = first.id AND j.stage = 'decide' AND ` + strings.ReplaceAll(claimable, "j.state", "j.state || ''") + `
 AND (SELECT true FROM jobs o WHERE o.tenant = $2 AND o.collection = $3 AND o.stage = 'decide' AND o.state = 'running'
 AND COALESCE(o.lease_until > $1, false) LIMIT 1) IS NULL
 AND (SELECT true FROM jobs o WHERE o.tenant = $2 AND o.collection = $3 AND o.stage = 'prepare' AND o.seq < first.seq
 AND o.state IN ('queued', 'running') AND o.attempts = 0 AND o.losses = 0 LIMIT 1) IS NULL`

// ClaimJobs implements memory.Queue.
func (s *Store) ClaimJobs(ctx context.Context, sc tenant.Scope, collection uuid.UUID, stage memory.Stage, lease uuid.UUID, until time.Time, n int) (out []memory.Job, err error) {
	if err := sc.Check(); err != nil {
		return nil, err
	}
	if lease == uuid.Nil {
		return nil, fault.InvalidField("lease", "is required")
	}
	err = s.writing(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		p := params{args: []any{s.now(), sc.Tenant(), collection, lease, store.Micros(until)}}
		text := claimFirst
		if stage == memory.StageDecide {
			q.lockByName(lockDecide, sc.Tenant().String(), collection.String())
		} else {
			of, kinds := store.ClaimedKinds(stage)
			p.add(string(of))
			p.add(store.Limit(n))
			text = fmt.Sprintf(claimAny, kinds)
		}
		text += jobsReachedBy(&p, sc) + " RETURNING " + store.JobColumns
		if out, err = q.jobs(ctx, text, p.args...); err != nil {
			return err
		}
		if len(out) == 0 {
			return orDone(q.reachJobs(ctx, sc, collection))
		}
		slices.SortFunc(out, func(a, b memory.Job) int { return cmp.Compare(a.Seq, b.Seq) })
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

// reachJobs returns NotFound unless the scope reaches the jobs of a collection, whose rows may be
// gone.
func (q *session) reachJobs(ctx context.Context, sc tenant.Scope, collection uuid.UUID) error {
	var p params
	args := " WHERE x.tenant = " + p.add(sc.Tenant()) + " AND x."
	id := " = " + p.add(collection)
	text := "SELECT 1 FROM collections c WHERE c.tenant = $1 AND c.id = $2" + reachedBy(&p, sc)
	if sc.IsWhole() {
		text += " UNION ALL SELECT 1 FROM jobs x" + args + "collection" + id
	}
	var one int
	ok, err := q.get(ctx, text+" LIMIT 1", p.args, &one)
	if err == nil && !ok {
		err = fault.Missing("collection")
	}
	return err
}

// updateLeased changes a job that is held with the lease, by one statement: set is what follows SET, with
// its arguments from $4 on.
func (q *session) updateLeased(ctx context.Context, sc tenant.Scope, job, lease uuid.UUID, set string, args ...any) error {
	if lease != uuid.Nil {
		p := params{args: append([]any{sc.Tenant(), job, lease}, args...)}
		n, err := q.exec(ctx, "UPDATE jobs j SET "+set+" WHERE j.tenant = $1 AND j.id = $2 AND j.state || '' = 'running' AND j.lease = $3"+jobsReachedBy(&p, sc), p.args...)
		if err != nil || n > 0 {
			return err
		}
	}
	_, ok, err := q.JobByID(ctx, sc, job)
	if err == nil && !ok {
		err = fault.Missing("job")
	}
	if err != nil {
		return err
	}
	return store.ErrLeaseLost
}

// Heartbeat implements memory.Queue. A lease that has expired, and that no other claim took, is
// held again.
func (s *Store) Heartbeat(ctx context.Context, sc tenant.Scope, job, lease uuid.UUID, until time.Time) error {
	if err := sc.Check(); err != nil {
		return err
	}
	// One batch is a transaction of its own.
	return s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		return q.updateLeased(ctx, sc, job, lease, "lease_until = $4", store.Micros(until))
	})
}

// SetProgress implements memory.Queue.
func (s *Store) SetProgress(ctx context.Context, sc tenant.Scope, job, lease uuid.UUID, p memory.Progress) error {
	if err := sc.Check(); err != nil {
		return err
	}
	doc, err := store.Document("progress", p)
	if err != nil {
		return err
	}
	return s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		return q.updateLeased(ctx, sc, job, lease, "progress = $4", doc)
	})
}

// SetAlone implements memory.Queue.
func (s *Store) SetAlone(ctx context.Context, sc tenant.Scope, job, lease uuid.UUID, n int) error {
	if err := sc.Check(); err != nil {
		return err
	}
	return s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		return q.updateLeased(ctx, sc, job, lease, "alone = $4", n)
	})
}

// ReleaseJob implements memory.Queue.
func (s *Store) ReleaseJob(ctx context.Context, sc tenant.Scope, job, lease uuid.UUID, end memory.JobEnd) error {
	if err := sc.Check(); err != nil {
		return err
	}
	return s.writing(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		set, args, err := endAssignments(end, s.now())
		if err != nil {
			return err
		}
		if err := q.updateLeased(ctx, sc, job, lease, set, args...); err != nil {
			return err
		}
		if end.State != memory.JobQueued {
			q.wake(sc.Tenant(), job)
			// The job that removed a collection is deleted after all its rows.
			q.later(`DELETE FROM jobs j WHERE j.tenant = $1 AND j.id = $2 AND j.state NOT IN ('queued', 'running')
 AND NOT EXISTS (SELECT 1 FROM collections c WHERE c.tenant = $1 AND c.id = j.collection)`, sc.Tenant(), job)
		}
		return nil
	})
}

// workedUntil is for how long a job j that is held until a time, in microseconds, was held in all.
const workedUntil = "j.worked + GREATEST(0, (extract(epoch FROM %s::timestamptz - j.claimed_at) * 1000000)::bigint)"

// endAssignments returns what follows SET when a job ends or is given back, with its arguments from $4 on.
func endAssignments(end memory.JobEnd, now time.Time) (set string, args []any, err error) {
	finished, err := store.FinishedAt(&end, now)
	return `state = $4, stage = COALESCE(NULLIF($5, ''), j.stage), payload = COALESCE($6::json, j.payload), result = COALESCE($7::json, j.result), error = $8,
 not_before = $9, attempts = $10, finished_at = $11, lease = ` + zeroID + `, lease_until = NULL, claims = 0,
 losses = $12, alone = $13, awaits = $14, worked = ` + fmt.Sprintf(workedUntil, "$15"),
		[]any{string(end.State), string(end.Stage), nullJSON(end.Payload), nullJSON(end.Result), end.Error, nullTime(end.NotBefore), end.Attempts, nullTime(finished), end.Losses, end.Alone, end.Awaits, now}, err
}

// wake makes the jobs due that await the end of a job. It goes with the next statement.
func (q *session) wake(tenantID, job uuid.UUID) {
	q.later("UPDATE jobs SET not_before = NULL, awaits = "+zeroID+" WHERE tenant = $1 AND awaits = $2 AND awaits <> "+zeroID, tenantID, job)
}

// EndJob implements store.JobWrites, in a transaction that has locked the head of the collection.
func (q *session) EndJob(ctx context.Context, tenantID, job, lease uuid.UUID, end memory.JobEnd, now time.Time) error {
	set, args, err := endAssignments(end, now)
	if err != nil {
		return err
	}
	n, err := q.exec(ctx, "UPDATE jobs j SET "+set+" WHERE j.tenant = $1 AND j.id = $2 AND j.state || '' = 'running' AND j.lease = $3",
		append([]any{tenantID, job, lease}, args...)...)
	if err == nil && n == 0 {
		err = store.ErrLeaseLost
	}
	if err == nil && end.State != memory.JobQueued {
		q.wake(tenantID, job)
	}
	return err
}

// VoidLeases implements memory.Queue, tenant by tenant.
func (s *Store) VoidLeases(ctx context.Context) (total int, err error) {
	err = s.eachTenant(ctx, func(id uuid.UUID) error {
		return s.writing(ctx, id, func(ctx context.Context, q *session) error {
			n, err := q.exec(ctx, "UPDATE jobs SET state = 'queued', lease = $2, lease_until = NULL WHERE tenant = $1 AND state = 'running'", id, uuid.Nil)
			total += int(n)
			return err
		})
	})
	return total, err
}

// due reads collections across tenants through a function that returns ids only.
func (s *Store) due(ctx context.Context, text string, args ...any) (out []memory.Due, err error) {
	err = s.reading(ctx, uuid.Nil, func(ctx context.Context, q *session) error {
		out = nil
		return q.each(ctx, text, args, func(rows pgx.Rows) error {
			var d memory.Due
			err := rows.Scan(&d.Tenant, &d.Collection)
			out = append(out, d)
			return err
		})
	})
	return out, err
}

// functionLimit returns a limit of rows for a function, where NULL is none.
func functionLimit(n int) *int32 {
	if n <= 0 {
		return nil
	}
	return new(int32(min(n, 1<<30)))
}

// DueCollections implements memory.Queue. When there are more than asked for, each tenant has its part of
// them, and they are chosen at random, so that neither a tenant nor a collection starves. The function
// lists ids in random order; it reads them all in any case, so its own limit would save nothing.
func (s *Store) DueCollections(ctx context.Context, now time.Time, n int) ([]memory.Due, error) {
	return s.due(ctx, `SELECT tenant, collection FROM due_collections($1, NULL)
 ORDER BY row_number() OVER (PARTITION BY tenant), random() LIMIT $2`, store.Micros(now), functionLimit(n))
}

// Backlog implements memory.Queue.
func (s *Store) Backlog(ctx context.Context, now time.Time) (out []memory.Backlog, err error) {
	var stages []string // in the modes for poolers, pgx encodes no other type of text
	for _, stage := range memory.Stages() {
		stages = append(stages, string(stage))
	}
	err = s.reading(ctx, uuid.Nil, func(ctx context.Context, q *session) error {
		out = nil
		return q.each(ctx, "SELECT s.stage, b.waiting, b.oldest FROM unnest($1::text[]) WITH ORDINALITY s (stage, place), backlog_at(s.stage, $2) b ORDER BY s.place",
			[]any{stages, store.Micros(now)}, func(rows pgx.Rows) error {
				var b memory.Backlog
				err := rows.Scan(&b.Stage, &b.Waiting, store.Time(&b.Oldest))
				out = append(out, b)
				return err
			})
	})
	return out, err
}

// NextDue implements memory.Queue.
func (s *Store) NextDue(ctx context.Context) (t time.Time, err error) {
	err = s.reading(ctx, uuid.Nil, func(ctx context.Context, q *session) error {
		_, err := q.get(ctx, "SELECT next_due()", nil, store.Time(&t))
		return err
	})
	return t, err
}
