package bank

import (
	"context"
	"log/slog"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/outage"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Store is what Service requires of a store.
type Store interface {
	memory.Reader
	memory.Writer
	ResolveCollection(ctx context.Context, s tenant.Scope, ref string) (memory.Collection, error)
}

// Deps are the dependencies of Service.
type Deps struct {
	Store       Store
	Embedders   memory.Embedders
	Collections *notes.Collections // nil: an import does not name the collection after its person
	Quota       memory.Quota       // nil: no quotas
	Clock       memory.Clock       // nil: time.Now
	Log         *slog.Logger
}

// Service imports and exports banks. It is safe for concurrent use.
type Service struct {
	store       Store
	embedders   memory.Embedders
	collections *notes.Collections
	quota       memory.Quota
	clock       memory.Clock
	embedding   *outage.Log // of embedding before an import
}

// New returns a Service. Store and Embedders are required.
func New(d Deps) (*Service, error) {
	if d.Store == nil || d.Embedders == nil {
		return nil, fault.New(fault.Internal, "bank: store and embedders are required")
	}
	s := &Service{store: d.Store, embedders: d.Embedders, collections: d.Collections, quota: d.Quota, clock: d.Clock}
	if s.clock == nil {
		s.clock = time.Now
	}
	s.embedding = outage.New(d.Log, nil, "texts cannot be embedded before an import; jobs will make the vectors", "texts are embedded before an import again")
	return s, nil
}

// Report is the result of an import.
type Report struct {
	Name      string          `json:"name"`
	Days      int             `json:"days"`
	Messages  int             `json:"messages"`  // written
	Summaries int             `json:"summaries"` // written, including the overall one
	Profiles  int             `json:"profiles"`  // written: of days, the portrait, the meta information
	Known     int             `json:"known"`     // notes that existed before
	Tasks     int             `json:"tasks"`     // days and whole histories that will now be summarized
	Revision  memory.Revision `json:"revision"`
	Skipped   []Skipped       `json:"skipped"`
}

// Skipped is a part of a document that was not imported.
type Skipped struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}
