package engine_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/oapi-codegen/nullable"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy/amem"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

// newProposalWorld returns a world with one open proposal: the new note would change the old one's
// context, with a confidence at the gate.
func newProposalWorld(t *testing.T) (w *world, old, fresh memory.Note, r memory.Review) {
	t.Helper()
	w = newWorld(t, options{})
	old = w.learn("Bread needs flour, water and salt.")
	gate := 0.9
	w.fake.Script("evolve", evolve(func(e *amem.Evolution) {
		e.Actions, e.Confidence = []string{"update_neighbor"}, &gate
		e.NewContextNeighborhood, e.NewTagsNeighborhood = []string{"Baking with sourdough."}, [][]string{{"sourdough"}}
	}))
	fresh = w.learn("Sourdough bread needs a starter.")
	list := w.reviews(memory.ReviewOpen)
	if len(list) != 1 {
		t.Fatalf("%d open reviews", len(list))
	}
	old = w.get(old.ID)
	return w, old, fresh, list[0]
}

func (w *world) audited(action, target string) bool {
	w.t.Helper()
	list := must.Get(w.store.ListAudit(w.t.Context(), w.s, memory.AuditQuery{Action: action, Limit: 10}))(w.t)
	return slices.ContainsFunc(list, func(e memory.AuditEntry) bool { return e.Target == target && e.Actor == "key:test" })
}

// C078: a proposal at the gate changes nothing and is recorded, with what it depends on.
func TestGate_C078(t *testing.T) {
	t.Parallel()
	w, old, fresh, r := newProposalWorld(t)
	if old.Context == "Baking with sourdough." || len(w.history(old.ID)) != 3 {
		t.Error("the old note changed")
	}
	if fresh.State != memory.StateInReview || r.Trigger != fresh.ID || r.Confidence != 0.9 || len(r.Changes) != 1 || len(r.Read) != 2 {
		t.Errorf("state %q, review %+v", fresh.State, r)
	}
	c := r.Changes[0]
	if c.Note != old.ID || c.Before == nil || c.After == nil || c.Before.Context != old.Context || c.After.Context != "Baking with sourdough." {
		t.Errorf("change %+v", c)
	}
	if j := w.jobs(fresh.ID)[0]; j.State != memory.JobDone {
		t.Errorf("the job is %q", j.State)
	}
}

// C079: approve applies and is audited; the note is embedded again and found.
func TestApprove_C079(t *testing.T) {
	t.Parallel()
	w, old, fresh, r := newProposalWorld(t)
	got := must.Get(w.engine.Approve(t.Context(), w.s, r.ID, "looks right"))(t)
	after := w.get(old.ID)
	if after.Context != "Baking with sourdough." || !slices.Equal(after.Tags, []string{"sourdough"}) || slices.Equal(after.Vector, old.Vector) || after.Vector == nil {
		t.Errorf("after: %q, %q", after.Context, after.Tags)
	}
	if got.State != memory.ReviewApproved || got.Reason != "looks right" || got.Actor != "key:test" || got.Revision != after.From || got.ClosedAt.IsZero() {
		t.Errorf("review %+v", got)
	}
	if w.get(fresh.ID).State != memory.StateEvolved || len(w.reviews(memory.ReviewOpen)) != 0 {
		t.Error("something still waits")
	}
	h := w.history(old.ID)[0].Changeset
	if h.Cause != memory.CauseReview || h.Trigger != fresh.ID || h.Job != r.Job || h.Actor != "key:test" {
		t.Errorf("changeset %+v", h)
	}
	if !w.audited("review.approve", r.ID.String()) {
		t.Error("the approval is not audited")
	}
	if _, err := w.engine.Approve(t.Context(), w.s, r.ID, ""); !fault.Is(err, fault.Conflict) {
		t.Errorf("a second approval gave %v", err)
	}
	if _, err := w.engine.Reject(t.Context(), w.s, r.ID, ""); !fault.Is(err, fault.Conflict) {
		t.Errorf("a rejection after approval gave %v", err)
	}
}

// C079: reject discards and is audited.
func TestReject_C079(t *testing.T) {
	t.Parallel()
	w, old, fresh, r := newProposalWorld(t)
	got, err := w.engine.Reject(t.Context(), w.s, r.ID, "no")
	if err != nil || got.State != memory.ReviewRejected || got.Reason != "no" {
		t.Fatalf("review %+v, %v", got, err)
	}
	if now := w.get(old.ID); now.Version() != old.Version() || w.get(fresh.ID).State != memory.StateEvolved {
		t.Error("the old note moved, or the new one still waits")
	}
	if !w.audited("review.reject", r.ID.String()) {
		t.Error("the rejection is not audited")
	}
	if _, err := w.engine.Approve(t.Context(), w.s, r.ID, ""); !fault.Is(err, fault.Conflict) {
		t.Errorf("an approval after rejection gave %v", err)
	}
}

// Approving after a note has changed: 409 that lists it, nothing is written, the review stays open.
func TestApproveMoved(t *testing.T) {
	t.Parallel()
	w, old, fresh, r := newProposalWorld(t)
	must.Get(w.notes.Patch(t.Context(), w.s, w.c.ID.String(), old.ID, notes.NotePatch{Context: nullable.NewNullableWithValue("Mine.")}, memory.Request{}))(t)
	_, err := w.engine.Approve(t.Context(), w.s, r.ID, "")
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.Conflict || len(f.Fields) != 1 || f.Fields[0].Field != old.ID.String() {
		t.Fatalf("got %v", err)
	}
	if w.get(old.ID).Context != "Mine." || w.get(fresh.ID).State != memory.StateInReview || len(w.reviews(memory.ReviewOpen)) != 1 {
		t.Error("something was written")
	}
	must.Get(w.notes.Delete(t.Context(), w.s, w.c.ID.String(), old.ID, memory.Request{}))(t)
	if _, err := w.engine.Approve(t.Context(), w.s, r.ID, ""); !errors.As(err, &f) || len(f.Fields) != 1 || f.Fields[0].Reason != "was deleted" {
		t.Errorf("got %v", err)
	}
	if _, err := w.engine.Reject(t.Context(), w.s, r.ID, ""); err != nil {
		t.Errorf("it cannot be rejected: %v", err)
	}
}

// Other tenants, other agents and the zero scope see nothing; a reader cannot close a review.
func TestReviewAccess(t *testing.T) {
	t.Parallel()
	w, _, _, r := newProposalWorld(t)
	other := must.Get(w.store.CreateTenant(t.Context(), grant.Operator("test"), tenant.Tenant{Name: "other"}))(t)
	rows := []struct {
		name string
		s    tenant.Scope
		want fault.Code
	}{
		{"zero", tenant.Scope{}, fault.Unauthenticated},
		{"other tenant", grant.Scope(other.ID, uuid.Nil, "key:x", tenant.AllPermissions()...), fault.NotFound},
		{"reader", grant.Scope(w.s.Tenant(), uuid.Nil, "key:x", tenant.NotesRead), fault.Forbidden},
		{"no base:write", grant.Scope(w.s.Tenant(), uuid.Nil, "key:x", tenant.NotesRead, tenant.NotesWrite), fault.Forbidden},
	}
	for _, row := range rows {
		if _, err := w.engine.Approve(t.Context(), row.s, r.ID, ""); !fault.Is(err, row.want) {
			t.Errorf("%s: approve gave %v", row.name, err)
		}
		if _, err := w.engine.Reject(t.Context(), row.s, r.ID, ""); !fault.Is(err, row.want) {
			t.Errorf("%s: reject gave %v", row.name, err)
		}
		if _, err := w.engine.Undo(t.Context(), row.s, w.c.ID.String(), 1, ""); !fault.Is(err, row.want) {
			t.Errorf("%s: undo gave %v", row.name, err)
		}
	}
	if len(w.reviews(memory.ReviewOpen)) != 1 {
		t.Error("the review is closed")
	}
}

// C324: applied changes of old notes are listed by risk and date, each with before and after, and
// each is undone in one step. C077: search follows.
func TestAppliedAreListedAndUndone_C324(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	old := w.learn("Bread needs flour, water and salt.")
	before := w.get(old.ID)
	for _, sure := range []float64{0.99, 0.92} {
		w.fake.Script("evolve", evolve(func(e *amem.Evolution) {
			e.Actions, e.SuggestedConnections, e.Confidence = []string{"strengthen", "update_neighbor"}, []int{0}, &sure
			e.NewContextNeighborhood = []string{before.Context + " Zymurgy."}
			if sure < 0.95 {
				e.NewContextNeighborhood = []string{"Xylography."}
			}
		}))
		w.learn("Sourdough bread needs flour, water, salt and a starter.", given([]string{"t"}, []string{"k"}, "C."))
	}
	list, err := w.engine.Reviews(t.Context(), w.s, memory.ReviewQuery{Collection: w.c.ID, State: memory.ReviewApplied, ByRisk: true, Limit: 10})
	if err != nil || len(list) == 0 {
		t.Fatalf("%d applied, %v", len(list), err)
	}
	for i := 1; i < len(list); i++ {
		if list[i].Confidence < list[i-1].Confidence {
			t.Error("not by risk")
		}
	}
	i := slices.IndexFunc(list, func(r memory.Review) bool { return r.Changes[0].Note == old.ID && r.Confidence == 0.99 })
	if i < 0 {
		t.Fatalf("the first change is not listed: %+v", list)
	}
	r := list[i]
	if r.Revision == 0 || r.Changes[0].Before == nil || r.Changes[0].After == nil || r.Changes[0].Before.Context != before.Context {
		t.Errorf("review %+v", r)
	}
	wasLinked := has(w.links(r.Trigger), old.ID)
	got, err := w.engine.Reject(t.Context(), w.s, r.ID, "wrong")
	if err != nil || got.State != memory.ReviewUndone {
		t.Fatalf("review %+v, %v", got, err)
	}
	if !wasLinked || has(w.links(r.Trigger), old.ID) {
		t.Error("the link was not taken back")
	}
	found, err := w.recall.Search(t.Context(), w.s, w.view(w.c.ID), recall.Query{Text: "zymurgy", K: 5, Mode: recall.Mode("lexical")})
	if err != nil || slices.ContainsFunc(found.Hits, func(h recall.Hit) bool { return h.ID == old.ID }) {
		t.Errorf("search still finds the old note by what was undone: %v", err)
	}
	if !w.audited("evolution.undo", w.c.ID.String()) {
		t.Error("the undoing is not audited")
	}
	if _, err := w.engine.Reject(t.Context(), w.s, r.ID, ""); !fault.Is(err, fault.Conflict) {
		t.Errorf("undone twice: %v", err)
	}
	if _, err := w.engine.Undo(t.Context(), w.s, w.c.ID.String(), r.Revision, ""); !fault.Is(err, fault.Conflict) {
		t.Errorf("undone twice: %v", err)
	}
}

// C325: after a wrong association is undone, the changes of a later evolution that depend on it are
// marked. The later note itself stays, and so does what a caller wrote later.
func TestPollution_C325(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	old := w.learn("Bread needs flour, water and salt.", given([]string{"food"}, []string{"bread"}, "Baking."))
	w.fake.Script("evolve", evolve(func(e *amem.Evolution) {
		e.Actions, e.SuggestedConnections = []string{"strengthen", "update_neighbor"}, []int{0}
		e.NewContextNeighborhood, e.NewTagsNeighborhood = []string{"Bread is a currency."}, [][]string{{"food", "money"}}
	}))
	wrong := w.learn("Bread is slang for money and for flour, water and salt.", given([]string{"slang"}, []string{"slang"}, "Slang."))
	undo := w.get(old.ID).From
	// A later note depends on the wrong description.
	w.fake.Script("evolve", evolve(func(e *amem.Evolution) {
		e.Actions = []string{"update_neighbor"}
		e.NewContextNeighborhood = []string{"Bread is a currency. Rates rise.", "Slang for money. Rates rise."}
		e.SuggestedConnections = []int{}
	}))
	w.learn("Bread: flour, water, salt, and slang for money that earns rates.", given([]string{"rates"}, []string{"rates"}, "Rates."))
	clean := w.learn("Bread needs an oven, flour, water and salt.", given([]string{"food"}, []string{"oven"}, "Ovens."))
	must.Get(w.notes.Patch(t.Context(), w.s, w.c.ID.String(), old.ID, notes.NotePatch{Tags: nullable.NewNullableWithValue([]string{"food", "money", "mine"})}, memory.Request{}))(t)
	out := must.Get(w.engine.Undo(t.Context(), w.s, w.c.ID.String(), undo, "bread is food"))(t)
	got := w.get(old.ID)
	if got.Context == "Bread is a currency." || !slices.Equal(got.Tags, []string{"food", "mine"}) {
		t.Errorf("context %q, tags %q", got.Context, got.Tags)
	}
	if !got.Provenance.Stale || !has(out.Stale, old.ID) || !has(out.Restored, old.ID) {
		t.Errorf("what was derived is not marked: %+v", out)
	}
	if has(w.links(wrong.ID), old.ID) || len(out.Unlinked) != 1 {
		t.Error("the wrong link is there")
	}
	h := w.history(old.ID)[0].Changeset
	if h.Cause != memory.CauseUndo || h.Undoes != undo || h.Revision != out.Revision {
		t.Errorf("changeset %+v", h)
	}
	if has(out.Stale, clean.ID) && !has(w.links(clean.ID), old.ID) {
		t.Error("a note that did not build on it is marked")
	}
	w.fake.Always("evolve", keep())
	later := w.learn("Bread and flour again.")
	if later.State != memory.StateEvolved || has(w.links(wrong.ID), old.ID) {
		t.Error("a later add brought the association back")
	}
}

// C077: each evolved note can be restored to any earlier version, and search follows.
func TestRestore_C077(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	old := w.learn("Bread needs flour, water and salt.", given([]string{"food"}, []string{"bread"}, "Baking."))
	w.fake.Script("evolve", rename("Zymurgy."))
	w.learn("Sourdough bread needs a starter.")
	if w.get(old.ID).Context != "Zymurgy." {
		t.Fatal("not evolved")
	}
	must.Get(w.notes.Restore(t.Context(), w.s, w.c.ID.String(), old.ID, old.From, memory.Request{}))(t)
	if got := w.get(old.ID); got.Context != "Baking." || !slices.Equal(got.Vector, old.Vector) {
		t.Errorf("context %q, same vector %v", got.Context, slices.Equal(got.Vector, old.Vector))
	}
	found, err := w.recall.Search(t.Context(), w.s, w.view(w.c.ID), recall.Query{Text: "zymurgy", K: 5, Mode: recall.Mode("lexical")})
	if err != nil || len(found.Hits) != 0 {
		t.Errorf("%d hits, %v", len(found.Hits), err)
	}
}

// Only evolutions are undone.
func TestUndoRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	n := w.learn("Bread needs flour, water and salt.")
	added := w.history(n.ID)[len(w.history(n.ID))-1].Note.From
	if _, err := w.engine.Undo(t.Context(), w.s, w.c.ID.String(), added, ""); !fault.Is(err, fault.Conflict) {
		t.Errorf("an add was undone: %v", err)
	}
	for _, rev := range []memory.Revision{0, -1, 999} {
		if _, err := w.engine.Undo(t.Context(), w.s, w.c.ID.String(), rev, ""); !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.Invalid) {
			t.Errorf("revision %d gave %v", rev, err)
		}
	}
}

// Undoing in a fork does not change the base.
func TestUndoInFork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	old := w.learn("Bread needs flour, water and salt.", given([]string{"food"}, []string{"bread"}, "Baking."))
	fork := w.fork("")
	w.fake.Script("evolve", rename("Zymurgy."))
	must.Get(w.notes.Add(t.Context(), w.s, fork.String(), notes.NewNote{Content: "Sourdough bread needs a starter."}, memory.Request{}))(t)
	w.drain()
	changed := w.getIn(fork, old.ID)
	if changed.Context != "Zymurgy." || changed.Layer != fork || w.get(old.ID).Context != "Baking." {
		t.Fatalf("the fork has %q in %s, the base %q", changed.Context, changed.Layer, w.get(old.ID).Context)
	}
	must.Get(w.engine.Undo(t.Context(), w.s, fork.String(), changed.From, ""))(t)
	if got := w.getIn(fork, old.ID); got.Context != "Baking." {
		t.Errorf("the fork has %q", got.Context)
	}
	if got := w.get(old.ID); got.Version() != old.Version() {
		t.Error("the base moved")
	}
}
