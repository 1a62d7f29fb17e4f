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

	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/test/must"
)

func TestSearch(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	ids := map[string]string{}
	for name, body := range map[string]string{
		"lisbon":  `{"content":"Ada moved to Lisbon in March and works on tide models.","tags":["people"],"infer":false}`,
		"kitchen": `{"content":"The kitchen tap drips at night.","tags":["house"],"infer":false}`,
		"tides":   `{"content":"Tide tables for the Tagus estuary.","kind":"fact","importance":0.9,"infer":false}`,
	} {
		ids[name] = b.Call(t, "one", "POST", c+"/notes", body).Want(http.StatusCreated).Text("note.id")
	}
	search := c + "/search"
	got := b.Call(t, "one", "POST", search, `{"query":"who moved to Lisbon"}`).Want(http.StatusOK)
	if got.Text("hits.0.note.id") != ids["lisbon"] || got.Text("mode") != "hybrid" || got.Number("revision") != 3 ||
		got.Header().Get("Slipbox-Revision") != "3" || got.At("took_ms") == nil || got.At("hits.0.is_neighbor") != false || got.At("hits.0.explain") != nil {
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
			got := b.Call(t, "one", "POST", search, tt.body).Want(http.StatusOK)
			id, _ := got.At("hits.0.note.id").(string)
			if id != ids[tt.want] || tt.want == "" && got.Length("hits") != 0 {
				t.Errorf("%s", got.Body)
			}
		})
	}
	bare := b.Call(t, "one", "POST", search, `{"query":"tide","fields":["id"]}`).Want(http.StatusOK)
	if bare.At("hits.0.note.content") != nil || bare.Text("hits.0.note.id") == "" || bare.Number("hits.0.score") <= 0 {
		t.Errorf("%s", bare.Body)
	}
	explained := b.Call(t, "one", "POST", search, `{"query":"tide","explain":true,"include":["embedding"]}`).Want(http.StatusOK)
	if explained.At("hits.0.explain") == nil || explained.Length("hits.0.note.embedding") != 384 || explained.Length("hits.0.sources") == 0 {
		t.Errorf("%s", explained.Body)
	}
	var vector struct {
		Embedding []float32 `json:"embedding"`
	}
	must.Do(t, json.Unmarshal(b.Call(t, "one", "GET", c+"/notes/"+ids["kitchen"]+"?include=embedding", "").Body.Bytes(), &vector))
	byVector := b.Call(t, "one", "POST", search, `{"vector":`+apptest.JSON(t, vector.Embedding)+`,"k":1}`).Want(http.StatusOK)
	if byVector.Text("hits.0.note.id") != ids["kitchen"] || byVector.Number("hits.0.score") < 0.99 {
		t.Errorf("%s", byVector.Body)
	}
	auto := b.Call(t, "one", "POST", search, `{"query":"who moved to Lisbon in March","k":"auto"}`).Want(http.StatusOK)
	if auto.Length("hits") != 1 {
		t.Errorf("one note answers: %s", auto.Body)
	}
	if all := b.Call(t, "one", "POST", search, `{"query":"who moved to Lisbon in March","k":3e0}`).Want(http.StatusOK); all.Length("hits") != 3 {
		t.Errorf("three notes were asked for: %s", all.Body)
	}
	few := b.Call(t, "one", "POST", search, `{"query":"tide Lisbon tap","k":200,"token_budget":1}`).Want(http.StatusOK)
	if few.Length("hits") > 1 {
		t.Errorf("%d hits in one token", few.Length("hits"))
	}
}

func TestSearchBatch(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	for _, content := range []string{"alpha beta", "gamma delta", "alpha gamma"} {
		b.Call(t, "one", "POST", c+"/notes", `{"content":"`+content+`","infer":false}`).Want(http.StatusCreated)
	}
	got := b.Call(t, "one", "POST", c+"/search", `{"queries":[{"query":"alpha"},{"query":"delta","k":1},{"query":"beta","mode":"vector"}],"mode":"lexical","fields":["id"]}`).Want(http.StatusOK)
	if got.Length("results") != 3 || got.Length("results.0.hits") != 2 || got.Length("results.1.hits") != 1 ||
		got.Text("results.0.mode") != "lexical" || got.Text("results.2.mode") != "vector" || got.At("results.0.hits.0.note.content") != nil {
		t.Errorf("%s", got.Body)
	}
	for i := range 3 {
		if got.Number(fmt.Sprintf("results.%d.revision", i)) != 3 {
			t.Errorf("%s", got.Body)
		}
	}
}

// A batch that asks too much is refused before its first query runs, and is told what to change.
func TestSearchBatchHasABudget(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	id := b.Note(t, "one", c, "The ferry leaves at seven.")
	query := `{"query":"` + strings.Repeat("where does the ferry go ", 380) + `"}`
	body := func(n int) string {
		return `{"k":200,"expand_links":2,"queries":[` + strings.TrimSuffix(strings.Repeat(query+",", n), ",") + `]}`
	}
	refused := b.Call(t, "one", "POST", c+"/search", body(100))
	refused.Refused(http.StatusUnprocessableEntity, fault.Invalid, "queries")
	for _, told := range []string{"100 queries", "expand_links", strconv.Itoa(recall.MaxBatchCost)} {
		if !strings.Contains(refused.Body.String(), told) {
			t.Errorf("%q is missing in %s", told, refused.Body)
		}
	}
	if got := b.Call(t, "one", "GET", c+"/notes/"+id, ""); got.Number("usage.access_count") != 0 {
		t.Errorf("a query ran: %s", got.Body)
	}
	if got := b.Call(t, "one", "POST", c+"/search", body(10)).Want(http.StatusOK); got.Length("results") != 10 {
		t.Errorf("%s", got.Body)
	}
}

// C013, C014: a search counts as a recall, reading a note does not.
func TestSearchCounts(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	id := b.Note(t, "one", c, "The ferry leaves at seven.")
	for range 2 {
		b.Call(t, "one", "POST", c+"/search", `{"query":"ferry"}`).Want(http.StatusOK)
		b.Call(t, "one", "GET", c+"/notes/"+id, "").Want(http.StatusOK)
	}
	got := b.Call(t, "one", "GET", c+"/notes/"+id, "").Want(http.StatusOK)
	if got.Number("usage.access_count") != 2 || got.Number("usage.strength") != 3 || got.Text("usage.last_access") != "2026-03-01T09:00:00Z" {
		t.Errorf("%s", got.Body)
	}
	patched := b.Call(t, "one", "PATCH", c+"/notes/"+id, `{"tags":["x"]}`).Want(http.StatusOK)
	if patched.Number("usage.access_count") != 2 {
		t.Errorf("%s", patched.Body)
	}
}

// Hot notes: the most recently found come first, with counts that are not written yet; heat halves
// in a day.
func TestHotNotes(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	add := func(content string) string {
		return b.Call(t, "one", "POST", c+"/notes", `{"content":"`+content+`","infer":false}`).Want(http.StatusCreated).Text("note.id")
	}
	ferry, tram := add("ferry"), add("tram")
	add("funicular")
	if none := b.Call(t, "reader", "GET", c+"/hot", "").Want(http.StatusOK); none.Length("items") != 0 || none.Number("revision") != 3 {
		t.Errorf("%s", none.Body)
	}
	search := func(word string) {
		b.Call(t, "one", "POST", c+"/search", `{"query":"`+word+`","mode":"lexical"}`).Want(http.StatusOK)
	}
	for range 3 {
		search("ferry")
	}
	b.Pass(24 * time.Hour)
	search("tram")
	got := b.Call(t, "reader", "GET", c+"/hot", "").Want(http.StatusOK)
	if got.Length("items") != 2 || got.Text("items.0.note.id") != ferry || got.Text("items.1.note.id") != tram ||
		got.Number("items.0.score") != 1.5 || got.Number("items.1.score") != 1 || got.Number("items.0.note.usage.access_count") != 3 ||
		got.Text("items.0.note.content") != "ferry" || got.Header().Get("Slipbox-Revision") != "3" {
		t.Errorf("%s", got.Body)
	}
	if one := b.Call(t, "one", "GET", c+"/hot?limit=1", "").Want(http.StatusOK); one.Length("items") != 1 || one.Text("items.0.note.id") != ferry {
		t.Errorf("%s", one.Body)
	}
	// A fork inherits the counts of its base, and keeps its own counts.
	fork := "/v1/collections/" + b.Call(t, "one", "POST", c+"/clone", `{"agent":"ada"}`).Want(http.StatusCreated).Text("id")
	if in := b.Call(t, "ada", "GET", fork+"/hot", "").Want(http.StatusOK); in.Length("items") != 2 || in.Text("items.0.note.id") != ferry {
		t.Errorf("%s", in.Body)
	}
	b.Call(t, "one", "DELETE", c+"/notes/"+ferry, "").Want(http.StatusNoContent)
	if left := b.Call(t, "one", "GET", c+"/hot", "").Want(http.StatusOK); left.Length("items") != 1 || left.Text("items.0.note.id") != tram {
		t.Errorf("%s", left.Body)
	}
	b.Call(t, "writer", "GET", c+"/hot", "").Refused(403, fault.Forbidden, "")
	b.Call(t, "two", "GET", c+"/hot", "").Refused(404, fault.NotFound, "")
}

// C322: expansion also finds notes that link to a hit.
func TestSearchExpandsLinks(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	add := func(content string) string {
		return b.Call(t, "one", "POST", c+"/notes", `{"content":"`+content+`","infer":false}`).Want(http.StatusCreated).Text("note.id")
	}
	old, later := add("zeppelin hangar"), add("quartz watch")
	b.Call(t, "one", "PUT", c+"/notes/"+later+"/links", `{"links":[{"target":"`+old+`"}]}`).Want(http.StatusOK)
	ids := func(body string) (out []string) {
		got := b.Call(t, "one", "POST", c+"/search", body).Want(http.StatusOK)
		for i := range got.Length("hits") {
			out = append(out, got.Text(fmt.Sprintf("hits.%d.note.id", i)))
			if neighbor := got.At(fmt.Sprintf("hits.%d.is_neighbor", i)); neighbor != (out[i] == later) {
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
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	id := b.Note(t, "one", c, "A heron stands in the reeds.")
	fork := "/v1/collections/" + b.Call(t, "one", "POST", c+"/clone", `{"agent":"ada"}`).Want(http.StatusCreated).Text("id")
	b.Call(t, "ada", "PATCH", fork+"/notes/"+id, `{"content":"An otter swims in the reeds."}`).Want(http.StatusOK)
	for path, want := range map[string]string{c: "heron", fork: "otter"} {
		got := b.Call(t, "one", "POST", path+"/search", `{"query":"reeds"}`).Want(http.StatusOK)
		if got.Length("hits") != 1 || !strings.Contains(got.Text("hits.0.note.content"), want) {
			t.Errorf("%s", got.Body)
		}
	}
	b.Call(t, "bob", "POST", fork+"/search", `{"query":"reeds"}`).Refused(404, fault.NotFound, "")
}

// The hits have the fields that the request names, the content first; by default what was said and when, so that the
// answer is little more than the text. C043: all fields of a note can be had, C047: ids and scores alone.
func TestSearchFields(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	text := 0
	for i := range 5 {
		content := fmt.Sprintf("Melanie: on Sunday number %d we went camping by the lake and saw a heron.", i)
		text += len(content)
		b.Call(t, "one", "POST", c+"/notes", fmt.Sprintf(`{"content":%q,"context":"Camping.","keywords":["lake","heron"],"tags":["nature"],"attributes":{"speaker":"Melanie"},"infer":false}`, content)).Want(http.StatusCreated)
	}
	search := func(fields string) apptest.Response {
		t.Helper()
		return b.Call(t, "one", "POST", c+"/search", `{"query":"Where did Melanie go camping?"`+fields+`}`).Want(http.StatusOK)
	}
	keys := func(got apptest.Response) []string {
		t.Helper()
		note, _ := got.At("hits.0.note").(map[string]any)
		return slices.Sorted(maps.Keys(note))
	}
	usual := search("")
	if !slices.Equal(keys(usual), []string{"content", "id", "occurred_at"}) || usual.Length("hits") != 5 || usual.Body.Len() > 4*text {
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
	batch := b.Call(t, "one", "POST", c+"/search", `{"fields":["tags"],"queries":[{"query":"lake"},{"query":"lake","fields":["id"]}]}`).Want(http.StatusOK)
	if batch.At("results.0.hits.0.note.tags.0") != "nature" || batch.At("results.1.hits.0.note.tags") != nil || batch.At("results.0.hits.0.note.content") != nil {
		t.Errorf("%s", batch.Body)
	}
	b.Call(t, "one", "POST", c+"/search", `{"query":"lake","fields":["embedding"]}`).Refused(http.StatusUnprocessableEntity, fault.Invalid, "fields.0")
	b.Call(t, "one", "POST", c+"/search", `{"query":"lake","fields":[]}`).Refused(http.StatusUnprocessableEntity, fault.Invalid, "fields")
}

// A context answers the fields of the cited notes that the request names.
func TestContextFields(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	for _, s := range []string{"The kettle is blue.", "The kettle is old."} {
		b.Call(t, "one", "POST", c+"/notes", `{"content":"`+s+`","tags":["kitchen"],"infer":false}`).Want(http.StatusCreated)
	}
	got := b.Call(t, "one", "POST", c+"/context", `{"query":"kettle","fields":["content","tags","links"]}`).Want(http.StatusOK)
	if got.Length("notes") != 2 || got.Length("citations") != 2 || !strings.HasPrefix(got.Body.String(), `{"text":`) {
		t.Fatalf("%s", got.Body)
	}
	for i := range 2 {
		at := fmt.Sprintf("notes.%d.", i)
		if got.Text(at+"id") != got.Text(fmt.Sprintf("citations.%d.note", i)) || got.At(at+"tags.0") != "kitchen" || got.Length(at+"links") != 0 || got.At(at+"state") != nil ||
			!strings.Contains(got.Text("text"), fmt.Sprintf("[%d] %s", i+1, got.Text(at+"content"))) {
			t.Errorf("%s", got.Body)
		}
	}
	if got := b.Call(t, "one", "POST", c+"/context", `{"query":"kettle"}`).Want(http.StatusOK); got.At("notes") != nil {
		t.Errorf("%s", got.Body)
	}
}

// A filter may be fields with their values, at every door that takes a filter.
func TestSimpleFilters(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	b.Call(t, "one", "POST", "/v1/collections", `{"name":"plans","policy":"none"}`).Want(http.StatusCreated)
	for _, note := range []string{`{"content":"Kiln A.","tags":["work"],"attributes":{"project":"A"}}`, `{"content":"Kiln B.","tags":["home"],"attributes":{"project":"B"}}`, `{"content":"Kiln C."}`} {
		b.Call(t, "one", "POST", "/v1/collections/plans/notes", note).Want(http.StatusCreated)
	}
	for filter, n := range map[string]int{`{"tags":"work"}`: 1, `{"tags":["work","home"]}`: 2, `{"attributes.project":"A","tags":"home"}`: 0, `{"not":{"attributes.project":"A"}}`: 2} {
		if got := b.Call(t, "one", "POST", "/v1/collections/plans/search", `{"query":"kiln","filter":`+filter+`}`).Want(http.StatusOK).Length("hits"); got != n {
			t.Errorf("search %s: %d hits, want %d", filter, got, n)
		}
		if got := b.Call(t, "one", "GET", "/v1/collections/plans/notes?filter="+url.QueryEscape(filter), "").Want(http.StatusOK).Length("items"); got != n {
			t.Errorf("list %s: %d notes, want %d", filter, got, n)
		}
	}
	for _, filter := range []string{`{"flavor":"x"}`, `{"tags":null}`, `{"tags":[]}`, `{"tags":"x","and":[]}`} {
		if got := b.Call(t, "one", "POST", "/v1/collections/plans/search", `{"query":"kiln","filter":`+filter+`}`); got.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", filter, got.Code, got.Body)
		}
	}
}
