package mem0

import (
	"encoding/json"
	"strings"
)

// lenientEntities reads the answer of "entities". It also accepts a bare list, names
// without types, and other labels.
func lenientEntities(said string) json.RawMessage {
	found := EntitiesFound{Entities: []Entity{}}
	ok := eachEntry(said, []string{"entities", "nodes"}, func(v any) {
		var e Entity
		switch v := v.(type) {
		case string:
			e = Entity{Entity: v, Type: typeThing}
		case map[string]any:
			e.Entity = stringField(v, "entity", "name", "entity_name", "text", "title")
			e.Type = stringField(v, "entity_type", "type", "category", "label", "kind")
		}
		found.Entities = append(found.Entities, e)
	})
	return encodeLenient(found, ok)
}

// lenientRelations reads the answer of "relations".
func lenientRelations(said string) json.RawMessage {
	found := RelationsFound{Relations: []Triple{}}
	ok := eachEntry(said, []string{"relations", "relationships", "triples", "edges"}, func(v any) { found.Relations = append(found.Relations, tripleFrom(v)) })
	return encodeLenient(found, ok)
}

// lenientConflicts reads the answer of "conflicts".
func lenientConflicts(said string) json.RawMessage {
	found := ConflictsFound{Invalidate: []Triple{}}
	ok := eachEntry(said, []string{"invalidate", "invalid", "conflicts", "delete", "outdated"}, func(v any) { found.Invalidate = append(found.Invalidate, tripleFrom(v)) })
	return encodeLenient(found, ok)
}

// encodeLenient returns what was read of an answer in its schema's form; nil when ok is
// false.
func encodeLenient(v any, ok bool) json.RawMessage {
	raw, err := json.Marshal(v)
	if !ok || err != nil {
		return nil
	}
	return raw
}

// eachEntry calls each for the entries of a list, which is the answer itself or in it
// under one of the names. It reports whether there is such a list, or an empty answer.
func eachEntry(said string, names []string, each func(any)) bool {
	if isEmptyAnswer(said) {
		return true
	}
	v, ok := findJSON(said)
	if !ok {
		return false
	}
	if object, is := v.(map[string]any); is {
		if v = firstValue(object, names...); v == nil {
			return len(object) == 0
		}
	}
	if s, is := v.(string); is && isEmptyAnswer(s) {
		return true
	}
	list, ok := v.([]any)
	if !ok {
		return false
	}
	for i, x := range list {
		if i == maxEntries {
			break
		}
		each(x)
	}
	return true
}

// tripleFrom reads a triple from an object, a list of three, or a text with separators;
// the zero Triple when it is none.
func tripleFrom(v any) Triple {
	switch v := v.(type) {
	case map[string]any:
		return Triple{
			Source:      stringField(v, "source", "subject", "from", "head", "source_entity"),
			Relation:    stringField(v, "relationship", "relation", "predicate", "type", "label", "verb"),
			Destination: stringField(v, "destination", "object", "to", "target", "tail", "destination_entity"),
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

// stringField returns the text under the first of the names that exists; "" without one.
func stringField(v map[string]any, names ...string) string {
	s, _ := firstValue(v, names...).(string)
	return s
}
