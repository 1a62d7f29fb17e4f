package api

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/clone"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/bank"
	"github.com/slipboxhq/slipbox/internal/memory/chat"
	"github.com/slipboxhq/slipbox/internal/memory/engine"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/store/sqlite"
)

func TestEveryOperationIsServed(t *testing.T) {
	t.Parallel()
	// Roles with nothing behind them: mounting calls none.
	s, err := New(Deps{
		Log: slog.New(slog.DiscardHandler), Auth: keys{},
		Core: &Core{
			Collections: (*notes.Collections)(nil), Notes: (*notes.Service)(nil), Recall: (*recall.Service)(nil),
			Clone: (*clone.Service)(nil), Jobs: (*sqlite.Store)(nil), Reviews: (*engine.Engine)(nil),
			Imports: struct{ Imports }{}, Upkeep: struct{ Upkeep }{}, Waiter: struct{ Waiter }{},
			Policies: memory.PolicySet{}, Acts: (*engine.Engine)(nil), Costs: (*notes.Costs)(nil), Bank: (*bank.Service)(nil), Chat: (*chat.Service)(nil),
		},
		Access: &Access{
			Tokens: struct{ Tokens }{}, Keys: struct{ Keys }{}, Agents: struct{ Agents }{},
			Tenants: struct{ Tenants }{}, Usage: struct{ UsageReader }{}, Audit: struct{ AuditReader }{},
		},
	}, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	if missing := s.Unmounted(); len(missing) > 0 {
		t.Errorf("documented and not served: %v", missing)
	}
}

func TestMissingPartsAreNamed(t *testing.T) {
	t.Parallel()
	_, err := New(Deps{Log: slog.New(slog.DiscardHandler), Auth: keys{}, Core: &Core{Waiters: -1}}, DefaultConfig())
	for _, part := range []string{"collections", "notes", "recall", "clone", "imports", "jobs", "reviews", "upkeep", "waiter is", "waiters", "policies", "acts", "costs", "bank", "chat"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s is not named: %v", part, err)
		}
	}
}
