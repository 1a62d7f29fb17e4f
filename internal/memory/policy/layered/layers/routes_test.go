package layers_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/text"
	"github.com/slipboxhq/slipbox/test/must"
)

// layeredSpace creates a collection with the policy layered and returns its path.
func layeredSpace(t *testing.T, b *apptest.System, config string) string {
	t.Helper()
	b.Call(t, "one", "POST", "/v1/collections", `{"name":"layers","policy":"layered","policy_config":`+config+`}`).Want(http.StatusCreated)
	return "/v1/collections/layers"
}

// remember remembers a text; more are further pairs of the body.
func remember(t *testing.T, b *apptest.System, c, content string, more ...any) apptest.Response {
	t.Helper()
	return b.Call(t, "one", "POST", c+"/remember", apptest.Object(t, append([]any{"content", content}, more...)...)).Want(http.StatusOK)
}

// recalled returns the contents of a list of a recall, best first.
func recalled(t *testing.T, b *apptest.System, c, list, query string, more ...any) []string {
	t.Helper()
	got := b.Call(t, "one", "POST", c+"/recall", apptest.Object(t, append([]any{"query", query}, more...)...)).Want(http.StatusOK)
	return got.Texts(list + ".*.note.content")
}

// counts returns how many items the layers hold.
func counts(t *testing.T, b *apptest.System, c string) (working, episodic, semantic int) {
	t.Helper()
	got := b.Call(t, "one", "GET", c+"/layers", "").Want(http.StatusOK)
	of := map[string]int{}
	for i := range got.Length("items") {
		of[got.Text(fmt.Sprintf("items.%d.layer", i))] = int(got.Number(fmt.Sprintf("items.%d.count", i)))
	}
	return of["working"], of["episodic"], of["semantic"]
}

// stored returns the notes that an answer of remember names for a layer.
func stored(got apptest.Response, layer string) []string {
	var out []string
	for i := range got.Length("stored") {
		if got.Text(fmt.Sprintf("stored.%d.layer", i)) == layer {
			out = append(out, got.Text(fmt.Sprintf("stored.%d.note", i)))
		}
	}
	return out
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// C248, C250, C252, C253: each layer is addressable alone: add, retrieve, get, update, delete, save and load.
func TestC248C250LayersContract(t *testing.T) {
	t.Parallel()
	for layer, x := range map[string]struct{ said, query, changed, newQuery string }{
		"working":  {"The kettle in the kitchen is broken.", "kettle", "The toaster in the hall is broken.", "toaster"},
		"episodic": {"We repaired the old kettle together.", "repaired kettle", "We sold the blue bicycle together.", "sold bicycle"},
		"semantic": {"I live in Lisbon.", "Where do I live?", "I live in Porto.", "Where do I live?"},
	} {
		t.Run(layer, func(t *testing.T) {
			t.Parallel()
			b := apptest.New(t)
			c := layeredSpace(t, b, `{}`)
			got := remember(t, b, c, x.said, "role", "user", "type", "remark", "importance", .8, "layers", []string{layer}, "attributes", map[string]any{"room": "kitchen"},
				"occurred_at", "2026-02-28T10:00:00Z")
			ids := stored(got, layer)
			if len(ids) != 1 || got.Length("stored") != 1 || got.Number("stored.0.importance") != .8 {
				t.Fatalf("%s", got.Body)
			}
			has := func(c, query, part string) bool {
				found := recalled(t, b, c, "items", query, "layer", layer)
				return slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, part) })
			}
			word := strings.Trim(x.said[strings.LastIndex(x.said, " "):], " .")
			if !has(c, x.query, word) {
				t.Errorf("retrieve: %q", recalled(t, b, c, "items", x.query, "layer", layer))
			}
			n := b.Call(t, "one", "GET", c+"/notes/"+ids[0]+"?include=embedding", "").Want(http.StatusOK)
			if layer != "semantic" && (n.Text("content") != x.said || n.Text("attributes.room") != "kitchen" || n.Text("attributes.type") != "remark" ||
				n.Number("importance") != .8 || n.Text("occurred_at") != "2026-02-28T10:00:00Z" || n.Length("embedding") == 0) {
				t.Errorf("get (C249): %s", n.Body)
			}
			// Save and load: a copied layer is the same elsewhere, its graph too.
			b.Call(t, "one", "POST", c+"/clone", `{"name":"copy","mode":"copy"}`).Want(http.StatusAccepted)
			b.RunJobs(t)
			if !has("/v1/collections/copy", x.query, word) {
				t.Errorf("load: %q", recalled(t, b, "/v1/collections/copy", "items", x.query, "layer", layer))
			}
			a1, a2, a3 := counts(t, b, c)
			b1, b2, b3 := counts(t, b, "/v1/collections/copy")
			if a1 != b1 || a2 != b2 || a3 != b3 || a1+a2+a3 != 1 {
				t.Errorf("saved %d %d %d, loaded %d %d %d", a1, a2, a3, b1, b2, b3)
			}
			// Update: the semantic layer follows the text that it comes from.
			target := ids[0]
			if layer == "semantic" {
				target = n.Text("provenance.sources.0")
				if raw := b.Call(t, "one", "GET", c+"/notes/"+target, "").Want(http.StatusOK); raw.Text("content") != x.said {
					t.Errorf("the text of a triple (C277): %s", raw.Body)
				}
			}
			b.Call(t, "one", "PATCH", c+"/notes/"+target, apptest.Object(t, "content", x.changed)).Want(http.StatusOK)
			b.RunJobs(t)
			newWord := strings.Trim(strings.Fields(x.changed)[len(strings.Fields(x.changed))-1], ".")
			if has(c, x.newQuery, word) && word != newWord || !has(c, x.newQuery, newWord) {
				t.Errorf("update (C264, C338): %q", recalled(t, b, c, "items", x.newQuery, "layer", layer))
			}
			b.Call(t, "one", "DELETE", c+"/notes/"+target, "").Want(http.StatusNoContent)
			b.RunJobs(t)
			if w, e, s := counts(t, b, c); w+e+s != 0 || len(recalled(t, b, c, "items", x.newQuery, "layer", layer)) != 0 {
				t.Errorf("delete: %d %d %d", w, e, s)
			}
		})
	}
}

// C281, C290: one remember fills all layers and says what went where; C282: recall answers each apart.
func TestC281C282RememberAndRecall(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{}`)
	got := remember(t, b, c, "Remember that my name is Ada and I work as an engineer.", "role", "user")
	if len(stored(got, "working")) != 1 || len(stored(got, "episodic")) != 1 || len(stored(got, "semantic")) != 2 || got.Number("turn") != 1 {
		t.Errorf("%s", got.Body)
	}
	talk := remember(t, b, c, "Nice weather today.", "role", "user")
	if len(stored(talk, "working")) != 1 || talk.Length("stored") != 1 || talk.Length("skipped") != 2 || talk.Text("skipped.0.layer") != "episodic" || !strings.Contains(talk.Text("skipped.0.reason"), "0.3") {
		t.Errorf("C260: %s", talk.Body)
	}
	all := b.Call(t, "one", "POST", c+"/recall", `{"query":"What is my name?"}`).Want(http.StatusOK)
	if all.Length("working") != 1 || all.Length("episodic") == 0 || all.Length("semantic") == 0 || all.Text("aim") != "semantic" || all.At("items") != nil {
		t.Errorf("%s", all.Body)
	}
	if w, e, s := counts(t, b, c); w != 2 || e != 1 || s != 2 {
		t.Errorf("C289: %d %d %d", w, e, s)
	}
	facts := b.Call(t, "one", "GET", c+"/facts?subject=user", "").Want(http.StatusOK)
	if facts.Length("items") != 2 || facts.Number("items.0.confidence") != .6 {
		t.Errorf("C275: %s", facts.Body)
	}
	if one := b.Call(t, "one", "GET", c+"/facts?subject=user&relation=name", "").Want(http.StatusOK); one.Length("items") != 1 || one.Text("items.0.object") != "Ada" {
		t.Errorf("C276: %s", one.Body)
	}
	// The same request again is not done twice.
	body := apptest.Object(t, "content", "I like tea.", "role", "user")
	first := b.Call(t, "one", "POST", c+"/remember", body, "Idempotency-Key", "once").Want(http.StatusOK)
	again := b.Call(t, "one", "POST", c+"/remember", body, "Idempotency-Key", "once").Want(http.StatusOK)
	if again.Length("stored") != first.Length("stored") || again.Text("stored.0.note") != first.Text("stored.0.note") || again.Text("stored.2.triple.object") != "tea" {
		t.Errorf("%s, then %s", first.Body, again.Body)
	}
}

// C282: of k items, the working and the semantic layer give max(3, k/3) each and the episodic layer k; C283: combined they are
// the best k of these.
func TestC282SharesOfLayers(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{"consolidate_every":0}`)
	const each = 14
	for i := range each {
		remember(t, b, c, fmt.Sprintf("I like lamp %02d.", i), "role", "user", "importance", .5)
	}
	if w, e, s := counts(t, b, c); w != each || e != each || s != each {
		t.Fatalf("the layers hold %d, %d and %d", w, e, s)
	}
	for k, want := range map[int][3]int{0: {3, 8, 3}, 1: {3, 1, 3}, 8: {3, 8, 3}, 11: {3, 11, 3}, 12: {4, 12, 4}, 30: {10, each, 10}, 60: {each, each, each}} {
		query := []any{"query", "Which lamp do I like?"}
		if k > 0 {
			query = append(query, "k", k)
		}
		all := b.Call(t, "one", "POST", c+"/recall", apptest.Object(t, query...)).Want(http.StatusOK)
		if got := [3]int{all.Length("working"), all.Length("episodic"), all.Length("semantic")}; got != want {
			t.Errorf("k %d: working, episodic and semantic have %v, want %v", k, got, want)
		}
		one := b.Call(t, "one", "POST", c+"/recall", apptest.Object(t, append(query, "combined", true)...)).Want(http.StatusOK)
		of := map[string]int{}
		for _, layer := range one.Texts("items.*.layer") {
			of[layer]++
		}
		if n := cmp.Or(k, 8); one.Length("items") > n || n <= each && one.Length("items") != n || of["working"] > want[0] || of["semantic"] > want[2] {
			t.Errorf("k %d: combined has %d items, %v", k, one.Length("items"), of)
		}
	}
}

func TestLayersRefuse(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{}`)
	for body, field := range map[string]string{
		`{"content":" "}`: "content", `{"content":"a","importance":2}`: "importance", `{"content":"a","layers":["deep"]}`: "layers.0", `{"content":"a","role":"king"}`: "role",
		`{"content":"a","attributes":{"layer":"episodic"}}`: "attributes", `{"content":"a\u0000"}`: "content", `{}`: "content",
		`{"content":"a","occurred_at":"yesterday-ish"}`: "occurred_at", `{"content":"a","attributes":{"copy_of":"x"}}`: "attributes",
	} {
		b.Call(t, "one", "POST", c+"/remember", body).Refused(http.StatusUnprocessableEntity, fault.Invalid, field)
	}
	for body, field := range map[string]string{`{"query":" "}`: "query", `{"query":"a","k":0}`: "k", `{"query":"a","layer":"working","combined":true}`: "combined"} {
		b.Call(t, "one", "POST", c+"/recall", body).Refused(http.StatusUnprocessableEntity, fault.Invalid, field)
	}
	plain := b.Space(t, "plain", "amem")
	b.Call(t, "one", "POST", plain+"/remember", `{"content":"a"}`).Refused(http.StatusUnprocessableEntity, fault.Invalid, "")
	b.Call(t, "one", "POST", plain+"/recall", `{"query":"a"}`).Refused(http.StatusUnprocessableEntity, fault.Invalid, "")
	b.Call(t, "one", "GET", plain+"/layers", "").Refused(http.StatusUnprocessableEntity, fault.Invalid, "")
	b.Call(t, "reader", "POST", c+"/remember", `{"content":"a"}`).Refused(http.StatusForbidden, fault.Forbidden, "")
	b.Call(t, "two", "POST", c+"/remember", `{"content":"a"}`).Refused(http.StatusNotFound, fault.NotFound, "")
	for _, config := range []string{`{"working_capacity":0}`, `{"working_capacity":1000000}`, `{"importance_threshold":1.5}`, `{"working_strategy":"luck"}`, `{"decay_days":-1}`} {
		b.Call(t, "one", "POST", "/v1/collections", `{"name":"bad","policy":"layered","policy_config":`+config+`}`).Want(http.StatusUnprocessableEntity)
	}
	// Equal times, and times that go backwards.
	for _, at := range []string{"2026-02-01T00:00:00Z", "2026-02-01T00:00:00Z", "1970-01-01T00:00:00Z", "2026-01-01T00:00:00Z"} {
		if got := remember(t, b, c, "None", "occurred_at", at, "role", "user"); len(stored(got, "working")) != 1 || len(stored(got, "semantic")) != 0 {
			t.Errorf("%s", got.Body)
		}
	}
	long := remember(t, b, c, strings.Repeat("长", 20000), "role", "user")
	if long.Length("stored") == 0 {
		t.Errorf("60 KiB: %s", long.Body)
	}
}

// C254, C255, C256: the working layer never holds more than its capacity, and what leaves follows the strategy.
func TestC254WorkingCapacity(t *testing.T) {
	t.Parallel()
	for strategy, left := range map[string]string{"sliding_window": "Item one.", "importance_prune": "Item three."} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			b := apptest.New(t)
			c := layeredSpace(t, b, `{"working_capacity":3,"working_strategy":"`+strategy+`"}`)
			for i, x := range []struct {
				said       string
				importance float64
			}{{"Item one.", .9}, {"Item two.", .8}, {"Item three.", .1}, {"Item four.", .7}} {
				b.Pass(time.Second)
				remember(t, b, c, x.said, "importance", x.importance, "layers", []string{"working"})
				if w, _, _ := counts(t, b, c); w != min(i+1, 3) {
					t.Errorf("%d items after %d", w, i+1)
				}
			}
			if kept := recalled(t, b, c, "items", "item", "layer", "working"); slices.Contains(kept, left) || len(kept) != 3 {
				t.Errorf("%q", kept)
			}
		})
	}
}

// C256: accesses keep an item. 0.7·0.2 + 0.3·5/10 is more than 0.7·0.3.
func TestC256AccessesKeepAnItem(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{"working_capacity":2}`)
	remember(t, b, c, "The used kettle.", "importance", .2, "layers", []string{"working"})
	remember(t, b, c, "The unused lamp.", "importance", .3, "layers", []string{"working"})
	for range 5 {
		recalled(t, b, c, "items", "kettle", "layer", "working")
	}
	must.Do(t, b.Recall.Flush(t.Context()))
	remember(t, b, c, "The new chair.", "importance", .9, "layers", []string{"working"})
	if got := recalled(t, b, c, "items", "kettle lamp chair", "layer", "working"); slices.Contains(got, "The unused lamp.") || len(got) != 2 {
		t.Errorf("%q", got)
	}
}

// C257: 0.5·overlap + 0.3·importance + 0.2·exp(-age/1 h), exactly; without overlap there is no result; Chinese works.
func TestC257WorkingFormula(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{}`)
	items := []struct {
		said       string
		importance float64
		age        time.Duration
	}{
		{"The blue kettle boils water.", .4, 3 * time.Hour}, {"A kettle.", .9, 30 * time.Minute}, {"Blue water.", .1, 0}, {"Nothing of this.", 1, 0},
		{"我喜欢喝绿茶", .5, time.Hour},
	}
	for _, x := range items {
		remember(t, b, c, x.said, "importance", x.importance, "layers", []string{"working"}, "occurred_at", b.Now().Add(-x.age).Format(time.RFC3339))
	}
	for _, query := range []string{"blue kettle water", "绿茶"} {
		want := map[string]float64{}
		terms := text.Terms(query)
		for _, x := range items {
			shared := 0
			for _, term := range terms {
				if slices.Contains(text.Terms(x.said), term) {
					shared++
				}
			}
			if shared > 0 {
				want[x.said] = .5*float64(shared)/float64(len(terms)) + .3*x.importance + .2*math.Exp(-x.age.Hours())
			}
		}
		got := b.Call(t, "one", "POST", c+"/recall", apptest.Object(t, "query", query, "layer", "working", "k", 10, "explain", true)).Want(http.StatusOK)
		if got.Length("items") != len(want) || len(want) == 0 {
			t.Errorf("%s: %d items, want %d: %s", query, got.Length("items"), len(want), got.Body)
		}
		last := math.Inf(1)
		for i := range got.Length("items") {
			said, score := got.Text(fmt.Sprintf("items.%d.note.content", i)), got.Number(fmt.Sprintf("items.%d.score", i))
			if !near(score, want[said]) || score > last {
				t.Errorf("%s: %q has %v, want %v", query, said, score, want[said])
			}
			last = score
		}
	}
}

// C263: 0.6·cosine + 0.3·importance + 0.1·min(accesses/20, 1), exactly.
func TestC263EpisodicFormula(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{}`)
	for i, said := range []string{"We sailed to the island in June.", "The island has a lighthouse.", "My sister bought a bicycle."} {
		remember(t, b, c, said, "importance", .4+.2*float64(i), "layers", []string{"episodic"})
	}
	for round := range 3 {
		got := b.Call(t, "one", "POST", c+"/recall", apptest.Object(t, "query", "sailing to an island", "layer", "episodic", "k", 3, "explain", true)).Want(http.StatusOK)
		if got.Length("items") != 3 {
			t.Fatalf("C258: %s", got.Body)
		}
		for i := range 3 {
			at := fmt.Sprintf("items.%d.", i)
			value := map[string]float64{}
			for j := range got.Length(at + "explain") {
				part := fmt.Sprintf("%sexplain.%d.", at, j)
				value[got.Text(part+"signal")] = got.Number(part + "value")
			}
			want := .6*value["cosine"] + .3*got.Number(at+"note.importance") + .1*float64(round)/20
			if !near(got.Number(at+"score"), want) || !near(value["access"], float64(round)/20) {
				t.Errorf("round %d: %v, want %v: %s", round, got.Number(at+"score"), want, got.Body)
			}
		}
	}
}

// C273, C274: 0.5·confidence + 0.3 if the relation is named + 0.2 if the object is. Without a subject that the query
// names, knowledge is not an answer.
func TestC273SemanticFormula(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{"relevance_floor":0.99}`)
	remember(t, b, c, "My name is Ada.", "role", "user")
	remember(t, b, c, "I live in Lisbon.", "role", "user")
	for query, want := range map[string][2]float64{
		"What is my name?": {.3 + .3, .3}, "Is my name Ada?": {.3 + .3 + .2, .3}, "What do I know of Lisbon?": {.3, .3 + .2},
	} {
		got := b.Call(t, "one", "POST", c+"/recall", apptest.Object(t, "query", query, "layer", "semantic")).Want(http.StatusOK)
		for i := range got.Length("items") {
			at := fmt.Sprintf("items.%d.", i)
			w := want[0]
			if got.Text(at+"note.attributes.relation") == "place" {
				w = want[1]
			}
			if !near(got.Number(at+"score"), w) {
				t.Errorf("%s: %s has %v, want %v", query, got.Text(at+"note.content"), got.Number(at+"score"), w)
			}
		}
		if got.Length("items") != 2 {
			t.Errorf("%s: %s", query, got.Body)
		}
	}
	if got := recalled(t, b, c, "items", "How tall is the tower?", "layer", "semantic"); len(got) != 0 {
		t.Errorf("C274: %q", got)
	}
}

// C339: a paraphrase finds a triple by its vector.
func TestC339KnowledgeByMeaning(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{"relevance_floor":0.2}`)
	remember(t, b, c, "I live in Lisbon.", "role", "user")
	// The embedder of this test compares spellings: a near wording that names neither subject nor object.
	if got := recalled(t, b, c, "items", "living users", "layer", "semantic"); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// C272: three statements give 0.8 from 0.6, source count 3, and one triple.
func TestC272RepeatsConfirm(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{}`)
	for _, said := range []string{"I like tea.", "I really like tea!", "As I said, I like tea."} {
		remember(t, b, c, said, "role", "user")
	}
	got := b.Call(t, "one", "GET", c+"/facts?subject=user&relation=likes", "").Want(http.StatusOK)
	if got.Length("items") != 1 || !near(got.Number("items.0.confidence"), .8) || got.Number("items.0.mentions") != 3 || got.Length("items.0.sources") != 3 {
		t.Errorf("C269: %s", got.Body)
	}
	for i := range 6 {
		remember(t, b, c, fmt.Sprintf("I like tea. That is remark %d.", i), "role", "user")
	}
	if got := b.Call(t, "one", "GET", c+"/facts?subject=user&relation=likes", "").Want(http.StatusOK); got.Number("items.0.confidence") != 1 {
		t.Errorf("the confidence is at most 1: %s", got.Body)
	}
}

// C278, C279, C280: Beijing, then Shanghai: the old is 0.48 and the new 0.4, both are reported; repeats let the new win.
func TestC278Conflicts(t *testing.T) {
	t.Parallel()
	for language, say := range map[string]string{"en": "I live in %s.", "zh": "我住在%s。"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			b := apptest.New(t)
			c := layeredSpace(t, b, `{}`)
			old, place := "Beijing", "Shanghai"
			if language == "zh" {
				old, place = "北京", "上海"
			}
			remember(t, b, c, fmt.Sprintf(say, old), "role", "user")
			got := remember(t, b, c, fmt.Sprintf(say, place), "role", "user")
			if got.Length("conflicts") != 1 || got.Text("conflicts.0.old.object") != old || got.Text("conflicts.0.new.object") != place ||
				!near(got.Number("conflicts.0.old.confidence"), .48) || got.Number("conflicts.0.new.confidence") != .4 {
				t.Errorf("%s", got.Body)
			}
			pairs := b.Call(t, "one", "GET", c+"/facts?conflicts=true", "").Want(http.StatusOK)
			if pairs.Length("items") != 2 || pairs.Length("conflicts") != 1 || pairs.Text("conflicts.0.old.object") != old || pairs.At("items.0.contested") != true {
				t.Errorf("%s", pairs.Body)
			}
			remember(t, b, c, fmt.Sprintf(say, place)+" Really.", "role", "user")
			facts := b.Call(t, "one", "GET", c+"/facts?relation=place", "").Want(http.StatusOK)
			if facts.Length("items") != 1 || facts.Text("items.0.object") != place || !near(facts.Number("items.0.confidence"), .5) {
				t.Errorf("C279: %s", facts.Body)
			}
			if past := b.Call(t, "one", "GET", c+"/facts?relation=place&valid=false", "").Want(http.StatusOK); past.Length("items") != 1 || past.Text("items.0.object") != old {
				t.Errorf("the old one is kept: %s", past.Body)
			}
			if none := b.Call(t, "one", "GET", c+"/facts?conflicts=true", "").Want(http.StatusOK); none.Length("items") != 0 || none.Length("conflicts") != 0 {
				t.Errorf("%s", none.Body)
			}
			// A relation with many values has no conflicts.
			if likes := remember(t, b, c, "I like tea. I like coffee.", "role", "user"); likes.Length("conflicts") != 0 {
				t.Errorf("%s", likes.Body)
			}
			// Two that disagree in one message are reported, too.
			if both := remember(t, b, c, "My name is Ada. My name is Bea.", "role", "user"); both.Length("conflicts") != 1 {
				t.Errorf("%s", both.Body)
			}
		})
	}
}

// TestContestEnds: what only a deleted message or triple contradicted is contested no longer; a third rival still contests it.
func TestContestEnds(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ name, layer, query string }{
		{"a message is deleted", "working", ""}, {"a message is erased", "working", "?erase=true"}, {"a triple is deleted", "semantic", "?sources=keep"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			b := apptest.New(t)
			c := layeredSpace(t, b, `{}`)
			var gone []string
			for _, place := range []string{"Izmir", "Ankara", "Bursa"} {
				gone = append(gone, stored(remember(t, b, c, "I live in "+place+".", "role", "user"), x.layer)[0])
			}
			for i, want := range []int{2, 0} {
				b.Call(t, "one", "DELETE", c+"/notes/"+gone[i]+x.query, "")
				b.RunJobs(t)
				got := b.Call(t, "one", "GET", c+"/facts?conflicts=true", "").Want(http.StatusOK)
				if got.Length("items") != want {
					t.Errorf("%d deleted: %s", i+1, got.Body)
				}
			}
			facts := b.Call(t, "one", "GET", c+"/facts?relation=place", "").Want(http.StatusOK)
			if facts.Length("items") != 1 || facts.Text("items.0.object") != "Bursa" || facts.At("items.0.contested") == true {
				t.Errorf("%s", facts.Body)
			}
			if layers := b.Call(t, "one", "GET", c+"/layers", "").Want(http.StatusOK); strings.Contains(layers.Body.String(), `"contested":1`) {
				t.Errorf("%s", layers.Body)
			}
		})
	}
}

// C334, C335: facts about the user come only from the user's statements.
func TestC334OnlyUsersStatements(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{}`)
	for _, said := range []string{"Do you remember my name?", "你还记得我的名字吗？", "我叫什么名字？", "What do I like?"} {
		if got := remember(t, b, c, said, "role", "user"); len(stored(got, "semantic")) != 0 || len(stored(got, "episodic")) != 0 {
			t.Errorf("%s: %s", said, got.Body)
		}
	}
	for _, role := range []string{"assistant", "system", "tool"} {
		if got := remember(t, b, c, "My name is Bo and I live in Rome.", "role", role, "importance", 1); len(stored(got, "semantic")) != 0 {
			t.Errorf("%s: %s", role, got.Body)
		}
	}
	b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"role":"user","content":"Who are you?"},{"role":"assistant","content":"I am Bo, I live in Rome and I like tea."}]}`).Want(http.StatusAccepted)
	b.RunJobs(t)
	if _, _, s := counts(t, b, c); s != 0 {
		t.Errorf("%d triples", s)
	}
}

// C261: the published examples, with the values that the rules give.
func TestC261PublishedExamples(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{}`)
	for _, x := range []struct {
		said string
		want float64
	}{{"The weather is nice today.", .1}, {"今天天气不错", .1}, {"Important: remember the deadline of the task.", .65}, {"用户喜欢简洁的回答", .3}} {
		got := remember(t, b, c, x.said)
		if !near(got.Number("stored.0.importance"), x.want) || (len(stored(got, "episodic")) == 1) != (x.want >= .3) {
			t.Errorf("C259, C260: %s", got.Body)
		}
	}
}

// C283, C284: one list without repeats, in which relevance counts; a name question is answered from knowledge, a
// question about the past from episodes.
func TestC283C284Combined(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{}`)
	for _, said := range []string{"My name is Ada.", "Remember that we met the baker in Lisbon last week.", "I like tea.", "我叫小明，请记住"} {
		remember(t, b, c, said, "role", "user")
	}
	for query, layer := range map[string]string{"What is my name?": "semantic", "我叫什么名字？": "semantic", "What happened last week in Lisbon?": "episodic", "上周在 Lisbon 发生了什么？": "episodic"} {
		got := b.Call(t, "one", "POST", c+"/recall", apptest.Object(t, "query", query, "combined", true)).Want(http.StatusOK)
		if got.Text("aim") != layer || got.Text("items.0.layer") != layer {
			t.Errorf("%s: %s", query, got.Body)
		}
		seen := map[string]bool{}
		for _, said := range got.Texts("items.*.note.content") {
			if seen[said] {
				t.Errorf("%s: %q twice", query, said)
			}
			seen[said] = true
		}
	}
}

// C285: important working items become episodes once, at 0.9 of their importance, and stay until they are pruned; an
// episode that is there keeps its own. C286: the cycle reports counts, and running it again changes nothing.
func TestC285C286Consolidation(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{"consolidate_every":0,"abstract":false}`)
	remember(t, b, c, "The lamp is green.", "importance", .9, "layers", []string{"episodic"})
	for i, said := range []string{"The kettle boils.", "The lamp is green.", "A door opens.", "Rain fell.", "The cat slept.", "Snow came.", "He left.", "She sang.", "They ran."} {
		remember(t, b, c, said, "importance", []float64{.8, .5, .4, .1, .1, .1, .1, .1, .1}[i], "layers", []string{"working"})
	}
	run := func() apptest.Response {
		t.Helper()
		job := b.Call(t, "one", "POST", c+"/consolidate", "").Want(http.StatusAccepted).Text("job.id")
		b.RunJobs(t)
		done := b.Call(t, "one", "GET", "/v1/jobs/"+job, "").Want(http.StatusOK)
		if done.Text("state") != "done" || done.Text("kind") != "policy" {
			t.Fatalf("C307: %s", done.Body)
		}
		return done
	}
	if got := run(); got.Number("result.counts.copied") != 0 {
		t.Errorf("fewer than ten items: %s", got.Body)
	}
	remember(t, b, c, "The tenth.", "importance", .1, "layers", []string{"working"})
	got := run()
	if got.Number("result.counts.copied") != 1 || got.Number("result.counts.working") != 10 || got.Number("result.counts.episodic") != 2 {
		t.Errorf("%s", got.Body)
	}
	episodes := b.Call(t, "one", "POST", c+"/recall", `{"query":"kettle lamp","layer":"episodic"}`).Want(http.StatusOK)
	importance := map[string]float64{}
	for i := range episodes.Length("items") {
		importance[episodes.Text(fmt.Sprintf("items.%d.note.content", i))] = episodes.Number(fmt.Sprintf("items.%d.note.importance", i))
	}
	if !near(importance["The kettle boils."], .72) || importance["The lamp is green."] != .9 || len(importance) != 2 {
		t.Errorf("%v", importance)
	}
	before := b.Call(t, "one", "GET", c, "").Number("head_revision")
	if again := run(); again.Number("result.counts.copied") != 0 || b.Call(t, "one", "GET", c, "").Number("head_revision") != before {
		t.Errorf("it was done again: %s", again.Body)
	}
}

// C287, C307: a consolidation follows the fifth and the tenth turn, as a job of its own.
func TestC287EveryFifthTurn(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{}`)
	ran := 0
	for turn := 1; turn <= 10; turn++ {
		got := remember(t, b, c, fmt.Sprintf("Turn number %d.", turn), "role", "user")
		if int(got.Number("turn")) != turn {
			t.Fatalf("turn %v, want %d", got.Number("turn"), turn)
		}
		jobs := b.RunJobs(t)
		if (jobs > 0) != (turn%5 == 0) {
			t.Errorf("turn %d: %d jobs", turn, jobs)
		}
		ran += jobs
	}
	if ran != 2 {
		t.Errorf("%d consolidations", ran)
	}
}

// C266, C267: above its capacity the episodic layer shrinks to 70 %, by the formula, or gently.
func TestC266C267Shrink(t *testing.T) {
	t.Parallel()
	for strategy, want := range map[string]int{"rank": 7, "gentle": 8} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			b := apptest.New(t)
			c := layeredSpace(t, b, `{"consolidate_every":0,"abstract":false,"episodic_capacity":10,"episodic_strategy":"`+strategy+`"}`)
			for i := range 11 { // importance .3, .3, .35, then .4 and more
				remember(t, b, c, fmt.Sprintf("Episode number %d.", i), "importance", []float64{.3, .3, .35, .4, .45, .5, .55, .6, .65, .7, .75}[i], "layers", []string{"episodic"})
			}
			b.Call(t, "one", "POST", c+"/consolidate", "").Want(http.StatusAccepted)
			b.RunJobs(t)
			if _, e, _ := counts(t, b, c); e != want {
				t.Errorf("%d episodes, want %d", e, want)
			}
			left := recalled(t, b, c, "items", "Episode", "layer", "episodic", "k", 20)
			if slices.Contains(left, "Episode number 0.") || !slices.Contains(left, "Episode number 10.") || slices.Contains(left, "Episode number 3.") != (strategy == "gentle") {
				t.Errorf("%q", left)
			}
		})
	}
}

// C303: after 14 idle days importance is a quarter, computed from the base, so that running again changes nothing; an
// access gives it back.
func TestC303Decay(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{"consolidate_every":0}`)
	id := stored(remember(t, b, c, "We met at the harbor.", "importance", .8, "layers", []string{"episodic"}), "episodic")[0]
	importance := func() float64 {
		return b.Call(t, "one", "GET", c+"/notes/"+id, "").Want(http.StatusOK).Number("importance")
	}
	run := func() {
		t.Helper()
		b.Call(t, "one", "POST", c+"/consolidate", "").Want(http.StatusAccepted)
		b.RunJobs(t)
	}
	b.Pass(6 * 24 * time.Hour)
	run()
	if importance() != .8 {
		t.Errorf("after 6 days: %v", importance())
	}
	b.Pass(8 * 24 * time.Hour)
	for range 2 {
		run()
		if math.Abs(importance()-.2) > 1e-6 {
			t.Errorf("after 14 days: %v", importance())
		}
	}
	recalled(t, b, c, "items", "harbor", "layer", "episodic")
	must.Do(t, b.Recall.Flush(t.Context()))
	run()
	if importance() != .8 {
		t.Errorf("after it was recalled: %v", importance())
	}
}

// C268, C288: episodes of one topic become one text in the semantic layer, with its sources.
func TestC268C288Abstract(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{"consolidate_every":0,"abstract_cosine":0.3}`)
	for _, said := range []string{
		"The deploy of the billing service failed because the disk was full.", "The deploy of the billing service failed again, the disk was full.",
		"The deploy of the billing service worked after the disk was cleaned.",
	} {
		remember(t, b, c, said, "importance", .6, "layers", []string{"episodic"})
	}
	for round := range 2 {
		b.Call(t, "one", "POST", c+"/consolidate", "").Want(http.StatusAccepted)
		b.RunJobs(t)
		if _, e, s := counts(t, b, c); e != 3 || s != 1 {
			t.Errorf("round %d: %d episodes, %d abstracts", round, e, s)
		}
	}
	got := b.Call(t, "one", "POST", c+"/recall", `{"query":"the deploy of the billing service failed, disk full","layer":"semantic"}`).Want(http.StatusOK)
	if got.Length("items") != 1 || got.Length("items.0.note.provenance.sources") < 2 || !strings.Contains(got.Text("items.0.note.content"), "billing") {
		t.Errorf("%s", got.Body)
	}
}

// C338: an update takes the triples from the new text and retires the old ones; a deletion takes the support away, and
// a restored item gives it back.
func TestC338UpdateAndDelete(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{}`)
	got := remember(t, b, c, "I work as a baker. I like tea.", "role", "user")
	working, episode := stored(got, "working")[0], stored(got, "episodic")[0]
	objects := func() string {
		t.Helper()
		return strings.Join(slices.Sorted(slices.Values(b.Call(t, "one", "GET", c+"/facts", "").Want(http.StatusOK).Texts("items.*.object"))), ", ")
	}
	b.Call(t, "one", "PATCH", c+"/notes/"+episode, `{"content":"I work as a pilot. I like tea."}`).Want(http.StatusOK)
	b.RunJobs(t)
	if objects() != "pilot, tea" {
		t.Errorf("%s", objects())
	}
	if n := b.Call(t, "one", "GET", c+"/notes/"+working, "").Want(http.StatusOK); n.Text("content") != "I work as a pilot. I like tea." {
		t.Errorf("the item and its episode say the same: %s", n.Body)
	}
	revision := int(b.Call(t, "one", "GET", c+"/notes/"+working, "").Number("revision"))
	remember(t, b, c, "Tea again: I like tea.", "role", "user")
	b.Call(t, "one", "DELETE", c+"/notes/"+working, "").Want(http.StatusNoContent)
	b.RunJobs(t)
	if objects() != "tea" {
		t.Errorf("after the deletion: %s", objects())
	}
	b.Call(t, "one", "GET", c+"/notes/"+episode, "").Want(http.StatusNotFound)
	b.Call(t, "one", "POST", c+"/notes/"+working+"/restore", fmt.Sprintf(`{"revision":%d}`, revision)).Want(http.StatusOK)
	b.RunJobs(t)
	if objects() != "pilot, tea" {
		t.Errorf("after it was restored: %s", objects())
	}
}

// C293: both sides are remembered by the rules of chats: a reply that says something is kept with what it answers, and
// an acknowledgment never is.
func TestC293BothSides(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{}`)
	b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"role":"user","content":"My name is Ada, please remember it."},{"role":"assistant","content":"Nobody lends more books than the library at the harbor."},
		{"role":"user","content":"Please remember that, too."},{"role":"assistant","content":"Understood."},
		{"role":"user","content":"She told me that it rains."},{"role":"assistant","content":"Take the umbrella with green dots from the cupboard."}]}`).Want(http.StatusAccepted)
	b.RunJobs(t)
	got := b.Call(t, "one", "GET", c+"/messages", "").Want(http.StatusOK)
	importance := map[string]float64{}
	for _, id := range got.Texts("items.*.id") {
		n := b.Call(t, "one", "GET", c+"/notes/"+id, "").Want(http.StatusOK)
		importance[n.Text("content")[:3]] = n.Number("importance")
	}
	if importance["My "] < .6 || importance["Nob"] != .3 || importance["Und"] != .1 || importance["She"] != .1 || importance["Tak"] != .1 {
		t.Errorf("%v", importance)
	}
	if w, e, _ := counts(t, b, c); w != 6 || e != 3 {
		t.Errorf("%d working, %d episodes", w, e)
	}
	// What is answered need not be in the working layer.
	other := apptest.New(t)
	c = layeredSpace(t, other, `{}`)
	other.Call(t, "one", "POST", c+"/remember", `{"content":"My name is Ada, please remember it.","role":"user","layers":["episodic"]}`).Want(http.StatusOK)
	other.Call(t, "one", "POST", c+"/remember", `{"content":"Nobody lends more books than the library at the harbor.","role":"assistant"}`).Want(http.StatusOK)
	got = other.Call(t, "one", "GET", c+"/messages", "").Want(http.StatusOK)
	for _, id := range got.Texts("items.*.id") {
		n := other.Call(t, "one", "GET", c+"/notes/"+id, "").Want(http.StatusOK)
		if strings.HasPrefix(n.Text("content"), "Nobody") && n.Number("importance") != .3 {
			t.Errorf("the reply: %s", n.Body)
		}
	}
}

// C301: a damaged item is reported, and the others are handled.
func TestC301DamagedItem(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{"consolidate_every":0}`)
	ids := []string{}
	for _, said := range []string{"We met at the harbor.", "We sailed home."} {
		ids = append(ids, stored(remember(t, b, c, said, "importance", .8, "layers", []string{"episodic"}), "episodic")[0])
	}
	b.Call(t, "one", "PATCH", c+"/notes/"+ids[0], `{"attributes":{"base_importance":"much"}}`).Want(http.StatusOK)
	b.Pass(14 * 24 * time.Hour)
	job := b.Call(t, "one", "POST", c+"/consolidate", "").Want(http.StatusAccepted).Text("job.id")
	b.RunJobs(t)
	done := b.Call(t, "one", "GET", "/v1/jobs/"+job, "").Want(http.StatusOK)
	if done.Length("result.damaged") != 1 || done.Text("result.damaged.0.note") != ids[0] || done.Number("result.counts.decayed") != 1 {
		t.Errorf("%s", done.Body)
	}
}

// A secret is redacted before the rules see it, and it is never stored as a prized memory.
func TestLayersRedact(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{}`)
	got := remember(t, b, c, "Remember: my password is hunter2secret99.", "role", "user")
	if got.Header().Get("Slipbox-Redacted") == "" {
		t.Errorf("%v %s", got.Header(), got.Body)
	}
	for _, id := range stored(got, "episodic") {
		if n := b.Call(t, "one", "GET", c+"/notes/"+id, "").Want(http.StatusOK); strings.Contains(n.Text("content"), "hunter2") {
			t.Errorf("%s", n.Body)
		}
	}
	b.Call(t, "one", "PATCH", c, `{"policy_config":{"secrets":"refuse"}}`).Want(http.StatusOK)
	b.Call(t, "one", "POST", c+"/remember", `{"content":"Remember: my password is hunter2secret99."}`).Refused(http.StatusUnprocessableEntity, fault.Invalid, "content")
}

// memories tells what the scenario is about.
var memories = map[string][]string{
	"en": {"Hi, my name is Ada.", "I work as a backend engineer.", "I like Go and PostgreSQL.", "What a rainy day."},
	"zh": {"你好，我叫艾达。", "我是一名后端工程师。", "我喜欢Go和PostgreSQL。", "今天下雨了。"},
}

// C297: name, job, likings and small talk are told; then the name is asked for, and a recommendation. C298: its context
// holds the stored stack. C295: without a model, the chat answers from memory.
func TestC297ScenarioChat(t *testing.T) {
	t.Parallel()
	for language, x := range map[string]struct{ askName, name, askStack, job string }{
		"en": {"What is my name?", "Ada", "Which framework would you recommend for my next project?", "backend engineer"},
		"zh": {"我叫什么名字？", "艾达", "你推荐我下一个项目用什么框架？", "后端工程师"},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			b, model := apptest.Talking(t)
			model.Always("", llmtest.Text("OK."))
			c := layeredSpace(t, b, `{}`)
			for _, said := range memories[language] {
				b.Call(t, "one", "POST", c+"/chat", apptest.Object(t, "message", said)).Want(http.StatusOK)
				b.RunJobs(t)
			}
			b.Call(t, "one", "POST", c+"/chat", apptest.Object(t, "message", x.askName)).Want(http.StatusOK)
			requests := model.Requests()
			prompt := requests[len(requests)-1].User
			if !strings.Contains(prompt, x.name) || !strings.Contains(prompt, "semantic") || !strings.Contains(prompt, "working") || !strings.Contains(prompt, "you do not know") {
				t.Errorf("C291, C292: %s", prompt)
			}
			b.Call(t, "one", "POST", c+"/chat", apptest.Object(t, "message", x.askStack)).Want(http.StatusOK)
			requests = model.Requests()
			if prompt := requests[len(requests)-1].User; !strings.Contains(prompt, "PostgreSQL") || !strings.Contains(prompt, x.job) {
				t.Errorf("C298: %s", prompt)
			}
			if _, _, facts := counts(t, b, c); facts < 3 {
				t.Errorf("%d triples", facts)
			}
			// A new chat without a model.
			off := apptest.New(t)
			c = layeredSpace(t, off, `{}`)
			for _, said := range memories[language] {
				off.Call(t, "one", "POST", c+"/chat", apptest.Object(t, "message", said)).Want(http.StatusOK)
				off.RunJobs(t)
			}
			if got := off.Call(t, "one", "POST", c+"/chat", apptest.Object(t, "message", x.askName)).Want(http.StatusOK); !strings.Contains(got.Text("reply"), x.name) {
				t.Errorf("C295: %s", got.Body)
			}
		})
	}
}

// C299: fifteen turns of small talk leave the episodic layer as it was.
func TestC299SmallTalk(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{}`)
	remember(t, b, c, "Remember that my name is Ada.", "role", "user")
	_, before, known := counts(t, b, c)
	for _, said := range []string{
		"Hello!", "How are you?", "Nice weather today.", "Haha, that is funny.", "Good morning.", "I see.", "Really?", "OK, thanks.",
		"你好呀", "今天天气真不错", "哈哈", "吃了吗？", "早上好", "好的，谢谢", "再见",
	} {
		b.Call(t, "one", "POST", c+"/messages", apptest.Object(t, "messages", []any{
			map[string]any{"role": "user", "content": said}, map[string]any{"role": "assistant", "content": "Sure, " + said},
		})).Want(http.StatusAccepted)
		b.RunJobs(t)
	}
	if _, e, s := counts(t, b, c); e > before+1 || s != known {
		t.Errorf("%d episodes, before %d; %d triples, before %d", e, before, s, known)
	}
}

// C294: the prompt of a chat holds at most twenty messages, those of the request included. C341: a turn counts what it
// shows once. C308: the answer can be a stream.
func TestC294ChatHistoryAndC341OneRecall(t *testing.T) {
	t.Parallel()
	b, model := apptest.Talking(t)
	model.Always("", llmtest.Text("OK."))
	c := layeredSpace(t, b, `{"recent_messages":20}`)
	for i := range 40 {
		b.Call(t, "one", "POST", c+"/messages", apptest.Object(t, "messages", []any{map[string]any{"role": "user", "content": fmt.Sprintf("Remark number %d about ships.", i)}})).Want(http.StatusAccepted)
	}
	b.RunJobs(t)
	id := stored(remember(t, b, c, "Remember the harbor of Porto.", "role", "user", "layers", []string{"episodic"}), "episodic")[0]
	var dialogue []any
	for i := range 29 {
		dialogue = append(dialogue, map[string]any{"role": []string{"user", "assistant"}[i%2], "content": fmt.Sprintf("Turn %d of the dialogue.", i)})
	}
	got := b.Call(t, "one", "POST", c+"/chat", apptest.Object(t, "messages", append(dialogue[:28:28], map[string]any{"role": "user", "content": "What of the harbor of Porto?"}), "stream", true)).Want(http.StatusOK)
	if got.Header().Get("Content-Type") != "text/event-stream" || !strings.Contains(got.Body.String(), "delta") {
		t.Errorf("C308: %s", got.Body)
	}
	requests := model.Requests()
	last := requests[len(requests)-1]
	spoken := 0
	for _, m := range last.Messages {
		if m.Role != "system" {
			spoken++
		}
	}
	if spoken != 20 || strings.Contains(last.User, "Recent messages") {
		t.Errorf("%d messages, and %s", spoken, last.User)
	}
	if n := b.Call(t, "one", "GET", c+"/notes/"+id, "").Want(http.StatusOK); n.Number("usage.access_count") != 1 {
		t.Errorf("C341: %s", n.Body)
	}
	b.Call(t, "one", "POST", c+"/chat", `{"message":"And the harbor of Porto again?"}`).Want(http.StatusOK)
	requests = model.Requests()
	if shown := strings.Count(requests[len(requests)-1].User, "Remark number"); shown > 20+8 {
		t.Errorf("%d remarks", shown)
	}
}

// C294: the prompt of OpenAI's chat completions and responses, too, holds at most twenty messages of the dialogue. Results of tools stay
// with the call that asked for them, and systems' messages and the question stay.
func TestC294CompletionsHistory(t *testing.T) {
	t.Parallel()
	b, model := apptest.Talking(t)
	model.Always("", llmtest.Text("OK."))
	model.Always(llmtest.Tool, llmtest.Text("OK."))
	space := layeredSpace(t, b, `{"recent_messages":20}`)
	c := strings.TrimPrefix(space, "/v1/collections/")
	type message = map[string]any
	system := message{"role": "system", "content": "Be brief."}
	ask := message{"role": "user", "content": "How is the harbor?"}
	calls := func(n int) (out []any) {
		for i := range n {
			id := fmt.Sprint("call-", i)
			out = append(out, message{"role": "assistant", "tool_calls": []any{message{"id": id, "type": "function", "function": message{"name": "tide", "arguments": "{}"}}}},
				message{"role": "tool", "tool_call_id": id, "content": fmt.Sprintf("Tide %d.", i)})
		}
		return out
	}
	var talk []any
	for i := range 29 {
		talk = append(talk, message{"role": []string{"user", "assistant"}[i%2], "content": fmt.Sprintf("Turn %d of the dialogue.", i)})
	}
	for name, is := range map[string]struct {
		messages []any
		spoken   int    // of users and assistants
		first    string // in the oldest one of these
	}{
		"turns":       {slices.Concat([]any{system}, talk, []any{ask}), 20, "Turn 10 of"},
		"few":         {[]any{system, ask}, 1, "harbor"},
		"calls":       {slices.Concat([]any{system}, calls(25), []any{ask}), 20, "call-6"},
		"after calls": {slices.Concat([]any{system, ask}, calls(25)), 20, "harbor"},
	} {
		for route, body := range map[string]string{
			"/v1/chat/completions": apptest.Object(t, "model", "slipbox@"+c, "messages", is.messages),
			"/v1/responses":        apptest.Object(t, "model", "slipbox@"+c, "input", inputItems(is.messages)),
		} {
			b.Call(t, "one", "POST", route, body).Want(http.StatusOK)
			checkHistory(t, name+" "+route, model, is.spoken, is.first)
		}
	}
}

// inputItems returns messages of a chat completion as the items of a response's input.
func inputItems(messages []any) (out []any) {
	type item = map[string]any
	for _, m := range messages {
		m := m.(item)
		calls, _ := m["tool_calls"].([]any)
		for _, call := range calls {
			call := call.(item)
			function := call["function"].(item)
			out = append(out, item{"type": "function_call", "call_id": call["id"], "name": function["name"], "arguments": function["arguments"]})
		}
		switch {
		case m["role"] == "tool":
			out = append(out, item{"type": "function_call_output", "call_id": m["tool_call_id"], "output": m["content"]})
		case calls == nil:
			out = append(out, m)
		}
	}
	return out
}

// checkHistory checks the newest prompt: how many messages of users and assistants it has, what is in the first of them, and that
// calls and results belong together.
func checkHistory(t *testing.T, name string, model *llmtest.Server, most int, first string) {
	t.Helper()
	requests := model.Requests()
	var sent struct {
		Messages []json.RawMessage `json:"messages"`
	}
	must.Do(t, json.Unmarshal(requests[len(requests)-1].Body, &sent))
	var spoken []string
	asked, answered := map[string]bool{}, 0
	for _, raw := range sent.Messages {
		var m struct {
			Role      string `json:"role"`
			Answers   string `json:"tool_call_id"`
			ToolCalls []struct {
				ID string `json:"id"`
			} `json:"tool_calls"`
		}
		must.Do(t, json.Unmarshal(raw, &m))
		switch m.Role {
		case "user", "assistant":
			spoken = append(spoken, string(raw))
		case "tool":
			if answered++; !asked[m.Answers] {
				t.Errorf("%s: %s answers no call", name, raw)
			}
		}
		for _, call := range m.ToolCalls {
			asked[call.ID] = true
		}
	}
	if len(spoken) != most || !strings.Contains(spoken[0], first) || answered != len(asked) || !strings.Contains(string(sent.Messages[0]), "Be brief.") || !strings.Contains(strings.Join(spoken, ""), "harbor") {
		t.Errorf("%s: %d spoken, %d results of %d calls: %s", name, len(spoken), answered, len(asked), spoken)
	}
}

// C309: recall, consolidation and load write leveled logs with counts, and no content.
func TestC309Logs(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{}`)
	remember(t, b, c, "I like secretwords.", "role", "user")
	recalled(t, b, c, "semantic", "What do I like?")
	b.Call(t, "one", "POST", c+"/consolidate", "").Want(http.StatusAccepted)
	b.RunJobs(t)
	logs := b.Logs.String()
	for _, want := range []string{"level=DEBUG msg=\"layers recalled\"", "semantic=1", "msg=\"a task of the policy is applied\"", "puts=", "msg=\"an index is loaded\"", "versions="} {
		if !strings.Contains(logs, want) {
			t.Errorf("no %s in the logs", want)
		}
	}
	if strings.Contains(logs, "secretwords") {
		t.Errorf("content in the logs: %s", logs)
	}
}

// Two items with one text share an episode. Changing or deleting the second leaves the first and its episode as they
// are; attributes of callers that sound like the layers' own do no harm.
func TestLayersSharedEpisode(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{"consolidate_every":0}`)
	first := remember(t, b, c, "Remember the blue door.", "role", "user", "attributes", map[string]any{"origin": "web", "episode": "S01"})
	episode := stored(first, "episodic")[0]
	second := stored(remember(t, b, c, "Remember the blue door!", "role", "user"), "working")[0]
	third := stored(remember(t, b, c, "remember the blue door", "role", "user"), "working")[0]
	b.Call(t, "one", "PATCH", c+"/notes/"+second, `{"content":"Remember the red gate."}`).Want(http.StatusOK)
	b.Call(t, "one", "DELETE", c+"/notes/"+third, "").Want(http.StatusNoContent)
	b.RunJobs(t)
	if n := b.Call(t, "one", "GET", c+"/notes/"+episode, "").Want(http.StatusOK); n.Text("content") != "Remember the blue door." {
		t.Errorf("%s", n.Body)
	}
	if w, e, _ := counts(t, b, c); w != 2 || e != 1 {
		t.Errorf("%d working, %d episodes", w, e)
	}
	// A search has each text once: the item, not its copy, too.
	found := b.Call(t, "one", "POST", c+"/search", `{"query":"blue door"}`).Want(http.StatusOK)
	said := map[string]bool{}
	for i := range found.Length("hits") {
		content := found.Text(fmt.Sprintf("hits.%d.note.content", i))
		if said[content] {
			t.Errorf("%q twice", content)
		}
		said[content] = true
	}
	if !said["Remember the blue door."] {
		t.Errorf("%s", found.Body)
	}
	b.Call(t, "one", "DELETE", c+"/notes/"+stored(first, "working")[0], "").Want(http.StatusNoContent)
	b.RunJobs(t)
	b.Call(t, "one", "GET", c+"/notes/"+episode, "").Want(http.StatusNotFound)
}

// C249, C252: an item from elsewhere keeps its content, type, times, importance, metadata and use, and decays from
// these. C265: every change raises the revision of the layers.
func TestC249ImportedItemAndC265Revision(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{"consolidate_every":0}`)
	id, plain := "0199aaaa-bbbb-7ccc-8ddd-000000000001", "0199aaaa-bbbb-7ccc-8ddd-000000000002"
	used := b.Now().Add(-14 * 24 * time.Hour).Format(time.RFC3339)
	b.Call(t, "one", "POST", c+"/import", `{"id":"`+id+`","content":"We met at the harbor.","importance":0.8,"occurred_at":"2026-01-02T03:04:00Z","usage":{"access_count":3,"last_access":"`+used+`"},"attributes":{"layer":"episodic","type":"remark","room":"kitchen"}}
{"id":"`+plain+`","content":"We sailed home.","importance":0.4,"usage":{"access_count":1,"last_access":"`+used+`"},"attributes":{"layer":"stratum"}}
`).Want(http.StatusAccepted)
	b.RunJobs(t)
	n := b.Call(t, "one", "GET", c+"/notes/"+id+"?include=embedding", "").Want(http.StatusOK)
	if n.Text("content") != "We met at the harbor." || n.Text("attributes.type") != "remark" || n.Text("attributes.room") != "kitchen" || n.Number("importance") != .8 ||
		n.Text("occurred_at") != "2026-01-02T03:04:00Z" || n.Number("usage.access_count") != 3 || n.Text("usage.last_access") != used || n.Length("embedding") == 0 {
		t.Errorf("%s", n.Body)
	}
	b.Call(t, "one", "POST", c+"/consolidate", "").Want(http.StatusAccepted)
	b.RunJobs(t)
	if _, e, _ := counts(t, b, c); e != 2 { // a layer that does not exist is none
		t.Errorf("%d episodes", e)
	}
	for note, want := range map[string]float64{id: .2, plain: .1} {
		if n := b.Call(t, "one", "GET", c+"/notes/"+note, "").Want(http.StatusOK); math.Abs(n.Number("importance")-want) > 1e-6 {
			t.Errorf("C303: %s", n.Body)
		}
	}
	last := -1.0
	for _, change := range []func(){
		func() { remember(t, b, c, "I like tea.", "role", "user") },
		func() {
			b.Call(t, "one", "PATCH", c+"/notes/"+id, `{"content":"We met at the station."}`).Want(http.StatusOK)
		},
		func() { b.Call(t, "one", "DELETE", c+"/notes/"+id, "").Want(http.StatusNoContent) },
	} {
		change()
		b.RunJobs(t)
		now := b.Call(t, "one", "GET", c+"/layers", "").Want(http.StatusOK).Number("revision")
		if now <= last {
			t.Errorf("C265: revision %v after %v", now, last)
		}
		last = now
	}
}

// A collection remembers one person: a user of a second name is refused. With persons several, what a named user says of
// themselves is kept under that name, and never mixed.
func TestLayersPersons(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{}`)
	remember(t, b, c, "I live in Lisbon.", "role", "user", "name", "Ada")
	remember(t, b, c, "I like tea.", "role", "user", "name", "ada")
	bob := apptest.Object(t, "content", "I live in Rome.", "role", "user", "name", "Bob")
	b.Call(t, "one", "POST", c+"/remember", bob).Refused(http.StatusUnprocessableEntity, fault.Invalid, "name")
	b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"role":"user","name":"Bob","content":"I live in Rome."}]}`).Refused(http.StatusUnprocessableEntity, fault.Invalid, "messages.0.name")
	b.Call(t, "one", "PATCH", c, `{"policy_config":{"persons":"several"}}`).Want(http.StatusOK)
	if got := b.Call(t, "one", "POST", c+"/remember", bob).Want(http.StatusOK); got.Length("conflicts") != 0 || got.Text("stored.2.triple.subject") != "Bob" {
		t.Errorf("%s", got.Body)
	}
	for subject, place := range map[string]string{"user": "Lisbon", "Bob": "Rome"} {
		got := b.Call(t, "one", "GET", c+"/facts?relation=place&subject="+subject, "").Want(http.StatusOK)
		if got.Length("items") != 1 || got.Text("items.0.object") != place {
			t.Errorf("%s: %s", subject, got.Body)
		}
	}
}
