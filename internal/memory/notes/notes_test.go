package notes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/oapi-codegen/nullable"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

// C001, C003, C004: every add makes one note; ids grow in input order.
func TestAddMakesOneNoteEach(t *testing.T) {
	t.Parallel()
	d := open(t)
	c := d.collection("things")
	var ids []uuid.UUID
	for i := range 50 {
		ids = append(ids, d.add(c, fmt.Sprintf("the kettle boiled over in the night %d", i)).ID)
	}
	if !slices.IsSortedFunc(ids, func(a, b uuid.UUID) int { return strings.Compare(a.String(), b.String()) }) || len(slices.Compact(ids)) != 50 {
		t.Error("ids do not grow")
	}
	if v := d.view(c); v.At != 50 {
		t.Errorf("head is %d", v.At)
	}
}

// C002, C011, C012, C060: a note keeps what the caller sent, with its types.
func TestAddKeepsWhatIsGiven(t *testing.T) {
	t.Parallel()
	d := open(t)
	c := d.collection("things")
	in := notes.NewNote{
		Content: "2024", Context: new("a year"), Keywords: []string{"b", "a", "b"}, Tags: []string{"x"}, Category: new("Years"),
		Attributes: map[string]any{
			"n": json.Number("12345678901"), "f": 1.5, "s": "7", "b": true, "l": []any{json.Number("1"), "2", nil},
			"m": map[string]any{"k": map[string]any{}},
		},
		Importance: new(0.25), OccurredAt: new(time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)), Kind: memory.KindFact,
	}
	w := must.Get(d.notes.Add(t.Context(), d.all, c.ID.String(), in, memory.Request{}))(t)
	n, ok := d.read(c, w.Note.ID)
	if !ok {
		t.Fatal("the note is not there")
	}
	if n.Content != "2024" || n.Context != "a year" || n.Category != "Years" || n.Importance != 0.25 || n.Kind != memory.KindFact ||
		!slices.Equal(n.Keywords, []string{"b", "a"}) || !slices.Equal(n.Tags, []string{"x"}) ||
		!n.OccurredAt.Equal(time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)) || len(n.Vector) != 384 {
		t.Errorf("got %+v", n)
	}
	got := must.Get(json.Marshal(n.Attributes))(t)
	var a, b any
	d.must(json.Unmarshal(got, &a))
	d.must(json.Unmarshal([]byte(`{"b":true,"f":1.5,"l":[1,"2",null],"m":{"k":{}},"n":12345678901,"s":"7"}`), &b))
	if !reflect.DeepEqual(a, b) || !strings.Contains(string(got), "12345678901") {
		t.Errorf("attributes are %s", got)
	}
	if !slices.Equal(n.Supplied, []string{"keywords", "context", "tags"}) && len(n.Supplied) != 3 {
		t.Errorf("supplied is %v", n.Supplied)
	}
	plain := d.add(c, "defaults")
	if plain.Category != memory.DefaultCategory || plain.Importance != memory.DefaultImportance || plain.Kind != memory.KindNote ||
		plain.State != memory.StateRaw || !plain.OccurredAt.Equal(plain.CreatedAt) || len(plain.Supplied) != 0 {
		t.Errorf("got %+v", plain)
	}
}

func TestAddRefuses(t *testing.T) {
	t.Parallel()
	d := open(t)
	c := d.collection("things")
	deep := map[string]any{}
	for range 20 {
		deep = map[string]any{"d": deep}
	}
	for name, in := range map[string]struct {
		note  notes.NewNote
		code  fault.Code
		field string
	}{
		"blank":              {notes.NewNote{Content: " \n\t"}, fault.Invalid, "content"},
		"too long":           {notes.NewNote{Content: strings.Repeat("x", memory.MaxContentBytes+1)}, fault.Invalid, "content"},
		"nul":                {notes.NewNote{Content: "a\x00b"}, fault.Invalid, "content"},
		"not utf8":           {notes.NewNote{Content: "a\xffb"}, fault.Malformed, "content"},
		"tags":               {notes.NewNote{Content: "x", Tags: make([]string, 51)}, fault.Invalid, "tags"},
		"keywords":           {notes.NewNote{Content: "x", Keywords: make([]string, 65)}, fault.Invalid, "keywords"},
		"blank tag":          {notes.NewNote{Content: "x", Tags: []string{"a", " "}}, fault.Invalid, "tags.1"},
		"long keyword":       {notes.NewNote{Content: "x", Keywords: []string{strings.Repeat("k", 257)}}, fault.Invalid, "keywords.0"},
		"importance":         {notes.NewNote{Content: "x", Importance: new(1.1)}, fault.Invalid, "importance"},
		"importance NaN":     {notes.NewNote{Content: "x", Importance: new(math.NaN())}, fault.Invalid, "importance"},
		"1700":               {notes.NewNote{Content: "x", OccurredAt: new(time.Date(1700, 1, 1, 0, 0, 0, 0, time.UTC))}, fault.Invalid, "occurred_at"},
		"tomorrow":           {notes.NewNote{Content: "x", OccurredAt: new(d.now.Add(24 * time.Hour))}, fault.Invalid, "occurred_at"},
		"kind":               {notes.NewNote{Content: "x", Kind: "poem"}, fault.Invalid, "kind"},
		"category":           {notes.NewNote{Content: "x", Category: new("")}, fault.Invalid, "category"},
		"attributes size":    {notes.NewNote{Content: "x", Attributes: map[string]any{"a": strings.Repeat("x", 17<<10)}}, fault.Invalid, "attributes"},
		"attributes depth":   {notes.NewNote{Content: "x", Attributes: deep}, fault.Invalid, "attributes" + strings.Repeat(".d", 17)},
		"attributes nul":     {notes.NewNote{Content: "x", Attributes: map[string]any{"a": "\x00"}}, fault.Invalid, "attributes.a"},
		"attributes nul key": {notes.NewNote{Content: "x", Attributes: map[string]any{"\x00": 1.0}}, fault.Invalid, "attributes"},
		"id":                 {notes.NewNote{Content: "x", ID: uuid.New()}, fault.Invalid, "id"},
	} {
		_, err := d.notes.Add(t.Context(), d.all, c.ID.String(), in.note, memory.Request{})
		if !fault.Is(err, in.code) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		d.is(err, in.code, in.field)
	}
	if v := d.view(c); v.At != 0 {
		t.Errorf("something was written: head %d", v.At)
	}
	full := notes.NewNote{Content: strings.Repeat("é", memory.MaxContentBytes/2), OccurredAt: new(d.now.Add(4 * time.Minute))}
	must.Get(d.notes.Add(t.Context(), d.all, c.ID.String(), full, memory.Request{}))(t)
}

// A write enqueues the job that it needs: the policy's, one that embeds, or none.
func TestAddEnqueuesWhatIsNeeded(t *testing.T) {
	t.Parallel()
	d := open(t)
	create := func(name, policy, embedder string) memory.Collection {
		v := must.Get(d.collections.Create(t.Context(), d.all, notes.CollectionInput{Name: name, Policy: policy, Embedder: embedder}, memory.Request{}))(t)
		return v.Collection
	}
	for _, x := range []struct {
		name, policy, embedder string
		infer                  *bool
		payload                string
		vector                 bool
	}{
		{"a", "", "", nil, "job", true},
		{"b", "", "", new(false), "", true},
		{"c", memory.PolicyNone, "", nil, "", true},
		{"d", memory.PolicyNone, "slow-3", nil, `{"embed_only":true}`, false},
		{"e", "amem", "slow-3", nil, "job", false},
		{"f", "amem", "slow-3", new(false), `{"embed_only":true}`, false},
	} {
		c := create(x.name, x.policy, x.embedder)
		woken := d.woken.Load()
		w := must.Get(d.notes.Add(t.Context(), d.all, c.ID.String(), notes.NewNote{Content: "tea at four", Infer: x.infer}, memory.Request{}))(t)
		jobs := must.Get(d.store.ListJobs(t.Context(), d.all, memory.JobQuery{Collection: c.ID, Limit: 10}))(t)
		n, _ := d.read(c, w.Note.ID)
		if (len(n.Vector) > 0) != x.vector {
			t.Errorf("%s: vector %d", x.name, len(n.Vector))
		}
		if x.payload == "" {
			if w.Job != nil || len(jobs) != 0 || d.woken.Load() != woken {
				t.Errorf("%s: a job without need", x.name)
			}
			continue
		}
		if w.Job == nil || len(jobs) != 1 || jobs[0].ID != w.Job.ID || jobs[0].Note != w.Note.ID || jobs[0].Kind != memory.JobNote ||
			jobs[0].Stage != memory.StagePrepare || d.woken.Load() != woken+1 {
			t.Errorf("%s: jobs are %+v", x.name, jobs)
			continue
		}
		if got := string(jobs[0].Payload); x.payload != "job" && got != x.payload || x.payload == "job" && got != "" {
			t.Errorf("%s: payload is %q", x.name, got)
		}
	}
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	d := open(t)
	agent := must.Get(d.store.EnsureAgent(t.Context(), d.all, "ada"))(t)
	base := d.collection("base")
	own := must.Get(d.collections.Create(t.Context(), d.all, notes.CollectionInput{Name: "own", Agent: "ada", Policy: memory.PolicyNone}, memory.Request{}))(t)
	add := func(s tenant.Scope, ref string) error {
		_, err := d.notes.Add(t.Context(), s, ref, notes.NewNote{Content: "x"}, memory.Request{})
		return err
	}
	d.is(add(tenant.Scope{}, "base"), fault.Unauthenticated)
	d.is(add(d.scope(uuid.Nil, tenant.NotesRead), "base"), fault.Forbidden)
	d.is(add(d.scope(uuid.Nil, tenant.NotesWrite), "base"), fault.Forbidden)
	d.must(add(d.scope(uuid.Nil, tenant.NotesWrite, tenant.BaseWrite), "base"))
	d.must(add(d.scope(agent.ID, tenant.NotesWrite), "own"))
	other := must.Get(d.store.EnsureAgent(t.Context(), d.all, "eve"))(t)
	d.is(add(d.scope(other.ID, tenant.AllPermissions()...), own.Collection.ID.String()), fault.NotFound)
	n := d.add(base, "a note")
	low := d.scope(uuid.Nil, tenant.NotesRead)
	_, err := d.notes.AddMany(t.Context(), low, "base", nil)
	d.is(err, fault.Forbidden)
	_, err = d.notes.Patch(t.Context(), low, "base", n.ID, notes.NotePatch{}, memory.Request{})
	d.is(err, fault.Forbidden)
	_, err = d.notes.Delete(t.Context(), low, "base", n.ID, memory.Request{})
	d.is(err, fault.Forbidden)
	_, err = d.notes.Restore(t.Context(), low, "base", n.ID, 1, memory.Request{})
	d.is(err, fault.Forbidden)
	_, err = d.notes.PutLinks(t.Context(), low, "base", n.ID, nil, memory.Request{})
	d.is(err, fault.Forbidden)
	_, err = d.notes.DeleteLinks(t.Context(), low, "base", n.ID, n.ID, "", memory.Request{})
	d.is(err, fault.Forbidden)
	_, err = d.notes.Importer(t.Context(), low, "base", uuid.Nil)
	d.is(err, fault.Forbidden)
	_, err = d.collections.Create(t.Context(), low, notes.CollectionInput{Name: "x"}, memory.Request{})
	d.is(err, fault.Forbidden)
	_, err = d.collections.Patch(t.Context(), d.scope(uuid.Nil, tenant.CollectionsWrite), "base", notes.CollectionPatch{})
	d.is(err, fault.Forbidden) // a shared base also requires base:write
	_, err = d.collections.Delete(t.Context(), d.scope(uuid.Nil, tenant.CollectionsWrite), "base", false)
	d.is(err, fault.Forbidden)
	_, err = d.collections.Get(t.Context(), d.scope(uuid.Nil), "base")
	d.is(err, fault.Forbidden)
	_, _, err = d.collections.List(t.Context(), d.scope(uuid.Nil), notes.CollectionList{})
	d.is(err, fault.Forbidden)
}

func TestIdempotency(t *testing.T) {
	t.Parallel()
	d := open(t)
	v := must.Get(d.collections.Create(t.Context(), d.all, notes.CollectionInput{Name: "things"}, memory.Request{}))(t)
	c := v.Collection
	req := memory.Request{Idempotency: &memory.Idempotency{Method: "POST", Path: "/p", Key: "k", BodyHash: [32]byte{1}}}
	first := must.Get(d.notes.Add(t.Context(), d.all, "things", notes.NewNote{Content: "once"}, req))(t)
	must.Get(d.notes.Patch(t.Context(), d.all, "things", first.Note.ID, notes.NotePatch{Content: new("changed")}, memory.Request{}))(t)
	again := must.Get(d.notes.Add(t.Context(), d.all, "things", notes.NewNote{Content: "once"}, req))(t)
	if !again.Replayed || again.Note.ID != first.Note.ID || again.Revision != first.Revision || again.Note.Content != "once" ||
		again.Job == nil || again.Job.ID != first.Job.ID {
		t.Errorf("replay is %+v", again)
	}
	if got := d.view(c).At; got != 2 {
		t.Errorf("head is %d", got)
	}
	other := *req.Idempotency
	other.BodyHash = [32]byte{2}
	_, err := d.notes.Add(t.Context(), d.all, "things", notes.NewNote{Content: "other"}, memory.Request{Idempotency: &other})
	d.is(err, fault.IdempotencyReuse)

	k := memory.Request{Idempotency: &memory.Idempotency{Method: "POST", Path: "/c", Key: "k", BodyHash: [32]byte{1}}}
	one := must.Get(d.collections.Create(t.Context(), d.all, notes.CollectionInput{Name: "once"}, k))(t)
	two := must.Get(d.collections.Create(t.Context(), d.all, notes.CollectionInput{Name: "once"}, k))(t)
	if !two.Replayed || two.Collection.ID != one.Collection.ID {
		t.Errorf("replay is %+v", two)
	}
	r := memory.Request{Idempotency: &memory.Idempotency{Method: "POST", Path: "/r", Key: "k", BodyHash: [32]byte{1}}}
	a := must.Get(d.notes.Restore(t.Context(), d.all, "things", first.Note.ID, first.Revision, r))(t)
	b := must.Get(d.notes.Restore(t.Context(), d.all, "things", first.Note.ID, first.Revision, r))(t)
	if !b.Replayed || a.Revision != b.Revision || a.Note.Content != "once" {
		t.Errorf("restored %+v, then %+v", a, b)
	}
}

// A key is bound to the collection that it was used with, not to a later one of the same name. A
// key whose result was deleted is refused too.
func TestIdempotencyOverADeletedCollection(t *testing.T) {
	t.Parallel()
	d := open(t)
	ctx, ref := t.Context(), "things"
	key := func(path string) memory.Request {
		return memory.Request{Idempotency: &memory.Idempotency{Method: "POST", Path: path, Key: "k", BodyHash: [32]byte{1}}}
	}
	id := d.add(d.collection(ref), "first").ID
	line := []notes.BulkLine{{Note: notes.NewNote{Content: "once"}, Once: key("/line").Idempotency}}
	calls := map[string]func() error{
		"add": func() error {
			_, err := d.notes.Add(ctx, d.all, ref, notes.NewNote{Content: "once"}, key("/add"))
			return err
		},
		"restore": func() error {
			_, err := d.notes.Restore(ctx, d.all, ref, id, 1, key("/restore"))
			return err
		},
		"messages": func() error {
			_, err := d.notes.AddMessages(ctx, d.all, ref, notes.NewMessages{Messages: []notes.NewMessage{{Content: "once"}}}, key("/messages"))
			return err
		},
		"bulk": func() error {
			results, err := d.notes.AddMany(ctx, d.all, ref, line)
			if err != nil {
				return err
			}
			return results[0].Err
		},
		"create": func() error {
			_, err := d.collections.Create(ctx, d.all, notes.CollectionInput{Name: "other"}, key("/create"))
			return err
		},
	}
	for name, call := range calls {
		if err := call(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	must.Get(d.collections.Delete(ctx, d.all, ref, false))(t)
	must.Get(d.collections.Delete(ctx, d.all, "other", false))(t)
	c := d.collection(ref)
	for _, when := range []string{"in an empty collection", "in a longer log"} {
		for name, call := range calls {
			if err := call(); !fault.Is(err, fault.IdempotencyReuse) {
				t.Errorf("%s, %s: %v", name, when, err)
			}
		}
		for range 12 {
			d.add(c, "new")
		}
	}
}

// tagged returns a guard on one entity tag.
func tagged(etag string) memory.Guard { return func(got string) bool { return got == etag } }

// C057, C010: any editable field can be changed; vector and text follow immediately.
func TestPatch(t *testing.T) {
	t.Parallel()
	d := open(t)
	c := d.collection("things")
	n := d.add(c, "the cat sat on the mat")
	before, _ := d.read(c, n.ID)
	patch := func(p notes.NotePatch, g memory.Guard) (notes.NoteWritten, error) {
		return d.notes.Patch(t.Context(), d.all, c.ID.String(), n.ID, p, memory.Request{Guard: g})
	}
	w := must.Get(patch(notes.NotePatch{Tags: nullable.NewNullableWithValue([]string{"cats"})}, nil))(t)
	after, _ := d.read(c, n.ID)
	if slices.Equal(before.Vector, after.Vector) || len(after.Vector) != 384 || !slices.Equal(after.Tags, []string{"cats"}) || !w.Changed {
		t.Error("tags changed, the vector did not")
	}
	attributes := nullable.NewNullableWithValue[map[string]any]
	w = must.Get(patch(notes.NotePatch{
		Importance: nullable.NewNullableWithValue(0.9), Category: nullable.NewNullableWithValue("Pets"),
		Attributes: attributes(map[string]any{"a": map[string]any{"b": 1, "c": 2}}),
		OccurredAt: nullable.NewNullableWithValue(time.Date(2019, 12, 31, 22, 0, 0, 0, time.UTC)),
	}, nil))(t)
	same, _ := d.read(c, n.ID)
	if !slices.Equal(same.Vector, after.Vector) {
		t.Error("nothing that is embedded changed, the vector did")
	}
	tag := tagged(w.Note.Version().ETag())
	w = must.Get(patch(notes.NotePatch{
		Attributes: attributes(map[string]any{"a": map[string]any{"b": nil, "d": 3}}),
		Importance: nullable.NewNullNullable[float64](), Category: nullable.NewNullNullable[string](),
		OccurredAt: nullable.NewNullNullable[time.Time](), Tags: nullable.NewNullNullable[[]string](),
	}, tag))(t)
	got, _ := d.read(c, n.ID)
	raw := must.Get(json.Marshal(got.Attributes))(t)
	if string(raw) != `{"a":{"c":2,"d":3}}` || got.Importance != 0.5 || got.Category != memory.DefaultCategory || len(got.Tags) != 0 || !got.OccurredAt.Equal(got.CreatedAt) {
		t.Errorf("got %s %+v", raw, got)
	}
	less := notes.NotePatch{Importance: nullable.NewNullableWithValue(0.1)}
	_, err := patch(less, tag)
	d.is(err, fault.Precondition)
	must.Get(patch(less, tagged(w.Note.Version().ETag())))(t)
	head := d.view(c).At
	w = must.Get(patch(less, nil))(t)
	if w.Changed || w.Revision != head || d.view(c).At != head {
		t.Error("an equal patch wrote a version")
	}
	for field, p := range map[string]notes.NotePatch{
		"content":     {Content: new("")},
		"tags.1":      {Tags: nullable.NewNullableWithValue([]string{"a", strings.Repeat("x", 300)})},
		"importance":  {Importance: nullable.NewNullableWithValue(2.0)},
		"attributes":  {Attributes: attributes(map[string]any{"x": strings.Repeat("x", 16<<10)})},
		"occurred_at": {OccurredAt: nullable.NewNullableWithValue(d.now.Add(24 * time.Hour))},
	} {
		_, err := patch(p, nil)
		d.is(err, fault.Invalid, field)
	}
	_, err = d.notes.Patch(t.Context(), d.all, c.ID.String(), uuid.New(), notes.NotePatch{}, memory.Request{})
	d.is(err, fault.NotFound)
}

// A change of content runs analysis again; what the caller supplied stays.
func TestPatchContentRunsAnalysisAgain(t *testing.T) {
	t.Parallel()
	d := open(t)
	v := must.Get(d.collections.Create(t.Context(), d.all, notes.CollectionInput{Name: "things"}, memory.Request{}))(t)
	w := must.Get(d.notes.Add(t.Context(), d.all, "things", notes.NewNote{Content: "about cats", Tags: []string{"mine"}}, memory.Request{}))(t)
	// The policy has described the note.
	must.Get(d.store.Write(t.Context(), d.all, v.Collection.ID, memory.WriteOptions{Cause: memory.CauseAnalyze}, describe(w.Note.ID)))(t)
	out := must.Get(d.notes.Patch(t.Context(), d.all, "things", w.Note.ID, notes.NotePatch{Content: new("about dogs")}, memory.Request{}))(t)
	n := out.Note
	if out.Job == nil || out.Job.ID == w.Job.ID || n.State != memory.StateRaw || len(n.Keywords) != 0 || n.Context != "" || n.Analyst != "" || !slices.Equal(n.Tags, []string{"mine"}) {
		t.Errorf("got %+v, job %v", n, out.Job)
	}
	out = must.Get(d.notes.Patch(t.Context(), d.all, "things", w.Note.ID, notes.NotePatch{Importance: nullable.NewNullableWithValue(0.1)}, memory.Request{}))(t)
	if out.Job != nil {
		t.Error("a job for a change that needs none")
	}
}

// C058: a deleted note is not in lists and links; a second delete is NotFound. C077: any earlier
// version can be restored, also of a deleted note.
func TestDeleteAndRestore(t *testing.T) {
	t.Parallel()
	d := open(t)
	c := d.collection("things")
	ref := c.ID.String()
	a, b := d.add(c, "first words"), d.add(c, "second words")
	must.Get(d.notes.PutLinks(t.Context(), d.all, ref, a.ID, []notes.LinkInput{{Target: b.ID}}, memory.Request{}))(t)
	must.Get(d.notes.Patch(t.Context(), d.all, ref, b.ID, notes.NotePatch{Content: new("other words")}, memory.Request{}))(t)
	_, err := d.notes.Delete(t.Context(), d.all, ref, b.ID, memory.Request{Guard: tagged(b.Version().ETag())})
	d.is(err, fault.Precondition)
	must.Get(d.notes.Delete(t.Context(), d.all, ref, b.ID, memory.Request{}))(t)
	_, err = d.notes.Delete(t.Context(), d.all, ref, b.ID, memory.Request{})
	d.is(err, fault.NotFound)
	set := must.Get(d.notes.LinksIn(t.Context(), d.all, d.view(c), a.ID, memory.Outgoing))(t)
	if len(set.Links) != 0 {
		t.Error("the link to a deleted note is still there")
	}
	jobs := d.woken.Load()
	w := must.Get(d.notes.Restore(t.Context(), d.all, ref, b.ID, b.From, memory.Request{}))(t)
	back, ok := d.read(c, b.ID)
	if !ok || back.Content != "second words" || len(back.Vector) != 384 || w.Job != nil || d.woken.Load() != jobs {
		t.Errorf("restored %+v", back)
	}
	set = must.Get(d.notes.LinksIn(t.Context(), d.all, d.view(c), b.ID, memory.Incoming))(t)
	if len(set.Links) != 1 {
		t.Error("the link did not come back with its end")
	}
	for rev, code := range map[memory.Revision]fault.Code{5: fault.Invalid, 3: fault.Invalid, 0: fault.Invalid, 99: fault.Invalid} {
		_, err := d.notes.Restore(t.Context(), d.all, ref, b.ID, rev, memory.Request{})
		d.is(err, code, "revision") // 5 is the tombstone; no version begins at 3
	}
	_, err = d.notes.Restore(t.Context(), d.all, ref, uuid.New(), 99, memory.Request{})
	d.is(err, fault.NotFound)
}

// C031: links are a list, also for notes without links.
func TestLinksAreAList(t *testing.T) {
	t.Parallel()
	d := open(t)
	c, other := d.collection("things"), d.collection("others")
	ref := c.ID.String()
	a, b, x := d.add(c, "a"), d.add(c, "b"), d.add(c, "x")
	foreign, gone := d.add(other, "foreign"), d.add(c, "gone")
	must.Get(d.notes.Delete(t.Context(), d.all, ref, gone.ID, memory.Request{}))(t)
	put := func(g memory.Guard, links ...notes.LinkInput) (notes.LinkSet, error) {
		return d.notes.PutLinks(t.Context(), d.all, ref, a.ID, links, memory.Request{Guard: g})
	}
	empty := must.Get(d.notes.LinksIn(t.Context(), d.all, d.view(c), a.ID, memory.Outgoing))(t)
	set := must.Get(put(tagged(empty.ETag), notes.LinkInput{Target: b.ID}, notes.LinkInput{Target: x.ID, Relation: "contradicts", Confidence: new(0.4)}))(t)
	if len(set.Links) != 2 || set.ETag == empty.ETag || set.Links[0].Confidence+set.Links[1].Confidence != 1.4 {
		t.Errorf("got %+v", set)
	}
	_, err := put(tagged(empty.ETag))
	d.is(err, fault.Precondition)
	note, _ := d.read(c, a.ID)
	if note.Version() != a.Version() {
		t.Error("links moved the note's tag")
	}
	same := must.Get(put(nil, notes.LinkInput{Target: x.ID, Relation: "contradicts", Confidence: new(0.4)}, notes.LinkInput{Target: b.ID}))(t)
	if same.ETag != set.ETag || same.Revision != set.Revision {
		t.Error("the same links again wrote something")
	}
	for name, l := range map[string]notes.LinkInput{
		"self": {Target: a.ID}, "foreign": {Target: foreign.ID}, "deleted": {Target: gone.ID}, "absent": {Target: uuid.New()}, "none": {},
	} {
		_, err := put(nil, l)
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = put(nil, notes.LinkInput{Target: b.ID}, notes.LinkInput{Target: b.ID, Relation: "related"})
	d.is(err, fault.Invalid, "links.1.target")
	_, err = put(nil, notes.LinkInput{Target: b.ID, Confidence: new(1.5)})
	d.is(err, fault.Invalid, "links.0.confidence")
	if now, err := d.notes.LinksIn(t.Context(), d.all, d.view(c), a.ID, memory.Both); err != nil || now.ETag != set.ETag {
		t.Errorf("a refused put changed the links: %v", err)
	}
	_, err = d.notes.DeleteLinks(t.Context(), d.all, ref, a.ID, x.ID, "related", memory.Request{})
	d.is(err, fault.NotFound)
	must.Get(d.notes.DeleteLinks(t.Context(), d.all, ref, a.ID, x.ID, "", memory.Request{}))(t)
	set = must.Get(put(nil))(t)
	if len(set.Links) != 0 || set.ETag != empty.ETag {
		t.Errorf("links left: %+v", set)
	}
}

// crowded is a store for whose writer other tenants wait.
type crowded struct{ store.Store }

type crowdedTx struct{ memory.Tx }

func (crowdedTx) OthersWait() bool { return true }

func (c crowded) Write(ctx context.Context, s tenant.Scope, collection uuid.UUID, o memory.WriteOptions, fn func(context.Context, memory.Tx) error) (memory.Written, error) {
	return c.Store.Write(ctx, s, collection, o, func(ctx context.Context, tx memory.Tx) error { return fn(ctx, crowdedTx{tx}) })
}

// A bulk leaves the writer to other tenants that wait for it, after eight lines. Its results are the same.
func TestBulkBesideOthers(t *testing.T) {
	t.Parallel()
	d := open(t)
	c := d.collection("things")
	service := must.Get(notes.New(notes.Deps{Store: crowded{d.store}, Embedders: d.embedders}, notes.Config{}))(t)
	old := d.add(c, "line 19")
	lines := make([]notes.BulkLine, 20)
	for i := range lines {
		lines[i].Note = notes.NewNote{Content: fmt.Sprint("line ", i)}
	}
	lines[3].Err = fault.New(fault.Malformed, "not JSON")
	lines[17].Note.Content = "line 2" // a line of the same call is not looked for
	results := must.Get(service.AddMany(t.Context(), d.all, c.ID.String(), lines))(t)
	for i, r := range results {
		switch i {
		case 3:
			d.is(r.Err, fault.Malformed)
		case 19:
			if r.Err != nil || !r.Found || r.ID != old.ID {
				t.Errorf("got %+v, want the note that was there", r)
			}
		default:
			if r.Err != nil || !r.Created || r.Line != i+1 {
				t.Errorf("line %d: %+v", i+1, r)
			}
			if n, ok := d.read(c, r.ID); !ok || n.Content != lines[i].Note.Content {
				t.Errorf("line %d is the note %q", i+1, n.Content)
			}
		}
	}
	if at := d.view(c).At; at != old.From+3 {
		t.Errorf("19 lines made %d changesets, want 3", at-old.From)
	}
}

func TestAddMany(t *testing.T) {
	t.Parallel()
	d := open(t)
	c := d.collection("things")
	ref := c.ID.String()
	var lines []notes.BulkLine
	for i := range 1203 {
		lines = append(lines, notes.BulkLine{Note: notes.NewNote{Content: fmt.Sprintf("line %d", i), Key: fmt.Sprintf("k%d", i)}})
	}
	lines[7] = notes.BulkLine{Err: fault.New(fault.Malformed, "not JSON")}
	lines[8].Note.Content = " "
	lines[1100].Note.Key = "k3"                                     // taken, other content
	lines[1101].Note.Key, lines[1101].Note.Content = "k3", "line 3" // the same line again
	results := must.Get(d.notes.AddMany(t.Context(), d.all, ref, lines))(t)
	var last uuid.UUID
	for i, r := range results {
		if r.Line != i+1 {
			t.Fatalf("line %d stands at %d", r.Line, i+1)
		}
		switch i {
		case 7:
			d.is(r.Err, fault.Malformed)
		case 8:
			d.is(r.Err, fault.Invalid, "content")
		case 1100:
			d.is(r.Err, fault.Exists, "key")
		case 1101:
			if r.Err != nil || r.Created || r.ID != results[3].ID || r.Revision != results[3].Revision {
				t.Errorf("got %+v", r)
			}
		default:
			if r.Err != nil || !r.Created || strings.Compare(last.String(), r.ID.String()) >= 0 {
				t.Fatalf("line %d: %+v after %s", i+1, r, last)
			}
			last = r.ID
		}
	}
	if at := d.view(c).At; at != 3 {
		t.Errorf("1,199 lines made %d changesets", at)
	}
	again := must.Get(d.notes.AddMany(t.Context(), d.all, ref, lines[:5]))(t)
	for i, r := range again {
		if r.Err != nil || r.Created || r.ID != results[i].ID {
			t.Errorf("sent again: %+v", r)
		}
	}
	if at := d.view(c).At; at != 3 {
		t.Error("sending again wrote")
	}
	_, err := d.notes.AddMany(t.Context(), d.all, ref, make([]notes.BulkLine, memory.MaxBulkLines+1))
	d.is(err, fault.TooLarge, "lines")
	n, _ := d.read(c, results[900].ID)
	if len(n.Vector) != 384 {
		t.Error("a bulk line has no vector")
	}
}
