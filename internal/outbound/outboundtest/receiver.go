// Package outboundtest has a service that tests send requests to.
package outboundtest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Receiver is a service on this machine that notes what it gets.
type Receiver struct {
	URL  string
	Host string // with the port

	mu     sync.Mutex
	status int
	got    []http.Header
}

// New starts a receiver that accepts everything.
func New(t *testing.T) *Receiver {
	t.Helper()
	r := &Receiver{status: http.StatusNoContent}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.got = append(r.got, req.Header)
		w.WriteHeader(r.status)
	}))
	t.Cleanup(server.Close)
	r.URL, r.Host = server.URL, strings.TrimPrefix(server.URL, "http://")
	return r
}

// Answer sets the status of later answers.
func (r *Receiver) Answer(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

// Headers returns a header of all requests so far.
func (r *Receiver) Headers(name string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]string, len(r.got))
	for i, h := range r.got {
		out[i] = h.Get(name)
	}
	return out
}
