package api

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/slipboxhq/slipbox/internal/api/mem0"
	"github.com/slipboxhq/slipbox/internal/api/route"
	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/clone"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/chat"
	"github.com/slipboxhq/slipbox/internal/memory/engine"
	"github.com/slipboxhq/slipbox/internal/memory/files"
	"github.com/slipboxhq/slipbox/internal/memory/hooks"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy/layered/layers"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memgpt/agent"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memgpt/agent/tools"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memgpt/letta"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memorybank/bank"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memoryos/tiers"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/store/sqlite"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

func TestEveryOperationIsServed(t *testing.T) {
	t.Parallel()
	// Empty services: mounting calls none of them.
	s := must.Get(New(Deps{
		Log: slog.New(slog.DiscardHandler), Auth: keys{},
		Core: &Core{
			Collections: &notes.Collections{}, Notes: &notes.Service{}, Blocks: &notes.Blocks{}, Files: &files.Service{}, Agent: &agent.Service{}, Tools: &tools.Service{}, Hooks: &hooks.Service{}, Costs: &notes.Costs{}, Recall: &recall.Service{},
			Clone: &clone.Service{}, Engine: &engine.Engine{}, Chat: &chat.Service{},
			Imports: struct{ Imports }{}, Jobs: (*sqlite.Store)(nil), Upkeep: struct{ Upkeep }{}, Waiter: struct{ Waiter }{},
			Routes:   []route.Set{(&layers.Service{}).Routes(), (&tiers.Service{}).Routes(), (&bank.Service{}).Routes(), (&letta.Service{}).Routes()},
			Policies: memory.PolicySet{}, Embedders: &llm.Registry{},
		},
		Access: &Access{
			Tokens: &auth.Tokens{}, Keys: &auth.Keys{}, Grants: &auth.Grants{}, Agents: &tenant.Agents{},
			Tenants: &tenant.Service{}, Usage: struct{ UsageReader }{}, Audit: struct{ AuditReader }{},
		},
	}, DefaultConfig()))(t)
	if missing := s.Unmounted(); len(missing) > 0 {
		t.Errorf("documented and not served: %v", missing)
	}
}

func TestMissingPartsAreNamed(t *testing.T) {
	t.Parallel()
	_, err := New(Deps{Log: slog.New(slog.DiscardHandler), Auth: keys{}, Core: &Core{Waiters: -1}}, DefaultConfig())
	for _, part := range []string{"collections", "notes", "recall", "clone", "imports", "jobs", "engine", "upkeep", "waiter is", "waiters", "policies", "costs", "chat", "embedders"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s is not named: %v", part, err)
		}
	}
}

// TestMem0OperationsAreServed: what is served is what the contract has.
func TestMem0OperationsAreServed(t *testing.T) {
	t.Parallel()
	doc := must.Get(mem0Document())(t)
	own := must.Get(sharedDocument())(t)
	handlers := mem0.New(mem0.Deps{}).Handlers()
	for id, op := range doc.operations {
		if handlers[id] == nil {
			t.Errorf("%s is documented and not served", id)
		}
		if own.operations[id] != nil {
			t.Errorf("%s is the name of another operation, too", id)
		}
		if op.errors != errorsMem0 || !strings.HasPrefix(op.path, "/mem0"+"/") {
			t.Errorf("%s: %+v", id, op)
		}
	}
	for id := range handlers {
		if doc.operations[id] == nil {
			t.Errorf("%s is served and not documented", id)
		}
	}
}

// Served returns the routes of a server, for the tests outside of this package.
func (s *Server) Served() gin.RoutesInfo { return s.engine.Routes() }
