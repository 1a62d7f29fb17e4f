package mem0

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/route"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// The states of an event.
const (
	statusPending   = "PENDING"
	statusRunning   = "RUNNING"
	statusSucceeded = "SUCCEEDED"
	statusFailed    = "FAILED"
)

// event is a job as mem0's clients see it.
type event struct {
	ID          uuid.UUID `json:"id"`
	EventType   string    `json:"event_type"`
	Status      string    `json:"status"`
	Results     []result  `json:"results"`
	Error       *string   `json:"error"`
	CreatedAt   string    `json:"created_at"`
	CompletedAt *string   `json:"completed_at"`
	LatencyMs   *float64  `json:"latency"`
	Unguided    string    `json:"unguided,omitempty"`
}

func eventOf(job *memory.Job) event {
	out := event{ID: job.ID, EventType: "ADD", Status: statusPending, Results: []result{}, CreatedAt: formatTime(job.CreatedAt)}
	switch {
	case job.State == memory.JobDone:
		out.Status, out.Results, out.Unguided = statusSucceeded, resultsOf(job), memory.UnguidedOf(job)
	case job.Ended():
		out.Status = statusFailed
		if job.Error != "" {
			out.Error = &job.Error
		}
	case job.State == memory.JobRunning:
		out.Status = statusRunning
	}
	if !job.FinishedAt.IsZero() {
		out.CompletedAt = new(formatTime(job.FinishedAt))
		out.LatencyMs = new(float64(job.FinishedAt.Sub(job.CreatedAt).Milliseconds()))
	}
	return out
}

// additionKinds are the kinds of jobs that an add enqueues.
var additionKinds = []memory.JobKind{memory.JobExchange, memory.JobNote}

func (s *Service) event(ctx context.Context, r *route.Request) (route.Reply, error) {
	id, err := parseID(r.Param("event_id"))
	if err != nil {
		return route.Reply{}, fault.Missing("event")
	}
	job, err := s.Jobs.Job(ctx, r.Scope, id)
	if fault.Is(err, fault.NotFound) || err == nil && !slices.Contains(additionKinds, job.Kind) {
		return route.Reply{}, fault.Missing("event")
	}
	if err != nil {
		return route.Reply{}, err
	}
	out := eventOf(&job)
	for out.Status == statusSucceeded {
		before := jobBefore(&job)
		if before == uuid.Nil {
			break
		}
		if job, err = s.Jobs.Job(ctx, r.Scope, before); err != nil {
			break // swept before the others
		}
		out.Results = append(resultsOf(&job), out.Results...)
	}
	return ok(out)
}

// jobBefore returns the job of the exchange that the same add wrote before that of a job; zero: none. The jobs of a
// collection end in their order, and the last one's id is that of the event.
func jobBefore(job *memory.Job) uuid.UUID {
	var p memory.ExchangeJob
	if job.Kind != memory.JobExchange || json.Unmarshal(job.Payload, &p) != nil {
		return uuid.Nil
	}
	return p.After
}

// maxEvents is how many jobs a list of events looks at.
const maxEvents = 1000

// events answers the newest events.
func (s *Service) events(ctx context.Context, r *route.Request) (route.Reply, error) {
	page := number(json.Number(r.Query.Get("page")), 1, maxEvents)
	size := number(json.Number(r.Query.Get("page_size")), memory.DefaultPage, maxPageSize)
	all := []event{}
	last := map[uuid.UUID]int{} // where the event of a job's add is, while jobs of it follow
	q := memory.JobQuery{Limit: memory.MaxPage}
	for n := 0; n < maxEvents; n += memory.MaxPage {
		jobs, err := s.Jobs.ListJobs(ctx, r.Scope, q)
		if err != nil {
			return route.Reply{}, err
		}
		for i := range jobs {
			job := &jobs[i]
			q.Before = job.ID
			if !slices.Contains(additionKinds, job.Kind) {
				continue
			}
			at, isEarlier := last[job.ID]
			switch {
			case !isEarlier:
				at, all = len(all), append(all, eventOf(job))
			case all[at].Status == statusSucceeded:
				all[at].Results = append(resultsOf(job), all[at].Results...)
			}
			if before := jobBefore(job); before != uuid.Nil {
				last[before] = at
			}
		}
		if len(jobs) < q.Limit {
			break
		}
	}
	return ok(listedOf(r, pageOf(all, page, size), len(all), page, size))
}
