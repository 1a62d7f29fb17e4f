package app

import (
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	// What is said of it has the same words at each door.
	says := func(report object) {
		if removed, ok := report["removed"]; ok && removed != true || report["traces"] != "pending" {
			t.Errorf("the report is %v", report)
		}
	}
	remove := func(path string) { says(g.call(http.StatusOK, http.MethodDelete, path, nil)) }
	ways := map[string]func(){
		"a note": func() { remove(at + "/notes/" + add() + "?erase=true") },
		"a deleted note": func() {
			id := add()
			g.call(http.StatusNoContent, http.MethodDelete, at+"/notes/"+id, nil)
			remove(at + "/notes/" + id + "?erase=true")
		},
		"a file":           func() { remove(at + "/files/" + file() + "?erase=true") },
		"a memory of mem0": func() { remove("/mem0/v1/memories/" + add() + "/?erase=true") },
		"a tool of MCP": func() {
			got := g.call(http.StatusOK, http.MethodPost, "/mcp", object{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": object{
				"name": "delete_note", "arguments": object{"collection": "c", "note": add(), "erase": true},
			}})
			says(got["result"].(object)["structuredContent"].(object))
		},
		"a tool of MCP for several": func() {
			got := g.call(http.StatusOK, http.MethodPost, "/mcp", object{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": object{
				"name": "forget", "arguments": object{"collection": "c", "notes": []string{add()}, "erase": true},
			}})
			says(got["result"].(object)["structuredContent"].(object))
		},
		"a collection": func() {
			add()
			g.call(http.StatusNoContent, http.MethodDelete, at, nil)
		},
		"a collection, waited for": func() {
			add()
			remove(at + "?wait=removed")
		},
		"a folder": func() {
			g.call(http.StatusCreated, http.MethodPost, "/v1/folders", object{"name": "books"})
			remove("/v1/folders/books?wait=removed")
		},
		"a user": func() {
			add()
			remove("/v1/collections/by?user=nora&wait=removed")
		},
		"an agent": func() {
			add()
			remove("/v1/agents/scout?wait=removed")
		},
		"a tenant": func() {
			scope, _ := tenantWith(t, admin, g, word)
			must.Do(t, admin.DeleteTenant(t.Context(), scope.Tenant().String()))
		},
		"a tenant, by its route": func() {
			scope, _ := tenantWith(t, admin, g, word+"s")
			g.key = must.Get(admin.CreateOperatorKey(t.Context(), "test", time.Hour))(t).Text
			remove("/v1/tenants/" + scope.Tenant().String() + "?wait=removed")
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
