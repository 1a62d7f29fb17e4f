package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/slipboxhq/slipbox/internal/api/contracttest"
	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// A note that has expired is read nowhere at the head, from that moment on, and nothing was done in between. The past shows it, what
// was derived from it alone goes with it, and it can be restored.
func TestNotesExpire(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"none", "amem", "mem0", "mem0g", "memorybank", "memoryos", "memgpt", "layered"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			b := apptest.New(t)
			c := b.Space(t, "c", policy)
			note := b.Call(t, "one", "POST", c+"/notes", `{"content":"The gate code is quartz.","ttl_seconds":3600}`).Want(http.StatusCreated)
			if note.Text("note.expires_at") != "2026-03-01T10:00:00Z" {
				t.Errorf("expires at %q", note.Text("note.expires_at"))
			}
			stays := b.Call(t, "one", "POST", c+"/notes", `{"content":"The gate is green."}`).Want(http.StatusCreated).Text("note.id")
			b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"role":"user","name":"Ada","content":"I keep my quartz in the cellar.","expires_at":"2026-03-01T10:00:00Z"}]}`).Want(http.StatusAccepted)
			b.RunJobs(t)
			fork := b.Call(t, "one", "POST", c+"/clone", `{"name":"fork"}`).Want(http.StatusCreated)
			before := b.Call(t, "one", "GET", c, "").Want(http.StatusOK).Number("head_revision")

			id := note.Text("note.id")
			seen := func(c string) (found []string) {
				for _, r := range [][3]string{
					{"POST", "/search", `{"query":"quartz","k":50}`}, {"POST", "/search", `{"query":"quartz","mode":"lexical","filter":{"field":"kind","op":"in","value":["note","message","fact"]}}`},
					{"POST", "/context", `{"query":"quartz"}`}, {"GET", "/notes?limit=200", ""}, {"GET", "/messages", ""}, {"GET", "/export", ""}, {"GET", "/notes/" + id, ""}, {"GET", "/hot", ""},
				} {
					if got := b.Call(t, "reader", r[0], c+r[1], r[2]); strings.Contains(got.Body.String(), "quartz") {
						found = append(found, r[1])
					}
				}
				return found
			}
			forked := "/v1/collections/" + fork.Text("id")
			if found := seen(c); !slices.Contains(found, "/notes/"+id) || !slices.Contains(found, "/export") {
				t.Fatalf("before its end it is in %v", found)
			}
			b.Pass(time.Hour)
			for _, c := range []string{c, forked} {
				if found := seen(c); len(found) > 0 {
					t.Errorf("%s: after its end it is in %v", c, found)
				}
				b.Call(t, "one", "GET", c+"/notes/"+stays, "").Want(http.StatusOK)
			}
			b.RunJobs(t)
			if found := seen(c); len(found) > 0 {
				t.Errorf("after the jobs it is in %v", found)
			}
			if got := b.Call(t, "one", "GET", fmt.Sprintf("%s/notes/%s?as_of=%.0f", c, id, before), "").Want(http.StatusOK); got.Text("content") != "The gate code is quartz." {
				t.Errorf("the past has %s", got.Body)
			}
			past := b.Call(t, "one", "GET", c+"/notes/"+id+"/history", "").Want(http.StatusOK)
			if past.Text("items.0.cause") != "forget" || past.At("items.0.deleted") != true {
				t.Errorf("its history is %s", past.Body)
			}
			from := past.Number(fmt.Sprintf("items.%d.revision", past.Length("items")-1))
			if back := b.Call(t, "one", "POST", c+"/notes/"+id+"/restore", fmt.Sprintf(`{"revision":%.0f}`, from)).Want(http.StatusOK); back.At("expires_at") != nil {
				t.Errorf("restored: %s", back.Body)
			}
			b.Pass(24 * time.Hour)
			b.Call(t, "one", "GET", c+"/notes/"+id, "").Want(http.StatusOK)
			if problems, err := b.Store.Verify(t.Context()); err != nil || len(problems) > 0 {
				t.Errorf("the store: %+v, %v", problems, err)
			}
		})
	}
}

// The end of a note can be put off, brought forward and taken away, and a note that is added again is kept as long as either.
func TestExpiryChanges(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "c", "none")
	add := func(body string, status int) apptest.Response {
		return b.Call(t, "one", "POST", c+"/notes", body).Want(status)
	}
	ends := func(id string) string {
		said, _ := b.Call(t, "one", "GET", c+"/notes/"+id, "").Want(http.StatusOK).At("expires_at").(string)
		return said
	}
	id := add(`{"content":"Tea at four.","expires_at":"2026-03-02T09:00:00+02:00"}`, http.StatusCreated).Text("note.id")
	for _, step := range [][2]string{
		{`{"ttl_seconds":60}`, "2026-03-01T09:01:00Z"}, {`{"expires_at":"2027-01-01T00:00:00Z"}`, "2027-01-01T00:00:00Z"}, {`{"tags":["a"]}`, "2027-01-01T00:00:00Z"},
		{`{"expires_at":null}`, ""}, {`{"ttl_seconds":60}`, "2026-03-01T09:01:00Z"}, {`{"ttl_seconds":null}`, ""}, {`{"expires_at":"9999-12-31T23:59:59Z"}`, "9999-12-31T23:59:59Z"},
	} {
		b.Call(t, "one", "PATCH", c+"/notes/"+id, step[0]).Want(http.StatusOK)
		if got := ends(id); got != step[1] {
			t.Errorf("%s: expires at %q", step[0], got)
		}
	}
	b.Call(t, "one", "PATCH", c+"/notes/"+id, `{"ttl_seconds":3600}`).Want(http.StatusOK)
	b.Pass(59 * time.Minute)
	for _, step := range [][2]string{
		{`{"content":"Tea at four.","ttl_seconds":30}`, "2026-03-01T10:00:00Z"}, {`{"content":"Tea at four.","ttl_seconds":3600}`, "2026-03-01T10:59:00Z"},
		{`{"content":"Tea at four."}`, ""}, {`{"content":"Tea at four.","ttl_seconds":30}`, ""},
	} {
		if got := add(step[0], http.StatusOK).Text("note.id"); got != id {
			t.Errorf("another note: %s", got)
		}
		if got := ends(id); got != step[1] {
			t.Errorf("added again with %s: expires at %q", step[0], got)
		}
	}
	b.Pass(48 * time.Hour)
	ends(id)
	// What has expired and is said again is a new note.
	first := add(`{"content":"The tide is low.","ttl_seconds":60}`, http.StatusCreated).Text("note.id")
	b.Pass(time.Hour)
	if again := add(`{"content":"The tide is low.","ttl_seconds":60}`, http.StatusCreated).Text("note.id"); again == first {
		t.Error("a note that has expired was found")
	}
	b.Call(t, "one", "PATCH", c+"/notes/"+first, `{"expires_at":null}`).Want(http.StatusNotFound)
}

// Every door that adds refuses an end that is no end, with the name of the field.
func TestExpiryRefused(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "c", "mem0")
	id := b.Call(t, "one", "POST", c+"/notes", `{"content":"Tea at four."}`).Want(http.StatusCreated).Text("note.id")
	for said, field := range map[string]string{
		`"expires_at":"2026-03-01T09:00:00Z"`: "expires_at", `"expires_at":"1970-01-01T00:00:00Z"`: "expires_at", `"expires_at":"tomorrow, early"`: "expires_at",
		`"expires_at":"9999-12-31T23:59:59-12:00"`: "expires_at", `"ttl_seconds":0`: "ttl_seconds", `"ttl_seconds":-1`: "ttl_seconds", `"ttl_seconds":9223372036854775807`: "ttl_seconds",
		`"ttl_seconds":60,"expires_at":"2099-01-01T00:00:00Z"`: "ttl_seconds",
	} {
		b.Call(t, "one", "POST", c+"/notes", `{"content":"x",`+said+`}`).Refused(http.StatusUnprocessableEntity, fault.Invalid, field)
		b.Call(t, "one", "PATCH", c+"/notes/"+id, `{`+said+`}`).Refused(http.StatusUnprocessableEntity, fault.Invalid, field)
		b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"content":"x",`+said+`}]}`).Refused(http.StatusUnprocessableEntity, fault.Invalid, "messages.0."+field)
		if got := b.Call(t, "one", "POST", c+"/notes/bulk", `{"content":"x",`+said+"}\n"); !strings.Contains(got.Body.String(), `"status":422`) || !strings.Contains(got.Body.String(), field) {
			t.Errorf("bulk with %s: %s", said, got.Body.String())
		}
	}
	b.Call(t, "one", "PATCH", c+"/notes/"+id, `{"ttl_seconds":60,"expires_at":null}`).Refused(http.StatusUnprocessableEntity, fault.Invalid, "ttl_seconds")
	callMem0(t, b, "one", "POST", "/v1/memories/", `{"messages":"I like tea","user_id":"ada","expiration_date":"2026-02-28"}`).Want(http.StatusBadRequest)
}

// Lines of a bulk and of an import carry the end, and so does an export, which comes back with it.
func TestExpiryOfLines(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "c", "none")
	b.Call(t, "one", "POST", c+"/notes/bulk", `{"content":"bulk","ttl_seconds":60}`+"\n").Want(http.StatusOK)
	b.Call(t, "one", "POST", c+"/import", `{"content":"new","expires_at":"2026-03-01T09:01:00Z"}
{"id":"0197b2c4-7d2e-7000-8000-000000000001","content":"kept","ttl_seconds":60}
{"role":"user","content":"said","ttl_seconds":60}
{"role":"user","content":"late","expires_at":"2026-03-01T08:00:00Z"}
`).Want(http.StatusAccepted)
	b.RunJobs(t)
	texts := func(c string) (out []string) {
		for _, word := range []string{"bulk", "new", "kept", "said", "late"} {
			if strings.Contains(b.Call(t, "one", "GET", c+"/notes", "").Want(http.StatusOK).Body.String(), `"content":"`+word+`"`) {
				out = append(out, word)
			}
		}
		return out
	}
	if got := texts(c); !slices.Equal(got, []string{"bulk", "new", "kept", "said"}) {
		t.Fatalf("stored: %v", got)
	}
	exported := b.Call(t, "one", "GET", c+"/export", "").Want(http.StatusOK).Body.String()
	d := b.Space(t, "d", "none")
	b.Call(t, "one", "POST", d+"/import", exported).Want(http.StatusAccepted)
	b.RunJobs(t)
	if got := texts(d); len(got) != 4 {
		t.Fatalf("came back: %v", got)
	}
	b.Pass(time.Minute)
	if got := append(texts(c), texts(d)...); len(got) > 0 {
		t.Errorf("after their end: %v", got)
	}
}

// A memory of mem0 ends with its last day: at its own door, and at all others.
func TestExpiryOfMem0(t *testing.T) {
	t.Parallel()
	for _, infer := range []string{"true", "false"} {
		b := apptest.New(t)
		callMem0(t, b, "one", "POST", "/memories", `{"messages":[{"role":"user","content":"I love quartz."}],"user_id":"ada","infer":`+infer+`,"expiration_date":"2026-03-01"}`).Want(http.StatusOK)
		b.RunJobs(t)
		all := func() string {
			return callMem0(t, b, "one", "GET", "/memories?user_id=ada", "").Want(http.StatusOK).Body.String() +
				b.Call(t, "one", "GET", "/v1/collections/by/notes?user=ada", "").Want(http.StatusOK).Body.String()
		}
		if got := all(); strings.Count(got, "I love quartz.") < 2 {
			t.Fatalf("infer %s: %s", infer, got)
		}
		b.Pass(15 * time.Hour)
		if got := all(); strings.Contains(got, "quartz") {
			t.Errorf("infer %s: after its last day %s", infer, got)
		}
	}
}

// Tools of an agent set the end of what they store, and take it away.
func TestExpiryOfTools(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := connectMCP(t, listen(t, b), "one", "")
	b.Space(t, "c", "none")
	in := func(more map[string]any) map[string]any { more["collection"] = "c"; return more }
	for _, args := range []map[string]any{
		{"content": "one", "ttl_seconds": 60}, {"content": "two", "expires_at": "2026-03-01T09:01:00Z"},
		{"messages": []any{map[string]any{"content": "three", "ttl_seconds": 60}}},
	} {
		c.use("remember", in(args))
	}
	made, _ := c.use("add_note", in(map[string]any{"content": "four", "ttl_seconds": 60}))
	c.use("update_note", in(map[string]any{"note": made["note"].(map[string]any)["id"], "ttl_seconds": nil}))
	list := func() int {
		return b.Call(t, "one", "GET", "/v1/collections/c/notes", "").Want(http.StatusOK).Length("items")
	}
	if n := list(); n != 4 {
		t.Fatalf("%d notes", n)
	}
	b.Pass(time.Minute)
	if n := list(); n != 1 {
		t.Errorf("%d notes are left", n)
	}
}

// What is remembered in layers ends with its episode; a text that is told again without an end stays.
func TestRememberedExpires(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "c", "layered")
	for _, body := range []string{
		`{"content":"The code is quartz.","role":"user","ttl_seconds":3600}`, `{"content":"The spare code is quartz, too.","expires_at":"2026-03-01T10:00:00Z"}`,
		`{"content":"The lamp is of opal.","importance":0.9,"ttl_seconds":3600}`, `{"content":"The lamp is of opal.","importance":0.9}`,
	} {
		b.Call(t, "one", "POST", c+"/remember", body).Want(http.StatusOK)
	}
	b.RunJobs(t)
	all := func() string {
		return b.Call(t, "one", "GET", c+"/notes?limit=200", "").Want(http.StatusOK).Body.String() + b.Call(t, "one", "POST", c+"/recall", `{"query":"quartz opal"}`).Want(http.StatusOK).Body.String()
	}
	if got := all(); strings.Count(got, "quartz") < 4 || !strings.Contains(got, "opal") {
		t.Fatalf("before its end: %s", got)
	}
	b.Pass(time.Hour)
	b.RunJobs(t)
	got := all()
	if strings.Contains(got, "code is quartz") {
		t.Errorf("after its end: %s", got)
	}
	episodes := b.Call(t, "one", "POST", c+"/recall", `{"query":"opal","layer":"episodic"}`).Body.String()
	if !strings.Contains(got, "opal") || !strings.Contains(episodes, "opal") {
		t.Errorf("what was told again is gone: %s\n%s", got, episodes)
	}
	for body, field := range map[string]string{
		`{"content":"x","ttl_seconds":0}`: "ttl_seconds", `{"content":"x","expires_at":"2026-03-01T09:00:00Z"}`: "expires_at",
		`{"content":"x","expires_at":"2099-01-01T00:00:00Z","ttl_seconds":60}`: "ttl_seconds", `{"content":"x","expires_at":"tomorrow..."}`: "expires_at",
	} {
		if r := b.Call(t, "one", "POST", c+"/remember", body).Want(http.StatusUnprocessableEntity); r.Text("errors.0.field") != field {
			t.Errorf("%s: %s", body, r.Body)
		}
	}
}

// A file ends with its passages, and its name is free again.
func TestFilesExpire(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	b.Call(t, "one", "POST", "/v1/folders", `{"name":"papers"}`).Want(http.StatusCreated)
	const folder = "/v1/folders/papers"
	upload := func(query, name string) apptest.Response {
		form := "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + name + "\"\r\n\r\nThe gate code is quartz.\r\n--x--\r\n"
		return b.Call(t, "one", "POST", folder+"/files"+query, form, "Content-Type", "multipart/form-data; boundary=x")
	}
	if made := upload("?ttl_seconds=3600", "code.txt").Want(http.StatusAccepted); made.Text("file.expires_at") != "2026-03-01T10:00:00Z" {
		t.Errorf("accepted: %s", made.Body)
	}
	upload("?expires_at=2026-03-01T10:00:00Z", "other.txt").Want(http.StatusAccepted)
	upload("", "stays.txt").Want(http.StatusAccepted)
	for _, query := range []string{"?ttl_seconds=0", "?ttl_seconds=x", "?expires_at=2026-03-01T08:00:00Z", "?expires_at=2099-01-01T00:00:00Z&ttl_seconds=1"} {
		upload(query, "no.txt").Want(http.StatusUnprocessableEntity)
	}
	b.RunJobs(t)
	passages := func() int {
		return b.Call(t, "one", "GET", "/v1/collections/papers/notes?kind=passage", "").Want(http.StatusOK).Length("items")
	}
	if n := passages(); n != 3 {
		t.Fatalf("%d passages", n)
	}
	b.Pass(time.Hour)
	if n, files := passages(), b.Call(t, "one", "GET", folder+"/files", "").Want(http.StatusOK); n != 1 || files.Length("items") != 1 || files.Text("items.0.name") != "stays.txt" {
		t.Errorf("%d passages are left: %s", n, files.Body)
	}
	upload("", "code.txt").Want(http.StatusAccepted)
}

// withoutExpiry are the operations that store something and take no end of it, with the reason.
var withoutExpiry = map[string]string{
	"bulkNotes":            "each line does (BulkNote)",
	"importNotes":          "each line does (ImportNote)",
	"importHistory":        "each line of the format of messages and notes does; other programs' logs have none",
	"importBank":           "the format is that of MemoryBank",
	"importAgentFile":      "the format is that of Letta",
	"chat":                 "an exchange is stored as it was said; POST .../messages takes an end of each message",
	"createChatCompletion": "the form is that of OpenAI",
	"createResponse":       "the form is that of OpenAI",
	"postEvent":            "what an agent is told is part of its window until it leaves it",
	"step":                 "it is a step of a run",
	"postResults":          "results are part of the run that waits for them",
	"putProfile":           "a profile is made of what is known, and ends with it",
	"putBlock":             "a block is part of an agent, not of what it knows",
	"appendBlock":          "as putBlock",
	"replaceBlock":         "as putBlock",
	"insertBlock":          "as putBlock",
	"attachBlock":          "it stores no note",
	"attachFolder":         "it stores no note",
	"detachFolder":         "it stores no note",
	"forget":               "it stores no note",
	"createSnapshot":       "it stores no note",
	"flushContext":         "it stores no note of the caller",
	"pauseHeartbeats":      "it stores no note",
	"putLinks":             "it stores links, which end with their notes",
	"restoreNote":          "PATCH sets the end of what was restored",
	"mergeCollection":      "what is merged keeps its end",
	"rollbackCollection":   "what comes back has no end, as it was asked for",
	"approveReview":        "what is approved has the end that it was proposed with",
	"rejectReview":         "it stores no note",
	"undoReview":           "as rollbackCollection",
}

// Each operation that stores notes, messages, passages or files takes expires_at and ttl_seconds, or is known not to.
func TestExpiryOfOperations(t *testing.T) {
	t.Parallel()
	var has func(s *openapi3.Schema, field string, depth int) bool
	has = func(s *openapi3.Schema, field string, depth int) bool {
		if s == nil || depth > 6 {
			return false
		}
		if s.Properties[field] != nil {
			return true
		}
		parts := slices.Concat(s.AllOf, s.AnyOf, s.OneOf)
		for _, p := range s.Properties {
			parts = append(parts, p)
		}
		if s.Items != nil {
			parts = append(parts, s.Items)
		}
		return slices.ContainsFunc(parts, func(p *openapi3.SchemaRef) bool { return has(p.Value, field, depth+1) })
	}
	for _, op := range contracttest.Operations(t) {
		id, scope := op.ID, op.Extensions["x-scope"]
		if strings.HasPrefix(op.Path, "/mem0/") || op.Method == http.MethodDelete || op.Method == http.MethodGet || op.RequestBody == nil || scope != string(tenant.NotesWrite) && withoutExpiry[id] == "" {
			continue
		}
		query, _ := op.Query()
		takes := true
		for _, field := range []string{"expires_at", "ttl_seconds"} {
			takes = takes && (has(op.Body(), field, 0) || query[field] != nil)
		}
		if takes == (withoutExpiry[id] != "") {
			t.Errorf("%s takes an end of what it stores: %v; withoutExpiry says: %q", id, takes, withoutExpiry[id])
		}
	}
	for id := range withoutExpiry {
		contracttest.OperationNamed(t, id)
	}
}
