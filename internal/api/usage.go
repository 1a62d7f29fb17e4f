package api

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// UsageReader sums what a tenant holds and used, within the reach of a scope; memory.Ledger has it.
type UsageReader interface {
	TenantUsage(ctx context.Context, s tenant.Scope) (memory.TenantUsage, error)
	// ModelUse returns the use on the days from fromDay to toDay, both included, by day.
	ModelUse(ctx context.Context, s tenant.Scope, fromDay, toDay string) ([]memory.ModelUse, error)
}

const (
	usageDays    = 30  // before today, without a first day
	maxUsageDays = 366 // of one answer
)

func (h *access) getUsage(c *gin.Context) error {
	first, last, err := queryDays(c, h.now())
	if err != nil {
		return err
	}
	from, to := first.Format(time.DateOnly), last.Format(time.DateOnly)
	ctx, p := c.Request.Context(), principal(c)
	held, err := h.Usage.TenantUsage(ctx, p.Scope)
	if err != nil {
		return err
	}
	used, err := h.Usage.ModelUse(ctx, p.Scope, from, to)
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, wire.Usage{
		From: from, To: to,
		Collections: held.Collections, Forks: held.Forks, Notes: held.Notes, Links: held.Links, StoredBytes: held.StoredBytes,
		QueuedJobs: new(held.QueuedJobs), Model: byPurpose(used), Limits: wireLimits(p.Tenant.Limits.Or(h.limits)),
	})
}

// byPurpose adds up the use of one day and purpose over all collections.
func byPurpose(used []memory.ModelUse) []wire.ModelUse {
	out := []wire.ModelUse{}
	at := map[[2]string]int{}
	for _, u := range used {
		key := [2]string{u.Day, u.Purpose}
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, wire.ModelUse{Day: u.Day, Purpose: u.Purpose})
		}
		out[i].Calls += u.Calls
		out[i].PromptTokens += u.PromptTokens
		out[i].CompletionTokens += u.CompletionTokens
	}
	return out
}

// queryDays reads the parameters from and to, days in UTC. The default is the 30 days until today.
func queryDays(c *gin.Context, now time.Time) (first, last time.Time, err error) {
	if last, err = queryDay(c, "to", now.UTC()); err != nil {
		return first, last, err
	}
	first, err = queryDay(c, "from", last.AddDate(0, 0, -usageDays))
	switch {
	case err != nil:
		return first, last, err
	case first.After(last):
		return first, last, fault.InvalidField("from", "must not be after the last day")
	case !first.After(last.AddDate(0, 0, -maxUsageDays)):
		return first, last, fault.InvalidField("from", "at most %d days are returned at once", maxUsageDays)
	}
	return first, last, nil
}

func queryDay(c *gin.Context, name string, def time.Time) (time.Time, error) {
	text := query(c).Get(name)
	if text == "" {
		return def.Truncate(24 * time.Hour), nil
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return time.Time{}, fault.InvalidField(name, "must be a day, such as 2026-03-01")
	}
	return day, nil
}
