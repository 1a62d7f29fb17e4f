package faults_test

import (
	"net/http"
	"strings"
	"time"
)

// try is one of a job that failed, as the log of a worker tells it.
type try struct {
	at  time.Time
	why string
}

// tries gives the failed tries of each job. Those that ended with a note that waits
// for the model are not logged.
func (r *run) tries() map[string][]try {
	out := map[string][]try{}
	for _, w := range r.scene.workers {
		for _, line := range w.lines(func(line string) bool { return strings.Contains(line, "a job's try failed") }) {
			at, err := time.Parse(time.RFC3339, after(line, "time="))
			if err != nil {
				r.book.problemf("a line of the log has no time: %v", err)
			}
			_, why, _ := strings.Cut(line, " error=")
			id := after(line, " job=")
			out[id] = append(out[id], try{at, why})
		}
	}
	return out
}

// after gives the word that follows a mark.
func after(line, mark string) string {
	_, rest, _ := strings.Cut(line, mark)
	word, _, _ := strings.Cut(rest, " ")
	return word
}

// noticed is how long after an outage began or ended a try may fail of it:
// requests to a model that hangs are given up and sent once more.
const noticed = 5 * time.Second

// revive looks at jobs that are dead, and tries them again as an operator would. A job
// may only have died of a model that was away in each of its tries, and not of one outage alone.
func (r *run) revive() {
	dead, err := query[struct{ ID, Tenant, Kind, Error string }](r.scene,
		"SELECT j.id, t.name AS tenant, j.kind, j.error FROM jobs j JOIN tenants t ON t.id = j.tenant WHERE j.state = 'dead'")
	if err != nil {
		r.book.problemf("%v", err)
	}
	tries := r.tries()
	for _, j := range dead {
		outages := map[int]bool{}
		for _, t := range tries[j.ID] {
			i := r.book.nth("model", t.at.Add(-noticed), t.at)
			if i < 0 {
				r.book.problemf("the %s job %s is dead, and a try of it failed while the model was there: %s", j.Kind, j.ID, t.why)
			}
			outages[i] = true
		}
		if len(tries[j.ID]) > 2 && len(outages) == 1 {
			r.book.problemf("one outage of the model killed the %s job %s: %s", j.Kind, j.ID, j.Error)
		}
		for _, c := range r.clients {
			if c.tenant.name == j.Tenant {
				c.want(c.gateway(), http.StatusAccepted, request{kind: "retry", method: http.MethodPost, path: "/v1/jobs/" + j.ID + "/retry"}, nil)
				break
			}
		}
	}
	r.book.count("jobs that died of several outages of the model", len(dead))
	r.drain()
}
