package api_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/contracttest"
	"github.com/slipboxhq/slipbox/internal/fault"
)

// TestExternalIDs: collections have ids of the application's own, and are listed by them (C313).
func TestExternalIDs(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	for i, id := range []string{"auth0|x", uuid.NewString(), "日本", "a/b", "../x", strings.Repeat("x", 256)} {
		body := `{"name":"c` + strconv.Itoa(i) + `","external":{"user":` + strconv.Quote(id) + `,"app":"web"}}`
		made := b.call(t, "ada", "POST", "/v1/collections", body).want(http.StatusCreated)
		if made.text("external.user") != id || made.text("external.app") != "web" || made.at("external.run") != nil {
			t.Errorf("created: %s", made.Body)
		}
		for target, want := range map[string]int{"?user=" + url.QueryEscape(id): 1, "?user=" + url.QueryEscape(id) + "&app=web": 1, "?app=" + url.QueryEscape(id): 0, "?agent_id=x": 0} {
			list := b.call(t, "one", "GET", "/v1/collections"+target, "").want(http.StatusOK)
			if list.length("items") != want || want > 0 && list.text("items.0.id") != made.text("id") {
				t.Errorf("%s: %s", target, list.Body)
			}
			for _, other := range []string{"bob", "two"} {
				if l := b.call(t, other, "GET", "/v1/collections"+target, "").want(http.StatusOK); l.length("items") != 0 {
					t.Errorf("%s sees %s", other, l.Body)
				}
			}
		}
	}
	b.call(t, "ada", "POST", "/v1/collections", `{"name":"again","external":{"user":"a/b","app":"web"}}`).refused(409, fault.Exists, "external")
	b.call(t, "ada", "POST", "/v1/collections", `{"name":"c0","extend":true,"external":{"user":"x"}}`).refused(409, fault.Conflict, "external")
	b.call(t, "ada", "POST", "/v1/collections", `{"name":"c0","extend":true,"external":{"user":"auth0|x","app":"web"}}`).want(http.StatusCreated)
	for mode, status := range map[string]int{"fork": http.StatusCreated, "copy": http.StatusAccepted} {
		clone := func(external string) response {
			return b.call(t, "one", "POST", "/v1/collections/c0/clone", `{"mode":"`+mode+`"`+external+`}`)
		}
		if plain := clone("").want(status); strings.Contains(plain.Body.String(), "external") {
			t.Errorf("a %s without ids: %s", mode, plain.Body)
		}
		own := `,"external":{"user":"auth0|x","run":"` + mode + `"}`
		clone(own).want(status)
		if got := b.call(t, "one", "GET", "/v1/collections/by?user=auth0%7Cx&run="+mode, "").want(http.StatusOK); !strings.Contains(got.text("name"), "c0__clone") {
			t.Errorf("a %s with ids: %s", mode, got.Body)
		}
		clone(own).refused(http.StatusConflict, fault.Exists, "external")
		clone(`,"external":{"app":"a\u0000"}`).want(http.StatusUnprocessableEntity)
		clone(`,"external":{"app":"a\n"}`).refused(http.StatusUnprocessableEntity, fault.Invalid, "external.app")
	}
	for bad, field := range map[string]string{
		`{}`: "external", `{"user":""}`: "external.user", `{"user":"` + strings.Repeat("x", 257) + `"}`: "external.user", `{"run":"a\nb"}`: "external.run",
		`{"agent":"` + strings.Repeat("日", 86) + `"}`: "external.agent", `{"app":"\u0085"}`: "external.app", `{"user_id":"x"}`: "external.user_id",
	} {
		b.call(t, "ada", "POST", "/v1/collections", `{"name":"bad","external":`+bad+`}`).refused(422, fault.Invalid, field)
	}
}

const noraQuery = "?user=nora%40example.com"

// newNora creates a collection of ada's with the ids of a user and a note, both by these ids.
func newNora(t *testing.T, b *system) (id, note string) {
	t.Helper()
	made := b.call(t, "ada", "POST", "/v1/collections", `{"name":"nora","policy":"memgpt","external":{"user":"nora@example.com"}}`).want(http.StatusCreated)
	added := b.call(t, "ada", "POST", "/v1/collections/by/notes"+noraQuery, `{"content":"Nora repairs bicycles."}`).want(http.StatusCreated)
	return made.text("id"), added.text("note.id")
}

// TestByExternal: a collection is addressed by the ids of an application wherever its id can be (C313).
func TestByExternal(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	id, note := newNora(t, b)
	if _, err := b.Work(t.Context()); err != nil {
		t.Fatal(err)
	}
	path := strings.NewReplacer("{note}", note, "{label}", "human", "{run}", note, "{approval}", note, "{block}", note, "{job}", note)
	tried := 0
	for _, op := range contracttest.Operations(t) {
		if op.Method != http.MethodGet || !strings.Contains(op.Path, "{collection}") {
			continue
		}
		tried++
		inner := path.Replace(op.Path)
		direct := b.call(t, "ada", "GET", strings.Replace(inner, "{collection}", id, 1), "", "X-Request-Id", "r")
		got := b.call(t, "ada", "GET", strings.Replace(inner, "{collection}", "by", 1)+noraQuery, "", "X-Request-Id", "r")
		if got.Code != direct.Code || got.Body.String() != direct.Body.String() {
			t.Errorf("%s by the ids: %d %s, by the id %d %s", op.ID, got.Code, got.Body, direct.Code, direct.Body)
		}
	}
	if tried < 15 {
		t.Errorf("only %d operations were tried", tried)
	}
	// Another agent, another tenant, other ids: nothing tells them apart.
	missing := b.call(t, "one", "GET", "/v1/collections/by?user=nobody", "", "X-Request-Id", "r").want(http.StatusNotFound).Body.String()
	for _, credential := range []string{"bob", "two"} {
		for _, inner := range []string{"", "/notes", "/notes/" + note, "/blocks"} {
			if got := b.call(t, credential, "GET", "/v1/collections/by"+inner+noraQuery, "", "X-Request-Id", "r"); got.Code != http.StatusNotFound || got.Body.String() != missing {
				t.Errorf("%s %s: %d %s, want %s", credential, inner, got.Code, got.Body, missing)
			}
		}
		b.call(t, credential, "POST", "/v1/collections/by/search"+noraQuery, `{"query":"bicycles"}`).want(http.StatusNotFound)
		b.call(t, credential, "POST", "/v1/collections/by/notes"+noraQuery, `{"content":"x"}`).want(http.StatusNotFound)
		b.call(t, credential, "PATCH", "/v1/collections/by"+noraQuery, `{"display_name":"x"}`).want(http.StatusNotFound)
	}
	b.call(t, "ada", "PATCH", "/v1/collections/by"+noraQuery, `{"display_name":"Nora"}`).want(http.StatusOK)
	for target, field := range map[string]string{
		"by/notes": "user", "by": "user", "by?user=": "user", "by/notes?user=": "user", "by/notes?user=a&user=b": "user", "by/notes?app=a%0Ab": "app",
		"by/notes" + noraQuery + "&colour=1": "colour", "by/notes?run=" + strings.Repeat("x", 257): "run", "by/steps?run=" + note: "user",
	} {
		b.call(t, "ada", "GET", "/v1/collections/"+target, "").refused(http.StatusUnprocessableEntity, fault.Invalid, field)
	}
	for _, target := range []string{"by?user=%ff", "by/notes?user=%ff", "by/notes?user=%zz"} {
		b.call(t, "ada", "GET", "/v1/collections/"+target, "").want(http.StatusBadRequest)
	}
	b.call(t, "ada", "GET", "/v1/collections/by/notes?user=nora%40example.com&agent=x", "").want(http.StatusNotFound)
	b.call(t, "ada", "POST", "/v1/collections", `{"name":"by"}`).refused(http.StatusUnprocessableEntity, fault.Invalid, "name")
	b.call(t, "one", "POST", "/v1/collections/by/clone"+noraQuery, `{"name":"by"}`).refused(http.StatusUnprocessableEntity, fault.Invalid, "name")
}

// TestByExternalIdempotency: a request by the ids of an application and one by the id are the same request.
func TestByExternalIdempotency(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	id, _ := newNora(t, b)
	add := func(target string) string {
		return b.call(t, "ada", "POST", "/v1/collections/"+target, `{"content":"A tandem."}`, "Idempotency-Key", "k").want(http.StatusCreated).text("note.id")
	}
	first := add("by/notes" + noraQuery)
	if add("by/notes"+noraQuery) != first || add(id+"/notes") != first {
		t.Error("the note was added twice")
	}
	other := b.call(t, "ada", "POST", "/v1/collections/by/notes?app=web", `{"content":"A tandem."}`, "Idempotency-Key", "k", headerCreate, "none").want(http.StatusCreated)
	if other.text("note.id") == first {
		t.Error("the key of one collection was used for another")
	}
}

// TestCreateOnFirstUse: messages, notes, search, context and chat create the collection of a user.
func TestCreateOnFirstUse(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	chats := `{"messages":[{"role":"user","content":"Hello."}]}`
	for path, body := range map[string]string{
		"messages": chats, "notes": `{"content":"x"}`, "notes/bulk": `{"content":"x"}`, "search": `{"query":"x"}`, "context": `{"query":"x"}`, "chat": chats,
	} {
		target := "/v1/collections/by/" + path + "?user=" + url.QueryEscape(path)
		b.call(t, "ada", "POST", target, body).want(http.StatusNotFound)
		for range 2 {
			if got := b.call(t, "ada", "POST", target, body, headerCreate, "mem0"); got.Code >= 300 {
				t.Errorf("%s: %d %s", path, got.Code, got.Body)
			}
		}
		made := b.call(t, "ada", "GET", "/v1/collections/by?user="+url.QueryEscape(path), "").want(http.StatusOK)
		if made.text("policy") != "mem0" || made.text("agent") != "ada" || made.text("external.user") != path {
			t.Errorf("%s created %s", path, made.Body)
		}
		b.call(t, "bob", "POST", target, body).want(http.StatusNotFound)
		b.call(t, "bob", "POST", target, body, headerCreate, "mem0").refused(http.StatusConflict, fault.Exists, "external")
		b.call(t, "ada", "POST", "/v1/collections/none/"+path, body, headerCreate, "mem0").refused(http.StatusUnprocessableEntity, fault.Invalid, headerCreate)
		b.call(t, "ada", "POST", target, body, headerCreate, "none such").refused(http.StatusUnprocessableEntity, fault.Invalid, headerCreate)
	}
	for _, user := range []string{"notes", "new"} {
		b.call(t, "writer", "POST", "/v1/collections/by/notes?user="+user, `{"content":"x"}`, headerCreate, "mem0").refused(http.StatusForbidden, fault.Forbidden, "")
		b.call(t, "reader", "POST", "/v1/collections/by/search?user="+user, `{"query":"x"}`, headerCreate, "mem0").refused(http.StatusForbidden, fault.Forbidden, "")
	}
	if all := b.call(t, "one", "GET", "/v1/collections", "").want(http.StatusOK); all.length("items") != 6 {
		t.Errorf("collections: %s", all.Body)
	}
}

// TestCreateOnFirstUseAtOnce: fifty writers on a new user make one collection.
func TestCreateOnFirstUseAtOnce(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	var writers sync.WaitGroup
	for i := range 50 {
		writers.Go(func() {
			b.call(t, "ada", "POST", "/v1/collections/by/notes"+noraQuery, `{"content":"Note `+strconv.Itoa(i)+`."}`, headerCreate, "none").want(http.StatusCreated)
		})
	}
	writers.Wait()
	all := b.call(t, "one", "GET", "/v1/collections", "").want(http.StatusOK)
	if all.length("items") != 1 || b.call(t, "ada", "GET", "/v1/collections/by"+noraQuery, "").number("counts.notes") != 50 {
		t.Errorf("collections: %s", all.Body)
	}
}

// TestForgetUser: one call deletes all that an application keeps of a user, says what it was, and touches nothing else.
func TestForgetUser(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	newNora(t, b)
	create := func(credential, name, external string) string {
		return b.call(t, credential, "POST", "/v1/collections", `{"name":"`+name+`","policy":"none","external":`+external+`}`).want(http.StatusCreated).text("id")
	}
	run := create("ada", "run", `{"user":"nora@example.com","run":"7"}`)
	b.call(t, "ada", "POST", "/v1/collections/run/notes", `{"content":"Nora likes tandems."}`).want(http.StatusCreated)
	create("ada", "other", `{"user":"nora@example.org"}`)
	theirs := create("bob", "bobs", `{"user":"nora@example.com","app":"web"}`)
	create("two", "nora", `{"user":"nora@example.com"}`)
	const forget = "/v1/collections/by" + noraQuery
	for _, credential := range []string{"reader", "writer"} {
		b.call(t, credential, "DELETE", forget, "").refused(http.StatusForbidden, fault.Forbidden, "")
	}
	b.call(t, "one", "DELETE", "/v1/collections/by", "").refused(http.StatusUnprocessableEntity, fault.Invalid, "user")
	b.call(t, "one", "DELETE", "/v1/collections/by?user=", "").want(http.StatusUnprocessableEntity)
	b.call(t, "one", "DELETE", "/v1/collections/by?user=*", "").want(http.StatusNotFound)
	b.call(t, "one", "DELETE", "/v1/collections/by?user=nora", "").want(http.StatusNotFound)

	// A fork with ids of its own is not forgotten by surprise, and nothing is before that is decided.
	b.call(t, "one", "POST", "/v1/collections/run/clone", `{"name":"fork","agent":"ada"}`).want(http.StatusCreated)
	b.call(t, "one", "POST", "/v1/collections/fork/clone", `{"name":"deep","agent":"ada","external":{"user":"nora@example.com","run":"deep"}}`).want(http.StatusCreated)
	b.call(t, "ada", "DELETE", forget, "").refused(http.StatusConflict, fault.HasForks, "")
	if left := b.call(t, "one", "GET", "/v1/collections"+noraQuery, "").want(http.StatusOK); left.length("items") != 4 {
		t.Fatalf("left: %s", left.Body)
	}
	// The fork of another agent stays, and what it reads, and the report says so.
	b.call(t, "one", "POST", "/v1/collections/"+run+"/clone", `{"name":"bobs-fork","agent":"bob"}`).want(http.StatusCreated)
	got := b.call(t, "ada", "DELETE", forget+"&forks=delete", "").want(http.StatusOK)
	if got.length("deleted") != 3 || got.text("deleted.0.name") != "deep" || got.text("deleted.1.name") != "fork" || got.text("deleted.2.name") != "nora" ||
		got.number("deleted.2.counts.notes") < 1 || got.length("kept") != 1 || got.text("kept.0.name") != "run" || got.text("kept.0.code") != string(fault.HasForks) {
		t.Fatalf("report: %s", got.Body)
	}
	// Each job that removes rows can be followed, by those who reach the collection.
	job := got.text("deleted.2.job")
	if shown := b.call(t, "ada", "GET", "/v1/jobs/"+job, "").want(http.StatusOK); shown.text("kind") != "remove" || got.at("removed") != false {
		t.Errorf("the job: %s", shown.Body)
	}
	b.call(t, "bob", "GET", "/v1/jobs/"+job, "").want(http.StatusNotFound)
	got = b.call(t, "one", "DELETE", forget+"&forks=materialise&wait=removed", "").want(http.StatusOK)
	b.call(t, "ada", "GET", "/v1/jobs/"+job, "").want(http.StatusNotFound)
	if got.at("removed") != true {
		t.Errorf("not removed: %s", got.Body)
	}
	if got.length("deleted") != 2 || got.length("kept") != 0 || got.number("notes") != 1 || got.number("bytes") == 0 {
		t.Fatalf("report: %s", got.Body)
	}
	if _, err := b.Work(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.call(t, "one", "DELETE", forget, "").want(http.StatusNotFound)
	for _, ref := range []string{run, theirs, "nora", "deep", "fork"} {
		b.call(t, "one", "GET", "/v1/collections/"+ref, "").want(http.StatusNotFound)
	}
	if left := b.call(t, "one", "GET", "/v1/collections", "").want(http.StatusOK); left.length("items") != 2 {
		t.Errorf("left: %s", left.Body)
	}
	b.call(t, "two", "GET", "/v1/collections/nora", "").want(http.StatusOK)
	if again := b.call(t, "ada", "POST", "/v1/collections/by/search"+noraQuery, `{"query":"Nora"}`, headerCreate, "none").want(http.StatusOK); again.length("hits") != 0 {
		t.Errorf("found in a new collection: %s", again.Body)
	}
}
