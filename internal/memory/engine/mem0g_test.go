package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/encoder/weights/weightstest"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/graph"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/test/must"
)

// newGraphWorld returns a world whose collection keeps a graph. Every message is a fact, word by
// word. relations lists the relations of each fact as "a|relation|b", and ends returns the existing
// ones that a call finds contradicted.
func newGraphWorld(t *testing.T, o options, relations map[string][]string, ends func(fresh, existing []mem0.Triple) []mem0.Triple) *world {
	t.Helper()
	o.policy = "mem0g"
	w := newChatWorld(t, o)
	facts := map[string][]string{}
	for fact := range relations {
		facts[fact] = []string{fact}
	}
	w.script(facts, nil)
	triples := func(r llmtest.Request) []mem0.Triple {
		var d struct {
			Facts []struct{ Text string } `json:"facts"`
		}
		w.material(r, &d)
		out := []mem0.Triple{}
		for _, f := range d.Facts {
			for _, s := range relations[f.Text] {
				p := strings.Split(s, "|")
				out = append(out, mem0.Triple{Source: p[0], Relation: p[1], Destination: p[2]})
			}
		}
		return out
	}
	w.fake.Handle("entities", func(r llmtest.Request) llmtest.Reply {
		out := mem0.EntitiesFound{Entities: []mem0.Entity{}}
		for _, t := range triples(r) {
			for _, name := range []string{t.Source, t.Destination} {
				kind := "person"
				if places[name] {
					kind = "place"
				}
				out.Entities = append(out.Entities, mem0.Entity{Entity: name, Type: kind})
			}
		}
		return llmtest.JSON(out)
	})
	w.fake.Handle("relations", func(r llmtest.Request) llmtest.Reply {
		return llmtest.JSON(mem0.RelationsFound{Relations: triples(r)})
	})
	w.fake.Handle("conflicts", func(r llmtest.Request) llmtest.Reply {
		var d struct {
			New      []mem0.Triple `json:"new"`
			Existing []mem0.Triple `json:"existing"`
		}
		w.material(r, &d)
		out := mem0.ConflictsFound{Invalidate: []mem0.Triple{}}
		if ends != nil {
			out.Invalidate = append(out.Invalidate, ends(d.New, d.Existing)...)
		}
		return llmtest.JSON(out)
	})
	return w
}

var places = map[string]bool{"Paris": true, "Berlin": true, "Lyon": true, "France": true}

// on sets the day of a message.
func on(day string) func(*notes.NewMessage) {
	at, err := time.Parse(time.DateOnly, day)
	return func(m *notes.NewMessage) {
		if err == nil {
			m.OccurredAt = &at
		}
	}
}

// factLines returns the edges as "subject relation object from..to".
func (w *world) factLines(v memory.View, q recall.FactsQuery) []string {
	w.t.Helper()
	page := must.Get(w.recall.Facts(w.t.Context(), w.s, v, q))(w.t)
	out := []string{}
	for _, f := range page.Items {
		s := f.Subject + " " + f.Relation + " " + f.Object + " " + f.ValidFrom.Format("01-02") + ".."
		if !f.InvalidatedAt.IsZero() {
			s += f.InvalidatedAt.Format("01-02")
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

func (w *world) checkFacts(what string, v memory.View, q recall.FactsQuery, want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), w.factLines(v, q)); diff != "" {
		w.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// C196, C199, C202, C203, C207: a directed, labeled graph. Its edges are listed and filtered, its
// nodes are typed, its past can be read by event time and by revision, and its edges name their
// sources.
func TestMem0gGraph(t *testing.T) {
	t.Parallel()
	w := newGraphWorld(t, options{}, map[string][]string{
		"Alice lives in Paris":      {"Alice|lives_in|Paris"},
		"Alice knows Bob":           {"Alice|knows|Bob"},
		"Alice moved to Berlin":     {"Alice|lives_in|Berlin"},
		"Alice is back in Paris":    {"Alice|lives_in|Paris"},
		"Alice lived in Lyon first": {"Alice|lives_in|Lyon"},
	}, func(fresh, existing []mem0.Triple) []mem0.Triple {
		return slices.DeleteFunc(existing, func(t mem0.Triple) bool { return t.Relation != "lives_in" || fresh[0].Relation != "lives_in" })
	})
	w.sayAndDrain("Alice lives in Paris", on("2026-01-02"))
	w.sayAndDrain("Alice knows Bob", on("2026-01-03"))
	before := w.view(w.c.ID)
	w.sayAndDrain("Alice moved to Berlin", on("2026-02-01"))
	v := w.view(w.c.ID)
	w.checkFacts("now", v, recall.FactsQuery{}, "Alice knows Bob 01-03..", "Alice lives_in Berlin 02-01..")
	w.checkFacts("no longer", v, recall.FactsQuery{Valid: new(false)}, "Alice lives_in Paris 01-02..02-01")
	w.checkFacts("all", v, recall.FactsQuery{All: true}, "Alice knows Bob 01-03..", "Alice lives_in Berlin 02-01..", "Alice lives_in Paris 01-02..02-01")
	w.checkFacts("by subject and relation", v, recall.FactsQuery{Subject: " ALICE ", Relation: "Lives in"}, "Alice lives_in Berlin 02-01..")
	w.checkFacts("by object", v, recall.FactsQuery{Object: "bob"}, "Alice knows Bob 01-03..")
	w.checkFacts("by both", v, recall.FactsQuery{Subject: "alice", Object: "bob"}, "Alice knows Bob 01-03..")
	w.checkFacts("the other way round", v, recall.FactsQuery{Subject: "bob", Object: "alice"})
	w.checkFacts("of nobody", v, recall.FactsQuery{Subject: "Zoe"})
	mid := time.Date(2026, 1, 20, 0, 0, 0, 0, time.UTC)
	w.checkFacts("at that time", v, recall.FactsQuery{ValidAt: mid}, "Alice knows Bob 01-03..", "Alice lives_in Paris 01-02..02-01")
	w.checkFacts("before everything", v, recall.FactsQuery{ValidAt: mid.AddDate(-1, 0, 0)})
	w.checkFacts("as the log stood", before, recall.FactsQuery{}, "Alice knows Bob 01-03..", "Alice lives_in Paris 01-02..")

	w.sayAndDrain("Alice is back in Paris", on("2026-03-01"))
	w.sayAndDrain("Alice lived in Lyon first", on("2025-12-01"))
	v = w.view(w.c.ID)
	w.checkFacts("back", v, recall.FactsQuery{}, "Alice knows Bob 01-03..", "Alice lives_in Paris 03-01..")
	w.checkFacts("in between", v, recall.FactsQuery{ValidAt: mid.AddDate(0, 1, 0), Relation: "lives_in"}, "Alice lives_in Berlin 02-01..03-01")
	w.checkFacts("the first time", v, recall.FactsQuery{ValidAt: mid, Relation: "lives_in"}, "Alice lives_in Paris 01-02..02-01")
	w.checkFacts("what was learned later of an earlier time", v, recall.FactsQuery{ValidAt: time.Date(2025, 12, 5, 0, 0, 0, 0, time.UTC)}, "Alice lives_in Lyon 12-01..01-02")

	page, err := w.recall.Facts(t.Context(), w.s, v, recall.FactsQuery{Subject: "alice", Relation: "lives_in"})
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("%+v, %v", page, err)
	}
	var sources []string
	for _, id := range page.Items[0].Sources {
		sources = append(sources, w.get(id).Content)
	}
	slices.Sort(sources)
	if f := page.Items[0]; !slices.Equal(sources, []string{"Alice is back in Paris", "Alice lives in Paris"}) || f.Mentions != 2 || f.Confidence <= 0 || !f.Valid {
		t.Errorf("fact %+v from %q", f, sources)
	}
	people, err := w.store.ListNotes(t.Context(), w.s, v, memory.NoteQuery{
		Kinds: []memory.Kind{memory.KindEntity}, Limit: 10,
		Filter: &filter.Leaf{Field: filter.Category, Op: filter.Eq, Values: []filter.Value{{Type: filter.Text, Text: "person"}}},
	})
	if err != nil || len(people) != 2 {
		t.Errorf("people: %d, %v", len(people), err)
	}
	for _, n := range w.all(w.c.ID, memory.KindEntity) {
		if n = w.get(n.ID); n.Category == "" || n.Vector == nil || n.CreatedAt.IsZero() { // C197
			t.Errorf("entity %+v", n)
		}
	}
	for _, j := range w.jobsOf(w.c.ID, memory.JobExchange) {
		o := resultOf[mem0.Outcome](t, &j)
		if o.Graph == nil { // C200
			t.Errorf("the trace of %s does not show the graph", j.ID)
		}
	}
	found := must.Get(w.recall.Graph(t.Context(), w.s, v, recall.GraphQuery{Limit: 1000, Depth: -1}))(t)
	nodes, edges := 0, 0
	for _, n := range found.Nodes {
		if n.Note.Kind == memory.KindEntity {
			nodes++
		}
	}
	for _, l := range found.Links {
		if _, ok := graph.EdgeOf(&l); ok {
			edges++
		}
	}
	if nodes != 5 || edges != 4 {
		t.Errorf("the graph has %d entities and %d edges", nodes, edges)
	}
}

// C204, C206: a search finds the edges into and out of entities that the query names, and what is
// two edges away.
func TestMem0gSearch(t *testing.T) {
	t.Parallel()
	w := newGraphWorld(t, options{}, map[string][]string{
		"Alice has a sister, Berta":            {"Berta|is_sister_of|Alice"},
		"Berta resides in Lyon":                {"Berta|lives_in|Lyon"},
		"Carl prefers vegetarian dishes":       {"Carl|prefers|vegetarian food"},
		"Dora took up the violin last year":    {"Dora|plays|violin"},
		"Emil lives in Berlin near the park":   {"Emil|lives_in|Berlin"},
		"Frank drives a red car to work daily": {"Frank|drives|red car"},
	}, nil)
	for _, fact := range []string{
		"Alice has a sister, Berta", "Berta resides in Lyon", "Carl prefers vegetarian dishes", "Dora took up the violin last year",
		"Emil lives in Berlin near the park", "Frank drives a red car to work daily",
	} {
		w.sayAndDrain(fact)
	}
	search := func(q recall.Query) map[string][]recall.Source {
		t.Helper()
		r := must.Get(w.recall.Search(t.Context(), w.s, w.view(w.c.ID), q))(t)
		out := map[string][]recall.Source{}
		for _, h := range r.Hits {
			if _, twice := out[h.Note.Content]; twice || h.Note.Kind == memory.KindEntity || h.Note.Kind == memory.KindMessage {
				t.Errorf("%s: found %q, %s", q.Text, h.Note.Content, h.Note.Kind)
			}
			out[h.Note.Content] = h.Sources
		}
		return out
	}
	got := search(recall.Query{Text: "Where does the sister of Alice live?", K: 6})
	for _, want := range []string{"Berta is sister of Alice", "Berta lives in Lyon"} {
		if !slices.Contains(got[want], recall.Source("graph")) {
			t.Errorf("%q was not found by the graph: %v", want, got)
		}
	}
	onlyFacts := &filter.Leaf{Field: filter.Kind, Op: filter.Eq, Values: []filter.Value{{Type: filter.Text, Text: "fact"}}}
	for content := range search(recall.Query{Text: "Where does the sister of Alice live?", K: 20, Filter: onlyFacts}) {
		if content == "Berta lives in Lyon" {
			t.Error("the filter lets no triples pass, and one was found")
		}
	}
	c, err := w.recall.Context(t.Context(), w.s, w.view(w.c.ID), recall.ContextQuery{Text: "Where does the sister of Alice live?", TokenBudget: 300})
	if err != nil || !strings.Contains(c.Text, "Berta lives in Lyon") {
		t.Errorf("context %q, %v", c.Text, err)
	}
}

// C205, C201 with vectors of meanings: a question that names no entity finds the triple that answers
// it, another spelling of a name is the same entity, and names that are only similar are not.
func TestMem0gMeaning(t *testing.T) {
	t.Parallel()
	facts := []string{
		"Carl prefers vegetarian dishes", "Dora took up the violin last year", "Emil lives in Berlin near the park",
		"Frank drives a red car to work daily", "Anna took a guitar lesson", "Hanna gives guitar lessons",
	}
	w := newGraphWorld(t, options{encoder: weightstest.Dir(t)}, map[string][]string{
		facts[0]: {"Carl|prefers|vegetarian food"}, facts[1]: {"Dora|plays|violin"}, facts[2]: {"Emil|lives_in|Berlin"},
		facts[3]: {"Frank|drives|red car"}, facts[4]: {"Anna|took|guitar lesson"}, facts[5]: {"Hanna|gives|guitar lessons"},
	}, nil)
	for _, f := range facts {
		w.sayAndDrain(f)
	}
	for query, want := range map[string]string{
		"who never eats meat?":              "Carl prefers vegetarian food",
		"who has an instrument with a bow?": "Dora plays violin",
		"whose home is the capital city?":   "Emil lives in Berlin",
	} {
		r := must.Get(w.recall.Search(t.Context(), w.s, w.view(w.c.ID), recall.Query{Text: query, K: 4}))(t)
		at := slices.IndexFunc(r.Hits, func(h recall.Hit) bool { return h.Note.Content == want })
		if at < 0 || slices.Contains(r.Hits[at].Sources, recall.Source("graph")) || !slices.Contains(r.Hits[at].Sources, recall.Source("vector")) {
			t.Errorf("%q: %q at %d", query, want, at)
		}
	}
	want := []string{"Anna", "Berlin", "Carl", "Dora", "Emil", "Frank", "Hanna", "guitar lesson", "red car", "vegetarian food", "violin"}
	if diff := cmp.Diff(want, w.texts(memory.KindEntity)); diff != "" {
		t.Errorf("entities (-want +got):\n%s", diff)
	}
}

// Deleting a memory deletes the edges that came from it alone; other edges stay. A fork is
// independent.
func TestMem0gDelete(t *testing.T) {
	t.Parallel()
	w := newGraphWorld(t, options{}, map[string][]string{
		"Bob plays chess":        {"Bob|plays|chess"},
		"Bob plays chess and go": {"Bob|plays|chess", "Bob|plays|go"},
	}, nil)
	w.sayAndDrain("Bob plays chess")
	w.sayAndDrain("Bob plays chess and go")
	fork := w.fork("aside")
	var both memory.Note
	for _, n := range w.all(w.c.ID, memory.KindFact) {
		if n.Content == "Bob plays chess and go" {
			both = n
		}
	}
	day := w.now().UTC().Format("01-02")
	must.Get(w.notes.Delete(t.Context(), w.s, w.c.ID.String(), both.ID, memory.Request{}))(t)
	w.checkFacts("after the deletion", w.view(w.c.ID), recall.FactsQuery{}, "Bob plays chess "+day+"..")
	w.checkFacts("of all", w.view(w.c.ID), recall.FactsQuery{All: true}, "Bob plays chess "+day+"..")
	w.checkFacts("in the fork", w.view(fork), recall.FactsQuery{}, "Bob plays chess "+day+"..", "Bob plays go "+day+"..")
	if found := w.found("what does Bob play, go?"); slices.Contains(found, "Bob plays go") || !slices.Contains(found, "Bob plays chess") {
		t.Errorf("found %q", found)
	}
	// When it is said again, it holds again.
	w.sayAndDrain("Bob plays chess and go")
	w.checkFacts("said again", w.view(w.c.ID), recall.FactsQuery{}, "Bob plays chess "+day+"..", "Bob plays go "+day+"..")
	if n := len(w.all(w.c.ID, memory.KindKnowledge)); n != 2 {
		t.Errorf("%d triples", n)
	}
}

// The graph is extracted again from a fact that a caller changed: edges whose ends it no longer
// names end, and new ones begin.
func TestMem0gPatchedFact(t *testing.T) {
	t.Parallel()
	w := newGraphWorld(t, options{}, map[string][]string{"Bob plays chess": {"Bob|plays|chess"}, "Bob plays go": {"Bob|plays|go"}}, nil)
	w.sayAndDrain("Bob plays chess", on("2026-01-02"))
	fact := w.all(w.c.ID, memory.KindFact)[0]
	patch := notes.NotePatch{Content: new("Bob plays go")}
	must.Get(w.notes.Patch(t.Context(), w.s, w.c.ID.String(), fact.ID, patch, memory.Request{}))(t)
	w.drain()
	v := w.view(w.c.ID)
	w.checkFacts("now", v, recall.FactsQuery{}, "Bob plays go 01-02..")
	w.checkFacts("no longer", v, recall.FactsQuery{Valid: new(false)}, "Bob plays chess 01-02..01-02")
	if got := w.texts(memory.KindKnowledge); !slices.Equal(got, []string{"Bob plays go"}) {
		t.Errorf("triples %q", got)
	}
}

// C201: a near-identical name reuses its node. Pages of facts of any size are stable.
func TestMem0gPages(t *testing.T) {
	t.Parallel()
	relations := map[string][]string{
		"Ann took a guitar lesson":        {"Ann|took|guitar lesson"},
		"Ben takes guitar lessons":        {"Ben|takes|guitar lessons"},
		"Hanna and Anna are two":          {"Hanna|is_friend_of|Anna"},
		"Ann, Ben and Hanna meet in Lyon": {"Ann|meets_in|Lyon", "Ben|meets_in|Lyon", "Hanna|meets_in|Lyon", "Ann|knows|Ben", "Ann|knows|Hanna"},
	}
	w := newGraphWorld(t, options{}, relations, nil)
	for _, fact := range []string{"Ann took a guitar lesson", "Ben takes guitar lessons", "Hanna and Anna are two", "Ann, Ben and Hanna meet in Lyon"} {
		w.sayAndDrain(fact)
	}
	if got := w.texts(memory.KindEntity); !slices.Equal(got, []string{"Ann", "Anna", "Ben", "Hanna", "Lyon", "guitar lesson"}) {
		t.Errorf("entities %q", got)
	}
	v := w.view(w.c.ID)
	for limit := 1; limit <= 9; limit++ {
		seen, after := map[[2]uuid.UUID][]string{}, ""
		n := 0
		for pages := 0; ; pages++ {
			page, err := w.recall.Facts(t.Context(), w.s, v, recall.FactsQuery{Limit: limit, After: after})
			if err != nil || len(page.Items) > limit || pages > 20 {
				t.Fatalf("limit %d: %+v, %v", limit, page, err)
			}
			for _, f := range page.Items {
				key := [2]uuid.UUID{f.SubjectID, f.ObjectID}
				if slices.Contains(seen[key], f.Relation) {
					t.Errorf("limit %d: %s %s %s twice", limit, f.Subject, f.Relation, f.Object)
				}
				seen[key] = append(seen[key], f.Relation)
				n++
			}
			if after = page.Next; after == "" {
				break
			}
		}
		if n != 8 {
			t.Errorf("limit %d: %d facts", limit, n)
		}
	}
	for _, after := range []string{"x", "!!", "AAAA"} {
		if _, err := w.recall.Facts(t.Context(), w.s, v, recall.FactsQuery{After: after}); err == nil {
			t.Errorf("a page after %q", after)
		}
	}
}

// Without a model the graph has what is named, linked to the sentences that name it, and no relation, since what a sentence
// states cannot be told by its form. The facts are as said.
func TestMem0gWithoutModel(t *testing.T) {
	t.Parallel()
	w := newChatWorld(t, options{policy: "mem0g", heuristic: true})
	for _, s := range [][2]string{
		{"2026-01-01", "I live in Beijing."},
		{"2026-01-03", "My sister Berta lives in Lyon."},
		{"2026-02-01", "I moved from Beijing to Shanghai."},
		{"2026-02-02", "我在读《三体》这本小说。"},
	} {
		w.sayAndDrain(s[1], on(s[0]))
	}
	if got := w.factLines(w.view(w.c.ID), recall.FactsQuery{}); len(got) != 0 {
		t.Errorf("relations %q", got)
	}
	if got, want := w.texts(memory.KindEntity), []string{"Beijing", "Berta", "Lyon", "Shanghai", "三体"}; !slices.Equal(got, want) {
		t.Errorf("entities %q, want %q", got, want)
	}
	for _, n := range w.all(w.c.ID, memory.KindEntity) {
		if len(n.Provenance.Sources) == 0 || n.Analyst != memory.AnalystHeuristic {
			t.Errorf("%s comes from %v, told by %q", n.Content, n.Provenance.Sources, n.Analyst)
		}
	}
	if got := w.texts(memory.KindFact); len(got) != 4 || !slices.Contains(got, "2026-01-01: “I live in Beijing.”") {
		t.Errorf("facts %q", got)
	}
}

// TestMem0gRetired: a fact that a decision has retired is the past of its message. With the message, its edges and entities go, in an
// erasure with all their versions; without another message, they stay.
func TestMem0gRetired(t *testing.T) {
	t.Parallel()
	paris, berlin, likes := "Alice lives in Paris", "Alice lives in Berlin", "Alice likes Paris"
	was, now, liked := "Alice lives_in Paris 01-02..03-01", "Alice lives_in Berlin 03-01..", "Alice likes Paris 02-01.."
	for _, x := range []struct {
		name     string
		said     []string
		erase    bool
		remove   int
		facts    []string
		entities []string
		traces   string
	}{
		{"erased", []string{paris, berlin}, true, 0, []string{now}, []string{"Alice", "Berlin"}, "paris"},
		{"deleted", []string{paris, berlin}, false, 0, []string{now}, []string{"Alice", "Berlin"}, ""},
		{"what retired it is deleted", []string{paris, berlin}, false, 1, []string{was}, []string{"Alice", "Paris"}, ""},
		{"what retired it is erased", []string{paris, berlin}, true, 1, []string{was}, []string{"Alice", "Paris"}, "berlin"},
		{"its entities stay", []string{paris, likes, berlin}, true, 0, []string{liked, now}, []string{"Alice", "Berlin", "Paris"}, "lives in paris"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			w := newGraphWorld(t, options{}, map[string][]string{
				paris: {"Alice|lives_in|Paris"}, berlin: {"Alice|lives_in|Berlin"}, likes: {"Alice|likes|Paris"},
			}, func(fresh, existing []mem0.Triple) []mem0.Triple {
				return slices.DeleteFunc(existing, func(t mem0.Triple) bool { return t.Relation != "lives_in" || fresh[0].Relation != "lives_in" })
			})
			w.script(map[string][]string{paris: {paris}, berlin: {berlin}, likes: {likes}}, map[string]verdict{berlin: {mem0.OpDelete, paris, berlin}})
			days := map[string]string{paris: "2026-01-02", likes: "2026-02-01", berlin: "2026-03-01"}
			var messages []memory.Note
			for _, s := range x.said {
				messages = append(messages, w.sayAndDrain(s, on(days[s])))
			}
			if has := w.texts(memory.KindFact); slices.Contains(has, paris) {
				t.Fatalf("it is not retired: %q", has)
			}
			if id := messages[x.remove].ID; x.erase {
				w.erase(id)
			} else {
				w.deleteByCaller(id)
			}
			w.drain()
			w.checkFacts("the graph", w.view(w.c.ID), recall.FactsQuery{All: true}, x.facts...)
			if got := w.texts(memory.KindEntity); !slices.Equal(got, x.entities) {
				t.Errorf("the entities are %q", got)
			}
			if left := w.traces(w.c.ID, x.traces); x.erase && len(left) > 0 {
				t.Errorf("left: %s", strings.Join(left, "\n"))
			}
		})
	}
}
