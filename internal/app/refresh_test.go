package app

import (
	"net/http"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
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

	later, _ := launch(t, settings(t, nil, func(c *Settings) {
		c.Data = data
		c.LLM.Provider, c.LLM.BaseURL, c.LLM.Model = "openai", model.URL(), "words"
	}))
	later.key = g.key
	job := later.call(http.StatusAccepted, http.MethodPost, "/v1/collections/early/refresh", object{"analyst": "model"})["job"].(object)["id"].(string)
	later.until("the refresh is done", func() bool {
		return later.call(http.StatusOK, http.MethodGet, "/v1/jobs/"+job, nil)["state"] == "done"
	})
	if got := analyst(later); got != "model" {
		t.Errorf("the note is by %v", got)
	}
}
