package mem0

import (
	"encoding/json"
	"strings"
)

// lenientEntities reads the answer of "entities": also a bare list, names
// without types, or the names under other labels.
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

func encodeLenient(v any, ok bool) json.RawMessage {
	raw, err := json.Marshal(v)
	if !ok || err != nil {
		return nil
	}
	return raw
}

// eachEntry gives the entries of the list that an answer holds under one of
// its names, or is; ok is false when there is none.
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

// tripleIn reads a triple that is given as an object, as a list of three, or
// as a text with marks between its parts; the zero Triple when it is none.
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

func stringField(v map[string]any, names ...string) string {
	s, _ := firstValue(v, names...).(string)
	return s
}
