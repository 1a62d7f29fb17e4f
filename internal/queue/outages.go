package queue

import (
	"log/slog"
	"time"

	"github.com/slipboxhq/slipbox/internal/outage"
)

// outages logs what the source of jobs refuses, once for all lanes.
type outages struct{ due, claim, heartbeat, settle *outage.Log }

func newOutages(log *slog.Logger, clock func() time.Time) *outages {
	return &outages{
		due:       outage.New(log, clock, "due jobs cannot be listed", "due jobs are listed again"),
		claim:     outage.New(log, clock, "jobs cannot be claimed", "jobs are claimed again"),
		heartbeat: outage.New(log, clock, "leases of jobs cannot be prolonged", "leases of jobs are prolonged again"),
		settle:    outage.New(log, clock, "failed tries of jobs cannot be recorded", "failed tries of jobs are recorded again"),
	}
}
