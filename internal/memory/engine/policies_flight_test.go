package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/engine"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

// A fork that is created at any moment of an exchange ends in the same state as its parent, and
// neither changes the other.
func TestPoliciesAndForks(t *testing.T) {
	t.Parallel()
	moments := map[string]func(w *world, m *meddler, fork func()){
		"before it is prepared": func(_ *world, _ *meddler, fork func()) { fork() },
		"before it is decided": func(w *world, _ *meddler, fork func()) {
			for _, j := range w.claim(w.c.ID, memory.StagePrepare, 100) {
				w.run(j)
			}
			fork()
		},
		"while it is decided": func(w *world, m *meddler, fork func()) {
			for _, j := range w.claim(w.c.ID, memory.StagePrepare, 100) {
				w.run(j)
			}
			m.before(fork)
			for _, j := range w.claim(w.c.ID, memory.StageDecide, 1) {
				w.run(j)
			}
			m.before(nil)
		},
	}
	everyPolicy(t, func(t *testing.T, name string) {
		t.Helper()
		want := expectedDigest(t, name, options{}, talk[0], talk[1])
		for when, at := range moments {
			t.Run(when, func(t *testing.T) {
				t.Parallel()
				m := &meddler{}
				w := newPolicyWorld(t, name, options{wrap: func(s engine.Store) engine.Store { m.Store = s; return m }})
				said := w.exchange(w.c.ID, 0, talk[0])
				w.settle()
				said = append(said, w.exchange(w.c.ID, 1, talk[1])...)
				var f uuid.UUID
				at(w, m, func() { f = w.fork("side") })
				if f == uuid.Nil { // there is no decision
					f = w.fork("side")
				}
				w.settle()
				for _, c := range []uuid.UUID{w.c.ID, f} {
					w.checkCollection(c, said...)
				}
				sameDigest(t, "parent", w.digest(w.c.ID), want)
				if !w.hasWaitingTasks() {
					sameDigest(t, "fork", w.digest(f), want)
				}
				head := w.view(w.c.ID).At
				own := w.exchange(f, 2, talk[2])
				w.settle()
				w.checkCollection(f, append(said, own...)...)
				if now := w.view(w.c.ID).At; now != head {
					t.Errorf("the parent went on from %d to %d", head, now)
				}
				sameDigest(t, "parent, after the fork went on", w.digest(w.c.ID), want)
				forked := w.digest(f)
				w.exchange(w.c.ID, 3, [2]string{"I sold my bicycle.", "All right."})
				w.settle()
				sameDigest(t, "fork, after the parent went on", w.digest(f), forked)
			})
		}
	})
}

// hasWaitingTasks reports whether the collection has waiting tasks. Those that wait when a fork is
// created stay with the parent; the fork enqueues its own with the next exchange.
func (w *world) hasWaitingTasks() bool {
	w.t.Helper()
	return len(w.jobsOf(w.c.ID, memory.JobPolicy)) > 0
}

// quota refuses all notes while it is full.
type quota struct{ full *atomic.Bool }

func (q quota) CheckNotes(context.Context, tenant.Scope, int64, int64) error {
	if q.full.Load() {
		return fault.New(fault.QuotaExceeded, "the tenant has reached its limit on notes")
	}
	return nil
}

func (quota) CheckJobs(context.Context, tenant.Scope, int64) error { return nil }

func (quota) CheckCollections(context.Context, tenant.Scope, bool) error { return nil }

// rationedModel is a model whose tokens of the day are used up.
type rationedModel struct {
	memory.Model
	out *atomic.Bool
}

func (r rationedModel) Ask(ctx context.Context, s tenant.Scope, c memory.Call) (memory.Answer, error) {
	if r.out.Load() {
		return memory.Answer{}, fault.New(fault.QuotaExceeded, "the tenant has reached its limit on model_tokens_per_day")
	}
	return r.Model.Ask(ctx, s, c)
}

// A tenant at its limits: messages are refused or accepted as a whole. Accepted messages wait for
// tokens, and are processed when there are some.
func TestPoliciesAndLimits(t *testing.T) {
	t.Parallel()
	everyPolicy(t, func(t *testing.T, name string) {
		t.Helper()
		var full, out atomic.Bool
		want := expectedDigest(t, name, options{}, talk...)
		w := newPolicyWorld(t, name, options{quota: quota{&full}, model: func(m memory.Model) memory.Model { return rationedModel{m, &out} }})
		said := w.exchange(w.c.ID, 0, talk[0])
		full.Store(true)
		_, err := w.notes.AddMessages(t.Context(), w.s, w.c.ID.String(), notes.NewMessages{Messages: []notes.NewMessage{
			{Content: "One more."}, {Role: memory.RoleAssistant, Content: "No."},
		}}, memory.Request{})
		if !fault.Is(err, fault.QuotaExceeded) || len(w.all(w.c.ID, memory.KindMessage)) != 2 {
			t.Errorf("at the limit: %v, %d messages", err, len(w.all(w.c.ID, memory.KindMessage)))
		}
		w.settle() // accepted messages are processed
		full.Store(false)
		out.Store(true)
		said = append(said, w.exchange(w.c.ID, 1, talk[1])...)
		said = append(said, w.exchange(w.c.ID, 2, talk[2])...)
		for range 4 {
			w.drain()
			w.advance(time.Minute)
		}
		w.checkCollection(w.c.ID, said...)
		out.Store(false)
		retried := 0
		for _, j := range slices.Backward(w.jobs(uuid.Nil)) {
			if j.State == memory.JobDead {
				t.Errorf("a job that only lacks tokens is dead: %+v", j)
			}
			if j.WaitsForRetry(w.now()) {
				retried++
				must.Get(w.store.RetryJob(t.Context(), w.s, j.ID, memory.AuditEntry{Action: "job.retry"}))(t)
			}
		}
		w.settle()
		w.checkCollection(w.c.ID, said...)
		sameDigest(t, fmt.Sprintf("with tokens again, %d jobs retried", retried), w.digest(w.c.ID), want)
	})
}

// A collection that is deleted during a decision takes its messages with it, and nothing else.
func TestPoliciesAndDeletedCollections(t *testing.T) {
	t.Parallel()
	everyPolicy(t, func(t *testing.T, name string) {
		t.Helper()
		for _, stage := range []memory.Stage{memory.StagePrepare, memory.StageDecide, memory.StageUpkeep} {
			t.Run(string(stage), func(t *testing.T) {
				t.Parallel()
				m := &meddler{}
				w := newPolicyWorld(t, name, options{wrap: func(s engine.Store) engine.Store { m.Store = s; return m }})
				w.sayAll(w.c.ID, talk...)
				w.runUntilStage(stage)
				m.before(func() {
					if _, err := w.store.DeleteCollection(t.Context(), w.s, w.c.ID, false, memory.AuditEntry{Action: "collection.delete"}); err != nil {
						t.Error(err)
					}
				})
				for _, j := range w.claim(w.c.ID, stage, 1) {
					w.run(j)
				}
				m.before(nil)
				w.settle()
				for _, j := range w.jobs(uuid.Nil) {
					if j.Kind != memory.JobRemove && j.State != memory.JobCanceled && j.State != memory.JobDone {
						t.Errorf("a %s job is %q: %s", j.Kind, j.State, j.Error)
					}
				}
				problems, err := w.store.Verify(t.Context())
				if err != nil || len(problems) > 0 {
					t.Errorf("the store has problems %v, %v", problems, err)
				}
			})
		}
	})
}

// runUntilStage runs jobs until one of a stage is due.
func (w *world) runUntilStage(stage memory.Stage) {
	w.t.Helper()
	for _, s := range []memory.Stage{memory.StagePrepare, memory.StageDecide, memory.StageTask, memory.StageUpkeep} {
		if s == stage {
			break
		}
		for more := true; more; {
			list := w.claim(w.c.ID, s, 100)
			for _, j := range list {
				w.run(j)
			}
			more = len(list) > 0
		}
	}
	if stage == memory.StageUpkeep {
		w.advance(time.Hour) // deferred tasks
	}
}

// A process that is killed between the answer of a model and the write, or right after it, leaves
// nothing done in part and nothing done twice.
func TestPoliciesAndCrashes(t *testing.T) {
	t.Parallel()
	everyPolicy(t, func(t *testing.T, name string) {
		t.Helper()
		want := expectedDigest(t, name, options{}, talk...)
		for seed := range uint64(3) {
			t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
				t.Parallel()
				w := newPolicyWorld(t, name, options{wrap: func(s engine.Store) engine.Store {
					return &mortalStore{s, rand.New(rand.NewPCG(seed, 7))}
				}})
				said := w.sayAll(w.c.ID, talk...)
				w.runAmongCrashes()
				w.checkCollection(w.c.ID, said...)
				sameDigest(t, "after the crashes", withoutSummaries(w.digest(w.c.ID)), withoutSummaries(want))
			})
		}
	})
}

// withoutSummaries removes the text of summaries from a digest: which exchanges a summary covers
// depends on when its task ran.
func withoutSummaries(digest []string) []string {
	out := slices.Clone(digest)
	for i, line := range out {
		if strings.HasPrefix(line, "summary ") || strings.HasPrefix(line, "profile ") {
			out[i] = strings.Join(strings.SplitN(line, " ", 3)[:2], " ")
		}
	}
	return out
}
