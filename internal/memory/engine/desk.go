package engine

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// desk implements memory.Desk for one try. A policy may use it from several
// goroutines; the engine reads what was recorded after the policy has returned.
type desk struct {
	e     *Engine
	s     tenant.Scope
	v     memory.View
	model memory.Model
	rng   *rand.Rand

	mu      sync.Mutex
	readSet map[uuid.UUID]memory.Note // the read set, with vectors: a change is a conflict
	// listed holds the versions of listed notes: a conflict only when the decision changes them. Their texts are not
	// kept, since a policy may list a whole collection.
	listed        map[uuid.UUID]memory.Version
	all           [][]memory.ReadNote  // lists of kinds, each by id: of some policies thousands, so they are looked up as they are
	listedContent map[uuid.UUID]uint64 // content hashes of listed messages
	links         map[memory.LinkID]memory.Link
	linkQueries   []linkRead // queries for links, repeated when the decision is applied
	newest        []listRead // listings of the newest notes, repeated as well
	newIDs        map[uuid.UUID]bool
	absent        []naturalKey
	said          answers // of earlier tries
	heard         answers // of this try
	calls         int
	tokens        int64
	costs         costs
}

// allLinks is the limit of link queries whose results are compared later.
const allLinks = math.MaxInt32

// linkRead is one recorded query for links.
type linkRead struct {
	notes     []uuid.UUID
	direction memory.Direction
	found     []memory.Link
}

// listRead is one recorded listing.
type listRead struct {
	query memory.NoteQuery
	found []memory.Version
}

// naturalKey identifies a note that was recorded as absent.
type naturalKey struct {
	kind memory.Kind
	key  string
}

func (e *Engine) newDesk(s tenant.Scope, v memory.View, job uuid.UUID) *desk {
	return &desk{
		e: e, s: s, v: v, model: e.ModelFor(&v.Collection), rng: e.random(job),
		readSet: map[uuid.UUID]memory.Note{}, listed: map[uuid.UUID]memory.Version{}, listedContent: map[uuid.UUID]uint64{}, links: map[memory.LinkID]memory.Link{}, newIDs: map[uuid.UUID]bool{}, costs: costs{}, heard: answers{},
	}
}

// NewID implements memory.Desk. Ids grow in the order of the calls.
func (d *desk) NewID() uuid.UUID {
	id, err := uuid.NewV7()
	if err != nil { // no randomness: the store would fail too
		id = uuid.New()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.newIDs[id] = true
	return id
}

// Config implements memory.Desk.
func (d *desk) Config() json.RawMessage { return d.v.Collection.PolicyConfig }

// Now implements memory.Desk.
func (d *desk) Now() time.Time { return d.e.now().In(d.v.Collection.Zone()) }

// Rand implements memory.Desk: the same job draws the same numbers.
func (d *desk) Rand() *rand.Rand { return d.rng }

// Analyst implements memory.Desk.
func (d *desk) Analyst() memory.Analyst { return d.model.Analyst() }

// Ask asks the model within the decision's budget; beyond it, it returns ModelFailed. What an earlier try asked,
// whose only conflict was a newer note, is answered as then and costs nothing.
func (d *desk) Ask(ctx context.Context, c memory.Call) (memory.Answer, error) {
	if len(d.said) > 0 { // at a first try, and of rules, nothing is looked up
		if a, ok := d.said[questionOf(&c)]; ok {
			return a, nil
		}
	}
	if c.Prompt == "" && c.Analyst == memory.AnalystHeuristic { // none of a model: it costs nothing
		return d.e.heuristic.Ask(ctx, d.s, c)
	}
	d.mu.Lock()
	spent := d.calls >= d.e.cfg.CallsPerJob || d.tokens >= d.e.cfg.TokensPerJob
	d.calls++
	d.mu.Unlock()
	if spent {
		return memory.Answer{}, fault.Wrap(memory.ErrBudget, fault.ModelFailed, "the job has used up its budget of %d model calls and %d tokens", d.e.cfg.CallsPerJob, d.e.cfg.TokensPerJob)
	}
	c.Collection = d.v.Collection.ID
	model := d.model
	if c.Analyst == memory.AnalystHeuristic {
		model = d.e.heuristic
	}
	if model.Analyst() == memory.AnalystModel {
		c.Check = d.checked(ctx, c.Check)
	}
	a, err := model.Ask(ctx, d.s, c)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tokens += a.PromptTokens + a.CompletionTokens
	if err == nil && a.Calls > 0 { // rules answer again, from more than the prompt
		d.heard[questionOf(&c)] = a
	}
	d.costs.add(costs{c.Name: {Calls: 1, Requests: a.Calls, PromptTokens: a.PromptTokens, CompletionTokens: a.CompletionTokens}})
	return a, err
}

// checked returns a check of answers, which also refuses those whose texts are all refusals.
func (d *desk) checked(ctx context.Context, check func(json.RawMessage) error) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		if check != nil {
			if err := check(raw); err != nil {
				return err
			}
		}
		texts := memory.AnswerTexts(raw)
		if len(texts) == 0 {
			return nil
		}
		a, err := d.e.heuristic.Ask(ctx, d.s, memory.Call{Name: memory.CallRefused, Input: memory.RefusedInput{Texts: texts}})
		var said memory.Refused
		if err == nil && json.Unmarshal(a.JSON, &said) == nil && said.All {
			return errors.New("the answer is a refusal; write what the data says")
		}
		return nil
	}
}

// Nearest returns the k nearest notes of n's kind (notes and messages count as
// one) that are older than n or already decided. Notes that wait in the queue
// behind n are excluded, so that a bulk of notes links in the order in which it was given.
func (d *desk) Nearest(ctx context.Context, n memory.Note, k int) ([]memory.Neighbor, error) {
	vec := n.Vector
	if vec == nil {
		em, err := d.e.embedderOf(&d.v.Collection)
		if err != nil {
			return nil, err
		}
		made, err := d.e.embedOne(ctx, d.s, em, &n)
		if err != nil {
			return nil, err
		}
		vec = made.Vector
	}
	found, err := d.e.nearest.Nearest(ctx, d.s, d.v, memory.NearestQuery{Vector: vec, Limit: k + 1, Filter: neighborFilter(&n)})
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(f memory.Nearest) bool { return f.Note == n.ID })
	if len(found) > k {
		found = found[:k]
	}
	return d.neighborNotes(ctx, found)
}

// neighborNotes reads the found notes, in the same order.
func (d *desk) neighborNotes(ctx context.Context, found []memory.Nearest) ([]memory.Neighbor, error) {
	ids := make([]uuid.UUID, len(found))
	for i, f := range found {
		ids[i] = f.Note
	}
	notes, err := d.Notes(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]memory.Neighbor, 0, len(notes))
	for _, f := range found {
		// A note that was deleted after the index was read is left out.
		if i := slices.IndexFunc(notes, func(m memory.Note) bool { return m.ID == f.Note }); i >= 0 {
			out = append(out, memory.Neighbor{Note: notes[i], Score: f.Score})
		}
	}
	return out, nil
}

// Similar embeds all queries in one batch.
func (d *desk) Similar(ctx context.Context, queries []memory.SimilarQuery) ([][]memory.Neighbor, error) {
	em, err := d.e.embedderOf(&d.v.Collection)
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(queries))
	for i := range queries {
		texts[i] = queries[i].Text
	}
	made, err := memory.EmbedAll(ctx, em, d.s, texts)
	if err != nil {
		return nil, err
	}
	out := make([][]memory.Neighbor, len(queries))
	for i, q := range queries {
		if q.K <= 0 {
			continue
		}
		found, err := d.e.nearest.Nearest(ctx, d.s, d.v, memory.NearestQuery{Vector: made[i].Vector, Limit: q.K, Filter: similarFilter(&q)})
		if err != nil {
			return nil, err
		}
		found = slices.DeleteFunc(found, func(f memory.Nearest) bool { return f.Score < q.MinScore })
		if out[i], err = d.neighborNotes(ctx, found); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Embed uses the collection's embedder.
func (d *desk) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	em, err := d.e.embedderOf(&d.v.Collection)
	if err != nil {
		return nil, err
	}
	made, err := memory.EmbedAll(ctx, em, d.s, texts)
	if err != nil {
		return nil, err
	}
	out := make([][]float32, len(made))
	for i := range made {
		out[i] = made[i].Vector
	}
	return out, nil
}

// Past reads notes at an earlier revision of the view.
func (d *desk) Past(ctx context.Context, ids []uuid.UUID, at memory.Revision) ([]memory.Note, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	v, err := d.e.store.OpenView(ctx, d.s, d.v.Collection.ID.String(), memory.At{AsOf: &at})
	if err != nil {
		return nil, err
	}
	return d.e.store.Notes(ctx, d.s, v, ids, memory.ReadOptions{})
}

// similarFilter returns the filter of a similarity query; nil: none.
func similarFilter(q *memory.SimilarQuery) filter.Expr {
	if len(q.Kinds) == 0 {
		return q.Filter
	}
	kinds := memory.OfKinds(q.Kinds...)
	if q.Filter == nil {
		return kinds
	}
	return filter.And{kinds, q.Filter}
}

// ByKey implements memory.Desk.
func (d *desk) ByKey(ctx context.Context, kind memory.Kind, key string) (memory.Note, bool, error) {
	n, err := d.e.store.NoteByKey(ctx, d.s, d.v, kind, key)
	if fault.Is(err, fault.NotFound) {
		d.Absent(kind, key)
		return memory.Note{}, false, nil
	}
	if err != nil {
		return memory.Note{}, false, err
	}
	notes, err := d.Notes(ctx, []uuid.UUID{n.ID}) // with its vector
	if err != nil || len(notes) == 0 {
		return memory.Note{}, false, err
	}
	return notes[0], true, nil
}

// Links records the query as well: a new link that it would find is a conflict. A query that is asked again has the same answer, as
// the view does not change.
func (d *desk) Links(ctx context.Context, ids []uuid.UUID, dir memory.Direction) ([]memory.Link, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	if found, ok := d.asked(ids, dir); ok {
		return found, nil
	}
	links, err := d.e.store.Links(ctx, d.s, d.v, memory.LinkQuery{Notes: ids, Direction: dir, Limit: allLinks})
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.linkQueries = append(d.linkQueries, linkRead{slices.Clone(ids), dir, slices.Clone(links)})
	for _, l := range links {
		d.links[l.LinkID] = l
	}
	return links, nil
}

// asked returns the links that a query has found before.
func (d *desk) asked(ids []uuid.UUID, dir memory.Direction) (found []memory.Link, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.IndexFunc(d.linkQueries, func(q linkRead) bool { return q.direction == dir && slices.Equal(q.notes, ids) })
	if i < 0 {
		return nil, false
	}
	return slices.Clone(d.linkQueries[i].found), true
}

// List pages through notes. A listing of the newest notes is recorded as well: another answer is a conflict.
func (d *desk) List(ctx context.Context, q memory.NoteQuery) ([]memory.Note, error) {
	var notes []memory.Note
	kept, ok, err := d.e.listKept(ctx, d.s, &d.v, &q, nil)
	for _, n := range kept {
		notes = append(notes, n.Copy())
	}
	d.e.kept.give(kept)
	if err == nil && !ok {
		notes, ok, err = d.listNear(ctx, &q)
	}
	if err == nil && !ok {
		notes, ok, err = d.listMatching(ctx, &q)
	}
	if err == nil && !ok {
		notes, err = d.e.store.ListNotes(ctx, d.s, d.v, q)
	}
	if err != nil {
		return nil, err
	}
	d.recordListed(notes)
	if q.Newest && q.Limit > 0 {
		d.recordNewest(&q, notes)
	}
	return notes, nil
}

// All implements memory.Desk.
func (d *desk) All(ctx context.Context, kind memory.Kind, o memory.ReadOptions) ([]*memory.Note, error) {
	all, err := d.readAll(ctx, memory.NoteQuery{Kinds: []memory.Kind{kind}, ReadOptions: o}, nil)
	out := make([]*memory.Note, len(all))
	for i := range all {
		out[i] = all[i].Note
	}
	return out, err
}

// AllRead implements memory.Desk.
func (d *desk) AllRead(ctx context.Context, kind memory.Kind, read func(*memory.Note) any, sum func(any, []memory.ReadNote) any) (any, error) {
	r := reading{each: read, all: sum}
	all, err := d.readAll(ctx, memory.NoteQuery{Kinds: []memory.Kind{kind}, ReadOptions: memory.ReadOptions{Vector: true}}, &r)
	if err == nil && r.sum == nil {
		r.sum = sum(nil, all)
	}
	return r.sum, err
}

// readAll returns all notes of a kind; r may be nil.
func (d *desk) readAll(ctx context.Context, q memory.NoteQuery, r *reading) ([]memory.ReadNote, error) {
	all, ok, err := d.e.listKept(ctx, d.s, &d.v, &q, r)
	if err != nil {
		return nil, err
	}
	if !ok {
		for n, err := range memory.EachNote(ctx, d.e.store, d.s, d.v, q) {
			if err != nil {
				return nil, err
			}
			next := memory.ReadNote{Note: n}
			if r != nil {
				next.Read = r.each(n)
			}
			all = append(all, next)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, all)
	return all, nil
}

// release leaves the room of the lists of kinds to other decisions: nothing is looked up any more.
func (d *desk) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, all := range d.all {
		d.e.kept.give(all)
	}
	d.all = nil
}

// hasListed returns the version of a note that was listed.
func (d *desk) hasListed(id uuid.UUID) (v memory.Version, ok bool) {
	if v, ok = d.listed[id]; ok {
		return v, true
	}
	if n := d.inLists(id); n != nil {
		return n.Version(), true
	}
	return memory.Version{}, false
}

// inLists returns a note of the lists of kinds; nil: none has it.
func (d *desk) inLists(id uuid.UUID) *memory.Note {
	for _, all := range d.all {
		if i, found := slices.BinarySearchFunc(all, id, func(n memory.ReadNote, id uuid.UUID) int { return memory.CompareIDs(n.ID, id) }); found {
			return all[i].Note
		}
	}
	return nil
}

// nearby is how many notes are looked at for a filter before an index or the store is asked.
const nearby = 64

// listNear lists the notes that match a filter where they are near to where the listing begins, such as those that came
// last: then neither an index nor the store has to look at all notes. ok is false where they are not.
func (d *desk) listNear(ctx context.Context, q *memory.NoteQuery) (out []memory.Note, ok bool, err error) {
	if q.Filter == nil || q.Limit == 0 || q.ByTime || !q.Newest && q.After == uuid.Nil {
		return nil, false, nil
	}
	all := *q
	all.Filter, all.Limit = nil, nearby
	if q.Newest && q.Limit < nearby/8 {
		all.Limit = nearby / 2
	}
	notes, err := d.e.store.ListNotes(ctx, d.s, d.v, all)
	if err != nil {
		return nil, false, err
	}
	for i := range notes {
		if notes[i].Matches(q.Filter) && len(out) < q.Limit {
			out = append(out, notes[i])
		}
	}
	return out, len(notes) < all.Limit || len(out) == q.Limit, nil
}

func (d *desk) recordNewest(q *memory.NoteQuery, notes []memory.Note) {
	r := listRead{query: *q, found: make([]memory.Version, len(notes))}
	r.query.ReadOptions = memory.ReadOptions{} // only versions are compared
	for i := range notes {
		r.found[i] = notes[i].Version()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.newest = append(d.newest, r)
}

// listMatching lists the notes that the index finds by a filter, so that the store need not look at all others. ok is
// false when the store has to answer.
func (d *desk) listMatching(ctx context.Context, q *memory.NoteQuery) (notes []memory.Note, ok bool, err error) {
	if q.Filter == nil || q.ByTime || q.Keyed || q.Lacks != "" || len(q.States) > 0 {
		return nil, false, nil
	}
	e := q.Filter
	if len(q.Kinds) > 0 {
		e = filter.And{memory.OfKinds(q.Kinds...), e}
	}
	ids, ok, err := d.e.nearest.Matching(ctx, d.s, d.v, e)
	if err != nil || !ok {
		return nil, false, err
	}
	order := memory.CompareIDs
	if q.Newest {
		slices.Reverse(ids)
		order = func(a, b uuid.UUID) int { return memory.CompareIDs(b, a) }
	}
	if q.After != uuid.Nil {
		ids = slices.DeleteFunc(ids, func(id uuid.UUID) bool { return order(id, q.After) <= 0 })
	}
	if q.Limit > 0 {
		ids = ids[:min(len(ids), q.Limit)]
	}
	if len(ids) == 0 {
		return nil, true, nil
	}
	notes, err = d.e.store.Notes(ctx, d.s, d.v, ids, q.ReadOptions)
	slices.SortFunc(notes, func(a, b memory.Note) int { return order(a.ID, b.ID) })
	return notes, true, err
}

// recordListed records the versions of listed notes.
func (d *desk) recordListed(notes []memory.Note) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range notes {
		d.listed[notes[i].ID] = notes[i].Version()
		if notes[i].Kind == memory.KindMessage {
			d.listedContent[notes[i].ID] = contentHash(&notes[i])
		}
	}
}

// Recent implements memory.Desk.
func (d *desk) Recent(ctx context.Context, before uuid.UUID, n int) ([]memory.Note, error) {
	if n <= 0 {
		return nil, nil
	}
	notes, err := d.e.store.ListNotes(ctx, d.s, d.v, memory.NoteQuery{Kinds: []memory.Kind{memory.KindMessage}, After: before, Newest: true, Limit: n})
	if err != nil {
		return nil, err
	}
	slices.Reverse(notes)
	d.recordListed(notes)
	return notes, nil
}

// Usage of notes through the view's lineage.
func (d *desk) Usage(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]memory.Usage, error) {
	if len(ids) == 0 {
		return map[uuid.UUID]memory.Usage{}, nil
	}
	return d.e.nearest.Used(ctx, d.s, d.v, ids)
}

// neighborFilter returns the filter of a note's possible neighbors.
func neighborFilter(n *memory.Note) filter.Expr {
	text := func(s string) filter.Value { return filter.Value{Type: filter.Text, Text: s} }
	kinds := []memory.Kind{n.Kind}
	switch n.Kind { //nolint:exhaustive // other kinds are compared with their own kind only
	case memory.KindNote:
		kinds = append(kinds, memory.KindMessage)
	case memory.KindMessage:
		kinds = append(kinds, memory.KindNote)
	}
	return filter.And{
		memory.OfKinds(kinds...),
		filter.Or{
			&filter.Leaf{Field: filter.State, Op: filter.In, Values: []filter.Value{text(string(memory.StateEvolved)), text(string(memory.StateInReview))}},
			&filter.Leaf{Field: filter.CreatedAt, Op: filter.Lt, Values: []filter.Value{{Type: filter.Time, Time: n.CreatedAt}}},
		},
	}
}

// Notes implements memory.Desk.
func (d *desk) Notes(ctx context.Context, ids []uuid.UUID) ([]memory.Note, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	unread := d.unread(ids)
	if len(unread) > 0 {
		notes, err := d.e.store.Notes(ctx, d.s, d.v, unread, memory.ReadOptions{Vector: true})
		if err != nil {
			return nil, err
		}
		d.recordRead(notes)
		if len(unread) == len(ids) {
			return notes, nil
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	notes := make([]memory.Note, 0, len(ids))
	for _, id := range ids {
		if n, ok := d.readSet[id]; ok {
			notes = append(notes, n.Copy())
		}
	}
	return notes, nil
}

// unread returns the notes that were not read. A view does not change: what was read of one that is evicted is not read again.
func (d *desk) unread(ids []uuid.UUID) []uuid.UUID {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(ids), func(id uuid.UUID) bool {
		_, ok := d.readSet[id]
		return ok
	})
}

func (d *desk) recordRead(notes []memory.Note) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range notes {
		d.readSet[notes[i].ID] = notes[i]
	}
}

// Linked implements memory.Desk.
func (d *desk) Linked(ctx context.Context, ids []uuid.UUID, limit int) (map[uuid.UUID][]memory.Note, error) {
	if len(ids) == 0 || limit <= 0 {
		return map[uuid.UUID][]memory.Note{}, nil
	}
	links, err := d.e.store.Links(ctx, d.s, d.v, memory.LinkQuery{Notes: ids, Direction: memory.Both})
	if err != nil {
		return nil, err
	}
	near := map[uuid.UUID][]uuid.UUID{}
	var wanted []uuid.UUID
	add := func(of, other uuid.UUID) {
		if !slices.Contains(ids, of) || of == other || len(near[of]) >= limit || slices.Contains(near[of], other) {
			return
		}
		near[of] = append(near[of], other)
		if !slices.Contains(wanted, other) {
			wanted = append(wanted, other)
		}
	}
	for _, l := range links {
		add(l.Source, l.Target)
		add(l.Target, l.Source)
	}
	out := make(map[uuid.UUID][]memory.Note, len(near))
	if len(wanted) == 0 {
		return out, nil
	}
	notes, err := d.e.store.Notes(ctx, d.s, d.v, wanted, memory.ReadOptions{})
	if err != nil {
		return nil, err
	}
	d.recordListed(notes)
	read := memory.ByID(notes)
	for of, others := range near {
		for _, id := range others {
			if n := read[id]; n != nil {
				out[of] = append(out[of], *n)
			}
		}
	}
	return out, nil
}

// Absent implements memory.Desk.
func (d *desk) Absent(kind memory.Kind, key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.absent = append(d.absent, naturalKey{kind, key})
}

var _ memory.Desk = (*desk)(nil)
