package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/api"
	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
)

const (
	headerCreate = "Slipbox-Create"
	mediaJSON    = "application/json"
	mediaNDJSON  = "application/x-ndjson"
	mediaSSE     = "text/event-stream"
	mediaProblem = "application/problem+json"
)

type args = map[string]any

// system is that of apptest, with short names for this package.
type system struct{ *apptest.System }

func newSystem(t *testing.T, change ...func(*apptest.System, *api.Deps, *api.Config)) *system {
	t.Helper()
	return &system{apptest.New(t, change...)}
}

func talkingTo(t *testing.T) (*system, *llmtest.Server) {
	t.Helper()
	b, model := apptest.Talking(t)
	return &system{b}, model
}

func (b *system) call(t *testing.T, credential, method, target, body string, header ...string) response {
	t.Helper()
	return response{b.Call(t, credential, method, target, body, header...)}
}

func (b *system) collection(t *testing.T, credential, name string) string {
	t.Helper()
	return b.Collection(t, credential, name)
}

func (b *system) space(t *testing.T, name, policy string) string {
	t.Helper()
	return b.Space(t, name, policy)
}

func (b *system) note(t *testing.T, credential, collection, content string) string {
	t.Helper()
	return b.Note(t, credential, collection, content)
}

func (b *system) runJobs(t *testing.T) int {
	t.Helper()
	return b.RunJobs(t)
}

type response struct{ apptest.Response }

func (a response) want(status int) response {
	a.T.Helper()
	a.Want(status)
	return a
}

func (a response) refused(status int, code fault.Code, field string) {
	a.T.Helper()
	a.Refused(status, code, field)
}

func (a response) at(path string) any         { a.T.Helper(); return a.At(path) }
func (a response) text(path string) string    { a.T.Helper(); return a.Text(path) }
func (a response) number(path string) float64 { a.T.Helper(); return a.Number(path) }
func (a response) length(path string) int     { a.T.Helper(); return a.Length(path) }
func (a response) lines() []map[string]any    { a.T.Helper(); return a.Lines() }
func dig(v any, path string) any              { return apptest.Dig(v, path) }

func mustJSON(t *testing.T, v any) string             { t.Helper(); return apptest.JSON(t, v) }
func encode(t *testing.T, body map[string]any) string { t.Helper(); return apptest.JSON(t, body) }

// request makes a request with a body in JSON; header are pairs.
func request(credential, method, target, body string, header ...string) *http.Request {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+credential)
	r.Header.Set("Content-Type", mediaJSON)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}
