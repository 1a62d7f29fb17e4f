package app

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/test/must"
)

// A gateway keeps its indexes beside its store, answers from them after a start, and leaves none of a
// collection that was deleted, from the moment of the answer on.
func TestIndexesAreKeptAndRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := func() int {
		t.Helper()
		found := must.Get(filepath.Glob(filepath.Join(dir, "index", "*", "*")))(t)
		return len(found)
	}
	g := startGateway(t, func(s *Settings) { s.Data = dir })
	var lines strings.Builder
	for i := range 80 {
		fmt.Fprintf(&lines, "{\"content\": \"note %d about tides\"}\n", i)
	}
	for _, name := range []string{"one", "two"} {
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": name, "policy": "none"})
		status, out := g.send(http.Header{"Content-Type": {"application/x-ndjson"}}, http.MethodPost, "/v1/collections/"+name+"/notes/bulk", lines.String())
		if status != http.StatusOK {
			t.Fatalf("status %d: %v", status, out)
		}
	}
	before := g.search("one", "note 7 about tides", "hybrid")
	g.search("two", "note 7 about tides", "hybrid")
	g.stop()
	if n := files(); n != 2 {
		t.Fatalf("there are %d files", n)
	}
	key := g.key
	g, _ = launch(t, settings(t, nil, func(s *Settings) { s.Data = dir }))
	g.key = key
	if after := g.search("one", "note 7 about tides", "hybrid"); len(after) == 0 || !slices.Equal(after, before) {
		t.Errorf("found %v, before %v", after, before)
	}
	g.call(http.StatusNoContent, http.MethodDelete, "/v1/collections/two", nil)
	if n := files(); n != 1 {
		t.Errorf("there are %d files", n)
	}
	// With an agent its collections leave no file: a copy has one after its first write.
	copied := g.call(http.StatusAccepted, http.MethodPost, "/v1/collections/one/clone", object{"name": "three", "mode": "copy", "agent": "scout"})
	g.until("the copy is complete", func() bool {
		return g.call(http.StatusOK, http.MethodGet, "/v1/jobs/"+copied["job"].(object)["id"].(string), nil)["state"] == "done"
	})
	owned := copied["collection"].(object)["id"].(string)
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections/"+owned+"/notes", object{"content": "a note of the agent"})
	g.search(owned, "note 7 about tides", "hybrid")
	g.until("the file of the copy is written", func() bool { return files() == 2 })
	g.call(http.StatusNoContent, http.MethodDelete, "/v1/agents/scout", nil)
	if n := files(); n != 1 {
		t.Errorf("there are %d files", n)
	}
	g.stop()
	if n := files(); n != 1 {
		t.Errorf("there are %d files", n)
	}
}
