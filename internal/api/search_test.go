package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
)

func TestSearch(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "space")
	ids := map[string]string{}
	for name, body := range map[string]string{
		"lisbon":  `{"content":"Ada moved to Lisbon in March and works on tide models.","tags":["people"],"infer":false}`,
		"kitchen": `{"content":"The kitchen tap drips at night.","tags":["house"],"infer":false}`,
		"tides":   `{"content":"Tide tables for the Tagus estuary.","kind":"fact","importance":0.9,"infer":false}`,
	} {
		ids[name] = b.call(t, "one", "POST", c+"/notes", body).want(http.StatusCreated).text("note.id")
	}
	search := c + "/search"
	got := b.call(t, "one", "POST", search, `{"query":"who moved to Lisbon"}`).want(http.StatusOK)
	if got.text("hits.0.note.id") != ids["lisbon"] || got.text("mode") != "hybrid" || got.number("revision") != 3 ||
		got.Header().Get("Slipbox-Revision") != "3" || got.at("took_ms") == nil || got.at("hits.0.is_neighbor") != false || got.at("hits.0.explain") != nil {
		t.Errorf("%s", got.Body)
	}
	for name, tt := range map[string]struct{ body, want string }{
		"lexical":    {`{"query":"tap","mode":"lexical"}`, "kitchen"},
		"k":          {`{"query":"tide models","k":1}`, "lisbon"},
		"k auto":     {`{"query":"who moved to Lisbon in March","k":"auto"}`, "lisbon"},
		"filter":     {`{"query":"tide","filter":{"field":"kind","op":"eq","value":"fact"}}`, "tides"},
		"messages":   {`{"messages":[{"role":"user","content":"the tap"},{"user":"and the kitchen","assistant":"drips"}],"k":1}`, "kitchen"},
		"importance": {`{"query":"tide","filter":{"field":"importance","op":"gt","value":0.8}}`, "tides"},
		"too strict": {`{"query":"tide","min_score":1e9}`, ""},
		"the past":   {`{"query":"tide Lisbon tap","as_of":0}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := b.call(t, "one", "POST", search, tt.body).want(http.StatusOK)
			id, _ := got.at("hits.0.note.id").(string)
			if id != ids[tt.want] || tt.want == "" && got.length("hits") != 0 {
				t.Errorf("%s", got.Body)
			}
		})
	}
	bare := b.call(t, "one", "POST", search, `{"query":"tide","fields":["id"]}`).want(http.StatusOK)
	if bare.at("hits.0.note.content") != nil || bare.text("hits.0.note.id") == "" || bare.number("hits.0.score") <= 0 {
		t.Errorf("%s", bare.Body)
	}
	explained := b.call(t, "one", "POST", search, `{"query":"tide","explain":true,"include":["embedding"]}`).want(http.StatusOK)
	if explained.at("hits.0.explain") == nil || explained.length("hits.0.note.embedding") != 384 || explained.length("hits.0.sources") == 0 {
		t.Errorf("%s", explained.Body)
	}
	var vector struct {
		Embedding []float32 `json:"embedding"`
	}
	if err := json.Unmarshal(b.call(t, "one", "GET", c+"/notes/"+ids["kitchen"]+"?include=embedding", "").Body.Bytes(), &vector); err != nil {
		t.Fatal(err)
	}
	byVector := b.call(t, "one", "POST", search, `{"vector":`+mustJSON(t, vector.Embedding)+`,"k":1}`).want(http.StatusOK)
	if byVector.text("hits.0.note.id") != ids["kitchen"] || byVector.number("hits.0.score") < 0.99 {
		t.Errorf("%s", byVector.Body)
	}
	auto := b.call(t, "one", "POST", search, `{"query":"who moved to Lisbon in March","k":"auto"}`).want(http.StatusOK)
	if auto.length("hits") != 1 {
		t.Errorf("one note answers: %s", auto.Body)
	}
	if all := b.call(t, "one", "POST", search, `{"query":"who moved to Lisbon in March","k":3e0}`).want(http.StatusOK); all.length("hits") != 3 {
		t.Errorf("three notes were asked for: %s", all.Body)
	}
	few := b.call(t, "one", "POST", search, `{"query":"tide Lisbon tap","k":200,"token_budget":1}`).want(http.StatusOK)
	if few.length("hits") > 1 {
		t.Errorf("%d hits in one token", few.length("hits"))
	}
}

func TestSearchBatch(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "space")
	for _, content := range []string{"alpha beta", "gamma delta", "alpha gamma"} {
		b.call(t, "one", "POST", c+"/notes", `{"content":"`+content+`","infer":false}`).want(http.StatusCreated)
	}
	got := b.call(t, "one", "POST", c+"/search", `{"queries":[{"query":"alpha"},{"query":"delta","k":1},{"query":"beta","mode":"vector"}],"mode":"lexical","fields":["id"]}`).want(http.StatusOK)
	if got.length("results") != 3 || got.length("results.0.hits") != 2 || got.length("results.1.hits") != 1 ||
		got.text("results.0.mode") != "lexical" || got.text("results.2.mode") != "vector" || got.at("results.0.hits.0.note.content") != nil {
		t.Errorf("%s", got.Body)
	}
	for i := range 3 {
		if got.number(fmt.Sprintf("results.%d.revision", i)) != 3 {
			t.Errorf("%s", got.Body)
		}
	}
}

// A batch that asks too much is refused before its first query runs, and is told what to change.
func TestSearchBatchHasABudget(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "space")
	id := b.note(t, "one", c, "The ferry leaves at seven.")
	query := `{"query":"` + strings.Repeat("where does the ferry go ", 380) + `"}`
	body := func(n int) string {
		return `{"k":200,"expand_links":2,"queries":[` + strings.TrimSuffix(strings.Repeat(query+",", n), ",") + `]}`
	}
	refused := b.call(t, "one", "POST", c+"/search", body(100))
	refused.refused(http.StatusUnprocessableEntity, fault.Invalid, "queries")
	for _, told := range []string{"100 queries", "expand_links", strconv.Itoa(recall.MaxBatchCost)} {
		if !strings.Contains(refused.Body.String(), told) {
			t.Errorf("%q is missing in %s", told, refused.Body)
		}
	}
	if got := b.call(t, "one", "GET", c+"/notes/"+id, ""); got.number("usage.access_count") != 0 {
		t.Errorf("a query ran: %s", got.Body)
	}
	if got := b.call(t, "one", "POST", c+"/search", body(10)).want(http.StatusOK); got.length("results") != 10 {
		t.Errorf("%s", got.Body)
	}
}

// C013, C014: a search counts as a recall, reading a note does not.
func TestSearchCounts(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "space")
	id := b.note(t, "one", c, "The ferry leaves at seven.")
	for range 2 {
		b.call(t, "one", "POST", c+"/search", `{"query":"ferry"}`).want(http.StatusOK)
		b.call(t, "one", "GET", c+"/notes/"+id, "").want(http.StatusOK)
	}
	got := b.call(t, "one", "GET", c+"/notes/"+id, "").want(http.StatusOK)
	if got.number("usage.access_count") != 2 || got.number("usage.strength") != 3 || got.text("usage.last_access") != "2026-03-01T09:00:00Z" {
		t.Errorf("%s", got.Body)
	}
	patched := b.call(t, "one", "PATCH", c+"/notes/"+id, `{"tags":["x"]}`).want(http.StatusOK)
	if patched.number("usage.access_count") != 2 {
		t.Errorf("%s", patched.Body)
	}
}

// Hot notes: the most recently found come first, with counts that are not written yet; heat halves
// in a day.
func TestHotNotes(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "space")
	add := func(content string) string {
		return b.call(t, "one", "POST", c+"/notes", `{"content":"`+content+`","infer":false}`).want(http.StatusCreated).text("note.id")
	}
	ferry, tram := add("ferry"), add("tram")
	add("funicular")
	if none := b.call(t, "reader", "GET", c+"/hot", "").want(http.StatusOK); none.length("items") != 0 || none.number("revision") != 3 {
		t.Errorf("%s", none.Body)
	}
	search := func(word string) {
		b.call(t, "one", "POST", c+"/search", `{"query":"`+word+`","mode":"lexical"}`).want(http.StatusOK)
	}
	for range 3 {
		search("ferry")
	}
	b.Pass(24 * time.Hour)
	search("tram")
	got := b.call(t, "reader", "GET", c+"/hot", "").want(http.StatusOK)
	if got.length("items") != 2 || got.text("items.0.note.id") != ferry || got.text("items.1.note.id") != tram ||
		got.number("items.0.score") != 1.5 || got.number("items.1.score") != 1 || got.number("items.0.note.usage.access_count") != 3 ||
		got.text("items.0.note.content") != "ferry" || got.Header().Get("Slipbox-Revision") != "3" {
		t.Errorf("%s", got.Body)
	}
	if one := b.call(t, "one", "GET", c+"/hot?limit=1", "").want(http.StatusOK); one.length("items") != 1 || one.text("items.0.note.id") != ferry {
		t.Errorf("%s", one.Body)
	}
	// A fork inherits the counts of its base, and keeps its own counts.
	fork := "/v1/collections/" + b.call(t, "one", "POST", c+"/clone", `{"agent":"ada"}`).want(http.StatusCreated).text("id")
	if in := b.call(t, "ada", "GET", fork+"/hot", "").want(http.StatusOK); in.length("items") != 2 || in.text("items.0.note.id") != ferry {
		t.Errorf("%s", in.Body)
	}
	b.call(t, "one", "DELETE", c+"/notes/"+ferry, "").want(http.StatusNoContent)
	if left := b.call(t, "one", "GET", c+"/hot", "").want(http.StatusOK); left.length("items") != 1 || left.text("items.0.note.id") != tram {
		t.Errorf("%s", left.Body)
	}
	b.call(t, "writer", "GET", c+"/hot", "").refused(403, fault.Forbidden, "")
	b.call(t, "two", "GET", c+"/hot", "").refused(404, fault.NotFound, "")
}

// C322: expansion also finds notes that link to a hit.
func TestSearchExpandsLinks(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "space")
	add := func(content string) string {
		return b.call(t, "one", "POST", c+"/notes", `{"content":"`+content+`","infer":false}`).want(http.StatusCreated).text("note.id")
	}
	old, later := add("zeppelin hangar"), add("quartz watch")
	b.call(t, "one", "PUT", c+"/notes/"+later+"/links", `{"links":[{"target":"`+old+`"}]}`).want(http.StatusOK)
	ids := func(body string) (out []string) {
		got := b.call(t, "one", "POST", c+"/search", body).want(http.StatusOK)
		for i := range got.length("hits") {
			out = append(out, got.text(fmt.Sprintf("hits.%d.note.id", i)))
			if neighbor := got.at(fmt.Sprintf("hits.%d.is_neighbor", i)); neighbor != (out[i] == later) {
				t.Errorf("%s", got.Body)
			}
		}
		return out
	}
	if got := ids(`{"query":"zeppelin","mode":"lexical"}`); slices.Contains(got, later) {
		t.Errorf("found %v", got)
	}
	if got := ids(`{"query":"zeppelin","mode":"lexical","expand_links":1}`); !slices.Contains(got, later) || got[0] != old {
		t.Errorf("found %v", got)
	}
}

// C065: a search in a fork ranks what the fork sees, and does not count as a recall in the base.
func TestSearchInAFork(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "space")
	id := b.note(t, "one", c, "A heron stands in the reeds.")
	fork := "/v1/collections/" + b.call(t, "one", "POST", c+"/clone", `{"agent":"ada"}`).want(http.StatusCreated).text("id")
	b.call(t, "ada", "PATCH", fork+"/notes/"+id, `{"content":"An otter swims in the reeds."}`).want(http.StatusOK)
	for path, want := range map[string]string{c: "heron", fork: "otter"} {
		got := b.call(t, "one", "POST", path+"/search", `{"query":"reeds"}`).want(http.StatusOK)
		if got.length("hits") != 1 || !strings.Contains(got.text("hits.0.note.content"), want) {
			t.Errorf("%s", got.Body)
		}
	}
	b.call(t, "bob", "POST", fork+"/search", `{"query":"reeds"}`).refused(404, fault.NotFound, "")
}

// The hits have the fields that the request names, the content first; by default what was said and when, so that the
// answer is little more than the text. C043: all fields of a note can be had, C047: ids and scores alone.
func TestSearchFields(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "space")
	text := 0
	for i := range 5 {
		content := fmt.Sprintf("Melanie: on Sunday number %d we went camping by the lake and saw a heron.", i)
		text += len(content)
		b.call(t, "one", "POST", c+"/notes", fmt.Sprintf(`{"content":%q,"context":"Camping.","keywords":["lake","heron"],"tags":["nature"],"attributes":{"speaker":"Melanie"},"infer":false}`, content)).want(http.StatusCreated)
	}
	search := func(fields string) response {
		t.Helper()
		return b.call(t, "one", "POST", c+"/search", `{"query":"Where did Melanie go camping?"`+fields+`}`).want(http.StatusOK)
	}
	keys := func(got response) []string {
		t.Helper()
		note, _ := got.at("hits.0.note").(map[string]any)
		return slices.Sorted(maps.Keys(note))
	}
	usual := search("")
	if !slices.Equal(keys(usual), []string{"content", "id", "occurred_at"}) || usual.length("hits") != 5 || usual.Body.Len() > 4*text {
		t.Errorf("%d bytes for %d of text: %s", usual.Body.Len(), text, usual.Body)
	}
	if body := usual.Body.String(); !strings.HasPrefix(body, `{"hits":[{"note":{"content":`) {
		t.Errorf("the content is not first: %s", body)
	}
	for fields, want := range map[string][]string{
		`,"fields":["id"]`:                            {"id"},
		`,"fields":["content"]`:                       {"content", "id"},
		`,"fields":["tags","context","links","id"]`:   {"context", "id", "links", "tags"},
		`,"fields":["usage"],"include":["embedding"]`: {"embedding", "id", "usage"},
		`,"fields":["*"]`: {
			"attributes", "category", "collection", "content", "context", "created_at", "embedder", "id", "importance", "keywords", "kind",
			"links", "occurred_at", "provenance", "revision", "state", "tags", "updated_at", "usage",
		},
	} {
		if got := keys(search(fields)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", fields, got, want)
		}
	}
	batch := b.call(t, "one", "POST", c+"/search", `{"fields":["tags"],"queries":[{"query":"lake"},{"query":"lake","fields":["id"]}]}`).want(http.StatusOK)
	if batch.at("results.0.hits.0.note.tags.0") != "nature" || batch.at("results.1.hits.0.note.tags") != nil || batch.at("results.0.hits.0.note.content") != nil {
		t.Errorf("%s", batch.Body)
	}
	b.call(t, "one", "POST", c+"/search", `{"query":"lake","fields":["embedding"]}`).refused(http.StatusUnprocessableEntity, fault.Invalid, "fields.0")
	b.call(t, "one", "POST", c+"/search", `{"query":"lake","fields":[]}`).refused(http.StatusUnprocessableEntity, fault.Invalid, "fields")
}

// A context answers the fields of the cited notes that the request names.
func TestContextFields(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "space")
	for _, s := range []string{"The kettle is blue.", "The kettle is old."} {
		b.call(t, "one", "POST", c+"/notes", `{"content":"`+s+`","tags":["kitchen"],"infer":false}`).want(http.StatusCreated)
	}
	got := b.call(t, "one", "POST", c+"/context", `{"query":"kettle","fields":["content","tags","links"]}`).want(http.StatusOK)
	if got.length("notes") != 2 || got.length("citations") != 2 || !strings.HasPrefix(got.Body.String(), `{"text":`) {
		t.Fatalf("%s", got.Body)
	}
	for i := range 2 {
		at := fmt.Sprintf("notes.%d.", i)
		if got.text(at+"id") != got.text(fmt.Sprintf("citations.%d.note", i)) || got.at(at+"tags.0") != "kitchen" || got.length(at+"links") != 0 || got.at(at+"state") != nil ||
			!strings.Contains(got.text("text"), fmt.Sprintf("[%d] %s", i+1, got.text(at+"content"))) {
			t.Errorf("%s", got.Body)
		}
	}
	if got := b.call(t, "one", "POST", c+"/context", `{"query":"kettle"}`).want(http.StatusOK); got.at("notes") != nil {
		t.Errorf("%s", got.Body)
	}
}

// A filter may be fields with their values, at every door that takes a filter.
func TestSimpleFilters(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	b.call(t, "one", "POST", "/v1/collections", `{"name":"plans","policy":"none"}`).want(http.StatusCreated)
	for _, note := range []string{`{"content":"Kiln A.","tags":["work"],"attributes":{"project":"A"}}`, `{"content":"Kiln B.","tags":["home"],"attributes":{"project":"B"}}`, `{"content":"Kiln C."}`} {
		b.call(t, "one", "POST", "/v1/collections/plans/notes", note).want(http.StatusCreated)
	}
	for filter, n := range map[string]int{`{"tags":"work"}`: 1, `{"tags":["work","home"]}`: 2, `{"attributes.project":"A","tags":"home"}`: 0, `{"not":{"attributes.project":"A"}}`: 2} {
		if got := b.call(t, "one", "POST", "/v1/collections/plans/search", `{"query":"kiln","filter":`+filter+`}`).want(http.StatusOK).length("hits"); got != n {
			t.Errorf("search %s: %d hits, want %d", filter, got, n)
		}
		if got := b.call(t, "one", "GET", "/v1/collections/plans/notes?filter="+url.QueryEscape(filter), "").want(http.StatusOK).length("items"); got != n {
			t.Errorf("list %s: %d notes, want %d", filter, got, n)
		}
	}
	for _, filter := range []string{`{"flavor":"x"}`, `{"tags":null}`, `{"tags":[]}`, `{"tags":"x","and":[]}`} {
		if got := b.call(t, "one", "POST", "/v1/collections/plans/search", `{"query":"kiln","filter":`+filter+`}`); got.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", filter, got.Code, got.Body)
		}
	}
}
