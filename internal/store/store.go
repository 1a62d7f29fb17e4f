// Package store composes what the core asks of a store into one contract, and
// runs migrations. The engines below it, sqlite and postgres, implement
// the contract; storetest says in tests what it means.
//
// It knows no engine and will not depend on one: the application chooses.
package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Store is a whole store.
type Store interface {
	memory.Store
	tenant.Directory
	tenant.AdminStore
	tenant.AgentStore
	auth.KeyStore
	auth.SigningKeyStore
	Verifier
	// Size gives the bytes that the store takes on disk.
	Size(ctx context.Context) (int64, error)
	// Ping tells whether the store answers; nil when it does.
	Ping(ctx context.Context) error
	// Close waits for the running write and releases everything.
	Close() error
}

// Verifier checks a whole store against its own rules.
type Verifier interface {
	// Verify lists what is wrong; an empty list means nothing is. An error
	// means that the check itself could not be made.
	Verify(ctx context.Context) ([]Problem, error)
}

// Backuper copies a live store; the embedded engine does.
type Backuper interface {
	// Backup writes a consistent copy to a new file. Exists when there is one.
	Backup(ctx context.Context, path string) error
}

// Problem is something wrong that Verify found.
type Problem struct {
	Kind       ProblemKind
	Tenant     uuid.UUID // zero: not of one tenant
	Collection uuid.UUID // zero: not of one collection
	Detail     string    // what, in one sentence, with ids and no content
}

// ProblemKind groups problems.
type ProblemKind string

// The kinds.
const (
	ProblemFile     ProblemKind = "file"     // the engine finds its own file damaged
	ProblemOrphan   ProblemKind = "orphan"   // a row whose owner is gone
	ProblemRevision ProblemKind = "revision" // a gap in a log, or a head that is not its end
	ProblemInterval ProblemKind = "interval" // versions of one note or link that overlap or leave a gap
	ProblemLink     ProblemKind = "link"     // a link whose endpoint was never in its lineage
	ProblemVector   ProblemKind = "vector"   // a vector without its version, or a version without the vector it names
	ProblemJob      ProblemKind = "job"      // a job in a state that cannot be
	ProblemCount    ProblemKind = "count"    // a head row that miscounts
	ProblemKey      ProblemKind = "key"      // a natural key used by two live notes
)
