package letta

import (
	"cmp"
	"context"
	"io"
	"slices"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memgpt/agent"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Bounds of agent files.
const (
	maxMessages = 100_000  // and as many passages
	maxExport   = 64 << 20 // bytes of text of one file, since it is built in memory
)

// Store is what Service requires of a store.
type Store interface {
	memory.Reader
	ResolveCollection(ctx context.Context, s tenant.Scope, ref string) (memory.Collection, error)
}

// Imports runs an import of lines as a job; *notes.Imports does.
type Imports interface {
	Start(ctx context.Context, s tenant.Scope, ref string, body io.Reader) (memory.Job, error)
}

// Deps are the parts that the service uses; all are required but Clock.
type Deps struct {
	Store       Store
	Collections *notes.Collections
	Blocks      *notes.Blocks
	Imports     Imports
	Agent       *agent.Service
	Clock       memory.Clock // nil: time.Now
}

// Service imports and exports agent files. It is safe for concurrent use.
type Service struct {
	store       Store
	collections *notes.Collections
	blocks      *notes.Blocks
	imports     Imports
	agent       *agent.Service
	clock       memory.Clock
}

// New returns a service.
func New(d Deps) (*Service, error) {
	if d.Store == nil || d.Collections == nil || d.Blocks == nil || d.Imports == nil || d.Agent == nil {
		return nil, fault.New(fault.Internal, "letta: store, collections, blocks, imports and agent are required")
	}
	l := &Service{store: d.Store, collections: d.Collections, blocks: d.Blocks, imports: d.Imports, agent: d.Agent, clock: d.Clock}
	if l.clock == nil {
		l.clock = time.Now
	}
	return l, nil
}

// Report is what an import does.
type Report struct {
	Agent    string   // its name in the file
	Blocks   []string // labels of the blocks that were written
	Messages int      // that the job imports
	Passages int      // that the job imports, and notes
	Rules    int      // tool rules and approvals that hold now
	Tools    []string // tools of the file that this agent has
	Left     []Left   // what is not carried
	Job      memory.Job
}

// Left is something of an agent file that is not carried, or not as it was.
type Left struct {
	Path   string // in the file
	Reason string
}

// left collects what is not carried.
type left struct{ list []Left }

func (l *left) add(path, reason string) { l.list = append(l.list, Left{path, reason}) }

// sorted returns the list by path.
func (l *left) sorted() []Left {
	slices.SortStableFunc(l.list, func(a, b Left) int { return cmp.Compare(a.Path, b.Path) })
	if l.list == nil {
		return []Left{}
	}
	return l.list
}

// agentOnly refuses a collection that is not an agent's memory.
func (l *Service) agentOnly(c *memory.Collection) error {
	if l.agent.Pages(c) {
		return nil
	}
	return fault.New(fault.Invalid, "an agent file is of a collection with the policy %s; this one has the policy %s", memory.PolicyMemGPT, c.Policy)
}
