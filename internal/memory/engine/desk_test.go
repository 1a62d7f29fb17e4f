package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/engine"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

// question returns a call without content.
func question(name string) memory.Call {
	return memory.Call{
		Name: name, System: "Answer as JSON.", Prompt: "Say which.",
		Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`),
	}
}

// C177: what a policy decides in parallel within one exchange is applied as a whole. Nothing is lost
// or written twice, although the answers arrive at different times and another writer writes in
// between.
func TestParallelDecisions_C177(t *testing.T) {
	t.Parallel()
	const n = 24
	w, p, m := newMeddledWorld(t)
	var olds []uuid.UUID
	w.changeByHand(func(ctx context.Context, tx memory.Tx) error {
		olds = nil
		for i := range n {
			old, err := tx.Put(ctx, memory.Note{Kind: memory.KindFact, Key: fmt.Sprintf("old/%d", i), Content: fmt.Sprintf("Old fact %d.", i), State: memory.StateEvolved})
			if err != nil {
				return err
			}
			olds = append(olds, old.ID)
		}
		return nil
	})
	w.fake.Handle("decide", func(llmtest.Request) llmtest.Reply {
		return llmtest.Slow(time.Duration(1+time.Now().UnixNano()%5)*time.Millisecond, llmtest.JSON(map[string]int{"n": 1}))
	})
	tries := 0
	p.decide = func(ctx context.Context, d memory.Desk, e memory.Event) (memory.Decision, error) {
		if tries++; tries == 1 {
			m.before(func() {
				w.changeByHand(func(ctx context.Context, tx memory.Tx) error {
					now, err := tx.Notes(ctx, olds[:1], memory.ReadOptions{})
					if err == nil {
						now[0].Content += " By hand."
						_, err = tx.Put(ctx, now[0])
					}
					return err
				})
			})
		}
		puts, links := make([]memory.Note, 2*n), make([]memory.Link, n)
		err := inParallel(n, func(i int) error {
			old, ok, err := d.ByKey(ctx, memory.KindFact, fmt.Sprintf("old/%d", i))
			if err != nil || !ok {
				return fmt.Errorf("old fact %d: %v, %w", i, ok, err)
			}
			if _, err := d.Similar(ctx, []memory.SimilarQuery{{Text: old.Content, Kinds: []memory.Kind{memory.KindFact}, K: 3}}); err != nil {
				return err
			}
			if _, err := d.Links(ctx, []uuid.UUID{old.ID}, memory.Both); err != nil {
				return err
			}
			if _, err := d.Ask(ctx, question("decide")); err != nil {
				return err
			}
			old.Content += fmt.Sprintf(" Merged %d.", i)
			id := d.NewID()
			puts[2*i], puts[2*i+1] = old, fact(id, fmt.Sprintf("New fact %d.", i), e.Messages[0].ID)
			links[i] = edge(id, old.ID, 1)
			return nil
		})
		return memory.Decision{Puts: puts, Links: links, Evolved: true}, err
	}
	w.say("Many things.")
	w.drain()
	if tries != 2 {
		t.Errorf("%d tries", tries)
	}
	news := 0
	for _, f := range w.all(w.c.ID, memory.KindFact) {
		i := slices.Index(olds, f.ID)
		if i < 0 {
			news++
			if len(w.links(f.ID)) != 1 {
				t.Errorf("%q has links %v", f.Content, w.links(f.ID))
			}
			continue
		}
		want := fmt.Sprintf("Old fact %d. Merged %d.", i, i)
		if i == 0 {
			want = "Old fact 0. By hand. Merged 0."
		}
		if f.Content != want {
			t.Errorf("%q, want %q", f.Content, want)
		}
	}
	if news != n {
		t.Errorf("%d new facts", news)
	}
	j := w.newestJob(memory.JobExchange)
	if c := resultOf[engineResult](t, &j).Calls["decide"]; c.Calls != 2*n {
		t.Errorf("%d calls were counted", c.Calls)
	}
}

// inParallel runs f for each number concurrently and returns the first error.
func inParallel(n int, f func(i int) error) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = f(i) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Every read of a desk is safe for concurrent use, and all reads are under the conflict rule.
func TestDeskIsConcurrent(t *testing.T) {
	t.Parallel()
	w, p, _ := newMeddledWorld(t)
	a, b := w.entities(true)
	said := w.say("Before.", "Yes.")
	ids := make([]uuid.UUID, 64)
	p.decide = func(ctx context.Context, d memory.Desk, e memory.Event) (memory.Decision, error) {
		if e.Kind != memory.EventTask {
			return memory.Decision{Note: e.Note}, nil
		}
		err := inParallel(len(ids), func(i int) error {
			ids[i] = d.NewID()
			d.Absent(memory.KindFact, fmt.Sprint(i))
			looks := []func() error{
				func() error { _, err := d.Notes(ctx, []uuid.UUID{a, b}); return err },
				func() error { _, err := d.Links(ctx, []uuid.UUID{a}, memory.Both); return err },
				func() error { _, err := d.List(ctx, memory.NoteQuery{Limit: 5}); return err },
				func() error { _, err := d.Recent(ctx, said.Messages[1].ID, 5); return err },
				func() error { _, err := d.Linked(ctx, []uuid.UUID{a}, 5); return err },
				func() error {
					_, err := d.Nearest(ctx, memory.Note{Kind: memory.KindNote, Content: "x"}, 3)
					return err
				},
				func() error { _, err := d.Embed(ctx, []string{"x", "y"}); return err },
				func() error { _, err := d.Usage(ctx, []uuid.UUID{a}); return err },
				func() error { _, err := d.Past(ctx, []uuid.UUID{a}, 1); return err },
				func() error { _, _, err := d.ByKey(ctx, memory.KindFact, "none"); return err },
			}
			return looks[i%len(looks)]()
		})
		return memory.Decision{}, err
	}
	w.task(memory.Task{Name: "look"})
	w.drain()
	if j := w.newestJob(memory.JobPolicy); j.State != memory.JobDone {
		t.Errorf("job is %q: %s", j.State, j.Error)
	}
	slices.SortFunc(ids, memory.CompareIDs)
	if len(slices.Compact(ids)) != 64 {
		t.Error("an id was given twice")
	}
}

// The budget applies to concurrent calls, too.
func TestBudgetOfParallelCalls(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cfg  engine.Config
		most int64
	}{
		"calls":  {engine.Config{CallsPerJob: 5}, 5},
		"tokens": {engine.Config{TokensPerJob: 1}, 8}, // those that were in progress
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, p := newStubWorld(t, options{engine: c.cfg})
			w.fake.Always("ask", llmtest.JSON(map[string]int{"n": 1}))
			var answered, refused atomic.Int64
			p.decide = func(ctx context.Context, d memory.Desk, _ memory.Event) (memory.Decision, error) {
				for range 4 {
					_ = inParallel(8, func(int) error {
						_, err := d.Ask(ctx, question("ask"))
						switch {
						case err == nil:
							answered.Add(1)
						case fault.Is(err, fault.ModelFailed):
							refused.Add(1)
						}
						return err
					})
				}
				return memory.Decision{}, nil
			}
			w.say("Ask a lot.")
			w.drain()
			if answered.Load() < 1 || answered.Load() > c.most || answered.Load()+refused.Load() != 32 || int64(w.fake.Calls("ask")) != answered.Load() {
				t.Errorf("%d answered, %d refused, %d requests", answered.Load(), refused.Load(), w.fake.Calls("ask"))
			}
		})
	}
}

// What has no prompt is asked of the analyst beside a model, and counts against no budget.
func TestWeighingIsFree(t *testing.T) {
	t.Parallel()
	w, p := newStubWorld(t, options{engine: engine.Config{CallsPerJob: 1}})
	p.decide = func(ctx context.Context, d memory.Desk, _ memory.Event) (memory.Decision, error) {
		for range 5 {
			if got, err := policy.Weigh(ctx, d, "I moved to Graz in May."); err != nil || got.Worth <= 0 || got.Worth > 1 {
				t.Errorf("%+v, %v", got, err)
			}
		}
		return memory.Decision{}, nil
	}
	w.say("Weigh it.")
	w.drain()
	if w.fake.Calls("weigh") > 0 {
		t.Error("a model was asked")
	}
}

// refuser takes a text with an apology for a refusal.
type refuser struct{ memory.Model }

func (r refuser) Ask(ctx context.Context, s tenant.Scope, c memory.Call) (memory.Answer, error) {
	in, ok := c.Input.(memory.RefusedInput)
	if !ok {
		return r.Model.Ask(ctx, s, c)
	}
	all := !slices.ContainsFunc(in.Texts, func(text string) bool { return !strings.Contains(text, "sorry") })
	return memory.Answer{JSON: policy.Encode(memory.Refused{All: all})}, nil
}

// A refusal inside an answer that fits its schema is no answer: the model is asked once more, then what holds without it. One text that
// says something is enough, and a name or a keyword is no text.
func TestRefusalIsNoAnswer(t *testing.T) {
	t.Parallel()
	for said, refused := range map[string]bool{
		`{"n": "I am sorry, I cannot help.", "all": ["sorry"]}`:                      true,
		`{"n": "I am sorry, I cannot help.", "all": ["I am sorry again."]}`:          true,
		`{"n": "I am sorry, I cannot help.", "all": ["Nora moved to Graz in May."]}`: false,
		`{"n": "Nora moved to Graz in May.", "all": []}`:                             false,
		`{"n": "sorry", "all": ["so sorry"]}`:                                        false,
	} {
		w, p := newStubWorld(t, options{beside: func(m memory.Model) memory.Model { return refuser{m} }})
		w.fake.Always("ask", llmtest.Text(said))
		call := question("ask")
		call.Schema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"string"},"all":{"type":"array","items":{"type":"string"}}},"required":["n","all"],"additionalProperties":false}`)
		p.decide = func(ctx context.Context, d memory.Desk, _ memory.Event) (memory.Decision, error) {
			if _, err := d.Ask(ctx, call); errors.Is(err, memory.ErrBadAnswer) != refused {
				t.Errorf("%s: %v", said, err)
			}
			return memory.Decision{}, nil
		}
		w.say("Ask it.")
		w.drain()
		if n := w.fake.Calls("ask"); (n == 2) != refused {
			t.Errorf("%s: asked %d times", said, n)
		}
	}
}

// What a policy lists by a filter is the same whether the store looks for it or a loaded index does: in both orders, by pages
// and by kind, in a fork, and after a note was changed and another deleted.
func TestListMatchesTheIndex(t *testing.T) {
	t.Parallel()
	w, p := newStubWorld(t, options{})
	var ids []uuid.UUID
	layer := func(name string) map[string]any { return map[string]any{"layer": name} }
	w.changeByHand(func(ctx context.Context, tx memory.Tx) error {
		ids = nil
		for i := range 12 {
			n, err := tx.Put(ctx, memory.Note{
				Kind: []memory.Kind{memory.KindNote, memory.KindMessage, memory.KindFact}[i%3], Content: fmt.Sprintf("Item %d.", i), State: memory.StateEvolved,
				Attributes: layer([]string{"working", "log"}[i/2%2]),
			})
			if err != nil {
				return err
			}
			ids = append(ids, n.ID)
		}
		return nil
	})
	fork := w.fork("fork")
	w.changeByHand(func(ctx context.Context, tx memory.Tx) error {
		now, err := tx.Notes(ctx, ids[:1], memory.ReadOptions{})
		if err != nil {
			return err
		}
		now[0].Attributes = layer("log")
		if _, err = tx.Put(ctx, now[0]); err != nil {
			return err
		}
		return tx.Delete(ctx, ids[1])
	})
	working, items := filter.AttributeIs("layer", "working"), []memory.Kind{memory.KindNote, memory.KindMessage}
	queries := []memory.NoteQuery{
		{Filter: working}, {Filter: working, Limit: 2}, {Filter: working, Newest: true, Limit: 2}, {Filter: working, Kinds: items, Limit: 9}, {Filter: working, After: ids[5], Limit: 1},
		{Filter: working, After: ids[5], Newest: true, Limit: 1}, {Filter: filter.AttributeIs("layer", "none"), Limit: 3}, {Filter: working, Kinds: items, ReadOptions: memory.ReadOptions{Vector: true}},
	}
	vector := make([]float32, w.c.Dim)
	vector[0] = 1
	for _, c := range []uuid.UUID{w.c.ID, fork} {
		view := w.view(c)
		for _, loaded := range []bool{false, true} {
			if loaded {
				must.Get(w.recall.Nearest(t.Context(), w.s, view, memory.NearestQuery{Vector: vector, Limit: 1}))(t)
			}
			p.decide = func(ctx context.Context, d memory.Desk, _ memory.Event) (memory.Decision, error) {
				for i, q := range queries {
					want, err := w.store.ListNotes(ctx, w.s, view, q)
					if err != nil {
						return memory.Decision{}, err
					}
					got, err := d.List(ctx, q)
					if err != nil {
						return memory.Decision{}, err
					}
					same := slices.EqualFunc(got, want, func(a, b memory.Note) bool {
						return a.ID == b.ID && a.Version() == b.Version() && len(a.Vector) == len(b.Vector)
					})
					if !same || i == 0 && len(got) == 0 {
						t.Errorf("loaded %v, query %d: %d notes, want %d", loaded, i, len(got), len(want))
					}
				}
				return memory.Decision{}, nil
			}
			must.Get(w.engine.Act(t.Context(), w.s, c.String(), memory.Task{Name: "look"}, false))(t)
		}
	}
}
