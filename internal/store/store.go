// Package store composes what the core asks of a store into one contract, implements what its
// engines do alike, observes it, and runs migrations.
//
// The engines are internal/store/sqlite and internal/store/postgres: each embeds Base and
// implements Session with its own SQL. internal/store/storetest says in tests what the contract
// means, and internal/app chooses an engine. This package imports no engine.
package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Store is everything that the application needs of a store.
type Store interface {
	memory.Store
	tenant.Directory
	tenant.AdminStore
	tenant.AgentStore
	auth.KeyStore
	auth.SigningKeyStore
	auth.GrantStore
	Verifier
	// Schema returns the version of the database beside that of this build.
	Schema(ctx context.Context) (Schema, error)
	// Size returns the bytes that the store uses on disk.
	Size(ctx context.Context) (int64, error)
	// Ping returns nil when the store answers.
	Ping(ctx context.Context) error
	// Close waits for running statements and closes all connections.
	Close() error
}

// Verifier checks a whole store against its own rules.
type Verifier interface {
	// Verify lists the problems; an empty list means that there are none. An error means that the
	// check itself failed.
	Verify(ctx context.Context) ([]Problem, error)
}

// Backuper copies a live store. The embedded engine implements it.
type Backuper interface {
	// Backup writes a consistent copy to a new file. Exists when there is one.
	Backup(ctx context.Context, path string) error
}

// Problem is a problem that Verify found.
type Problem struct {
	Kind       ProblemKind
	Tenant     uuid.UUID // zero: of no single tenant
	Collection uuid.UUID // zero: of no single collection
	Detail     string    // one sentence, with ids and without content
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
	ProblemJob      ProblemKind = "job"      // a job in an impossible state
	ProblemCount    ProblemKind = "count"    // a head row with wrong counts
	ProblemKey      ProblemKind = "key"      // two live notes have one natural key
	// ProblemAttachment is an attachment of a block that its home does not hold.
	ProblemAttachment ProblemKind = "attachment"
)
