package app

import (
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/test/must"
)

// Each way to erase leaves the file marked, also that of a command beside the gateway, and a vacuum beside it clears the file.
func TestTracesOfEveryErasure(t *testing.T) {
	t.Parallel()
	data, log := t.TempDir(), slog.New(slog.DiscardHandler)
	set := func(c *Settings) { c.Data = data }
	g, cfg := startGateway(t, set), settings(t, nil, set)
	admin := must.Get(OpenAdmin(t.Context(), cfg, log))(t)
	defer func() { _ = admin.Close() }()
	const word, at = "okapi", "/v1/collections/c"
	add := func() string {
		return g.call(http.StatusCreated, http.MethodPost, at+"/notes", object{"content": "The " + word + " sleeps in the attic."})["note"].(object)["id"].(string)
	}
	file := func() string {
		status, _, answer := g.raw(http.MethodPost, at+"/files", "multipart/form-data; boundary=B", upload("said.txt", "The "+word+" sleeps."))
		if status/100 != 2 {
			t.Fatal(status, answer)
		}
		return g.call(http.StatusOK, http.MethodGet, at+"/files", nil)["items"].([]any)[0].(object)["id"].(string)
	}
	ways := map[string]func(){
		"a note": func() { g.call(http.StatusOK, http.MethodDelete, at+"/notes/"+add()+"?erase=true", nil) },
		"a deleted note": func() {
			id := add()
			g.call(http.StatusNoContent, http.MethodDelete, at+"/notes/"+id, nil)
			g.call(http.StatusOK, http.MethodDelete, at+"/notes/"+id+"?erase=true", nil)
		},
		"a file": func() { g.call(http.StatusOK, http.MethodDelete, at+"/files/"+file()+"?erase=true", nil) },
		"a memory of mem0": func() {
			g.call(http.StatusOK, http.MethodDelete, "/mem0/v1/memories/"+add()+"/?erase=true", nil)
		},
		"a tool of MCP": func() {
			g.call(http.StatusOK, http.MethodPost, "/mcp", object{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": object{
				"name": "delete_note", "arguments": object{"collection": "c", "note": add(), "erase": true},
			}})
		},
		"a collection": func() {
			add()
			g.call(http.StatusNoContent, http.MethodDelete, at, nil)
		},
		"a user": func() {
			add()
			g.call(http.StatusOK, http.MethodDelete, "/v1/collections/by?user=nora&wait=removed", nil)
		},
		"an agent": func() {
			add()
			g.call(http.StatusNoContent, http.MethodDelete, "/v1/agents/scout", nil)
		},
		"a tenant": func() {
			scope, _ := tenantWith(t, admin, g, word)
			must.Do(t, admin.DeleteTenant(t.Context(), scope.Tenant().String()))
		},
	}
	st := must.Get(openToolEmbedded(t.Context(), cfg, log))(t)
	defer func() { _ = st.Close() }()
	traces := func() memory.Traces { return must.Get(st.Traces(t.Context()))(t) }
	// What removes rows works in steps, so it may leave traces again.
	vacuumed := func(when string) {
		g.until(when+" without traces", func() bool {
			if _, _, err := Vacuum(t.Context(), cfg, log); err != nil && !fault.Is(err, fault.Unavailable) {
				t.Fatal(when, err)
			}
			for _, suffix := range []string{"", "-wal"} {
				if raw := must.Get(os.ReadFile(filepath.Join(data, databaseFile+suffix)))(t); strings.Contains(strings.ToLower(string(raw)), word) {
					return false
				}
			}
			return traces() == memory.TracesCleared
		})
	}
	key := g.key
	for name, erase := range ways {
		g.key = key
		g.try(http.MethodPost, "/v1/agents", object{"name": "scout"})
		g.try(http.MethodPost, "/v1/collections", object{"name": "c", "policy": "none", "agent": "scout", "external": object{"user": "nora"}})
		vacuumed(name + " begins")
		erase()
		g.until(name+" leaves traces", func() bool { return traces() == memory.TracesPending })
		g.key = key
		vacuumed(name + " is over")
	}
}
