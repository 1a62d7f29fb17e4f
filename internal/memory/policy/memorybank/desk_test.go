package memorybank

import (
	"cmp"
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/policytest"
	"github.com/slipboxhq/slipbox/test/must"
)

// testDesk is a desk with notes: it applies each decision, so that the next one sees the
// result. Tests set its clock.
type testDesk struct {
	*policytest.Desk
	t      *testing.T
	p      *Policy
	now    time.Time
	chance *rand.Rand
	notes  []memory.Note
	usage  map[uuid.UUID]memory.Usage
	made   byte
}

func newTestDesk(t *testing.T, config string) *testDesk {
	t.Helper()
	p := must.Get(New())(t)
	return &testDesk{
		Desk: &policytest.Desk{Overrides: config, Answers: map[string]string{
			callDay:         `{"summary":"Ann told of her cat Mia.","events":["Ann adopted Mia."]}`,
			callPersonality: `{"traits":["kind","curious"],"mood":"happy","reply_strategy":"Ask about the cat."}`,
			callHistory:     `{"summary":"In May Ann adopted a cat."}`,
			callPortrait:    `{"portrait":"Ann is kind.","reply_strategy":"Be warm."}`,
		}},
		t: t, p: p, now: policytest.Noon, chance: rand.New(rand.NewPCG(7, 7)), usage: map[uuid.UUID]memory.Usage{}, made: 100,
	}
}

func (s *testDesk) Now() time.Time   { return s.now }
func (s *testDesk) Rand() *rand.Rand { return s.chance }

func (s *testDesk) NewID() uuid.UUID {
	s.made++
	return policytest.ID(s.made)
}

func (s *testDesk) ByKey(_ context.Context, kind memory.Kind, key string) (memory.Note, bool, error) {
	i := slices.IndexFunc(s.notes, func(n memory.Note) bool { return n.Kind == kind && n.Key == key })
	if i < 0 {
		return memory.Note{}, false, nil
	}
	return s.notes[i], true, nil
}

func (s *testDesk) List(_ context.Context, q memory.NoteQuery) ([]memory.Note, error) {
	order := func(a, b *memory.Note) int {
		at := 0
		if q.ByTime {
			at = a.OccurredAt.Compare(b.OccurredAt)
		}
		return cmp.Or(at, memory.CompareIDs(a.ID, b.ID))
	}
	slices.SortFunc(s.notes, func(a, b memory.Note) int { return order(&a, &b) })
	position := &memory.Note{ID: q.After, OccurredAt: q.AfterTime}
	var out []memory.Note
	for _, n := range s.notes {
		r := filter.Record{Kind: string(n.Kind), OccurredAt: n.OccurredAt, Attributes: n.Attributes}
		if order(&n, position) > 0 && slices.Contains(q.Kinds, n.Kind) && filter.Match(q.Filter, &r) && len(out) < q.Limit {
			out = append(out, n)
		}
	}
	return out, nil
}

func (s *testDesk) AllRead(ctx context.Context, kind memory.Kind, read func(*memory.Note) any, sum func(any, []memory.ReadNote) any) (any, error) {
	all, err := s.All(ctx, kind, memory.ReadOptions{Vector: true})
	out := make([]memory.ReadNote, len(all))
	for i, n := range all {
		out[i] = memory.ReadNote{Note: n, Read: read(n)}
	}
	return sum(nil, out), err
}

func (s *testDesk) All(ctx context.Context, kind memory.Kind, _ memory.ReadOptions) (out []*memory.Note, err error) {
	list, err := s.List(ctx, memory.NoteQuery{Kinds: []memory.Kind{kind}, Limit: len(s.notes)})
	for i := range list {
		out = append(out, &list[i])
	}
	return out, err
}

func (s *testDesk) Usage(_ context.Context, ids []uuid.UUID) (map[uuid.UUID]memory.Usage, error) {
	out := map[uuid.UUID]memory.Usage{}
	for _, id := range ids {
		if u, ok := s.usage[id]; ok {
			out[id] = u
		}
	}
	return out, nil
}

// say adds a message.
func (s *testDesk) say(n byte, role memory.Role, name, turn, content string, at time.Time) memory.Note {
	m := memory.Note{
		ID: policytest.ID(n), Kind: memory.KindMessage, Content: content, OccurredAt: at,
		Attributes: map[string]any{memory.AttrRole: string(role), memory.AttrTurn: turn},
	}
	if name != "" {
		m.Attributes[memory.AttrName] = name
	}
	s.notes = append(s.notes, m)
	return m
}

// recall records a recall of a note, as a search does.
func (s *testDesk) recall(id uuid.UUID) {
	u := s.usage[id]
	u.Strength = max(u.Strength, 1)
	u.AccessCount++
	u.LastAccess = s.now
	s.usage[id] = u
}

// decide calls the policy and applies its decision.
func (s *testDesk) decide(e memory.Event) memory.Decision {
	s.t.Helper()
	dec := must.Get(s.p.Decide(s.t.Context(), s, e))(s.t)
	for _, n := range dec.Puts {
		s.remove(n.ID)
		s.notes = append(s.notes, n)
	}
	for _, id := range dec.Deletes {
		s.remove(id)
	}
	return dec
}

// deleteAsCaller deletes a note as a caller does: notes that come from it become stale.
func (s *testDesk) deleteAsCaller(id uuid.UUID) {
	s.remove(id)
	for i := range s.notes {
		if slices.Contains(s.notes[i].Provenance.Sources, id) {
			s.notes[i].Provenance.Stale = true
		}
	}
}

func (s *testDesk) remove(id uuid.UUID) {
	s.notes = slices.DeleteFunc(s.notes, func(n memory.Note) bool { return n.ID == id })
}

func (s *testDesk) has(id uuid.UUID) bool {
	return slices.ContainsFunc(s.notes, func(n memory.Note) bool { return n.ID == id })
}

func (s *testDesk) task(name, key, args string) memory.Decision {
	s.t.Helper()
	return s.decide(policytest.TaskEvent(name, key, args))
}

// readOutcome decodes the outcome of a decision.
func readOutcome(t *testing.T, d memory.Decision) outcome {
	t.Helper()
	var o outcome
	must.Do(t, json.Unmarshal(d.Outcome, &o))
	return o
}

// find returns the note of a kind and key; without one the test fails.
func (s *testDesk) find(kind memory.Kind, key string) memory.Note {
	s.t.Helper()
	n, ok, _ := s.ByKey(s.t.Context(), kind, key)
	if !ok {
		s.t.Fatalf("no %s %s", kind, key)
	}
	return n
}
