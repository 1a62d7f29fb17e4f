package api_test

import (
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/contracttest"
	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

const headerCreate = "Slipbox-Create"

// TestExternalIDs: collections have ids of the application's own, and are listed by them (C313).
func TestExternalIDs(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	for i, id := range []string{"auth0|x", uuid.NewString(), "日本", "a/b", "../x", strings.Repeat("x", 256)} {
		body := `{"name":"c` + strconv.Itoa(i) + `","external":{"user":` + strconv.Quote(id) + `,"app":"web"}}`
		made := b.Call(t, "ada", "POST", "/v1/collections", body).Want(http.StatusCreated)
		if made.Text("external.user") != id || made.Text("external.app") != "web" || made.At("external.run") != nil {
			t.Errorf("created: %s", made.Body)
		}
		for target, want := range map[string]int{"?user=" + url.QueryEscape(id): 1, "?user=" + url.QueryEscape(id) + "&app=web": 1, "?app=" + url.QueryEscape(id): 0, "?agent_id=x": 0} {
			list := b.Call(t, "one", "GET", "/v1/collections"+target, "").Want(http.StatusOK)
			if list.Length("items") != want || want > 0 && list.Text("items.0.id") != made.Text("id") {
				t.Errorf("%s: %s", target, list.Body)
			}
			for _, other := range []string{"bob", "two"} {
				if l := b.Call(t, other, "GET", "/v1/collections"+target, "").Want(http.StatusOK); l.Length("items") != 0 {
					t.Errorf("%s sees %s", other, l.Body)
				}
			}
		}
	}
	b.Call(t, "ada", "POST", "/v1/collections", `{"name":"again","external":{"user":"a/b","app":"web"}}`).Refused(409, fault.Exists, "external")
	b.Call(t, "ada", "POST", "/v1/collections", `{"name":"c0","extend":true,"external":{"user":"x"}}`).Refused(409, fault.Conflict, "external")
	b.Call(t, "ada", "POST", "/v1/collections", `{"name":"c0","extend":true,"external":{"user":"auth0|x","app":"web"}}`).Want(http.StatusCreated)
	for mode, status := range map[string]int{"fork": http.StatusCreated, "copy": http.StatusAccepted} {
		clone := func(external string) apptest.Response {
			return b.Call(t, "one", "POST", "/v1/collections/c0/clone", `{"mode":"`+mode+`"`+external+`}`)
		}
		if plain := clone("").Want(status); strings.Contains(plain.Body.String(), "external") {
			t.Errorf("a %s without ids: %s", mode, plain.Body)
		}
		own := `,"external":{"user":"auth0|x","run":"` + mode + `"}`
		clone(own).Want(status)
		if got := b.Call(t, "one", "GET", "/v1/collections/by?user=auth0%7Cx&run="+mode, "").Want(http.StatusOK); !strings.Contains(got.Text("name"), "c0__clone") {
			t.Errorf("a %s with ids: %s", mode, got.Body)
		}
		clone(own).Refused(http.StatusConflict, fault.Exists, "external")
		clone(`,"external":{"app":"a\u0000"}`).Want(http.StatusUnprocessableEntity)
		clone(`,"external":{"app":"a\n"}`).Refused(http.StatusUnprocessableEntity, fault.Invalid, "external.app")
	}
	for bad, field := range map[string]string{
		`{}`: "external", `{"user":""}`: "external.user", `{"user":"` + strings.Repeat("x", 257) + `"}`: "external.user", `{"run":"a\nb"}`: "external.run",
		`{"agent":"` + strings.Repeat("日", 86) + `"}`: "external.agent", `{"app":"\u0085"}`: "external.app", `{"user_id":"x"}`: "external.user_id",
	} {
		b.Call(t, "ada", "POST", "/v1/collections", `{"name":"bad","external":`+bad+`}`).Refused(422, fault.Invalid, field)
	}
}

const noraQuery = "?user=nora%40example.com"

// newNora creates a collection of ada's with the ids of a user and a note, both by these ids.
func newNora(t *testing.T, b *apptest.System) (id, note string) {
	t.Helper()
	made := b.Call(t, "ada", "POST", "/v1/collections", `{"name":"nora","policy":"memgpt","external":{"user":"nora@example.com"}}`).Want(http.StatusCreated)
	added := b.Call(t, "ada", "POST", "/v1/collections/by/notes"+noraQuery, `{"content":"Nora repairs bicycles."}`).Want(http.StatusCreated)
	return made.Text("id"), added.Text("note.id")
}

// TestByExternal: a collection is addressed by the ids of an application wherever its id can be (C313).
func TestByExternal(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	id, note := newNora(t, b)
	must.Get(b.Work(t.Context()))(t)
	path := strings.NewReplacer("{note}", note, "{label}", "human", "{run}", note, "{approval}", note, "{block}", note, "{job}", note)
	tried := 0
	for _, op := range contracttest.Operations(t) {
		if op.Method != http.MethodGet || !strings.Contains(op.Path, "{collection}") {
			continue
		}
		tried++
		inner := path.Replace(op.Path)
		direct := b.Call(t, "ada", "GET", strings.Replace(inner, "{collection}", id, 1), "", "X-Request-Id", "r")
		got := b.Call(t, "ada", "GET", strings.Replace(inner, "{collection}", "by", 1)+noraQuery, "", "X-Request-Id", "r")
		if got.Code != direct.Code || got.Body.String() != direct.Body.String() {
			t.Errorf("%s by the ids: %d %s, by the id %d %s", op.ID, got.Code, got.Body, direct.Code, direct.Body)
		}
	}
	if tried < 15 {
		t.Errorf("only %d operations were tried", tried)
	}
	// Another agent, another tenant, other ids: nothing tells them apart.
	missing := b.Call(t, "one", "GET", "/v1/collections/by?user=nobody", "", "X-Request-Id", "r").Want(http.StatusNotFound).Body.String()
	for _, credential := range []string{"bob", "two"} {
		for _, inner := range []string{"", "/notes", "/notes/" + note, "/blocks"} {
			if got := b.Call(t, credential, "GET", "/v1/collections/by"+inner+noraQuery, "", "X-Request-Id", "r"); got.Code != http.StatusNotFound || got.Body.String() != missing {
				t.Errorf("%s %s: %d %s, want %s", credential, inner, got.Code, got.Body, missing)
			}
		}
		b.Call(t, credential, "POST", "/v1/collections/by/search"+noraQuery, `{"query":"bicycles"}`).Want(http.StatusNotFound)
		b.Call(t, credential, "POST", "/v1/collections/by/notes"+noraQuery, `{"content":"x"}`).Want(http.StatusNotFound)
		b.Call(t, credential, "PATCH", "/v1/collections/by"+noraQuery, `{"display_name":"x"}`).Want(http.StatusNotFound)
	}
	b.Call(t, "ada", "PATCH", "/v1/collections/by"+noraQuery, `{"display_name":"Nora"}`).Want(http.StatusOK)
	for target, field := range map[string]string{
		"by/notes": "user", "by": "user", "by?user=": "user", "by/notes?user=": "user", "by/notes?user=a&user=b": "user", "by/notes?app=a%0Ab": "app",
		"by/notes" + noraQuery + "&colour=1": "colour", "by/notes?run=" + strings.Repeat("x", 257): "run", "by/steps?run=" + note: "user",
	} {
		b.Call(t, "ada", "GET", "/v1/collections/"+target, "").Refused(http.StatusUnprocessableEntity, fault.Invalid, field)
	}
	for _, target := range []string{"by?user=%ff", "by/notes?user=%ff", "by/notes?user=%zz"} {
		b.Call(t, "ada", "GET", "/v1/collections/"+target, "").Want(http.StatusBadRequest)
	}
	b.Call(t, "ada", "GET", "/v1/collections/by/notes?user=nora%40example.com&agent=x", "").Want(http.StatusNotFound)
	b.Call(t, "ada", "POST", "/v1/collections", `{"name":"by"}`).Refused(http.StatusUnprocessableEntity, fault.Invalid, "name")
	b.Call(t, "one", "POST", "/v1/collections/by/clone"+noraQuery, `{"name":"by"}`).Refused(http.StatusUnprocessableEntity, fault.Invalid, "name")
}

// TestByExternalIdempotency: a request by the ids of an application and one by the id are the same request.
func TestByExternalIdempotency(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	id, _ := newNora(t, b)
	add := func(target string) string {
		return b.Call(t, "ada", "POST", "/v1/collections/"+target, `{"content":"A tandem."}`, "Idempotency-Key", "k").Want(http.StatusCreated).Text("note.id")
	}
	first := add("by/notes" + noraQuery)
	if add("by/notes"+noraQuery) != first || add(id+"/notes") != first {
		t.Error("the note was added twice")
	}
	other := b.Call(t, "ada", "POST", "/v1/collections/by/notes?app=web", `{"content":"A tandem."}`, "Idempotency-Key", "k", headerCreate, "none").Want(http.StatusCreated)
	if other.Text("note.id") == first {
		t.Error("the key of one collection was used for another")
	}
}

// TestCreateOnFirstUse: messages, notes, search, context and chat create the collection of a user.
func TestCreateOnFirstUse(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	chats := `{"messages":[{"role":"user","content":"Hello."}]}`
	for path, body := range map[string]string{
		"messages": chats, "notes": `{"content":"x"}`, "notes/bulk": `{"content":"x"}`, "search": `{"query":"x"}`, "context": `{"query":"x"}`, "chat": chats,
	} {
		target := "/v1/collections/by/" + path + "?user=" + url.QueryEscape(path)
		b.Call(t, "ada", "POST", target, body).Want(http.StatusNotFound)
		for range 2 {
			if got := b.Call(t, "ada", "POST", target, body, headerCreate, "mem0"); got.Code >= 300 {
				t.Errorf("%s: %d %s", path, got.Code, got.Body)
			}
		}
		made := b.Call(t, "ada", "GET", "/v1/collections/by?user="+url.QueryEscape(path), "").Want(http.StatusOK)
		if made.Text("policy") != "mem0" || made.Text("agent") != "ada" || made.Text("external.user") != path {
			t.Errorf("%s created %s", path, made.Body)
		}
		b.Call(t, "bob", "POST", target, body).Want(http.StatusNotFound)
		b.Call(t, "bob", "POST", target, body, headerCreate, "mem0").Refused(http.StatusConflict, fault.Exists, "external")
		b.Call(t, "ada", "POST", "/v1/collections/"+uuid.NewString()+"/"+path, body, headerCreate, "mem0").Want(http.StatusNotFound)
		b.Call(t, "ada", "POST", target, body, headerCreate, "none such").Refused(http.StatusUnprocessableEntity, fault.Invalid, headerCreate)
	}
	for _, user := range []string{"notes", "new"} {
		b.Call(t, "writer", "POST", "/v1/collections/by/notes?user="+user, `{"content":"x"}`, headerCreate, "mem0").Refused(http.StatusForbidden, fault.Forbidden, "")
		b.Call(t, "reader", "POST", "/v1/collections/by/search?user="+user, `{"query":"x"}`, headerCreate, "mem0").Refused(http.StatusForbidden, fault.Forbidden, "")
	}
	if all := b.Call(t, "one", "GET", "/v1/collections", "").Want(http.StatusOK); all.Length("items") != 6 {
		t.Errorf("collections: %s", all.Body)
	}
}

// TestRefusedFirstUse: a request that is refused creates no collection, at any door and by any name; one that is not does.
func TestRefusedFirstUse(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	one := b.Scopes["one"].Scope
	b.Scopes["maker"] = auth.Principal{Scope: grant.Scope(one.Tenant(), uuid.Nil, "key:maker", tenant.NotesRead, tenant.NotesWrite, tenant.CollectionsWrite)}
	const json, lines = "application/json", "application/x-ndjson"
	form := func(name, text string) string {
		return "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + name + "\"\r\n\r\n" + text + "\r\n--x--\r\n"
	}
	const forms = "multipart/form-data; boundary=x"
	talk := `{"messages":[{"role":"user","content":"Hello."}]}`
	for _, c := range []struct {
		credential, path, media, body string
		status                        int
	}{
		{"maker", "notes", json, `{"content":"x"}`, 403},
		{"maker", "notes/bulk", lines, `{"content":"x"}`, 403},
		{"maker", "messages", json, talk, 403},
		{"maker", "files", forms, form("a.txt", "Hello."), 403},
		{"maker", "import", lines, `{"content":"x"}`, 403},
		{"maker", "history", "application/octet-stream", talk, 403},
		{"writer", "notes", json, `{"content":"x"}`, 403},
		{"reader", "search", json, `{"query":"x"}`, 403},
		{"one", "notes", json, `{"content":"` + strings.Repeat("x", 2<<20) + `"}`, 413},
		{"one", "messages", json, `{"messages":[{"content":"` + strings.Repeat("x", 8<<20) + `"}]}`, 413},
		{"one", "notes", "text/plain", "x", 415},
		{"one", "import", "text/plain", "x", 415},
		{"one", "files", forms, form("a.bin", "\x00\x01\x02\xff"), 415},
		{"one", "notes", json, `{"content":" "}`, 422},
		{"one", "notes", json, `{"content":"x","expires_at":"2001-01-01T00:00:00Z"}`, 422},
		{"one", "messages", json, `{"messages":[{"role":"user","content":" "}]}`, 422},
		{"one", "messages", json, `{"messages":[{"id":"a","content":"x"},{"id":"a","content":"y"}]}`, 422},
		{"one", "notes/bulk", lines, `{"content":" "}`, 200}, // no line is written
		{"one", "files", forms, form("a.txt", ""), 422},
		{"one", "files", forms, "--x--\r\n", 422},
		{"one", "history", "application/octet-stream", "nothing that is known", 422},
		{"one", "chat", json, `{}`, 422},
		{"one", "chat", json, `{"message":" "}`, 422},
		{"one", "chat", json, `{"message":"x","model":"gpt-99"}`, 422},
		{"one", "chat", json, `{"message":"x","remember":false}`, 200}, // nothing is written
		{"one", "search", json, `{"query":"x","filter":{"field":"color","op":"eq","value":1}}`, 422},
		{"one", "context", json, `{"query":"x","filter":{"field":"color","op":"eq","value":1}}`, 422},
	} {
		for _, home := range []string{"by/" + c.path + noraQuery, "nora/" + c.path} {
			if got := b.Call(t, c.credential, "POST", "/v1/collections/"+home, c.body, headerCreate, "mem0", "Content-Type", c.media); got.Code != c.status {
				t.Errorf("%s %s %.60s: %d %s", c.credential, home, c.body, got.Code, got.Body)
			}
		}
	}
	for path, said := range map[string]string{"chat/completions": talk[1:], "responses": `"input":"Hello."}`} {
		ask := func(model string) string { return `{"model":"` + model + `",` + said }
		for _, model := range []string{"gpt-99@user=nora", "gpt-99@nora"} {
			b.Call(t, "one", "POST", "/v1/"+path, ask(model), headerCreate, "mem0").Want(http.StatusNotFound)
		}
		b.Call(t, "writer", "POST", "/v1/"+path, ask("slipbox@nora"), headerCreate, "mem0").Want(http.StatusForbidden)
	}
	if got := callMem0(t, b, "maker", "POST", "/v1/memories/", `{"user_id":"nora","messages":[{"role":"user","content":"Hello."}]}`); got.Code != http.StatusForbidden {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	url := listen(t, b)
	for _, home := range []map[string]any{{"collection": "nora"}, {"external": map[string]any{"user": "nora"}}} {
		for credential, more := range map[string]map[string]any{"maker": {"content": "x"}, "one": {"content": "x", "expires_at": "2001-01-01T00:00:00Z"}} {
			maps.Copy(more, home)
			connectMCP(t, url, credential, "").refused("remember", more)
		}
	}
	if all := b.Call(t, "one", "GET", "/v1/collections", "").Want(http.StatusOK); all.Length("items") != 0 {
		t.Errorf("collections: %s", all.Body)
	}
	b.Call(t, "maker", "POST", "/v1/collections/by/search"+noraQuery, `{"query":"x"}`, headerCreate, "mem0").Want(http.StatusOK)
	for path, body := range map[string][2]string{
		"notes": {json, `{"content":"x"}`}, "notes/bulk": {lines, `{"content":"x"}`}, "messages": {json, talk}, "import": {lines, `{"content":"x"}`},
		"history": {"application/octet-stream", `{"role":"user","content":"Hello."}`}, "files": {forms, form("a.txt", "Hello.")}, "chat": {json, talk}, "context": {json, `{"query":"x"}`},
	} {
		name := "named-" + strings.ReplaceAll(path, "/", "-")
		for range 2 {
			if got := b.Call(t, "one", "POST", "/v1/collections/"+name+"/"+path, body[1], headerCreate, "mem0", "Content-Type", body[0], "Idempotency-Key", path); got.Code >= 300 {
				t.Errorf("%s: %d %s", path, got.Code, got.Body)
			}
		}
		if made := b.Call(t, "one", "GET", "/v1/collections/"+name, "").Want(http.StatusOK); made.Text("policy") != "mem0" || made.Number("counts.notes") > 1 {
			t.Errorf("%s created %s", path, made.Body)
		}
	}
	connectMCP(t, url, "one", "").use("remember", map[string]any{"collection": "told", "content": "Nora likes tandems.", "policy": "none"})
	b.Call(t, "one", "GET", "/v1/collections/told", "").Want(http.StatusOK)
}

// TestCreateOnFirstUseAtOnce: fifty writers on a new user make one collection.
func TestCreateOnFirstUseAtOnce(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	var writers sync.WaitGroup
	for i := range 50 {
		writers.Go(func() {
			b.Call(t, "ada", "POST", "/v1/collections/by/notes"+noraQuery, `{"content":"Note `+strconv.Itoa(i)+`."}`, headerCreate, "none").Want(http.StatusCreated)
		})
	}
	writers.Wait()
	all := b.Call(t, "one", "GET", "/v1/collections", "").Want(http.StatusOK)
	if all.Length("items") != 1 || b.Call(t, "ada", "GET", "/v1/collections/by"+noraQuery, "").Number("counts.notes") != 50 {
		t.Errorf("collections: %s", all.Body)
	}
}

// TestForgetUser: one call deletes all that an application keeps of a user, says what it was, and touches nothing else.
func TestForgetUser(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	newNora(t, b)
	create := func(credential, name, external string) string {
		return b.Call(t, credential, "POST", "/v1/collections", `{"name":"`+name+`","policy":"none","external":`+external+`}`).Want(http.StatusCreated).Text("id")
	}
	run := create("ada", "run", `{"user":"nora@example.com","run":"7"}`)
	b.Call(t, "ada", "POST", "/v1/collections/run/notes", `{"content":"Nora likes tandems."}`).Want(http.StatusCreated)
	create("ada", "other", `{"user":"nora@example.org"}`)
	theirs := create("bob", "bobs", `{"user":"nora@example.com","app":"web"}`)
	create("two", "nora", `{"user":"nora@example.com"}`)
	const forget = "/v1/collections/by" + noraQuery
	for _, credential := range []string{"reader", "writer"} {
		b.Call(t, credential, "DELETE", forget, "").Refused(http.StatusForbidden, fault.Forbidden, "")
	}
	b.Call(t, "one", "DELETE", "/v1/collections/by", "").Refused(http.StatusUnprocessableEntity, fault.Invalid, "user")
	b.Call(t, "one", "DELETE", "/v1/collections/by?user=", "").Want(http.StatusUnprocessableEntity)
	b.Call(t, "one", "DELETE", "/v1/collections/by?user=*", "").Want(http.StatusNotFound)
	b.Call(t, "one", "DELETE", "/v1/collections/by?user=nora", "").Want(http.StatusNotFound)

	// A fork with ids of its own is not forgotten by surprise, and nothing is before that is decided.
	b.Call(t, "one", "POST", "/v1/collections/run/clone", `{"name":"fork","agent":"ada"}`).Want(http.StatusCreated)
	b.Call(t, "one", "POST", "/v1/collections/fork/clone", `{"name":"deep","agent":"ada","external":{"user":"nora@example.com","run":"deep"}}`).Want(http.StatusCreated)
	b.Call(t, "ada", "DELETE", forget, "").Refused(http.StatusConflict, fault.HasForks, "")
	if left := b.Call(t, "one", "GET", "/v1/collections"+noraQuery, "").Want(http.StatusOK); left.Length("items") != 4 {
		t.Fatalf("left: %s", left.Body)
	}
	// The fork of another agent stays, and what it reads, and the report says so.
	b.Call(t, "one", "POST", "/v1/collections/"+run+"/clone", `{"name":"bobs-fork","agent":"bob"}`).Want(http.StatusCreated)
	got := b.Call(t, "ada", "DELETE", forget+"&forks=delete", "").Want(http.StatusOK)
	if got.Length("deleted") != 3 || got.Text("deleted.0.name") != "deep" || got.Text("deleted.1.name") != "fork" || got.Text("deleted.2.name") != "nora" ||
		got.Number("deleted.2.counts.notes") < 1 || got.Length("kept") != 1 || got.Text("kept.0.name") != "run" || got.Text("kept.0.code") != string(fault.HasForks) {
		t.Fatalf("report: %s", got.Body)
	}
	// Each job that removes rows can be followed, by those who reach the collection.
	job := got.Text("deleted.2.job")
	if shown := b.Call(t, "ada", "GET", "/v1/jobs/"+job, "").Want(http.StatusOK); shown.Text("kind") != "remove" || got.At("removed") != false {
		t.Errorf("the job: %s", shown.Body)
	}
	b.Call(t, "bob", "GET", "/v1/jobs/"+job, "").Want(http.StatusNotFound)
	got = b.Call(t, "one", "DELETE", forget+"&forks=materialise&wait=removed", "").Want(http.StatusOK)
	b.Call(t, "ada", "GET", "/v1/jobs/"+job, "").Want(http.StatusNotFound)
	if got.Text("traces") == "" || got.Text("traces") == "cleared" {
		t.Errorf("traces: %s", got.Body)
	}
	if got.At("removed") != true {
		t.Errorf("not removed: %s", got.Body)
	}
	if got.Length("deleted") != 2 || got.Length("kept") != 0 || got.Number("notes") != 1 || got.Number("bytes") == 0 {
		t.Fatalf("report: %s", got.Body)
	}
	must.Get(b.Work(t.Context()))(t)
	b.Call(t, "one", "DELETE", forget, "").Want(http.StatusNotFound)
	for _, ref := range []string{run, theirs, "nora", "deep", "fork"} {
		b.Call(t, "one", "GET", "/v1/collections/"+ref, "").Want(http.StatusNotFound)
	}
	if left := b.Call(t, "one", "GET", "/v1/collections", "").Want(http.StatusOK); left.Length("items") != 2 {
		t.Errorf("left: %s", left.Body)
	}
	b.Call(t, "two", "GET", "/v1/collections/nora", "").Want(http.StatusOK)
	if again := b.Call(t, "ada", "POST", "/v1/collections/by/search"+noraQuery, `{"query":"Nora"}`, headerCreate, "none").Want(http.StatusOK); again.Length("hits") != 0 {
		t.Errorf("found in a new collection: %s", again.Body)
	}
}
