package layered

import (
	"math"
	"time"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// Weights and bounds of the published formulas.
const (
	workingAccessCap  = 10
	episodicAccessCap = 20
	keepAccessCap     = 10

	copiedImportance = 0.9 // of a working item's importance, when it becomes an episode
	copyAbove        = 0.4 // importance above which a consolidation copies an item
	shrunk           = 0.7 // of the capacity is left when the episodic layer shrinks
	gentleImportance = 0.4
	gentleAccesses   = 3

	confirmation = 0.1 // that a repeat adds to the confidence of a triple
	contradicted = 0.8 // of the confidence of a triple is left when another contradicts it
	challenger   = 0.4 // the confidence with which a triple that contradicts an older one begins
)

// workingFormula is how working items are recalled: 0.5·overlap + 0.3·importance + 0.2·exp(-age/1 h).
func workingFormula() memory.Formula {
	return memory.Formula{Overlap: .5, Importance: .3, Recency: .2, RecencyScale: time.Hour, NeedsOverlap: true}
}

// episodicFormula is how episodes are recalled: 0.6·cosine + 0.3·importance + 0.1·min(accesses/20, 1).
func episodicFormula() memory.Formula {
	return memory.Formula{Cosine: .6, Importance: .3, Access: .1, AccessCap: episodicAccessCap}
}

// semanticFormula is how knowledge is recalled: 0.5·confidence + 0.3 if its relation is named + 0.2 if its object
// is.
func semanticFormula(floor float64) memory.Formula {
	return memory.Formula{Confidence: .5, Relation: .3, Object: .2, NeedsSubject: true, Floor: floor}
}

// workingKeep returns what decides which item leaves a full working layer: 0.7·importance + 0.3·min(accesses/10, 1).
func workingKeep(importance float64, accesses int64) float64 {
	return .7*importance + .3*min(float64(accesses)/workingAccessCap, 1)
}

// episodicKeep returns what decides which items leave when the episodic layer shrinks:
// 0.5·importance + 0.5·min(accesses/10, 1).
func episodicKeep(importance float64, accesses int64) float64 {
	return .5*importance + .5*min(float64(accesses)/keepAccessCap, 1)
}

// decayed returns the importance of an item that was idle for a time: after so many days, half of its base for each
// so many days. It depends on the base alone, so that computing it again changes nothing.
func decayed(base float64, idle time.Duration, days float64) float64 {
	span := idle.Hours() / 24 / days
	if days <= 0 || span < 1 {
		return base
	}
	return base * math.Exp2(-span)
}
