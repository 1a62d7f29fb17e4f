package notes_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/test/must"
)

// C321: a store with the fields of the public A-MEM code is imported unchanged; importing it again
// changes nothing.
func TestImportPublicFields(t *testing.T) {
	t.Parallel()
	d := open(t)
	c := d.collection("things")
	ids := []uuid.UUID{uuid.New(), uuid.New(), uuid.New(), uuid.New()}
	raw := []string{
		// Links point to earlier and later notes, by id, by map and by position.
		fmt.Sprintf(`{"id":%q,"content":"2024","keywords":["year"],"links":[%q,%q],"retrieval_count":7,"timestamp":"202401020304",
			"last_accessed":"202402030405","context":"A year.","evolution_history":[{"trigger":"x","before":{"tags":[]}}],"category":"Time","tags":["t"]}`, ids[0], ids[1], ids[1]),
		fmt.Sprintf(`{"id":%q,"content":"second","keywords":[],"links":{%q:0.4,%q:"contradicts"},"retrieval_count":0,"timestamp":"202401020305",
			"last_accessed":"202401020305","context":"General","evolution_history":[],"category":"","tags":[]}`, ids[1], ids[0], ids[2]),
		fmt.Sprintf(`{"id":%q,"content":"third","links":[0,2],"timestamp":"202401020306","context":null}`, ids[2]),
		fmt.Sprintf(`{"id":%q,"content":"fourth","links":[{"target":%q,"relation":"r","confidence":0.5,"attributes":{"w":1}},%q],
			"usage":{"access_count":3,"strength":5.5},"created_at":"2020-01-01T00:00:00Z"}`, ids[3], ids[0], uuid.New()),
		`{"content":"no id","retrieval_count":3}`,
		`{"id":"` + ids[0].String() + `","content":"other words"}`,
		`not json`,
		`{"id":"` + uuid.NewString() + `","content":"x","links":["nobody"]}`,
		`{"id":"` + uuid.NewString() + `","content":"x","retrieval_count":-1}`,
		`{"id":"` + uuid.NewString() + `","content":"x","timestamp":"179901010000"}`,
	}
	var results []notes.ImportResult
	run := func() (warned []notes.ImportResult) {
		im := must.Get(d.notes.Importer(t.Context(), d.all, c.ID.String(), uuid.Nil))(t)
		results = nil
		for i := 0; i < len(raw); i += 3 { // links cross the borders of batches
			var lines []notes.ImportLine
			for j := i; j < min(i+3, len(raw)); j++ {
				lines = append(lines, notes.ImportLine{Line: j + 1, Raw: []byte(raw[j])})
			}
			got := must.Get(im.Lines(t.Context(), lines))(t)
			results = append(results, got...)
		}
		warned = must.Get(im.Finish(t.Context()))(t)
		return warned
	}
	warned := run()
	for i, r := range results[:4] {
		if r.Err != nil || !r.Created || r.ID != ids[i] || r.Line != i+1 {
			t.Errorf("line %d: %+v", i+1, r)
		}
	}
	d.is(results[4].Err, fault.Invalid, "id")
	d.is(results[5].Err, fault.Exists)
	d.is(results[6].Err, fault.Malformed)
	d.is(results[7].Err, fault.Invalid, "links.0")
	d.is(results[8].Err, fault.Invalid, "retrieval_count")
	d.is(results[9].Err, fault.Invalid, "occurred_at")
	if len(results[2].Warnings) != 1 || len(warned) != 1 || warned[0].Line != 4 || !strings.Contains(warned[0].Warnings[0], "no note") {
		t.Errorf("warnings: %+v, %+v", results[2], warned)
	}

	n, _ := d.read(c, ids[0])
	if n.Content != "2024" || n.Context != "A year." || n.Category != "Time" || !slices.Equal(n.Keywords, []string{"year"}) || !slices.Equal(n.Tags, []string{"t"}) ||
		!n.OccurredAt.Equal(time.Date(2024, 1, 2, 3, 4, 0, 0, time.UTC)) || !n.CreatedAt.Equal(n.OccurredAt) || n.State != memory.StateEvolved || len(n.Vector) != 384 {
		t.Errorf("got %+v", n)
	}
	history := must.Get(json.Marshal(n.Attributes[notes.AttributeHistory]))(t)
	if string(history) != `[{"before":{"tags":[]},"trigger":"x"}]` {
		t.Errorf("history is %s", history)
	}
	v := d.view(c)
	usage := must.Get(d.store.Usage(t.Context(), d.all, v, ids))(t)
	if u := usage[ids[0]]; u.AccessCount != 7 || !u.LastAccess.Equal(time.Date(2024, 2, 3, 4, 5, 0, 0, time.UTC)) {
		t.Errorf("usage is %+v", u)
	}
	if u := usage[ids[3]]; u.AccessCount != 3 || u.Strength != 2.5 || u.CurrentStrength() != 5.5 {
		t.Errorf("usage is %+v", u)
	}
	links := must.Get(d.store.Links(t.Context(), d.all, v, memory.LinkQuery{Notes: ids, Direction: memory.Outgoing}))(t)
	var got []string
	name := func(id uuid.UUID) int { return slices.Index(ids, id) }
	for _, l := range links {
		got = append(got, fmt.Sprintf("%d %s %d %.1f", name(l.Source), l.Relation, name(l.Target), l.Confidence))
	}
	slices.Sort(got)
	if want := []string{"0 related 1 1.0", "1 contradicts 2 1.0", "1 related 0 0.4", "2 related 0 1.0", "3 r 0 0.5"}; !slices.Equal(got, want) {
		t.Errorf("links are %v, want %v", got, want)
	}

	head := d.view(c).At
	run()
	if d.view(c).At != head {
		t.Error("a second import wrote something")
	}
	for i, r := range results[:4] {
		if r.Err != nil || r.Created || r.ID != ids[i] {
			t.Errorf("second time, line %d: %+v", i+1, r)
		}
	}
}

// Lines with a role are messages, and notes without an id are new: both run the policy, and importing them again adds nothing. A line
// that is refused fails alone.
func TestImportWhatIsNew(t *testing.T) {
	t.Parallel()
	d := open(t)
	v := must.Get(d.collections.Create(t.Context(), d.all, notes.CollectionInput{Name: "past", Policy: "amem"}, memory.Request{}))(t)
	raw := []string{
		`{"role":"user","name":"Ida","id":"chat:1","session":"s","content":"I live in Rome.","occurred_at":"2026-03-01T10:00:00+01:00","attributes":{"source":"chat"}}`,
		`{"role":"assistant","id":"chat:2","session":"s","content":"Since when?","occurred_at":"2026-03-01T09:00:05Z"}`,
		`{"role":"user","id":"chat:3","session":"s","content":" "}`,
		`{"role":"user","id":"chat:4","session":"s","content":"Since May.","occurred_at":"2099-01-01T00:00:00Z"}`,
		`{"content":"# Kiln","links":[6],"tags":["work"],"attributes":{"source":"a.md"}}`,
		`{"role":"user","id":"chat:1","session":"s","content":"I live in Paris."}`,
		`{"content":"# Glaze","infer":false}`,
	}
	run := func() []notes.ImportResult {
		im := must.Get(d.notes.Importer(t.Context(), d.all, v.Collection.ID.String(), uuid.Nil))(t)
		var lines []notes.ImportLine
		for i := range raw {
			lines = append(lines, notes.ImportLine{Line: i + 1, Raw: []byte(raw[i])})
		}
		results := must.Get(im.Lines(t.Context(), lines))(t)
		late := must.Get(im.Finish(t.Context()))(t)
		if len(late) > 0 {
			t.Errorf("late warnings: %+v", late)
		}
		return results
	}
	results := run()
	for _, i := range []int{0, 1, 4, 6} {
		if r := results[i]; r.Err != nil || !r.Created || r.ID == uuid.Nil {
			t.Errorf("line %d: %+v", i+1, r)
		}
	}
	d.is(results[2].Err, fault.Invalid, "content")
	d.is(results[3].Err, fault.Invalid, "occurred_at")
	d.is(results[5].Err, fault.Exists, "id")
	said, _ := d.read(v.Collection, results[0].ID)
	if said.Kind != memory.KindMessage || said.Key != "chat:1" || said.Attributes[memory.AttrName] != "Ida" || said.Attributes["source"] != "chat" ||
		said.OccurredAt.Format(time.RFC3339) != "2026-03-01T10:00:00+01:00" {
		t.Errorf("the message: %+v", said)
	}
	links := must.Get(d.store.Links(t.Context(), d.all, d.view(v.Collection), memory.LinkQuery{Notes: []uuid.UUID{results[4].ID}, Direction: memory.Outgoing}))(t)
	if len(links) != 1 || links[0].Target != results[6].ID {
		t.Errorf("links: %+v", links)
	}
	head := d.view(v.Collection).At
	for i, r := range run() {
		if r.Created {
			t.Errorf("line %d was added again", i+1)
		}
	}
	if at := d.view(v.Collection).At; at != head {
		t.Errorf("a second import wrote: %d, then %d", head, at)
	}
}

// A message that an import has twice is there once, and is said to be there.
func TestImportSaysWhatItKnows(t *testing.T) {
	t.Parallel()
	d := open(t)
	v := must.Get(d.collections.Create(t.Context(), d.all, notes.CollectionInput{Name: "past", Policy: "amem"}, memory.Request{}))(t)
	im := must.Get(d.notes.Importer(t.Context(), d.all, v.Collection.ID.String(), uuid.Nil))(t)
	said := []byte(`{"role":"user","id":"chat:1","content":"I live in Rome.","occurred_at":"2026-03-01T10:00:00Z"}`)
	results := must.Get(im.Lines(t.Context(), []notes.ImportLine{{Line: 1, Raw: said}, {Line: 2, Raw: said}}))(t)
	if !results[0].Created || results[1].Created || results[0].ID != results[1].ID {
		t.Errorf("%+v", results)
	}
}
