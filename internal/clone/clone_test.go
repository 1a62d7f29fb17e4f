package clone_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/clone"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy/policies"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/store/enginetest"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

// lab has one tenant in an empty store, and the services over it.
type lab struct {
	t           *testing.T
	store       store.Store
	tenant      uuid.UUID
	all         tenant.Scope
	notes       *notes.Service
	collections *notes.Collections
	clones      *clone.Service
	woken       atomic.Int64
	forgotten   []uuid.UUID
	now         time.Time
}

type embedders struct{ llm.Hash }

func (e embedders) Default() memory.Embedder                   { return e.Hash }
func (e embedders) Names() []string                            { return []string{e.Name()} }
func (e embedders) ByName(name string) (memory.Embedder, bool) { return e.Hash, name == e.Name() }

func open(t *testing.T) *lab {
	t.Helper()
	l := &lab{t: t, now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	clock := func() time.Time { return l.now }
	l.store = enginetest.Open(t, clock, nil)
	made := must.Get(l.store.CreateTenant(t.Context(), grant.Operator("test"), tenant.Tenant{Name: "acme", State: tenant.Active}))(t)
	l.tenant = made.ID
	l.all = l.scope(uuid.Nil, tenant.AllPermissions()...)
	policies := must.Get(policies.All())(t)
	l.notes = must.Get(notes.New(notes.Deps{Store: l.store, Embedders: embedders{}, Clock: clock}, notes.Config{}))(t)
	l.collections = must.Get(notes.NewCollections(notes.CollectionsDeps{
		Store: l.store, Agents: l.store, Embedders: embedders{}, Policies: policies, Clock: clock,
	}))(t)
	l.clones = must.Get(clone.New(clone.Deps{
		Store: store.NotifyOnCommit(l.store, func(store.Change) { l.woken.Add(1) }), Agents: l.store, Clock: clock, Policies: policies,
		Forget: func(_, id uuid.UUID) { l.forgotten = append(l.forgotten, id) },
	}, clone.Config{RemoveBatch: 20, MaxInline: 30}))(t)
	return l
}

func (l *lab) scope(agent uuid.UUID, perms ...tenant.Permission) tenant.Scope {
	return grant.Scope(l.tenant, agent, "test", perms...)
}

func (l *lab) is(err error, code fault.Code) {
	l.t.Helper()
	if !fault.Is(err, code) {
		l.t.Errorf("error is %v, want %s", err, code)
	}
}

func (l *lab) collection(in notes.CollectionInput) memory.Collection {
	l.t.Helper()
	if in.Policy == "" {
		in.Policy = memory.PolicyNone
	}
	v := must.Get(l.collections.Create(l.t.Context(), l.all, in, memory.Request{}))(l.t)
	return v.Collection
}

func (l *lab) add(c memory.Collection, content string) uuid.UUID {
	l.t.Helper()
	w := must.Get(l.notes.Add(l.t.Context(), l.all, c.ID.String(), notes.NewNote{Content: content}, memory.Request{}))(l.t)
	return w.Note.ID
}

func (l *lab) clone(s tenant.Scope, ref string, in clone.Input) clone.Result {
	l.t.Helper()
	r := must.Get(l.clones.Clone(l.t.Context(), s, ref, in, memory.Request{}))(l.t)
	return r
}

func (l *lab) view(ref string) memory.View {
	l.t.Helper()
	return must.Get(l.store.OpenView(l.t.Context(), l.all, ref, memory.At{}))(l.t)
}

// contents returns the contents of a collection's notes, oldest first.
func (l *lab) contents(ref string) []string {
	l.t.Helper()
	notes := must.Get(l.store.ListNotes(l.t.Context(), l.all, l.view(ref), memory.NoteQuery{}))(l.t)
	out := make([]string, len(notes))
	for i := range notes {
		out[i] = notes[i].Content
	}
	return out
}

func noProgress(context.Context, memory.Progress) error { return nil }

// C066, C069: a fork starts with all notes, and neither side sees what the other
// writes, also with concurrent writers on both sides.
func TestForkIsIsolated(t *testing.T) {
	t.Parallel()
	l := open(t)
	base := l.collection(notes.CollectionInput{Name: "base"})
	a, b := l.add(base, "one"), l.add(base, "two")
	must.Get(l.notes.PutLinks(t.Context(), l.all, "base", a, []notes.LinkInput{{Target: b}}, memory.Request{}))(t)
	fork := l.clone(l.all, "base", clone.Input{Agent: "ada"})
	if fork.Counts.Notes != 2 || fork.Counts.Links != 1 || fork.Collection.AgentName != "ada" || fork.Collection.Parent != base.ID || fork.Collection.Head != 3 || fork.Job != nil {
		t.Errorf("fork is %+v", fork)
	}
	ref := fork.Collection.ID.String()
	var group sync.WaitGroup
	write := func(c memory.Collection, own, other uuid.UUID, side string) {
		for i := range 10 {
			l.add(c, fmt.Sprintf("%s %d", side, i))
			_, err := l.notes.Patch(t.Context(), l.all, c.ID.String(), own, notes.NotePatch{Content: new(fmt.Sprintf("%s changed %d", side, i))}, memory.Request{})
			if err != nil {
				t.Error(err)
			}
		}
		if _, err := l.notes.Delete(t.Context(), l.all, c.ID.String(), other, memory.Request{}); err != nil {
			t.Error(err)
		}
	}
	group.Go(func() { write(base, a, b, "base") })
	group.Go(func() { write(fork.Collection, b, a, "fork") })
	group.Wait()
	for name, side := range map[string]string{"base": "base", ref: "fork"} {
		got := l.contents(name)
		if len(got) != 11 || !slices.Contains(got, side+" changed 9") {
			t.Errorf("%s shows %v", side, got)
		}
		for _, c := range got {
			if !strings.HasPrefix(c, side) {
				t.Errorf("%s shows %q", side, c)
			}
		}
	}
}

// A fork may have another policy, or other settings: it begins with what that policy begins with, and what it does not know is refused.
func TestForkUnderAnotherPolicy(t *testing.T) {
	t.Parallel()
	l := open(t)
	base := l.collection(notes.CollectionInput{Name: "base", Policy: "amem", PolicyConfig: json.RawMessage(`{"k_neighbours":7}`)})
	l.add(base, "one")
	for _, x := range []struct {
		in             clone.Input
		policy, config string
		blocks         bool
	}{
		{clone.Input{Policy: "mem0", PolicyConfig: json.RawMessage(`{"similar":3}`)}, "mem0", `{"similar":3}`, false},
		{clone.Input{Policy: "mem0"}, "mem0", "", false},
		{clone.Input{PolicyConfig: json.RawMessage(`{"k_neighbours":9}`)}, "amem", `{"k_neighbours":9}`, false},
		{clone.Input{Policy: "amem"}, "amem", `{"k_neighbours":7}`, false},
		{clone.Input{Policy: "amem", PolicyConfig: json.RawMessage(`{}`)}, "amem", "", false},
		{clone.Input{Policy: "memgpt"}, "memgpt", "", true},
	} {
		c := l.clone(l.all, "base", x.in).Collection
		if c.Policy != x.policy || string(c.PolicyConfig) != x.config || c.Parent != base.ID {
			t.Errorf("%+v makes %+v %s", x.in, c, c.PolicyConfig)
		}
		blocks := must.Get(l.store.ListNotes(t.Context(), l.all, l.view(c.ID.String()), memory.NoteQuery{Kinds: []memory.Kind{memory.KindBlock}}))(t)
		if got := l.contents(c.ID.String()); len(blocks) > 0 != x.blocks || !slices.Contains(got, "one") {
			t.Errorf("a fork with %s shows %v and %d blocks", x.policy, got, len(blocks))
		}
	}
	// A block of the base is kept, and the policy makes none of its label.
	agent := l.clone(l.all, "base", clone.Input{Policy: "memgpt", Name: "agent"})
	again := l.clone(l.all, "agent", clone.Input{Policy: "mem0", Name: "facts"})
	if back := l.clone(l.all, "facts", clone.Input{Policy: "memgpt"}); back.Counts.Notes != agent.Counts.Notes || again.Counts.Notes != agent.Counts.Notes {
		t.Errorf("notes: %d, %d, %d", agent.Counts.Notes, again.Counts.Notes, back.Counts.Notes)
	}
	for field, in := range map[string]clone.Input{
		"policy": {Policy: "mem9"}, "policy_config.hat": {PolicyConfig: json.RawMessage(`{"hat":1}`)},
		"policy_config.k_neighbours": {Policy: "mem0", PolicyConfig: json.RawMessage(`{"k_neighbours":7}`)},
		"mode":                       {Mode: clone.Copy, Policy: "mem0"},
	} {
		_, err := l.clones.Clone(t.Context(), l.all, "base", in, memory.Request{})
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Code != fault.Invalid || len(f.Fields) != 1 || f.Fields[0].Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	_, err := l.clones.Clone(t.Context(), l.scope(uuid.Nil, tenant.Clone, tenant.NotesRead), "base", clone.Input{Policy: "mem0"}, memory.Request{})
	l.is(err, fault.Forbidden)
	_, err = l.clones.Merge(t.Context(), l.all, "base", clone.MergeInput{From: "facts"})
	l.is(err, fault.Invalid)
}

// C323: the default name, copied settings, and a time to live.
func TestCloneDefaults(t *testing.T) {
	t.Parallel()
	l := open(t)
	src := l.collection(notes.CollectionInput{
		Name: "base", Policy: "amem", PolicyConfig: json.RawMessage(`{"k_neighbours":7}`), DisplayName: "Basis", Metadata: map[string]any{"a": "b"},
	})
	var names []string
	for range 3 {
		names = append(names, l.clone(l.all, "base", clone.Input{}).Collection.Name)
	}
	if !slices.Equal(names, []string{"base__clone", "base__clone-2", "base__clone-3"}) {
		t.Errorf("names are %v", names)
	}
	c := l.clone(l.all, "base", clone.Input{Name: "named", TTLSeconds: new(int64(60))}).Collection
	if c.Policy != "amem" || string(c.PolicyConfig) != `{"k_neighbours":7}` || c.DisplayName != "Basis" || c.Metadata["a"] != "b" ||
		c.Embedder != src.Embedder || c.Dim != src.Dim || !c.ExpiresAt.Equal(l.now.Add(time.Minute)) || !c.Shared() {
		t.Errorf("clone is %+v", c)
	}
	_, err := l.clones.Clone(t.Context(), l.all, "base", clone.Input{Name: "named"}, memory.Request{})
	l.is(err, fault.Exists)
	long := l.collection(notes.CollectionInput{Name: strings.Repeat("x", 128)})
	for i, want := range []string{strings.Repeat("x", 121) + "__clone", strings.Repeat("x", 119) + "__clone-2"} {
		if got := l.clone(l.all, long.ID.String(), clone.Input{}).Collection.Name; got != want {
			t.Errorf("name %d is %s", i, got)
		}
	}
	l.now = l.now.Add(2 * time.Minute)
	_, err = l.collections.Get(t.Context(), l.all, "named")
	l.is(err, fault.NotFound)
	due := must.Get(l.store.ExpiredCollections(t.Context(), l.now, 10))(t)
	if len(due) != 1 || due[0].Collection != c.ID {
		t.Fatalf("due are %v", due)
	}
	job := grant.Job(l.tenant, uuid.New())
	must.Do(t, l.clones.Expire(t.Context(), job, due[0], l.now))
	must.Do(t, l.clones.Expire(t.Context(), job, due[0], l.now))
	if due, err := l.store.ExpiredCollections(t.Context(), l.now, 10); err != nil || len(due) != 0 {
		t.Errorf("still due: %v %v", due, err)
	}
}

// listed counts the lists of collections.
type listed struct {
	clone.Store
	lists atomic.Int64
}

func (c *listed) ListCollections(ctx context.Context, s tenant.Scope, q memory.CollectionQuery) ([]memory.Collection, error) {
	c.lists.Add(1)
	return c.Store.ListCollections(ctx, s, q)
}

// TestDefaultNamesOfAFleet: a default name is found without a look at all others, also when some are free again or taken concurrently.
func TestDefaultNamesOfAFleet(t *testing.T) {
	t.Parallel()
	l := open(t)
	l.collection(notes.CollectionInput{Name: "base"})
	for i := range 100 {
		if got := l.clone(l.all, "base", clone.Input{}).Collection.Name; i > 0 && got != fmt.Sprint("base__clone-", i+1) {
			t.Fatalf("name %d is %s", i, got)
		}
	}
	counted := &listed{Store: l.store}
	clones := must.Get(clone.New(clone.Deps{Store: counted, Agents: l.store}, clone.Config{}))(t)
	must.Get(clones.Clone(t.Context(), l.all, "base", clone.Input{}, memory.Request{}))(t)
	if n := counted.lists.Load(); n > 16 {
		t.Errorf("%d lists for one name", n)
	}
	must.Get(l.collections.Delete(t.Context(), l.all, "base__clone-40", false))(t)
	var group sync.WaitGroup
	for range 5 {
		group.Go(func() { l.clone(l.all, "base", clone.Input{}) })
	}
	group.Wait()
}

// C067: a copy in batches of a given size, resumed after an interruption; its
// removal leaves no rows.
func TestCopyInBatches(t *testing.T) {
	t.Parallel()
	l := open(t)
	base := l.collection(notes.CollectionInput{Name: "base"})
	var ids []uuid.UUID
	for i := range 35 {
		ids = append(ids, l.add(base, fmt.Sprintf("note %d", i)))
	}
	must.Get(l.notes.PutLinks(t.Context(), l.all, "base", ids[3], []notes.LinkInput{{Target: ids[30], Confidence: new(0.5)}}, memory.Request{}))(t)
	inner := l.clone(l.all, "base", clone.Input{Name: "inner"}).Collection
	l.add(inner, "of the fork")
	want := l.contents("inner")
	made := l.clone(l.all, "inner", clone.Input{Mode: clone.Copy, Name: "copied", BatchSize: 10})
	if made.Job == nil || made.Job.Kind != memory.JobCopy || made.Collection.State != memory.CollectionCopying || l.woken.Load() == 0 {
		t.Fatalf("copy is %+v", made)
	}
	_, err := l.notes.Add(t.Context(), l.all, "copied", notes.NewNote{Content: "too early"}, memory.Request{})
	l.is(err, fault.Conflict)
	_, err = l.clones.Clone(t.Context(), l.all, "copied", clone.Input{}, memory.Request{})
	l.is(err, fault.Conflict)
	l.add(inner, "later than the copy")
	job := grant.Job(l.tenant, made.Job.ID)
	stop := errors.New("stopped")
	var steps []memory.Progress
	err = l.clones.RunCopy(t.Context(), job, *made.Job, func(_ context.Context, p memory.Progress) error {
		if steps = append(steps, p); len(steps) == 2 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || !slices.Equal(steps, []memory.Progress{{Done: 10, Total: 36}, {Done: 20, Total: 36}}) {
		t.Fatalf("steps are %v, %v", steps, err)
	}
	must.Do(t, l.clones.RunCopy(t.Context(), job, *made.Job, noProgress))
	must.Do(t, l.clones.RunCopy(t.Context(), job, *made.Job, noProgress)) // a job delivered twice
	if got := l.contents("copied"); !slices.Equal(got, want) {
		t.Errorf("the copy shows %v", got)
	}
	got := must.Get(l.collections.Get(t.Context(), l.all, "copied"))(t)
	if got.Collection.State != memory.CollectionActive || got.Counts.Notes != 36 || got.Counts.Links != 1 || len(got.Lineage) != 1 || got.Collection.Head != 37 {
		t.Errorf("the copy is %+v", got)
	}
	l.add(got.Collection, "own")
	if slices.Contains(l.contents("inner"), "own") {
		t.Error("the source shows what the copy wrote")
	}
	problems := must.Get(l.store.Verify(t.Context()))(t)
	if len(problems) != 0 {
		t.Errorf("the store is wrong: %v", problems)
	}

	// The source can be deleted: the copy is independent of it. A fork is not.
	_, err = l.collections.Delete(t.Context(), l.all, "base", false)
	l.is(err, fault.HasForks)
	inn := l.contents("inner")
	must.Get(l.collections.Delete(t.Context(), l.all, "base", true))(t)
	var removed []memory.Progress
	must.Do(t, l.clones.RunRemove(t.Context(), job, memory.Job{Collection: base.ID}, func(_ context.Context, p memory.Progress) error {
		removed = append(removed, p)
		return nil
	}))
	must.Do(t, l.clones.RunRemove(t.Context(), job, memory.Job{Collection: base.ID}, noProgress))
	if len(removed) < 3 || !slices.Contains(l.forgotten, base.ID) {
		t.Errorf("removed in %v, forgotten %v", removed, l.forgotten)
	}
	if !slices.Equal(l.contents("inner"), inn) || len(l.contents("copied")) != 37 {
		t.Error("a clone lost notes with its base")
	}
	if problems, err = l.store.Verify(t.Context()); err != nil || len(problems) != 0 {
		t.Errorf("the store is wrong: %v %v", problems, err)
	}
}

// When the source is deleted during a copy, the target is deleted too.
func TestCopyOfDeletedSource(t *testing.T) {
	t.Parallel()
	l := open(t)
	base := l.collection(notes.CollectionInput{Name: "base"})
	for i := range 5 {
		l.add(base, fmt.Sprint(i))
	}
	made := l.clone(l.all, "base", clone.Input{Mode: clone.Copy, Name: "copied", BatchSize: 2})
	err := l.clones.RunCopy(t.Context(), l.all, *made.Job, func(ctx context.Context, _ memory.Progress) error {
		if _, err := l.collections.Delete(ctx, l.all, "base", false); err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		return nil
	})
	l.is(err, fault.NotFound)
	_, err = l.collections.Get(t.Context(), l.all, "copied")
	l.is(err, fault.NotFound)
}

// C068: a refused clone creates no agent and no collection.
func TestCloneRefuses(t *testing.T) {
	t.Parallel()
	l := open(t)
	base := l.collection(notes.CollectionInput{Name: "base"})
	l.add(base, "one")
	for name, x := range map[string]struct {
		ref  string
		in   clone.Input
		code fault.Code
		text string
	}{
		"missing":      {"nothing", clone.Input{Agent: "eve"}, fault.NotFound, "collection"},
		"missing copy": {uuid.NewString(), clone.Input{Mode: clone.Copy, Agent: "eve"}, fault.NotFound, "collection"},
		"mode":         {"base", clone.Input{Mode: "twin", Agent: "eve"}, fault.Invalid, "mode"},
		"name":         {"base", clone.Input{Name: "No", Agent: "eve"}, fault.Invalid, "name"},
		"future":       {"base", clone.Input{AtRevision: new(memory.Revision(9)), Agent: "eve"}, fault.Invalid, "at_revision"},
		"negative":     {"base", clone.Input{AtRevision: new(memory.Revision(-1)), Agent: "eve"}, fault.Invalid, "at_revision"},
		"ttl":          {"base", clone.Input{TTLSeconds: new(int64(-1)), Agent: "eve"}, fault.Invalid, "ttl_seconds"},
		"batch":        {"base", clone.Input{BatchSize: 10_001, Agent: "eve"}, fault.Invalid, "batch_size"},
		"agent id":     {"base", clone.Input{Agent: uuid.NewString()}, fault.NotFound, "agent"},
	} {
		_, err := l.clones.Clone(t.Context(), l.all, x.ref, x.in, memory.Request{})
		if !fault.Is(err, x.code) || !strings.Contains(err.Error(), x.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := l.clones.Clone(t.Context(), l.scope(uuid.Nil, tenant.NotesRead, tenant.CollectionsWrite), "base", clone.Input{}, memory.Request{})
	l.is(err, fault.Forbidden)
	agents := must.Get(l.store.ListAgents(t.Context(), l.all, "", 10))(t)
	page, _, err := l.collections.List(t.Context(), l.all, notes.CollectionList{})
	must.Do(t, err)
	if len(agents) != 0 || len(page) != 1 {
		t.Errorf("left behind: agents %v, collections %d", agents, len(page))
	}
}

// A scope without an agent may fork for any agent. A scope bound to an agent may fork
// only for that agent, and only collections that it can read.
func TestCloneForAgents(t *testing.T) {
	t.Parallel()
	l := open(t)
	l.collection(notes.CollectionInput{Name: "base"})
	ada := must.Get(l.store.EnsureAgent(t.Context(), l.all, "ada"))(t)
	eve := must.Get(l.store.EnsureAgent(t.Context(), l.all, "eve"))(t)
	as := l.scope(ada.ID, tenant.Clone, tenant.NotesRead)
	own := l.clone(as, "base", clone.Input{}).Collection
	if own.Agent != ada.ID {
		t.Errorf("the fork belongs to %s", own.Agent)
	}
	for _, ref := range []string{"eve", eve.ID.String(), "someone-new"} {
		_, err := l.clones.Clone(t.Context(), as, "base", clone.Input{Agent: ref}, memory.Request{})
		if code := fault.CodeOf(err); code != fault.NotFound && code != fault.Forbidden {
			t.Errorf("ada made a fork for %s: %v", ref, err)
		}
	}
	_, err := l.clones.Clone(t.Context(), l.scope(eve.ID, tenant.Clone), own.ID.String(), clone.Input{}, memory.Request{})
	l.is(err, fault.NotFound)
	if c := l.clone(l.all, own.ID.String(), clone.Input{Agent: eve.ID.String()}).Collection; c.Agent != eve.ID {
		t.Errorf("the fork belongs to %s", c.Agent)
	}
	_, err = l.clones.Clone(t.Context(), grant.Scope(uuid.New(), uuid.Nil, "x", tenant.AllPermissions()...), own.ID.String(), clone.Input{}, memory.Request{})
	if fault.CodeOf(err) != fault.NotFound {
		t.Errorf("another tenant: %v", err)
	}
}

func TestForkOfThePastAndDepth(t *testing.T) {
	t.Parallel()
	l := open(t)
	base := l.collection(notes.CollectionInput{Name: "base"})
	l.add(base, "one")
	l.add(base, "two")
	past := l.clone(l.all, "base", clone.Input{AtRevision: new(memory.Revision(1)), Name: "past"})
	if got := l.contents("past"); !slices.Equal(got, []string{"one"}) || past.Collection.Head != 1 || past.Counts.Notes != 1 {
		t.Errorf("the past is %v %+v", got, past)
	}
	empty := l.clone(l.all, "base", clone.Input{AtRevision: new(memory.Revision(0)), Name: "empty"})
	if got := l.contents("empty"); len(got) != 0 || empty.Collection.Head != 0 {
		t.Errorf("at revision 0 there is %v", got)
	}
	ref := "base"
	for i := 2; i <= memory.MaxLineage; i++ {
		name := fmt.Sprintf("layer-%d", i)
		c := l.clone(l.all, ref, clone.Input{Name: name}).Collection
		l.add(c, name)
		ref = name
	}
	if got := l.contents(ref); len(got) != 2+memory.MaxLineage-1 {
		t.Errorf("the eighth layer shows %v", got)
	}
	// A copy of the deepest fork has one layer.
	made := l.clone(l.all, ref, clone.Input{Mode: clone.Copy, Name: "flat"})
	must.Do(t, l.clones.RunCopy(t.Context(), l.all, *made.Job, noProgress))
	if !slices.Equal(l.contents("flat"), l.contents(ref)) {
		t.Error("the copy shows other notes than its source")
	}
}

func TestCloneIdempotency(t *testing.T) {
	t.Parallel()
	l := open(t)
	l.collection(notes.CollectionInput{Name: "base"})
	key := func(path string, body byte) memory.Request {
		return memory.Request{Idempotency: &memory.Idempotency{Method: "POST", Path: path, Key: "k", BodyHash: [32]byte{body}}}
	}
	for i, in := range []clone.Input{{}, {Mode: clone.Copy}} {
		path := fmt.Sprint("/", i)
		first := must.Get(l.clones.Clone(t.Context(), l.all, "base", in, key(path, 1)))(t)
		again := must.Get(l.clones.Clone(t.Context(), l.all, "base", in, key(path, 1)))(t)
		if !again.Replayed || again.Collection.ID != first.Collection.ID || (first.Job == nil) != (again.Job == nil) || first.Job != nil && first.Job.ID != again.Job.ID {
			t.Errorf("replay is %+v", again)
		}
		_, err := l.clones.Clone(t.Context(), l.all, "base", in, key(path, 2))
		l.is(err, fault.IdempotencyReuse)
	}
	page, _, err := l.collections.List(t.Context(), l.all, notes.CollectionList{})
	must.Do(t, err)
	if len(page) != 3 {
		t.Errorf("%d collections", len(page))
	}
}

// A key answers for the source that it was used with, and only while the clone exists.
func TestCloneIdempotencyOverADeletedCollection(t *testing.T) {
	t.Parallel()
	l := open(t)
	for i, in := range []clone.Input{{Name: "made"}, {Name: "made", Mode: clone.Copy}} {
		r := memory.Request{Idempotency: &memory.Idempotency{Method: "POST", Path: fmt.Sprint("/", i), Key: "k", BodyHash: [32]byte{1}}}
		l.collection(notes.CollectionInput{Name: "base"})
		first := must.Get(l.clones.Clone(t.Context(), l.all, "base", in, r))(t)
		if first.Job != nil {
			must.Do(t, l.clones.RunCopy(t.Context(), l.all, *first.Job, noProgress))
		}
		must.Get(l.collections.Delete(t.Context(), l.all, "base", true))(t)
		l.collection(notes.CollectionInput{Name: "base"})
		_, err := l.clones.Clone(t.Context(), l.all, "base", in, r)
		l.is(err, fault.IdempotencyReuse)

		r.Idempotency.Key = "other"
		must.Get(l.clones.Clone(t.Context(), l.all, "base", clone.Input{Name: "gone"}, r))(t)
		must.Get(l.collections.Delete(t.Context(), l.all, "gone", false))(t)
		_, err = l.clones.Clone(t.Context(), l.all, "base", clone.Input{Name: "gone"}, r)
		l.is(err, fault.IdempotencyReuse)
		must.Get(l.collections.Delete(t.Context(), l.all, "made", false))(t)
		must.Get(l.collections.Delete(t.Context(), l.all, "base", false))(t)
	}
}
