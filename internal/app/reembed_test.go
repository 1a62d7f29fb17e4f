package app

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/encoder/weights/weightstest"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
)

// A job changes a collection to another embedder, and its process is stopped in the middle.
// Searches use the old vectors, another process continues the job, and the base keeps its vectors.
func TestReembedEndToEnd(t *testing.T) {
	t.Parallel()
	const notes = 150
	ways := map[string]func(t *testing.T, set func(*Settings)) (g *gatewayTest, again func() *gatewayTest){
		"embedded": func(t *testing.T, set func(*Settings)) (*gatewayTest, func() *gatewayTest) {
			t.Helper()
			data := t.TempDir()
			here := func(c *Settings) { set(c); c.Data = data }
			g := startGateway(t, here)
			return g, func() *gatewayTest {
				g.stop()
				later, _ := launch(t, settings(t, nil, here))
				later.key = g.key
				return later
			}
		},
		"servers": func(t *testing.T, set func(*Settings)) (*gatewayTest, func() *gatewayTest) {
			t.Helper()
			s := newServers(t, true)
			w := s.worker(set)
			g := s.gateway(set)
			return g, func() *gatewayTest {
				w.stop()
				s.worker(set)
				return g
			}
		},
	}
	for name, start := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := llmtest.New(t)
			model.EmbedDim(256)
			var batches atomic.Int64
			var stuck atomic.Bool
			stuck.Store(true)
			model.Handle(llmtest.Embed, func(r llmtest.Request) llmtest.Reply {
				if len(r.Inputs) > 1 && batches.Add(1) > 2 && stuck.Load() {
					return llmtest.Hang()
				}
				return llmtest.Default()
			})
			g, again := start(t, func(c *Settings) {
				c.LLM.EmbedProvider, c.LLM.EmbedBaseURL, c.LLM.EmbedModel, c.LLM.EmbedDim = "openai", model.URL(), "words", 256
				c.LLM.EmbedCache = -1
				c.StopTimeout = 8 * time.Second // the stop waits for the call that hangs
			})
			const other = "words@256"
			g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "base", "embedder": llm.HashName, "policy": "none"})
			var lines strings.Builder
			for i := range notes {
				fmt.Fprintf(&lines, `{"content":"note %d about harbour%d"}`+"\n", i, i)
			}
			if status, out := g.send(http.Header{"Content-Type": {"application/x-ndjson"}}, http.MethodPost, "/v1/collections/base/notes/bulk", lines.String()); status != http.StatusOK {
				t.Fatalf("bulk: status %d: %v", status, out)
			}
			g.call(http.StatusCreated, http.MethodPost, "/v1/collections/base/clone", object{"name": "fork"})
			finds := func(collection string) {
				t.Helper()
				answer := g.call(http.StatusOK, http.MethodPost, "/v1/collections/"+collection+"/search", object{"query": "note 77 about harbour77", "mode": "vector"})
				if hits := answer["hits"].([]any); len(hits) == 0 || hits[0].(object)["note"].(object)["content"] != "note 77 about harbour77" {
					t.Errorf("%s does not find the note: %v", collection, hits)
				}
			}
			embedder := func(collection string) any {
				return g.call(http.StatusOK, http.MethodGet, "/v1/collections/"+collection, nil)["embedder"]
			}
			finds("fork")

			g.call(http.StatusUnprocessableEntity, http.MethodPost, "/v1/collections/fork/reembed", object{"embedder": "bert"})
			job := g.call(http.StatusAccepted, http.MethodPost, "/v1/collections/fork/reembed", object{"embedder": other})["job"].(object)["id"].(string)
			same := g.call(http.StatusAccepted, http.MethodPost, "/v1/collections/fork/reembed", object{"embedder": other})["job"].(object)["id"]
			if same != job {
				t.Errorf("asked twice it is job %v and job %v", job, same)
			}
			g.call(http.StatusConflict, http.MethodPost, "/v1/collections/fork/reembed", object{"embedder": llm.HashName})
			state := func() object { return g.call(http.StatusOK, http.MethodGet, "/v1/jobs/"+job, nil) }
			g.until("two batches are done", func() bool {
				p, ok := state()["progress"].(object)
				return ok && p["done"] == 64.0 && p["total"] == float64(notes)
			})
			finds("fork")
			if embedder("fork") != llm.HashName {
				t.Errorf("half way the embedder is %v", embedder("fork"))
			}
			g.call(http.StatusCreated, http.MethodPost, "/v1/collections/fork/notes", object{"content": "written meanwhile", "infer": false})

			stuck.Store(false) // for new calls only: the one that hangs keeps hanging
			g = again()
			g.until("the job is done", func() bool { return state()["state"] == "done" })
			if embedder("fork") != other || embedder("base") != llm.HashName {
				t.Errorf("the fork has %v, the base %v", embedder("fork"), embedder("base"))
			}
			finds("fork")
			finds("base")
			if found := g.search("fork", "written meanwhile", "vector"); len(found) == 0 {
				t.Error("what was written meanwhile is not found by meaning")
			}
			asked := 0
			for _, r := range model.RequestsOf(llmtest.Embed) {
				if len(r.Inputs) > 1 {
					asked += len(r.Inputs)
				}
			}
			if asked > notes+1+2*32 { // the batch that hung is embedded again
				t.Errorf("%d texts were asked for, of %d notes", asked, notes)
			}
			if n := g.call(http.StatusOK, http.MethodGet, "/v1/collections/fork", nil)["counts"].(object)["pending"]; n != 0.0 {
				t.Errorf("%v notes wait", n)
			}
		})
	}
}

// A collection moves from the published encoders, or those of 0.1.0, to those that are trained on talk, and is found by the vectors of
// each in both languages.
func TestReembedForTalk(t *testing.T) {
	t.Parallel()
	for _, from := range []string{llm.ByLanguageName, llm.Talk2Name} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			reembedForTalk(t, from)
		})
	}
}

func reembedForTalk(t *testing.T, from string) {
	t.Helper()
	dir := weightstest.Dir(t)
	g := startGateway(t, func(c *Settings) { c.LLM.EncoderDir = dir })
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "chat", "policy": "none", "embedder": from})
	for _, content := range []string{"We sold the farm last week.", "Der Zug fährt um acht.", "我对花生过敏。", "The meeting is in room three."} {
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections/chat/notes", object{"content": content, "infer": false})
	}
	found := func(embedder string) {
		t.Helper()
		if got := g.call(http.StatusOK, http.MethodGet, "/v1/collections/chat", nil)["embedder"]; got != embedder {
			t.Errorf("the embedder is %v, not %s", got, embedder)
		}
		for query, want := range map[string]string{"Who is allergic to peanuts?": "我对花生过敏。", "What happened to their land?": "We sold the farm last week."} {
			answer := g.call(http.StatusOK, http.MethodPost, "/v1/collections/chat/search", object{"query": query, "mode": "vector", "k": 1})
			if hits := answer["hits"].([]any); len(hits) != 1 || hits[0].(object)["note"].(object)["content"] != want {
				t.Errorf("%q finds %v", query, hits)
			}
		}
	}
	found(from)
	job := g.call(http.StatusAccepted, http.MethodPost, "/v1/collections/chat/reembed", object{"embedder": llm.TalkName})["job"].(object)["id"].(string)
	g.until("the job is done", func() bool {
		return g.call(http.StatusOK, http.MethodGet, "/v1/jobs/"+job, nil)["state"] == "done"
	})
	found(llm.TalkName)
}

// After an upgrade from 0.1.0 a user has collections with either embedder. One search and one context read them together, each note by
// vectors of its own embedder, and so do collections of which one is moved.
func TestSearchAcrossReleases(t *testing.T) {
	t.Parallel()
	dir := weightstest.Dir(t)
	g := startGateway(t, func(c *Settings) { c.LLM.EncoderDir = dir })
	said := map[string]string{"old": "我对花生过敏。", "new": "Der Zug fährt um acht."}
	for name, embedder := range map[string]string{"old": llm.Talk2Name, "new": llm.TalkName, "published": llm.ByLanguageName} {
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": name, "policy": "none", "embedder": embedder})
		for _, content := range []string{said[name], "We sold the farm last week.", "The meeting is in room three."} {
			if content != "" {
				g.call(http.StatusCreated, http.MethodPost, "/v1/collections/"+name+"/notes", object{"content": name + ": " + content, "infer": false})
			}
		}
	}
	for query, want := range map[string]string{"Who is allergic to peanuts?": "old: " + said["old"], "When does the train leave?": "new: " + said["new"]} {
		for _, mode := range []string{"vector", "hybrid"} {
			for _, names := range [][]string{{"old", "new"}, {"new", "old"}} {
				answer := g.call(http.StatusOK, http.MethodPost, "/v1/search", object{"collections": names, "query": query, "mode": mode, "k": 2})
				first := answer["hits"].([]any)[0].(object)
				name, _, _ := strings.Cut(want, ":")
				alone := g.call(http.StatusOK, http.MethodPost, "/v1/collections/"+name+"/search", object{"query": query, "mode": "vector", "k": 1})["hits"].([]any)[0].(object)
				if first["note"].(object)["content"] != want || mode == "vector" && first["score"] != alone["score"] || answer["degraded"] != nil {
					t.Errorf("%s, %s of %v: %v, alone %v", query, mode, names, answer, alone["score"])
				}
			}
		}
		text := g.call(http.StatusOK, http.MethodPost, "/v1/context", object{"collections": []string{"old", "new"}, "query": query})["text"]
		if !strings.Contains(text.(string), want) {
			t.Errorf("the context about %q: %v", query, text)
		}
	}
	g.call(http.StatusConflict, http.MethodPost, "/v1/search", object{"collections": []string{"published", "new"}, "query": "farm"})
	g.call(http.StatusConflict, http.MethodPost, "/v1/search", object{"collections": []string{"old", "new"}, "vector": append(make([]float32, 383), 1)})
}
