package engine

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// desk is what a policy works with during one try: a view whose reads are
// recorded, and a model within a budget.
type desk struct {
	e     *Engine
	s     tenant.Scope
	v     memory.View
	model memory.Model
	rng   *rand.Rand

	read   map[uuid.UUID]memory.Note // as read, with vectors
	absent []naturalKey
	calls  int
	tokens int64
}

// naturalKey names a note that a decision took for absent.
type naturalKey struct {
	kind memory.Kind
	key  string
}

func (e *Engine) newDesk(s tenant.Scope, v memory.View, job uuid.UUID) *desk {
	return &desk{
		e: e, s: s, v: v, model: e.modelFor(&v.Collection), rng: e.random(job),
		read: map[uuid.UUID]memory.Note{},
	}
}

// Config is the collection's.
func (d *desk) Config() json.RawMessage { return d.v.Collection.PolicyConfig }

// Now is the engine's clock.
func (d *desk) Now() time.Time { return d.e.now() }

// Rand is the job's.
func (d *desk) Rand() *rand.Rand { return d.rng }

// Analyst tells who answers.
func (d *desk) Analyst() memory.Analyst { return d.model.Analyst() }

// Ask asks the model within the job's budget.
func (d *desk) Ask(ctx context.Context, c memory.Call) (memory.Answer, error) {
	if d.calls >= d.e.cfg.CallsPerJob || d.tokens >= d.e.cfg.TokensPerJob {
		return memory.Answer{}, fault.New(fault.ModelFailed, "the job has used up its budget of %d model calls and %d tokens", d.e.cfg.CallsPerJob, d.e.cfg.TokensPerJob)
	}
	d.calls++
	c.Collection = d.v.Collection.ID
	a, err := d.model.Ask(ctx, d.s, c)
	d.tokens += a.PromptTokens + a.CompletionTokens
	return a, err
}

// Nearest gives the k nearest notes of n's kind (notes and messages count as one) that are older or were decided
// about already: of notes that wait in the queue behind n, none is seen, so
// that a bulk of notes links in the order in which it was given.
func (d *desk) Nearest(ctx context.Context, n memory.Note, k int) ([]memory.Neighbour, error) {
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
	found, err := d.e.neighbours.Nearest(ctx, d.s, d.v, NearestQuery{Vector: vec, K: k + 1, Filter: eligible(&n)})
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(f Near) bool { return f.Note == n.ID })
	if len(found) > k {
		found = found[:k]
	}
	ids := make([]uuid.UUID, len(found))
	for i, f := range found {
		ids[i] = f.Note
	}
	notes, err := d.Notes(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]memory.Neighbour, 0, len(notes))
	for _, f := range found {
		// A note that the index knows and the store no longer shows is left out.
		if i := slices.IndexFunc(notes, func(m memory.Note) bool { return m.ID == f.Note }); i >= 0 {
			out = append(out, memory.Neighbour{Note: notes[i], Score: f.Score})
		}
	}
	return out, nil
}

// eligible is the filter of a note's possible neighbours.
func eligible(n *memory.Note) filter.Expr {
	text := func(s string) filter.Value { return filter.Value{Type: filter.Text, Text: s} }
	kinds := []filter.Value{text(string(n.Kind))}
	switch n.Kind { //nolint:exhaustive // the others keep to themselves
	case memory.KindNote:
		kinds = append(kinds, text(string(memory.KindMessage)))
	case memory.KindMessage:
		kinds = append(kinds, text(string(memory.KindNote)))
	}
	return filter.And{
		&filter.Leaf{Field: filter.Kind, Op: filter.In, Values: kinds},
		filter.Or{
			&filter.Leaf{Field: filter.State, Op: filter.In, Values: []filter.Value{text(string(memory.StateEvolved)), text(string(memory.StateInReview))}},
			&filter.Leaf{Field: filter.CreatedAt, Op: filter.Lt, Values: []filter.Value{{Type: filter.Time, Time: n.CreatedAt}}},
		},
	}
}

// Notes reads notes and records them as read.
func (d *desk) Notes(ctx context.Context, ids []uuid.UUID) ([]memory.Note, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	notes, err := d.e.store.Notes(ctx, d.s, d.v, ids, memory.ReadOptions{Vector: true})
	if err != nil {
		return nil, err
	}
	for i := range notes {
		d.read[notes[i].ID] = notes[i]
	}
	return notes, nil
}

// Linked gives notes linked from or to each note; they are not recorded.
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
	byID := make(map[uuid.UUID]memory.Note, len(notes))
	for i := range notes {
		byID[notes[i].ID] = notes[i]
	}
	for of, others := range near {
		for _, id := range others {
			if n, ok := byID[id]; ok {
				out[of] = append(out[of], n)
			}
		}
	}
	return out, nil
}

// Absent declares that no live note of the kind and key exists.
func (d *desk) Absent(kind memory.Kind, key string) {
	d.absent = append(d.absent, naturalKey{kind, key})
}

var _ memory.Desk = (*desk)(nil)
