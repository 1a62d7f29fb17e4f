package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/slipboxhq/slipbox/internal/analyst"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/engine"
	"github.com/slipboxhq/slipbox/internal/memory/policy/layered"
	"github.com/slipboxhq/slipbox/internal/memory/policy/layered/layers"
	"github.com/slipboxhq/slipbox/internal/memory/policy/policies"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/test/must"
)

// remembering returns what callers of two gateways over one store do: each gateway has its own engine and index. The
// meddler runs something between what the first gateway reads and what it writes.
func remembering(t *testing.T, config string) (w *world, m *meddler, first, second func(content string) (layers.Remembered, error)) {
	t.Helper()
	m = &meddler{}
	w = newWorld(t, options{policy: "layered", heuristic: true, config: config, wrap: func(s engine.Store) engine.Store { m.Store = s; return m }})
	all := must.Get(policies.All())(t)
	index := must.Get(recall.New(recall.Deps{Store: w.store, Embedders: w.embedders, Policies: all, Clock: w.now}, recall.Config{}))(t)
	other := must.Get(engine.New(engine.Deps{
		Store: w.store, Policies: all, Model: analyst.New(), Heuristic: analyst.New(), Embedders: w.embedders, Nearest: index, Index: index, Clock: w.now,
	}, engine.Config{}))(t)
	through := func(e *engine.Engine) func(string) (layers.Remembered, error) {
		l := &layers.Service{Store: w.store, Actor: e, Persons: w.notes}
		return func(content string) (layers.Remembered, error) {
			args, err := json.Marshal(layered.RememberArgs{Content: content})
			if err != nil {
				return layers.Remembered{}, err
			}
			return l.Remember(t.Context(), w.s, w.c.ID.String(), args, int64(len(content)), memory.Request{})
		}
	}
	return w, m, through(w.engine), through(other)
}

// working returns how many items the working layer holds.
func (w *world) working() int {
	w.t.Helper()
	list := must.Get(w.store.ListNotes(w.t.Context(), w.s, w.view(w.c.ID), memory.NoteQuery{Filter: filter.AttributeIs(layered.AttrLayer, layered.Working)}))(w.t)
	return len(list)
}

// C254, C272: what two gateways remember at the same time is counted as two turns, and the working layer does not exceed
// its capacity.
func TestGatewaysRememberAtOnce(t *testing.T) {
	t.Parallel()
	w, m, first, second := remembering(t, `{"consolidate_every":0,"working_capacity":3}`)
	const rounds = 3
	for i := range rounds {
		var meanwhile layers.Remembered
		m.before(func() {
			var err error
			if meanwhile, err = second(fmt.Sprintf("It snowed %d times.", i)); err != nil {
				t.Error(err)
			}
		})
		got := must.Get(first(fmt.Sprintf("It rained %d times.", i)))(t)
		if want := int64(2*i + 1); meanwhile.Turn != want || got.Turn != want+1 {
			t.Errorf("round %d: turns %d and %d", i, meanwhile.Turn, got.Turn)
		}
		if n := w.working(); n != min(2*(i+1), 3) {
			t.Errorf("round %d: %d items in the working layer", i, n)
		}
	}
}

// C254: when another gateway remembers something during every try, a request is refused, and has written nothing.
func TestGatewayRemembersAgainAndAgain(t *testing.T) {
	t.Parallel()
	w, m, first, second := remembering(t, `{"consolidate_every":0}`)
	meanwhile := 0
	var again func()
	again = func() {
		if meanwhile++; meanwhile < 3 {
			m.before(again)
		}
		if _, err := second(fmt.Sprintf("It snowed %d times.", meanwhile)); err != nil {
			t.Error(err)
		}
	}
	m.before(again)
	if _, err := first("It rained."); !fault.Is(err, fault.Conflict) {
		t.Errorf("%v", err)
	}
	if n := w.working(); meanwhile != 3 || n != 3 {
		t.Errorf("%d items after %d requests of the other gateway", n, meanwhile)
	}
	if got, err := first("It rained."); err != nil || got.Turn != 4 {
		t.Errorf("turn %d, %v", got.Turn, err)
	}
}

// C254: what a decision listed first is part of what it read: a newer note has it decided again, and a model that is asked
// the same question is not asked again. A note that the listing does not name, and another listing, are not a conflict.
func TestNewestIsRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		query memory.NoteQuery
		kind  memory.Kind // of what is written meanwhile
		tries int
	}{
		"newer":        {memory.NoteQuery{Kinds: []memory.Kind{memory.KindFact}, Newest: true, Limit: 1}, memory.KindFact, 2},
		"another kind": {memory.NoteQuery{Kinds: []memory.Kind{memory.KindFact}, Newest: true, Limit: 1}, memory.KindSummary, 1},
		"oldest first": {memory.NoteQuery{Kinds: []memory.Kind{memory.KindFact}, Limit: 1}, memory.KindFact, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &meddler{}
			w, p := newStubWorld(t, options{wrap: func(s engine.Store) engine.Store { m.Store = s; return m }})
			w.facts(2)
			w.fake.Handle("ask", func(llmtest.Request) llmtest.Reply { return llmtest.JSON(map[string]int{"n": 1}) })
			p.decide = func(ctx context.Context, d memory.Desk, _ memory.Event) (memory.Decision, error) {
				if _, err := d.List(ctx, c.query); err != nil {
					return memory.Decision{}, err
				}
				_, err := d.Ask(ctx, question("ask"))
				return memory.Decision{}, err
			}
			w.task(memory.Task{Name: "look"})
			m.before(func() {
				w.changeByHand(func(ctx context.Context, tx memory.Tx) error {
					_, err := tx.Put(ctx, memory.Note{Kind: c.kind, Content: "Meanwhile."})
					return err
				})
			})
			w.drain()
			j := w.newestJob(memory.JobPolicy)
			r := resultOf[engineResult](t, &j)
			if r.Tries != c.tries || w.fake.Calls("ask") != 1 || r.Calls["ask"].Requests != 1 {
				t.Errorf("%d tries, %d requests: %+v", r.Tries, w.fake.Calls("ask"), j)
			}
		})
	}
}
