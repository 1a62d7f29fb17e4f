package recall_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/oapi-codegen/nullable"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

// addBank adds a collection with the reading of a memory bank, and with the notes that it pins.
func (r *fixture) addBank() memory.Collection {
	r.t.Helper()
	c := r.addWithReading("banked", memory.Reading{
		Kinds:  []memory.Kind{memory.KindMessage, memory.KindSummary},
		Pinned: []memory.Pin{{Kind: memory.KindProfile, Key: "overall"}, {Kind: memory.KindProfile, Key: "meta"}, {Kind: memory.KindSummary, Key: "overall"}},
		ByDate: true, K: 6, Recent: 3,
	})
	r.addKeyed(c, memory.KindProfile, "overall", "Ada is curious and a little shy.", map[string]any{"reply_strategy": "Be patient; give examples."})
	r.addKeyed(c, memory.KindProfile, "meta", "Ada", map[string]any{"name": "Ada", "hobbies": []any{"sailing", "maps"}, "speaking_style": "short"})
	r.addKeyed(c, memory.KindSummary, "overall", "They talked about the sea all spring.", nil)
	for _, m := range []struct{ at, role, text string }{ // what was said in March is told last
		{"2026-05-05 08:01", "assistant", "It is, flour went up."},
		{"2026-05-04 08:00", "user", "I bought a ferry pass again."},
		{"2026-05-05 08:00", "user", "Bread is dear these days."},
		{"2026-03-02 09:30", "user", "The ferry to the island was cancelled."},
		{"2026-03-02 21:10", "assistant", "Then the ferry pass can be given back."},
	} {
		r.addAt(c, memory.KindMessage, m.at, m.text, map[string]any{"role": m.role, "session": m.at[5:7] + m.role})
	}
	r.addAt(c, memory.KindSummary, "2026-03-02 00:00", "A bad day for the ferry.", map[string]any{"period": "day"})
	return c
}

// addKeyed adds a note that has a natural key.
func (r *fixture) addKeyed(c memory.Collection, kind memory.Kind, key, content string, attributes map[string]any) uuid.UUID {
	r.t.Helper()
	w := must.Get(r.notes.Add(r.t.Context(), r.all, c.ID.String(), notes.NewNote{
		Kind: kind, Key: key, Content: content, Attributes: attributes, Infer: new(false),
	}, memory.Request{}))(r.t)
	return w.Note.ID
}

// C093, C098, C100, C106: one context shows the portrait with how to reply to such a person, the
// profile, the overall history, the hits by date with the oldest day first and each once, and the
// latest messages, in order and not twice.
func TestContextOfABank(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, r *fixture) {
		t.Helper()
		c := r.addBank()
		out := r.context(c, recall.ContextQuery{Text: "ferry", Mode: recall.Lexical, Order: recall.OrderRelevance})
		want := `## Profile
[1] reply strategy: Be patient; give examples.
    Ada is curious and a little shy.
[2] Ada
    hobbies: sailing, maps
    speaking style: short

## Summaries
[3] They talked about the sea all spring.

## Episodes
### Monday 2026-03-02
[4] A bad day for the ferry.
[5] user: The ferry to the island was cancelled.
[6] assistant: Then the ferry pass can be given back.

## Recent messages
### Monday 2026-05-04 08:00 UTC
[7] user: I bought a ferry pass again.
### Tuesday 2026-05-05 08:00 UTC
[8] user: Bread is dear these days.
### Tuesday 2026-05-05 08:01 UTC
[9] assistant: It is, flour went up.`
		if out.Text != want {
			t.Errorf("got\n%s\nwant\n%s", out.Text, want)
		}
		if dates := []string{"2026-03-02", "2026-05-04", "2026-05-05"}; !slices.Equal(out.Dates, dates) {
			t.Errorf("dates are %v, want %v", out.Dates, dates)
		}
		if p := out.Parts[len(out.Parts)-1]; p.Kind != "messages" || len(p.Citations) != 3 {
			t.Errorf("the last part is %+v", p)
		}
		// C109: a note that was found is strengthened, a fixed note is not.
		for i, cited := range out.Citations {
			n := must.Get(r.recall.Get(t.Context(), r.all, r.view(c), cited.Note, false))(t)
			if hit := i >= 3 && i <= 6; hit != (n.Usage.AccessCount == 1) {
				t.Errorf("[%d] was counted %d times", i+1, n.Usage.AccessCount)
			}
		}
	})
}

// C098, C099: another portrait produces another context for the same question.
func TestContextFollowsThePortrait(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.addBank()
	before := r.context(c, recall.ContextQuery{Text: "ferry"})
	w := must.Get(r.notes.Patch(t.Context(), r.all, c.ID.String(), before.Citations[0].Note, notes.NotePatch{
		Content: new("Ada has become bold."), Attributes: nullable.NewNullableWithValue(map[string]any{"reply_strategy": "Come to the point."}),
	}, memory.Request{}))(t)
	after := r.context(c, recall.ContextQuery{Text: "ferry"})
	if strings.Contains(after.Text, "Be patient") || !strings.Contains(after.Text, "Come to the point.") || !strings.Contains(after.Text, "bold") || after.Citations[0].Revision != w.Revision {
		t.Errorf("%s", after.Text)
	}
}

// C104: the dialogue is the query, and its own turns are not repeated.
func TestContextOfADialogue(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.addBank()
	out := r.context(c, recall.ContextQuery{Mode: recall.Lexical, Messages: []recall.Message{
		{Role: "user", Content: "I had trouble with the ferry."}, {Role: "assistant", Content: "It is, flour went up."}, {Role: "user", Content: "When was it?"},
	}})
	if !strings.Contains(out.Text, "cancelled") || strings.Contains(out.Text, "flour") || !strings.Contains(out.Text, "Bread is dear") {
		t.Errorf("%s", out.Text)
	}
}

// The caller's filter applies to fixed notes, too.
func TestContextFiltersFixedNotes(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.addBank()
	out := r.context(c, recall.ContextQuery{Text: "ferry", Filter: parseFilter(t, `{"field":"attributes.role","op":"eq","value":"assistant"}`)})
	for _, part := range out.Parts {
		if part.Kind != "episodes" && part.Kind != "messages" || strings.Contains(part.Text, "user:") {
			t.Errorf("%s", out.Text)
		}
	}
}

// listless refuses lists of messages by time.
type listless struct{ memory.Reader }

func (l listless) ListNotes(ctx context.Context, s tenant.Scope, v memory.View, q memory.NoteQuery) ([]memory.Note, error) {
	if q.ByTime {
		return nil, errors.New("messages are listed by time")
	}
	return l.Reader.ListNotes(ctx, s, v, q)
}

// The newest messages come from the index: in the store, versions of all that a filter hides would have to be passed. They are those
// that the store lists, in forks and at earlier revisions, too.
func TestContextTakesNewestFromTheIndex(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.addBank()
	before := r.view(c).At
	for i := range 4 {
		r.addAt(c, memory.KindMessage, fmt.Sprintf("2026-05-0%d 08:00", 9-i), fmt.Sprintf("Message %d of the harbor.", i), map[string]any{"role": "user"})
	}
	fork := r.fork(c, &before)
	r.addAt(fork, memory.KindMessage, "2026-05-05 08:00", "A fork has its own bread.", map[string]any{"role": "user"})
	past := must.Get(r.store.OpenView(t.Context(), r.all, c.ID.String(), memory.At{AsOf: &before}))(t)
	r.recall = must.Get(recall.New(recall.Deps{
		Store: listless{r.store}, Embedders: r.embedder, Policies: memory.NewPolicySet(policy.NewNone(), configuredPolicy{}), Clock: r.Now,
	}, recall.Config{}))(t)
	t.Cleanup(func() { r.noError(r.recall.Stop(context.Background())) })
	for name, v := range map[string]memory.View{"at the head": r.view(c), "of a fork": r.view(fork), "of the past": past} {
		listed := must.Get(r.store.ListNotes(t.Context(), r.all, v, memory.NoteQuery{Kinds: []memory.Kind{memory.KindMessage}, ByTime: true, Newest: true, Limit: 3}))(t)
		out := must.Get(r.recall.Context(t.Context(), r.all, v, recall.ContextQuery{Text: "nothing of this", Mode: recall.Lexical}))(t)
		for i := range listed {
			if !strings.Contains(out.Text, listed[i].Content) {
				t.Errorf("%s: %q is not in %s", name, listed[i].Content, out.Text)
			}
		}
		if n := len(out.Notes); len(listed) != 3 || n != 3+3 { // and what is pinned
			t.Errorf("%s: %d notes are shown, %d listed", name, n, len(listed))
		}
	}
}

// Facts show their confidence and their end, if a policy defines how they are read.
func TestContextOfFacts(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	for _, c := range []memory.Collection{r.addWithReading("facts", memory.Reading{Kinds: []memory.Kind{memory.KindFact}}), r.collection("usual")} {
		r.addAt(c, memory.KindFact, "2026-03-02 00:00", "The ferry is free.", map[string]any{"confidence": 0.8, "expires_at": "2027-01-01T00:00:00Z"})
		r.addAt(c, memory.KindFact, "2026-03-03 00:00", "The ferry is old.", map[string]any{"confidence": 1.0})
		out := r.context(c, recall.ContextQuery{Text: "ferry"})
		told := strings.Contains(out.Text, "The ferry is free. (confidence 0.80, until 2027-01-01)")
		if told == (c.Policy == memory.PolicyNone) || !strings.Contains(out.Text, "2026-03-03\n[1] The ferry is old.\n### Monday 2026-03-02\n") {
			t.Errorf("%s", out.Text)
		}
	}
}

// Fixed notes leave a small budget to the hits, and use the rest of a large one, pinned notes at
// most half of it.
func TestContextShares(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.addWithReading("shares", memory.Reading{
		Kinds: []memory.Kind{memory.KindFact}, Pinned: []memory.Pin{{Kind: memory.KindSummary, Key: "s"}}, Recent: 10,
	})
	long := strings.Repeat("The summary goes on and on about the sea, the boats and the people. ", 60)
	r.addKeyed(c, memory.KindSummary, "s", long, nil)
	for i := range 20 {
		at := time.Date(2026, 3, 1, 9, i, 0, 0, time.UTC).Format("2006-01-02 15:04")
		r.addAt(c, memory.KindMessage, at, fmt.Sprintf("Message number %d says a thing or two about bread, butter, cheese and the like.", i), map[string]any{"role": "user"})
		r.addAt(c, memory.KindFact, at, fmt.Sprintf("Boat %d is at pier %d and will be there until the tide turns in the evening.", i, i+40), nil)
	}
	tokens := func(out recall.Context, kind recall.PartKind) int {
		for _, p := range out.Parts {
			if p.Kind == kind {
				return p.Tokens
			}
		}
		return 0
	}
	small := r.context(c, recall.ContextQuery{Text: "boat pier tide", TokenBudget: 300})
	if tokens(small, "facts") < 200 || tokens(small, "summaries") == 0 || tokens(small, "summaries") > 45 || tokens(small, "messages") == 0 || tokens(small, "messages") > 45 {
		t.Errorf("of 300: %d for facts, %d pinned, %d for messages", tokens(small, "facts"), tokens(small, "summaries"), tokens(small, "messages"))
	}
	large := r.context(c, recall.ContextQuery{Text: "boat pier tide", TokenBudget: 1600})
	if got := tokens(large, "summaries"); got < 400 || got > 800 || len(large.Parts[len(large.Parts)-1].Citations) < 9 {
		t.Errorf("of 1,600: %d pinned, %d messages", got, len(large.Parts[len(large.Parts)-1].Citations))
	}
	lines := strings.Split(large.Parts[len(large.Parts)-1].Text, "\n")
	if !strings.Contains(lines[len(lines)-1], "number 19") {
		t.Errorf("the newest message is not the last: %q", lines[len(lines)-1])
	}
}
