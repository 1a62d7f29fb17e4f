package llm

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

// reranking returns a reranker of an endpoint that answers as told, and the number of requests that it got.
func reranking(t *testing.T, within time.Duration, answer http.HandlerFunc) (*Reranker, *atomic.Int64) {
	t.Helper()
	asked := &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	cfg := Config{RerankURL: server.URL + "/v2/rerank", RerankModel: "rerank-1", RerankAPIKey: "k", RerankTimeout: within}
	must.Do(t, cfg.Validate())
	return NewReranker(Deps{Clock: time.Now}, cfg), asked
}

// The request and the answer have the form of Cohere. What is not named is not judged.
func TestReranker(t *testing.T) {
	t.Parallel()
	scope := grant.Job(uuid.New(), uuid.Nil)
	ranker, _ := reranking(t, time.Minute, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var got map[string]any
		if err := json.Unmarshal(body, &got); err != nil || r.Method != http.MethodPost || r.URL.Path != "/v2/rerank" || r.Header.Get("Authorization") != "Bearer k" ||
			got["model"] != "rerank-1" || got["query"] != "tea?" || len(got["documents"].([]any)) != 3 || got["top_n"] != 3.0 {
			t.Errorf("%s %s: %s", r.Method, r.URL, body)
		}
		_, _ = io.WriteString(w, `{"id":"x","results":[{"index":2,"relevance_score":0.9,"document":{}},{"index":0,"relevance_score":-1.5}],"meta":{}}`)
	})
	scores, err := ranker.Rerank(t.Context(), scope, "tea?", []string{"a", "b", "c"})
	if err != nil || scores[0] != -1.5 || scores[1] == scores[1] || scores[2] != 0.9 {
		t.Errorf("%v, %v", scores, err)
	}
	if NewReranker(Deps{}, Config{}) != nil {
		t.Error("there is a reranker without an address")
	}
}

// An endpoint that misbehaves is asked once, and one that keeps failing is not asked for a while.
func TestRerankerFails(t *testing.T) {
	t.Parallel()
	scope := grant.Job(uuid.New(), uuid.Nil)
	say := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	ok := func(results string) http.HandlerFunc { return say(200, `{"results":[`+results+`]}`) }
	for name, answer := range map[string]http.HandlerFunc{
		"429": say(429, "slow down"), "500": say(500, ""), "401": say(401, `{"message":"no"}`), "no JSON": say(200, "<html>"), "empty": say(200, ""), "a list": say(200, "[]"),
		"no results": ok(""), "null": say(200, "null"), "too high": ok(`{"index":2,"relevance_score":1}`), "negative": ok(`{"index":-1,"relevance_score":1}`),
		"twice": ok(`{"index":0,"relevance_score":1},{"index":0,"relevance_score":0}`), "no index": ok(`{"relevance_score":1}`), "no score": ok(`{"index":0}`),
		"NaN": ok(`{"index":0,"relevance_score":NaN}`), "text": ok(`{"index":0,"relevance_score":"high"}`), "infinite": ok(`{"index":0,"relevance_score":1e999}`),
		"cut": say(200, `{"results":[{"index":0,`), "huge": say(200, `{"results":[`+strings.Repeat(" ", maxBody)+`]}`),
		"silence": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // or the server does not see that the client has left
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			within := time.Minute
			if name == "silence" {
				within = time.Second
			}
			ranker, asked := reranking(t, within, answer)
			if scores, err := ranker.Rerank(t.Context(), scope, "tea?", []string{"a", "b"}); err == nil {
				t.Errorf("got %v", scores)
			}
			if asked.Load() != 1 {
				t.Errorf("asked %d times", asked.Load())
			}
		})
	}
	ranker, asked := reranking(t, time.Minute, say(500, ""))
	for range 20 {
		_, _ = ranker.Rerank(t.Context(), scope, "tea?", []string{"a"})
	}
	if asked.Load() != DefaultBreakerFailures {
		t.Errorf("an endpoint that fails was asked %d times", asked.Load())
	}
}
