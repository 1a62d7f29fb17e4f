package worker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// A lost lease says that a process ended or hung, not which of its jobs was the reason. So a job is
// tried again after any number of losses, with growing pauses. It is given up only after it was, many
// times in a row, the only job of the process that was lost.

// maxLossPause is the longest pause after a lost lease. A process that ends every few minutes can be
// watched and repaired; jobs need not wait an hour for that.
const maxLossPause = 5 * time.Minute

// suspectFrom is the number of losses in a row from which a job is a suspect: it pauses after each
// loss, and it is recorded whether other jobs run beside it. One loss is a crash or a restart.
const suspectFrom = 2

// lossesOf returns how many leases of a claimed job were lost in a row.
func lossesOf(j *memory.Job) int { return j.Losses + max(0, j.Claims-1) }

// lossPause returns how long a job waits after so many losses in a row.
func lossPause(j *memory.Job, losses int) time.Duration {
	return min(maxLossPause, memory.Backoff(j.ID, losses-suspectFrom+1))
}

// pauseAfterLoss returns a job to the queue when its last holder was lost and it is a suspect: paused
// reports that. ErrLost says that the job has to be given up.
func (h *handler) pauseAfterLoss(ctx context.Context, s tenant.Scope, j *memory.Job) (paused bool, err error) {
	losses := lossesOf(j)
	if j.Claims <= 1 || losses < suspectFrom {
		return false, nil
	}
	if j.Alone >= h.cfg.MaxAlone && j.Kind != memory.JobRemove { // no caller could retry a removal
		return false, memory.ErrLost
	}
	h.log.WarnContext(ctx, "a job pauses after lost leases", "job", j.ID, "kind", j.Kind, "stage", j.Stage, "collection", j.Collection, "losses", losses, "alone", j.Alone)
	err = h.store.ReleaseJob(ctx, s, j.ID, j.Lease, memory.JobEnd{
		State: memory.JobQueued, Stage: j.Stage, Attempts: j.Attempts, NotBefore: h.clock().Add(lossPause(j, losses)), Losses: losses, Alone: j.Alone,
		Error: fmt.Sprintf("the process that ran the job was lost %d times in a row; the job is tried again", losses),
	})
	if fault.Is(err, fault.Conflict) || fault.Is(err, fault.NotFound) {
		err = nil
	}
	return true, err
}

// company holds the jobs that run in this process.
type company struct {
	mu       sync.Mutex
	jobs     int
	suspects map[uuid.UUID]*suspect
}

// suspect is a running job that lost leases before.
type suspect struct {
	scope tenant.Scope
	job   memory.Job
	alone bool // since it began
}

// enter records that a job runs, and in the store whether suspects run alone. A suspect counts as
// alone until another job begins beside it.
func (h *handler) enter(ctx context.Context, s tenant.Scope, j *memory.Job) (leave func(), err error) {
	c := &h.company
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, other := range c.suspects {
		if !other.alone {
			continue
		}
		other.alone = false
		// Without the mark, the other job counts as alone this once.
		if err := h.store.SetAlone(ctx, other.scope, other.job.ID, other.job.Lease, 0); err != nil {
			h.log.DebugContext(ctx, "a job could not be marked as one of several", "job", other.job.ID, "error", err)
		}
	}
	if j.Losses >= suspectFrom {
		x := &suspect{scope: s, job: *j, alone: c.jobs == 0}
		n := 0
		if x.alone {
			n = j.Alone + 1
		}
		if n != j.Alone {
			if err := h.store.SetAlone(ctx, s, j.ID, j.Lease, n); err != nil {
				return nil, err
			}
		}
		if c.suspects == nil {
			c.suspects = map[uuid.UUID]*suspect{}
		}
		c.suspects[j.ID] = x
	}
	c.jobs++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.jobs--
		if x := c.suspects[j.ID]; x != nil && x.job.Lease == j.Lease {
			delete(c.suspects, j.ID)
		}
	}, nil
}
