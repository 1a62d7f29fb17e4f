package notes_test

import (
	"context"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// describe returns a closure that leaves a note as analysis does.
func describe(id uuid.UUID) func(context.Context, memory.Tx) error {
	return func(ctx context.Context, tx memory.Tx) error {
		notes, err := tx.Notes(ctx, []uuid.UUID{id}, memory.ReadOptions{Vector: true})
		if err != nil {
			return err
		}
		if len(notes) != 1 {
			return fault.Missing("note")
		}
		n := notes[0]
		n.Keywords, n.Context, n.State, n.Analyst = []string{"found"}, "A sentence.", memory.StateEvolved, memory.AnalystHeuristic
		_, err = tx.Put(ctx, n)
		return err
	}
}
