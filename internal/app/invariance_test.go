//go:build night

package app

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/eval"
	"github.com/slipboxhq/slipbox/test/corpus"
)

// rankedList is the answer to one question in one mode.
type rankedList struct {
	turns  []string
	scores []float64
}

// rankedLists are the answers to all questions of a conversation, by mode and question.
type rankedLists map[string]rankedList

// equal returns an error for the first difference: another order, or a score that differs by more
// than 1e-5.
func (l rankedLists) equal(other rankedLists) error {
	if len(l) == 0 || len(l) != len(other) {
		return fmt.Errorf("%d lists and %d", len(l), len(other))
	}
	for q, a := range l {
		b := other[q]
		if !slices.Equal(a.turns, b.turns) {
			i := 0
			for i < min(len(a.turns), len(b.turns)) && a.turns[i] == b.turns[i] {
				i++
			}
			return fmt.Errorf("%s: %d turns and %d, other ones from rank %d: %v and %v", q, len(a.turns), len(b.turns), i+1, a.from(i), b.from(i))
		}
		for i := range a.scores {
			if math.Abs(a.scores[i]-b.scores[i]) > 1e-5 {
				return fmt.Errorf("%s: %s at rank %d scores %v and %v", q, a.turns[i], i+1, a.scores[i], b.scores[i])
			}
		}
	}
	return nil
}

func (l rankedList) from(i int) string {
	var b strings.Builder
	for j := i; j < min(i+3, len(l.turns)); j++ {
		fmt.Fprintf(&b, "%s %.7f ", l.turns[j], l.scores[j])
	}
	return b.String()
}

// invariance is a gateway that holds conversations, each under a tenant of its own.
type invariance struct {
	t    *testing.T
	site *servers
	g    *gatewayTest
	set  func(*Settings)
	held []*loadedTalk
}

// loadedTalk is one conversation in the collection "talk" of a tenant.
type loadedTalk struct {
	conversation *eval.Conversation
	key          string
	loaded       eval.Loaded
	first        rankedLists // all later ones are compared with it
}

func newInvariance(t *testing.T, site *servers, conversations []eval.Conversation, set func(*Settings)) *invariance {
	t.Helper()
	v := &invariance{t: t, site: site, set: set}
	for i := range conversations {
		h := &loadedTalk{conversation: &conversations[i]}
		site.admin(func(a *Admin) error {
			name := fmt.Sprintf("talker-%d", i)
			if _, err := a.CreateTenant(t.Context(), name); err != nil {
				return err
			}
			k, err := a.CreateKey(t.Context(), name, NewKey{Name: "test"})
			h.key = k.Text
			return err
		})
		v.held = append(v.held, h)
	}
	v.g = site.gateway(set)
	return v
}

// as returns the gateway with the key of a conversation's tenant.
func (v *invariance) as(h *loadedTalk) *gatewayTest {
	g := *v.g
	g.key = h.key
	return &g
}

func (v *invariance) client(h *loadedTalk) *eval.Client {
	return &eval.Client{BaseURL: v.g.url, Key: h.key}
}

// ask returns the lists of all questions in all modes. It fails for a hit that is not a note of the
// conversation: nothing may leak.
func (v *invariance) ask(h *loadedTalk, c *eval.Client, collection string, ids map[string]string, asOf int64) rankedLists {
	v.t.Helper()
	loaded := eval.Loaded{IDs: ids}
	out := rankedLists{}
	for _, q := range h.conversation.Questions {
		for _, mode := range []string{eval.Lexical, eval.Vector, eval.Hybrid} {
			found, err := c.Search(v.t.Context(), collection, eval.Query{Text: q.Text, Mode: mode, K: 50, AsOf: asOf, Fields: []string{"id"}})
			if err != nil {
				v.t.Fatal(err)
			}
			turns, err := loaded.Turns(found.Hits)
			if err != nil {
				v.t.Fatalf("%s: %q: %v", collection, q.Text, err)
			}
			list := rankedList{turns: turns}
			for _, hit := range found.Hits {
				list.scores = append(list.scores, hit.Score)
			}
			out[mode+" "+q.Text] = list
		}
	}
	return out
}

// same asks over HTTP and compares with the first lists.
func (v *invariance) same(what string, h *loadedTalk, collection string, ids map[string]string, asOf int64) {
	v.t.Helper()
	if err := h.first.equal(v.ask(h, v.client(h), collection, ids, asOf)); err != nil {
		v.t.Errorf("%s, %s: %v", h.conversation.ID, what, err)
	}
}

func (v *invariance) load(h *loadedTalk) {
	v.t.Helper()
	var err error
	if h.loaded, err = eval.Load(v.t.Context(), v.client(h), "talk", "none", h.conversation, nil); err != nil {
		v.t.Fatal(err)
	}
	if h.loaded.Failed > 0 || h.loaded.Pending > 0 {
		v.t.Fatalf("loaded: %+v", h.loaded)
	}
}

// waitUntilIdle waits until the collection's jobs have ended and every note has its vector.
func (v *invariance) waitUntilIdle(g *gatewayTest, h *loadedTalk, collection string) {
	v.t.Helper()
	id := g.call(http.StatusOK, http.MethodGet, "/v1/collections/"+collection, nil)["id"].(string)
	g.until("the jobs of "+collection+" are done", func() bool {
		n, err := v.client(h).OpenJobs(v.t.Context(), id)
		if err != nil {
			v.t.Fatal(err)
		}
		return n == 0 && g.call(http.StatusOK, http.MethodGet, "/v1/collections/"+collection, nil)["counts"].(object)["pending"] == 0.0
	})
}

// TestSearchIsInvariant stores and reaches one conversation in every possible way and asks the same
// questions: the ranked lists are equal, with scores to 1e-5.
func TestSearchIsInvariant(t *testing.T) {
	t.Parallel()
	// Use the local encoder when its weights are installed, for its token vectors.
	local := func(c *Settings) { c.LLM.EmbedProvider = "" }
	t.Run("samples", func(t *testing.T) {
		t.Parallel()
		talk, err := eval.SampleTalk()
		if err != nil {
			t.Fatal(err)
		}
		chat, err := eval.SampleChat()
		if err != nil {
			t.Fatal(err)
		}
		searchIsInvariant(t, slices.Concat(talk.Conversations, chat.Conversations), local)
	})
	t.Run("published", func(t *testing.T) {
		t.Parallel()
		dir := os.Getenv("EVAL_DATA")
		if dir == "" {
			t.Skip("EVAL_DATA is not set: the published conversations are not part of this repository")
		}
		d, err := eval.ReadLoCoMo(dir)
		if err != nil {
			t.Fatal(err)
		}
		searchIsInvariant(t, d.Conversations, local)
	})
}

func searchIsInvariant(t *testing.T, conversations []eval.Conversation, set func(*Settings)) {
	t.Helper()
	engines := map[string][]rankedLists{}
	for name, site := range map[string]func(t *testing.T) *servers{
		"embedded": func(t *testing.T) *servers {
			t.Helper()
			dir := t.TempDir()
			s := &servers{t: t, base: func(c *Settings) { c.Data = dir }}
			first, _ := launch(t, s.settings(set)) // creates the store that tenants are added to
			first.stop()
			return s
		},
		"postgres": func(t *testing.T) *servers { t.Helper(); return newServers(t, false) },
	} {
		t.Run(name, func(t *testing.T) {
			v := newInvariance(t, site(t), conversations, set)
			engines[name] = v.check()
		})
	}
	a, b := engines["embedded"], engines["postgres"]
	if a == nil || b == nil {
		return // one of them failed, or Postgres is missing
	}
	for i := range a {
		if err := a[i].equal(b[i]); err != nil {
			t.Errorf("%s, embedded and on Postgres: %v", conversations[i].ID, err)
		}
	}
}

// check returns the lists that everything was compared with, by conversation.
func (v *invariance) check() []rankedLists {
	var out []rankedLists
	for _, h := range v.held { // each is asked before the next one is loaded
		v.load(h)
		h.first = v.ask(h, v.client(h), "talk", h.loaded.IDs, 0)
		out = append(out, h.first)
	}
	for i, h := range v.held {
		v.t.Logf("%s: %d of %d", h.conversation.ID, i+1, len(v.held))
		v.same("warm, with all others under other tenants", h, "talk", h.loaded.IDs, 0)
		in := &eval.Client{BaseURL: "http://in.process", Key: h.key, HTTP: &http.Client{Transport: inProcess{v.g.handler}}}
		if err := h.first.equal(v.ask(h, in, "talk", h.loaded.IDs, 0)); err != nil {
			v.t.Errorf("%s, in process: %v", h.conversation.ID, err)
		}
		v.written(h)
		v.cloned(h)
	}
	var heads []int64
	for i, h := range v.held {
		g := v.as(h)
		heads = append(heads, int64(g.call(http.StatusOK, http.MethodGet, "/v1/collections/talk", nil)["head_revision"].(float64)))
		words := corpus.New(uint64(i) + 7)
		notes := make([]eval.Note, 500)
		for j := range notes {
			notes[j] = eval.Note{Content: words.Query(), Kind: "message", Infer: new(false)}
		}
		if _, err := v.client(h).AddNotes(v.t.Context(), "talk", notes); err != nil {
			v.t.Fatal(err)
		}
		v.waitUntilIdle(g, h, "talk")
		v.same("as of its head before 500 other notes", h, "talk", h.loaded.IDs, heads[i])
		v.same("in a fork from before 500 other notes", h, "fork", h.loaded.IDs, 0)
	}
	v.g.stop()
	v.g = v.site.gateway(v.set)
	for i, h := range v.held {
		v.same("after a restart, cold", h, "copy", h.loaded.IDs, 0)
		v.same("after a restart, cold, in a fork's fork", h, "fork-of-fork", h.loaded.IDs, 0)
		v.same("after a restart, as of the head of then", h, "talk", h.loaded.IDs, heads[i])
		v.same("after a restart, warm", h, "copy", h.loaded.IDs, 0)
	}
	return out
}

// written checks the ways to write: single notes and an import. The first load used bulk.
func (v *invariance) written(h *loadedTalk) {
	v.t.Helper()
	g := v.as(h)
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "single", "policy": "none"})
	ids := map[string]string{}
	var lines strings.Builder
	turns := map[string]string{}
	for id, turn := range h.loaded.IDs {
		turns[turn] = id
	}
	for _, turn := range h.conversation.Turns {
		body := object{"content": turn.Text, "kind": "message", "occurred_at": turn.At}
		if turn.Attributes != nil {
			body["attributes"] = turn.Attributes
		}
		body["id"] = turns[turn.ID]
		line, err := json.Marshal(body)
		if err != nil {
			v.t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
		delete(body, "id")
		body["infer"] = false
		made := g.call(http.StatusCreated, http.MethodPost, "/v1/collections/single/notes", body)
		ids[made["note"].(object)["id"].(string)] = turn.ID
	}
	v.waitUntilIdle(g, h, "single")
	v.same("written one by one", h, "single", ids, 0)
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "imported", "policy": "none"})
	g.post("/v1/collections/imported/import", "application/x-ndjson", lines.String())
	v.waitUntilIdle(g, h, "imported")
	v.same("imported", h, "imported", h.loaded.IDs, 0)
}

// cloned checks forks and a copy, and that writing in a fork changes only the fork.
func (v *invariance) cloned(h *loadedTalk) {
	v.t.Helper()
	g := v.as(h)
	fork := func(from, name string) {
		v.t.Helper()
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections/"+from+"/clone", object{"name": name})
	}
	fork("talk", "fork")
	fork("fork", "fork-of-fork")
	g.call(http.StatusAccepted, http.MethodPost, "/v1/collections/talk/clone", object{"name": "copy", "mode": "copy"})
	v.waitUntilIdle(g, h, "copy")
	for _, c := range []string{"fork", "fork-of-fork", "copy"} {
		v.same("in a "+c, h, c, h.loaded.IDs, 0)
	}

	fork("talk", "changed")
	all := "/v1/collections/changed/notes/"
	i := 0
	for _, id := range slices.Sorted(maps.Keys(h.loaded.IDs)) {
		switch i++; i % 3 {
		case 0:
			g.call(http.StatusNoContent, http.MethodDelete, all+id, nil)
		case 1:
			g.call(http.StatusOK, http.MethodPatch, all+id, object{"content": "Something else was said here."})
		default:
			g.call(http.StatusOK, http.MethodPatch, all+id, object{"importance": 0.9})
		}
		if i == 60 {
			break
		}
	}
	added := g.call(http.StatusCreated, http.MethodPost, "/v1/collections/changed/notes", object{"content": h.conversation.Questions[0].Text, "infer": false})
	v.waitUntilIdle(g, h, "changed")
	ids := map[string]string{added["note"].(object)["id"].(string): "added"}
	maps.Copy(ids, h.loaded.IDs)
	if h.first.equal(v.ask(h, v.client(h), "changed", ids, 0)) == nil {
		v.t.Errorf("%s: a fork with other notes ranks like its parent", h.conversation.ID)
	}
	v.same("while a fork was written to", h, "talk", h.loaded.IDs, 0)
	v.same("in a fork, while another was written to", h, "fork", h.loaded.IDs, 0)
}

// inProcess answers requests by a handler, without a network.
type inProcess struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	p.handler.ServeHTTP(w, r)
	return w.Result(), nil
}
