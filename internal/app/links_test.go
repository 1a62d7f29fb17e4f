package app

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/encoder/weights/weightstest"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/text"
)

// everyday are notes about other subjects, more than the model is shown with a new note.
var everyday = []string{
	"Nora fired twelve vases in the gas kiln.",
	"The night train to Vienna leaves from platform nine.",
	"Two bee colonies survived the frost, wrapped in straw.",
	"Our landlord raised the rent of the studio by a tenth.",
	"The payment service rounds currencies to whole cents.",
	"Lentil soup needs a bay leaf and half an hour.",
	"The orchard lost three pear trees in the storm.",
	"Peter tuned the old piano before the concert.",
	"The ferry is cancelled whenever the fog is thick.",
	"A loose chain was why the bicycle rattled.",
	"The library lends microscopes to schools in spring.",
	"Grandmother's recipe asks for rye flour and caraway.",
}

// shownNeighbor is what the prompt of "evolve" has about an older note.
type shownNeighbor struct {
	Handle  int    `json:"handle"`
	Content string `json:"content"`
}

// shownNeighbors reads the older notes from the prompt of "evolve".
func shownNeighbors(t *testing.T, prompt string) []shownNeighbor {
	t.Helper()
	_, rest, _ := strings.Cut(prompt, "<memory-data>")
	data, _, ok := strings.Cut(rest, "</memory-data>")
	var shown struct {
		Neighbors []shownNeighbor `json:"neighbours"`
	}
	if err := json.Unmarshal([]byte(data), &shown); !ok || err != nil {
		t.Errorf("the prompt has no data: %v\n%s", err, prompt)
	}
	return shown.Neighbors
}

// C036: notes of different fields that share no word are linked. The model can only link what it
// is shown, and it is shown five notes of fourteen: the right one must be among them by its
// meaning.
func TestCrossDomainLinks_C036(t *testing.T) {
	t.Parallel()
	dir := weightstest.Dir(t)
	for name, pair := range map[string][2]string{
		"attention and psychology":        {"People perceive a small part of what they see, because their mind can focus on one thing at a time.", "Attention layers of neural networks weigh which tokens deserve emphasis."},
		"quantum and simulated annealing": {"Particles tunnel through energy barriers in quantum mechanics.", "Simulated annealing escapes local minima by random thermal jumps."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, word := range text.Terms(pair[0]) {
				if slices.Contains(text.Terms(pair[1]), word) {
					t.Fatalf("both notes have the word %q", word)
				}
			}
			model := llmtest.New(t)
			// The model knows that the two belong together, and links nothing else.
			model.Handle("evolve", func(r llmtest.Request) llmtest.Reply {
				links := []int{}
				shown := shownNeighbors(t, r.User)
				for _, n := range shown {
					if n.Content == pair[0] && strings.Contains(r.User, pair[1]) {
						links = append(links, n.Handle)
					}
				}
				if len(shown) > 5 {
					t.Errorf("%d notes are shown", len(shown))
				}
				return llmtest.JSON(object{
					"should_evolve": len(links) > 0, "actions": []string{"strengthen"}, "suggested_connections": links, "tags_to_update": []string{},
					"new_context_neighborhood": []string{}, "new_tags_neighborhood": [][]string{}, "new_keywords_neighborhood": [][]string{}, "confidence": 0.95,
				})
			})
			g := startGateway(t, func(c *Settings) {
				c.LLM.Provider, c.LLM.BaseURL, c.LLM.Model = "ollama", model.OllamaURL(), "llama3.2"
				c.LLM.EmbedProvider, c.LLM.EncoderDir = "", dir
			})
			g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "c"})
			add := func(content string) object {
				// Descriptions that are given are not asked for, and add no words here.
				return g.call(http.StatusCreated, http.MethodPost, "/v1/collections/c/notes?wait=evolved",
					object{"content": content, "keywords": []string{}, "tags": []string{}, "context": "A note."})["note"].(object)
			}
			first := add(pair[0])
			for _, content := range everyday {
				add(content)
			}
			second := add(pair[1])
			links, _ := second["links"].([]any)
			if len(links) != 1 || links[0].(object)["target"] != first["id"] {
				t.Errorf("links %v, want one to %v", links, first["id"])
			}
		})
	}
}
