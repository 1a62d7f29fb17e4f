package api

import (
	"context"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/wording"
)

func (h *core) listJobs(c *gin.Context) error {
	cur, err := h.cursorOf(c)
	if err != nil {
		return err
	}
	q := memory.JobQuery{State: memory.JobState(query(c).Get("state")), Limit: pageLimit(c) + 1}
	if q.Before, err = cur.afterID(); err != nil {
		return err
	}
	if q.Collection, err = h.queryCollection(c); err != nil {
		return err
	}
	kind := memory.JobKind(query(c).Get("kind"))
	if kind != "" && !slices.Contains(memory.JobKinds(), kind) {
		return fault.InvalidField("kind", "must be one of %s; it is %q", wording.Or(memory.JobKinds()...), kind)
	}
	jobs, next, err := h.jobsPage(c, q, kind)
	if err != nil {
		return err
	}
	out := wire.JobList{Items: each(jobs, func(j *memory.Job) wire.Job { return wireJob(j, h.now()) })}
	if out.NextCursor, err = h.nextCursor(c, next); err != nil {
		return err
	}
	return reply(c, http.StatusOK, out)
}

// jobsPage returns q.Limit-1 jobs of a kind ("": any), newest first, and the position of the next
// page. The kind is filtered here. A page of a rare kind may be short and have a cursor, because
// one request does not read all jobs.
func (h *core) jobsPage(c *gin.Context, q memory.JobQuery, kind memory.JobKind) (page []memory.Job, next string, err error) {
	limit := q.Limit - 1
	if kind != "" {
		q.Limit = memory.MaxPage + 1
	}
	const most = 20 // reads
	for range most {
		jobs, err := h.Jobs.ListJobs(c.Request.Context(), scope(c), q)
		if err != nil {
			return nil, "", err
		}
		more := len(jobs) == q.Limit
		if more {
			jobs = jobs[:len(jobs)-1]
		}
		for i := range jobs {
			if kind == "" || jobs[i].Kind == kind {
				page = append(page, jobs[i])
			}
			q.Before = jobs[i].ID
			if len(page) == limit && (more || i < len(jobs)-1) {
				return page, q.Before.String(), nil
			}
		}
		if !more {
			return page, "", nil
		}
	}
	return page, q.Before.String(), nil
}

// queryCollection resolves the collection parameter; zero without one.
func (h *core) queryCollection(c *gin.Context) (uuid.UUID, error) {
	ref := query(c).Get("collection")
	if ref == "" {
		return uuid.Nil, nil
	}
	found, err := h.Jobs.ResolveCollection(c.Request.Context(), scope(c), ref)
	return found.ID, err
}

func (h *core) getJob(c *gin.Context, id uuid.UUID) error {
	job, err := h.Jobs.Job(c.Request.Context(), scope(c), id)
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, wireJob(&job, h.now()))
}

// changeJob returns the handler that changes the job of the path if the caller may write to its collection.
func (h *core) changeJob(action string, change func(ctx context.Context, s tenant.Scope, id uuid.UUID, audit memory.AuditEntry) (memory.Job, error)) handler {
	return onID("job", func(c *gin.Context, id uuid.UUID) error {
		ctx, s := c.Request.Context(), scope(c)
		job, err := h.Jobs.Job(ctx, s, id)
		if err != nil {
			return err
		}
		found, err := h.Jobs.ResolveCollection(ctx, s, job.Collection.String())
		if fault.Is(err, fault.NotFound) {
			return fault.New(fault.Conflict, "the collection of the job is being removed")
		}
		if err == nil && found.Shared() {
			err = tenant.Check(s, tenant.BaseWrite)
		}
		if err == nil {
			job, err = change(ctx, s, id, memory.AuditEntry{Action: action, Target: id.String()})
		}
		if err != nil {
			return err
		}
		return reply(c, http.StatusAccepted, wireJob(&job, h.now()))
	})
}
