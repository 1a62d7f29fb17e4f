package recall

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/graph"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Bounds of the work for one page of facts. A page that reaches them ends
// early, perhaps empty, and says where to go on.
const (
	factEntities = 50     // whose edges are read at once
	factLinks    = 20_000 // looked at for a page
	factFanout   = 100_000
)

// FactsQuery asks for edges between entities.
type FactsQuery struct {
	Subject, Relation, Object string // names, or ids of entities, as somebody writes them; "": any

	// Valid asks for edges that hold, or for those that do not; nil for those that hold.
	Valid *bool
	// ValidAt asks for the edges that held at an event time, whether or not they
	// do now; with Valid for those of them that still do, or no longer do.
	ValidAt time.Time
	// All asks for every edge, unless Valid or ValidAt says more.
	All bool

	Limit int    // 1..200; 0 is 50
	After string // FactsPage.Next of the page before
}

// Fact is an edge with the names of its ends.
type Fact struct {
	Subject, Relation, Object string
	SubjectID, ObjectID       uuid.UUID
	Valid                     bool      // it holds now
	ValidFrom                 time.Time // event time; with ValidAt, of the interval that it is in
	InvalidatedAt             time.Time // zero: not ended
	Mentions                  int
	Confidence                float64     // 0..1
	Sources                   []uuid.UUID // facts that it comes from; of one that holds, those that the view shows
}

// FactsPage is a page of facts; Next is "" at the end.
type FactsPage struct {
	Items    []Fact
	Next     string
	Revision memory.Revision
}

// Facts pages through the edges between entities of the view, by the id of the
// subject, the relation and the id of the object. An edge that claims to hold
// while the view shows none of the facts that it comes from, or not the note
// that says it, is left out: somebody has deleted these.
func (r *Service) Facts(ctx context.Context, s tenant.Scope, v memory.View, q FactsQuery) (FactsPage, error) {
	if err := may(s, &v); err != nil {
		return FactsPage{}, err
	}
	limit, err := pageLimit(q.Limit)
	if err != nil {
		return FactsPage{}, err
	}
	l := &listing{r: r, scope: s, view: v, q: q, limit: limit, page: FactsPage{Revision: v.At}}
	if q.After != "" {
		if l.after, err = placeOfFact(q.After); err != nil {
			return FactsPage{}, err
		}
	}
	if q.Valid == nil && q.ValidAt.IsZero() && !q.All {
		l.q.Valid = new(true)
	}
	if q.Relation != "" {
		l.relation = graph.EntityKey(q.Relation)
	}
	if err := l.run(ctx); err != nil {
		return FactsPage{}, err
	}
	return l.page, nil
}

// listing is one page of facts under way.
type listing struct {
	r        *Service
	scope    tenant.Scope
	view     memory.View
	q        FactsQuery
	relation string
	limit    int
	after    memory.LinkID // exclusive; zero: from the start
	seen     int           // links
	page     FactsPage
}

func (l *listing) run(ctx context.Context) error {
	var ends [2]uuid.UUID
	for i, name := range []string{l.q.Subject, l.q.Object} {
		if name == "" {
			continue
		}
		id, ok, err := l.entity(ctx, name)
		if err != nil || !ok {
			return err // of an entity that is not there, nothing is known
		}
		ends[i] = id
	}
	switch {
	case ends[0] != uuid.Nil:
		_, err := l.around(ctx, []uuid.UUID{ends[0]}, memory.Outgoing, func(k *memory.Link) bool { return ends[1] == uuid.Nil || k.Target == ends[1] })
		return err
	case ends[1] != uuid.Nil:
		_, err := l.around(ctx, []uuid.UUID{ends[1]}, memory.Incoming, func(*memory.Link) bool { return true })
		return err
	default:
		return l.everything(ctx)
	}
}

// entity finds an entity by its name, or by its id.
func (l *listing) entity(ctx context.Context, name string) (uuid.UUID, bool, error) {
	if id, err := uuid.Parse(name); err == nil {
		return id, true, nil // of another kind: no edge will do
	}
	n, err := l.r.store.NoteByKey(ctx, l.scope, l.view, memory.KindEntity, graph.EntityKey(name))
	if fault.Is(err, fault.NotFound) {
		return uuid.Nil, false, nil
	}
	return n.ID, err == nil, err
}

// everything walks the entities in the order of their ids.
func (l *listing) everything(ctx context.Context) error {
	q := memory.NoteQuery{Kinds: []memory.Kind{memory.KindEntity}, Limit: factEntities}
	if l.after.Source != uuid.Nil {
		// The entity that the last page ended in comes first, with what is left of it.
		if done, err := l.around(ctx, []uuid.UUID{l.after.Source}, memory.Outgoing, func(*memory.Link) bool { return true }); done || err != nil {
			return err
		}
		q.After = l.after.Source
	}
	for {
		entities, err := l.r.store.ListNotes(ctx, l.scope, l.view, q)
		if err != nil || len(entities) == 0 {
			return err
		}
		ids := make([]uuid.UUID, len(entities))
		for i := range entities {
			ids[i] = entities[i].ID
		}
		if done, err := l.around(ctx, ids, memory.Outgoing, func(*memory.Link) bool { return true }); done || err != nil {
			return err
		}
		q.After = ids[len(ids)-1]
		if l.seen >= factLinks {
			l.page.Next = nextFact(memory.LinkID{Source: q.After, Relation: afterAll})
			return nil
		}
	}
}

// around takes the wanted edges of entities; done tells that the page is full.
// Entities with more links together than are read at once are read singly.
func (l *listing) around(ctx context.Context, ids []uuid.UUID, d memory.Direction, want func(*memory.Link) bool) (done bool, err error) {
	limit := factLinks
	if len(ids) == 1 {
		limit = factFanout
	}
	links, err := l.r.store.Links(ctx, l.scope, l.view, memory.LinkQuery{Notes: ids, Direction: d, Limit: limit})
	if err != nil {
		return false, err
	}
	if len(links) == limit && len(ids) > 1 {
		for _, id := range ids {
			if done, err = l.around(ctx, []uuid.UUID{id}, d, want); done || err != nil {
				return done, err
			}
			if l.seen >= factLinks {
				l.page.Next = nextFact(memory.LinkID{Source: id, Relation: afterAll})
				return true, nil
			}
		}
		return false, nil
	}
	l.seen += len(links)
	return l.take(ctx, slices.DeleteFunc(links, func(k memory.Link) bool { return !l.follows(&k) || !want(&k) }))
}

// afterAll is behind every relation of a source.
const afterAll = "\xff"

// follows tells whether a link comes after where the page begins and may be asked for.
func (l *listing) follows(k *memory.Link) bool {
	if compareLinks(k.LinkID, l.after) <= 0 || l.relation != "" && k.Relation != l.relation {
		return false
	}
	e, ok := graph.EdgeOf(k)
	if !ok || l.q.Valid != nil && e.Valid != *l.q.Valid {
		return false
	}
	if !l.q.ValidAt.IsZero() {
		_, ok = e.At(l.q.ValidAt)
	}
	return ok
}

// take reads what the links rest on, in pieces, until the page is full.
func (l *listing) take(ctx context.Context, links []memory.Link) (done bool, err error) {
	for piece := range slices.Chunk(links, l.limit+1) {
		shown, err := l.read(ctx, piece)
		if err != nil {
			return false, err
		}
		for i := range piece {
			f, ok := l.fact(&piece[i], shown)
			if !ok {
				continue
			}
			if len(l.page.Items) == l.limit {
				l.page.Next = nextFact(l.after)
				return true, nil
			}
			l.page.Items, l.after = append(l.page.Items, f), piece[i].LinkID
		}
	}
	return false, nil
}

// read reads the ends of links and the facts that they come from.
func (l *listing) read(ctx context.Context, links []memory.Link) (map[uuid.UUID]memory.Note, error) {
	var ids []uuid.UUID
	known := map[uuid.UUID]bool{}
	add := func(id uuid.UUID) {
		if !known[id] {
			known[id], ids = true, append(ids, id)
		}
	}
	for i := range links {
		add(links[i].Source)
		add(links[i].Target)
		e, _ := graph.EdgeOf(&links[i])
		if !e.Valid {
			continue // what it came from may be gone
		}
		add(e.Triple)
		for _, id := range e.Sources {
			add(id)
		}
	}
	out := make(map[uuid.UUID]memory.Note, len(ids))
	for piece := range slices.Chunk(ids, 500) {
		notes, err := l.r.store.Notes(ctx, l.scope, l.view, piece, memory.ReadOptions{})
		if err != nil {
			return nil, err
		}
		for i := range notes {
			out[notes[i].ID] = notes[i]
		}
	}
	return out, nil
}

// fact reads a link as a fact; ok is false when it is none between entities,
// or holds on nothing that is shown.
func (l *listing) fact(k *memory.Link, shown map[uuid.UUID]memory.Note) (Fact, bool) {
	subject, object := shown[k.Source], shown[k.Target]
	if subject.Kind != memory.KindEntity || object.Kind != memory.KindEntity {
		return Fact{}, false
	}
	e, _ := graph.EdgeOf(k)
	f := Fact{
		Subject: subject.Content, Relation: k.Relation, Object: object.Content, SubjectID: k.Source, ObjectID: k.Target,
		Valid: e.Valid, Mentions: e.Mentions, Confidence: k.Confidence, Sources: e.Sources,
	}
	if e.Valid {
		f.Sources = slices.DeleteFunc(slices.Clone(e.Sources), func(id uuid.UUID) bool { return shown[id].ID == uuid.Nil })
		if len(f.Sources) == 0 || e.Triple != uuid.Nil && shown[e.Triple].ID == uuid.Nil {
			return Fact{}, false
		}
	}
	span := e.Current()
	if !l.q.ValidAt.IsZero() {
		span, _ = e.At(l.q.ValidAt)
	}
	f.ValidFrom, f.InvalidatedAt = span.From, span.To
	return f, true
}

// compareLinks orders links as the store does.
func compareLinks(a, b memory.LinkID) int {
	if c := slices.Compare(a.Source[:], b.Source[:]); c != 0 {
		return c
	}
	if c := strings.Compare(a.Relation, b.Relation); c != 0 {
		return c
	}
	return slices.Compare(a.Target[:], b.Target[:])
}

func nextFact(id memory.LinkID) string {
	return base64.RawURLEncoding.EncodeToString(append(append(id.Source[:], id.Target[:]...), id.Relation...))
}

func placeOfFact(s string) (memory.LinkID, error) {
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(raw) <= 32 {
		return memory.LinkID{}, fault.InvalidField("after", "is not where a page of facts ended")
	}
	return memory.LinkID{Source: uuid.UUID(raw[:16]), Target: uuid.UUID(raw[16:32]), Relation: string(raw[32:])}, nil
}
