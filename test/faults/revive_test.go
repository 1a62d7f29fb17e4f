package faults_test

import (
	"net/http"
	"strings"
	"time"
)

// failedAttempt is a failed attempt of a job, from the log of a worker.
type failedAttempt struct {
	at  time.Time
	why string
}

// failedAttempts returns the failed attempts of each job. Attempts that left a note waiting for the
// model are not logged.
func (r *run) failedAttempts() map[string][]failedAttempt {
	out := map[string][]failedAttempt{}
	for _, w := range r.scene.workers {
		for _, line := range w.lines(func(line string) bool { return strings.Contains(line, "a job's try failed") }) {
			at, err := time.Parse(time.RFC3339, after(line, "time="))
			if err != nil {
				r.book.problemf("a line of the log has no time: %v", err)
			}
			_, why, _ := strings.Cut(line, " error=")
			id := after(line, " job=")
			out[id] = append(out[id], failedAttempt{at, why})
		}
	}
	return out
}

// after returns the word that follows a mark.
func after(line, mark string) string {
	_, rest, _ := strings.Cut(line, mark)
	word, _, _ := strings.Cut(rest, " ")
	return word
}

// noticeDelay is how long after an outage an attempt may still fail because of it: requests to a
// hanging model time out and are repeated once.
const noticeDelay = 5 * time.Second

// retryDeadJobs checks the dead jobs and retries them like an operator. A job may be dead only when
// the model was away at each of its attempts, and not because of a single outage.
func (r *run) retryDeadJobs() {
	dead, err := query[struct{ ID, Tenant, Kind, Error string }](r.scene,
		"SELECT j.id, t.name AS tenant, j.kind, j.error FROM jobs j JOIN tenants t ON t.id = j.tenant WHERE j.state = 'dead'")
	if err != nil {
		r.book.problemf("%v", err)
	}
	tries := r.failedAttempts()
	for _, j := range dead {
		outages := map[int]bool{}
		for _, t := range tries[j.ID] {
			i := r.book.outageIndex("model", t.at.Add(-noticeDelay), t.at)
			if i < 0 {
				r.book.problemf("the %s job %s is dead, and an attempt failed while the model was up: %s", j.Kind, j.ID, t.why)
			}
			outages[i] = true
		}
		if len(tries[j.ID]) > 2 && len(outages) == 1 {
			r.book.problemf("one outage of the model killed the %s job %s: %s", j.Kind, j.ID, j.Error)
		}
		for _, c := range r.clients {
			if c.tenant.name == j.Tenant {
				c.askFor(c.gateway(), http.StatusAccepted, request{kind: "retry", method: http.MethodPost, path: "/v1/jobs/" + j.ID + "/retry"}, nil)
				break
			}
		}
	}
	r.book.count("jobs that died of several outages of the model", len(dead))
	r.drain()
}
