package mem0

import (
	"encoding/json"
	"strings"

	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// lenientEntities reads the answer of "entities". It also accepts a bare list, names
// without types, and other labels.
func lenientEntities(said string) json.RawMessage {
	found := EntitiesFound{Entities: []Entity{}}
	ok := policy.EachEntry(said, []string{"entities", "nodes"}, func(v any) {
		var e Entity
		switch v := v.(type) {
		case string:
			e = Entity{Entity: v, Type: typeThing}
		case map[string]any:
			e.Entity = policy.StringField(v, "entity", "name", "entity_name", "text", "title")
			e.Type = policy.StringField(v, "entity_type", "type", "category", "label", "kind")
		}
		found.Entities = append(found.Entities, e)
	})
	return policy.EncodeLenient(found, ok)
}

// lenientRelations reads the answer of "relations".
func lenientRelations(said string) json.RawMessage {
	found := RelationsFound{Relations: []Triple{}}
	ok := policy.EachEntry(said, []string{"relations", "relationships", "triples", "edges"}, func(v any) { found.Relations = append(found.Relations, tripleFrom(v)) })
	return policy.EncodeLenient(found, ok)
}

// lenientConflicts reads the answer of "conflicts".
func lenientConflicts(said string) json.RawMessage {
	found := ConflictsFound{Invalidate: []Triple{}}
	ok := policy.EachEntry(said, []string{"invalidate", "invalid", "conflicts", "delete", "outdated"}, func(v any) { found.Invalidate = append(found.Invalidate, tripleFrom(v)) })
	return policy.EncodeLenient(found, ok)
}

// tripleFrom reads a triple from an object, a list of three, or a text with separators;
// the zero Triple when it is none.
func tripleFrom(v any) Triple {
	switch v := v.(type) {
	case map[string]any:
		return Triple{
			Source:      policy.StringField(v, "source", "subject", "from", "head", "source_entity"),
			Relation:    policy.StringField(v, "relationship", "relation", "predicate", "type", "label", "verb"),
			Destination: policy.StringField(v, "destination", "object", "to", "target", "tail", "destination_entity"),
		}
	case []any:
		if len(v) == 3 {
			s, _ := v[0].(string)
			r, _ := v[1].(string)
			o, _ := v[2].(string)
			return Triple{Source: s, Relation: r, Destination: o}
		}
	case string:
		for _, mark := range []string{" -- ", "|", "->", ";", ","} {
			if p := strings.Split(v, mark); len(p) == 3 {
				return Triple{Source: strings.Trim(p[0], " ()"), Relation: strings.TrimSpace(p[1]), Destination: strings.Trim(p[2], " ()")}
			}
		}
	}
	return Triple{}
}
