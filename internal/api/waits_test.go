package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

// never is a job that never ends or changes.
type never struct{ Jobs }

func (never) Job(_ context.Context, _ tenant.Scope, id uuid.UUID) (memory.Job, error) {
	return memory.Job{ID: id, Kind: memory.JobNote, State: memory.JobRunning}, nil
}

func (never) Wait(ctx context.Context, _ tenant.Scope, id uuid.UUID, _ int) (memory.Job, error) {
	<-ctx.Done()
	return memory.Job{ID: id}, ctx.Err()
}

func (n never) Watch(ctx context.Context, s tenant.Scope, id uuid.UUID, fn func(memory.Job) error) error {
	j, err := n.Job(ctx, s, id)
	if err != nil {
		return err
	}
	if err := fn(j); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

func (never) Each(ctx context.Context, _ uuid.UUID, _ time.Duration, fn func() (bool, error)) error {
	if more, err := fn(); err != nil || !more {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

// always is an authenticator with one caller.
type always struct{ auth.Principal }

func (a always) Authenticate(context.Context, string) (auth.Principal, error) {
	return a.Principal, nil
}

func neverEnding(t *testing.T) (bench, *core) {
	t.Helper()
	b := newBench(t, DefaultConfig(), nil)
	p := must.Get(keys{}.Authenticate(t.Context(), "all"))(t)
	b.auth = always{p}
	h := &core{Server: b.Server, Core: Core{Jobs: never{}, Waiter: never{}}, waiting: newGate(1), following: newGate(1)}
	return b, h
}

func TestEventsStayAliveAndEndWithTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, h := neverEnding(t)
		must.Do(t, b.mount("streamJob", onID("job", h.streamJob)))
		// A stream that never ends would fill its recorder, because the bubble's clock jumps from
		// comment to comment. The timeout ends a failing test.
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		stream := func() *http.Request {
			return request(http.MethodGet, "/v1/jobs/"+uuid.NewString()+"/events", nil).WithContext(ctx)
		}
		w, over := httptest.NewRecorder(), make(chan struct{})
		go func() {
			defer close(over)
			b.ServeHTTP(w, stream())
		}()
		synctest.Wait()
		if p := b.problem(t, b.do(stream())); p.Status != 429 {
			t.Errorf("a second stream: %d", p.Status)
		}
		<-time.After(41 * time.Second) // of the bubble's clock
		synctest.Wait()
		if n := strings.Count(w.Body.String(), ": alive\n\n"); n != 8 {
			t.Errorf("%d comments: %q", n, w.Body)
		}
		b.Drain()
		b.Drain()
		<-over
		if err := ctx.Err(); err != nil {
			t.Fatalf("the stream did not end with the server: %v", err)
		}
		if _, err := h.following.enter(uuid.Nil); err != nil {
			t.Error("the stream kept its place")
		}
	})
}

func TestWaitEndsInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, h := neverEnding(t)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		job, err := h.waitForJob(ctx, tenant.Scope{}, uuid.New(), 0)
		if err != nil || job.State != memory.JobRunning || time.Since(start) != 8*time.Second {
			t.Errorf("%v, %v after %s", job.State, err, time.Since(start))
		}
		go b.Drain()
		if _, err := h.waitForJob(t.Context(), tenant.Scope{}, uuid.New(), 0); err != nil {
			t.Error(err)
		}
	})
}

// A request that may not wait is refused before it writes, and so is a chat beyond those that a tenant may have. Every tenant has its
// own limits.
func TestWaitersAndChatsAreBounded(t *testing.T) {
	t.Parallel()
	b, h := neverEnding(t)
	h.waiting, h.talking = newGate(2), newGate(1)
	must.Do(t, b.mountAll(map[string]handler{"createNote": onCollectionBody(h.createNote), "chat": onCollection(h.chat), "createChatCompletion": h.createChatCompletion}))
	own := b.auth.(always).Scope.Tenant()
	leave := must.Get(h.waiting.enter(own))(t)
	must.Get(h.waiting.enter(own))(t)
	must.Get(h.talking.enter(own))(t)
	for target, body := range map[string]string{
		notesPath + "?wait=evolved":     `{"content":"a"}`,
		"/v1/collections/research/chat": `{"message":"Hello."}`,
		"/v1/chat/completions":          `{"model":"slipbox","messages":[{"role":"user","content":"Hello."}]}`,
	} {
		w := b.do(request(http.MethodPost, target, strings.NewReader(body), "Slipbox-Collection", "research"))
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
			t.Errorf("%s: %d %v %s", target, w.Code, w.Header(), w.Body)
		}
	}
	for _, g := range []*gate{h.waiting, h.talking} {
		if _, err := g.enter(uuid.New()); err != nil {
			t.Error("one tenant's limit is another's", err)
		}
	}
	leave()
	leave()
	if h.waiting.held[own] != 1 {
		t.Errorf("%d held", h.waiting.held[own])
	}
}
