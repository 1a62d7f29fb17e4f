package engine_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/oapi-codegen/nullable"

	"github.com/slipboxhq/slipbox/internal/clone"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/policy/amem"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

// newGossip returns a world whose model describes a note by its own words, and repeats a secret that it reads anywhere to all neighbors and
// in the tags of the new note.
func newGossip(t *testing.T, o options) *world {
	t.Helper()
	w := newWorld(t, o)
	w.fake.Handle("analyze", func(r llmtest.Request) llmtest.Reply {
		var d struct {
			Content string `json:"content"`
		}
		w.material(r, &d)
		words := strings.Fields(strings.Trim(strings.ToLower(d.Content), "."))
		return llmtest.JSON(amem.Analysis{Context: "Says: " + d.Content, Keywords: words[:min(4, len(words))], Tags: words[:2]})
	})
	w.fake.Handle("evolve", func(r llmtest.Request) llmtest.Reply {
		var d struct {
			New       policy.DescribedMaterial   `json:"new_note"`
			Neighbors []policy.DescribedMaterial `json:"neighbours"`
		}
		w.material(r, &d)
		if raw, err := json.Marshal(d); err != nil || !strings.Contains(string(raw), "celiac") {
			return keep()
		}
		return evolve(func(e *amem.Evolution) {
			e.Actions, e.SuggestedConnections, e.TagsToUpdate = []string{"strengthen", "update_neighbor"}, []int{0}, []string{"celiac"}
			for range d.Neighbors {
				e.NewContextNeighborhood = append(e.NewContextNeighborhood, "Mirko has celiac disease.")
				e.NewTagsNeighborhood = append(e.NewTagsNeighborhood, []string{"celiac"})
				e.NewKeywordsNeighborhood = append(e.NewKeywordsNeighborhood, []string{"celiac"})
			}
		})
	})
	return w
}

// traces returns where a word is: in versions of notes, in results of jobs and in reviews.
func (w *world) traces(c uuid.UUID, word string) (out []string) {
	w.t.Helper()
	holds := func(what string, v any) {
		raw := must.Get(json.Marshal(v))(w.t)
		if strings.Contains(strings.ToLower(string(raw)), word) {
			out = append(out, what+" "+string(raw))
		}
	}
	ctx, v := w.t.Context(), w.view(c)
	for i := range v.Layers {
		must.Get(w.store.Log(ctx, w.s, v, i, 0, "", func(r memory.LogRow) error {
			holds("version", r.Note)
			return nil
		}))(w.t)
	}
	jobs := must.Get(w.store.ListJobs(ctx, w.s, memory.JobQuery{Collection: c, Limit: 200}))(w.t)
	for i := range jobs {
		holds("job", string(jobs[i].Result)+string(jobs[i].Payload))
	}
	for _, state := range []memory.ReviewState{memory.ReviewOpen, memory.ReviewApplied, memory.ReviewApproved} {
		for _, r := range w.reviews(state) {
			holds("review", r)
		}
	}
	return out
}

func (w *world) erase(id uuid.UUID) notes.Erasure {
	w.t.Helper()
	out := must.Get(w.notes.Erase(w.t.Context(), w.s, w.c.ID.String(), id, notes.TakeSentences, memory.Request{}))(w.t)
	return out
}

// TestEraseSharedKnowledge: a line of knowledge that quotes several messages goes with one that is erased; the other messages stay.
func TestEraseSharedKnowledge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{heuristic: true, policy: "layered"})
	var said []memory.Note
	for _, word := range []string{"wrench", "hammer", "chisel", "ladder", "shovel"} {
		said = append(said, w.sayAndDrain("I keep my "+word+" behind the kiln in Graz."))
	}
	lines := w.all(w.c.ID, memory.KindKnowledge)
	if len(lines) != 1 || !strings.Contains(lines[0].Content, "chisel") || len(lines[0].Provenance.Sources) != len(said) {
		t.Fatalf("there is no line of all: %+v", lines)
	}
	w.erase(said[2].ID)
	w.drain()
	if left := w.traces(w.c.ID, "chisel"); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	for _, m := range said {
		if m.ID != said[2].ID && w.get(m.ID).Content != m.Content {
			t.Errorf("%q is changed", m.Content)
		}
	}
}

// TestEraseDescriptions: of an erased note, nothing remains in what it wrote into others: not in the descriptions of its neighbors, nor of
// those that were described from these later; not in their earlier versions, in searches, in results of jobs, in reviews. A description
// that is of a note's own text stays or is written again, and what a caller set stays, as do forks.
func TestEraseDescriptions(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name     string
		options  options
		deleted  bool // before it is erased
		proposed bool
	}{
		{name: "visible"},
		{name: "both stages together", options: options{together: true}},
		{name: "deleted before", deleted: true},
		{name: "proposals", options: options{config: `{"confidence_gate":0.99,"strengthen_gate":0.99}`}, proposed: true},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			w := newGossip(t, x.options)
			bread := w.learn("Mirko bakes bread every Saturday.")
			mine := w.learn("Mirko sells bread on Sunday.", given([]string{"market"}, nil, "Mine."))
			before := w.fork("before")
			secret := w.learn("The clinic diagnosed Mirko, who bakes bread, with celiac disease.")
			after := w.fork("after")
			later := w.learn("Mirko bakes bread without flour.")
			told := w.learn("Mirko bakes bread for Ana.")
			tag := nullable.NewNullableWithValue([]string{"home"})
			w.patch(bread.ID, notes.NotePatch{Category: nullable.NewNullableWithValue("Food")})
			w.patch(later.ID, notes.NotePatch{Tags: tag})
			if x.proposed != (len(w.reviews(memory.ReviewOpen)) > 0) || !x.proposed && w.get(bread.ID).Context != "Mirko has celiac disease." {
				t.Fatalf("it was not described from the secret: %+v", w.get(bread.ID))
			}
			if x.deleted {
				w.deleteByCaller(secret.ID)
				if n := w.get(bread.ID); n.Context != bread.Context || !slices.Equal(n.Tags, bread.Tags) {
					t.Errorf("after the deletion %q, %q", n.Context, n.Tags)
				}
			}
			out := w.erase(secret.ID)
			w.drain()
			for _, c := range []uuid.UUID{w.c.ID, before, after} {
				if left := w.traces(c, "celiac"); len(left) > 0 {
					t.Errorf("left: %s", strings.Join(left, "\n"))
				}
				for _, n := range []memory.Note{bread, mine} {
					if now := w.getIn(c, n.ID); now.Context != n.Context || !slices.Equal(now.Tags, n.Tags) || !slices.Equal(now.Keywords, n.Keywords) {
						t.Errorf("%q has the context %q, the tags %q and the keywords %q", n.Content, now.Context, now.Tags, now.Keywords)
					}
				}
			}
			if n := w.get(later.ID); n.Context != "Says: "+n.Content || !slices.Equal(n.Tags, []string{"home"}) || n.State != memory.StateEvolved {
				t.Errorf("the later note is %+v", n)
			}
			if n := w.get(told.ID); n.Context != "Says: "+n.Content || !slices.Equal(n.Tags, []string{"mirko", "bakes"}) || n.State != memory.StateEvolved {
				t.Errorf("the last note is %+v", n)
			}
			if n := w.get(bread.ID); n.Category != "Food" {
				t.Errorf("what the caller set is %q", n.Category)
			}
			if has(out.Rewritten, bread.ID) == x.proposed || has(out.Gone, bread.ID) || has(out.Rewritten, secret.ID) {
				t.Errorf("erased %v, rewritten %v", out.Gone, out.Rewritten)
			}
			if r := w.found("celiac"); slices.ContainsFunc(r, func(s string) bool { return strings.Contains(s, "celiac") }) {
				t.Errorf("found %q", r)
			}
		})
	}
}

// TestEraseBesideOthersForks: what others have forked before an erasure shows the notes that the erasure changes as it showed them, without
// what is erased, however the notes have changed since.
func TestEraseBesideOthersForks(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T, w *world) (fork func(name string) uuid.UUID, erase func(uuid.UUID)) {
		t.Helper()
		bob := must.Get(w.store.EnsureAgent(t.Context(), w.s, "bob"))(t)
		alice := must.Get(w.store.EnsureAgent(t.Context(), w.s, "alice"))(t)
		all := w.s
		hers := grant.Scope(w.s.Tenant(), alice.ID, "key:alice", tenant.AllPermissions()...)
		return func(name string) uuid.UUID {
				t.Helper()
				r := must.Get(w.clone.Clone(t.Context(), all, w.c.ID.String(), clone.Input{Name: name, Agent: bob.Name}, memory.Request{}))(t)
				if _, err := w.store.OpenView(t.Context(), hers, r.Collection.ID.String(), memory.At{}); err == nil {
					t.Fatal("she reaches it")
				}
				return r.Collection.ID
			}, func(id uuid.UUID) {
				t.Helper()
				w.s = hers
				w.erase(id)
				w.s = all
				w.drain()
			}
	}
	t.Run("descriptions", func(t *testing.T) {
		t.Parallel()
		w := newGossip(t, options{})
		fork, erase := open(t, w)
		bread := w.learn("Mirko bakes bread every Saturday.")
		before := fork("before")
		secret := w.learn("The clinic diagnosed Mirko, who bakes bread, with celiac disease.")
		after := fork("after")
		w.patch(bread.ID, notes.NotePatch{Content: new("Mirko bakes rye bread every Sunday."), Context: nullable.NewNullableWithValue("Of a baker.")})
		patched := fork("patched")
		w.patch(bread.ID, notes.NotePatch{Content: new("Mirko bakes nothing.")})
		erase(secret.ID)
		for c, want := range map[uuid.UUID][2]string{
			before: {bread.Content, bread.Context}, after: {bread.Content, bread.Context},
			patched: {"Mirko bakes rye bread every Sunday.", "Of a baker."}, w.c.ID: {"Mirko bakes nothing.", "Of a baker."},
		} {
			if left := w.traces(c, "celiac"); len(left) > 0 {
				t.Errorf("left: %s", strings.Join(left, "\n"))
			}
			if n := w.getIn(c, bread.ID); n.Content != want[0] || n.Context != want[1] || len(n.Vector) == 0 {
				t.Errorf("%q is shown with the context %q, not %q", n.Content, n.Context, want)
			}
		}
	})
	t.Run("sentences", func(t *testing.T) {
		t.Parallel()
		w := newChatWorld(t, options{})
		fork, erase := open(t, w)
		w.script(map[string][]string{"I have celiac disease. My dog is Rex.": {"User has celiac disease", "User's dog is Rex"}}, nil)
		said := w.sayAndDrain("I have celiac disease. My dog is Rex.")
		theirs := fork("theirs")
		var id uuid.UUID
		for _, f := range w.all(w.c.ID, memory.KindFact) {
			if strings.Contains(f.Content, "celiac") {
				id = f.ID
			}
		}
		erase(id)
		for _, c := range []uuid.UUID{theirs, w.c.ID} {
			if left := w.traces(c, "celiac"); len(left) > 0 {
				t.Errorf("left: %s", strings.Join(left, "\n"))
			}
			if n := w.getIn(c, said.ID); !strings.HasSuffix(n.Content, "My dog is Rex.") {
				t.Errorf("the message is %q", n.Content)
			}
			if facts := w.all(c, memory.KindFact); len(facts) != 1 || facts[0].Content != "User's dog is Rex" {
				t.Errorf("the facts are %+v", facts)
			}
		}
	})
}

// TestEraseMergedDescriptions: what a fork has described from an erased note, and a merge has taken into the base before, goes in both.
func TestEraseMergedDescriptions(t *testing.T) {
	t.Parallel()
	for _, gone := range []bool{false, true} { // the fork, when it is erased
		w := newGossip(t, options{})
		bread := w.learn("Mirko bakes bread every Saturday.")
		base, fork := w.c, w.fork("fork")
		w.c = w.view(fork).Collection
		secret := w.learn("The clinic diagnosed Mirko, who bakes bread, with celiac disease.")
		w.c = base
		must.Get(w.clone.Merge(t.Context(), w.s, base.ID.String(), clone.MergeInput{From: fork.String()}))(t)
		w.drain()
		later := w.fork("later")
		if n := w.get(bread.ID); n.Context != "Mirko has celiac disease." {
			t.Fatalf("the merge has not taken it: %+v", n)
		}
		if gone {
			must.Get(w.store.DeleteCollection(t.Context(), w.s, fork, true, memory.AuditEntry{}))(t)
		}
		w.erase(secret.ID)
		w.drain()
		for _, c := range []uuid.UUID{base.ID, later} {
			if left := w.traces(c, "celiac"); len(left) > 0 {
				t.Errorf("left: %s", strings.Join(left, "\n"))
			}
			if n := w.getIn(c, bread.ID); n.Content != bread.Content || n.Context != bread.Context {
				t.Errorf("%q has the context %q", n.Content, n.Context)
			}
		}
		if gone {
			continue
		}
		if left := w.traces(fork, "celiac"); len(left) > 0 {
			t.Errorf("left in the fork: %s", strings.Join(left, "\n"))
		}
	}
}

// TestDeleteDescriptions: a deleted note is taken out of the descriptions of its neighbors, and a rollback brings them back. Of what was
// described without it, the history stays.
func TestDeleteDescriptions(t *testing.T) {
	t.Parallel()
	w := newGossip(t, options{})
	bread := w.learn("Mirko bakes bread every Saturday.")
	secret := w.learn("The clinic diagnosed Mirko, who bakes bread, with celiac disease.")
	at := w.view(w.c.ID).At
	w.deleteByCaller(secret.ID)
	if n := w.get(bread.ID); n.Context != bread.Context || !slices.Equal(n.Keywords, bread.Keywords) || len(n.Vector) == 0 {
		t.Errorf("after the deletion %q, %q", n.Context, n.Keywords)
	}
	must.Get(w.clone.Rollback(t.Context(), w.s, w.c.ID.String(), clone.RollbackInput{To: at}))(t)
	if n := w.get(bread.ID); n.Context != "Mirko has celiac disease." {
		t.Errorf("after the rollback %q", n.Context)
	}
	other := w.learn("Jupiter has moons.")
	past := len(w.history(bread.ID))
	if out := w.erase(other.ID); has(out.Rewritten, bread.ID) || len(w.history(bread.ID)) != past {
		t.Errorf("an erasure of another note has rewritten it: %v", out.Rewritten)
	}
}

// TestEraseUpdate: of the message behind an update of a fact, nothing remains in the fact: not in its text, its key and its sources, its
// earlier versions, the summary, searches, results of jobs. The fact is what the messages before it support, what later ones say is learned
// from them again, and forks show what they showed. A fact that a caller has written stays.
func TestEraseUpdate(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name  string
		erase int
		mine  string // a caller writes it
		left  []string
		fork  string // that was made after the first message
	}{
		{name: "in the middle", erase: 1, left: []string{"User has a dog", "User's dog is five"}, fork: "User has a dog"},
		{name: "the last", erase: 2, left: []string{"User has a dog called Rex"}, fork: "User has a dog"},
		{name: "the first", erase: 0, left: []string{"User's dog is called Rex", "User's dog is five"}},
		{name: "written by a caller", erase: 1, mine: "User has a cat", left: []string{"User has a cat"}, fork: "User has a dog"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			w := newChatWorld(t, options{})
			said := []string{"I have a dog.", "My dog is called Rex.", "My dog is five."}
			facts := []string{"User has a dog", "User's dog is called Rex", "User's dog is five"}
			w.script(map[string][]string{said[0]: {facts[0]}, said[1]: {facts[1]}, said[2]: {facts[2]}}, map[string]verdict{
				facts[1]: {mem0.OpUpdate, facts[0], "User has a dog called Rex"},
				facts[2]: {mem0.OpUpdate, "User has a dog called Rex", "User has a dog called Rex that is five"},
			})
			messages := []memory.Note{w.sayAndDrain(said[0])}
			before := w.fork("before")
			messages = append(messages, w.sayAndDrain(said[1]), w.sayAndDrain(said[2]))
			was := w.all(w.c.ID, memory.KindFact)
			if len(was) != 1 || was[0].Content != "User has a dog called Rex that is five" {
				t.Fatalf("the facts are %q", w.texts(memory.KindFact))
			}
			if x.mine != "" {
				w.patch(was[0].ID, notes.NotePatch{Content: &x.mine})
			}
			out := w.erase(messages[x.erase].ID)
			w.drain()
			if got := w.texts(memory.KindFact); !slices.Equal(got, x.left) {
				t.Errorf("the facts are %q", got)
			}
			word := []string{"a dog", "rex", "five"}[x.erase]
			if left := w.traces(w.c.ID, word); len(left) > 0 {
				t.Errorf("left: %s", strings.Join(left, "\n"))
			}
			if got := w.all(before, memory.KindFact); x.fork == "" != (len(got) == 0) || len(got) == 1 && got[0].Content != x.fork {
				t.Errorf("the fork has %+v", got)
			}
			for _, n := range w.all(w.c.ID, memory.KindFact) {
				if n.Provenance.Stale || has(n.Provenance.Sources, messages[x.erase].ID) {
					t.Errorf("%q is from %+v", n.Content, n.Provenance)
				}
			}
			if x.erase > 0 != has(out.Rewritten, was[0].ID) || x.erase > 0 == has(out.Gone, was[0].ID) {
				t.Errorf("erased %v, rewritten %v", out.Gone, out.Rewritten)
			}
		})
	}
}

// TestEraseForgotten: of a message that was forgotten before it was erased, nothing remains: not in the summary and the profile of its day,
// nor in those of all days, which contexts show; not in their earlier versions, and not in results of jobs. So of a retired fact.
func TestEraseForgotten(t *testing.T) {
	t.Parallel()
	for _, persons := range []string{"one", "several"} {
		t.Run(persons, func(t *testing.T) {
			t.Parallel()
			w := newBankWorld(t, options{heuristic: true, config: `{"summary_delay":0,"persons":"` + persons + `"}`})
			said := w.chat(w.c.ID, "Yuki", 100, "I hid the safe at Lindau behind a clock.", "Noted.")
			w.drain()
			w.chat(w.c.ID, "Yuki", 2, "I booked a trip to Tromso.", "Noted.")
			w.drain()
			day := w.keyed(w.c.ID, memory.KindSummary, "day/"+w.date(100)) // which was recalled, and stays
			must.Do(t, w.store.AddUsage(t.Context(), w.s, w.view(w.c.ID), []memory.UsageDelta{{Note: day.ID, Accesses: 1, LastAccess: w.now()}}))
			w.act("forget", "", `{"mode":"threshold"}`, true)
			w.drain()
			if len(w.traces(w.c.ID, "lindau")) == 0 || !strings.Contains(w.keyed(w.c.ID, memory.KindSummary, "overall").Content, "Lindau") {
				t.Fatalf("it is in no summary: %q %v", w.keyed(w.c.ID, memory.KindSummary, "overall").Content, w.texts(memory.KindMessage))
			}
			out := w.erase(said[0].ID)
			w.drain()
			w.advance(time.Hour)
			w.drain()
			if left := w.traces(w.c.ID, "lindau"); len(left) > 0 {
				t.Errorf("left: %s", strings.Join(left, "\n"))
			}
			if n := w.keyed(w.c.ID, memory.KindSummary, "overall"); !strings.Contains(n.Content, "Tromso") || n.Provenance.Stale {
				t.Errorf("the history is %q", n.Content)
			}
			if len(out.Waiting) != 1 || !has(out.Rewritten, w.keyed(w.c.ID, memory.KindSummary, "overall").ID) {
				t.Errorf("erased %+v", out)
			}
		})
	}
	t.Run("a retired fact", func(t *testing.T) {
		t.Parallel()
		w := newChatWorld(t, options{})
		w.script(map[string][]string{"I live in Graz.": {"User lives in Graz"}, "I moved to Linz.": {"User lives in Linz"}},
			map[string]verdict{"User lives in Linz": {mem0.OpDelete, "User lives in Graz", "User lives in Linz"}})
		w.fake.Handle("summarize", func(r llmtest.Request) llmtest.Reply { // it repeats what it is shown
			text, _, _ := strings.Cut(r.User, "</memory-data>")
			said := "User lives in Linz."
			if strings.Contains(text, "Graz") {
				said = "User lives in Linz, and lived in Graz."
			}
			return llmtest.JSON(mem0.Summary{Summary: said})
		})
		first := w.sayAndDrain("I live in Graz.")
		fact := w.all(w.c.ID, memory.KindFact)[0]
		w.sayAndDrain("I moved to Linz.")
		w.erase(fact.ID)
		w.drain()
		if left := slices.DeleteFunc(w.traces(w.c.ID, "graz"), func(s string) bool { return strings.Contains(s, first.ID.String()) }); len(left) > 0 {
			t.Errorf("left: %s", strings.Join(left, "\n"))
		}
		if got := w.texts(memory.KindFact); !slices.Equal(got, []string{"User lives in Linz"}) {
			t.Errorf("the facts are %q", got)
		}
	})
}
