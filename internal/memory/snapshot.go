package memory

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Snapshot is a name for a revision of a collection.
type Snapshot struct {
	Collection uuid.UUID
	Name       string
	Revision   Revision
	CreatedAt  time.Time
}

// MaxSnapshots bounds the names of one collection.
const MaxSnapshots = 1000

// SnapshotStore keeps names of revisions, and finds the revision of a time.
type SnapshotStore interface {
	// CreateSnapshot names a revision that the collection can read; Exists when the name is in use, Invalid "revision" above the
	// head, RevisionGone below the floor.
	CreateSnapshot(ctx context.Context, s tenant.Scope, n Snapshot, audit AuditEntry) (Snapshot, error)
	// Snapshots lists the names of a collection, by name.
	Snapshots(ctx context.Context, s tenant.Scope, collection uuid.UUID) ([]Snapshot, error)
	DeleteSnapshot(ctx context.Context, s tenant.Scope, collection uuid.UUID, name string, audit AuditEntry) error
	// RevisionAt returns the last revision of the view's lineage that was written at or before a time; 0 when there is none.
	RevisionAt(ctx context.Context, s tenant.Scope, v View, at time.Time) (Revision, error)
}
