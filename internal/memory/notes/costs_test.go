package notes_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

// C244: calls and tokens are counted by purpose, per add and per answer.
func TestCostsAreCountedByPurpose(t *testing.T) {
	t.Parallel()
	d := openTalk(t)
	costs := notes.NewCosts(d.store)
	c, other := d.create("talk", "talks", ""), d.create("other", "talks", "")
	today := d.now.Truncate(24 * time.Hour)
	of := func(first, last time.Time) notes.CollectionCosts {
		t.Helper()
		got := must.Get(costs.Of(t.Context(), d.all, "talk", first, last))(t)
		return got
	}
	if got := of(today, today); got.Adds != 0 || got.PerAdd != (notes.Cost{}) || len(got.Purposes) != 0 {
		t.Errorf("before anything: %+v", got)
	}
	d.say(c, user("a"), assistant("b"), user("c"))
	d.say(c, user("d"))
	d.say(other, user("e"))
	must.Get(d.notes.Patch(t.Context(), d.all, "talk", d.add(c, "f").ID, notes.NotePatch{Content: new("g")}, memory.Request{}))(t)
	must.Get(d.notes.Add(t.Context(), d.all, "talk", notes.NewNote{Content: "h"}, memory.Request{}))(t)
	day := func(n int) string { return today.AddDate(0, 0, n).Format(time.DateOnly) }
	d.must(d.store.AddModelUse(t.Context(), d.all, []memory.ModelUse{
		{Collection: c.ID, Purpose: "extract", Day: day(0), Calls: 2, PromptTokens: 100, CompletionTokens: 20},
		{Collection: c.ID, Purpose: "decide", Day: day(0), Calls: 6, PromptTokens: 60, CompletionTokens: 12},
		{Collection: c.ID, Purpose: "extract", Day: day(-1), Calls: 1, PromptTokens: 1, CompletionTokens: 1},
		{Collection: c.ID, Purpose: notes.PurposeChat, Day: day(0), Calls: 2, PromptTokens: 900, CompletionTokens: 90},
		{Collection: c.ID, Purpose: notes.PurposeRelevance, Day: day(0), Calls: 1, PromptTokens: 100, CompletionTokens: 10},
		{Collection: other.ID, Purpose: "extract", Day: day(0), Calls: 50, PromptTokens: 50, CompletionTokens: 50},
		{Purpose: "embed", Day: day(0), Calls: 7, PromptTokens: 7},
	}))
	got := of(today, today)
	if got.Adds != 4 || got.Answers != 2 || got.PerAdd != (notes.Cost{Calls: 2, PromptTokens: 40, CompletionTokens: 8}) ||
		got.PerAnswer != (notes.Cost{Calls: 1.5, PromptTokens: 500, CompletionTokens: 50}) {
		t.Errorf("got %+v", got)
	}
	var purposes []string
	for _, p := range got.Purposes {
		purposes = append(purposes, p.Purpose)
	}
	if !slices.Equal(purposes, []string{"chat", "decide", "extract", "relevance"}) || got.Purposes[2].Calls != 2 {
		t.Errorf("purposes are %+v", got.Purposes)
	}
	got = of(today.AddDate(0, 0, -1), today)
	if got.Purposes[2].Calls != 3 || got.Adds != 4 {
		t.Errorf("of two days: %+v", got)
	}
	if want := []notes.DayCost{
		{ModelUse: memory.ModelUse{Day: day(-1), Calls: 1, PromptTokens: 1, CompletionTokens: 1}},
		{ModelUse: memory.ModelUse{Day: day(0), Calls: 11, PromptTokens: 1160, CompletionTokens: 132}, Adds: 4},
	}; !slices.Equal(got.Days, want) {
		t.Errorf("days are %+v, want %+v", got.Days, want)
	}
	if got := of(today.AddDate(0, 0, -1), today.AddDate(0, 0, -1)); got.Adds != 0 || got.PerAdd.Calls != 0 || len(got.Purposes) != 1 {
		t.Errorf("of yesterday: %+v", got)
	}
	_, err := costs.Of(t.Context(), d.all, "talk", today, today.AddDate(0, 0, -1))
	d.is(err, fault.Invalid, "from")
	_, err = costs.Of(t.Context(), d.scope(uuid.Nil, tenant.NotesWrite), "talk", today, today)
	d.is(err, fault.Forbidden)
	_, err = costs.Of(t.Context(), d.all, "absent", today, today)
	d.is(err, fault.NotFound)
}
