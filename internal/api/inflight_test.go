package api

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/test/must"
)

// Bodies take at most their share of the memory, for a tenant and for the process, and free it on
// every path.
func TestBodiesInFlight(t *testing.T) {
	t.Parallel()
	f := newInFlight(100, 60)
	ann, bob := uuid.New(), uuid.New()
	first := &share{of: f, tenant: ann}
	for _, n := range []int64{10, 50, 20, 60} {
		must.Do(t, first.resize(n))
	}
	if err := (&share{of: f, tenant: ann}).resize(1); !fault.Is(err, fault.RateLimited) {
		t.Errorf("over the tenant's share: %v", err)
	}
	second := &share{of: f, tenant: bob}
	if err := second.resize(41); !fault.Is(err, fault.Unavailable) {
		t.Errorf("over the share of the process: %v", err)
	}
	if err := second.resize(40); err != nil {
		t.Error(err)
	}
	first.release()
	first.release()
	second.release()
	if f.used != 0 || len(f.byTenant) != 0 {
		t.Errorf("left: %d, %v", f.used, f.byTenant)
	}
}

// A body is reserved as it arrives, not by the length that its client declares.
func TestBodyIsReservedAsItArrives(t *testing.T) {
	t.Parallel()
	f := newInFlight(1<<30, 1<<30)
	for _, n := range []int{0, 1, firstRead - 1, firstRead, firstRead + 1, 3*firstRead + 5} {
		for _, most := range []int64{int64(n), 1 << 20} {
			s := &share{of: f}
			raw, err := readAll(strings.NewReader(strings.Repeat("x", n)), most, s)
			if err != nil || len(raw) != n || s.held > max(2*int64(n), firstRead)+1 || s.held != int64(cap(raw)) || s.held > most+1 {
				t.Errorf("%d of %d bytes: read %d, reserved %d: %v", n, most, len(raw), s.held, err)
			}
			s.release()
		}
	}
	s := &share{of: f}
	if _, err := readAll(io.MultiReader(strings.NewReader("abc"), brokenReader{}), maxBufferedBody, s); err == nil || s.held > firstRead {
		t.Errorf("a body that ends early reserved %d: %v", s.held, err)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// A request over its share is refused with Retry-After, and every way out of a request frees its
// share.
func TestBodiesAreFreedOnEveryPath(t *testing.T) {
	t.Parallel()
	inside, leave := make(chan struct{}), make(chan struct{})
	b := newBench(t, DefaultConfig(), map[string]handler{"createNote": func(c *gin.Context) error {
		switch c.GetHeader("X-Path") {
		case "wait":
			inside <- struct{}{}
			<-leave
		case "panic":
			panic("on purpose")
		case "fail":
			return errors.New("on purpose")
		}
		return noContent(c)
	}})
	p := must.Get(b.auth.Authenticate(t.Context(), "all"))(t)
	b.auth = always{p} // one tenant
	content := strings.Repeat("x", 60<<10)
	do := func(path, body string) *httptest.ResponseRecorder {
		return b.do(request(http.MethodPost, notesPath, strings.NewReader(body), "X-Path", path))
	}
	valid := `{"content":"` + content + `"}`
	var waiting sync.WaitGroup
	refused := func(what string, status int, code fault.Code) {
		t.Helper()
		waiting.Go(func() { do("wait", valid) })
		<-inside
		w := do("", valid)
		if w.Code != status || w.Header().Get("Retry-After") != "1" || b.problem(t, w).Code != string(code) {
			t.Errorf("%s: %d %v %s", what, w.Code, w.Header(), w.Body)
		}
		if small := do("", `{"content":"a"}`); small.Code != http.StatusNoContent {
			t.Errorf("%s: a small body: %d", what, small.Code)
		}
		leave <- struct{}{}
		waiting.Wait()
	}
	b.bodies = newInFlight(1<<20, 100<<10)
	refused("over the tenant's share", http.StatusTooManyRequests, fault.RateLimited)
	b.bodies = newInFlight(100<<10, 1<<20)
	refused("over the share of the process", http.StatusServiceUnavailable, fault.Unavailable)
	for _, tc := range []struct {
		path, body string
		status     int
	}{
		{"", valid, http.StatusNoContent},
		{"fail", valid, http.StatusInternalServerError},
		{"panic", valid, http.StatusInternalServerError},
		{"", `{"content":"` + content, http.StatusBadRequest},
		{"", `{"tags":["` + content + `"]}`, http.StatusUnprocessableEntity},
		{"", `{"content":"` + strings.Repeat("x", 1<<20) + `"}`, http.StatusRequestEntityTooLarge},
	} {
		if w := do(tc.path, tc.body); w.Code != tc.status {
			t.Errorf("%s: status %d, want %d: %.200s", tc.path, w.Code, tc.status, w.Body)
		}
	}
	b.do(request(http.MethodPost, notesPath, io.MultiReader(strings.NewReader(valid[:1000]), brokenReader{})))
	if b.bodies.used != 0 || len(b.bodies.byTenant) != 0 {
		t.Errorf("left: %d, %v", b.bodies.used, b.bodies.byTenant)
	}
}
