package app

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// The API behaves the same on every set-up. The test walks through its routes.
func TestWholeAPI(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(set func(*Settings)) *gatewayTest) {
		t.Helper()
		g := start(nil)
		get := func(path string) object { return g.call(http.StatusOK, http.MethodGet, path, nil) }
		ended := func(job string) {
			t.Helper()
			g.until("job "+job+" is done", func() bool {
				j := get("/v1/jobs/" + job)
				if s := j["state"]; s == "failed" || s == "dead" {
					t.Fatalf("the job ended as %v", j)
				}
				return j["state"] == "done"
			})
		}
		counts := func(collection string) float64 {
			return get("/v1/collections/" + collection)["counts"].(object)["notes"].(float64)
		}

		// Notes: add, change, read history, restore, link.
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "base", "metadata": object{"of": "ferries", "n": 12345678901234}})
		g.call(http.StatusConflict, http.MethodPost, "/v1/collections", object{"name": "base"})
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "base", "extend": true})
		one := g.add("base", "The ferry to Texel leaves at nine.")["note"].(object)["id"].(string)
		two := g.add("base", "In fog the ferry to Texel waits.")["note"].(object)["id"].(string)
		notes := "/v1/collections/base/notes/"
		before := get(notes + one)["revision"]
		g.call(http.StatusOK, http.MethodPatch, notes+one, object{"category": "timetable", "attributes": object{"at": 9.25, "big": 12345678901234567}})
		if n := get(notes + one); n["category"] != "timetable" || n["attributes"].(object)["at"] != 9.25 {
			t.Errorf("changed: %v", n)
		}
		if items := get(notes + one + "/history")["items"].([]any); len(items) < 2 {
			t.Errorf("history: %v", items)
		}
		g.call(http.StatusOK, http.MethodPost, notes+one+"/restore", object{"revision": before})
		if n := get(notes + one); n["category"] == "timetable" {
			t.Errorf("restored: %v", n)
		}
		g.call(http.StatusOK, http.MethodPut, notes+one+"/links", object{"links": []object{{"target": two, "relation": "explains", "confidence": 0.5}}})
		if edges := get("/v1/collections/base/graph?center=" + one + "&depth=1")["links"].([]any); len(edges) == 0 {
			t.Error("the graph has no links")
		}
		if ids := g.search("base", "ferry in fog", "hybrid"); len(ids) == 0 || ids[0] != two {
			t.Errorf("found %v, want %s first", ids, two)
		}
		g.until("recalls are counted", func() bool { return len(get("/v1/collections/base/hot")["items"].([]any)) > 0 })

		// Forks and copies.
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections/base/clone", object{"name": "fork", "agent": "scout"})
		g.call(http.StatusNoContent, http.MethodDelete, "/v1/collections/fork/notes/"+one, nil)
		get(notes + one)
		g.call(http.StatusNotFound, http.MethodGet, "/v1/collections/fork/notes/"+one, nil)
		copied := g.call(http.StatusAccepted, http.MethodPost, "/v1/collections/base/clone", object{"name": "copy", "mode": "copy"})
		ended(copied["job"].(object)["id"].(string))
		if n := counts("copy"); n != 2 {
			t.Errorf("the copy holds %v notes", n)
		}

		// Bulk.
		id := uuid.NewString()
		if status, _ := g.send(http.Header{"Content-Type": {"application/x-ndjson"}}, http.MethodPost, "/v1/collections/copy/notes/bulk",
			`{"content":"one more","infer":false}`+"\n"+`{"content":""}`+"\n"); status != http.StatusOK {
			t.Errorf("bulk: status %d", status)
		}
		imported := g.post("/v1/collections/copy/import", "application/x-ndjson", `{"id":"`+id+`","content":"kept"}`+"\n"+`{"content":"no id, so it is new"}`+"\n")
		job := imported["job"].(object)["id"].(string)
		ended(job)
		if status, _ := g.try(http.MethodGet, "/v1/jobs/"+job+"/results", nil); status != http.StatusOK {
			t.Errorf("results of the import: status %d", status)
		}
		if n := counts("copy"); n != 5 {
			t.Errorf("the copy holds %v notes, want 5", n)
		}
		ended(g.call(http.StatusAccepted, http.MethodPost, "/v1/collections/copy/consolidate", nil)["job"].(object)["id"].(string))

		// Data beside the notes.
		for path, field := range map[string]string{"/v1/agents": "items", "/v1/api-keys": "items", "/v1/audit": "items", "/v1/jobs": "items"} {
			if items, ok := get(path)[field].([]any); !ok || len(items) == 0 {
				t.Errorf("GET %s is empty", path)
			}
		}
		get("/v1/reviews")
		get("/v1/usage")

		// Deleting a base with forks.
		g.call(http.StatusConflict, http.MethodDelete, "/v1/collections/base", nil)
		g.call(http.StatusNoContent, http.MethodDelete, "/v1/collections/base?forks=materialise", nil)
		g.call(http.StatusNotFound, http.MethodGet, "/v1/collections/base", nil)
		if n := counts("fork"); n != 1 {
			t.Errorf("the fork holds %v notes after its base went", n)
		}
		if ids := g.search("fork", strings.ToUpper("fog"), "lexical"); len(ids) != 1 || ids[0] != two {
			t.Errorf("the fork finds %v, want %s", ids, two)
		}
	})
}
