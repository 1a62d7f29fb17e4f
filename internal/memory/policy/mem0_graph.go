package policy

import (
	"context"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// This file is where the graph of Mem0g joins the facts: Mem0 decides about
// facts and calls ingest with what became of them; everything else about
// entities and relations belongs to graph.

// GraphConfig holds the constants of the graph.
type GraphConfig struct{}

func defaultGraphConfig() GraphConfig { return GraphConfig{} }

// graphKnobs are shown after those of the facts.
func graphKnobs() []knob[Mem0Config] { return nil }

// graph keeps entities and relations beside facts.
type graph struct{}

func newGraph() (*graph, error) { return &graph{}, nil }

// ingest adds to dec what changes in the graph when facts do. added are the new and changed facts, with ids, as they
// stand in dec.Puts; removed are those that dec deletes, as they were. It may set dec.Pending and add to dec.Follow.
func (g *graph) ingest(
	_ context.Context, _ memory.Desk, _ *Mem0Config, _, _ []memory.Note, _ *memory.Decision, _ *Mem0Outcome,
) error {
	return nil
}

// task does a task of the graph; ok is false when it knows none of that name.
func (g *graph) task(_ context.Context, _ memory.Desk, _ *Mem0Config, _ memory.Task) (dec memory.Decision, ok bool, err error) {
	return memory.Decision{}, false, nil
}
