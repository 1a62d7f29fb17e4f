package faults_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
)

// model is what the model server is up to.
type model struct {
	mu    sync.Mutex
	rng   *rand.Rand
	reply func(*rand.Rand) llmtest.Reply // nil: it works
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
		// Jobs take a while, as they do with real models, so that faults meet them.
		return llmtest.Slow(10*time.Millisecond+some(m.rng, 100*time.Millisecond), well(r))
	}
}

// evolve answers each prompt in the same way every time: half of the notes change
// their first neighbour, which moves it under the hands of those who edit it.
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

// mood is a way in which the model server fails.
type mood struct {
	name  string
	most  time.Duration // beyond a second
	reply func(*rand.Rand) llmtest.Reply
}

// moodsOfModel are shorter than the tries of a job take together: an outage kills
// no job, and answers that are no use may.
func moodsOfModel() []mood {
	return []mood{
		{"model hangs", 4 * time.Second, func(*rand.Rand) llmtest.Reply { return llmtest.Hang() }},
		{"model answers 500", 4 * time.Second, func(*rand.Rand) llmtest.Reply { return llmtest.Status(500, 0) }},
		{"model breaks connections", 4 * time.Second, func(*rand.Rand) llmtest.Reply { return llmtest.Reset() }},
		{"model answers rubbish", time.Second, func(rng *rand.Rand) llmtest.Reply {
			all := []llmtest.Reply{
				llmtest.NotJSON(), llmtest.WrongSchema(), llmtest.Text("{"), llmtest.NoChoices(), llmtest.CutBody(), llmtest.Refusal("no"), llmtest.Dim(3),
			}
			return all[rng.IntN(len(all))]
		}},
	}
}
