package mem0

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/graph"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/text"
)

// statement is a relation that facts state.
type statement struct {
	source, target *graphNode
	relation       string
	facts          []uuid.UUID // that state it
	at             time.Time   // event time of the latest of them
	ended          time.Time   // it is known to have ended then, before it was learned; zero: it has not
}

type graphFactMaterial struct {
	Time string `json:"time"`
	Text string `json:"text"`
}

type entitiesMaterial struct {
	User  string              `json:"user"`
	Facts []graphFactMaterial `json:"facts"`
}

type relationsMaterial struct {
	User     string              `json:"user"`
	Entities []Entity            `json:"entities"`
	Facts    []graphFactMaterial `json:"facts"`
}

type conflictsMaterial struct {
	New      []Triple            `json:"new"`
	Existing []Triple            `json:"existing"`
	Facts    []graphFactMaterial `json:"facts"`
}

func (w *graphUpdate) factTexts() (material []graphFactMaterial, plain []string) {
	for i := range w.facts {
		n := &w.facts[i]
		s := text.Shorten(n.Content, 2*w.c.FactChars)
		material, plain = append(material, graphFactMaterial{formatWithWeekday(n.OccurredAt), s}), append(plain, s)
	}
	return material, plain
}

// ask makes a call and records it in the outcome, failed or not.
func (w *graphUpdate) ask(ctx context.Context, q question) (json.RawMessage, error) {
	a, err := w.c.ask(ctx, w.d, q)
	call := GraphCall{Call: q.name, Prompt: q.prompt.Version, Analyst: a.Analyst, Model: a.Model, Repaired: a.Repaired}
	if err != nil {
		call.Failed = err.Error()
	} else {
		w.analyst = a.Analyst
	}
	w.out.Calls = append(w.out.Calls, call)
	return a.JSON, err
}

func (w *graphUpdate) setFound(n int) { w.out.Calls[len(w.out.Calls)-1].Found = n }

// read asks for the entities of the facts and then for the relations among
// them. Nothing is made of an entity by that alone.
func (w *graphUpdate) readStatements(ctx context.Context) ([]*statement, error) {
	if len(w.facts) == 0 {
		return nil, nil
	}
	material, plain := w.factTexts()
	raw, err := w.ask(ctx, question{
		name: "entities", prompt: &w.g.entities, material: entitiesMaterial{w.user, material}, count: len(plain),
		input: EntitiesInput{Texts: plain, User: w.user}, lenient: lenientEntities, check: policy.CheckTypes[EntitiesFound],
	})
	if err != nil {
		return nil, err
	}
	e, err := policy.DecodeAnswer[EntitiesFound](raw, "entities")
	if err != nil {
		return nil, err
	}
	w.setFound(len(e.Entities))
	w.addEntities(e.Entities)
	if len(w.named) == 0 {
		return nil, nil
	}
	w.nodeOf(w.user, typePerson) // facts about the user may not say so
	entities := make([]Entity, len(w.named))
	for i, n := range w.named {
		entities[i] = Entity{Entity: n.name, Type: n.kind}
	}
	raw, err = w.ask(ctx, question{
		name: "relations", prompt: &w.g.relations, material: relationsMaterial{w.user, entities, material}, count: len(entities),
		input: RelationsInput{Texts: plain, Entities: entities, User: w.user}, lenient: lenientRelations, check: policy.CheckTypes[RelationsFound],
	})
	if err != nil {
		return nil, err
	}
	r, err := policy.DecodeAnswer[RelationsFound](raw, "relations")
	if err != nil {
		return nil, err
	}
	w.setFound(len(r.Relations))
	return w.newStatements(r.Relations), nil
}

// name takes over what was extracted, as far as the facts bear it out.
func (w *graphUpdate) addEntities(entities []Entity) {
	_, plain := w.factTexts()
	known := termsOf(strings.Join(plain, "\n"))
	for _, e := range entities {
		switch {
		case graph.EntityKey(e.Entity) == "":
			w.out.Dropped.Entities++
		case w.analyst == memory.AnalystModel && !w.isFromFacts(e.Entity, plain, &known):
			w.out.Dropped.NotSaid++
		case len(w.named) >= w.c.GraphEntities && w.nodes[w.entityKey(e.Entity)] == nil:
			w.out.Dropped.OverLimit++
		default:
			w.nodeOf(e.Entity, e.Type).mentioned = true
		}
	}
}

// borne tells that a name is of the facts: it stands in one, or shares a word
// with them, or is in another language, so that its words cannot be compared.
// Poor models also give names of the prompt, or make some up. Rules do not.
func (w *graphUpdate) isFromFacts(name string, facts []string, known *textTerms) bool {
	own := termsOf(graph.EntityName(name))
	other := own.lang != known.lang && (own.sure || known.sure)
	return w.entityKey(name) == graph.EntityKey(w.user) || other || known.countShared(own.terms) > 0 ||
		slices.ContainsFunc(facts, func(s string) bool { return mentionsName(s, graph.EntityName(name)) })
}

// keyOf is the key of a name; the user's for all names that people have for themselves.
func (w *graphUpdate) entityKey(name string) string {
	key := graph.EntityKey(name)
	if selfNames[key] {
		return graph.EntityKey(w.user)
	}
	return key
}

// node gives the entity of a name, which is new or was named before by these facts.
func (w *graphUpdate) nodeOf(name, kind string) *graphNode {
	key := w.entityKey(name)
	if n := w.nodes[key]; n != nil {
		return n
	}
	if key == graph.EntityKey(w.user) {
		name, kind = w.user, typePerson
	}
	n := &graphNode{key: key, name: graph.EntityName(name), kind: typeKey(kind)}
	for _, other := range w.named {
		if other.kind == n.kind && other.key != graph.EntityKey(w.user) && isSameName(other.name, n.name, n.kind) {
			n = other // spelt in two ways
			break
		}
	}
	if w.nodes[key] = n; n.key == key {
		w.named = append(w.named, n)
	}
	return n
}

// stated keeps the relations among the entities, each once.
func (w *graphUpdate) newStatements(relations []Triple) []*statement {
	var out []*statement
	drop := &w.out.Dropped
	for _, t := range relations {
		relation := relationKey(t.Relation)
		from, to := w.entityKey(t.Source), w.entityKey(t.Destination)
		source, target := w.nodes[from], w.nodes[to]
		switch {
		case relation == "" || from == "" || to == "":
			drop.Malformed++
		case source == nil || target == nil:
			drop.Unknown++
		case source == target:
			drop.SelfLoops++
		case slices.ContainsFunc(out, func(s *statement) bool { return s.source == source && s.relation == relation && s.target == target }):
			drop.Repeats++
		case len(out) >= w.c.GraphRelations:
			drop.OverLimit++
		default:
			s := &statement{source: source, target: target, relation: relation}
			w.findSources(s)
			source.mentioned, target.mentioned = true, true
			out = append(out, s)
		}
	}
	return out
}

// rest finds the facts that a statement comes from: those that name both of
// its ends, else one of them, else all.
func (w *graphUpdate) findSources(s *statement) {
	says := func(n *memory.Note, of ...*graphNode) bool {
		return !slices.ContainsFunc(of, func(e *graphNode) bool { return e.key != graph.EntityKey(w.user) && !mentionsName(n.Content, e.name) })
	}
	for _, of := range [][]*graphNode{{s.source, s.target}, {s.target}, {s.source}, nil} {
		for i := range w.facts {
			n := &w.facts[i]
			if !says(n, of...) {
				continue
			}
			s.facts = append(s.facts, n.ID)
			if n.OccurredAt.After(s.at) {
				s.at = n.OccurredAt
			}
		}
		if len(s.facts) > 0 {
			break
		}
	}
	s.at = memory.Instant(s.at)
}

// contradicted asks which of the edges shown are no longer true. An answer
// that cannot be used ends none.
func (w *graphUpdate) askContradicted(ctx context.Context, stated []*statement, shown []*graphEdge) ([]*graphEdge, error) {
	material, plain := w.factTexts()
	m := conflictsMaterial{Facts: material}
	for _, s := range stated {
		m.New = append(m.New, Triple{Source: s.source.displayName(), Relation: s.relation, Destination: s.target.displayName()})
	}
	by := map[Triple]*graphEdge{}
	for _, e := range shown {
		t := Triple{Source: w.notes[e.id.Source].Content, Relation: e.id.Relation, Destination: w.notes[e.id.Target].Content}
		m.Existing = append(m.Existing, t)
		by[tripleKey(t, graph.EntityKey)] = e
	}
	raw, err := w.ask(ctx, question{
		name: "conflicts", prompt: &w.g.conflicts, material: m, count: len(m.Existing),
		input: ConflictsInput{New: m.New, Existing: m.Existing, Texts: plain}, lenient: lenientConflicts, check: policy.CheckTypes[ConflictsFound],
	})
	if isUnusable(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found, err := policy.DecodeAnswer[ConflictsFound](raw, "conflicts")
	if err != nil {
		return nil, nil //nolint:nilerr // as above
	}
	w.setFound(len(found.Invalidate))
	var out []*graphEdge
	for _, t := range found.Invalidate {
		e := by[tripleKey(t, graph.EntityKey)]
		if e == nil {
			e = by[tripleKey(t, w.entityKey)]
		}
		switch {
		case e == nil:
			w.out.Dropped.NotShown++
		case e.stated:
			w.out.Dropped.Reasserted++
		case slices.Contains(out, e):
			w.out.Dropped.Repeats++
		case len(out) >= w.c.GraphInvalidations:
			w.out.Dropped.OverLimit++
		default:
			out = append(out, e)
		}
	}
	return out, nil
}

// tripleKey is the form in which triples are compared.
func tripleKey(t Triple, key func(string) string) Triple {
	return Triple{Source: key(t.Source), Relation: relationKey(t.Relation), Destination: key(t.Destination)}
}

// negated begins the relations of what is not so, or is no longer.
const negationPrefix = "not_"

// sentence says a triple as people would.
func sentence(subject, relation, object string) string {
	positive, not := strings.CutPrefix(relation, negationPrefix)
	if !not || positive == "" {
		return strings.Join([]string{subject, strings.ReplaceAll(relation, "_", " "), object}, " ")
	}
	verb, rest, _ := strings.Cut(positive, "_")
	if rest != "" {
		rest += " "
	}
	behind := " " + strings.ReplaceAll(rest, "_", " ") + object
	base, present := baseOf(verb)
	switch {
	case verb == "is" || verb == "was" || verb == "can" || verb == "will":
		return subject + " " + verb + " not" + behind
	case present:
		return subject + " does not " + base + behind
	}
	return "It is not so that " + sentence(subject, positive, object)
}

// baseOf gives the verb of a third person; ok is false for another word.
func baseOf(verb string) (base string, ok bool) {
	switch {
	case verb == "has":
		return "have", true
	case strings.HasSuffix(verb, "ss") || !strings.HasSuffix(verb, "s"):
		return verb, false
	case strings.HasSuffix(verb, "ies") && len(verb) > 4:
		return strings.TrimSuffix(verb, "ies") + "y", true
	}
	for _, hissing := range []string{"ches", "shes", "sses", "xes", "oes"} {
		if strings.HasSuffix(verb, hissing) {
			return strings.TrimSuffix(verb, "es"), true
		}
	}
	return strings.TrimSuffix(verb, "s"), true
}
