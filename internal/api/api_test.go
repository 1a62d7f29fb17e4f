package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

const problemSchema = "Problem"

// keys is an authenticator with three credentials.
type keys struct{}

func (keys) Authenticate(_ context.Context, credential string) (auth.Principal, error) {
	switch credential {
	case "all":
		return auth.Principal{Scope: grant.Scope(uuid.New(), uuid.Nil, "key:test", tenant.AllPermissions()...)}, nil
	case "reader":
		return auth.Principal{Scope: grant.Scope(uuid.New(), uuid.Nil, "key:test", tenant.NotesRead)}, nil
	case "operator":
		return auth.Principal{Operator: grant.Operator("key:op"), IsOperator: true}, nil
	}
	return auth.Principal{}, fault.New(fault.Unauthenticated, "the credential is not accepted")
}

// echo answers what a handler would receive.
func echo[T any](status int) handler {
	return func(c *gin.Context) error {
		v, err := bind[T](c)
		if err != nil {
			return err
		}
		return reply(c, status, map[string]any{"body": v, "query": query(c)})
	}
}

type bench struct {
	*Server
	log *bytes.Buffer
}

func newBench(t *testing.T, cfg Config, handlers map[string]handler) bench {
	t.Helper()
	log := &bytes.Buffer{}
	s := must.Get(New(Deps{
		Log: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), Auth: keys{},
		Build: Build{Version: "1.2.3", Commit: "abc", Date: "2026-01-01T00:00:00Z"},
	}, cfg))(t)
	must.Do(t, s.mountAll(handlers))
	return bench{Server: s, log: log}
}

func request(method, target string, body io.Reader, header ...string) *http.Request {
	r := httptest.NewRequest(method, target, body)
	r.Header.Set("Authorization", "Bearer all")
	if body != nil {
		r.Header.Set("Content-Type", mediaJSON)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i+1] == "" {
			r.Header.Del(header[i])
			continue
		}
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

func (b bench) do(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	return w
}

// problem decodes a problem document and validates it against the contract.
func (b bench) problem(t *testing.T, w *httptest.ResponseRecorder) wire.Problem {
	t.Helper()
	if ct := w.Header().Get("Content-Type"); ct != mediaProblem {
		t.Fatalf("content type %q, body %s", ct, w.Body)
	}
	schema := must.Get(b.doc.schema(problemSchema))(t)
	value := must.Get(parseJSON(w.Body.Bytes()))(t)
	if err := checkSchema(schema, value, w.Body.Len(), ""); err != nil {
		t.Fatalf("the problem breaks its schema: %v", err)
	}
	var p wire.Problem
	must.Do(t, json.Unmarshal(w.Body.Bytes(), &p))
	if p.Status != w.Code {
		t.Errorf("status %d in the document, %d on the wire", p.Status, w.Code)
	}
	if p.RequestID == "" || p.RequestID != w.Header().Get(headerRequestID) {
		t.Errorf("request id %q in the document, %q in the header", p.RequestID, w.Header().Get(headerRequestID))
	}
	return p
}

const notesPath = "/v1/collections/research/notes"

var echoes = map[string]handler{
	"createNote":      echo[wire.NoteInput](http.StatusCreated),
	"patchNote":       echo[wire.NotePatch](http.StatusOK),
	"patchCollection": echo[wire.CollectionPatch](http.StatusOK),
	"listNotes":       echo[struct{}](http.StatusOK),
	"search":          echo[wire.SearchRequest](http.StatusOK),
	"putLinks":        echo[wire.LinksInput](http.StatusOK),
	"deleteLinks":     echo[struct{}](http.StatusOK),
	"createToken":     echo[wire.TokenRequest](http.StatusOK),
	"listTenants":     echo[struct{}](http.StatusOK),
	"getAgent":        echo[struct{}](http.StatusOK),
	"cancelJob":       echo[struct{}](http.StatusAccepted),
	"createTenant":    echo[wire.TenantInput](http.StatusCreated),
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	b := newBench(t, DefaultConfig(), echoes)
	note := notesPath + "/" + uuid.NewString()
	deep := strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70)
	tests := map[string]struct {
		method, target, body string
		header               []string
		status               int
		code                 fault.Code
		field                string // of the first error; "" for none
	}{
		"no body":                          {"POST", notesPath, "", nil, 400, fault.Malformed, ""},
		"broken json":                      {"POST", notesPath, `{"content":`, nil, 400, fault.Malformed, ""},
		"no json":                          {"POST", notesPath, `hello`, nil, 400, fault.Malformed, ""},
		"data after the value":             {"POST", notesPath, `{"content":"a"} {}`, nil, 400, fault.Malformed, ""},
		"garbage after the value":          {"POST", notesPath, `{"content":"a"}x`, nil, 400, fault.Malformed, ""},
		"invalid utf-8":                    {"POST", notesPath, "{\"content\":\"\xff\"}", nil, 400, fault.Malformed, ""},
		"raw NUL":                          {"POST", notesPath, "{\"content\":\"\x00\"}", nil, 400, fault.Malformed, ""},
		"half a surrogate pair":            {"POST", notesPath, `{"content":"\ud83d"}`, nil, 400, fault.Malformed, ""},
		"the other half":                   {"POST", notesPath, `{"content":"\ude00\ud83d"}`, nil, 400, fault.Malformed, ""},
		"same key twice":                   {"POST", notesPath, `{"content":"a","content":"b"}`, nil, 400, fault.Malformed, ""},
		"escaped NUL":                      {"POST", notesPath, `{"content":"a\u0000"}`, nil, 422, fault.Invalid, "content"},
		"NUL in a tag":                     {"POST", notesPath, `{"content":"a","tags":["b","c\u0000"]}`, nil, 422, fault.Invalid, "tags.1"},
		"an array":                         {"POST", notesPath, `[]`, nil, 422, fault.Invalid, ""},
		"null":                             {"POST", notesPath, `null`, nil, 422, fault.Invalid, ""},
		"missing field":                    {"POST", notesPath, `{"content":"a","item":{}}`, nil, 422, fault.Invalid, "item.type"},
		"empty content":                    {"POST", notesPath, `{"content":""}`, nil, 422, fault.Invalid, "content"},
		"long context":                     {"POST", notesPath, `{"content":"a","context":"` + strings.Repeat("a", 8193) + `"}`, nil, 422, fault.Invalid, "context"},
		"null content":                     {"POST", notesPath, `{"content":null}`, nil, 422, fault.Invalid, "content"},
		"unknown field":                    {"POST", notesPath, `{"content":"a","flavor":"red"}`, nil, 422, fault.Invalid, "flavor"},
		"other letter case":                {"POST", notesPath, `{"content":"a","Tags":[]}`, nil, 422, fault.Invalid, "Tags"},
		"too many tags":                    {"POST", notesPath, `{"content":"a","tags":[` + strings.Repeat(`"x",`, 50) + `"x"]}`, nil, 422, fault.Invalid, "tags"},
		"tag of the wrong type":            {"POST", notesPath, `{"content":"a","tags":["x",1]}`, nil, 422, fault.Invalid, "tags.1"},
		"importance above one":             {"POST", notesPath, `{"content":"a","importance":1.5}`, nil, 422, fault.Invalid, "importance"},
		"unknown kind":                     {"POST", notesPath, `{"content":"a","kind":"poem"}`, nil, 422, fault.Invalid, "kind"},
		"nested too deep":                  {"POST", notesPath, `{"content":"a","attributes":` + deep + `}`, nil, 422, fault.Invalid, ""},
		"body too large":                   {"POST", notesPath, `{"content":"` + strings.Repeat("a", 1<<20) + `"}`, nil, 413, fault.TooLarge, ""},
		"wrong content type":               {"POST", notesPath, `content=a`, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, fault.Unsupported, ""},
		"wrong charset":                    {"POST", notesPath, `{"content":"a"}`, []string{"Content-Type", "application/json; charset=latin1"}, 415, fault.Unsupported, ""},
		"compressed":                       {"POST", notesPath, `{"content":"a"}`, []string{"Content-Encoding", "gzip"}, 415, fault.Unsupported, ""},
		"unknown parameter":                {"POST", notesPath + "?wiat=evolved", `{"content":"a"}`, nil, 422, fault.Invalid, "wiat"},
		"bad wait":                         {"POST", notesPath + "?wait=forever", `{"content":"a"}`, nil, 422, fault.Invalid, "wait"},
		"empty idempotency key":            {"POST", notesPath, `{"content":"a"}`, []string{"Idempotency-Key", " "}, 0, "", ""},
		"long idempotency key":             {"POST", notesPath, `{"content":"a"}`, []string{"Idempotency-Key", strings.Repeat("k", 256)}, 422, fault.Invalid, "Idempotency-Key"},
		"idempotency on a token":           {"POST", "/v1/auth/token", ``, []string{"Idempotency-Key", "k"}, 400, fault.Malformed, "Idempotency-Key"},
		"limit zero":                       {"GET", notesPath + "?limit=0", "", nil, 422, fault.Invalid, "limit"},
		"limit too high":                   {"GET", notesPath + "?limit=201", "", nil, 422, fault.Invalid, "limit"},
		"limit no number":                  {"GET", notesPath + "?limit=ten", "", nil, 422, fault.Invalid, "limit"},
		"limit empty":                      {"GET", notesPath + "?limit=", "", nil, 422, fault.Invalid, "limit"},
		"limit beyond int64":               {"GET", notesPath + "?limit=99999999999999999999", "", nil, 422, fault.Invalid, "limit"},
		"limit twice":                      {"GET", notesPath + "?limit=1&limit=2", "", nil, 422, fault.Invalid, "limit"},
		"unknown state":                    {"GET", notesPath + "?state=odd", "", nil, 422, fault.Invalid, "state"},
		"query with bad escape":            {"GET", notesPath + "?cursor=%zz", "", nil, 400, fault.Malformed, ""},
		"query with invalid utf-8":         {"GET", notesPath + "?cursor=%ff", "", nil, 400, fault.Malformed, ""},
		"query with NUL":                   {"GET", notesPath + "?cursor=a%00", "", nil, 422, fault.Invalid, "cursor"},
		"k zero":                           {"POST", "/v1/collections/research/search", `{"query":"a","k":0}`, nil, 422, fault.Invalid, "k"},
		"k huge":                           {"POST", "/v1/collections/research/search", `{"query":"a","k":1000000000}`, nil, 422, fault.Invalid, "k"},
		"k of a word":                      {"POST", "/v1/collections/research/search", `{"query":"a","k":"many"}`, nil, 422, fault.Invalid, "k"},
		"k fractional":                     {"POST", "/v1/collections/research/search", `{"query":"a","k":1.5}`, nil, 422, fault.Invalid, "k"},
		"infinite vector":                  {"POST", "/v1/collections/research/search", `{"vector":[1e999]}`, nil, 422, fault.Invalid, "vector.0"},
		"NaN vector":                       {"POST", "/v1/collections/research/search", `{"vector":[NaN]}`, nil, 400, fault.Malformed, ""},
		"vector beyond float32":            {"POST", "/v1/collections/research/search", `{"vector":[1e300]}`, nil, 422, fault.Invalid, "vector"},
		"filter with bad operator":         {"POST", "/v1/collections/research/search", `{"query":"a","filter":{"field":"tags","op":"like","value":1}}`, nil, 422, fault.Invalid, "filter.op"},
		"filter depth bomb":                {"POST", "/v1/collections/research/search", `{"query":"a","filter":` + strings.Repeat(`{"not":`, 5000) + `{}` + strings.Repeat("}", 5000) + `}`, nil, 422, fault.Invalid, ""},
		"bad field in a batch":             {"POST", "/v1/collections/research/search", `{"queries":[{"query":"a"},{"query":"b","k":0}]}`, nil, 422, fault.Invalid, "queries.1.k"},
		"read-only field patched":          {"PATCH", note, `{"id":"x"}`, nil, 422, fault.Invalid, "id"},
		"content patched to null":          {"PATCH", note, `{"content":null}`, nil, 422, fault.Invalid, "content"},
		"link target no id":                {"PUT", note + "/links", `{"links":[{"target":"x"}]}`, nil, 422, fault.Invalid, "links.0.target"},
		"a key":                            {"POST", notesPath, `{"content":"a","key":"k"}`, nil, 422, fault.Invalid, "key"},
		"an id":                            {"POST", notesPath, `{"content":"a","id":"k"}`, nil, 422, fault.Invalid, "id"},
		"tags that are text":               {"POST", notesPath, `{"content":"a","tags":"a"}`, nil, 422, fault.Invalid, "tags"},
		"null tags":                        {"POST", notesPath, `{"content":"a","tags":null}`, nil, 422, fault.Invalid, "tags"},
		"short time":                       {"POST", notesPath, `{"content":"a","occurred_at":"yesterday"}`, nil, 422, fault.Invalid, "occurred_at"},
		"empty time":                       {"POST", notesPath, `{"content":"a","occurred_at":""}`, nil, 422, fault.Invalid, "occurred_at"},
		"infer that is text":               {"POST", notesPath, `{"content":"a","infer":"no"}`, nil, 422, fault.Invalid, "infer"},
		"empty kind":                       {"POST", notesPath, `{"content":"a","kind":""}`, nil, 422, fault.Invalid, "kind"},
		"attributes that are a list":       {"POST", notesPath, `{"content":"a","attributes":[]}`, nil, 422, fault.Invalid, "attributes"},
		"state patched":                    {"PATCH", note, `{"state":"raw"}`, nil, 422, fault.Invalid, "state"},
		"links patched":                    {"PATCH", note, `{"links":[]}`, nil, 422, fault.Invalid, "links"},
		"unknown field patched":            {"PATCH", note, `{"hat":1}`, nil, 422, fault.Invalid, "hat"},
		"content patched to nothing":       {"PATCH", note, `{"content":""}`, nil, 422, fault.Invalid, "content"},
		"no links":                         {"PUT", note + "/links", `{}`, nil, 422, fault.Invalid, "links"},
		"links that are an object":         {"PUT", note + "/links", `{"links":{}}`, nil, 422, fault.Invalid, "links"},
		"link that is a number":            {"PUT", note + "/links", `{"links":[1]}`, nil, 422, fault.Invalid, "links.0"},
		"link without target":              {"PUT", note + "/links", `{"links":[{}]}`, nil, 422, fault.Invalid, "links.0.target"},
		"unknown field of a link":          {"PUT", note + "/links", `{"links":[{"target":"` + uuid.NewString() + `","why":1}]}`, nil, 422, fault.Invalid, "links.0.why"},
		"unknown field beside links":       {"PUT", note + "/links", `{"links":[],"more":1}`, nil, 422, fault.Invalid, "more"},
		"collection embedder patched":      {"PATCH", "/v1/collections/research", `{"embedder":"x"}`, nil, 422, fault.Invalid, "embedder"},
		"unknown collection field patched": {"PATCH", "/v1/collections/research", `{"hat":1}`, nil, 422, fault.Invalid, "hat"},
		"collection head patched":          {"PATCH", "/v1/collections/research", `{"head_revision":1}`, nil, 422, fault.Invalid, "head_revision"},
		"empty display name patched":       {"PATCH", "/v1/collections/research", `{"display_name":""}`, nil, 422, fault.Invalid, "display_name"},
		"links without target":             {"DELETE", note + "/links", "", nil, 422, fault.Invalid, "target"},
		"no credential":                    {"GET", notesPath, "", []string{"Authorization", ""}, 401, fault.Unauthenticated, ""},
		"unknown credential":               {"GET", notesPath, "", []string{"Authorization", "Bearer nobody"}, 401, fault.Unauthenticated, ""},
		"basic credential":                 {"GET", notesPath, "", []string{"Authorization", "Basic YWxs"}, 401, fault.Unauthenticated, ""},
		"two credentials":                  {"GET", notesPath, "", []string{"X-API-Key", "reader"}, 401, fault.Unauthenticated, ""},
		"missing scope":                    {"POST", notesPath, `{"content":"a"}`, []string{"Authorization", "Bearer reader"}, 403, fault.Forbidden, ""},
		"tenant key on tenants":            {"GET", "/v1/tenants", "", nil, 403, fault.Forbidden, ""},
		"platform key on an agent":         {"GET", "/v1/agents/ada", "", []string{"Authorization", "Bearer operator"}, 403, fault.Forbidden, ""},
		"unknown route":                    {"GET", "/v1/nothing", "", nil, 404, fault.NotFound, ""},
		"trailing slash":                   {"GET", notesPath + "/", "", nil, 404, fault.NotFound, ""},
		"unknown method":                   {"DELETE", notesPath, "", nil, 405, fault.NotAllowed, ""},
		"unknown method, public":           {"POST", "/healthz", "", nil, 405, fault.NotAllowed, ""},
		"reserved name in a tenant":        {"POST", "/v1/tenants", `{"name":"Not A Name"}`, []string{"Authorization", "Bearer operator"}, 422, fault.Invalid, "name"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var body io.Reader
			if tt.body != "" {
				body = strings.NewReader(tt.body)
			}
			w := b.do(request(tt.method, tt.target, body, tt.header...))
			if tt.status == 0 { // accepted
				if w.Code >= http.StatusBadRequest {
					t.Fatalf("refused: %s", w.Body)
				}
				return
			}
			p := b.problem(t, w)
			if p.Status != tt.status || p.Code != string(tt.code) {
				t.Fatalf("status %d, code %s, want %d, %s: %s", p.Status, p.Code, tt.status, tt.code, w.Body)
			}
			got := ""
			if len(p.Errors) > 0 {
				got = p.Errors[0].Field
			}
			if got != tt.field {
				t.Errorf("names the field %q, want %q: %s", got, tt.field, w.Body)
			}
			if w.Body.Len() > 8<<10 {
				t.Errorf("a refusal of %d bytes", w.Body.Len())
			}
		})
	}
}

func TestGoodInput(t *testing.T) {
	t.Parallel()
	b := newBench(t, DefaultConfig(), echoes)
	note := notesPath + "/" + uuid.NewString()
	tests := map[string]struct {
		method, target, body string
		header               []string
		want                 string // of the echoed body, as JSON
	}{
		"least note":         {"POST", notesPath, `{"content":"2024"}`, nil, `{"content":"2024"}`},
		"full note":          {"POST", notesPath + "?wait=evolved", `{"content":"a","context":"","keywords":["k"],"tags":["t"],"category":"c","attributes":{"n":1.5,"deep":[{"x":null}]},"importance":0,"occurred_at":"202603010930","kind":"fact","infer":false}`, []string{"Idempotency-Key", "abc"}, `{"content":"a","context":"","keywords":["k"],"tags":["t"],"category":"c","attributes":{"n":1.5,"deep":[{"x":null}]},"importance":0,"occurred_at":"202603010930","kind":"fact","infer":false}`},
		"surrogate pair":     {"POST", notesPath, `{"content":"\ud83d\ude00 \\ud83d"}`, nil, `{"content":"😀 \\ud83d"}`},
		"no content type":    {"POST", notesPath, `{"content":"a"}`, []string{"Content-Type", ""}, `{"content":"a"}`},
		"white space around": {"POST", notesPath, " \n{\"content\":\"a\"}\n", nil, `{"content":"a"}`},
		"key in X-API-Key":   {"POST", notesPath, `{"content":"a"}`, []string{"Authorization", "", "X-API-Key", "all"}, `{"content":"a"}`},
		"same key twice":     {"POST", notesPath, `{"content":"a"}`, []string{"X-API-Key", "all"}, `{"content":"a"}`},
		"merge patch":        {"PATCH", note, `{"context":null,"tags":[]}`, []string{"Content-Type", "application/merge-patch+json"}, `{"context":null,"tags":[]}`},
		"empty patch":        {"PATCH", note, `{}`, nil, `{}`},
		"k auto":             {"POST", "/v1/collections/research/search", `{"query":"a","k":"auto"}`, nil, `{"query":"a","k":"auto"}`},
		"batch":              {"POST", "/v1/collections/research/search", `{"queries":[{"query":"a"},{"vector":[0.5]}],"k":200}`, nil, `{"queries":[{"query":"a"},{"vector":[0.5]}],"k":200}`},
		"nested filter":      {"POST", "/v1/collections/research/search", `{"query":"a","filter":{"not":{"or":[{"field":"importance","op":"gt","value":0.5}]}}}`, nil, `{"query":"a","filter":{"not":{"or":[{"field":"importance","op":"gt","value":0.5}]}}}`},
		"optional body":      {"POST", "/v1/auth/token", ``, nil, `{}`},
		"operator":           {"POST", "/v1/tenants", `{"name":"acme"}`, []string{"Authorization", "Bearer operator"}, `{"name":"acme"}`},
		"body not asked for": {"POST", "/v1/jobs/" + uuid.NewString() + "/cancel", `whatever`, nil, `{}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var body io.Reader
			if tt.body != "" {
				body = strings.NewReader(tt.body)
			}
			w := b.do(request(tt.method, tt.target, body, tt.header...))
			var got struct {
				Body any `json:"body"`
			}
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code >= 300 {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			var want any
			must.Do(t, json.Unmarshal([]byte(tt.want), &want))
			if a, z := mustJSON(t, got.Body), mustJSON(t, want); a != z {
				t.Errorf("got %s, want %s", a, z)
			}
		})
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	raw := must.Get(json.Marshal(v))(t)
	return string(raw)
}

func TestChunkedBodyIsBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t, DefaultConfig(), echoes)
	srv := httptest.NewServer(b)
	defer srv.Close()
	// Without Content-Length the limit is found while reading.
	body := io.MultiReader(strings.NewReader(`{"content":"`), strings.NewReader(strings.Repeat("a", 2<<20)), strings.NewReader(`"}`))
	r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+notesPath, body))(t)
	r.Header.Set("Authorization", "Bearer all")
	r.Header.Set("Content-Type", mediaJSON)
	res := must.Get(srv.Client().Do(r))(t)
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", res.StatusCode)
	}
}
