package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memgpt"
)

// A collection starts without a model; when one is configured, a refresh lets it describe the notes that are there.
func TestModelTakesUp(t *testing.T) {
	t.Parallel()
	model := llmtest.New(t)
	data := t.TempDir()
	g := startGateway(t, func(c *Settings) { c.Data = data })
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "early"})
	note := g.call(http.StatusCreated, http.MethodPost, "/v1/collections/early/notes", object{"content": "The ferry to the island leaves at seven."})["note"].(object)["id"].(string)
	analyst := func(g *gatewayTest) any {
		return g.call(http.StatusOK, http.MethodGet, "/v1/collections/early/notes/"+note, nil)["analyst"]
	}
	g.until("the note is described", func() bool { return analyst(g) == "heuristic" })
	refused := g.call(http.StatusConflict, http.MethodPost, "/v1/collections/early/refresh", object{"analyst": "model"})
	if detail, _ := refused["detail"].(string); !strings.Contains(detail, "SLIPBOX_LLM") {
		t.Errorf("the refusal does not name the setting: %v", refused)
	}
	g.stop()

	later := againWithModel(t, g, data, model)
	job := later.call(http.StatusAccepted, http.MethodPost, "/v1/collections/early/refresh", object{"analyst": "model"})["job"].(object)["id"].(string)
	later.until("the refresh is done", func() bool {
		return later.call(http.StatusOK, http.MethodGet, "/v1/jobs/"+job, nil)["state"] == "done"
	})
	if got := analyst(later); got != "model" {
		t.Errorf("the note is by %v", got)
	}
}

// An agent's collection starts without a model, and the summary of what left the window quotes. A model sums up the same
// messages again, from the first one on.
func TestModelTakesUpASummary(t *testing.T) {
	t.Parallel()
	model := llmtest.New(t)
	const written = "The person keeps bees, and the ferry leaves at seven."
	model.Handle(memgpt.CallSummary, func(llmtest.Request) llmtest.Reply { return llmtest.JSON(memgpt.Summary{Summary: written}) })
	data := t.TempDir()
	g := startGateway(t, func(c *Settings) { c.Data = data })
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "agent", "policy": "memgpt"})
	for _, said := range []string{"I keep bees in the garden.", "How many hives?", "The ferry leaves at seven.", "Noted."} {
		g.call(http.StatusAccepted, http.MethodPost, "/v1/collections/agent/messages", object{"messages": []any{object{"content": said}}})
	}
	g.call(http.StatusAccepted, http.MethodPost, "/v1/collections/agent/flush", object{"force": true})
	summary := func(g *gatewayTest) object {
		list, _ := g.call(http.StatusOK, http.MethodGet, "/v1/collections/agent/notes?kind=summary", nil)["items"].([]any)
		if len(list) == 0 {
			return object{}
		}
		return list[0].(object)
	}
	g.until("the messages are summed up", func() bool { return summary(g)["analyst"] == "heuristic" })
	quoted, _ := summary(g)["content"].(string)
	if !strings.Contains(quoted, "I keep bees in the garden.") {
		t.Errorf("the summary is %q", quoted)
	}
	g.stop()

	later := againWithModel(t, g, data, model)
	for _, want := range []float64{1, 0} { // the second time nothing is left to take up
		job := later.call(http.StatusAccepted, http.MethodPost, "/v1/collections/agent/refresh", object{"analyst": "model"})["job"].(object)["id"].(string)
		var ended object
		later.until("the refresh is done", func() bool {
			ended = later.call(http.StatusOK, http.MethodGet, "/v1/jobs/"+job, nil)
			return ended["state"] == "done"
		})
		if progress, _ := ended["progress"].(object); progress["total"] != want {
			t.Errorf("the progress is %v, want a total of %v", ended["progress"], want)
		}
		if now := summary(later); now["analyst"] != "model" || now["content"] != written {
			t.Errorf("after the refresh the summary is %v by %v", now["content"], now["analyst"])
		}
	}
	if asked := model.Requests(); len(asked) != 1 || !strings.Contains(fmt.Sprint(asked[0].Messages), `"old_summary":"",`) {
		t.Errorf("the model was asked %d times, and saw what was quoted", len(asked))
	}
}

// againWithModel starts a gateway that was stopped again, on its data, with a model.
func againWithModel(t *testing.T, g *gatewayTest, data string, model *llmtest.Server) *gatewayTest {
	t.Helper()
	later, _ := launch(t, settings(t, nil, func(c *Settings) {
		c.Data = data
		c.LLM.Provider, c.LLM.BaseURL, c.LLM.Model = "openai", model.URL(), "words"
	}))
	later.key = g.key
	return later
}
