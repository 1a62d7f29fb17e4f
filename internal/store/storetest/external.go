package storetest

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func externalCases() []testCase {
	return []testCase{
		{"Find", findExternal},
		{"Texts", externalTexts},
		{"List", listExternal},
		{"Free", freeExternal},
		{"Fork", forkExternal},
		{"AtOnce", externalAtOnce},
	}
}

// external creates a collection with ids of an application. It is of the scope's agent.
func (w *world) external(s tenant.Scope, name string, e memory.External) (memory.Collection, error) {
	made, err := w.CreateCollection(w.ctx, s, memory.NewCollection{Collection: memory.Collection{
		Agent: s.Agent(), Name: name, Policy: "amem", Embedder: embedder, Dim: dim, External: e,
	}})
	return made.Collection, err
}

// findExternal: a collection is found by exactly its ids, and only by those who reach it (C313).
func findExternal(_ *testing.T, w *world) {
	nora := memory.External{User: "nora@example.com"}
	c := must(w.external(w.aliceS, "c", nora))(w.t)
	d := must(w.external(w.aliceS, "d", memory.External{User: nora.User, Agent: "helper", App: "web", Run: "1"}))(w.t)
	w.collection("plain")
	for e, want := range map[memory.External]uuid.UUID{nora: c.ID, d.External: d.ID} {
		for _, s := range []tenant.Scope{w.aliceS, w.all} {
			got := must(w.CollectionByExternal(w.ctx, s, e))(w.t)
			w.assertf(got.ID == want && got.External == e, "by %+v: %+v", e, got)
		}
		for _, s := range []tenant.Scope{w.bobS, w.foreign} {
			w.wantFault(errOf(w.CollectionByExternal(w.ctx, s, e)), fault.NotFound)
		}
	}
	w.assertf(must(w.ResolveCollection(w.ctx, w.all, "d"))(w.t).External == d.External && w.view(d.ID).Collection.External == d.External, "other reads have the ids")
	for _, e := range []memory.External{{}, {User: "Nora@example.com"}, {Agent: "helper"}, {User: nora.User, Agent: "helper"}, {App: nora.User}} {
		w.wantFault(errOf(w.CollectionByExternal(w.ctx, w.all, e)), fault.NotFound)
	}
	w.wantFault(errOf(w.external(w.aliceS, "e", nora)), fault.Exists)
	w.wantFault(errOf(w.external(w.bobS, "e", nora)), fault.Exists)
	other := must(w.external(w.foreign, "c", nora))(w.t)
	w.assertf(must(w.CollectionByExternal(w.ctx, w.foreign, nora))(w.t).ID == other.ID, "each tenant has its own")
	w.noError(errOf(w.UpdateCollection(w.ctx, w.all, c.ID, memory.AuditEntry{}, func(c *memory.Collection) error {
		c.DisplayName, c.External = "Nora", memory.External{User: "someone else"}
		return nil
	})))
	w.assertf(must(w.CollectionByExternal(w.ctx, w.all, nora))(w.t).DisplayName == "Nora", "the ids do not change")
}

// externalTexts: any text of 1 to 256 bytes without control characters is an id.
func externalTexts(_ *testing.T, w *world) {
	for i, id := range []string{
		"auth0|x", uuid.NewString(), "日本", "a/b", "../x", strings.Repeat("x", 256), " ", "a b", "%2F", "'; --", "é", "e\u0301", "A", "a",
	} {
		c := must(w.external(w.all, fmt.Sprint("c", i), memory.External{User: id}))(w.t)
		got := must(w.CollectionByExternal(w.ctx, w.all, memory.External{User: id}))(w.t)
		w.assertf(got.ID == c.ID && got.External.User == id, "%q: %+v", id, got.External)
	}
	for _, id := range []string{strings.Repeat("x", 257), strings.Repeat("日", 86), "a\x00b", "a\nb", "\u0085", "\x7f", "\xff"} {
		for field, e := range map[string]memory.External{"user": {User: id}, "agent": {Agent: id}, "app": {App: id}, "run": {User: "u", Run: id}} {
			w.wantInvalid(errOf(w.external(w.all, "bad", e)), "external."+field)
			w.wantFault(errOf(w.CollectionByExternal(w.ctx, w.all, e)), fault.NotFound)
			w.assertf(len(must(w.ListCollections(w.ctx, w.all, memory.CollectionQuery{External: e}))(w.t)) == 0, "%q is in no list", id)
		}
	}
}

// listExternal: a list by ids has what has all of them, also when it has others.
func listExternal(_ *testing.T, w *world) {
	for name, e := range map[string]memory.External{
		"a": {User: "u"}, "b": {User: "u", Agent: "x"}, "c": {User: "u", Agent: "x", Run: "1"}, "d": {User: "v", Agent: "x"}, "e": {App: "u"},
	} {
		must(w.external(w.aliceS, name, e))(w.t)
	}
	w.collection("plain")
	names := func(s tenant.Scope, q memory.CollectionQuery) string {
		var out strings.Builder
		for _, c := range must(w.ListCollections(w.ctx, s, q))(w.t) {
			w.assertf(covers(q.External, c.External), "%+v is no %+v", c.External, q.External)
			out.WriteString(c.Name)
		}
		return out.String()
	}
	for e, want := range map[memory.External]string{
		{User: "u"}: "abc", {User: "u", Agent: "x"}: "bc", {Agent: "x"}: "bcd", {App: "u"}: "e", {User: "u", Run: "2"}: "", {Run: "1"}: "c",
	} {
		got := names(w.aliceS, memory.CollectionQuery{External: e})
		w.assertf(got == want, "of %+v: %q, want %q", e, got, want)
		w.assertf(names(w.bobS, memory.CollectionQuery{External: e})+names(w.foreign, memory.CollectionQuery{External: e}) == "", "others see none")
	}
	a := must(w.CollectionByExternal(w.ctx, w.aliceS, memory.External{User: "u"}))(w.t)
	n := w.add(a.ID, "written here")
	w.mustFork(a.ID, 0, "reads it")
	w.write(a.ID, func(tx memory.Tx) error { return tx.Delete(w.ctx, n.ID) })
	w.assertf(names(w.aliceS, memory.CollectionQuery{Note: n.ID}) == "a", "a list by a note has the collection that it was written to")
	w.assertf(names(w.bobS, memory.CollectionQuery{Note: n.ID})+names(w.foreign, memory.CollectionQuery{Note: n.ID})+names(w.aliceS, memory.CollectionQuery{Note: a.ID}) == "", "others see none")
	page := must(w.ListCollections(w.ctx, w.all, memory.CollectionQuery{External: memory.External{User: "u"}, Limit: 2}))(w.t)
	rest := memory.CollectionQuery{External: memory.External{User: "u"}, After: page[1].Name + "\x00" + page[1].ID.String()}
	w.assertf(len(page) == 2 && names(w.all, rest) == "c", "pages")
}

// freeExternal: the ids of a collection that is deleted or expired can be used again.
func freeExternal(_ *testing.T, w *world) {
	e := memory.External{User: "u", App: "a"}
	c := must(w.external(w.all, "c", e))(w.t)
	w.noError(errOf(w.DeleteCollection(w.ctx, w.all, c.ID, false, memory.AuditEntry{})))
	w.wantFault(errOf(w.CollectionByExternal(w.ctx, w.all, e)), fault.NotFound)
	w.assertf(len(must(w.ListCollections(w.ctx, w.all, memory.CollectionQuery{External: e}))(w.t)) == 0, "a deleted collection is in no list")
	short := must(w.CreateCollection(w.ctx, w.all, memory.NewCollection{Collection: memory.Collection{
		Name: "short", External: e, ExpiresAt: w.clock.Now().Add(time.Minute),
	}}))(w.t).Collection
	w.clock.Advance(time.Hour)
	w.wantFault(errOf(w.CollectionByExternal(w.ctx, w.all, e)), fault.NotFound)
	again := must(w.external(w.all, "again", e))(w.t)
	w.assertf(again.ID != short.ID && must(w.CollectionByExternal(w.ctx, w.all, e))(w.t).ID == again.ID, "the ids belong to the new one")
	w.remove(c.ID, 100)
}

// forkExternal: a fork has the ids that it is given, and none of its parent's.
func forkExternal(_ *testing.T, w *world) {
	e := memory.External{User: "u"}
	c := must(w.external(w.all, "c", e))(w.t)
	f := w.mustFork(c.ID, 0, "f")
	w.assertf(f.External.IsZero(), "the fork has %+v", f.External)
	fork := memory.NewCollection{Collection: memory.Collection{Name: "g", Parent: c.ID, External: e}}
	w.wantFault(errOf(w.CreateCollection(w.ctx, w.all, fork)), fault.Exists)
	fork.External.Run = "what if"
	g := must(w.CreateCollection(w.ctx, w.all, fork))(w.t).Collection
	w.assertf(must(w.CollectionByExternal(w.ctx, w.all, fork.External))(w.t).ID == g.ID, "the fork is found by its ids")
	w.assertf(must(w.CollectionByExternal(w.ctx, w.all, e))(w.t).ID == c.ID, "the parent is found by its own")
}

// externalAtOnce: of many that create a collection with the same ids concurrently, one succeeds.
func externalAtOnce(_ *testing.T, w *world) {
	e := memory.External{User: "new@example.com"}
	var made atomic.Int32
	w.noError(runConcurrently(12, func(i int) error {
		_, err := w.external(w.all, fmt.Sprint("c", i), e)
		if err == nil {
			made.Add(1)
		}
		if fault.Is(err, fault.Exists) {
			return nil
		}
		return err
	}))
	all := must(w.ListCollections(w.ctx, w.all, memory.CollectionQuery{}))(w.t)
	w.assertf(made.Load() == 1 && len(all) == 1 && all[0].External == e, "%d were created: %+v", made.Load(), all)
}

// covers reports whether a set of ids has every id that is wanted.
func covers(wanted, has memory.External) bool {
	others := has.IDs()
	for i, id := range wanted.IDs() {
		if id.Value != "" && id.Value != others[i].Value {
			return false
		}
	}
	return true
}
