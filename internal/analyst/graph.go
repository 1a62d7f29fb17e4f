package analyst

import "github.com/slipboxhq/slipbox/internal/memory/policy/mem0"

// graphCalls are the calls of Mem0g.
func graphCalls() map[string]answerer {
	return map[string]answerer{
		"entities":  answer(findEntities),
		"relations": answer(findRelations),
		"conflicts": answer(findConflicts),
	}
}

func findEntities(mem0.EntitiesInput) mem0.EntitiesFound {
	return mem0.EntitiesFound{Entities: []mem0.Entity{}}
}

func findRelations(mem0.RelationsInput) mem0.RelationsFound {
	return mem0.RelationsFound{Relations: []mem0.Triple{}}
}

// findConflicts returns nothing: without a model no edge is retired.
func findConflicts(mem0.ConflictsInput) mem0.ConflictsFound {
	return mem0.ConflictsFound{Invalidate: []mem0.Triple{}}
}
