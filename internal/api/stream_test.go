package api_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api"
	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/chat"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

// unending is a waiter for which nothing ends, and an authenticator whose keys are all revoked at some time.
type unending struct {
	*apptest.System
	revoked atomic.Bool
}

func (u *unending) Authenticate(ctx context.Context, credential string) (auth.Principal, error) {
	if u.revoked.Load() {
		return auth.Principal{}, fault.New(fault.Unauthenticated, "the key is revoked")
	}
	return u.System.Authenticate(ctx, credential)
}

func (u *unending) Watch(ctx context.Context, s tenant.Scope, job uuid.UUID, fn func(memory.Job) error) error {
	j, err := u.Store.Job(ctx, s, job)
	if err != nil {
		return err
	}
	return u.Each(ctx, j.Collection, 0, func() (bool, error) { return true, fn(j) })
}

func (*unending) Each(ctx context.Context, _ uuid.UUID, _ time.Duration, fn func() (bool, error)) error {
	if _, err := fn(); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

// dripping is a model's endpoint that answers word by word and never ends, or says nothing, until its caller leaves.
type dripping struct {
	silent bool
	left   atomic.Bool
}

func (d *dripping) RoundTrip(r *http.Request) (*http.Response, error) {
	if d.silent {
		<-r.Context().Done()
		d.left.Store(true)
		return nil, r.Context().Err()
	}
	out, in := io.Pipe()
	go func() {
		defer d.left.Store(true)
		drip := time.NewTicker(time.Second)
		defer drip.Stop()
		for {
			select {
			case <-r.Context().Done():
				_ = in.CloseWithError(r.Context().Err())
				return
			case <-drip.C:
			}
			if _, err := io.WriteString(in, `data: {"choices":[{"index":0,"delta":{"content":"word "}}]}`+"\n\n"); err != nil {
				return
			}
		}
	}()
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: out}, nil
}

// answering makes chats ask a model.
func answering(t *testing.T, d *api.Deps, model http.RoundTripper) {
	t.Helper()
	proxy := must.Get(llm.NewChatProxy(llm.Deps{Clock: time.Now, Transport: model}, llm.Config{BaseURL: "http://model.test/v1", Model: "fake-1", MaxTries: 1, Timeout: time.Hour}))(t)
	d.Core.Chat = must.Get(chat.New(chat.Deps{Recall: d.Core.Recall, Notes: d.Core.Notes, Models: chat.Models{Main: proxy}}, chat.Config{Timeout: time.Hour}))(t)
}

// Each stream ends within seconds of the revocation of its key, and says why. The request to the model ends, too.
func TestStreamsEndWithTheKey(t *testing.T) {
	t.Parallel()
	const asked, event = `"stream":true,"messages":[{"role":"user","content":"Hello."}]}`, "event: error\ndata: {"
	space := func(more string) func(*testing.T, *apptest.System) string {
		return func(t *testing.T, b *apptest.System) string {
			t.Helper()
			return b.Collection(t, "one", "space") + more
		}
	}
	openAI := func(path string) func(*testing.T, *apptest.System) string {
		return func(t *testing.T, b *apptest.System) string {
			t.Helper()
			b.Collection(t, "one", "space")
			return path
		}
	}
	for name, x := range map[string]struct {
		path   func(t *testing.T, b *apptest.System) string
		body   string // "": a GET
		silent bool   // the model, and nothing was sent
		last   string // what the last event begins with; "": nothing was sent, and the answer is a refusal
	}{
		"the events of a job": {path: func(t *testing.T, b *apptest.System) string {
			t.Helper()
			return "/v1/jobs/" + b.Call(t, "one", "POST", b.Collection(t, "one", "space")+"/notes", `{"content":"a"}`).Want(http.StatusCreated).Text("job.id") + "/events"
		}, last: event},
		"the changes of a collection": {path: space("/changes"), last: event},
		"a run of an agent": {path: func(t *testing.T, b *apptest.System) string {
			t.Helper()
			c := b.Agent(t, "agent", `{}`)
			return c + "/runs/" + b.Call(t, "one", "POST", c+"/events", `{"content":"a"}`).Want(http.StatusAccepted).Text("run")
		}, last: event},
		"a chat": {path: space("/chat"), body: `{` + asked, last: event},
		"a chat with an agent": {path: func(t *testing.T, b *apptest.System) string {
			t.Helper()
			return b.Agent(t, "agent", `{}`) + "/chat"
		}, body: `{` + asked},
		"a completion":                {path: openAI("/v1/chat/completions"), body: `{"model":"slipbox@space",` + asked, last: `data: {"error":{`},
		"a response":                  {path: openAI("/v1/responses"), body: `{"model":"slipbox@space","stream":true,"input":"Hello."}`, last: event},
		"a chat before its answer":    {path: space("/chat"), body: `{` + asked, silent: true},
		"a completion before it":      {path: openAI("/v1/chat/completions"), body: `{"model":"slipbox@space",` + asked, silent: true},
		"a response before its words": {path: openAI("/v1/responses"), body: `{"model":"slipbox@space","stream":true,"input":"Hello."}`, silent: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u, model := &unending{}, &dripping{silent: x.silent}
				b := apptest.New(t, func(b *apptest.System, d *api.Deps, _ *api.Config) {
					u.System, d.Auth, d.Core.Waiter = b, u, u
					answering(t, d, model)
				})
				// The timeout ends a stream that does not end: the bubble's clock jumps from comment to comment.
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				method := http.MethodGet
				if x.body != "" {
					method = http.MethodPost
				}
				r := httptest.NewRequestWithContext(ctx, method, x.path(t, b), strings.NewReader(x.body))
				r.Header.Set("Authorization", "Bearer one")
				r.Header.Set("Accept", "text/event-stream")
				w, began := httptest.NewRecorder(), time.Now()
				time.AfterFunc(12*time.Second+time.Millisecond, func() { u.revoked.Store(true) })
				b.ServeHTTP(w, r)
				status, took := http.StatusOK, time.Since(began)
				if x.last == "" {
					status = http.StatusUnauthorized
				}
				events := strings.Split(strings.TrimSpace(w.Body.String()), "\n\n")
				last := events[len(events)-1]
				if w.Code != status || took < 12*time.Second || took > 17*time.Second || !strings.HasPrefix(last, x.last) || !strings.Contains(last, "the key is revoked") {
					t.Errorf("%d, ended after %s: %s", w.Code, took, w.Body)
				}
				synctest.Wait()
				if asksModel := x.body != "" && name != "a chat with an agent"; model.left.Load() != asksModel {
					t.Errorf("the request to the model has ended: %t", !asksModel)
				}
			})
		})
	}
}

// A stream ends when its key is revoked, its tenant suspended, or its token expired.
func TestStreamsEndWithWhatTheyRestOn(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, b *apptest.System, d *api.Access, key string){
		"a revoked key": func(t *testing.T, b *apptest.System, _ *api.Access, key string) {
			t.Helper()
			b.Call(t, "one", "POST", "/v1/api-keys/"+key+"/revoke", "").Want(http.StatusNoContent)
		},
		"a suspended tenant": func(t *testing.T, _ *apptest.System, d *api.Access, _ string) {
			t.Helper()
			must.Get(d.Tenants.Suspend(t.Context(), grant.Operator("test"), "one"))(t)
		},
		"the end of a token": func(_ *testing.T, b *apptest.System, _ *api.Access, _ string) { b.Pass(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				model := &dripping{}
				var access *api.Access
				b := apptest.New(t, withAccess(t), func(_ *apptest.System, d *api.Deps, _ *api.Config) {
					answering(t, d, model)
					access = d.Access
				})
				b.Collection(t, "one", "space")
				key := b.Call(t, "one", "POST", "/v1/api-keys", `{"scopes":["notes:read","notes:write"]}`).Want(http.StatusCreated)
				token := b.Call(t, key.Text("key"), "POST", "/v1/auth/token", "").Want(http.StatusOK).Text("access_token")
				time.AfterFunc(12*time.Second+time.Millisecond, func() { end(t, b, access, key.Text("id")) })
				began := time.Now()
				w := b.Call(t, token, "POST", "/v1/chat/completions", `{"model":"slipbox@space","stream":true,"messages":[{"role":"user","content":"Hello."}]}`).Want(http.StatusOK)
				if took := time.Since(began); took > 17*time.Second || !strings.Contains(w.Body.String(), `"authentication_error"`) {
					t.Errorf("ended after %s: %s", took, w.Body)
				}
			})
		})
	}
}
