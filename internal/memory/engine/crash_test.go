package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/engine"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

var errKilled = errors.New("the process was killed")

// mortalStore is a store whose process dies at random: before a transaction, or after its commit and
// before the caller learns of it.
type mortalStore struct {
	engine.Store
	rng *rand.Rand
}

func (m *mortalStore) Write(ctx context.Context, s tenant.Scope, c uuid.UUID, o memory.WriteOptions, fn func(context.Context, memory.Tx) error) (memory.Written, error) {
	if m.rng.IntN(3) == 0 {
		return memory.Written{}, errKilled
	}
	w, err := m.Store.Write(ctx, s, c, o, fn)
	if err == nil && m.rng.IntN(3) == 0 {
		return memory.Written{}, errKilled
	}
	return w, err
}

// C059: at any time the process dies, every note exists afterwards, was described and evolved
// exactly once, and the store is consistent.
func TestEvolvedExactlyOnce_C059(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{heuristic: true, config: `{"evo_threshold":3}`, wrap: func(s engine.Store) engine.Store {
				return &mortalStore{s, rand.New(rand.NewPCG(seed, 1))}
			}})
			var ids []uuid.UUID
			for i := range 15 {
				ids = append(ids, w.add(fmt.Sprintf("The lighthouse keeper logs storm number %d at the rocky coast.", i)).ID)
			}
			deaths := 0
			for rounds := 0; ; rounds++ {
				due, err := w.store.DueCollections(t.Context(), w.now(), 10)
				if err != nil || rounds > 2000 {
					t.Fatalf("after %d rounds: %v", rounds, err)
				}
				if len(due) == 0 {
					break
				}
				for _, stage := range []memory.Stage{memory.StagePrepare, memory.StageDecide, memory.StageTask, memory.StageUpkeep} {
					for _, j := range w.claim(w.c.ID, stage, 3) {
						try := w.try
						if seed%2 == 0 {
							try = w.work
						}
						if err := try(j); errors.Is(err, errKilled) {
							deaths++ // nothing ends the job; its lease expires
						} else if err != nil {
							t.Fatal(err)
						}
					}
				}
				w.advance(16 * time.Second)
			}
			if deaths < 10 {
				t.Errorf("only %d deaths", deaths)
			}
			for _, id := range ids {
				if n := w.get(id); n.State != memory.StateEvolved || n.Vector == nil || len(n.Keywords) == 0 {
					t.Errorf("note %s is %q", id, n.State)
				}
			}
			sets := must.Get(w.store.Changesets(t.Context(), w.s, w.view(w.c.ID), 0, 1000))(t)
			count := map[memory.Cause]map[uuid.UUID]int{memory.CauseAnalyze: {}, memory.CauseEvolve: {}}
			for _, c := range sets {
				if by, ok := count[c.Cause]; ok {
					by[c.Trigger]++
				}
			}
			for cause, by := range count {
				for _, id := range ids {
					if by[id] != 1 {
						t.Errorf("note %s has %d changesets of cause %q", id, by[id], cause)
					}
				}
			}
			problems, err := w.store.Verify(t.Context())
			if err != nil || len(problems) > 0 {
				t.Errorf("the store has problems %v, %v", problems, err)
			}
		})
	}
}

// runAmongCrashes runs jobs, deferred ones included, until none is left, in a world over a mortalStore, and returns how often the process
// died. Nothing ends the job of a dead process: its lease expires.
func (w *world) runAmongCrashes() (deaths int) {
	w.t.Helper()
	for range 400 {
		for _, stage := range append(memory.Stages(), memory.StageUpkeep) {
			for _, j := range w.claim(w.c.ID, stage, 1) {
				if err := w.try(j); errors.Is(err, errKilled) {
					deaths++
				} else if err != nil {
					w.t.Errorf("a %s job: %v", j.Kind, err)
				}
			}
		}
		if len(w.openJobs()) == 0 {
			return deaths
		}
		w.advance(16 * time.Second)
	}
	w.t.Errorf("%d jobs are left", len(w.openJobs()))
	return deaths
}
