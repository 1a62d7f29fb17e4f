package memory

import (
	"context"
	"time"

	"github.com/google/uuid"

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
)

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
	// NotFound for a block that is not visible and for a collection that the scope does not reach, Exists when
	// another block there has the label, Conflict when the collection is still being copied or is the
	// block's own.
	Attach(ctx context.Context, a Attachment) (Attachment, error)
	// Detach ends an attachment; ok is false when there is none.
	Detach(ctx context.Context, block, collection uuid.UUID) (ok bool, err error)
}
