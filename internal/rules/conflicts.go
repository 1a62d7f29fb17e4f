package rules

import (
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
)

// singleValuedRelations are the relations that have one value at a time.
var singleValuedRelations = wordSet("lives_in works_at works_as is_named name age follows_diet has_marital_status is_married_to has_birthday born_in")

// oppositeRelations lists the relations that each relation contradicts.
var oppositeRelations = map[string][]string{
	"no_longer": nil, "likes": {"dislikes"}, "dislikes": {"likes"}, "plans": {"cancelled"}, "cancelled": {"plans", "wants", "going_to"},
	"is_single": {"is_married_to"},
}

// negatedRelation is the prefix of a relation that does not hold, or no longer holds.
const negatedRelation = "not_"

// findConflicts returns the relations that are no longer true: another value of a single-valued
// relation, or the opposite of a new one. A relation that can have many values never conflicts
// with another value.
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

// tripleKey returns a triple in the form in which triples are compared.
func tripleKey(t mem0.Triple) mem0.Triple {
	return mem0.Triple{Source: entityKey(t.Source), Relation: strings.ReplaceAll(entityKey(t.Relation), " ", "_"), Destination: entityKey(t.Destination)}
}
