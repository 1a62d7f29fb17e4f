package bank

import (
	"context"
	"log/slog"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Store is what the service asks of a store.
type Store interface {
	memory.Reader
	memory.Writer
	ResolveCollection(ctx context.Context, s tenant.Scope, ref string) (memory.Collection, error)
}

// Deps are the parts that the service works with.
type Deps struct {
	Store       Store
	Embedders   memory.Embedders
	Collections *notes.Collections // nil: an import names no collection after its person
	Quota       memory.Quota       // nil: no quotas
	Clock       memory.Clock       // default time.Now
	Log         *slog.Logger
}

// Service imports and exports banks. It is safe for concurrent use.
type Service struct {
	store       Store
	embedders   memory.Embedders
	collections *notes.Collections
	quota       memory.Quota
	clock       memory.Clock
	log         *slog.Logger
}

// New makes the service.
func New(d Deps) (*Service, error) {
	if d.Store == nil || d.Embedders == nil {
		return nil, fault.New(fault.Internal, "bank: store and embedders are required")
	}
	s := &Service{store: d.Store, embedders: d.Embedders, collections: d.Collections, quota: d.Quota, clock: d.Clock, log: d.Log}
	if s.clock == nil {
		s.clock = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	return s, nil
}

// Report says what an import did.
type Report struct {
	Name      string          `json:"name"`
	Days      int             `json:"days"`
	Messages  int             `json:"messages"`  // written
	Summaries int             `json:"summaries"` // written, the overall one included
	Profiles  int             `json:"profiles"`  // written: of days, the portrait, the meta information
	Known     int             `json:"known"`     // notes that were here before
	Tasks     int             `json:"tasks"`     // days and wholes that are summed up now
	Revision  memory.Revision `json:"revision"`
	Skipped   []Skipped       `json:"skipped"`
}

// Skipped is a part of a document that was left out.
type Skipped struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}
