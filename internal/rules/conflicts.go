package rules

import (
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
)

// singleValuedRelations are the relations that have one value at a time.
var singleValuedRelations = wordSet("lives_in works_at works_as is_named name age follows_diet has_marital_status is_married_to has_birthday born_in")

// oppositeRelations are relations that say the contrary of one another.
var oppositeRelations = map[string][]string{
	"no_longer": nil, "likes": {"dislikes"}, "dislikes": {"likes"}, "plans": {"cancelled"}, "cancelled": {"plans", "wants", "going_to"},
	"is_single": {"is_married_to"},
}

// negatedRelation begins the relation of what is not, or is no longer.
const negatedRelation = "not_"

// findConflicts gives what is no longer true: another value of a relation that has
// one at a time, or the contrary of what is said now. A relation that can hold
// many values never conflicts.
func findConflicts(in mem0.ConflictsInput) mem0.ConflictsFound {
	out := mem0.ConflictsFound{Invalidate: []mem0.Triple{}}
	for _, old := range in.Existing {
		o, invalid := tripleKey(old), false
		for _, fresh := range in.New {
			f := tripleKey(fresh)
			if f.Source != o.Source || f == o {
				continue
			}
			same := f.Destination == o.Destination
			switch {
			case !same && f.Relation == o.Relation && singleValued(f.Relation):
				invalid = true
			case same && (f.Relation == negatedRelation+o.Relation || o.Relation == negatedRelation+f.Relation || slices.Contains(oppositeRelations[f.Relation], o.Relation)):
				invalid = true
			}
		}
		if invalid {
			out.Invalidate = append(out.Invalidate, old)
		}
	}
	return out
}

func singleValued(relation string) bool {
	return singleValuedRelations[relation] || strings.HasPrefix(relation, "favorite_")
}

func tripleKey(t mem0.Triple) mem0.Triple {
	return mem0.Triple{Source: entityKey(t.Source), Relation: strings.ReplaceAll(entityKey(t.Relation), " ", "_"), Destination: entityKey(t.Destination)}
}
