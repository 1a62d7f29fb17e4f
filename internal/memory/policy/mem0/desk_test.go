package mem0

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/policytest"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/text"
	"github.com/slipboxhq/slipbox/test/must"
)

// testDesk is a desk with a conversation and what was learned from it. It applies each
// decision, so that the next one sees the result, and keeps a log of earlier states. The
// similarity of texts is the cosine of their words.
type testDesk struct {
	*policytest.Desk
	t   *testing.T
	p   *Policy
	now time.Time

	mu        sync.Mutex
	log       [][]memory.Note // the notes after each revision
	notes     []memory.Note
	links     map[memory.LinkID]memory.Link
	lastID    byte
	answers   map[string]func(memory.Call) string // answers by call name
	follow    []memory.Follow                     // deferred by decisions
	linkReads int                                 // calls of Links
	model     memory.Model                        // answers what has no scripted answer; nil: nobody does
}

func newTestDesk(t *testing.T, p *Policy, config string) *testDesk {
	t.Helper()
	k := testDesk{
		Desk: &policytest.Desk{Overrides: config}, t: t, p: p, now: policytest.Noon, lastID: 1, log: [][]memory.Note{nil},
		links: map[memory.LinkID]memory.Link{}, answers: map[string]func(memory.Call) string{},
	}
	return &k
}

func newTestMem0(t *testing.T) *Policy {
	t.Helper()
	p := must.Get(New())(t)
	return p
}

// answerWith scripts one answer for all calls of a name.
func (k *testDesk) answerWith(name, answer string) {
	k.answers[name] = func(memory.Call) string { return answer }
}

// answerExtract scripts the extracted facts, one list for each exchange.
func (k *testDesk) answerExtract(answers ...[]string) {
	k.answers["extract"] = func(memory.Call) string {
		if len(answers) == 0 {
			return `{"facts":[]}`
		}
		raw, err := json.Marshal(Extraction{Facts: answers[0]})
		if err != nil {
			k.t.Error(err)
		}
		answers = answers[1:]
		return string(raw)
	}
}

// answerDecide scripts the decisions about facts.
func (k *testDesk) answerDecide(rule func(in DecideInput) (op Operation, target int, text string)) {
	k.answers["decide"] = func(c memory.Call) string {
		in, ok := c.Input.(DecideInput)
		if !ok {
			k.t.Errorf("decide is asked with %T", c.Input)
		}
		op, target, text := rule(in)
		d := FactDecision{Operation: op}
		if op != OpAdd {
			d.Target = &target
		}
		if text != "" {
			d.Text = &text
		}
		raw, err := json.Marshal(d)
		if err != nil {
			k.t.Error(err)
		}
		return string(raw)
	}
}

func (k *testDesk) Now() time.Time { return k.now }

func (k *testDesk) NewID() uuid.UUID {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lastID++
	return policytest.ID(k.lastID)
}

// Ask reads an answer as a model's is read: leniently, then by the call's own check.
func (k *testDesk) Ask(ctx context.Context, c memory.Call) (memory.Answer, error) {
	if k.model != nil {
		return k.model.Ask(ctx, tenant.Scope{}, c) //nolint:wrapcheck // as the model answers
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.Asked = append(k.Asked, c)
	if k.Err != nil {
		return memory.Answer{}, k.Err
	}
	answer := k.answers[c.Name]
	if answer == nil {
		return memory.Answer{}, fmt.Errorf("no answer for %q", c.Name)
	}
	raw := json.RawMessage(answer(c))
	if c.Lenient != nil {
		if read := c.Lenient(string(raw)); read != nil {
			raw = read
		}
	}
	if !json.Valid(raw) || raw[0] != '{' {
		return memory.Answer{}, fmt.Errorf("%w: no JSON object", memory.ErrBadAnswer)
	}
	if err := c.Check(raw); err != nil {
		return memory.Answer{}, errors.Join(memory.ErrBadAnswer, err)
	}
	return memory.Answer{JSON: raw, Analyst: k.Analyst(), Model: "test"}, nil
}

func vectorOf(s string) []float32 {
	v := make([]float32, 512)
	for _, t := range text.Terms(s) {
		h := fnv.New32a()
		_, _ = h.Write([]byte(t))
		v[h.Sum32()%512]++
	}
	return v
}

func (k *testDesk) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, s := range texts {
		out[i] = vectorOf(s)
	}
	return out, nil
}

func (k *testDesk) Similar(_ context.Context, queries []memory.SimilarQuery) ([][]memory.Neighbor, error) {
	out := make([][]memory.Neighbor, len(queries))
	for i, q := range queries {
		v := vectorOf(q.Text)
		for _, n := range k.notes {
			r := recordOf(&n)
			score, _ := memory.Cosine(v, vectorOf(n.Content))
			if slices.Contains(q.Kinds, n.Kind) && filter.Match(q.Filter, &r) && score > 0 && score >= q.MinScore {
				out[i] = append(out[i], memory.Neighbor{Note: n, Score: score})
			}
		}
		slices.SortStableFunc(out[i], func(a, b memory.Neighbor) int {
			switch {
			case a.Score > b.Score:
				return -1
			case a.Score < b.Score:
				return 1
			}
			return 0
		})
		out[i] = out[i][:min(q.K, len(out[i]))]
	}
	return out, nil
}

func recordOf(n *memory.Note) filter.Record {
	return filter.Record{Kind: string(n.Kind), OccurredAt: n.OccurredAt, CreatedAt: n.CreatedAt, Attributes: n.Attributes, State: string(n.State)}
}

func (k *testDesk) ByKey(_ context.Context, kind memory.Kind, key string) (memory.Note, bool, error) {
	i := slices.IndexFunc(k.notes, func(n memory.Note) bool { return n.Kind == kind && n.Key == key })
	if i < 0 {
		return memory.Note{}, false, nil
	}
	return k.notes[i], true, nil
}

func (k *testDesk) Notes(_ context.Context, ids []uuid.UUID) ([]memory.Note, error) {
	return pick(k.notes, ids), nil
}

func pick(notes []memory.Note, ids []uuid.UUID) []memory.Note {
	var out []memory.Note
	for _, id := range ids {
		if i := slices.IndexFunc(notes, func(n memory.Note) bool { return n.ID == id }); i >= 0 {
			out = append(out, notes[i])
		}
	}
	return out
}

func (k *testDesk) Past(_ context.Context, ids []uuid.UUID, at memory.Revision) ([]memory.Note, error) {
	return pick(k.log[at], ids), nil
}

func (k *testDesk) List(_ context.Context, q memory.NoteQuery) ([]memory.Note, error) {
	slices.SortFunc(k.notes, func(a, b memory.Note) int { return memory.CompareIDs(a.ID, b.ID) })
	var out []memory.Note
	for _, n := range k.notes {
		r := recordOf(&n)
		if memory.CompareIDs(n.ID, q.After) > 0 && slices.Contains(q.Kinds, n.Kind) && filter.Match(q.Filter, &r) && len(out) < q.Limit {
			out = append(out, n)
		}
	}
	return out, nil
}

func (k *testDesk) AllRead(ctx context.Context, kind memory.Kind, read func(*memory.Note) any, sum func(any, []memory.ReadNote) any) (any, error) {
	all, err := k.All(ctx, kind, memory.ReadOptions{Vector: true})
	out := make([]memory.ReadNote, len(all))
	for i, n := range all {
		out[i] = memory.ReadNote{Note: n, Read: read(n)}
	}
	return sum(nil, out), err
}

func (k *testDesk) All(ctx context.Context, kind memory.Kind, _ memory.ReadOptions) (out []*memory.Note, err error) {
	list, err := k.List(ctx, memory.NoteQuery{Kinds: []memory.Kind{kind}, Limit: 1000})
	for i := range list {
		out = append(out, &list[i])
	}
	return out, err
}

func (k *testDesk) Recent(ctx context.Context, until uuid.UUID, n int) ([]memory.Note, error) {
	all, err := k.List(ctx, memory.NoteQuery{Kinds: []memory.Kind{memory.KindMessage}, Limit: 1000})
	all = slices.DeleteFunc(all, func(m memory.Note) bool { return memory.CompareIDs(m.ID, until) >= 0 })
	return all[max(0, len(all)-n):], err
}

func (k *testDesk) Links(_ context.Context, ids []uuid.UUID, dir memory.Direction) ([]memory.Link, error) {
	k.linkReads++
	var out []memory.Link
	for _, l := range k.links {
		if dir&memory.Outgoing != 0 && slices.Contains(ids, l.Source) || dir&memory.Incoming != 0 && slices.Contains(ids, l.Target) {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b memory.Link) int {
		return bytes.Compare(append(a.Source[:], a.Relation...), append(b.Source[:], b.Relation...))
	})
	return out, nil
}

// addMessage adds a message to the conversation.
func (k *testDesk) addMessage(role memory.Role, content string, change ...func(*memory.Note)) memory.Note {
	n := memory.Note{
		ID: k.NewID(), Kind: memory.KindMessage, Content: content, OccurredAt: k.now, CreatedAt: k.now,
		Attributes: map[string]any{memory.AttrRole: string(role), memory.AttrTurn: fmt.Sprintf("turn %d", k.lastID)},
	}
	for _, c := range change {
		c(&n)
	}
	k.apply(memory.Decision{Puts: []memory.Note{n}})
	return n
}

// withAttribute sets an attribute of a message.
func withAttribute(name string, v any) func(*memory.Note) {
	return func(n *memory.Note) { n.Attributes[name] = v }
}

func withTime(t time.Time) func(*memory.Note) {
	return func(n *memory.Note) { n.OccurredAt = t }
}

// userSays adds a user's message and learns from it.
func (k *testDesk) userSays(content string, change ...func(*memory.Note)) memory.Decision {
	k.t.Helper()
	k.now = k.now.Add(time.Minute)
	return k.learn(k.addMessage(memory.RoleUser, content, change...))
}

// learn decides about an exchange and applies the decision.
func (k *testDesk) learn(messages ...memory.Note) memory.Decision {
	k.t.Helper()
	return k.decide(memory.Event{Kind: memory.EventExchange, Messages: messages})
}

func (k *testDesk) decide(e memory.Event) memory.Decision {
	k.t.Helper()
	dec := must.Get(k.p.Decide(k.t.Context(), k, e))(k.t)
	k.apply(dec)
	return dec
}

// apply applies a decision as a changeset.
func (k *testDesk) apply(dec memory.Decision) {
	revision := memory.Revision(len(k.log))
	for _, n := range dec.Puts {
		n.From = revision
		if n.CreatedAt.IsZero() {
			n.CreatedAt = k.now
		}
		k.remove(n.ID)
		if n.Key != "" && slices.ContainsFunc(k.notes, func(o memory.Note) bool { return o.Kind == n.Kind && o.Key == n.Key }) {
			k.t.Errorf("two notes of kind %s have the key %s", n.Kind, n.Key)
		}
		k.notes = append(k.notes, n)
	}
	for _, id := range dec.Deletes {
		k.remove(id)
	}
	for _, l := range dec.Links {
		k.links[l.LinkID] = l
	}
	for _, id := range dec.Unlinks {
		delete(k.links, id)
	}
	k.follow = append(k.follow, dec.Follow...)
	k.log = append(k.log, slices.Clone(k.notes))
}

func (k *testDesk) remove(id uuid.UUID) {
	k.notes = slices.DeleteFunc(slices.Clone(k.notes), func(n memory.Note) bool { return n.ID == id })
}

// contents returns the texts of the live notes of a kind, oldest first.
func (k *testDesk) contents(kind memory.Kind) []string {
	k.t.Helper()
	notes := must.Get(k.List(k.t.Context(), memory.NoteQuery{Kinds: []memory.Kind{kind}, Limit: 1000}))(k.t)
	out := []string{}
	for _, n := range notes {
		out = append(out, n.Content)
	}
	return out
}

// called returns the calls of a name, in order.
func (k *testDesk) called(name string) []memory.Call {
	var out []memory.Call
	for _, c := range k.Asked {
		if c.Name == name {
			out = append(out, c)
		}
	}
	return out
}

func (k *testDesk) fact(content string) memory.Note {
	k.t.Helper()
	i := slices.IndexFunc(k.notes, func(n memory.Note) bool { return n.Kind == memory.KindFact && n.Content == content })
	if i < 0 {
		k.t.Fatalf("no fact %q among %q", content, k.contents(memory.KindFact))
	}
	return k.notes[i]
}

func readOutcome(t *testing.T, d memory.Decision) Outcome {
	t.Helper()
	var o Outcome
	must.Do(t, json.Unmarshal(d.Outcome, &o))
	return o
}

// TestNearestAreCompared: a memory that shares no word with a fact is compared with it if it is one of the nearest, and similar, or
// looks as if it had another language, so that another encoder may have read it.
func TestNearestAreCompared(t *testing.T) {
	t.Parallel()
	c := DefaultConfig()
	for _, r := range []struct {
		name, fact, memory string
		score              float64
		at                 int // memories that are nearer
		related            bool
	}{
		{"Tom", "Tom opened a flower shop instead.", "Tom works as a nurse.", 0.4, 0, true},
		{"Tom", "Tom opened a flower shop instead.", "Tom works as a nurse.", 0.4, 2, true},
		{"Tom", "Tom opened a flower shop instead.", "Tom works as a nurse.", 0.4, 3, false},
		{"Tom", "Tom opened a flower shop instead.", "Tom works as a nurse.", 0.3, 0, false},
		{"Ana", "Ana se mudó a Oslo.", "Ana vive en Bergen.", 0.2, 0, true},
		{"Ana", "Ana se mudó a Oslo.", "Ana vive en Bergen.", 0.2, 3, false},
		{"安娜", "安娜搬到奥斯陆了。", "安娜住在卑尔根。", 0.4, 1, true},
	} {
		said := memory.Note{Content: r.fact, Attributes: map[string]any{memory.AttrRole: "user", memory.AttrName: r.name}}
		x := newExchange(&c, []memory.Note{said})
		f := candidate{text: r.fact}
		for range r.at {
			f.similar = append(f.similar, memory.Neighbor{Note: memory.Note{ID: uuid.New(), Content: r.fact}, Score: 1})
		}
		f.similar = append(f.similar, memory.Neighbor{Note: memory.Note{ID: uuid.New(), Content: r.memory}, Score: r.score})
		(&ledger{c: &c, exchange: &x}).leaveUnrelated(&f)
		if got := len(f.unrelated) == 0; got != r.related {
			t.Errorf("%q behind %d, with %.2f: compared with %q: %t", r.memory, r.at, r.score, r.fact, got)
		}
	}
}
