package bench_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
)

// BenchmarkBesideForks measures imports of five lines while forks of a busy collection wait for it: of the tenant that
// forks, and of one that just came.
func BenchmarkBesideForks(b *testing.B) {
	for _, forks := range []int{0, 60, 300} {
		b.Run(strconv.Itoa(forks), func(b *testing.B) {
			for _, who := range []string{"same", "fresh"} {
				b.Run(who, func(b *testing.B) { importBesideForks(b, forks, who) })
			}
		})
	}
}

func importBesideForks(b *testing.B, forks int, who string) {
	b.Helper()
	g := newGateway(b)
	busy := g.newCollection(b, memory.PolicyAMEM)
	g.fill(b, busy, g.lines(200))
	for i := range forks {
		path := "/v1/collections/" + busy.ID.String() + "/clone"
		if err := g.call(b.Context(), path, map[string]any{"name": fmt.Sprint("fork-", i)}, http.StatusCreated); err != nil {
			b.Fatal(err)
		}
	}
	if who == "fresh" {
		t := must[tenant.Tenant](b)(g.Tenants.Create(b.Context(), grant.Operator("bench"), tenant.NewTenant{Name: "fresh"}))
		g.scope = grant.Scope(t.ID, uuid.Nil, "bench", tenant.AllPermissions()...)
		g.key = must[auth.CreatedKey](b)(g.Auth.Keys.Create(b.Context(), g.scope, auth.NewKey{Name: "bench"})).Text
	}
	into := g.newCollection(b, memory.PolicyNone)
	timed(b, func(int) error {
		job, err := g.importLines(b, into.ID, 5)
		if err == nil {
			g.waitFor(b, &job)
		}
		return err
	})
}

// importLines imports notes and returns the job.
func (g *gateway) importLines(b *testing.B, into uuid.UUID, n int) (job memory.Job, err error) {
	b.Helper()
	var body bytes.Buffer
	for range n {
		_, _ = fmt.Fprintf(&body, "{\"content\": %q}\n", g.text.Note()+time.Now().String())
	}
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, g.URL()+"/v1/collections/"+into.String()+"/import", &body)
	if err != nil {
		return job, err
	}
	req.Header.Set("Authorization", "Bearer "+g.key)
	req.Header.Set("Content-Type", "application/x-ndjson")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return job, err
	}
	defer func() { _ = resp.Body.Close() }()
	var made struct {
		Job struct {
			ID uuid.UUID `json:"id"`
		} `json:"job"`
	}
	err = json.NewDecoder(resp.Body).Decode(&made)
	if resp.StatusCode != http.StatusAccepted {
		err = fmt.Errorf("import: %s", resp.Status)
	}
	return memory.Job{ID: made.Job.ID}, err
}
