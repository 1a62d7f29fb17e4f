package app

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/eval"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/test/must"
)

// textOf returns an answer as text.
func textOf(t *testing.T, answer any) string {
	t.Helper()
	raw := must.Get(json.Marshal(answer))(t)
	return string(raw)
}

// policyNames returns the policies of the product.
func (g *gatewayTest) policyNames() (names []string) {
	g.t.Helper()
	for _, p := range g.call(http.StatusOK, http.MethodGet, "/v1/policies", nil)["items"].([]any) {
		names = append(names, p.(object)["name"].(string))
	}
	return names
}

// C313: of two persons whose memories have one tenant, policy and wording, nobody reads about the other: not in
// searches, contexts and chats, not in what was derived, and not in a prompt that a model gets.
func TestPersonsAreKeptApart(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(set func(*Settings)) *gatewayTest) {
		t.Helper()
		model := llmtest.New(t)
		g := startChat(start, model)
		people := map[string]string{"nora": "Zanzibar", "ben": "Valparaiso"}
		for _, policy := range g.policyNames() {
			for name := range people {
				g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": policy + "-" + name, "policy": policy})
			}
			for name, place := range people {
				g.call(http.StatusAccepted, http.MethodPost, "/v1/collections/"+policy+"-"+name+"/messages?wait=evolved", object{"messages": []object{
					{"role": "user", "name": name, "content": "I live in " + place + " with my sister Anna.", "occurred_at": "2026-03-01T09:00:00Z"},
					{"role": "assistant", "content": "How is " + place + "?", "occurred_at": "2026-03-01T09:01:00Z"},
				}})
			}
			for name := range people {
				g.call(http.StatusOK, http.MethodPost, "/v1/collections/"+policy+"-"+name+"/chat", object{"message": "Where do I live?"})
			}
		}
		for _, policy := range g.policyNames() {
			for name, own := range people {
				c := "/v1/collections/" + policy + "-" + name
				read := textOf(t, []any{
					g.call(http.StatusOK, http.MethodPost, c+"/search", object{"query": "Where does Nora or Ben live with Anna?", "k": 50}),
					g.call(http.StatusOK, http.MethodPost, c+"/context", object{"query": "Where does Nora or Ben live with Anna?"}),
					g.call(http.StatusOK, http.MethodGet, c+"/notes?limit=200", nil),
					g.call(http.StatusOK, http.MethodGet, c+"/summaries", nil), g.call(http.StatusOK, http.MethodGet, c+"/profile", nil),
				})
				if !strings.Contains(read, own) {
					t.Errorf("%s does not know %s: %s", c, own, read)
				}
				for other, place := range people {
					if other != name && strings.Contains(read, place) {
						t.Errorf("%s knows %s of %s: %s", c, place, other, read)
					}
				}
			}
		}
		var prompts int
		for _, r := range model.Requests() {
			prompt := textOf(t, r.Messages)
			nora, ben := strings.Contains(prompt, people["nora"]), strings.Contains(prompt, people["ben"])
			if nora && ben {
				t.Errorf("a prompt is about both: %s", prompt)
			}
			if nora || ben {
				prompts++
			}
		}
		if prompts < 2*len(g.policyNames()) {
			t.Errorf("the model got %d prompts about either", prompts)
		}
	})
}

// C314: each fact and triple is shown with its confidence and the messages that it comes from: in hits, in what a
// context and a chat cite, and in lists.
func TestFactsNameTheirSources(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(set func(*Settings)) *gatewayTest) {
		t.Helper()
		model := llmtest.New(t)
		g := start(func(c *Settings) { c.LLM.Provider, c.LLM.BaseURL, c.LLM.Model = "openai", model.URL(), "words" })
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "c", "policy": "mem0g"})
		for _, said := range []string{"I live in Porto.", "I am Nora, and I live in Porto."} {
			g.call(http.StatusAccepted, http.MethodPost, "/v1/collections/c/messages?wait=evolved", object{"messages": []object{{"role": "user", "name": "Nora", "content": said}}})
		}
		kinds := map[string]string{}
		for _, n := range g.call(http.StatusOK, http.MethodGet, "/v1/collections/c/notes?limit=200", nil)["items"].([]any) {
			n := n.(object)
			kinds[n["id"].(string)] = n["kind"].(string)
			if _, ok := n["confidence"]; ok != (n["kind"] == "fact" || n["kind"] == "knowledge") {
				t.Errorf("a note has the confidence %v: %v", n["confidence"], n)
			}
		}
		check := func(what, id string, confidence, sources any) {
			t.Helper()
			sure, ok := confidence.(float64)
			from, _ := sources.([]any)
			statement := kinds[id] == "fact" || kinds[id] == "knowledge"
			if statement != ok || statement != (len(from) > 0) || ok && (sure < 0.6 || sure > 1) {
				t.Errorf("%s: %s has the confidence %v and the sources %v", what, kinds[id], confidence, sources)
			}
			for _, s := range from {
				if want := map[string]string{"fact": "message", "knowledge": "fact"}[kinds[id]]; kinds[s.(string)] != want {
					t.Errorf("%s: a source of a %s is a %s", what, kinds[id], kinds[s.(string)])
				}
			}
		}
		var shown []string
		for _, h := range g.call(http.StatusOK, http.MethodPost, "/v1/collections/c/search", object{"query": "Where does Nora live?", "k": 20})["hits"].([]any) {
			n := h.(object)["note"].(object)
			provenance, _ := n["provenance"].(object)
			check("search", n["id"].(string), n["confidence"], provenance["sources"])
			shown = append(shown, kinds[n["id"].(string)])
		}
		for what, answer := range map[string]object{
			"context": g.call(http.StatusOK, http.MethodPost, "/v1/collections/c/context", object{"query": "Where does Nora live?"}),
			"chat":    g.call(http.StatusOK, http.MethodPost, "/v1/collections/c/chat", object{"message": "Where does Nora live?", "remember": false}),
		} {
			for _, cited := range answer["citations"].([]any) {
				cited := cited.(object)
				check(what, cited["note"].(string), cited["confidence"], cited["sources"])
				shown = append(shown, kinds[cited["note"].(string)])
			}
		}
		for _, kind := range []string{"fact", "knowledge"} {
			if !slices.Contains(shown, kind) {
				t.Errorf("no %s was shown among %v", kind, shown)
			}
		}
		for _, f := range g.call(http.StatusOK, http.MethodGet, "/v1/collections/c/facts", nil)["items"].([]any) {
			f := f.(object)
			for _, h := range g.call(http.StatusOK, http.MethodGet, "/v1/collections/c/notes?kind=knowledge", nil)["items"].([]any) {
				h := h.(object)
				if a := h["attributes"].(object); a["object"] == f["object"] && a["relation"] == f["relation"] && h["confidence"] != f["confidence"] {
					t.Errorf("a triple has the confidence %v, and its edge %v", h["confidence"], f["confidence"])
				}
			}
		}
		// What the caller names is what the answer has.
		for _, h := range g.call(http.StatusOK, http.MethodPost, "/v1/collections/c/search", object{"query": "Nora", "fields": []string{"content"}})["hits"].([]any) {
			if n := h.(object)["note"].(object); n["confidence"] != nil || n["provenance"] != nil {
				t.Errorf("not asked for: %v", n)
			}
		}
	})
}

// C312: a fixed set of questions is measured while a collection grows, and what they find stays found.
func TestRecallWhileACollectionGrows(t *testing.T) {
	t.Parallel()
	d := must.Get(eval.SampleTalk())(t)
	g := startGateway(t, func(c *Settings) { c.LLM.EmbedProvider = llm.EmbedHash })
	turns := len(d.Conversations[0].Turns)
	sizes := []int{turns, 4 * turns, 16 * turns}
	points := must.Get(eval.Grow(t.Context(), &eval.Client{BaseURL: g.url, Key: g.key}, d, "growing", eval.Variant{Mode: eval.Hybrid}, sizes, t.Logf))(t)
	if len(points) != len(sizes) {
		t.Fatalf("%d points", len(points))
	}
	for i, p := range points {
		if p.Notes != sizes[i] || p.Recall10.Mean <= 0 || p.Recall10.Mean < points[0].Recall10.Mean-0.05 {
			t.Errorf("with %d notes recall@10 is %.3f; at first it was %.3f", p.Notes, p.Recall10.Mean, points[0].Recall10.Mean)
		}
	}
}
