package agent

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/files"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memgpt/agent/tools"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Store is what Service requires of a store.
type Store interface {
	NoteStore
	JobStore
	History(ctx context.Context, s tenant.Scope, v memory.View, note uuid.UUID, before memory.Revision, limit int) ([]memory.HistoryEntry, error)
	Review(ctx context.Context, s tenant.Scope, id uuid.UUID) (memory.Review, error)
	ListReviews(ctx context.Context, s tenant.Scope, q memory.ReviewQuery) ([]memory.Review, error)
}

// NoteStore reads notes and writes changesets.
type NoteStore interface {
	Notes(ctx context.Context, s tenant.Scope, v memory.View, ids []uuid.UUID, o memory.ReadOptions) ([]memory.Note, error)
	Write(ctx context.Context, s tenant.Scope, collection uuid.UUID, o memory.WriteOptions, fn func(ctx context.Context, tx memory.Tx) error) (memory.Written, error)
	ListNotes(ctx context.Context, s tenant.Scope, v memory.View, q memory.NoteQuery) ([]memory.Note, error)
	NoteByKey(ctx context.Context, s tenant.Scope, v memory.View, kind memory.Kind, key string) (memory.Note, error)
	Counts(ctx context.Context, s tenant.Scope, v memory.View) (memory.Counts, error)
}

// JobStore works with the jobs of runs.
type JobStore interface {
	memory.AnswerStore
	ListJobs(ctx context.Context, s tenant.Scope, q memory.JobQuery) ([]memory.Job, error)
	CancelJob(ctx context.Context, s tenant.Scope, id uuid.UUID, audit memory.AuditEntry) (memory.Job, error)
	ReleaseJob(ctx context.Context, s tenant.Scope, job, lease uuid.UUID, end memory.JobEnd) error
	SetProgress(ctx context.Context, s tenant.Scope, job, lease uuid.UUID, p memory.Progress) error
}

// Models finds the models of collections; *engine.Engine implements it.
type Models interface {
	// ModelFor returns the model that a collection's config selects.
	ModelFor(c *memory.Collection) memory.Model
	// ModelNamed returns a model by its name in the settings; ok is false for "" and names that there are not.
	ModelNamed(name string) (m memory.Model, ok bool)
}

// Deps are the parts that the service uses; all but Clock and Models are required.
type Deps struct {
	Store    Store
	Notes    *notes.Service
	Blocks   *notes.Blocks
	Recall   *recall.Service
	Files    *files.Service
	Tools    *tools.Service // nil: no tools of the tenant's own
	Policies memory.PolicySet
	Models   Models       // nil: runs are stored and not done
	Clock    memory.Clock // nil: time.Now
	// Publish sends a delta to all processes, this one included, which call Receive. It does not block, and may lose
	// deltas. nil: there is no other process.
	Publish func(memory.RunDelta)
}

// Config are the settings of the service.
type Config struct {
	Encoding search.Encoding // counts tokens; default search.O200k
}

// Service builds the context of agents and runs their tools. It is safe for concurrent use.
type Service struct {
	store    Store
	notes    *notes.Service
	blocks   *notes.Blocks
	recall   *recall.Service
	files    *files.Service
	tools    *tools.Service
	policies memory.PolicySet
	models   Models
	clock    memory.Clock
	encoding search.Encoding
	publish  func(memory.RunDelta)
	streams  *streams
	counted  *counts
}

// New returns a service.
func New(deps Deps, cfg Config) (*Service, error) {
	if deps.Store == nil || deps.Notes == nil || deps.Blocks == nil || deps.Recall == nil || deps.Files == nil || deps.Policies == nil {
		return nil, fault.New(fault.Internal, "agent: store, notes, blocks, recall, files and policies are required")
	}
	a := &Service{
		store: deps.Store, notes: deps.Notes, blocks: deps.Blocks, recall: deps.Recall, files: deps.Files, tools: deps.Tools, policies: deps.Policies, models: deps.Models, clock: deps.Clock,
		encoding: cmp.Or(cfg.Encoding, search.O200k), publish: deps.Publish, streams: newStreams(), counted: newCounts(),
	}
	if !slices.Contains(search.Encodings(), a.encoding) {
		return nil, fault.New(fault.Internal, "agent: no encoding %q", a.encoding)
	}
	if a.clock == nil {
		a.clock = time.Now
	}
	return a, nil
}

// paging returns what an agent works with in a collection. Invalid for a policy that does not page.
func (a *Service) paging(c *memory.Collection) (memory.Paging, error) {
	p, _ := a.policies.ByName(c.Policy)
	if pager, ok := p.(memory.Pager); ok {
		return pager.Paging(c.PolicyConfig), nil
	}
	var able []string
	for _, name := range a.policies.Names() {
		if p, _ := a.policies.ByName(name); p != nil {
			if _, ok := p.(memory.Pager); ok {
				able = append(able, name)
			}
		}
	}
	return memory.Paging{}, fault.New(fault.Invalid, "a collection with the policy %s has no tools and no window; create one with the policy %s", c.Policy, strings.Join(able, ", "))
}

// Pages reports whether a collection is the memory of an agent.
func (a *Service) Pages(c *memory.Collection) bool {
	p, _ := a.policies.ByName(c.Policy)
	_, ok := p.(memory.Pager)
	return ok
}

// equipped returns what an agent works with in a collection, with the tools of the tenant's own.
func (a *Service) equipped(ctx context.Context, s tenant.Scope, c *memory.Collection) (memory.Paging, error) {
	p, err := a.paging(c)
	if err == nil {
		err = a.equip(ctx, s, c, &p)
	}
	return p, err
}

// Tools returns the tools of an agent (notes:read).
func (a *Service) Tools(ctx context.Context, s tenant.Scope, v *memory.View) ([]memory.Tool, error) {
	p, err := a.equipped(ctx, s, &v.Collection)
	return p.Tools, err
}

// HasTool reports whether the agent of a collection has a tool.
func (a *Service) HasTool(c *memory.Collection, name string) bool {
	p, err := a.paging(c)
	return err == nil && slices.ContainsFunc(p.Tools, func(t memory.Tool) bool { return t.Name == name })
}

// count returns the tokens of a text, with a margin where the encoding only estimates.
func (a *Service) count(text string) int {
	return a.counted.of(text, func() int {
		n, err := a.encoding.Count(text)
		if err != nil || a.encoding == search.Estimate {
			return int(search.EstimateMargin*float64(search.EstimateTokens(text))) + 1
		}
		return n
	})
}
