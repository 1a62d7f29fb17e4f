package api_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/test/must"
)

func TestRerankNeedsAnEndpoint(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "c", "none")
	b.Call(t, "one", "POST", c+"/search", `{"query":"x","rerank":"endpoint"}`).Refused(http.StatusUnprocessableEntity, fault.Invalid, "rerank")
	b.Call(t, "one", "POST", c+"/search", `{"query":"x","rerank":"none"}`).Want(http.StatusOK)
}

// ranked is a system whose searches can ask an endpoint, which answers as told, or fails.
type ranked struct {
	*apptest.System
	service *recall.Service
	answer  atomic.Value
	asked   atomic.Int64
}

func newRanked(t *testing.T, always bool) *ranked {
	t.Helper()
	r := &ranked{System: apptest.New(t)}
	r.answer.Store("")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		r.asked.Add(1)
		said, _ := r.answer.Load().(string)
		if said == "" {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = io.WriteString(w, said)
	}))
	t.Cleanup(server.Close)
	embedders := must.Get(llm.NewRegistry(llm.Deps{}, llm.Config{EmbedProvider: llm.EmbedHash}))(t)
	r.service = must.Get(recall.New(recall.Deps{
		Store: r.Store, Embedders: embedders, Policies: r.Policies, Clock: r.Now,
		Reranker: llm.NewReranker(llm.Deps{Clock: time.Now}, llm.Config{RerankURL: server.URL, RerankModel: "m"}),
	}, recall.Config{RerankAlways: always}))(t)
	return r
}

func (r *ranked) search(t *testing.T, q recall.Query) (recall.Result, []uuid.UUID) {
	t.Helper()
	s := r.Scopes["one"].Scope
	v := must.Get(r.service.Open(t.Context(), s, "c", nil, 0))(t)
	out := must.Get(r.service.Search(t.Context(), s, v, q))(t)
	ids := make([]uuid.UUID, len(out.Hits))
	for i := range out.Hits {
		ids[i] = out.Hits[i].ID
	}
	return out, ids
}

// An endpoint orders the hits when it is asked to, or always. If it fails, the order is that without it, and the result says so.
func TestRerankEndpoint(t *testing.T) {
	t.Parallel()
	for _, always := range []bool{false, true} {
		r := newRanked(t, always)
		c := r.Space(t, "c", "none")
		for _, text := range []string{"the lighthouse keeper", "the lighthouse keeper's daughter sails", "a keeper of bees"} {
			r.Call(t, "one", "POST", c+"/notes", fmt.Sprintf(`{"content":%q}`, text)).Want(http.StatusCreated)
		}
		q := recall.Query{Text: "the lighthouse keeper", K: 3, Rerank: recall.RerankNone}
		_, plain := r.search(t, q)
		if r.asked.Load() != 0 || len(plain) != 3 {
			t.Fatalf("always %t: asked %d times of a query that says none: %v", always, r.asked.Load(), plain)
		}
		if q.Rerank = ""; !always {
			if r.search(t, q); r.asked.Load() != 0 {
				t.Error("the endpoint was asked although no query asked for it")
			}
			q.Rerank = recall.RerankEndpoint
		}
		r.answer.Store(`{"results":[{"index":2,"relevance_score":0.8}]}`)
		if out, ids := r.search(t, q); ids[0] != plain[2] || out.Hits[0].Score != 0.8 || len(ids) != 3 || out.Degraded != "" {
			t.Errorf("always %t: %v %q", always, ids, out.Degraded)
		}
		q.K = 1 // the endpoint sees more than are asked for
		if _, ids := r.search(t, q); len(ids) != 1 || ids[0] != plain[2] {
			t.Errorf("always %t, one hit: %v", always, ids)
		}
		q.K = 3
		r.answer.Store("")
		if out, ids := r.search(t, q); !slices.Equal(ids, plain) || out.Degraded == "" {
			t.Errorf("always %t: it fails: %v %q", always, ids, out.Degraded)
		}
	}
}
