package faults_test

import (
	"net/http"
	"strings"
)

// failedAttempts counts the failed attempts of each job, and its pauses after lost leases. Attempts that
// left a note waiting for the model are not logged.
func (r *run) failedAttempts() map[string]int {
	out := map[string]int{}
	for _, w := range r.scene.workers {
		for _, line := range w.lines(func(line string) bool {
			return strings.Contains(line, "a job's try failed") || strings.Contains(line, "a job pauses after lost leases")
		}) {
			out[after(line, " job=")]++
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

// endPauses ends the pauses of jobs that wait for their next try, as an operator does who need not wait
// until they heal by themselves.
func (r *run) endPauses() {
	waiting, err := query[struct{ ID, Tenant string }](r.scene, `SELECT j.id, t.name AS tenant FROM jobs j JOIN tenants t ON t.id = j.tenant
 WHERE j.state = 'queued' AND j.attempts > 0 AND j.not_before > now() + interval '2 seconds'`)
	if err != nil {
		r.book.problemf("%v", err)
	}
	for _, j := range waiting {
		for _, c := range r.clients {
			if c.tenant.name == j.Tenant {
				// A job that has begun meanwhile is a conflict.
				c.ask(c.gateway(), request{kind: "retry", method: http.MethodPost, path: "/v1/jobs/" + j.ID + "/retry"})
				break
			}
		}
	}
	r.book.count("pauses of jobs that were ended by hand", len(waiting))
}

// checkDeadJobs checks that no job was given up: neither kills nor failures of the model are the fault of
// a job.
func (r *run) checkDeadJobs() {
	dead, err := query[struct{ ID, Kind, Error string }](r.scene, "SELECT id, kind, error FROM jobs WHERE state = 'dead'")
	if err != nil {
		r.book.problemf("%v", err)
	}
	for _, j := range dead {
		r.book.problemf("the %s job %s is dead: %s", j.Kind, j.ID, j.Error)
	}
	r.book.count("dead jobs", len(dead))
}
