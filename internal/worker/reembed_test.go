package worker_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/jobs"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

// Every request, also a concurrent one, gets the same job.
func TestReembedIsOneJob(t *testing.T) {
	t.Parallel()
	p := newPlant(t, settings{})
	p.stop() // jobs stay queued
	embedders := must.Get(llm.NewRegistry(llm.Deps{}, llm.Config{EmbedProvider: llm.EmbedHash}))(t)
	up := jobs.Upkeep{Store: p.store, Embedders: embedders}
	var group sync.WaitGroup
	jobs := make([]memory.Job, 8)
	for i := range jobs {
		group.Go(func() {
			var err error
			if jobs[i], err = up.Reembed(t.Context(), p.s, "main", llm.HashName); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for _, j := range jobs {
		if j.ID != jobs[0].ID || j.Kind != memory.JobReembed || j.Collection != p.c.ID {
			t.Errorf("job %+v beside %s", j, jobs[0].ID)
		}
	}
	if _, err := up.Reembed(t.Context(), p.s, "main", llm.LocalName); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), llm.HashName) {
		t.Errorf("to another embedder: %v", err)
	}
	if _, err := up.Reembed(t.Context(), p.s, "main", "bert"); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), llm.HashName) {
		t.Errorf("to an unknown one: %v", err)
	}
	if _, err := up.Reembed(t.Context(), p.s, "nothing", llm.HashName); !fault.Is(err, fault.NotFound) {
		t.Errorf("of no collection: %v", err)
	}
	agent := must.Get(p.store.EnsureAgent(t.Context(), p.s, "ada"))(t)
	for _, s := range []tenant.Scope{
		grant.Scope(p.s.Tenant(), uuid.Nil, "writer", tenant.NotesWrite),
		grant.Scope(p.s.Tenant(), agent.ID, "ada", tenant.CollectionsWrite), // the collection is shared
	} {
		if _, err := up.Reembed(t.Context(), s, "main", llm.HashName); !fault.Is(err, fault.Forbidden) {
			t.Errorf("by %s: %v", s.Actor(), err)
		}
	}
	p.run()
	if j := p.ended(jobs[0].ID); j.State != memory.JobDone || string(j.Result) != `{"added":0,"embedder":"hash-384-v2","filled":0}` {
		t.Errorf("job %+v", j)
	}
	again, err := up.Reembed(t.Context(), p.s, "main", llm.HashName)
	if err != nil || again.ID == jobs[0].ID {
		t.Errorf("after its end: %+v, %v", again, err)
	}
}
