package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// TestSearchSeveral: several collections, or all of a user, are searched together, within what the key reaches (C081, C313).
func TestSearchSeveral(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	ids := map[string]string{}
	for i, name := range []string{"march", "april", "may"} {
		made := b.call(t, "ada", "POST", "/v1/collections", fmt.Sprintf(`{"name":%q,"policy":"none","external":{"user":"nora@example.com","run":"%d"}}`, name, i)).want(http.StatusCreated)
		ids[name] = made.text("id")
		b.call(t, "ada", "POST", "/v1/collections/"+name+"/notes", fmt.Sprintf(`{"content":"In %s Nora repaired a bicycle."}`, name)).want(http.StatusCreated)
	}
	theirs := b.call(t, "bob", "POST", "/v1/collections", `{"name":"secret","policy":"none","external":{"user":"nora@example.com","app":"web"}}`).want(http.StatusCreated).text("id")
	b.call(t, "bob", "POST", "/v1/collections/secret/notes", `{"content":"Nora's bicycle is at Bob's."}`).want(http.StatusCreated)

	for selected, want := range map[string]int{
		`"collections":["march","` + ids["may"] + `"]`: 2, `"collections":["march","march","` + ids["march"] + `"]`: 1,
		`"external":{"user":"nora@example.com"}`: 3, `"external":{"user":"nora@example.com","run":"1"}`: 1,
	} {
		got := b.call(t, "ada", "POST", "/v1/search", `{"query":"Nora's bicycle","k":10,"fields":["content","collection"],`+selected+`}`).want(http.StatusOK)
		if got.length("hits") != want || got.length("revisions") != want || got.at("revision") != nil || got.Header().Get("Slipbox-Revision") != "" {
			t.Errorf("%s: %s", selected, got.Body)
		}
		for i := range got.length("hits") {
			hit := fmt.Sprint("hits.", i, ".")
			month := strings.Fields(got.text(hit + "note.content"))[1]
			if got.text(hit+"collection") != ids[month] || got.text(hit+"note.collection") != ids[month] {
				t.Errorf("hit %d: %s", i, got.Body)
			}
		}
		told := b.call(t, "ada", "POST", "/v1/context", `{"query":"Nora's bicycle","fields":["collection"],`+selected+`}`).want(http.StatusOK)
		if told.length("citations") != want || told.length("revisions") != want || told.length("notes") != want {
			t.Errorf("%s: context %s", selected, told.Body)
		}
	}
	batch := b.call(t, "ada", "POST", "/v1/search", `{"queries":[{"query":"bicycle"},{"query":"April"}],"k":1,"fields":["id"],"collections":["march","april"]}`).want(http.StatusOK)
	if batch.text("results.1.hits.0.collection") != ids["april"] || batch.length("results.0.revisions") != 2 {
		t.Errorf("batch: %s", batch.Body)
	}
	if one := b.call(t, "one", "POST", "/v1/search", `{"query":"bicycle","k":10,"external":{"user":"nora@example.com"}}`).want(http.StatusOK); one.length("hits") != 4 {
		t.Errorf("a key of the tenant finds %s", one.Body)
	}

	for _, path := range []string{"/v1/search", "/v1/context"} {
		missing := b.call(t, "ada", "POST", path, `{"query":"x","collections":["march","none"]}`, "X-Request-Id", "r").want(http.StatusNotFound).Body.String()
		for _, body := range []string{`"collections":["march","` + theirs + `"]`, `"collections":["secret"]`, `"external":{"app":"web"}`, `"external":{"user":"nobody"}`} {
			if got := b.call(t, "ada", "POST", path, `{"query":"x",`+body+`}`, "X-Request-Id", "r"); got.Code != http.StatusNotFound || got.Body.String() != missing {
				t.Errorf("%s %s: %d %s, want %s", path, body, got.Code, got.Body, missing)
			}
		}
		b.call(t, "two", "POST", path, `{"query":"x","external":{"user":"nora@example.com"}}`).want(http.StatusNotFound)
		b.call(t, "writer", "POST", path, `{"query":"x","collections":["march"]}`).refused(http.StatusForbidden, fault.Forbidden, "")
		for body, field := range map[string]string{
			`{"query":"x"}`: "collections", `{"query":"x","collections":["march"],"external":{"user":"a"}}`: "collections", `{"query":"x","collections":["march"],"as_of":1}`: "as_of",
			`{"query":"x","external":{"user":"a"},"min_revision":1}`: "min_revision", `{"query":"x","collections":[]}`: "collections", `{"query":"x","external":{}}`: "external",
			`{"query":"x","collections":["march"` + strings.Repeat(`,"march"`, 50) + `]}`: "collections",
		} {
			b.call(t, "ada", "POST", path, body).refused(http.StatusUnprocessableEntity, fault.Invalid, field)
		}
		b.call(t, "ada", "POST", "/v1/collections/march"+strings.TrimPrefix(path, "/v1"), `{"query":"x","collections":["may"]}`).refused(http.StatusUnprocessableEntity, fault.Invalid, "collections")
	}
	b.call(t, "ada", "POST", "/v1/collections", `{"name":"other","policy":"mem0"}`).want(http.StatusCreated)
	b.call(t, "ada", "POST", "/v1/search", `{"query":"x","collections":["march","other"]}`).refused(http.StatusConflict, fault.Conflict, "")
	b.call(t, "ada", "DELETE", "/v1/collections/by"+noraQuery, "").want(http.StatusOK)
	b.call(t, "ada", "POST", "/v1/search", `{"query":"x","external":{"user":"nora@example.com"}}`).want(http.StatusNotFound)
}

// TestSeveralAtATime: several collections are read as they were at a time, or at a snapshot that each has: what was deleted since is
// there, what was written since is not, and a collection that was made since is empty.
func TestSeveralAtATime(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	for _, name := range []string{"march", "april"} {
		c := b.collection(t, "one", name)
		b.call(t, "one", "POST", c+"/notes", `{"content":"In `+name+` Nora repaired a bicycle.","infer":false}`).want(http.StatusCreated)
		b.call(t, "one", "POST", c+"/snapshots", `{"name":"as it was"}`).want(http.StatusCreated)
		b.Pass(time.Minute)
	}
	b.call(t, "one", "POST", "/v1/collections/march/clone", `{"name":"fork"}`).want(http.StatusCreated)
	then := b.Clock().UTC().Format(time.RFC3339Nano)
	b.Pass(time.Minute)
	b.collection(t, "one", "may")
	for _, name := range []string{"march", "april", "may", "fork"} {
		b.call(t, "one", "POST", "/v1/collections/"+name+"/notes", `{"content":"Later Nora sold the bicycle of `+name+`.","infer":false}`).want(http.StatusCreated)
	}
	old := b.call(t, "one", "GET", "/v1/collections/april/notes?limit=10", "")
	for i := range old.length("items") {
		if n := old.text(fmt.Sprint("items.", i, ".content")); strings.HasPrefix(n, "In april") {
			b.call(t, "one", "DELETE", "/v1/collections/april/notes/"+old.text(fmt.Sprint("items.", i, ".id")), "")
		}
	}
	found := func(asOf string, names ...string) []string {
		t.Helper()
		body := `"collections":["` + strings.Join(names, `","`) + `"],"as_of":"` + asOf + `"`
		got := b.call(t, "one", "POST", "/v1/search", `{"query":"Nora's bicycle","k":20,`+body+`}`).want(http.StatusOK)
		told := b.call(t, "one", "POST", "/v1/context", `{"query":"Nora's bicycle",`+body+`}`).want(http.StatusOK)
		if told.length("citations") != got.length("hits") || got.length("revisions") != len(names) {
			t.Errorf("%s: the context cites %s, the search finds %s", asOf, told.Body, got.Body)
		}
		var out []string
		for i := range got.length("hits") {
			out = append(out, got.text(fmt.Sprint("hits.", i, ".note.content")))
		}
		slices.Sort(out)
		return out
	}
	was := []string{"In april Nora repaired a bicycle.", "In march Nora repaired a bicycle."}
	for _, x := range []struct {
		asOf  string
		names []string
		want  []string
	}{
		{then, []string{"march", "april", "may"}, was}, {"as it was", []string{"april", "march"}, was}, {then, []string{"fork", "april", "march"}, was},
		{"2001-01-01T00:00:00Z", []string{"march", "april"}, nil},
		{"2099-01-01T00:00:00Z", []string{"april", "may"}, []string{"Later Nora sold the bicycle of april.", "Later Nora sold the bicycle of may."}},
	} {
		if got := found(x.asOf, x.names...); !slices.Equal(got, x.want) {
			t.Errorf("%v at %s: %q, want %q", x.names, x.asOf, got, x.want)
		}
	}
	for _, body := range []string{`"as_of":3`, `"as_of":"3"`, `"as_of":1e0`, `"as_of":"as it was"`, `"as_of":"never"`} {
		b.call(t, "one", "POST", "/v1/search", `{"query":"x","collections":["march","may"],`+body+`}`).refused(http.StatusUnprocessableEntity, fault.Invalid, "as_of")
	}
	b.call(t, "two", "POST", "/v1/search", `{"query":"x","collections":["march"],"as_of":"`+then+`"}`).want(http.StatusNotFound)
}

// TestContextOfMany: collections of each policy are read together, as many as there may be (C081).
func TestContextOfMany(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	for _, policy := range b.Policies.Names() {
		var names []string
		many := 3
		if policy == "memorybank" { // a context of it reads the most
			many = memory.MaxUnion
		}
		for i := range many {
			name := fmt.Sprint(policy, "-", i)
			names = append(names, `"`+name+`"`)
			b.call(t, "one", "POST", "/v1/collections", fmt.Sprintf(`{"name":%q,"policy":%q}`, name, policy)).want(http.StatusCreated)
			if i%17 == 0 {
				b.call(t, "one", "POST", "/v1/collections/"+name+"/messages", fmt.Sprintf(`{"messages":[{"role":"user","content":"I keep bees in hive %d."}]}`, i)).want(http.StatusAccepted)
			}
		}
		all := `"collections":[` + strings.Join(names, ",") + `]`
		b.call(t, "one", "POST", "/v1/search", `{"query":"Who keeps bees?",`+all+`}`).want(http.StatusOK)
		b.call(t, "one", "POST", "/v1/context", `{"query":"Who keeps bees?",`+all+`}`).want(http.StatusOK)
	}
}
