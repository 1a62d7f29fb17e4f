package app

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

// tenantWith creates a tenant with a collection that has a mark in all its notes, and returns its scope and a key.
func tenantWith(t *testing.T, a *Admin, g *gatewayTest, mark string) (tenant.Scope, string) {
	t.Helper()
	name := "t-" + uuid.NewString()[:8] // the mark is of what it holds
	made := must.Get(a.CreateTenant(t.Context(), name))(t)
	k := must.Get(a.CreateKey(t.Context(), name, NewKey{Name: "test"}))(t)
	g.key = k.Text
	g.call(http.StatusCreated, "POST", "/v1/collections", object{"name": "c", "policy": "none"})
	var lines strings.Builder
	for i := range 70 { // fewer have no file of an index
		fmt.Fprintf(&lines, `{"content":"The %s has the number %d."}`+"\n", mark, i)
	}
	if status, _, answer := g.raw("POST", "/v1/collections/c/notes/bulk", "application/x-ndjson", lines.String()); status != http.StatusOK {
		t.Fatal(status, answer)
	}
	return wholeTenant(made.ID, "test"), k.Text
}

// eraseAll deletes and erases all notes of a collection, through a store of its own.
func eraseAll(ctx context.Context, st store.Store, s tenant.Scope) error {
	v, err := st.OpenView(ctx, s, "c", memory.At{})
	if err != nil {
		return err
	}
	notes, err := st.ListNotes(ctx, s, v, memory.NoteQuery{Limit: 100})
	if err != nil {
		return err
	}
	var ids []uuid.UUID
	if _, err := st.Write(ctx, s, v.Collection.ID, memory.WriteOptions{Cause: memory.CauseDelete}, func(ctx context.Context, tx memory.Tx) error {
		ids = nil
		for i := range notes {
			ids = append(ids, notes[i].ID)
			if err := tx.Delete(ctx, notes[i].ID); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	_, err = st.EraseNotes(ctx, s, v.Collection.ID, memory.Erasing{Notes: ids}, memory.AuditEntry{Action: "test"})
	return err
}

// deletions are the ways in which a process that serves nothing deletes what is of a tenant. All but the command say it to nobody, as
// one that dies after its commit.
var deletions = map[string]func(ctx context.Context, a *Admin, s tenant.Scope) error{
	"command": func(ctx context.Context, a *Admin, s tenant.Scope) error {
		return a.DeleteTenant(ctx, s.Tenant().String())
	},
	"tenant": func(ctx context.Context, a *Admin, s tenant.Scope) error {
		return a.store.DeleteTenant(ctx, a.op, s.Tenant())
	},
	"collection": func(ctx context.Context, a *Admin, s tenant.Scope) error {
		c, err := a.store.ResolveCollection(ctx, s, "c")
		if err == nil {
			_, err = a.store.DeleteCollection(ctx, s, c.ID, false, memory.AuditEntry{Action: "test"})
		}
		return err
	},
	"notes": func(ctx context.Context, a *Admin, s tenant.Scope) error { return eraseAll(ctx, a.store, s) },
}

// What another process deletes or erases leaves Redis, and the index files of all gateways: of those that run, and of one that
// starts later.
func TestGoneByAnotherProcess(t *testing.T) {
	t.Parallel()
	s, at := newPlaces(t)
	in := func(dir string) func(*Settings) {
		return func(c *Settings) {
			c.Index.Dir, c.Jobs.SweepInterval = dir, time.Second
			c.Redis.Timeout = 10 * time.Second // what a busy machine does not put there in time, this process keeps for itself
		}
	}
	dirs := []string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b"), filepath.Join(t.TempDir(), "late")}
	at.folders = dirs
	s.worker(in(""))
	a, b, late := s.gateway(in(dirs[0])), s.gateway(in(dirs[1])), s.gateway(in(dirs[2]))
	scopes := map[string]tenant.Scope{}
	marks := map[string]string{"kept": "quokkakept"}
	for way := range deletions {
		marks[way] = "quokka" + way[:3] + "ko" // a word that has no other form
	}
	s.admin(func(admin *Admin) error {
		for way, mark := range marks {
			scope, key := tenantWith(t, admin, a, mark)
			scopes[way] = scope
			for _, g := range []*gatewayTest{a, b, late} {
				g.key = key
				g.until(mark+" is found", func() bool { return len(g.search("c", mark, "hybrid")) > 0 })
			}
		}
		return nil
	})
	everywhere := func(mark string) bool {
		found := at.with(mark)
		return slices.ContainsFunc(found, func(in string) bool { return strings.HasPrefix(in, "redis ") }) && !slices.ContainsFunc(dirs, func(dir string) bool {
			return !slices.ContainsFunc(found, func(in string) bool { return strings.HasPrefix(in, dir) })
		})
	}
	for _, mark := range marks {
		a.until(mark+" is everywhere", func() bool { return everywhere(mark) })
	}
	late.stop()
	s.admin(func(admin *Admin) error {
		for way, do := range deletions {
			if err := do(t.Context(), admin, scopes[way]); err != nil {
				return fmt.Errorf("%s: %w", way, err)
			}
		}
		return nil
	})
	began := time.Now()
	at.folders = dirs[:2]
	for way := range deletions {
		var found []string
		for deadline := time.Now().Add(time.Minute); ; {
			if found = at.with(marks[way]); len(found) == 0 || time.Now().After(deadline) {
				break
			}
		}
		if len(found) > 0 {
			t.Errorf("%s: a minute later it is in %v", way, found)
		}
		t.Logf("%s: %s after all were deleted", way, time.Since(began))
	}
	at.folders = dirs
	if found := at.with(marks["notes"]); len(found) == 0 {
		t.Error("the gateway that does not run has removed its files")
	}
	late = s.gateway(in(dirs[2]))
	for way := range deletions {
		late.until(way+": a gateway that starts later has it no more", func() bool { return len(at.with(marks[way])) == 0 })
	}
	if !everywhere(marks["kept"]) {
		t.Errorf("another tenant has lost what it had: %v", at.with(marks["kept"]))
	}
}

// The same beside an embedded gateway, and while none runs.
func TestGoneByCommandBesideAnEmbeddedGateway(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	set := func(c *Settings) { c.Data, c.Jobs.SweepInterval = data, time.Second }
	g := startGateway(t, set)
	admin := must.Get(OpenAdmin(t.Context(), settings(t, nil, set), slog.New(slog.DiscardHandler)))(t)
	defer func() { _ = admin.Close() }()
	files := func(s tenant.Scope) []string {
		id := s.Tenant()
		found := must.Get(filepath.Glob(filepath.Join(data, "index", hex.EncodeToString(id[:]), "*")))(t)
		return found
	}
	scopes := map[string]tenant.Scope{}
	for _, way := range []string{"kept", "command", "tenant", "collection", "notes", "stopped"} {
		scope, key := tenantWith(t, admin, g, way)
		g.key, scopes[way] = key, scope
		g.until(way+" is found", func() bool { return len(g.search("c", way, "hybrid")) > 0 })
		g.until(way+" has a file", func() bool { return len(files(scope)) > 0 })
	}
	for way, do := range deletions {
		if err := do(t.Context(), admin, scopes[way]); err != nil {
			t.Fatal(way, err)
		}
		g.until(way+": the file is gone", func() bool { return len(files(scopes[way])) == 0 })
	}
	g.stop()
	must.Do(t, admin.DeleteTenant(t.Context(), scopes["stopped"].Tenant().String()))
	if found := files(scopes["stopped"]); len(found) > 0 {
		t.Errorf("the command has left %v", found)
	}
	if len(files(scopes["kept"])) == 0 {
		t.Error("another tenant has lost its file")
	}
}
