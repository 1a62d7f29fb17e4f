package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/engine"
	"github.com/slipboxhq/slipbox/internal/memory/policy/policies"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

// forgetter deletes a listed note that it draws at random.
func forgetter(p *stub) {
	p.decide = func(ctx context.Context, d memory.Desk, e memory.Event) (memory.Decision, error) {
		if e.Kind != memory.EventTask || e.Task.Name != "forget" {
			return memory.Decision{}, fault.New(fault.Invalid, "the policy stub has no task %q", e.Task.Name)
		}
		list, err := d.List(ctx, memory.NoteQuery{Kinds: []memory.Kind{memory.KindFact}, Limit: 100})
		if err != nil || len(list) == 0 {
			return memory.Decision{Outcome: json.RawMessage(`{"forgotten":0}`)}, err
		}
		n := list[d.Rand().IntN(len(list))]
		return memory.Decision{
			Deletes: []uuid.UUID{n.ID}, Cause: memory.CauseForget, Outcome: json.RawMessage(fmt.Sprintf(`{"forgotten":1,"note":%q}`, n.ID)),
			Puts: []memory.Note{{Kind: memory.KindSummary, Content: "Something was forgotten."}},
		}, nil
	}
}

func (w *world) facts(n int) {
	w.t.Helper()
	w.changeByHand(func(ctx context.Context, tx memory.Tx) error {
		for i := range n {
			if _, err := tx.Put(ctx, fact(uuid.Nil, fmt.Sprintf("Fact %d.", i))); err != nil {
				return err
			}
		}
		return nil
	})
}

// A dry run reports what applying does and writes nothing. Applying is one changeset, with an audit
// row that names the task.
func TestAct(t *testing.T) {
	t.Parallel()
	w, p, m := newMeddledWorld(t)
	forgetter(p)
	w.facts(20)
	ref, task := w.c.ID.String(), memory.Task{Name: "forget", Key: "all", Args: json.RawMessage(`{"floor":0.05}`)}
	head := w.view(w.c.ID).At
	dry, err := w.engine.Act(t.Context(), w.s, ref, task, false)
	if err != nil || dry.Changed || dry.Revision != head || w.view(w.c.ID).At != head || len(w.all(w.c.ID, memory.KindFact)) != 20 {
		t.Fatalf("dry run: %+v, %v", dry, err)
	}
	done, err := w.engine.Act(t.Context(), w.s, ref, task, true)
	if err != nil || !done.Changed || done.Revision != head+1 || string(done.Outcome) != string(dry.Outcome) {
		t.Fatalf("applied: %+v, %v; dry %s", done, err, dry.Outcome)
	}
	if len(w.all(w.c.ID, memory.KindFact)) != 19 {
		t.Error("nothing was forgotten")
	}
	sum := w.all(w.c.ID, memory.KindSummary)[0]
	if set := w.history(sum.ID)[0].Changeset; set.Cause != memory.CauseForget || set.Job != uuid.Nil || set.Actor != w.s.Actor() {
		t.Errorf("changeset %+v", set)
	}
	rows, err := w.store.ListAudit(t.Context(), w.s, memory.AuditQuery{Action: "policy.forget", Limit: 10})
	if err != nil || len(rows) != 1 || rows[0].Target != ref || rows[0].Detail["key"] != "all" {
		t.Errorf("audit %+v, %v", rows, err)
	}
	// A note that changes during the decision is read again.
	tries := 0
	decide := p.decide
	p.decide = func(ctx context.Context, d memory.Desk, e memory.Event) (memory.Decision, error) {
		dec, err := decide(ctx, d, e)
		if tries++; tries == 1 {
			m.before(func() { w.remove(dec.Deletes[0]) })
		}
		return dec, err
	}
	if _, err := w.engine.Act(t.Context(), w.s, ref, task, true); err != nil || tries != 2 || len(w.all(w.c.ID, memory.KindFact)) != 17 {
		t.Errorf("%d tries, %d facts, %v", tries, len(w.all(w.c.ID, memory.KindFact)), err)
	}
}

// A caller without the permission cannot act, and an unknown task is refused.
func TestActIsRefused(t *testing.T) {
	t.Parallel()
	w, p, _ := newMeddledWorld(t)
	forgetter(p)
	w.facts(2)
	reader := grant.Scope(w.s.Tenant(), uuid.Nil, "key:reader", tenant.NotesRead)
	writer := grant.Scope(w.s.Tenant(), uuid.Nil, "key:writer", tenant.NotesRead, tenant.NotesWrite)
	for name, c := range map[string]struct {
		s    tenant.Scope
		ref  string
		task string
		want fault.Code
	}{
		"reader":         {reader, w.c.ID.String(), "forget", fault.Forbidden},
		"shared base":    {writer, w.c.ID.String(), "forget", fault.Forbidden},
		"no collection":  {w.s, uuid.NewString(), "forget", fault.NotFound},
		"no such task":   {w.s, w.c.ID.String(), "sing", fault.Invalid},
		"another tenant": {grant.Scope(uuid.New(), uuid.Nil, "key:other", tenant.AllPermissions()...), w.c.ID.String(), "forget", fault.NotFound},
	} {
		for _, apply := range []bool{false, true} {
			if _, err := w.engine.Act(t.Context(), c.s, c.ref, memory.Task{Name: c.task}, apply); fault.CodeOf(err) != c.want {
				t.Errorf("%s, apply %v: %v", name, apply, err)
			}
		}
	}
	if len(w.all(w.c.ID, memory.KindFact)) != 2 {
		t.Error("something was forgotten")
	}
}

// A task that fails because the model fails returns the error and changes nothing.
func TestActWhileTheModelFails(t *testing.T) {
	t.Parallel()
	w, p, _ := newMeddledWorld(t)
	p.decide = func(context.Context, memory.Desk, memory.Event) (memory.Decision, error) {
		return memory.Decision{Pending: "the answer was unusable", Puts: []memory.Note{fact(uuid.Nil, "Half.")}}, nil
	}
	if _, err := w.engine.Act(t.Context(), w.s, w.c.ID.String(), memory.Task{Name: "sum"}, true); !fault.Is(err, fault.ModelFailed) {
		t.Errorf("%v", err)
	}
	if len(w.all(w.c.ID, memory.KindFact)) != 0 {
		t.Error("something was written")
	}
}

// No policy accepts an unknown task, and its job ends.
func TestUnknownTask(t *testing.T) {
	t.Parallel()
	all := must.Get(policies.All())(t)
	for _, name := range all.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{policy: name, heuristic: true})
			w.task(memory.Task{Name: "no such task", Key: "x"})
			w.drain()
			if j := w.newestJob(memory.JobPolicy); j.State != memory.JobFailed || !strings.Contains(j.Error, "no such task") {
				t.Errorf("job is %q: %q", j.State, j.Error)
			}
		})
	}
}

// A task that fails is retried like other jobs, and is dead in the end.
func TestPolicyJobFails(t *testing.T) {
	t.Parallel()
	w, p := newStubWorld(t, options{engine: engine.Config{ServiceTries: 3}})
	for name, fails := range map[string]func() (memory.Decision, error){
		"error":     func() (memory.Decision, error) { return memory.Decision{}, fault.New(fault.ModelFailed, "no") },
		"fell back": func() (memory.Decision, error) { return memory.Decision{Pending: "no"}, nil },
	} {
		p.decide = func(context.Context, memory.Desk, memory.Event) (memory.Decision, error) { return fails() }
		w.task(memory.Task{Name: "sum", Key: name})
		for try := 1; try <= 3; try++ {
			if j := w.newestJob(memory.JobPolicy); j.State != memory.JobQueued || j.Attempts != try-1 || j.Stage != memory.StageTask {
				t.Errorf("%s: before try %d the job is %q after %d", name, try, j.State, j.Attempts)
			}
			w.drain()
			w.advance(time.Minute)
		}
		if j := w.newestJob(memory.JobPolicy); j.State != memory.JobDead || j.Error != "no" {
			t.Errorf("%s: the job is %q: %q", name, j.State, j.Error)
		}
	}
}
