package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/slipboxhq/slipbox/internal/api/contracttest"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

// sampleID is the id of nothing: a stream of it ends at once.
const sampleID = "019a9c3e-6f1b-7c44-9d2a-3b1f0c5e8a77"

func TestEveryCodeHasAStatus(t *testing.T) {
	t.Parallel()
	b := newBench(t, DefaultConfig(), nil)
	for _, code := range fault.Codes() {
		status, ok := statuses[code]
		if !ok {
			t.Errorf("%s has no status", code)
			continue
		}
		w := httptest.NewRecorder()
		c, _ := gin.CreateTestContext(w)
		c.Request = request(http.MethodGet, "/", nil)
		b.identify(c)
		b.fail(c, fmt.Errorf("outer: %w", fault.Wrap(errors.New("secret cause"), code, "public sentence")))
		p := b.problem(t, w)
		if p.Status != status || p.Code != string(code) || *p.Detail != "public sentence" || p.Title == "" {
			t.Errorf("%s: %+v", code, p)
		}
		if strings.Contains(w.Body.String(), "secret cause") {
			t.Errorf("%s shows its cause", code)
		}
	}
	if len(statuses) != len(fault.Codes()) {
		t.Errorf("%d statuses for %d codes", len(statuses), len(fault.Codes()))
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		err    error
		status int
		header string
		want   string
		logs   string
	}{
		"unknown error":   {errors.New("disk on fire"), 500, "", "", "disk on fire"},
		"deadline":        {fmt.Errorf("query: %w", context.DeadlineExceeded), 504, "", "", "query"},
		"unauthenticated": {fault.New(fault.Unauthenticated, "no"), 401, "WWW-Authenticate", `Bearer realm="slipbox"`, ""},
		"rate":            {&fault.Error{Code: fault.RateLimited, RetryAfter: 1500 * time.Millisecond}, 429, "Retry-After", "2", ""},
		"unavailable":     {fault.New(fault.Unavailable, "draining"), 503, "Retry-After", "1", "draining"},
		"misconfigured":   {fault.New(fault.Misconfigured, "no key"), 503, "Retry-After", "", "no key"},
		"quota":           {fault.New(fault.QuotaExceeded, "full"), 429, "Retry-After", "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, DefaultConfig(), map[string]handler{"listNotes": func(*gin.Context) error { return tt.err }})
			w := b.do(request(http.MethodGet, notesPath, nil))
			p := b.problem(t, w)
			if p.Status != tt.status {
				t.Errorf("status %d", p.Status)
			}
			if got := w.Header().Get(tt.header); tt.header != "" && got != tt.want {
				t.Errorf("%s: %q", tt.header, got)
			}
			if strings.Contains(w.Body.String(), "disk on fire") {
				t.Error("the cause is shown")
			}
			if !strings.Contains(b.log.String(), tt.logs) {
				t.Errorf("not logged: %s", b.log)
			}
		})
	}
}

func TestPanicBecomesAProblem(t *testing.T) {
	t.Parallel()
	b := newBench(t, DefaultConfig(), map[string]handler{"listNotes": func(*gin.Context) error { panic("secret") }})
	w := b.do(request(http.MethodGet, notesPath, nil))
	if p := b.problem(t, w); p.Code != string(fault.Internal) || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("%s", w.Body)
	}
	if !strings.Contains(b.log.String(), "secret") || !strings.Contains(b.log.String(), `"status":500`) {
		t.Errorf("log: %s", b.log)
	}
}

func TestLongRefusalIsCut(t *testing.T) {
	t.Parallel()
	b := newBench(t, DefaultConfig(), echoes)
	body := `{"content":"a","` + strings.Repeat("x", 100_000) + `":1}`
	w := b.do(request(http.MethodPost, notesPath, strings.NewReader(body)))
	if p := b.problem(t, w); p.Status != 422 || w.Body.Len() > 2000 {
		t.Errorf("%d bytes: %.200s", w.Body.Len(), w.Body)
	}
	many := make([]string, 0, 500)
	for i := range 500 {
		many = append(many, fmt.Sprintf(`"f%d":1`, i))
	}
	w = b.do(request(http.MethodPost, notesPath, strings.NewReader(`{"content":"a",`+strings.Join(many, ",")+`}`)))
	if p := b.problem(t, w); len(p.Errors) != maxProblemFields {
		t.Errorf("%d errors", len(p.Errors))
	}
}

// Of a large body only the first error is reported: the validator keeps an error for each wrong
// element, several hundred times the size of the body.
func TestLargeRefusalStopsAtFirstError(t *testing.T) {
	t.Parallel()
	b := newBench(t, DefaultConfig(), echoes)
	for _, tc := range []struct{ tags, errors int }{{30, maxProblemFields}, {maxFullReport, 1}} {
		body := `{"content":"a","tags":[` + strings.Repeat("1,", tc.tags) + `1]}`
		w := b.do(request(http.MethodPost, notesPath, strings.NewReader(body)))
		if p := b.problem(t, w); p.Status != 422 || len(p.Errors) != tc.errors {
			t.Errorf("%d wrong tags: status %d, %d errors", tc.tags+1, p.Status, len(p.Errors))
		}
	}
}

func TestRequestDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, DefaultConfig(), map[string]handler{
			"listNotes": func(c *gin.Context) error { <-c.Request.Context().Done(); return c.Request.Context().Err() },
			"streamJob": func(c *gin.Context) error {
				if _, ok := c.Request.Context().Deadline(); ok {
					return errors.New("a stream has a deadline")
				}
				return noContent(c)
			},
		})
		start := time.Now()
		if p := b.problem(t, b.do(request(http.MethodGet, notesPath, nil))); p.Code != string(fault.Timeout) {
			t.Errorf("code %s", p.Code)
		}
		if d := time.Since(start); d != time.Minute {
			t.Errorf("after %s", d)
		}
		if w := b.do(request(http.MethodGet, "/v1/jobs/"+sampleID+"/events", nil)); w.Code != http.StatusNoContent {
			t.Errorf("stream: %d %s", w.Code, w.Body)
		}
	})
}

func TestClientGone(t *testing.T) {
	t.Parallel()
	b := newBench(t, DefaultConfig(), map[string]handler{"listNotes": func(c *gin.Context) error { return c.Request.Context().Err() }})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b.do(request(http.MethodGet, notesPath, nil).WithContext(ctx))
	if !strings.Contains(b.log.String(), `"status":499`) || strings.Contains(b.log.String(), "request failed") {
		t.Errorf("log: %s", b.log)
	}
}

func TestRequestID(t *testing.T) {
	t.Parallel()
	b := newBench(t, DefaultConfig(), nil)
	for given, kept := range map[string]bool{"abc-1.2_3": true, "": false, "a b": false, "a\"b": false, strings.Repeat("a", 129): false} {
		w := b.do(request(http.MethodGet, "/healthz", nil, headerRequestID, given))
		got := w.Header().Get(headerRequestID)
		if (got == given) != kept || got == "" {
			t.Errorf("%q: %q", given, got)
		}
	}
}

func TestAccessLogHoldsNoText(t *testing.T) {
	t.Parallel()
	b := newBench(t, DefaultConfig(), echoes)
	b.do(request(http.MethodGet, notesPath+"?cursor=private", nil))
	log := b.log.String()
	for _, want := range []string{`"route":"/v1/collections/:collection/notes"`, `"status":200`, `"tenant":"`} {
		if !strings.Contains(log, want) {
			t.Errorf("no %s in %s", want, log)
		}
	}
	if strings.Contains(log, "private") || strings.Contains(log, "research") || strings.Contains(log, "Bearer") {
		t.Errorf("the log tells too much: %s", log)
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	b := newBench(t, DefaultConfig(), echoes)
	w := b.do(request(http.MethodGet, notesPath, nil, "Origin", "https://app.example.com"))
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
		"Cache-Control": "no-store", "Access-Control-Allow-Origin": "",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	w = b.do(request(http.MethodDelete, notesPath, nil))
	if allow := w.Header().Get("Allow"); !strings.Contains(allow, "GET") || !strings.Contains(allow, "POST") {
		t.Errorf("Allow: %q", allow)
	}
}

func TestCORS(t *testing.T) {
	t.Parallel()
	cfg := DefaultConfig()
	cfg.CORSOrigins = []string{"https://app.example.com"}
	b := newBench(t, cfg, echoes)
	w := b.do(request(http.MethodOptions, notesPath, nil, "Authorization", "", "Origin", "https://app.example.com", "Access-Control-Request-Method", "POST"))
	if w.Code != http.StatusNoContent || w.Header().Get("Access-Control-Allow-Origin") != "https://app.example.com" ||
		!strings.Contains(w.Header().Get("Access-Control-Allow-Headers"), "Idempotency-Key") {
		t.Errorf("preflight: %d %v", w.Code, w.Header())
	}
	w = b.do(request(http.MethodGet, notesPath, nil, "Origin", "https://evil.example.com"))
	if w.Header().Get("Access-Control-Allow-Origin") != "" || w.Header().Get("Vary") != "Origin" {
		t.Errorf("foreign origin: %v", w.Header())
	}
	if err := (Config{CORSOrigins: []string{"app.example.com", "https://a/b"}}).Validate(); err == nil ||
		strings.Count(err.Error(), "\n") != 5 {
		t.Errorf("problems are not reported together: %v", err)
	}
}

func TestPublic(t *testing.T) {
	t.Parallel()
	b := newBench(t, DefaultConfig(), nil)
	for target, want := range map[string]struct{ media, text string }{
		"/healthz":          {mediaJSON, `{"status":"ok"}`},
		"/readyz":           {mediaJSON, `"checks":{}`},
		"/version":          {mediaJSON, `{"commit":"abc","date":"2026-01-01T00:00:00Z","version":"1.2.3"}`},
		"/metrics":          {"text/plain", ""},
		"/docs":             {"text/html", "createNote"},
		"/openapi.yaml":     {"application/yaml", "operationId: createNote"},
		"/healthz?verbose=": {mediaJSON, "ok"},
	} {
		w := b.do(request(http.MethodGet, target, nil, "Authorization", ""))
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), want.media) || !strings.Contains(w.Body.String(), want.text) {
			t.Errorf("%s: %d %s %.200s", target, w.Code, w.Header().Get("Content-Type"), w.Body)
		}
	}
}

func TestReadiness(t *testing.T) {
	t.Parallel()
	b := newBench(t, DefaultConfig(), nil)
	var lines bytes.Buffer
	log := slog.New(slog.NewTextHandler(&lines, nil))
	broken := errors.New("secret dsn")
	b.ready = NewReadiness(log, []Check{
		{Name: "store", Run: func(context.Context) error { return nil }},
		{Name: "schema", Run: func(context.Context) error { return broken }, Notice: "migrate it"},
		{Name: "writes", Run: func(context.Context) error { return broken }, Optional: true, Notice: "make room"},
	})
	for range 30 {
		b.do(request(http.MethodGet, "/readyz", nil))
	}
	w := b.do(request(http.MethodGet, "/readyz", nil))
	if w.Code != http.StatusServiceUnavailable || w.Body.String() != `{"checks":{"schema":"failed","store":"ok","writes":"degraded"},"notices":["migrate it"],"status":"unavailable"}` {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	broken = nil
	b.do(request(http.MethodGet, "/readyz", nil))
	if failed, again := strings.Count(lines.String(), `msg="not ready" check=schema`), strings.Count(lines.String(), `msg="ready again" check=schema`); failed != 1 || again != 1 {
		t.Errorf("the outage has %d lines at its begin and %d at its end, want one each:\n%s", failed, again, &lines)
	}
	b.ready = NewReadiness(log, []Check{
		{Name: "encoder", Run: func(context.Context) error { return errors.New("secret path") }, Optional: true, Notice: "install it"},
		{Name: "redis", Run: func(context.Context) error { return nil }, Optional: true, Notice: "start it"},
		{Name: "model", Run: func(context.Context) error { return fault.Wrap(errors.New("secret url"), fault.Unavailable, "no key") }, Optional: true, Explains: true},
	})
	w = b.do(request(http.MethodGet, "/readyz", nil))
	if w.Code != http.StatusOK || w.Body.String() != `{"checks":{"encoder":"degraded","model":"degraded","redis":"ok"},"notices":["install it","no key"],"status":"ok"}` {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestDocsPageIsSelfContained(t *testing.T) {
	t.Parallel()
	b := newBench(t, DefaultConfig(), nil)
	w := b.do(request(http.MethodGet, "/docs", nil))
	page := w.Body.String()
	for id := range b.doc.operations {
		if !strings.Contains(page, `<article id="`+id+`"`) {
			t.Errorf("%s is not on the page", id)
		}
	}
	for name := range b.doc.table.Schemas {
		if !strings.Contains(page, `<details id="schema-`+name+`"`) {
			t.Errorf("schema %s is not on the page", name)
		}
	}
	for _, link := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(page, -1) {
		if !strings.Contains(page, `id="`+link[1]+`"`) {
			t.Errorf("a link to nowhere: %s", link[1])
		}
	}
	if m := regexp.MustCompile(`(?:src|href)="(?:https?:)?//[^"]*"|url\(|@import`).FindString(page); m != "" {
		t.Errorf("the page loads from elsewhere: %s", m)
	}
	// The hashes in the policy are those of the page's content.
	for open, end := range map[string]string{"<style>": "</style>", "<script>": "</script>"} {
		_, rest, _ := strings.Cut(page, open)
		content, _, _ := strings.Cut(rest, end)
		if !strings.Contains(w.Header().Get("Content-Security-Policy"), hashSource([]byte(content))) {
			t.Errorf("%s is not admitted by %s", open, w.Header().Get("Content-Security-Policy"))
		}
	}
	if strings.Contains(page, "ZgotmplZ") {
		t.Error("the template refused a value")
	}
}

func TestContract(t *testing.T) {
	t.Parallel()
	d := must.Get(loadDocument())(t)
	specs := contracttest.Documents(t)
	valid := map[tenant.Permission]bool{"": true, tenant.OperatorPerm: true}
	for _, p := range tenant.AllPermissions() {
		valid[p] = true
	}
	// Bodies in another project's format.
	foreign := map[string]bool{"importBank": true, "importAgentFile": true, "createChatCompletion": true, "createResponse": true, "createEmbeddings": true}
	for id, op := range d.operations {
		if !op.bodyStreams && op.bodyLimit > maxBufferedBody {
			t.Errorf("%s: a body of %d bytes is more than maxBufferedBody", id, op.bodyLimit)
		}
		if !valid[op.scope] {
			t.Errorf("%s: unknown scope %q", id, op.scope)
		}
		if op.public && op.scope != "" {
			t.Errorf("%s is public and wants a scope", id)
		}
		written := contracttest.OperationNamed(t, id)
		if len(written.Tags) != 1 || specs[""].Tags.Get(written.Tags[0]) == nil || written.Summary == "" {
			t.Errorf("%s: one declared tag and a summary are wanted", id)
		}
		need := []int{400, 401, 403, 422, 429, 503}
		if strings.Contains(op.path, "{") {
			need = append(need, 404)
		}
		if len(op.bodyTypes) > 0 {
			need = append(need, 413, 415)
		}
		if op.public {
			need = nil
		}
		for _, status := range need {
			if written.Responses.Status(status) == nil {
				t.Errorf("%s does not document %d", id, status)
			}
		}
		if body := op.checks().body; body != nil && !foreign[id] && (body.AdditionalProperties.Has == nil || *body.AdditionalProperties.Has) {
			t.Errorf("%s takes unknown fields", id)
		}
		for _, status := range []string{"200", "201"} {
			if ref := written.Responses.Value(status); ref != nil && op.id != "getMetrics" && !op.public && len(ref.Value.Content) == 0 {
				t.Errorf("%s: %s has no body", id, status)
			}
		}
	}
	if op := d.operations["bulkNotes"]; op == nil || op.bodyLimit != 32<<20 || op.checks().body != nil {
		t.Errorf("bulk: %+v", op)
	}
	if op := d.operations["importNotes"]; op == nil || op.bodyLimit != 1<<30 || !op.stream {
		t.Errorf("import: %+v", op)
	}
}

func TestMount(t *testing.T) {
	t.Parallel()
	b := newBench(t, DefaultConfig(), nil)
	nothing := func(*gin.Context) error { return nil }
	if err := b.mountAll(map[string]handler{"nonsense": nothing, "getHealth": nothing}); err == nil ||
		!strings.Contains(err.Error(), "nonsense") || !strings.Contains(err.Error(), "getHealth") {
		t.Errorf("not all problems are reported: %v", err)
	}
	left := b.Unmounted()
	if len(left) == 0 {
		t.Fatal("nothing is unmounted")
	}
	all := map[string]handler{}
	for _, id := range left {
		all[id] = nothing
	}
	// No two routes of the contract conflict in the router.
	must.Do(t, b.mountAll(all))
	if left := b.Unmounted(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestAnswerThatCannotBeRendered(t *testing.T) {
	t.Parallel()
	b := newBench(t, DefaultConfig(), map[string]handler{
		"listNotes": func(c *gin.Context) error { return reply(c, http.StatusOK, json.RawMessage("{")) },
	})
	if p := b.problem(t, b.do(request(http.MethodGet, notesPath, nil))); p.Code != string(fault.Internal) {
		t.Errorf("%+v", p)
	}
}
