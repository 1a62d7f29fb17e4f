package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/test/must"
)

func TestPathValues(t *testing.T) {
	t.Parallel()
	id := uuid.Must(uuid.NewV7())
	b := newBench(t, DefaultConfig(), map[string]handler{"getNote": func(c *gin.Context) error {
		ref, err := pathRef(c, "collection")
		if err != nil {
			return err
		}
		note, err := pathID(c, "note")
		if err != nil {
			return err
		}
		setRevision(c, 42)
		setETag(c, memory.Version{Layer: id, Note: note, From: 7})
		return reply(c, http.StatusOK, []any{ref, note, queryInt(c, "limit", 50), queryRevision(c, "as_of"), queryRevision(c, "min_revision")})
	}})
	target := func(collection, note string) string {
		return "/v1/collections/" + collection + "/notes/" + note + "?as_of=9"
	}
	w := b.do(request(http.MethodGet, target("re_se.arch-1", strings.ToUpper(id.String())), nil))
	if w.Code != http.StatusOK || w.Body.String() != `["re_se.arch-1","`+id.String()+`",50,9,null]` {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if w.Header().Get("Slipbox-Revision") != "42" || w.Header().Get("ETag") != `"`+id.String()+`.`+id.String()+`.7"` {
		t.Errorf("headers %v", w.Header())
	}
	w = b.do(request(http.MethodGet, target(strings.ToUpper(id.String()), id.String()), nil))
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), id.String()) {
		t.Errorf("an id as collection: %d %s", w.Code, w.Body)
	}
	for _, bad := range []string{
		target("UPPER", id.String()), target("-x", id.String()), target("a%2Fb", id.String()), target("a%00", id.String()),
		target("%ff", id.String()), target(strings.Repeat("a", 129), id.String()),
		target("a", "no-id"), target("a", strings.ReplaceAll(id.String(), "-", "")), target("a", "%7B"+id.String()+"%7D"),
	} {
		if p := b.problem(t, b.do(request(http.MethodGet, bad, nil))); p.Code != string(fault.NotFound) {
			t.Errorf("%s: %+v", bad, p)
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	var b bench
	b = newBench(t, DefaultConfig(), map[string]handler{"bulkNotes": func(c *gin.Context) error {
		lines, err := splitLines(rawBody(c), 5)
		if err != nil {
			return err
		}
		out := []string{}
		for _, line := range lines {
			n, _, err := bindLine[wire.BulkNote](c.Request.Context(), b.Server, "BulkNote", line)
			if err != nil {
				out = append(out, string(fault.CodeOf(err)))
				continue
			}
			out = append(out, n.Content+valueOr(n.Key, ""))
		}
		return reply(c, http.StatusOK, out)
	}})
	do := func(body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		c := request(http.MethodPost, notesPath+"/bulk", strings.NewReader(body), "Content-Type", mediaNDJSON)
		b.ServeHTTP(w, c)
		return w
	}
	for body, want := range map[string]string{
		"":                      `[]`,
		`{"content":"a"}`:       `["a"]`,
		"{\"content\":\"a\"}\n": `["a"]`,
		"{\"content\":\"a\"}\r\n{\"content\":\"b\",\"key\":\"k\"}\n":                       `["a","bk"]`,
		"{\"content\":\"a\"}\n{\"content\":\n\n{\"content\":\"\"}\n{\"content\":\"\xff\"}": `["a","malformed","malformed","invalid","malformed"]`,
	} {
		if w := do(body); w.Code != http.StatusOK || w.Body.String() != want {
			t.Errorf("%q: %d %s", body, w.Code, w.Body)
		}
	}
	if p := b.problem(t, do(strings.Repeat("{}\n", 6))); p.Code != string(fault.TooLarge) || !strings.Contains(*p.Detail, "5") {
		t.Errorf("%+v", p)
	}
	if p := b.problem(t, b.do(request(http.MethodPost, notesPath+"/bulk", strings.NewReader("{}"), "Content-Type", mediaJSON))); p.Status != http.StatusUnsupportedMediaType {
		t.Errorf("%+v", p)
	}
}

func FuzzParseJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,2,{"b":"\u0000"}]}`, `"\ud83d\ude00"`, `{"a":1,"a":2}`, `[[[`, "\xff", `{"a\"b:":":"}`, `1 2`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		v, err := parseJSON(raw)
		if err != nil {
			if code := fault.CodeOf(err); code != fault.Malformed && code != fault.Invalid {
				t.Fatalf("%v", err)
			}
			return
		}
		if findNUL(v, "") != "" {
			t.Fatal("a NUL came through")
		}
	})
}

func TestIfMatch(t *testing.T) {
	t.Parallel()
	const etag = `"a.1"`
	for header, want := range map[string]bool{
		"*": true, " * ": true, etag: true, `"b.1", "a.1"`: true, `W/"x", ` + etag: true, `"b.1","a.1" `: true,
		`"b.1"`: false, `W/"a.1"`: false, `"a`: false, "a.1": false, `"*"`: false,
	} {
		if got := ifMatch(header)(etag); got != want {
			t.Errorf("%s: %v", header, got)
		}
	}
	if ifMatch("") != nil || ifMatch(" ") != nil {
		t.Error("an absent header is a condition")
	}
}

// A request whose length two headers may have told ends its connection: what follows it is not served as another request.
func TestChunkedRequestEndsTheConnection(t *testing.T) {
	t.Parallel()
	b := newBench(t, DefaultConfig(), nil)
	server := httptest.NewServer(b)
	defer server.Close()
	conn := must.Get((&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String()))(t)
	defer func() { _ = conn.Close() }()
	smuggled := "GET /version HTTP/1.1\r\nHost: x\r\n\r\n"
	must.Get(fmt.Fprintf(conn, "POST /v1/collections HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n%s", smuggled))(t)
	all, err := io.ReadAll(conn)
	if n := strings.Count(string(all), "HTTP/1.1 "); err != nil || n != 1 || !strings.Contains(string(all), "Connection: close") {
		t.Errorf("%d answers, %v:\n%s", n, err, all)
	}
}

// A query without its own fields inherits every field that both schemas have.
func TestInheritTakesEveryField(t *testing.T) {
	t.Parallel()
	var body wire.SearchRequest
	must.Do(t, json.Unmarshal([]byte(`{"mode":"hybrid","k":3,"filter":{"field":"kind","op":"eq","value":"note"},"expand_links":1,"rerank":"model",
		"min_score":0.5,"token_budget":7,"explain":true,"profile":"auto","weights":{"attribute":0},"reference_time":"202603010930",
		"fields":["id"],"include":["embedding"],"query":"q","vector":[1],"messages":[{"content":"m"}]}`), &body))
	got := reflect.ValueOf(inherit(&wire.SearchQuery{}, &body)).Elem()
	for i := range got.NumField() {
		name := got.Type().Field(i).Name
		from := reflect.ValueOf(body).FieldByName(name)
		if !from.IsValid() || from.IsZero() {
			t.Errorf("the test sends no %s", name)
			continue
		}
		question := name == "Query" || name == "Vector" || name == "Messages"
		if question != got.Field(i).IsZero() || !question && !reflect.DeepEqual(got.Field(i).Interface(), from.Interface()) {
			t.Errorf("%s is %v", name, got.Field(i))
		}
	}
}

// All fields of a note are those of wire.Note, and fewer are in the same order.
func TestRenderedFields(t *testing.T) {
	t.Parallel()
	n := memory.Note{ID: uuid.New(), Kind: memory.KindFact, Content: "a <b>", OccurredAt: time.Unix(1, 0), Attributes: map[string]any{"confidence": 0.5}, Vector: []float32{1, 2}}
	for _, shown := range []wire.Note{wireNote(&n, make([]memory.Link, 1), &memory.Usage{}, true), wireNote(&memory.Note{}, nil, nil, false)} {
		want := must.Get(json.Marshal(shown))(t)
		if got := must.Get(json.Marshal(searchFields([]wire.NoteField{allFields}, true).render(&shown)))(t); !bytes.Equal(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	fact := wireNote(&n, nil, nil, false)
	for _, x := range []struct {
		asked []wire.NoteField
		want  string
	}{
		{[]wire.NoteField{wire.NoteFieldTags, wire.NoteFieldKind}, `{"id":"` + n.ID.String() + `","kind":"fact","tags":[]}`},
		{nil, `{"content":"a \u003cb\u003e","id":"` + n.ID.String() + `","occurred_at":"1970-01-01T00:00:01Z","confidence":0.5}`},
	} {
		if got := must.Get(json.Marshal(searchFields(x.asked, false).render(&fact)))(t); string(got) != x.want {
			t.Errorf("%s, want %s", got, x.want)
		}
	}
}
