package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// TestSearchSeveral: several collections, or all of a user, are searched together, within what the key reaches (C081, C313).
func TestSearchSeveral(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	ids := map[string]string{}
	for i, name := range []string{"march", "april", "may"} {
		made := b.Call(t, "ada", "POST", "/v1/collections", fmt.Sprintf(`{"name":%q,"policy":"none","external":{"user":"nora@example.com","run":"%d"}}`, name, i)).Want(http.StatusCreated)
		ids[name] = made.Text("id")
		b.Call(t, "ada", "POST", "/v1/collections/"+name+"/notes", fmt.Sprintf(`{"content":"In %s Nora repaired a bicycle."}`, name)).Want(http.StatusCreated)
	}
	theirs := b.Call(t, "bob", "POST", "/v1/collections", `{"name":"secret","policy":"none","external":{"user":"nora@example.com","app":"web"}}`).Want(http.StatusCreated).Text("id")
	b.Call(t, "bob", "POST", "/v1/collections/secret/notes", `{"content":"Nora's bicycle is at Bob's."}`).Want(http.StatusCreated)

	for selected, want := range map[string]int{
		`"collections":["march","` + ids["may"] + `"]`: 2, `"collections":["march","march","` + ids["march"] + `"]`: 1,
		`"external":{"user":"nora@example.com"}`: 3, `"external":{"user":"nora@example.com","run":"1"}`: 1,
	} {
		got := b.Call(t, "ada", "POST", "/v1/search", `{"query":"Nora's bicycle","k":10,"fields":["content","collection"],`+selected+`}`).Want(http.StatusOK)
		if got.Length("hits") != want || got.Length("revisions") != want || got.At("revision") != nil || got.Header().Get("Slipbox-Revision") != "" {
			t.Errorf("%s: %s", selected, got.Body)
		}
		for i := range got.Length("hits") {
			hit := fmt.Sprint("hits.", i, ".")
			month := strings.Fields(got.Text(hit + "note.content"))[1]
			if got.Text(hit+"collection") != ids[month] || got.Text(hit+"note.collection") != ids[month] {
				t.Errorf("hit %d: %s", i, got.Body)
			}
		}
		told := b.Call(t, "ada", "POST", "/v1/context", `{"query":"Nora's bicycle","fields":["collection"],`+selected+`}`).Want(http.StatusOK)
		if told.Length("citations") != want || told.Length("revisions") != want || told.Length("notes") != want {
			t.Errorf("%s: context %s", selected, told.Body)
		}
	}
	batch := b.Call(t, "ada", "POST", "/v1/search", `{"queries":[{"query":"bicycle"},{"query":"April"}],"k":1,"fields":["id"],"collections":["march","april"]}`).Want(http.StatusOK)
	if batch.Text("results.1.hits.0.collection") != ids["april"] || batch.Length("results.0.revisions") != 2 {
		t.Errorf("batch: %s", batch.Body)
	}
	if one := b.Call(t, "one", "POST", "/v1/search", `{"query":"bicycle","k":10,"external":{"user":"nora@example.com"}}`).Want(http.StatusOK); one.Length("hits") != 4 {
		t.Errorf("a key of the tenant finds %s", one.Body)
	}

	for _, path := range []string{"/v1/search", "/v1/context"} {
		missing := b.Call(t, "ada", "POST", path, `{"query":"x","collections":["march","none"]}`, "X-Request-Id", "r").Want(http.StatusNotFound).Body.String()
		for _, body := range []string{`"collections":["march","` + theirs + `"]`, `"collections":["secret"]`, `"external":{"app":"web"}`, `"external":{"user":"nobody"}`} {
			if got := b.Call(t, "ada", "POST", path, `{"query":"x",`+body+`}`, "X-Request-Id", "r"); got.Code != http.StatusNotFound || got.Body.String() != missing {
				t.Errorf("%s %s: %d %s, want %s", path, body, got.Code, got.Body, missing)
			}
		}
		b.Call(t, "two", "POST", path, `{"query":"x","external":{"user":"nora@example.com"}}`).Want(http.StatusNotFound)
		b.Call(t, "writer", "POST", path, `{"query":"x","collections":["march"]}`).Refused(http.StatusForbidden, fault.Forbidden, "")
		for body, field := range map[string]string{
			`{"query":"x"}`: "collections", `{"query":"x","collections":["march"],"external":{"user":"a"}}`: "collections", `{"query":"x","collections":["march"],"as_of":1}`: "as_of",
			`{"query":"x","external":{"user":"a"},"min_revision":1}`: "min_revision", `{"query":"x","collections":[]}`: "collections", `{"query":"x","external":{}}`: "external",
			`{"query":"x","collections":["march"` + strings.Repeat(`,"march"`, 50) + `]}`: "collections",
		} {
			b.Call(t, "ada", "POST", path, body).Refused(http.StatusUnprocessableEntity, fault.Invalid, field)
		}
		b.Call(t, "ada", "POST", "/v1/collections/march"+strings.TrimPrefix(path, "/v1"), `{"query":"x","collections":["may"]}`).Refused(http.StatusUnprocessableEntity, fault.Invalid, "collections")
	}
	b.Call(t, "ada", "POST", "/v1/collections", `{"name":"other","policy":"mem0"}`).Want(http.StatusCreated)
	b.Call(t, "ada", "POST", "/v1/search", `{"query":"x","collections":["march","other"]}`).Refused(http.StatusConflict, fault.Conflict, "")
	b.Call(t, "ada", "DELETE", "/v1/collections/by"+noraQuery, "").Want(http.StatusOK)
	b.Call(t, "ada", "POST", "/v1/search", `{"query":"x","external":{"user":"nora@example.com"}}`).Want(http.StatusNotFound)
}

// TestSeveralAtATime: several collections are read as they were at a time, or at a snapshot that each has: what was deleted since is
// there, what was written since is not, and a collection that was made since is empty.
func TestSeveralAtATime(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	for _, name := range []string{"march", "april"} {
		c := b.Collection(t, "one", name)
		b.Call(t, "one", "POST", c+"/notes", `{"content":"In `+name+` Nora repaired a bicycle.","infer":false}`).Want(http.StatusCreated)
		b.Call(t, "one", "POST", c+"/snapshots", `{"name":"as it was"}`).Want(http.StatusCreated)
		b.Pass(time.Minute)
	}
	b.Call(t, "one", "POST", "/v1/collections/march/clone", `{"name":"fork"}`).Want(http.StatusCreated)
	then := b.Now().UTC().Format(time.RFC3339Nano)
	b.Pass(time.Minute)
	b.Collection(t, "one", "may")
	for _, name := range []string{"march", "april", "may", "fork"} {
		b.Call(t, "one", "POST", "/v1/collections/"+name+"/notes", `{"content":"Later Nora sold the bicycle of `+name+`.","infer":false}`).Want(http.StatusCreated)
	}
	old := b.Call(t, "one", "GET", "/v1/collections/april/notes?limit=10", "")
	for i := range old.Length("items") {
		if n := old.Text(fmt.Sprint("items.", i, ".content")); strings.HasPrefix(n, "In april") {
			b.Call(t, "one", "DELETE", "/v1/collections/april/notes/"+old.Text(fmt.Sprint("items.", i, ".id")), "")
		}
	}
	found := func(asOf string, names ...string) []string {
		t.Helper()
		body := `"collections":["` + strings.Join(names, `","`) + `"],"as_of":"` + asOf + `"`
		got := b.Call(t, "one", "POST", "/v1/search", `{"query":"Nora's bicycle","k":20,`+body+`}`).Want(http.StatusOK)
		told := b.Call(t, "one", "POST", "/v1/context", `{"query":"Nora's bicycle",`+body+`}`).Want(http.StatusOK)
		if told.Length("citations") != got.Length("hits") || got.Length("revisions") != len(names) {
			t.Errorf("%s: the context cites %s, the search finds %s", asOf, told.Body, got.Body)
		}
		var out []string
		for i := range got.Length("hits") {
			out = append(out, got.Text(fmt.Sprint("hits.", i, ".note.content")))
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
		b.Call(t, "one", "POST", "/v1/search", `{"query":"x","collections":["march","may"],`+body+`}`).Refused(http.StatusUnprocessableEntity, fault.Invalid, "as_of")
	}
	b.Call(t, "two", "POST", "/v1/search", `{"query":"x","collections":["march"],"as_of":"`+then+`"}`).Want(http.StatusNotFound)
}

// TestContextOfMany: collections of each policy are read together, as many as there may be (C081).
func TestContextOfMany(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	for _, policy := range b.Policies.Names() {
		var names []string
		many := 3
		if policy == "memorybank" { // a context of it reads the most
			many = memory.MaxUnion
		}
		for i := range many {
			name := fmt.Sprint(policy, "-", i)
			names = append(names, `"`+name+`"`)
			b.Call(t, "one", "POST", "/v1/collections", fmt.Sprintf(`{"name":%q,"policy":%q}`, name, policy)).Want(http.StatusCreated)
			if i%17 == 0 {
				b.Call(t, "one", "POST", "/v1/collections/"+name+"/messages", fmt.Sprintf(`{"messages":[{"role":"user","content":"I keep bees in hive %d."}]}`, i)).Want(http.StatusAccepted)
			}
		}
		all := `"collections":[` + strings.Join(names, ",") + `]`
		b.Call(t, "one", "POST", "/v1/search", `{"query":"Who keeps bees?",`+all+`}`).Want(http.StatusOK)
		b.Call(t, "one", "POST", "/v1/context", `{"query":"Who keeps bees?",`+all+`}`).Want(http.StatusOK)
	}
}
