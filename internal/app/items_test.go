package app

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
)

const (
	boatPNG   = "data:image/png;base64,Ym9hdA=="
	boatBytes = "Ym9hdA=="
	hillURL   = "https://example.org/pictures/hill.png"
)

// withImages selects the fake endpoint as embedder.
func withImages(model *llmtest.Server, images bool) func(*Settings) {
	model.EmbedDim(256)
	return func(c *Settings) {
		c.LLM.EmbedProvider, c.LLM.EmbedBaseURL, c.LLM.EmbedModel, c.LLM.EmbedDim = "openai", model.URL(), "clip", 256
		c.LLM.EmbedImages = images
		c.LLM.MaxTries, c.LLM.RetryWait, c.LLM.BreakerPause = 1, time.Millisecond, 10*time.Millisecond
	}
}

// addItem adds a note with an item and waits for the end of its job.
func (g *gatewayTest) addItem(collection, content string, item object) object {
	g.t.Helper()
	body := object{"item": item}
	if content != "" {
		body["content"] = content
	}
	out := g.call(http.StatusCreated, http.MethodPost, "/v1/collections/"+collection+"/notes?wait=evolved", body)
	if note := out["note"].(object); note["embedder"] == nil || note["attributes"].(object)["item"].(object)["type"] != item["type"] {
		g.t.Errorf("%v", note)
	}
	return out
}

// finds fails unless the first hit of a search is the note.
func (g *gatewayTest) finds(collection, query, mode string, written object) {
	g.t.Helper()
	want := written["note"].(object)["id"]
	if found := g.search(collection, query, mode); len(found) == 0 || found[0] != want {
		g.t.Errorf("%s: %q by %s finds %v, want %v", collection, query, mode, found, want)
	}
}

// C304: an image, code and the result of a function are stored, described, embedded and found by a text: by what they
// are and by what is said about them, by words and by meaning, with each policy for notes, also in a fork, and
// after an import.
func TestItems(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(set func(*Settings)) *gatewayTest) {
		t.Helper()
		g := start(withImages(llmtest.New(t), false))
		for _, policy := range []string{"none", "amem"} {
			g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": policy, "policy": policy})
			g.add(policy, "The baker opens at seven.")
			image := g.addItem(policy, "", object{"type": "image", "url": hillURL, "description": "A windmill on a green hill"})
			code := g.addItem(policy, "func Ebb(level int) bool { return level < 3 }", object{"type": "code", "language": "Go", "name": "tide.go", "description": "Says whether the water is low"})
			result := g.addItem(policy, `{"celsius": 31, "town": "Lisbon"}`, object{"type": "function_result", "name": "weather_now", "description": "Temperature this afternoon"})
			note := code["note"].(object)
			if note["context"] != "code tide.go (Go): Says whether the water is low" || image["note"].(object)["content"] != "A windmill on a green hill" ||
				image["note"].(object)["context"] != "image hill.png" || result["note"].(object)["context"] != "function result weather_now: Temperature this afternoon" {
				t.Errorf("%v\n%v\n%v", image, code, result)
			}
			g.call(http.StatusCreated, http.MethodPost, "/v1/collections/"+policy+"/clone", object{"name": policy + "-fork"})
			for _, collection := range []string{policy, policy + "-fork"} {
				for _, mode := range []string{"hybrid", "vector", "lexical"} {
					g.finds(collection, "windmill hill", mode, image)
					g.finds(collection, "hill.png", mode, image)
					g.finds(collection, "func Ebb level", mode, code)
					g.finds(collection, "whether the water is low", mode, code)
					g.finds(collection, "celsius Lisbon town", mode, result)
					g.finds(collection, "temperature this afternoon", mode, result)
				}
			}
		}
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "imported", "policy": "none"})
		ids := []string{"0198c1de-7d2f-7c3a-9b60-6a1f0f0e8a11", "0198c1de-7d2f-7c3a-9b60-6a1f0f0e8a12"}
		job := jobOf(g.post("/v1/collections/imported/import", "application/x-ndjson", `{"id": "`+ids[0]+`", "content": "x := 1", "item": {"type": "code", "name": "start.go", "description": "Sets the start"}}
{"id": "`+ids[1]+`", "content": "y := 2", "attributes": {"item": {"type": "code", "name": "end.go", "description": "Sets the finish"}}}`))
		g.until("the import is done", func() bool { return g.call(http.StatusOK, http.MethodGet, "/v1/jobs/"+job, nil)["state"] == "done" })
		for i, query := range []string{"sets the start", "sets the finish"} {
			g.finds("imported", query, "lexical", object{"note": object{"id": ids[i]}})
		}
	})
}

// What is wrong with an item is refused with the name of its field, in a request, a line of a bulk and a patch.
func TestItemsRefused(t *testing.T) {
	t.Parallel()
	g := startGateway(t, nil)
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "c", "policy": "none"})
	for field, body := range map[string]object{
		"content":             {"item": object{"type": "code"}},
		"item.type":           {"content": "x", "item": object{"type": "video"}},
		"item.url":            {"content": "x", "item": object{"type": "image"}},
		"item.description":    {"item": object{"type": "image", "url": hillURL}},
		"attributes.item":     {"content": "x", "item": object{"type": "code"}, "attributes": object{"item": "x"}},
		"attributes.item.url": {"content": "x", "attributes": object{"item": object{"type": "code", "url": "http://example.org"}}},
		"item":                {"content": "x", "kind": "passage", "item": object{"type": "code"}},
		"item.name":           {"content": "x", "item": object{"type": "code", "name": strings.Repeat("n", 300)}},
		"item.media_type":     {"content": "x", "item": object{"type": "code", "media_type": strings.Repeat("ü", 200)}},
	} {
		status, out := g.try(http.MethodPost, "/v1/collections/c/notes", body)
		if text := textOf(t, out); status != http.StatusUnprocessableEntity || !strings.Contains(text, `"`+field+`"`) {
			t.Errorf("%s: %d %s", field, status, text)
		}
		_, line, _ := strings.Cut(textOf(t, object{"line": body}), ":")
		_, _, answer := g.raw(http.MethodPost, "/v1/collections/c/notes/bulk", "application/x-ndjson", strings.TrimSuffix(strings.TrimSpace(line), "}"))
		if !strings.Contains(answer, `"status":422`) || !strings.Contains(answer, `"`+field+`"`) {
			t.Errorf("%s in a bulk: %s", field, answer)
		}
	}
	if status, out := g.try(http.MethodPost, "/v1/collections/c/notes", object{}); status != http.StatusUnprocessableEntity || !strings.Contains(textOf(t, out), `"content"`) {
		t.Errorf("nothing: %d %v", status, out)
	}
	for _, url := range []string{"http://example.org/x.png", "file:///etc/passwd", "https:x.png", "data:" + strings.Repeat("A", 12<<10), "::"} {
		status, out := g.try(http.MethodPost, "/v1/collections/c/notes", object{"content": "x", "item": object{"type": "image", "url": url}})
		if status != http.StatusUnprocessableEntity || !strings.Contains(textOf(t, out), `"item.url"`) {
			t.Errorf("%.30s: %d %v", url, status, out)
		}
	}
	note := g.addItem("c", "", object{"type": "image", "url": hillURL, "description": "A hill"})["note"].(object)
	if status, out := g.try(http.MethodPatch, "/v1/collections/c/notes/"+note["id"].(string), object{"attributes": object{"item": object{"url": "ftp://x"}}}); status != http.StatusUnprocessableEntity {
		t.Errorf("a patch: %d %v", status, out)
	}
	// An attribute of that name that is no item stays what it is.
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections/c/notes", object{"content": "A book.", "attributes": object{"item": object{"type": "book"}}})
}

// C305: where the embedder takes images, a text finds an image that has no words. An image that the endpoint refuses is
// found by its text, and the result of its job says so; while the endpoint is out, the job waits.
func TestImagesAreEmbedded(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(set func(*Settings)) *gatewayTest) {
		t.Helper()
		model := llmtest.New(t)
		model.Shows(boatBytes, "a red fishing boat in the harbour")
		model.Shows(hillURL, "a windmill on a green hill")
		g := start(withImages(model, true))
		for _, policy := range []string{"none", "amem"} {
			g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": policy, "policy": policy})
			g.add(policy, "The baker opens at seven.")
			boat := g.addItem(policy, "", object{"type": "image", "url": boatPNG})
			hill := g.addItem(policy, "From our trip", object{"type": "image", "url": hillURL})
			refused := g.addItem(policy, "", object{"type": "image", "url": "https://example.org/cat.png", "description": "A cat asleep"})
			g.call(http.StatusCreated, http.MethodPost, "/v1/collections/"+policy+"/clone", object{"name": policy + "-fork"})
			for _, collection := range []string{policy, policy + "-fork"} {
				g.finds(collection, "red fishing boat", "vector", boat)
				g.finds(collection, "red fishing boat", "hybrid", boat)
				g.finds(collection, "green hill with a windmill", "vector", hill)
				g.finds(collection, "cat asleep", "vector", refused)
			}
			job := func(written object) object {
				return g.call(http.StatusOK, http.MethodGet, "/v1/jobs/"+written["job"].(object)["id"].(string), nil)["result"].(object)
			}
			if job(refused)["images_refused"] != 1.0 || job(boat)["images_refused"] != nil {
				t.Errorf("the results are %v and %v", job(refused), job(boat))
			}
			// Another image is another vector.
			path := "/v1/collections/" + policy + "/notes/" + hill["note"].(object)["id"].(string)
			_, header, _ := g.raw(http.MethodPatch, path, "application/merge-patch+json", `{"attributes":{"item":{"url":"`+boatPNG+`"}}}`)
			g.until("the job of the patch is done", func() bool {
				return g.call(http.StatusOK, http.MethodGet, "/v1/jobs/"+header.Get("Slipbox-Job"), nil)["state"] == "done"
			})
			if found := g.search(policy, "green hill with a windmill", "vector"); len(found) > 0 && found[0] == hill["note"].(object)["id"] {
				t.Error("it is found by an image that it had")
			}
		}
		model.Down(true)
		waiting := g.call(http.StatusCreated, http.MethodPost, "/v1/collections/none/notes", object{"item": object{"type": "image", "url": hillURL}})
		path := "/v1/collections/none/notes/" + waiting["note"].(object)["id"].(string)
		g.until("the note waits", func() bool { return g.call(http.StatusOK, http.MethodGet, path, nil)["state"] == "pending" })
		model.Down(false)
		g.until("the note is embedded", func() bool { return g.call(http.StatusOK, http.MethodGet, path, nil)["embedder"] != nil })
		g.finds("none", "green hill with a windmill", "vector", waiting)
	})
}
