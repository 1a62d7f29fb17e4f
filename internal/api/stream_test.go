package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api"
	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
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

// Each stream ends within seconds of the revocation of its key.
func TestStreamsEndWithTheKey(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]func(t *testing.T, b *apptest.System) string{
		"the events of a job": func(t *testing.T, b *apptest.System) string {
			t.Helper()
			return "/v1/jobs/" + b.Call(t, "one", "POST", b.Collection(t, "one", "space")+"/notes", `{"content":"a"}`).Want(http.StatusCreated).Text("job.id") + "/events"
		},
		"the changes of a collection": func(t *testing.T, b *apptest.System) string {
			t.Helper()
			return b.Collection(t, "one", "space") + "/changes"
		},
		"a run of an agent": func(t *testing.T, b *apptest.System) string {
			t.Helper()
			c := b.Agent(t, "agent", `{}`)
			return c + "/runs/" + b.Call(t, "one", "POST", c+"/events", `{"content":"a"}`).Want(http.StatusAccepted).Text("run")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u := &unending{}
				b := apptest.New(t, func(b *apptest.System, d *api.Deps, _ *api.Config) {
					u.System, d.Auth, d.Core.Waiter = b, u, u
				})
				// The timeout ends a stream that does not end: the bubble's clock jumps from comment to comment.
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				r := httptest.NewRequestWithContext(ctx, http.MethodGet, path(t, b), nil)
				r.Header.Set("Authorization", "Bearer one")
				r.Header.Set("Accept", "text/event-stream")
				w, began := httptest.NewRecorder(), time.Now()
				time.AfterFunc(12*time.Second, func() { u.revoked.Store(true) })
				b.ServeHTTP(w, r)
				if took := time.Since(began); w.Code != http.StatusOK || took < 12*time.Second || took > 17*time.Second {
					t.Errorf("%d, ended after %s: %s", w.Code, took, w.Body)
				}
			})
		})
	}
}
