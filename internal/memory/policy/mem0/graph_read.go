package mem0

import (
	"context"
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
	ended          time.Time   // when it had ended already, if a newer edge contradicts it; zero: it has not
}

// graphFactMaterial is a fact as the prompts of the graph show it.
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

// factTexts returns the shortened texts of the facts, for prompts and for inputs.
func (u *graphUpdate) factTexts() (material []graphFactMaterial, plain []string) {
	for i := range u.facts {
		n := &u.facts[i]
		s := text.Shorten(n.Content, 2*u.c.FactChars)
		material, plain = append(material, graphFactMaterial{formatWithWeekday(n.OccurredAt), s}), append(plain, s)
	}
	return material, plain
}

// askAbout makes a call and records it in the outcome, failed or not.
func askAbout[T any](ctx context.Context, u *graphUpdate, q question) (T, error) {
	out, a, err := askFor[T](ctx, u.c, u.d, q)
	call := GraphCall{Call: q.name, Prompt: q.prompt.Version, Analyst: a.Analyst, Model: a.Model, Repaired: a.Repaired}
	if err != nil {
		call.Failed = err.Error()
	} else {
		u.analyst = a.Analyst
	}
	u.out.Calls = append(u.out.Calls, call)
	return out, err
}

// setFound records how many entries the last answer has.
func (u *graphUpdate) setFound(n int) { u.out.Calls[len(u.out.Calls)-1].Found = n }

// readStatements asks for the entities of the facts and then for the relations among
// them.
func (u *graphUpdate) readStatements(ctx context.Context) ([]*statement, error) {
	if len(u.facts) == 0 {
		return nil, nil
	}
	material, plain := u.factTexts()
	e, err := askAbout[EntitiesFound](ctx, u, question{
		name: "entities", prompt: &u.g.entities, material: entitiesMaterial{u.user, material}, count: len(plain),
		input: EntitiesInput{Texts: plain, User: u.user}, lenient: lenientEntities, check: policy.CheckTypes[EntitiesFound],
	})
	if err != nil {
		return nil, err
	}
	u.setFound(len(e.Entities))
	u.addEntities(e.Entities)
	if len(u.named) == 0 {
		return nil, nil
	}
	u.nodeOf(u.user, typePerson) // facts about the user may not name them
	entities := make([]Entity, len(u.named))
	for i, n := range u.named {
		entities[i] = Entity{Entity: n.name, Type: n.kind}
	}
	r, err := askAbout[RelationsFound](ctx, u, question{
		name: "relations", prompt: &u.g.relations, material: relationsMaterial{u.user, entities, material}, count: len(entities),
		input: RelationsInput{Texts: plain, Entities: entities, User: u.user}, lenient: lenientRelations, check: policy.CheckTypes[RelationsFound],
	})
	if err != nil {
		return nil, err
	}
	u.setFound(len(r.Relations))
	return u.newStatements(r.Relations), nil
}

// addEntities adds the extracted entities that are in the facts.
func (u *graphUpdate) addEntities(entities []Entity) {
	_, plain := u.factTexts()
	known := termsOf(strings.Join(plain, "\n"))
	for _, e := range entities {
		switch {
		case graph.EntityKey(e.Entity) == "":
			u.out.Dropped.Entities++
		case u.analyst == memory.AnalystModel && !u.isFromFacts(e.Entity, plain, &known):
			u.out.Dropped.NotSaid++
		case len(u.named) >= u.c.GraphEntities && u.nodes[u.entityKey(e.Entity)] == nil:
			u.out.Dropped.OverLimit++
		default:
			u.nodeOf(e.Entity, e.Type).mentioned = true
		}
	}
}

// isFromFacts reports whether a name comes from the facts: it is in one, shares a word
// with them, or is in another language, so that its words cannot be compared. Weak models
// also return names from the prompt, or invent some; the analyst does not.
func (u *graphUpdate) isFromFacts(name string, facts []string, known *textTerms) bool {
	own := termsOf(graph.EntityName(name))
	other := own.lang != known.lang && (own.sure || known.sure)
	return u.entityKey(name) == graph.EntityKey(u.user) || other || known.countShared(own.terms) > 0 ||
		slices.ContainsFunc(facts, func(s string) bool { return mentionsName(s, graph.EntityName(name)) })
}

// entityKey returns the key of a name; for a word such as "I" or "user" it is the user's.
func (u *graphUpdate) entityKey(name string) string {
	key := graph.EntityKey(name)
	if selfNames[key] {
		return graph.EntityKey(u.user)
	}
	return key
}

// nodeOf returns the entity of a name. It is added unless these facts named it before.
func (u *graphUpdate) nodeOf(name, kind string) *graphNode {
	key := u.entityKey(name)
	if n := u.nodes[key]; n != nil {
		return n
	}
	if key == graph.EntityKey(u.user) {
		name, kind = u.user, typePerson
	}
	n := &graphNode{key: key, name: graph.EntityName(name), kind: typeKey(kind)}
	for _, other := range u.named {
		if other.kind == n.kind && other.key != graph.EntityKey(u.user) && isSameName(other.name, n.name, n.kind) {
			n = other // another spelling
			break
		}
	}
	if u.nodes[key] = n; n.key == key {
		u.named = append(u.named, n)
	}
	return n
}

// newStatements returns the relations among the entities, each once.
func (u *graphUpdate) newStatements(relations []Triple) []*statement {
	var out []*statement
	drop := &u.out.Dropped
	for _, t := range relations {
		relation := relationKey(t.Relation)
		from, to := u.entityKey(t.Source), u.entityKey(t.Destination)
		source, target := u.nodes[from], u.nodes[to]
		switch {
		case relation == "" || from == "" || to == "":
			drop.Malformed++
		case source == nil || target == nil:
			drop.Unknown++
		case source == target:
			drop.SelfLoops++
		case slices.ContainsFunc(out, func(s *statement) bool { return s.source == source && s.relation == relation && s.target == target }):
			drop.Repeats++
		case len(out) >= u.c.GraphRelations:
			drop.OverLimit++
		default:
			s := &statement{source: source, target: target, relation: relation}
			u.findSources(s)
			source.mentioned, target.mentioned = true, true
			out = append(out, s)
		}
	}
	return out
}

// findSources sets the facts that a statement comes from, and its time. They are the
// facts that name both of its ends, else the target, else the source, else all.
func (u *graphUpdate) findSources(s *statement) {
	namesAll := func(n *memory.Note, nodes []*graphNode) bool {
		return !slices.ContainsFunc(nodes, func(e *graphNode) bool { return e.key != graph.EntityKey(u.user) && !mentionsName(n.Content, e.name) })
	}
	for _, nodes := range [][]*graphNode{{s.source, s.target}, {s.target}, {s.source}, nil} {
		for i := range u.facts {
			n := &u.facts[i]
			if !namesAll(n, nodes) {
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
	s.at = memory.EventInstant(s.at)
}

// askContradicted asks which of the shown edges are no longer true. When the answer cannot
// be used none ends.
func (u *graphUpdate) askContradicted(ctx context.Context, stated []*statement, shown []*graphEdge) ([]*graphEdge, error) {
	material, plain := u.factTexts()
	m := conflictsMaterial{Facts: material}
	for _, s := range stated {
		m.New = append(m.New, Triple{Source: s.source.displayName(), Relation: s.relation, Destination: s.target.displayName()})
	}
	by := map[Triple]*graphEdge{}
	for _, e := range shown {
		t := Triple{Source: u.notes[e.id.Source].Content, Relation: e.id.Relation, Destination: u.notes[e.id.Target].Content}
		m.Existing = append(m.Existing, t)
		by[tripleKey(t, graph.EntityKey)] = e
	}
	found, err := askAbout[ConflictsFound](ctx, u, question{
		name: "conflicts", prompt: &u.g.conflicts, material: m, count: len(m.Existing),
		input: ConflictsInput{New: m.New, Existing: m.Existing, Texts: plain}, lenient: lenientConflicts, check: policy.CheckTypes[ConflictsFound],
	})
	if isUnusable(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	u.setFound(len(found.Invalidate))
	var out []*graphEdge
	for _, t := range found.Invalidate {
		e := by[tripleKey(t, graph.EntityKey)]
		if e == nil {
			e = by[tripleKey(t, u.entityKey)]
		}
		switch {
		case e == nil:
			u.out.Dropped.NotShown++
		case e.stated:
			u.out.Dropped.Reasserted++
		case slices.Contains(out, e):
			u.out.Dropped.Repeats++
		case len(out) >= u.c.GraphInvalidations:
			u.out.Dropped.OverLimit++
		default:
			out = append(out, e)
		}
	}
	return out, nil
}

// tripleKey returns a triple in the form in which triples are compared.
func tripleKey(t Triple, key func(string) string) Triple {
	return Triple{Source: key(t.Source), Relation: relationKey(t.Relation), Destination: key(t.Destination)}
}

// negationPrefix begins the name of a relation that is negated, such as "not_likes".
const negationPrefix = "not_"

// sentence returns a triple as an English sentence.
func sentence(subject, relation, object string) string {
	positive, isNegated := strings.CutPrefix(relation, negationPrefix)
	if !isNegated || positive == "" {
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

// baseOf returns the base form of a verb in the third person, such as "like" for "likes";
// ok is false for another word.
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
