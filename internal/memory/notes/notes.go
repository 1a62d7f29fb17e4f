package notes

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/oapi-codegen/nullable"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Store is what Notes asks of a store.
type Store interface {
	memory.Reader
	memory.Writer
	ResolveCollection(ctx context.Context, s tenant.Scope, ref string) (memory.Collection, error)
	Replayed(ctx context.Context, s tenant.Scope, k memory.Idempotency) (memory.Idempotency, bool, error)
	Job(ctx context.Context, s tenant.Scope, id uuid.UUID) (memory.Job, error)
}

// Deps are the parts that Notes works with.
type Deps struct {
	Store     Store
	Embedders memory.Embedders
	Policies  memory.Policies // nil: none that decides by exchanges
	Clock     memory.Clock    // default time.Now
	Log       *slog.Logger
	Quota     memory.Quota // nil: no quotas
}

// Config bounds one call.
type Config struct {
	BulkLines int // most lines of one bulk; default 10,000
	BatchSize int // most notes of one changeset; default 500
	// EmbedFor is how long the answer to a bulk may wait for vectors, and at most
	// half of the time that its request has; what is left is the work of jobs.
	// Default 20 s.
	EmbedFor time.Duration
}

// Service are the use-cases that write notes and links. Every method checks
// permission (notes:write, and base:write on a shared base) before it looks at
// anything, and takes a collection by id or name.
type Service struct {
	store     Store
	embedders memory.Embedders
	policies  memory.Policies
	clock     memory.Clock
	log       *slog.Logger
	quota     memory.Quota
	cfg       Config
}

// New makes the service.
func New(deps Deps, cfg Config) (*Service, error) {
	if deps.Store == nil || deps.Embedders == nil {
		return nil, fault.New(fault.Internal, "notes: store and embedders are required")
	}
	if cfg.BulkLines == 0 {
		cfg.BulkLines = memory.MaxBulkLines
	}
	cfg.EmbedFor = cmp.Or(cfg.EmbedFor, 20*time.Second)
	if cfg.BatchSize == 0 {
		cfg.BatchSize = 500
	}
	if cfg.BulkLines < 1 || cfg.BatchSize < 1 || cfg.BatchSize > 500 {
		return nil, fault.New(fault.Internal, "notes: bulk lines must be 1 or more, batch size 1..500")
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
	return n, nil
}

// NewNote is a note as a caller gives it. A nil list or pointer was left out.
type NewNote struct {
	ID         uuid.UUID   // import only; zero makes one
	Kind       memory.Kind // default note
	Key        string      // optional natural key
	Content    string      // required, with a character that is no white space
	Context    *string
	Keywords   []string
	Tags       []string
	Category   *string // default Uncategorized
	Attributes map[string]any
	Importance *float64   // default 0.5
	OccurredAt *time.Time // default now
	Infer      *bool      // default true; false stores it as given
}

// NoteWritten is the answer of a call that wrote one note.
type NoteWritten struct {
	Note     memory.Note
	Links    []memory.Link   // outgoing
	Revision memory.Revision // of the write
	Job      *memory.Job     // nil: nothing is to be done
	Changed  bool            // false when the note already was as asked
	Replayed bool            // an earlier answer under the same idempotency key
}

// LinkSet are the links of one note with the tag that guards the outgoing ones.
type LinkSet struct {
	Note     uuid.UUID
	Links    []memory.Link
	ETag     string // of the outgoing links, whatever was asked for
	Revision memory.Revision
}

// LinkInput is a link as a caller gives it.
type LinkInput struct {
	Target     uuid.UUID
	Relation   string         // default related
	Confidence *float64       // default 1
	Attributes map[string]any // nil keeps those of an existing link
}

// BulkLine is one line of a bulk: a note, or why the line cannot be read.
type BulkLine struct {
	Note NewNote
	Err  error
	Once *memory.Idempotency // makes the line safe to send again; IDs is set by the service
	// Whole says that Once comes from the request: when one such key was used
	// with another body, the bulk is refused before anything is written.
	Whole bool
}

// BulkResult is the outcome of one line.
type BulkResult struct {
	Line     int // counted from 1
	ID       uuid.UUID
	Revision memory.Revision
	Job      *memory.Job
	Created  bool  // false without Err: the line was here before
	Err      error // a fault, of this line alone
}

// NotePatch is a merge patch of a note (RFC 7396): fields that are not specified
// keep their value, null clears a field to its default. Attributes merge by the
// same rule: a null inside removes that member.
type NotePatch struct {
	Content    *string // nil keeps it
	Context    nullable.Nullable[string]
	Keywords   nullable.Nullable[[]string]
	Tags       nullable.Nullable[[]string]
	Category   nullable.Nullable[string]
	Attributes nullable.Nullable[map[string]any]
	Importance nullable.Nullable[float64]
	OccurredAt nullable.Nullable[time.Time] // null: the time of creation
}
