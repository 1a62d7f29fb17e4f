package notes_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/oapi-codegen/nullable"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

func TestCreateCollectionRefuses(t *testing.T) {
	t.Parallel()
	d := open(t)
	for name, in := range map[string]struct {
		in    notes.CollectionInput
		field string
	}{
		"no name":    {notes.CollectionInput{}, "name"},
		"letters":    {notes.CollectionInput{Name: "Things"}, "name"},
		"long":       {notes.CollectionInput{Name: strings.Repeat("x", 129)}, "name"},
		"uuid":       {notes.CollectionInput{Name: uuid.NewString()}, "name"},
		"bare uuid":  {notes.CollectionInput{Name: strings.ReplaceAll(uuid.NewString(), "-", "")}, "name"},
		"policy":     {notes.CollectionInput{Name: "x", Policy: "mem9"}, "policy"},
		"embedder":   {notes.CollectionInput{Name: "x", Embedder: "bert"}, "embedder"},
		"config":     {notes.CollectionInput{Name: "x", PolicyConfig: json.RawMessage(`{"colour":1}`)}, "policy_config.colour"},
		"not object": {notes.CollectionInput{Name: "x", PolicyConfig: json.RawMessage(`[1]`)}, "policy_config"},
		"ttl":        {notes.CollectionInput{Name: "x", TTLSeconds: new(int64(0))}, "ttl_seconds"},
		"ttl large":  {notes.CollectionInput{Name: "x", TTLSeconds: new(int64(1) << 40)}, "ttl_seconds"},
		"display":    {notes.CollectionInput{Name: "x", DisplayName: strings.Repeat("x", 257)}, "display_name"},
		"metadata":   {notes.CollectionInput{Name: "x", Metadata: map[string]any{"a": strings.Repeat("x", 20<<10)}}, "metadata"},
		"agent":      {notes.CollectionInput{Name: "x", Agent: "No One"}, "agent"},
	} {
		_, err := d.collections.Create(t.Context(), d.all, in.in, memory.Request{})
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		d.is(err, fault.Invalid, in.field)
	}
	_, err := d.collections.Create(t.Context(), d.all, notes.CollectionInput{Name: "x", Policy: "mem9"}, memory.Request{})
	if err == nil || !strings.Contains(err.Error(), "amem, layered, mem0, mem0g, memgpt, memorybank, memoryos, none") {
		t.Errorf("the error does not list the policies: %v", err)
	}
	_, err = d.collections.Create(t.Context(), d.all, notes.CollectionInput{Name: "x", Agent: uuid.NewString()}, memory.Request{})
	d.is(err, fault.NotFound)
	page, _, err := d.collections.List(t.Context(), d.all, notes.CollectionList{})
	d.must(err)
	if len(page) != 0 {
		t.Error("something was made")
	}
}

// C063, C319, C075: an existing name requires extend, which keeps the recorded embedder and refuses
// another.
func TestExistingNameNeedsExtend(t *testing.T) {
	t.Parallel()
	d := open(t)
	create := func(in notes.CollectionInput) (notes.CollectionView, error) {
		return d.collections.Create(t.Context(), d.all, in, memory.Request{})
	}
	made := must.Get(create(notes.CollectionInput{Name: "things", Embedder: "slow-3", Policy: memory.PolicyNone}))(t)
	d.add(made.Collection, "there before")
	_, err := create(notes.CollectionInput{Name: "things"})
	d.is(err, fault.Exists)
	opened := must.Get(create(notes.CollectionInput{Name: "things", Extend: true}))(t)
	if !opened.Opened || opened.Collection.ID != made.Collection.ID || opened.Collection.Embedder != "slow-3" || opened.Collection.Dim != 3 || opened.Counts.Notes != 1 {
		t.Errorf("opened %+v", opened)
	}
	_, err = create(notes.CollectionInput{Name: "things", Extend: true, Embedder: d.embedders.hash.Name()})
	d.is(err, fault.Conflict, "embedder")
	_, err = create(notes.CollectionInput{Name: "things", Extend: true, Policy: "amem"})
	d.is(err, fault.Conflict, "policy")
	d.add(opened.Collection, "appended")
	fresh := must.Get(create(notes.CollectionInput{Name: "new", Extend: true}))(t)
	if fresh.Opened || fresh.Collection.Embedder != d.embedders.hash.Name() || fresh.Collection.Policy != memory.PolicyAMEM {
		t.Errorf("made %+v", fresh)
	}
	// An agent's collection is not the shared one of that name.
	ada := must.Get(create(notes.CollectionInput{Name: "things", Agent: "ada", Extend: true}))(t)
	if ada.Opened || ada.Collection.AgentName != "ada" {
		t.Errorf("opened %+v", ada)
	}
}

// C064, C069: agents may use the same name, and share a base.
func TestCollectionsByAgent(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := must.Get(d.store.EnsureAgent(t.Context(), d.all, "ada"))(t)
	as := d.scope(ada.ID, tenant.AllPermissions()...)
	own := must.Get(d.collections.Create(t.Context(), as, notes.CollectionInput{Name: "things"}, memory.Request{}))(t)
	if own.Collection.Agent != ada.ID {
		t.Error("a collection without agent is not the caller's")
	}
	base := d.collection("base")
	d.add(base, "for everyone")
	_, err := d.collections.Create(t.Context(), as, notes.CollectionInput{Name: "x", Agent: "eve"}, memory.Request{})
	if code := fault.CodeOf(err); code != fault.NotFound && code != fault.Forbidden {
		t.Errorf("an agent made a collection for another: %v", err)
	}
	got := must.Get(d.collections.Get(t.Context(), as, "base"))(t)
	if got.Counts.Notes != 1 || got.Counts.Kinds[memory.KindNote] != 1 || len(got.Lineage) != 1 {
		t.Errorf("base is %+v", got)
	}
	d.collection("things") // shared, same name
	_, err = d.collections.Get(t.Context(), d.all, "things")
	d.is(err, fault.Ambiguous)
	mine := must.Get(d.collections.Get(t.Context(), as, "things"))(t)
	if mine.Collection.ID != own.Collection.ID {
		t.Error("the agent's own does not come first")
	}
	var names []string
	for after := ""; ; {
		page, next, err := d.collections.List(t.Context(), d.all, notes.CollectionList{After: after, Limit: 1})
		d.must(err)
		for _, v := range page {
			names = append(names, v.Collection.Name+"/"+v.Collection.AgentName)
		}
		if after = next; next == "" {
			break
		}
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"base/", "things/", "things/ada"}) {
		t.Errorf("listed %v", names)
	}
	page, _, err := d.collections.List(t.Context(), d.all, notes.CollectionList{Name: "things"})
	d.must(err)
	if len(page) != 2 {
		t.Errorf("%d by name", len(page))
	}
	page, _, err = d.collections.List(t.Context(), d.all, notes.CollectionList{Agent: "ada"})
	d.must(err)
	if len(page) != 1 {
		t.Errorf("%d by agent", len(page))
	}
	_, _, err = d.collections.List(t.Context(), d.all, notes.CollectionList{Agent: "nobody"})
	d.is(err, fault.NotFound)
	_, _, err = d.collections.List(t.Context(), d.all, notes.CollectionList{Limit: 201})
	d.is(err, fault.Invalid, "limit")
}

func TestPatchAndDeleteCollection(t *testing.T) {
	t.Parallel()
	d := open(t)
	made := must.Get(d.collections.Create(t.Context(), d.all, notes.CollectionInput{
		Name: "things", DisplayName: "Dinge", Metadata: map[string]any{"a": "1", "b": "2"}, TTLSeconds: new(int64(60)),
	}, memory.Request{}))(t)
	if !made.Collection.ExpiresAt.Equal(d.now.Add(time.Minute)) {
		t.Errorf("expires %s", made.Collection.ExpiresAt)
	}
	patch := func(p notes.CollectionPatch) (notes.CollectionView, error) {
		return d.collections.Patch(t.Context(), d.all, "things", p)
	}
	object := nullable.NewNullableWithValue[map[string]any]
	v := must.Get(patch(notes.CollectionPatch{
		DisplayName: nullable.NewNullableWithValue("物"), Metadata: object(map[string]any{"a": nil, "c": "3"}),
		TTLSeconds: nullable.NewNullNullable[int64](), Name: new("things"), Policy: new("amem"),
		PolicyConfig: object(map[string]any{"k_neighbours": 7}),
	}))(t)
	c := v.Collection
	if c.DisplayName != "物" || len(c.Metadata) != 2 || c.Metadata["c"] != "3" || !c.ExpiresAt.IsZero() || string(c.PolicyConfig) != `{"k_neighbours":7}` {
		t.Errorf("got %+v %s", c, c.PolicyConfig)
	}
	v = must.Get(patch(notes.CollectionPatch{
		DisplayName: nullable.NewNullNullable[string](), Metadata: nullable.NewNullNullable[map[string]any](),
		PolicyConfig: nullable.NewNullNullable[map[string]any](), TTLSeconds: nullable.NewNullableWithValue(int64(10)),
	}))(t)
	if c := v.Collection; c.DisplayName != "" || len(c.Metadata) != 0 || len(c.PolicyConfig) != 0 || !c.ExpiresAt.Equal(d.now.Add(10*time.Second)) {
		t.Errorf("got %+v", c)
	}
	for field, p := range map[string]notes.CollectionPatch{
		"name": {Name: new("other")}, "policy": {Policy: new("none")}, "ttl_seconds": {TTLSeconds: nullable.NewNullableWithValue(int64(0))},
		"policy_config.hat": {PolicyConfig: object(map[string]any{"hat": 1})}, "display_name": {DisplayName: nullable.NewNullableWithValue("")},
	} {
		_, err := patch(p)
		d.is(err, fault.Invalid, field)
	}
	must.Get(d.collections.Delete(t.Context(), d.all, "things", false))(t)
	_, err := d.collections.Get(t.Context(), d.all, c.ID.String())
	d.is(err, fault.NotFound)
	_, err = d.collections.Delete(t.Context(), d.all, c.ID.String(), false)
	d.is(err, fault.NotFound)
	d.collection("things") // the name is free
	if d.woken.Load() == 0 {
		t.Error("nobody was told of the job that removes")
	}
}

// C061, C323: a collection with a time to live is deleted when it ends.
func TestExpiredCollectionIsNotFound(t *testing.T) {
	t.Parallel()
	d := open(t)
	must.Get(d.collections.Create(t.Context(), d.all, notes.CollectionInput{Name: "brief", TTLSeconds: new(int64(60)), Ephemeral: true}, memory.Request{}))(t)
	d.now = d.now.Add(61 * time.Second)
	_, err := d.collections.Get(t.Context(), d.all, "brief")
	d.is(err, fault.NotFound)
	d.collection("brief")
}

// TestPatchConfigIsVersioned: a change of a policy's settings gets a revision, and the audit trail
// has both values.
func TestPatchConfigIsVersioned(t *testing.T) {
	t.Parallel()
	d := open(t)
	c := must.Get(d.collections.Create(t.Context(), d.all, notes.CollectionInput{Name: "c"}, memory.Request{}))(t)
	patch := notes.CollectionPatch{PolicyConfig: nullable.NewNullableWithValue(map[string]any{"max_links": 1})}
	changed := must.Get(d.collections.Patch(t.Context(), d.all, "c", patch))(t)
	if changed.Collection.Head != c.Collection.Head+1 {
		t.Errorf("the head went from %d to %d, want one on", c.Collection.Head, changed.Collection.Head)
	}
	again := must.Get(d.collections.Patch(t.Context(), d.all, "c", patch))(t)
	if again.Collection.Head != changed.Collection.Head {
		t.Error("the same settings again are a change")
	}
	trail := must.Get(d.store.ListAudit(t.Context(), d.all, memory.AuditQuery{Action: "collection.update", Limit: 10}))(t)
	raw := must.Get(json.Marshal(trail[len(trail)-1].Detail))(t)
	if string(raw) != `{"policy_config":{"after":{"max_links":1},"before":null}}` {
		t.Errorf("the audit row says %s", raw)
	}
}
