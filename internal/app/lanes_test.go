package app

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
)

// TestSlowLaneHoldsOneSlot: the decisions of a collection are serial, so however many of its notes wait for a slow decision, they
// hold one slot of all workers. Other collections of the same tenant are decided meanwhile; then the slow ones follow, each once.
func TestSlowLaneHoldsOneSlot(t *testing.T) {
	t.Parallel()
	const slow, waiting, others = "lighthouse", 6, 6
	model := llmtest.New(t)
	var inSlow, most, decided atomic.Int64
	open := make(chan struct{})
	var once sync.Once
	release := func() { once.Do(func() { close(open) }) }
	t.Cleanup(release)
	model.Handle("evolve", func(r llmtest.Request) llmtest.Reply {
		if !strings.Contains(r.User, slow) {
			return llmtest.Default()
		}
		if n := inSlow.Add(1); n > most.Load() {
			most.Store(n)
		}
		<-open
		decided.Add(1)
		inSlow.Add(-1)
		return llmtest.Default()
	})
	s := newServers(t, true)
	set := func(c *Settings) {
		c.LLM.Provider, c.LLM.BaseURL, c.LLM.Model, c.LLM.Timeout = "openai", model.URL(), "a-model", 2*time.Minute
		c.Jobs.Decides, c.Jobs.Prepares = 2, 2
	}
	s.worker(set)
	s.worker(set)
	g := s.gateway(set)
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "slow"})
	jobs := make([]string, waiting)
	for i := range jobs {
		out := g.call(http.StatusCreated, http.MethodPost, "/v1/collections/slow/notes", object{"content": fmt.Sprintf("The lighthouse of Texel was painted for the %d. time.", i+1)})
		jobs[i] = out["job"].(object)["id"].(string)
	}
	g.until("a decision is slow", func() bool { return inSlow.Load() > 0 })
	for i := range others {
		name := fmt.Sprintf("quick-%d", i)
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": name})
		for n := range 2 {
			if note := g.add(name, fmt.Sprintf("The ferry of island %d leaves at %d.", i, n))["note"].(object); note["state"] != "evolved" {
				t.Fatalf("a note of %s is %v beside a slow collection", name, note["state"])
			}
		}
	}
	if n := most.Load(); n != 1 {
		t.Errorf("%d decisions of one collection ran at once", n)
	}
	release()
	for _, job := range jobs {
		g.until("the slow notes are decided", func() bool {
			return g.call(http.StatusOK, http.MethodGet, "/v1/jobs/"+job, nil)["state"] == "done"
		})
	}
	if most.Load() != 1 || decided.Load() != waiting-1 { // the first note has no neighbors, and asks nothing
		t.Errorf("%d decisions at once, %d in all", most.Load(), decided.Load())
	}
}
