package faults_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
)

// model controls the model server.
type model struct {
	mu    sync.Mutex
	rng   *rand.Rand
	reply func(*rand.Rand) llmtest.Reply // nil when it works
}

func newModel(srv *llmtest.Server, seed uint64) *model {
	m := &model{rng: rand.New(rand.NewPCG(seed, 99))}
	for _, call := range []string{"analyze", "split", llmtest.Embed} {
		srv.Handle(call, m.or(func(llmtest.Request) llmtest.Reply { return llmtest.Default() }))
	}
	srv.Handle("evolve", m.or(evolve))
	return m
}

func (m *model) set(reply func(*rand.Rand) llmtest.Reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reply = reply
}

func (m *model) or(well func(llmtest.Request) llmtest.Reply) func(llmtest.Request) llmtest.Reply {
	return func(r llmtest.Request) llmtest.Reply {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.reply != nil {
			return m.reply(m.rng)
		}
		// Jobs take a while, as with real models, so that faults hit them.
		return llmtest.Slow(10*time.Millisecond+some(m.rng, 100*time.Millisecond), well(r))
	}
}

// evolve answers equal prompts equally: half of the notes change their first neighbor, which
// conflicts with clients that edit it.
func evolve(r llmtest.Request) llmtest.Reply {
	h := fnv.New32a()
	_, _ = h.Write([]byte(r.User))
	if h.Sum32()%2 == 0 {
		return llmtest.Default()
	}
	return llmtest.JSON(map[string]any{
		"should_evolve": true, "actions": []string{"strengthen", "update_neighbor"}, "suggested_connections": []int{0},
		"tags_to_update":           []string{"harbour"},
		"new_context_neighborhood": []string{fmt.Sprintf("What happened at the harbour, seen anew (%d).", h.Sum32())},
		"new_tags_neighborhood":    [][]string{{"harbour", "work"}}, "new_keywords_neighborhood": [][]string{{"harbour", "tools"}}, "confidence": 0.95,
	})
}

// modelFailure is one way the model server fails.
type modelFailure struct {
	name  string
	most  time.Duration // in addition to a second
	reply func(*rand.Rand) llmtest.Reply
}

// modelFailures returns the failures. They are shorter than all attempts of a job together, so that
// no outage kills a job; useless answers may.
func modelFailures() []modelFailure {
	return []modelFailure{
		{"model hangs", 4 * time.Second, func(*rand.Rand) llmtest.Reply { return llmtest.Hang() }},
		{"model answers 500", 4 * time.Second, func(*rand.Rand) llmtest.Reply { return llmtest.Status(500, 0) }},
		{"model breaks connections", 4 * time.Second, func(*rand.Rand) llmtest.Reply { return llmtest.Reset() }},
		{"model answers garbage", time.Second, func(rng *rand.Rand) llmtest.Reply {
			all := []llmtest.Reply{
				llmtest.NotJSON(), llmtest.WrongSchema(), llmtest.Text("{"), llmtest.NoChoices(), llmtest.CutBody(), llmtest.Refusal("no"), llmtest.Dim(3),
			}
			return all[rng.IntN(len(all))]
		}},
	}
}
