package bank

import (
	"context"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
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
	Notes       *notes.Service     // embeds what an import writes
	Collections *notes.Collections // nil: an import does not name the collection after its person
	Quota       memory.Quota       // nil: no quotas
	Clock       memory.Clock       // nil: time.Now
}

// Service imports and exports banks. It is safe for concurrent use.
type Service struct {
	store       Store
	notes       *notes.Service
	collections *notes.Collections
	quota       memory.Quota
	clock       memory.Clock
}

// New returns a Service. Store and Notes are required.
func New(d Deps) (*Service, error) {
	if d.Store == nil || d.Notes == nil {
		return nil, fault.New(fault.Internal, "bank: store and notes are required")
	}
	s := &Service{store: d.Store, notes: d.Notes, collections: d.Collections, quota: d.Quota, clock: d.Clock}
	if s.clock == nil {
		s.clock = time.Now
	}
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
