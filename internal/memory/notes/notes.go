package notes

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/outage"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Store is what Service requires of a store.
type Store interface {
	memory.Reader
	memory.Writer
	ResolveCollection(ctx context.Context, s tenant.Scope, ref string) (memory.Collection, error)
	ListCollections(ctx context.Context, s tenant.Scope, q memory.CollectionQuery) ([]memory.Collection, error)
	CreateCollection(ctx context.Context, s tenant.Scope, c memory.NewCollection) (memory.CollectionCreated, error)
	Replayed(ctx context.Context, s tenant.Scope, k memory.Idempotency) (memory.Idempotency, bool, error)
	Job(ctx context.Context, s tenant.Scope, id uuid.UUID) (memory.Job, error)
	ListJobs(ctx context.Context, s tenant.Scope, q memory.JobQuery) ([]memory.Job, error)
}

// Deps are the dependencies of Service.
type Deps struct {
	Store     Store
	Embedders memory.Embedders
	Policies  memory.PolicySet // nil: none
	Clock     memory.Clock     // nil: time.Now
	Log       *slog.Logger
	Quota     memory.Quota // nil: no quotas
}

// Config holds the limits of one call.
type Config struct {
	BatchSize int // maximum notes of a changeset of a bulk; default 500
	// EmbedFor is how long a bulk may wait for vectors, but at most three quarters of the time that its
	// request has left. Notes that get none then are written again by their jobs. Default 45 s, in which
	// the local encoder reads 10,000 short notes on two CPUs.
	EmbedFor time.Duration
}

// Service implements the use-cases that write notes and links. Every method checks permissions
// first (notes:write, and base:write on a shared base), and takes a collection by id or name.
type Service struct {
	store     Store
	embedders memory.Embedders
	policies  memory.PolicySet
	clock     memory.Clock
	log       *slog.Logger
	quota     memory.Quota
	cfg       Config
	embedding *outage.Log // of embedding before a write
}

// New returns a Service. Store and Embedders are required.
func New(deps Deps, cfg Config) (*Service, error) {
	if deps.Store == nil || deps.Embedders == nil {
		return nil, fault.New(fault.Internal, "notes: store and embedders are required")
	}
	cfg.EmbedFor = cmp.Or(cfg.EmbedFor, 45*time.Second)
	if cfg.BatchSize == 0 {
		cfg.BatchSize = 500
	}
	if cfg.BatchSize < 1 || cfg.BatchSize > 500 {
		return nil, fault.New(fault.Internal, "notes: the batch size must be 1..500")
	}
	n := &Service{
		store: deps.Store, embedders: deps.Embedders, policies: deps.Policies, clock: deps.Clock, log: deps.Log,
		quota: deps.Quota, cfg: cfg,
	}
	if n.clock == nil {
		n.clock = time.Now
	}
	if n.policies == nil {
		n.policies = memory.PolicySet{}
	}
	if n.log == nil {
		n.log = slog.New(slog.DiscardHandler)
	}
	n.embedding = outage.New(n.log, nil, "texts cannot be embedded before a write; jobs will make the vectors", "texts are embedded before a write again")
	return n, nil
}

// NoteWritten is the result of a call that wrote one note.
type NoteWritten struct {
	Note     memory.Note
	Links    []memory.Link   // outgoing
	Revision memory.Revision // of the write
	Job      *memory.Job     // nil: none is needed
	Changed  bool            // false if the note already had these values
	Replayed bool            // an earlier answer under the same idempotency key
	Found    bool            // nothing was written: Note was there, and says the same
}

// LinkSet holds links of a note, with the entity tag of the outgoing ones.
type LinkSet struct {
	Links    []memory.Link
	ETag     string // of all outgoing links, in any direction asked for
	Revision memory.Revision
}

// LinkInput is a link as a caller sends it.
type LinkInput struct {
	Target     uuid.UUID
	Relation   string         // "": memory.RelatedTo
	Confidence *float64       // nil: 1
	Attributes map[string]any // nil: unchanged if the link exists
}

// BulkLine is one line of a bulk: a note, or the reason why the line is invalid.
type BulkLine struct {
	Note NewNote
	Err  error
	Once *memory.Idempotency // makes sending the line again safe; the service sets IDs
	// Whole reports that Once is derived from the key of the request. If such a key was used with
	// another body, the bulk is refused before anything is written.
	Whole bool
}

// BulkResult is the result of one line.
type BulkResult struct {
	Line     int // from 1
	ID       uuid.UUID
	Revision memory.Revision
	Job      *memory.Job
	Created  bool  // false without Err: the line was written before, or its note was there
	Found    bool  // nothing was written: the note was there, and says the same
	Err      error // a fault of this line alone
}
