package recall

import (
	"context"
	"encoding/base64"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/graph"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Bounds of the work for one page of facts. A page that reaches them ends early, perhaps empty, with
// a cursor to continue from.
const (
	factEntities = 50      // entities whose edges are read in one call
	factLinks    = 20_000  // links that are read for a page
	factFanout   = 100_000 // links of a single entity that are read
)

// FactsQuery asks for edges between entities.
type FactsQuery struct {
	Subject, Relation, Object string // names in any spelling, or ids of entities; "": any

	// Valid selects edges that hold, or edges that do not; nil selects those that hold.
	Valid *bool
	// ValidAt selects the edges that held at an event time, whether or not they hold now; with
	// Valid, those of them that still hold or no longer do.
	ValidAt time.Time
	// All selects every edge, unless Valid or ValidAt is set.
	All bool
	// Contested selects edges that others of the same subject and relation contradict.
	Contested bool

	Limit int    // 1..200; 0 is 50
	After string // FactsPage.Next of the previous page
}

// Fact is an edge with the names of its ends.
type Fact struct {
	Subject, Relation, Object string
	SubjectID, ObjectID       uuid.UUID
	Valid                     bool      // it holds now
	Contested                 bool      // another one contradicts it
	ValidFrom                 time.Time // event time; with ValidAt, the start of the interval that contains it
	InvalidatedAt             time.Time // zero: it has not ended
	Mentions                  int
	Confidence                float64     // 0..1
	Sources                   []uuid.UUID // facts that it comes from; of an edge that holds, only visible ones
}

// FactsPage is a page of facts. Next is "" at the end.
type FactsPage struct {
	Items []Fact
	Next  string
}

// Facts pages through the edges between entities of the view, ordered by the id of the subject, the
// relation and the id of the object. It leaves out edges that claim to hold although none of their
// source facts is visible, or the note of their triple is not: these were deleted.
func (r *Service) Facts(ctx context.Context, s tenant.Scope, v memory.View, q FactsQuery) (FactsPage, error) {
	if err := checkRead(s, &v); err != nil {
		return FactsPage{}, err
	}
	limit, err := pageLimit(q.Limit)
	if err != nil {
		return FactsPage{}, err
	}
	l := &factLister{service: r, scope: s, view: v, q: q, limit: limit}
	if q.After != "" {
		if l.after, err = parseFactCursor(q.After); err != nil {
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

// factLister lists one page of facts.
type factLister struct {
	service  *Service
	scope    tenant.Scope
	view     memory.View
	q        FactsQuery
	relation string
	limit    int
	after    memory.LinkID // exclusive; zero: from the start
	seen     int           // links
	page     FactsPage
}

func (l *factLister) run(ctx context.Context) error {
	var ends [2]uuid.UUID
	for i, name := range []string{l.q.Subject, l.q.Object} {
		if name == "" {
			continue
		}
		id, ok, err := l.entityID(ctx, name)
		if err != nil || !ok {
			return err // an unknown entity has no facts
		}
		ends[i] = id
	}
	switch {
	case ends[0] != uuid.Nil:
		_, err := l.listEdges(ctx, []uuid.UUID{ends[0]}, memory.Outgoing, func(k *memory.Link) bool { return ends[1] == uuid.Nil || k.Target == ends[1] })
		return err
	case ends[1] != uuid.Nil:
		_, err := l.listEdges(ctx, []uuid.UUID{ends[1]}, memory.Incoming, func(*memory.Link) bool { return true })
		return err
	default:
		return l.listAll(ctx)
	}
}

// entityID returns the id of an entity, given its name or id; ok is false for an unknown name.
func (l *factLister) entityID(ctx context.Context, name string) (uuid.UUID, bool, error) {
	if id, err := uuid.Parse(name); err == nil {
		return id, true, nil // the id of a note that is not an entity matches no edge
	}
	n, err := l.service.store.NoteByKey(ctx, l.scope, l.view, memory.KindEntity, graph.EntityKey(name))
	if fault.Is(err, fault.NotFound) {
		return uuid.Nil, false, nil
	}
	return n.ID, err == nil, err
}

// listAll lists the edges of all entities, in the order of their ids.
func (l *factLister) listAll(ctx context.Context) error {
	q := memory.NoteQuery{Kinds: []memory.Kind{memory.KindEntity}, Limit: factEntities}
	if l.after.Source != uuid.Nil {
		// The previous page ended within this entity: start with its other edges.
		if done, err := l.listEdges(ctx, []uuid.UUID{l.after.Source}, memory.Outgoing, func(*memory.Link) bool { return true }); done || err != nil {
			return err
		}
		q.After = l.after.Source
	}
	for entities, err := range memory.NotePagesOf(ctx, l.service.store, l.scope, l.view, q) {
		if err != nil {
			return err
		}
		if done, err := l.listEdges(ctx, memory.IDs(entities), memory.Outgoing, func(*memory.Link) bool { return true }); done || err != nil {
			return err
		}
		if l.seen >= factLinks {
			l.page.Next = factCursor(memory.LinkID{Source: entities[len(entities)-1].ID, Relation: lastRelation})
			return nil
		}
	}
	return nil
}

// listEdges adds the wanted edges of entities to the page, and reports whether the page is full.
// Entities whose links together exceed one read are read one by one.
func (l *factLister) listEdges(ctx context.Context, ids []uuid.UUID, d memory.Direction, want func(*memory.Link) bool) (done bool, err error) {
	limit := factLinks
	if len(ids) == 1 {
		limit = factFanout
	}
	links, err := l.service.store.Links(ctx, l.scope, l.view, memory.LinkQuery{Notes: ids, Direction: d, Limit: limit})
	if err != nil {
		return false, err
	}
	if len(links) == limit && len(ids) > 1 {
		for _, id := range ids {
			if done, err = l.listEdges(ctx, []uuid.UUID{id}, d, want); done || err != nil {
				return done, err
			}
			if l.seen >= factLinks {
				l.page.Next = factCursor(memory.LinkID{Source: id, Relation: lastRelation})
				return true, nil
			}
		}
		return false, nil
	}
	l.seen += len(links)
	return l.addFacts(ctx, slices.DeleteFunc(links, func(k memory.Link) bool { return !l.isWanted(&k) || !want(&k) }))
}

// lastRelation sorts after every relation of a source.
const lastRelation = "\xff"

// isWanted reports whether a link comes after the start of the page and matches the query.
func (l *factLister) isWanted(k *memory.Link) bool {
	if memory.CompareLinks(*k, memory.Link{LinkID: l.after}) <= 0 || l.relation != "" && k.Relation != l.relation {
		return false
	}
	e, ok := graph.EdgeOf(k)
	if !ok || l.q.Valid != nil && e.Valid != *l.q.Valid || l.q.Contested && !e.Contested {
		return false
	}
	if !l.q.ValidAt.IsZero() {
		_, ok = e.At(l.q.ValidAt)
	}
	return ok
}

// addFacts adds links to the page as facts, in chunks, until it is full.
func (l *factLister) addFacts(ctx context.Context, links []memory.Link) (done bool, err error) {
	for piece := range slices.Chunk(links, l.limit+1) {
		shown, err := l.readNotes(ctx, piece)
		if err != nil {
			return false, err
		}
		for i := range piece {
			f, ok := l.toFact(&piece[i], shown)
			if !ok {
				continue
			}
			if len(l.page.Items) == l.limit {
				l.page.Next = factCursor(l.after)
				return true, nil
			}
			l.page.Items, l.after = append(l.page.Items, f), piece[i].LinkID
		}
	}
	return false, nil
}

// readNotes reads the ends of links and the facts that they come from.
func (l *factLister) readNotes(ctx context.Context, links []memory.Link) (map[uuid.UUID]memory.Note, error) {
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
			continue // its sources may be deleted
		}
		add(e.Triple)
		for _, id := range e.Sources {
			add(id)
		}
	}
	out := make(map[uuid.UUID]memory.Note, len(ids))
	for piece := range slices.Chunk(ids, 500) {
		notes, err := l.service.store.Notes(ctx, l.scope, l.view, piece, memory.ReadOptions{})
		if err != nil {
			return nil, err
		}
		for i := range notes {
			out[notes[i].ID] = notes[i]
		}
	}
	return out, nil
}

// toFact returns a link as a fact. ok is false if it is not between entities, or claims to hold
// without a visible source.
func (l *factLister) toFact(k *memory.Link, shown map[uuid.UUID]memory.Note) (Fact, bool) {
	subject, object := shown[k.Source], shown[k.Target]
	if subject.Kind != memory.KindEntity || object.Kind != memory.KindEntity {
		return Fact{}, false
	}
	e, _ := graph.EdgeOf(k)
	f := Fact{
		Subject: subject.Content, Relation: k.Relation, Object: object.Content, SubjectID: k.Source, ObjectID: k.Target,
		Valid: e.Valid, Contested: e.Contested, Mentions: e.Mentions, Confidence: k.Confidence, Sources: e.Sources,
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

// factCursor returns the cursor of the page after a link.
func factCursor(id memory.LinkID) string {
	return base64.RawURLEncoding.EncodeToString(append(append(id.Source[:], id.Target[:]...), id.Relation...))
}

// parseFactCursor returns the link at which a cursor continues.
func parseFactCursor(s string) (memory.LinkID, error) {
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(raw) <= 32 {
		return memory.LinkID{}, fault.InvalidField("after", "is not where a page of facts ended")
	}
	return memory.LinkID{Source: uuid.UUID(raw[:16]), Target: uuid.UUID(raw[16:32]), Relation: string(raw[32:])}, nil
}
