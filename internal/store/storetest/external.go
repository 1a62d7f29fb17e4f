package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func externalCases() []testCase {
	return []testCase{
		{"Find", findExternal},
		{"FirstWrite", firstWrite},
		{"Planned", planned},
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

// firstWrite: a collection and what is first written to it are one transaction.
func firstWrite(_ *testing.T, w *world) {
	refused := fault.New(fault.Invalid, "refused")
	ask := func(do func(ctx context.Context, tx memory.Tx) error) memory.NewCollection {
		return memory.NewCollection{
			Collection: memory.Collection{Name: "first", Policy: "none", Embedder: embedder, Dim: dim}, Seed: []memory.Note{{Kind: memory.KindBlock, Key: "human"}},
			Audit: memory.AuditEntry{Action: "collection.create"},
			First: &memory.FirstWrite{Do: do, Options: memory.WriteOptions{
				Cause: memory.CauseAdd, Idempotency: &memory.Idempotency{Key: "k", Method: "POST", Path: "/first"}, Audit: []memory.AuditEntry{{Action: "note.create"}},
			}},
		}
	}
	_, err := w.CreateCollection(w.ctx, w.all, ask(func(ctx context.Context, tx memory.Tx) error {
		w.noError(errOf(tx.Put(ctx, memory.Note{Content: "lost"})))
		return refused
	}))
	w.assertf(errors.Is(err, refused), "a refused write: %v", err)
	w.wantFault(errOf(w.ResolveCollection(w.ctx, w.all, "first")), fault.NotFound)
	put := func(ctx context.Context, tx memory.Tx) error {
		n, err := tx.Put(ctx, memory.Note{Content: "one"})
		tx.Answer(memory.AnswerIDs{Notes: []uuid.UUID{n.ID}}.Raw())
		return err
	}
	made := must(w.CreateCollection(w.ctx, w.all, ask(put)))(w.t)
	v := w.view(made.Collection.ID)
	w.assertf(made.Written.Revision == 2 && made.Written.Logged && v.At == 2 && made.Collection.Head == 2, "%+v, view at %d", made.Written, v.At)
	again := ask(put)
	again.Name = "again"
	replayed := must(w.CreateCollection(w.ctx, w.all, again))(w.t)
	w.assertf(replayed.Written.Replay != nil, "the key was used: %+v", replayed)
	w.wantFault(errOf(w.ResolveCollection(w.ctx, w.all, "again")), fault.NotFound)
	w.verify()
}

// planned: a planned collection is empty, and created by the first write to it, once.
func planned(_ *testing.T, w *world) {
	plans := store.PlanCollections(w.Store)
	nora := memory.External{User: "nora"}
	plan := func(s tenant.Scope, name string, e memory.External, read bool) (memory.Collection, func(), error) {
		return plans.PlanCollection(w.ctx, s, memory.NewCollection{Collection: memory.Collection{
			Agent: s.Agent(), Name: name, External: e, Policy: "none", Embedder: embedder, Dim: dim,
		}}, read)
	}
	write := func(id uuid.UUID, with error) error {
		return errOf(plans.Write(w.ctx, w.aliceS, id, memory.WriteOptions{Cause: memory.CauseAdd}, func(ctx context.Context, tx memory.Tx) error {
			w.noError(errOf(tx.Put(ctx, memory.Note{Content: "one"})))
			return with
		}))
	}
	one, done, err := plan(w.aliceS, "one", nora, false)
	w.noError(err)
	two, doneToo, err := plan(w.aliceS, "two", nora, false)
	w.noError(err)
	defer doneToo()
	v := must(plans.OpenView(w.ctx, w.aliceS, one.ID.String(), memory.At{}))(w.t)
	w.assertf(v.At == 0 && len(must(plans.ListNotes(w.ctx, w.aliceS, v, memory.NoteQuery{Limit: 1}))(w.t)) == 0, "a planned collection: %+v", v)
	w.assertf(must(plans.Counts(w.ctx, w.aliceS, v))(w.t).Notes == 0, "it has no notes")
	w.wantFault(write(one.ID, fault.New(fault.Invalid, "refused")), fault.Invalid)
	w.wantFault(errOf(w.CollectionByExternal(w.ctx, w.aliceS, nora)), fault.NotFound)
	w.noError(write(one.ID, nil))
	w.noError(write(one.ID, nil))
	w.assertf(must(w.CollectionByExternal(w.ctx, w.aliceS, nora))(w.t).ID == one.ID && w.head(one.ID) == 2, "it is created, once")
	// Another request was faster: the write is made again, to that one.
	key := &memory.Idempotency{Path: "/v1/collections/" + two.ID.String() + "/notes"}
	tries := 0
	w.noError(errOf(memory.Again(func() (int, error) {
		tries++
		c := must(plans.ResolveCollection(w.ctx, w.aliceS, two.ID.String()))(w.t)
		return tries, write(c.ID, nil)
	}, key)))
	w.assertf(tries == 2 && w.head(one.ID) == 3 && strings.Contains(key.Path, one.ID.String()), "%d tries, key %s", tries, key.Path)
	done()
	_, _, err = plan(w.bobS, "bobs", nora, false)
	w.wantFault(err, fault.Exists)
	there, _, err := plan(w.aliceS, "three", nora, false)
	w.assertf(err == nil && there.ID == one.ID, "what exists is not planned: %+v %v", there, err)
	read, done, err := plan(w.aliceS, "read", memory.External{}, true)
	w.noError(err)
	w.noError(errOf(plans.OpenView(w.ctx, w.aliceS, read.ID.String(), memory.At{})))
	w.assertf(must(w.ResolveCollection(w.ctx, w.aliceS, "read"))(w.t).ID == read.ID, "a view creates it")
	done()
	gone, done, err := plan(w.aliceS, "gone", memory.External{}, false)
	w.noError(err)
	done()
	w.wantFault(write(gone.ID, nil), fault.NotFound)
	w.verify()
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
