package memory

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Attachment shows a block in a collection that does not hold it. The block stays one note of its home, a
// shared collection of the tenant, so that what one agent writes is what the others read. Attachments are
// of now: they are not in the log, and a read of the past shows those that there are.
type Attachment struct {
	Block      uuid.UUID
	Home       uuid.UUID // the collection that holds the block
	Collection uuid.UUID // the one that shows it
	Label      string    // of the block; unique in Collection, among the blocks of its own too
	Mode       AttachMode
	At         time.Time // when it was attached; set by the store
}

// AttachMode says what the agents of a collection may do with an attached block.
type AttachMode string

// The modes.
const (
	AttachRW AttachMode = "rw" // read and edit
	AttachRO AttachMode = "ro" // read
	// AttachFolder is not a block but a folder, a collection of files: Block and Home are its id, and Label is
	// FolderLabel of it, which no block has.
	AttachFolder AttachMode = "folder"
	// AttachTool is not a block but a tool of the tenant: Block is its id, Home is zero, and Label is ToolLabel of its name.
	AttachTool AttachMode = "tool"
)

// FolderLabel returns the label of an attached folder.
func FolderLabel(folder uuid.UUID) string { return "\t" + folder.String() }

// ToolLabel returns the label of an attached tool, which no block has.
func ToolLabel(name string) string { return "\ttool " + name }

// IsBlock reports whether a block is attached, and not a folder or a tool.
func (a *Attachment) IsBlock() bool { return a.Mode != AttachFolder && a.Mode != AttachTool }

// AttachmentQuery selects attachments; zero fields select all.
type AttachmentQuery struct {
	Collection uuid.UUID // that shows the blocks
	Blocks     []uuid.UUID
	Home       uuid.UUID
}

// AttachmentStore reads attachments; they are written in transactions, and with new collections.
type AttachmentStore interface {
	// Attachments lists those in collections that the scope reaches and that are not being deleted, by
	// block, then collection. NotFound for a Collection that the scope does not reach.
	Attachments(ctx context.Context, s tenant.Scope, q AttachmentQuery) ([]Attachment, error)
}

// AttachmentWriter changes attachments of the blocks that the transaction's collection holds. None of it is
// a changeset.
type AttachmentWriter interface {
	// Attached lists the attachments of blocks in all collections that are not being deleted, also in those
	// that the scope does not reach.
	Attached(ctx context.Context, blocks ...uuid.UUID) ([]Attachment, error)
	// Attach attaches a block of the collection to another one, or changes the mode; Home and At are set.
	// In mode AttachFolder the collection itself is attached.
	// NotFound for a block that is not visible and for a collection that the scope does not reach, Exists when
	// another block there has the label, Conflict when the collection is still being copied or is the
	// block's own.
	Attach(ctx context.Context, a Attachment) (Attachment, error)
	// Detach ends an attachment; ok is false when there is none.
	Detach(ctx context.Context, block, collection uuid.UUID) (ok bool, err error)
}

// StillAttached returns the Conflict for what cannot be deleted or renamed because n collections show it; named
// are those that the caller may know.
func StillAttached(n int, named []Attachment) *fault.Error {
	err := fault.New(fault.Conflict, "it is attached to %d collections; detach it first", n)
	for i := range named {
		err.Collections = append(err.Collections, named[i].Collection.String())
	}
	slices.Sort(err.Collections)
	err.Collections = slices.Compact(err.Collections)
	return err
}

// AttachedBlock is a block that a collection shows, as its home holds it now.
type AttachedBlock struct {
	Attachment
	Note Note
}

// AttachedReader is what AttachedBlocks requires of a store.
type AttachedReader interface {
	AttachmentStore
	OpenView(ctx context.Context, s tenant.Scope, ref string, at At) (View, error)
	Notes(ctx context.Context, s tenant.Scope, v View, ids []uuid.UUID, o ReadOptions) ([]Note, error)
}

// AttachedBlocks reads the blocks that are attached to a collection, in the order of their ids.
func AttachedBlocks(ctx context.Context, store AttachedReader, s tenant.Scope, collection uuid.UUID, o ReadOptions) ([]AttachedBlock, error) {
	list, err := store.Attachments(ctx, s, AttachmentQuery{Collection: collection})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	homes := map[uuid.UUID][]Attachment{}
	for _, a := range list {
		if a.IsBlock() {
			homes[a.Home] = append(homes[a.Home], a)
		}
	}
	var out []AttachedBlock
	for home, shown := range homes {
		v, err := store.OpenView(ctx, s, home.String(), At{})
		if fault.Is(err, fault.NotFound) { // it was deleted meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		ids := make([]uuid.UUID, len(shown))
		of := map[uuid.UUID]Attachment{}
		for i, a := range shown {
			ids[i], of[a.Block] = a.Block, a
		}
		notes, err := store.Notes(ctx, s, v, ids, o)
		if err != nil {
			return nil, err
		}
		for i := range notes {
			out = append(out, AttachedBlock{of[notes[i].ID], notes[i]})
		}
	}
	slices.SortFunc(out, func(a, b AttachedBlock) int { return bytes.Compare(a.Block[:], b.Block[:]) })
	return out, nil
}
