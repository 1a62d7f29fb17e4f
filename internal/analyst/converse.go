package analyst

import (
	"context"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Converse implements [memory.Model].
func (a *Analyst) Converse(context.Context, tenant.Scope, memory.Dialogue) (memory.TurnResult, error) {
	return memory.TurnResult{Analyst: memory.AnalystHeuristic, Model: Name, Turn: memory.Turn{Role: memory.RoleAssistant}}, nil
}
