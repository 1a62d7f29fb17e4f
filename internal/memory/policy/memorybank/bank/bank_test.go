package bank_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memorybank/bank"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

// TestRoundTrip: an export equals the imported document, for a bank with only dialogues and for one
// that is summarized and partly forgotten (C102). Names may be in any script (C328).
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	v := open(t)
	for file, name := range map[string]string{"fresh.json": "Nora", "faded.json": "林晓"} {
		c := v.collection(strings.TrimSuffix(file, ".json"))
		doc := sample(t, file)
		r := v.imports(c.Name, doc)
		if r.Name != name || r.Known != 0 || len(r.Skipped) != 0 || r.Days != 2 {
			t.Errorf("%s: %+v", file, r)
		}
		want := decoded(t, doc)
		if file == "faded.json" {
			want = want.(map[string]any)[" 林晓 "]
		}
		if diff := cmp.Diff(want, v.exports(c.Name)); diff != "" {
			t.Errorf("%s (-in +out):\n%s", file, diff)
		}
		shown := must.Get(v.collections.Get(t.Context(), v.s, c.Name))(t)
		if shown.Collection.DisplayName != name {
			t.Errorf("%s is shown as %q", file, shown.Collection.DisplayName)
		}
		// The export can be imported into another collection.
		raw := must.Get(v.bank.Export(t.Context(), v.s, c.Name))(t)
		again := v.collection("again-" + c.Name)
		v.imports(again.Name, raw)
		if diff := cmp.Diff(want, v.exports(again.Name)); diff != "" {
			t.Errorf("%s the second time (-in +out):\n%s", file, diff)
		}
	}
}

// TestImport: turns are in order with their times, grouped by day (C092), and all four layers exist
// (C093).
func TestImport(t *testing.T) {
	t.Parallel()
	v := open(t)
	c := v.collection("faded")
	r := v.imports("faded", sample(t, "faded.json"))
	if r.Messages != 7 || r.Summaries != 3 || r.Profiles != 4 || r.Tasks != 0 || r.Revision != 1 {
		t.Errorf("report %+v", r)
	}
	messages := v.list("faded", memory.KindMessage)
	if len(messages) != 7 {
		t.Fatalf("%d messages", len(messages))
	}
	first := messages[0]
	at := time.Date(2023, 5, 1, 0, 0, 0, 0, time.UTC)
	if !first.OccurredAt.Equal(at) || first.Attributes[memory.AttrRole] != "user" || first.Attributes[memory.AttrName] != "林晓" || first.State != memory.StateEvolved {
		t.Errorf("first message %+v", first)
	}
	turns := map[any]int{}
	for i, m := range messages {
		turns[m.Attributes[memory.AttrTurn]]++
		if i > 0 && !m.OccurredAt.After(messages[i-1].OccurredAt) {
			t.Errorf("message %d is not later than the one before", i)
		}
	}
	if len(turns) != 4 || turns[first.Attributes[memory.AttrTurn]] != 2 {
		t.Errorf("turns %v", turns)
	}
	u := v.usage("faded", first.ID)
	if u.Strength != 2 || u.AccessCount != 0 || !u.LastAccess.Equal(time.Date(2023, 5, 4, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("usage of a turn %+v", u)
	}
	sum := v.byKey("faded", memory.KindSummary, "day/2023-05-01")
	if u := v.usage("faded", sum.ID); u.Strength != 3 || !u.LastAccess.Equal(time.Date(2023, 5, 6, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("usage of a summary %+v", u)
	}
	ids := []uuid.UUID{messages[0].ID, messages[1].ID, messages[2].ID, messages[3].ID}
	if !slices.Equal(sum.Provenance.Sources, ids) || sum.Attributes["date"] != "2023-05-01" || sum.Attributes["period"] != "day" {
		t.Errorf("summary %+v", sum)
	}
	if n := v.byKey("faded", memory.KindProfile, "meta"); n.Content != "name: 林晓; hobbies: 园艺，小说" || n.Attributes["hobbies"] != "园艺，小说" {
		t.Errorf("meta %+v", n)
	}
	v.byKey("faded", memory.KindProfile, "day/2023-05-02")
	v.byKey("faded", memory.KindProfile, "overall")
	v.byKey("faded", memory.KindSummary, "overall")
	if tasks := v.tasks(c); len(tasks) != 0 {
		t.Errorf("a bank that is summed up is summed up again: %+v", tasks)
	}
}

// TestImportTwice: a second import writes nothing, also if turns were forgotten elsewhere since and
// the others have new positions.
func TestImportTwice(t *testing.T) {
	t.Parallel()
	v := open(t)
	c := v.collection("nora")
	doc := sample(t, "fresh.json")
	v.imports("nora", doc)
	if got, want := v.tasks(c), 2; len(got) != want {
		t.Errorf("tasks %+v", got)
	}
	before := v.exports("nora")
	r := v.imports("nora", doc)
	if r.Messages+r.Summaries+r.Profiles+r.Tasks != 0 || r.Known != 11 || len(r.Skipped) != 0 {
		t.Errorf("the second time %+v", r)
	}
	var less map[string]any
	v.must(json.Unmarshal(doc, &less))
	history := less["history"].(map[string]any)
	history["2023-05-01"] = history["2023-05-01"].([]any)[1:]
	delete(less, "meta_information")
	raw := must.Get(json.Marshal(less))(t)
	r = v.imports("nora", raw)
	if r.Messages+r.Tasks != 0 {
		t.Errorf("a forgotten bank %+v", r)
	}
	if diff := cmp.Diff(before, v.exports("nora")); diff != "" {
		t.Errorf("changed (-before +after):\n%s", diff)
	}
	if got := v.tasks(c); len(got) != 2 {
		t.Errorf("tasks %+v", got)
	}
}

// TestImportStartsDays: only days without a summary are summarized, and only if the collection's
// policy does so.
func TestImportStartsDays(t *testing.T) {
	t.Parallel()
	v := open(t)
	c := v.collection("half")
	r := v.imports("half", []byte(`{"name":"Nora","history":{"2023-05-01":[["a","b"]],"2023-05-02":[["c","d"]],"2023-05-03":[["e","f"]]},
		"summary":{"2023-05-01":"x","2023-05-03":"y"},"personality":{"2023-05-01":"z"}}`))
	want := []memory.Task{{Name: "day", Key: "2023-05-03"}, {Name: "day", Key: "2023-05-02"}}
	if got := v.tasks(c); r.Tasks != 2 || !cmp.Equal(got, want) {
		t.Errorf("tasks %+v, report %+v", got, r)
	}
	c = v.collection("whole")
	v.imports("whole", []byte(`{"name":"Nora","history":{"2023-05-01":[["a","b"]]},"summary":{"2023-05-01":"x"},"personality":{"2023-05-01":"z"}}`))
	if got := v.tasks(c); !cmp.Equal(got, []memory.Task{{Name: "overall"}}) {
		t.Errorf("tasks %+v", got)
	}
	made := must.Get(v.collections.Create(t.Context(), v.s, notes.CollectionInput{Name: "plain", Policy: "none"}, memory.Request{}))(t)
	v.imports("plain", sample(t, "fresh.json"))
	if got := v.tasks(made.Collection); len(got) != 0 {
		t.Errorf("tasks %+v", got)
	}
}

// TestExportTellsOfRecall: the export has the strength and date of notes that were recalled here
// (C109), and the messages that were added here.
func TestExportTellsOfRecall(t *testing.T) {
	t.Parallel()
	v := open(t)
	v.collection("nora")
	v.imports("nora", sample(t, "fresh.json"))
	must.Get(v.recall.Search(t.Context(), v.s, v.view("nora"), recall.Query{Text: "reading a novel about lighthouse keepers", K: 1}))(t)
	v.must(v.recall.Flush(t.Context()))
	at := time.Date(2023, 5, 4, 8, 0, 0, 0, time.UTC)
	must.Get(v.notes.AddMessages(t.Context(), v.s, "nora", notes.NewMessages{Messages: []notes.NewMessage{
		{Role: memory.RoleSystem, Content: "Be kind.", OccurredAt: &at},
		{Role: memory.RoleUser, Content: "The novel is over.", OccurredAt: &at},
		{Role: memory.RoleAssistant, Content: "How did it end?", OccurredAt: &at},
	}}, memory.Request{}))(t)
	history := v.exports("nora").(map[string]any)["history"].(map[string]any)
	want := map[string]any{
		"query": "I am reading a novel about lighthouse keepers.", "response": "What do you like about it?",
		"memory_strength": 2.0, "last_recall_date": "2023-06-01",
	}
	if got := history["2023-05-03"].([]any)[0]; !cmp.Equal(got, want) {
		t.Errorf("recalled: %v", got)
	}
	fresh := []any{map[string]any{"query": "The novel is over.", "response": "How did it end?"}}
	if got := history["2023-05-04"]; !cmp.Equal(got, any(fresh)) {
		t.Errorf("said here: %v", got)
	}
}

// TestExportOfOwn: a bank that was built here has every member of the format.
func TestExportOfOwn(t *testing.T) {
	t.Parallel()
	v := open(t)
	c := v.collection("own")
	if got := v.exports("own"); !cmp.Equal(got, decoded(t, []byte(`{"name":"own","history":{},"summary":{},"personality":{},"overall_history":"","overall_personality":"","meta_information":{}}`))) {
		t.Errorf("empty: %v", got)
	}
	must.Get(v.store.Write(t.Context(), v.s, c.ID, memory.WriteOptions{Cause: memory.CauseSummarize}, func(ctx context.Context, tx memory.Tx) error {
		for _, n := range []memory.Note{
			{Kind: memory.KindSummary, Key: "day/2023-05-01", Content: "A day.", Attributes: map[string]any{"period": "day", "events": []any{"It rained."}}},
			{Kind: memory.KindProfile, Key: "day/2023-05-01", Content: "Traits: kind.", Attributes: map[string]any{"period": "day"}},
			{Kind: memory.KindProfile, Key: "overall", Content: "Kind.", Attributes: map[string]any{"reply_strategy": "Be brief."}},
			{Kind: memory.KindSummary, Key: "overall", Content: "It rained once."},
		} {
			n.State, n.OccurredAt = memory.StateEvolved, v.Now()
			if _, err := tx.Put(ctx, n); err != nil {
				return err
			}
		}
		return nil
	}))(t)
	want := decoded(t, []byte(`{"name":"own","history":{},"summary":{"2023-05-01":{"content":"A day.","events":["It rained."]}},
		"personality":{"2023-05-01":"Traits: kind."},"overall_history":"It rained once.","overall_personality":"Kind. Reply strategy: Be brief.","meta_information":{}}`))
	if diff := cmp.Diff(want, v.exports("own")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestExportNamesThePerson: a bank is named after its speaker if nothing else names it (C115,
// C328).
func TestExportNamesThePerson(t *testing.T) {
	t.Parallel()
	v := open(t)
	v.collection("own")
	v.collection("nora")
	v.imports("nora", sample(t, "fresh.json"))
	given := v.exports("nora").(map[string]any)["name"]
	for ref, name := range map[string]string{"own": "小美", "nora": ""} {
		must.Get(v.notes.AddMessages(t.Context(), v.s, ref, notes.NewMessages{Messages: []notes.NewMessage{
			{Role: memory.RoleUser, Name: name, Content: "我养了一只猫。"},
			{Role: memory.RoleAssistant, Name: "Bot", Content: "恭喜！"},
			{Role: memory.RoleUser, Content: "她叫咪咪。"},
		}}, memory.Request{}))(t)
	}
	if got := v.exports("own").(map[string]any)["name"]; got != "小美" {
		t.Errorf("the person is named %v", got)
	}
	if got := v.exports("nora").(map[string]any)["name"]; got != given {
		t.Errorf("the imported name %v became %v", given, got)
	}
}

// TestBadDocuments: an invalid document is refused with the invalid places, and nothing of it is
// written.
func TestBadDocuments(t *testing.T) {
	t.Parallel()
	v := open(t)
	v.collection("c")
	turns := func(s string) string { return `{"name":"N","history":{"2023-04-27":[["a","b"],` + s + `]}}` }
	deep := strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)
	for _, r := range []struct {
		doc, place string
		code       fault.Code
	}{
		{`{"name":`, "", fault.Malformed},
		{"{\"name\":\"\xff\"}", "", fault.Malformed},
		{`[]`, "", fault.Invalid},
		{`null`, "", fault.Invalid},
		{`7`, "", fault.Invalid},
		{`{}`, "", fault.Invalid},
		{`{"Ann":{"name":"Ann"},"Bob":{"history":{}}}`, "", fault.Invalid},
		{`{"Ann":5}`, `["Ann"]`, fault.Invalid},
		{`{"Ann":{"age":5}}`, `["Ann"]`, fault.Invalid},
		{`{"name":" "}`, "name", fault.Invalid},
		{`{"name":"` + strings.Repeat("n", 300) + `"}`, "name", fault.Invalid},
		{`{"name":"N","history":[]}`, "history", fault.Invalid},
		{`{"name":"N","history":{"May":[]}}`, `history["May"]`, fault.Invalid},
		{`{"name":"N","history":{"2023-02-30":[]}}`, `history["2023-02-30"]`, fault.Invalid},
		{`{"name":"N","history":{"2023-06-03":[]}}`, `history["2023-06-03"]`, fault.Invalid},
		{`{"name":"N","history":{"1800-01-01":[]}}`, `history["1800-01-01"]`, fault.Invalid},
		{`{"name":"N","history":{"2023-04-27":{}}}`, `history["2023-04-27"]`, fault.Invalid},
		{turns(`5`), `history["2023-04-27"][1]`, fault.Invalid},
		{turns(`null`), `history["2023-04-27"][1]`, fault.Invalid},
		{turns(`["a"]`), `history["2023-04-27"][1]`, fault.Invalid},
		{turns(`["a",5]`), `history["2023-04-27"][1][1]`, fault.Invalid},
		{turns(`{"text":"x"}`), `history["2023-04-27"][1]`, fault.Invalid},
		{turns(`{"query":"a","response":["b"]}`), `history["2023-04-27"][1].response`, fault.Invalid},
		{turns(`{"query":"a\u0000"}`), `history["2023-04-27"][1].query`, fault.Invalid},
		{turns(`{"query":"` + strings.Repeat("x", 70_000) + `"}`), `history["2023-04-27"][1].query`, fault.Invalid},
		{turns(`{"query":"a","memory_strength":0}`), `history["2023-04-27"][1].memory_strength`, fault.Invalid},
		{turns(`{"query":"a","memory_strength":"2"}`), `history["2023-04-27"][1].memory_strength`, fault.Invalid},
		{turns(`{"query":"a","memory_strength":1e300}`), `history["2023-04-27"][1].memory_strength`, fault.Invalid},
		{turns(`{"query":"a","last_recall_date":"soon"}`), `history["2023-04-27"][1].last_recall_date`, fault.Invalid},
		{turns(`{"query":"a","last_recall_date":"2030-01-01"}`), `history["2023-04-27"][1].last_recall_date`, fault.Invalid},
		{turns(`{"query":"a","form":"x"}`), `history["2023-04-27"][1].form`, fault.Invalid},
		{turns(`{"query":"a","x":` + deep + `}`), `history["2023-04-27"][1].x`, fault.Invalid},
		{turns(`{"query":"a","x":"` + strings.Repeat("y", 9000) + `"}`), `history["2023-04-27"][1]`, fault.Invalid},
		{`{"name":"N","summary":{"2023-04-27":5}}`, `summary["2023-04-27"]`, fault.Invalid},
		{`{"name":"N","summary":{"2023-04-27":{"text":"x"}}}`, `summary["2023-04-27"]`, fault.Invalid},
		{`{"name":"N","summary":{"2023-04-27":{"content":{}}}}`, `summary["2023-04-27"].content`, fault.Invalid},
		{`{"name":"N","summary":{"2023-04-27":{"content":"x","events":[1]}}}`, `summary["2023-04-27"].events`, fault.Invalid},
		{`{"name":"N","personality":"kind"}`, "personality", fault.Invalid},
		{`{"name":"N","overall_history":{}}`, "overall_history", fault.Invalid},
		{`{"name":"N","overall_personality":["x"]}`, "overall_personality", fault.Invalid},
		{`{"name":"N","meta_information":"kind"}`, "meta_information", fault.Invalid},
		{`{"name":"N","meta_information":{"bank":1}}`, "meta_information.bank", fault.Invalid},
		{`{"name":"N","meta_information":{"x":"` + strings.Repeat("y", 5000) + `"}}`, "meta_information", fault.Invalid},
	} {
		_, err := v.bank.Import(t.Context(), v.s, "c", []byte(r.doc))
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != r.code {
			t.Errorf("%.80s: %v", r.doc, err)
			continue
		}
		if r.place == "" && len(f.Fields) != 0 || r.place != "" && (len(f.Fields) == 0 || !strings.HasPrefix(f.Fields[0].Field, r.place)) {
			t.Errorf("%.80s: fields %v, want %s", r.doc, f.Fields, r.place)
		}
	}
	if n := len(v.list("c", memory.KindMessage)) + len(v.list("c", memory.KindProfile)) + len(v.list("c", memory.KindSummary)); n != 0 {
		t.Errorf("%d notes were written", n)
	}
	_, err := v.bank.Import(t.Context(), v.s, "c", []byte(`{"Ann":{"name":"Ann"},"Bob":{"history":{}}}`))
	if err == nil || !strings.Contains(err.Error(), `"Ann", "Bob"`) {
		t.Errorf("the persons are not named: %v", err)
	}
}

// TestEmptyPartsAreSkippedAndReported: empty parts are skipped and reported.
func TestEmptyPartsAreSkippedAndReported(t *testing.T) {
	t.Parallel()
	v := open(t)
	v.collection("c")
	r := v.imports("c", []byte(`{"name":"N","history":{"2023-04-27":[["a","b"],[" ",""]],"2023-04-28":[]},"summary":{"2023-04-27":" "},"overall_history":null}`))
	want := []bank.Skipped{
		{Path: `history["2023-04-27"][1]`, Reason: "it is empty"},
		{Path: `summary["2023-04-27"]`, Reason: "it is empty"},
	}
	if !cmp.Equal(r.Skipped, want) || r.Messages != 2 {
		t.Errorf("report %+v", r)
	}
	v.imports("c", []byte(`{"name":"N","overall_history":"One."}`))
	r = v.imports("c", []byte(`{"name":"N","overall_history":"Another."}`))
	want = []bank.Skipped{{Path: "overall_history", Reason: "the collection has a different one"}}
	if !cmp.Equal(r.Skipped, want) || r.Summaries != 0 || v.byKey("c", memory.KindSummary, "overall").Content != "One." {
		t.Errorf("report %+v", r)
	}
}

// TestPermissions: an import requires notes:write, and base:write on a shared base; an export
// requires notes:read; neither reaches another tenant's collection.
func TestPermissions(t *testing.T) {
	t.Parallel()
	v := open(t)
	v.collection("c")
	for _, p := range [][]tenant.Permission{{tenant.NotesRead}, {tenant.NotesWrite}} {
		s := grant.Scope(v.tenant, uuid.Nil, "key:less", p...)
		if _, err := v.bank.Import(t.Context(), s, "c", sample(t, "fresh.json")); !fault.Is(err, fault.Forbidden) {
			t.Errorf("%v imports: %v", p, err)
		}
	}
	if _, err := v.bank.Export(t.Context(), grant.Scope(v.tenant, uuid.Nil, "key:less", tenant.NotesWrite), "c"); !fault.Is(err, fault.Forbidden) {
		t.Errorf("export: %v", err)
	}
	other := must.Get(v.store.CreateTenant(t.Context(), grant.Operator("test"), tenant.Tenant{Name: "other"}))(t)
	s := grant.Scope(other.ID, uuid.Nil, "key:other", tenant.AllPermissions()...)
	if _, err := v.bank.Import(t.Context(), s, "c", sample(t, "fresh.json")); !fault.Is(err, fault.NotFound) {
		t.Errorf("another tenant imports: %v", err)
	}
	if _, err := v.bank.Export(t.Context(), s, "c"); !fault.Is(err, fault.NotFound) {
		t.Errorf("another tenant exports: %v", err)
	}
}

// published reads the persons that MemoryBank publishes from the folder EVAL_DATA, or returns our
// own sample.
func published(t *testing.T) map[string]json.RawMessage {
	t.Helper()
	folder := os.Getenv("EVAL_DATA")
	if folder == "" {
		return map[string]json.RawMessage{"Nora": sample(t, "fresh.json")}
	}
	raw := must.Get(os.ReadFile(filepath.Join(folder, "memorybank_en.json")))(t)
	var all map[string]json.RawMessage
	must.Do(t, json.Unmarshal(raw, &all))
	return all
}

// TestPublishedMemoriesComeBackAsImported: every person's memory is exported as it was imported (C102), each from a
// collection of its own without the others' content (C114).
func TestPublishedMemoriesComeBackAsImported(t *testing.T) {
	t.Parallel()
	v := open(t)
	all := published(t)
	for i, name := range slices.Sorted(maps.Keys(all)) {
		c := v.collection(fmt.Sprintf("person-%d", i))
		one := must.Get(json.Marshal(map[string]json.RawMessage{name: all[name]}))(t)
		v.imports(c.Name, one)
	}
	for i, name := range slices.Sorted(maps.Keys(all)) {
		if diff := cmp.Diff(decoded(t, all[name]), v.exports(fmt.Sprintf("person-%d", i))); diff != "" {
			t.Errorf("%s (-in +out):\n%s", name, diff)
		}
	}
}
