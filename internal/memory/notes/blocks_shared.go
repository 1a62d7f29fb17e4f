package notes

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/block"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// blocksCollection is the name of the shared collection that holds a tenant's stand-alone blocks. It is made
// with the first of them.
const blocksCollection = "slipbox.blocks"

// collectionLister is what findHome and allCollections require of a store.
type collectionLister interface {
	ListCollections(ctx context.Context, s tenant.Scope, q memory.CollectionQuery) ([]memory.Collection, error)
}

// findHome returns the collection of the tenant's stand-alone blocks; ok is false when there is none yet.
func findHome(ctx context.Context, store collectionLister, s tenant.Scope) (c memory.Collection, ok bool, err error) {
	page, err := store.ListCollections(ctx, s, memory.CollectionQuery{Agent: new(uuid.Nil), After: nameCursor(blocksCollection), Limit: 1})
	if err != nil || len(page) == 0 || page[0].Name != blocksCollection {
		return memory.Collection{}, false, err
	}
	return page[0], true, nil
}

// Home returns the collection of the tenant's stand-alone blocks (notes:read); ok is false when there is none
// yet.
func (b *Blocks) Home(ctx context.Context, s tenant.Scope) (c memory.Collection, ok bool, err error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return c, false, err
	}
	return findHome(ctx, b.notes.store, s)
}

// home returns the collection of stand-alone blocks for writing (notes:write, base:write); NotFound.
func (b *Blocks) home(ctx context.Context, s tenant.Scope) (memory.Collection, error) {
	for _, p := range []tenant.Permission{tenant.NotesWrite, tenant.BaseWrite} {
		if err := tenant.Check(s, p); err != nil {
			return memory.Collection{}, err
		}
	}
	c, ok, err := findHome(ctx, b.notes.store, s)
	if err == nil && !ok {
		err = fault.Missing("block")
	}
	return c, err
}

// makeHome returns the collection of stand-alone blocks, which it makes when there is none.
func (b *Blocks) makeHome(ctx context.Context, s tenant.Scope) (memory.Collection, error) {
	c, err := b.home(ctx, s)
	if !fault.Is(err, fault.NotFound) {
		return c, err
	}
	e := b.notes.embedders.Default()
	_, err = b.notes.store.CreateCollection(ctx, s, memory.NewCollection{
		Collection: memory.Collection{Name: blocksCollection, Policy: memory.PolicyNone, Embedder: e.Name(), Dim: e.Dim()},
		Audit:      memory.AuditEntry{Action: "collection.create", Detail: map[string]any{"name": blocksCollection}},
	})
	if err != nil && !fault.Is(err, fault.Exists) { // else another request has made it meanwhile
		return memory.Collection{}, err
	}
	return b.home(ctx, s)
}

// Create creates a stand-alone block (notes:write, base:write). Several may have one label.
func (b *Blocks) Create(ctx context.Context, s tenant.Scope, label string, c block.Change, r memory.Request) (BlockWritten, error) {
	if err := block.CheckLabel(label); err != nil {
		return BlockWritten{}, err
	}
	home, err := b.makeHome(ctx, s)
	if err != nil {
		return BlockWritten{}, err
	}
	w, err := b.notes.writeNoteOnce(ctx, s, &home, r.Idempotency, func() (NoteWritten, *memory.Idempotency, error) {
		v, err := b.notes.store.OpenView(ctx, s, home.ID.String(), memory.At{})
		if err != nil {
			return NoteWritten{}, nil, err
		}
		counts, err := b.notes.store.Counts(ctx, s, v)
		if err != nil {
			return NoteWritten{}, nil, err
		}
		if counts.Kinds[memory.KindBlock] >= block.MaxStandAlone {
			return NoteWritten{}, nil, fault.InvalidField("label", "there are %d stand-alone blocks, and no room for another; delete one first", block.MaxStandAlone)
		}
		note, err := b.first(ctx, s, label, c)
		if err != nil {
			return NoteWritten{}, nil, err
		}
		note.Key = ""
		return b.add(ctx, s, &home, note, memory.Request{Idempotency: r.Idempotency})
	})
	return written(&w, true), err
}

// GetByID returns the note of a block in a view of its home (notes:read).
func (b *Blocks) GetByID(ctx context.Context, s tenant.Scope, v memory.View, id uuid.UUID) (memory.Note, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return memory.Note{}, err
	}
	return b.byID(s, id)(ctx, v)
}

// Patch changes a stand-alone block (notes:write, base:write). Its label changes only while it is attached
// nowhere: Conflict.
func (b *Blocks) Patch(ctx context.Context, s tenant.Scope, id uuid.UUID, label *string, c block.Change, r memory.Request) (BlockWritten, error) {
	if label != nil {
		if err := block.CheckLabel(*label); err != nil {
			return BlockWritten{}, err
		}
	}
	home, err := b.home(ctx, s)
	if err != nil {
		return BlockWritten{}, err
	}
	shown := 0
	out, err := b.rewriteIn(ctx, s, &home, b.byID(s, id), r, edited(func(ctx context.Context, tx memory.Tx, now *block.Block) error {
		if err := now.Put(c); err != nil || label == nil || *label == now.Label {
			return err
		}
		list, err := tx.Attached(ctx, id)
		if err != nil {
			return err
		}
		if shown = len(list); shown > 0 {
			return errAttached
		}
		now.Label = *label
		return nil
	}))
	if errors.Is(err, errAttached) {
		err = b.stillAttached(ctx, s, id, shown)
	}
	return out, err
}

// StepByID is Step for a stand-alone block (notes:write, base:write).
func (b *Blocks) StepByID(ctx context.Context, s tenant.Scope, id uuid.UUID, step block.Step, r memory.Request) (BlockWritten, error) {
	home, err := b.home(ctx, s)
	if err != nil {
		return BlockWritten{}, err
	}
	return b.rewriteIn(ctx, s, &home, b.byID(s, id), r, b.stepped(step))
}

// DeleteByID deletes a stand-alone block (notes:write, base:write). Conflict while it is attached, with the
// collections that the scope reaches; Forbidden for a read-only one.
func (b *Blocks) DeleteByID(ctx context.Context, s tenant.Scope, id uuid.UUID, r memory.Request) (memory.Revision, error) {
	home, err := b.home(ctx, s)
	if err != nil {
		return 0, err
	}
	v, err := b.notes.store.OpenView(ctx, s, home.ID.String(), memory.At{})
	if err != nil {
		return 0, err
	}
	if _, err := b.byID(s, id)(ctx, v); err != nil {
		return 0, err
	}
	return b.deleteIn(ctx, s, &home, id, r)
}

// Attached lists the collections that show blocks, those that the scope reaches (notes:read).
func (b *Blocks) Attached(ctx context.Context, s tenant.Scope, blocks []uuid.UUID) (map[uuid.UUID][]uuid.UUID, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil || len(blocks) == 0 {
		return nil, err
	}
	list, err := b.notes.store.Attachments(ctx, s, memory.AttachmentQuery{Blocks: blocks})
	if err != nil {
		return nil, err
	}
	out := map[uuid.UUID][]uuid.UUID{}
	for _, a := range list {
		out[a.Block] = append(out[a.Block], a.Collection)
	}
	return out, nil
}

// Attach shows a stand-alone block in a collection (notes:write there). In mode rw it lets the agents of the
// collection write to a shared block, which takes base:write. Attaching it again changes the mode. Exists when
// another block there has the label.
func (b *Blocks) Attach(ctx context.Context, s tenant.Scope, ref string, id uuid.UUID, mode memory.AttachMode) (memory.Note, memory.Revision, error) {
	c, err := b.notes.resolveWritable(ctx, s, ref)
	if err != nil {
		return memory.Note{}, 0, err
	}
	if mode == memory.AttachRW {
		if err := tenant.Check(s, tenant.BaseWrite); err != nil {
			return memory.Note{}, 0, err
		}
	}
	home, ok, err := findHome(ctx, b.notes.store, s)
	if err == nil && !ok {
		err = fault.Missing("block")
	}
	if err != nil {
		return memory.Note{}, 0, err
	}
	if _, held, err := b.attachedBlock(ctx, s, &c, id); err != nil || !held {
		if err == nil {
			err = b.checkBlockCount(ctx, s, &c, "block")
		}
		if err != nil {
			return memory.Note{}, 0, err
		}
	}
	var out memory.Note
	o := memory.WriteOptions{Audit: []memory.AuditEntry{{Action: "block.attach", Target: id.String(), Detail: map[string]any{"collection": c.ID.String(), "mode": string(mode)}}}}
	_, err = b.notes.store.Write(ctx, s, home.ID, o, func(ctx context.Context, tx memory.Tx) error {
		n, err := readVisible(ctx, tx, id)
		if err != nil {
			return err
		}
		if n == nil || n.Kind != memory.KindBlock {
			return fault.Missing("block")
		}
		a, err := tx.Attach(ctx, memory.Attachment{Block: id, Collection: c.ID, Label: block.Label(n), Mode: mode})
		out = block.Attached(&memory.AttachedBlock{Attachment: a, Note: *n})
		return err
	})
	return out, c.Head, err
}

// attachedBlock returns the attachment of a block to a collection.
func (b *Blocks) attachedBlock(ctx context.Context, s tenant.Scope, c *memory.Collection, id uuid.UUID) (memory.Attachment, bool, error) {
	list, err := b.notes.store.Attachments(ctx, s, memory.AttachmentQuery{Collection: c.ID, Blocks: []uuid.UUID{id}})
	if err != nil || len(list) == 0 {
		return memory.Attachment{}, false, err
	}
	return list[0], true, nil
}

// Detach ends the attachment that a collection has under a label (notes:write), and returns the block. NotFound
// when there is none, Conflict for a block of the collection's own.
func (b *Blocks) Detach(ctx context.Context, s tenant.Scope, ref, label string) (memory.Note, memory.Revision, error) {
	c, err := b.notes.resolveWritable(ctx, s, ref)
	if err != nil {
		return memory.Note{}, 0, err
	}
	a, ok, err := b.attachedAs(ctx, s, &c, label)
	if err != nil {
		return memory.Note{}, 0, err
	}
	if !ok {
		v, err := b.notes.store.OpenView(ctx, s, c.ID.String(), memory.At{})
		if err != nil {
			return memory.Note{}, 0, err
		}
		if _, err := b.find(ctx, s, v, label); err != nil {
			return memory.Note{}, 0, err
		}
		return memory.Note{}, 0, fault.New(fault.Conflict, "the block %q is the collection's own; delete it instead", label)
	}
	var out memory.Note
	o := memory.WriteOptions{Audit: []memory.AuditEntry{{Action: "block.detach", Target: a.Block.String(), Detail: map[string]any{"collection": c.ID.String()}}}}
	_, err = b.notes.store.Write(ctx, s, a.Home, o, func(ctx context.Context, tx memory.Tx) error {
		n, err := readVisible(ctx, tx, a.Block)
		if err != nil {
			return err
		}
		ok, err := tx.Detach(ctx, a.Block, c.ID)
		if err == nil && (!ok || n == nil) {
			err = fault.Missing("block")
		}
		if err == nil {
			out = *n
		}
		return err
	})
	return out, c.Head, err
}
