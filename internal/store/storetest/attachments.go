package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

func attachmentCases() []testCase {
	return []testCase{
		{"Attach", attachBlocks},
		{"Reach", attachmentsOfOthers},
		{"Labels", attachedLabels},
		{"Create", createAttached},
		{"Seeds", seededFork},
		{"Delete", deleteAttached},
		{"Tenants", attachedTenants},
		{"Folders", attachFolders},
		{"Together", attachTogether},
	}
}

// block creates a block without a key in a shared collection, which is created too when it is not there.
func (w *world) block(home, label string) memory.Attachment {
	w.t.Helper()
	c, err := w.ResolveCollection(w.ctx, w.all, home)
	if fault.Is(err, fault.NotFound) {
		c, err = w.collection(home), nil
	}
	w.noError(err)
	n := w.put(c.ID, memory.Note{Kind: memory.KindBlock, Keywords: []string{label}, Content: "about " + label})
	return memory.Attachment{Block: n.ID, Home: c.ID, Label: label, Mode: memory.AttachRW}
}

// attach attaches a block to a collection.
func (w *world) attach(a memory.Attachment, to uuid.UUID, mode memory.AttachMode) {
	w.t.Helper()
	w.noError(w.tryAttach(a, to, mode))
}

func (w *world) tryAttach(a memory.Attachment, to uuid.UUID, mode memory.AttachMode) error {
	a.Collection, a.Mode = to, mode
	return errOf(w.tryWrite(a.Home, func(tx memory.Tx) error { return errOf(tx.Attach(w.ctx, a)) }))
}

// shown lists the attachments to a collection as "label mode".
func (w *world) shown(id uuid.UUID) []string {
	w.t.Helper()
	out := []string{}
	for _, a := range must(w.Attachments(w.ctx, w.all, memory.AttachmentQuery{Collection: id}))(w.t) {
		out = append(out, fmt.Sprint(a.Label, " ", a.Mode))
	}
	return out
}

func attachBlocks(_ *testing.T, w *world) {
	team, rules := w.block("blocks", "team"), w.block("blocks", "rules")
	ada, bob := w.collectionOf(w.alice.ID, "ada"), w.collectionOf(w.bob.ID, "bob")
	head := w.head(team.Home)
	w.attach(team, ada.ID, memory.AttachRW)
	w.attach(team, bob.ID, memory.AttachRO)
	w.attach(rules, ada.ID, memory.AttachRO)
	w.assertf(w.head(team.Home) == head && w.head(ada.ID) == 0, "an attachment is no changeset")
	w.assertf(fmt.Sprint(w.shown(ada.ID)) == "[team rw rules ro]", "shown: %v", w.shown(ada.ID))
	w.attach(rules, ada.ID, memory.AttachRW)
	w.assertf(fmt.Sprint(w.shown(ada.ID)) == "[team rw rules rw]", "the mode changes: %v", w.shown(ada.ID))
	of := must(w.Attachments(w.ctx, w.all, memory.AttachmentQuery{Blocks: []uuid.UUID{team.Block, uuid.New()}}))(w.t)
	w.assertf(len(of) == 2 && of[0].Block == team.Block && of[0].Home == team.Home && !of[0].At.IsZero() && of[0].At.Equal(of[0].At.UTC().Truncate(time.Microsecond)), "of a block: %+v", of)
	w.assertf(len(must(w.Attachments(w.ctx, w.all, memory.AttachmentQuery{Home: team.Home}))(w.t)) == 3, "of a home")

	// What is not there, or is not a block, is not attached.
	note := w.add(team.Home, "no block")
	for what, err := range map[string]error{
		"an absent block":           w.tryAttach(memory.Attachment{Block: uuid.New(), Home: team.Home, Label: "x"}, bob.ID, memory.AttachRW),
		"a note":                    w.tryAttach(memory.Attachment{Block: note.ID, Home: team.Home, Label: "x"}, bob.ID, memory.AttachRW),
		"an absent collection":      w.tryAttach(team, uuid.New(), memory.AttachRW),
		"to an absent collection 2": errOf(w.tryWrite(team.Home, func(tx memory.Tx) error { return errOf(tx.Detach(w.ctx, team.Block, uuid.New())) })),
	} {
		if !fault.Is(err, fault.NotFound) {
			w.t.Errorf("%s: %v", what, err)
		}
	}
	w.wantFault(w.tryAttach(team, team.Home, memory.AttachRW), fault.Conflict)
	w.wantInvalid(w.tryAttach(rules, bob.ID, "all"), "mode")

	w.write(team.Home, func(tx memory.Tx) error {
		all := must(tx.Attached(w.ctx, team.Block))(w.t)
		w.assertf(len(all) == 2, "attached: %+v", all)
		for i, want := range []bool{true, false} {
			ok, err := tx.Detach(w.ctx, team.Block, ada.ID)
			w.assertf(err == nil && ok == want, "detach %d: %t, %v", i, ok, err)
		}
		return nil
	})
	w.assertf(fmt.Sprint(w.shown(ada.ID)) == "[rules rw]", "after the end: %v", w.shown(ada.ID))
}

// attachmentsOfOthers: an agent sees its own attachments only, a transaction on the home all of them.
func attachmentsOfOthers(_ *testing.T, w *world) {
	team := w.block("blocks", "team")
	ada, bob := w.collectionOf(w.alice.ID, "ada"), w.collectionOf(w.bob.ID, "bob")
	w.attach(team, ada.ID, memory.AttachRW)
	w.attach(team, bob.ID, memory.AttachRW)
	mine := must(w.Attachments(w.ctx, w.aliceS, memory.AttachmentQuery{Blocks: []uuid.UUID{team.Block}}))(w.t)
	w.assertf(len(mine) == 1 && mine[0].Collection == ada.ID, "alice sees %+v", mine)
	_, err := w.Write(w.ctx, w.aliceS, team.Home, memory.WriteOptions{}, func(_ context.Context, tx memory.Tx) error {
		all := must(tx.Attached(w.ctx, team.Block))(w.t)
		w.assertf(len(all) == 2, "the transaction sees %+v", all)
		to := team
		to.Collection = bob.ID
		w.wantFault(errOf(tx.Attach(w.ctx, to)), fault.NotFound)
		w.wantFault(errOf(tx.Detach(w.ctx, team.Block, bob.ID)), fault.NotFound)
		return nil
	})
	w.noError(err)
	foreign := must(w.CreateCollection(w.ctx, w.foreign, memory.NewCollection{Collection: memory.Collection{Name: "theirs", Policy: "none", Embedder: embedder, Dim: dim}}))(w.t)
	w.wantFault(w.tryAttach(team, foreign.Collection.ID, memory.AttachRW), fault.NotFound)
	_, err = w.Write(w.ctx, w.foreign, foreign.Collection.ID, memory.WriteOptions{}, func(_ context.Context, tx memory.Tx) error {
		return errOf(tx.Attach(w.ctx, memory.Attachment{Block: team.Block, Collection: foreign.Collection.ID, Label: "x", Mode: memory.AttachRW}))
	})
	w.wantFault(err, fault.NotFound)
	_, err = w.CreateCollection(w.ctx, w.foreign, memory.NewCollection{
		Collection: memory.Collection{Name: "thief", Policy: "none", Embedder: embedder, Dim: dim}, Attach: []memory.Attachment{team},
	})
	w.wantFault(err, fault.NotFound)
}

// attachedLabels: a label is unique among what a collection holds and what it shows.
func attachedLabels(_ *testing.T, w *world) {
	team, second := w.block("blocks", "team"), w.block("blocks", "team")
	c := w.collection("c")
	base := w.put(c.ID, memory.Note{Kind: memory.KindBlock, Key: "team", Content: "own"})
	w.wantFault(w.tryAttach(team, c.ID, memory.AttachRW), fault.Exists)
	f := w.mustFork(c.ID, -1, "f")
	w.wantFault(w.tryAttach(team, f.ID, memory.AttachRW), fault.Exists)
	w.delete(c.ID, base.ID)
	w.attach(team, c.ID, memory.AttachRW)
	w.wantFault(w.tryAttach(second, c.ID, memory.AttachRW), fault.Exists)
	for what, n := range map[string]memory.Note{"a new one": {Kind: memory.KindBlock, Key: "team"}, "a deleted one": {ID: base.ID, Kind: memory.KindBlock, Key: "team"}} {
		if err := errOf(w.tryWrite(c.ID, func(tx memory.Tx) error { return errOf(tx.Put(w.ctx, n)) })); !fault.Is(err, fault.Exists) {
			w.t.Errorf("%s with the label: %v", what, err)
		}
	}
	w.put(c.ID, memory.Note{Kind: memory.KindBlock, Key: "other"})
	w.put(c.ID, memory.Note{Kind: memory.KindNote, Key: "team"})
}

// createAttached: a collection may begin with attached blocks, all or nothing.
func createAttached(_ *testing.T, w *world) {
	team, human := w.block("blocks", "team"), w.block("blocks", "human")
	ask := func(name string, seed []memory.Note, attach ...memory.Attachment) (memory.Collection, error) {
		made, err := w.CreateCollection(w.ctx, w.all, memory.NewCollection{
			Collection: memory.Collection{Name: name, Policy: "none", Embedder: embedder, Dim: dim}, Attach: attach, Seed: seed,
		})
		return made.Collection, err
	}
	c := must(ask("agent", []memory.Note{{Kind: memory.KindBlock, Key: "persona"}}, team, human))(w.t)
	w.assertf(fmt.Sprint(w.shown(c.ID)) == "[team rw human rw]", "shown: %v", w.shown(c.ID))
	w.wantFault(errOf(ask("a", []memory.Note{{Kind: memory.KindBlock, Key: "human"}}, human)), fault.Exists)
	w.wantFault(errOf(ask("a", nil, human, w.block("blocks", "human"))), fault.Exists)
	w.wantFault(errOf(ask("a", nil, memory.Attachment{Block: uuid.New(), Home: team.Home, Label: "x", Mode: memory.AttachRW})), fault.NotFound)
	w.wantFault(errOf(ask("a", nil, memory.Attachment{Block: team.Block, Home: uuid.New(), Label: "x", Mode: memory.AttachRW})), fault.NotFound)
	w.wantFault(errOf(w.ResolveCollection(w.ctx, w.all, "a")), fault.NotFound)
}

// seededFork: a fork may begin with notes of its own and with attached blocks.
func seededFork(_ *testing.T, w *world) {
	team, human := w.block("blocks", "team"), w.block("blocks", "human")
	c := w.collection("c")
	w.add(c.ID, "first")
	w.add(c.ID, "second")
	w.attach(team, c.ID, memory.AttachRW)
	for i, at := range []memory.Revision{1, 2} {
		made := must(w.CreateCollection(w.ctx, w.all, memory.NewCollection{
			Collection: memory.Collection{Name: fmt.Sprint("fork-", i), Policy: "none", Parent: c.ID, ParentRevision: at},
			Seed:       []memory.Note{{Kind: memory.KindBlock, Key: "team", Content: "copied"}}, Attach: []memory.Attachment{human},
		}))(w.t).Collection
		w.assertf(made.Head == at+1, "the head is %d", made.Head)
		v := w.view(made.ID)
		w.assertf(len(w.contents(v)) == int(at)+1, "the fork shows %v", w.contents(v))
		n, err := w.NoteByKey(w.ctx, w.all, v, memory.KindBlock, "team")
		w.assertf(err == nil && n.Content == "copied" && n.Layer == made.ID, "the copy is %+v, %v", n, err)
		w.assertf(fmt.Sprint(w.shown(made.ID)) == "[human rw]", "shown: %v", w.shown(made.ID))
		counts := must(w.Counts(w.ctx, w.all, v))(w.t)
		w.assertf(counts.Notes == int64(at)+1 && counts.Kinds[memory.KindBlock] == 1, "counts are %+v", counts)
	}
}

// deleteAttached: a home is not deleted while its blocks are shown; a collection that goes takes its
// attachments along immediately.
func deleteAttached(_ *testing.T, w *world) {
	team := w.block("blocks", "team")
	c, d := w.collection("c"), w.collection("d")
	w.attach(team, c.ID, memory.AttachRW)
	w.attach(team, d.ID, memory.AttachRW)
	_, err := w.DeleteCollection(w.ctx, w.all, team.Home, false, memory.AuditEntry{})
	w.wantFault(err, fault.Conflict)
	w.noError(errOf(w.DeleteCollection(w.ctx, w.all, c.ID, false, memory.AuditEntry{})))
	w.assertf(len(must(w.Attachments(w.ctx, w.all, memory.AttachmentQuery{Home: team.Home}))(w.t)) == 1, "one is left")
	w.remove(c.ID, 1)
	w.noError(errOf(w.DeleteCollection(w.ctx, w.all, team.Home, true, memory.AuditEntry{})))
	w.assertf(len(w.shown(d.ID)) == 0, "shown: %v", w.shown(d.ID))

	// An expired collection keeps nothing from being deleted.
	rules := w.block("more", "rules")
	must(w.UpdateCollection(w.ctx, w.all, d.ID, memory.AuditEntry{}, func(c *memory.Collection) error {
		c.ExpiresAt = w.clock.Now().Add(time.Hour)
		return nil
	}))(w.t)
	w.attach(rules, d.ID, memory.AttachRW)
	w.clock.Advance(2 * time.Hour)
	w.write(rules.Home, func(tx memory.Tx) error {
		all := must(tx.Attached(w.ctx, rules.Block))(w.t)
		w.assertf(len(all) == 0, "attached: %+v", all)
		return nil
	})
	w.noError(errOf(w.DeleteCollection(w.ctx, w.all, d.ID, true, memory.AuditEntry{})))
}

// attachedTenants: a tenant that is erased leaves no attachment.
func attachedTenants(_ *testing.T, w *world) {
	team := w.block("blocks", "team")
	w.attach(team, w.collection("c").ID, memory.AttachRW)
	w.noError(w.DeleteTenant(w.ctx, w.op, w.tenant.ID))
	left := must(w.Attachments(w.ctx, w.all, memory.AttachmentQuery{}))(w.t)
	w.assertf(len(left) == 0, "left are %+v", left)
}

// attachFolders: a collection itself is attached, as often as to each collection once, and no block is in its way.
func attachFolders(_ *testing.T, w *world) {
	folder, second := w.collection("folder"), w.collection("second")
	c := w.collection("c")
	for _, f := range []uuid.UUID{folder.ID, second.ID, folder.ID} {
		w.noError(w.tryAttach(memory.Attachment{Home: f}, c.ID, memory.AttachFolder))
	}
	list := must(w.Attachments(w.ctx, w.all, memory.AttachmentQuery{Collection: c.ID}))(w.t)
	w.assertf(len(list) == 2 && list[0].Block == list[0].Home && list[0].Mode == memory.AttachFolder && list[0].Label == memory.FolderLabel(list[0].Home), "attached: %+v", list)
	blocks := must(memory.AttachedBlocks(w.ctx, w, w.all, c.ID, memory.ReadOptions{}))(w.t)
	w.assertf(len(blocks) == 0, "a folder is shown as a block: %+v", blocks)
	made := must(w.CreateCollection(w.ctx, w.all, memory.NewCollection{
		Collection: memory.Collection{Name: "fork", Policy: "none", Parent: c.ID}, Attach: list,
	}))(w.t).Collection
	w.assertf(len(must(w.Attachments(w.ctx, w.all, memory.AttachmentQuery{Collection: made.ID}))(w.t)) == 2, "a fork has them too")
	fresh := must(w.CreateCollection(w.ctx, w.all, memory.NewCollection{
		Collection: memory.Collection{Name: "fresh", Policy: "none", Embedder: embedder, Dim: dim},
		Attach:     []memory.Attachment{{Home: folder.ID, Mode: memory.AttachFolder}, {Home: folder.ID, Mode: memory.AttachFolder}},
	}))(w.t).Collection
	shown := must(w.Attachments(w.ctx, w.all, memory.AttachmentQuery{Collection: fresh.ID}))(w.t)
	w.assertf(len(shown) == 1 && shown[0].Block == folder.ID && shown[0].Label == memory.FolderLabel(folder.ID), "a new collection has %+v", shown)
	w.wantFault(errOf(w.CreateCollection(w.ctx, w.foreign, memory.NewCollection{
		Collection: memory.Collection{Name: "thief", Policy: "none", Embedder: embedder, Dim: dim}, Attach: []memory.Attachment{{Home: folder.ID, Mode: memory.AttachFolder}},
	})), fault.NotFound)
	w.wantFault(errOf(w.DeleteCollection(w.ctx, w.all, folder.ID, false, memory.AuditEntry{})), fault.Conflict)
	w.write(folder.ID, func(tx memory.Tx) error {
		for _, to := range []uuid.UUID{c.ID, made.ID, fresh.ID} {
			ok, err := tx.Detach(w.ctx, folder.ID, to)
			w.assertf(err == nil && ok, "detach: %t, %v", ok, err)
		}
		return nil
	})
	w.noError(errOf(w.DeleteCollection(w.ctx, w.all, folder.ID, false, memory.AuditEntry{})))
}

// attachTogether: of a label that is attached and created at the same time, one wins.
func attachTogether(_ *testing.T, w *world) {
	c := w.collection("c")
	var blocks []memory.Attachment
	for range 4 {
		blocks = append(blocks, w.block("blocks", "team"))
	}
	errs := make([]error, 2*len(blocks))
	var all sync.WaitGroup
	for i, b := range blocks {
		all.Go(func() { errs[i] = w.tryAttach(b, c.ID, memory.AttachRW) })
		all.Go(func() {
			errs[len(blocks)+i] = errOf(w.tryWrite(c.ID, func(tx memory.Tx) error {
				return errOf(tx.Put(w.ctx, memory.Note{Kind: memory.KindBlock, Key: "team"}))
			}))
		})
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !fault.Is(err, fault.Exists) {
			w.t.Errorf("one that lost: %v", err)
		}
	}
	w.assertf(won == 1, "%d won", won)
}
