package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/oapi-codegen/nullable"

	"github.com/slipboxhq/slipbox/internal/clone"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memorybank"
	"github.com/slipboxhq/slipbox/test/must"
)

// tasks returns the names and keys of the waiting tasks of a collection, sorted.
func (w *world) tasks(c uuid.UUID) []string {
	w.t.Helper()
	var out []string
	for _, j := range w.jobsOf(c, memory.JobPolicy) {
		if j.State == memory.JobQueued {
			t := resultOf[memory.Task](w.t, &memory.Job{Result: j.Payload})
			out = append(out, strings.TrimSpace(t.Name+" "+t.Key))
		}
	}
	slices.Sort(out)
	return out
}

// deleteByCaller deletes a note as a caller does.
func (w *world) deleteByCaller(id uuid.UUID) {
	w.t.Helper()
	if _, err := w.notes.Delete(w.t.Context(), w.s, w.c.ID.String(), id, memory.Request{}); err != nil {
		w.t.Error(err)
	}
}

func (w *world) patch(id uuid.UUID, p notes.NotePatch) {
	w.t.Helper()
	must.Get(w.notes.Patch(w.t.Context(), w.s, w.c.ID.String(), id, p, memory.Request{}))(w.t)
}

func (w *world) restore(id uuid.UUID) {
	w.t.Helper()
	must.Get(w.notes.Restore(w.t.Context(), w.s, w.c.ID.String(), id, w.history(id)[1].Note.From, memory.Request{}))(w.t)
}

// echoSummaries makes a day's summary repeat the messages.
func (w *world) echoSummaries() {
	w.fake.Handle("daily_summary", func(r llmtest.Request) llmtest.Reply {
		var d struct {
			Earlier string `json:"earlier"`
			Turns   []struct {
				Text string `json:"text"`
			} `json:"turns"`
		}
		w.material(r, &d)
		out := memorybank.DaySummary{Summary: d.Earlier, Events: []string{}}
		for _, t := range d.Turns {
			out.Summary += " " + t.Text
		}
		return llmtest.JSON(out)
	})
}

// TestBankMerge: a merge that changes a message, and not its summary, marks the summary in the same changeset, and the policy makes
// it again. A rollback brings the summary back with the message.
func TestBankMerge(t *testing.T) {
	t.Parallel()
	w := newBankWorld(t, options{})
	w.echoSummaries()
	said := w.chat(w.c.ID, "Ann", 1, "I sold the trumpet.", "Who bought it?")
	w.drain()
	day := "day/" + w.date(1)
	before := w.view(w.c.ID).At
	f := w.fork("f")
	must.Get(w.notes.Patch(t.Context(), w.s, f.String(), said[0].ID, notes.NotePatch{Content: new("I lent the trumpet.")}, memory.Request{}))(t)
	m, err := w.clone.Merge(t.Context(), w.s, w.c.ID.String(), clone.MergeInput{From: f.String(), Notes: []uuid.UUID{said[0].ID}})
	if err != nil || m.Notes != 1 {
		t.Fatalf("merged %+v, %v", m, err)
	}
	check := func(at memory.Revision, want string) {
		t.Helper()
		if n := w.keyed(w.c.ID, memory.KindSummary, day); !n.Provenance.Stale || n.From != at {
			t.Errorf("the summary is not stale: %+v", n)
		}
		w.drain()
		if n := w.keyed(w.c.ID, memory.KindSummary, day); n.Provenance.Stale || n.Content != want {
			t.Errorf("the summary is %q, stale %v; want %q", n.Content, n.Provenance.Stale, want)
		}
	}
	check(m.Revision, "I lent the trumpet. Who bought it?")
	must.Get(w.clone.Rollback(t.Context(), w.s, w.c.ID.String(), clone.RollbackInput{To: before}))(t)
	if n := w.keyed(w.c.ID, memory.KindSummary, day); n.Content != "I sold the trumpet. Who bought it?" || n.Provenance.Stale {
		t.Errorf("the rollback did not bring back the summary: %+v", n)
	}
	w.drain()
	if n := w.keyed(w.c.ID, memory.KindSummary, day); n.Content != "I sold the trumpet. Who bought it?" || n.Provenance.Stale {
		t.Errorf("after the rollback %+v", n)
	}
}

// TestBankRefresh: deleting a message marks its summaries in the same changeset, and the summary of
// the day and the overall one are rewritten without it. Changing a message does the same, and a
// restored message is summarized again.
func TestBankRefresh(t *testing.T) {
	t.Parallel()
	w := newBankWorld(t, options{})
	w.echoSummaries()
	said := w.chat(w.c.ID, "Ann", 1, "I sold the trumpet.", "Who bought it?")
	w.chat(w.c.ID, "Ann", 0, "I bought a ladder.", "How high is it?")
	w.drain()
	day, other := "day/"+w.date(1), "day/"+w.date(0)
	sum := w.keyed(w.c.ID, memory.KindSummary, day)
	w.deleteByCaller(said[0].ID)
	rev := w.history(said[0].ID)[0].Note.From
	for _, n := range w.all(w.c.ID, memory.KindSummary, memory.KindProfile) {
		if marked := n.Key != other; n.Provenance.Stale != marked || marked && (n.From != rev || n.Embedder == "") {
			t.Errorf("%s %s: stale %v at %d, deleted at %d", n.Kind, n.Key, n.Provenance.Stale, n.From, rev)
		}
	}
	w.deleteByCaller(said[1].ID) // the same day has one task
	w.restore(said[1].ID)
	if got := w.tasks(w.c.ID); !slices.Equal(got, []string{"day " + w.date(1)}) {
		t.Errorf("waiting: %v", got)
	}
	w.drain()
	if n := w.keyed(w.c.ID, memory.KindSummary, day); n.ID != sum.ID || n.Content != "Who bought it?" || n.Provenance.Stale || !slices.Equal(n.Provenance.Sources, []uuid.UUID{said[1].ID}) {
		t.Errorf("after a deletion %+v", n)
	}
	for _, n := range w.all(w.c.ID, memory.KindSummary, memory.KindProfile) {
		if n.Provenance.Stale {
			t.Errorf("%s %s is still stale", n.Kind, n.Key)
		}
	}
	w.restore(said[0].ID)
	w.drain()
	if n := w.keyed(w.c.ID, memory.KindSummary, day); n.Content != "I sold the trumpet. Who bought it?" {
		t.Errorf("after it was restored %q", n.Content)
	}

	asked := w.fake.Calls("daily_summary")
	w.patch(said[0].ID, notes.NotePatch{Tags: nullable.NewNullableWithValue([]string{"music"})})
	w.drain()
	if n := w.fake.Calls("daily_summary"); n != asked {
		t.Errorf("%d days were summed up for a tag", n-asked)
	}
	w.patch(said[0].ID, notes.NotePatch{Content: new("I sold the tuba.")})
	if n := w.keyed(w.c.ID, memory.KindSummary, day); !n.Provenance.Stale {
		t.Error("the summary of what read differently is not marked")
	}
	w.drain()
	if n := w.keyed(w.c.ID, memory.KindSummary, day); n.Content != "I sold the tuba. Who bought it?" || n.Provenance.Stale {
		t.Errorf("after a patch %+v", n)
	}
	w.patch(said[0].ID, notes.NotePatch{OccurredAt: nullable.NewNullableWithValue(w.now().Add(-time.Hour))})
	w.drain()
	if a, b := w.keyed(w.c.ID, memory.KindSummary, day), w.keyed(w.c.ID, memory.KindSummary, other); strings.Contains(a.Content, "tuba") || !strings.Contains(b.Content, "tuba") {
		t.Errorf("said on another day: %q and %q", a.Content, b.Content)
	}
	w.deleteByCaller(sum.ID)
	if got := w.tasks(w.c.ID); !slices.Equal(got, []string{"overall"}) {
		t.Errorf("without a day's summary waits %v", got)
	}
}

// TestBankForgottenIsNotStale: forgetting does not change summaries; a message that was forgotten,
// restored and then deleted by its caller is in none of them.
func TestBankForgottenIsNotStale(t *testing.T) {
	t.Parallel()
	w := newBankWorld(t, options{})
	w.echoSummaries()
	lost := w.chat(w.c.ID, "Ann", 0, "I sold the trumpet.", "Who bought it?")
	w.chat(w.c.ID, "Ann", 0, "I bought a ladder.", "How high is it?")
	w.drain()
	day, sum := "day/"+w.date(0), w.keyed(w.c.ID, memory.KindSummary, "day/"+w.date(0))
	w.advance(20 * 24 * time.Hour)
	for range 3 {
		w.countRecall(sum.ID)
	}
	if _, did := w.act("forget", "", `{"mode":"threshold","floor":0.05,"tau":5}`, true); did["forgotten"] != 4.0 {
		t.Fatalf("forgot %v", did)
	}
	if n := w.keyed(w.c.ID, memory.KindSummary, day); n.Version() != sum.Version() {
		t.Errorf("forgetting touched the summary: %+v", n)
	}
	w.restore(lost[0].ID)
	w.drain()
	if n := w.keyed(w.c.ID, memory.KindSummary, day); n.Content != sum.Content {
		t.Errorf("a restored turn is summed up twice: %q", n.Content)
	}
	w.deleteByCaller(lost[0].ID)
	w.drain()
	if _, err := w.store.NoteByKey(t.Context(), w.s, w.view(w.c.ID), memory.KindSummary, day); !fault.Is(err, fault.NotFound) {
		t.Errorf("the summary of what was deleted: %v", err)
	}
}

// countRecall counts a recall of a note.
func (w *world) countRecall(id uuid.UUID) {
	w.t.Helper()
	w.recall.Recalled(w.s, w.view(w.c.ID), []uuid.UUID{id})
}

// TestBankDeletedMeanwhile: a message that is deleted while its day is summarized is not in the
// summary.
func TestBankDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	w := newBankWorld(t, options{})
	w.echoSummaries()
	said := w.chat(w.c.ID, "Ann", 0, "I sold the trumpet.", "Who bought it?")
	first := true
	w.fake.Handle("daily_personality", func(llmtest.Request) llmtest.Reply {
		if first { // one day, one job
			first = false
			w.deleteByCaller(said[0].ID)
		}
		return llmtest.JSON(memorybank.DayPersonality{Traits: []string{"open"}, Mood: "calm", ReplyStrategy: "Ask."})
	})
	w.drain()
	for _, h := range w.history(w.keyed(w.c.ID, memory.KindSummary, "day/"+w.date(0)).ID) {
		if strings.Contains(h.Note.Content, "trumpet") || slices.Contains(h.Note.Provenance.Sources, said[0].ID) {
			t.Errorf("revision %d says %q", h.Note.From, h.Note.Content)
		}
	}
}

// TestMem0Refresh: deleting a message deletes the facts that come from it alone, and marks the summary, which is rewritten.
// Deleting a fact takes its sentence out of the message.
func TestMem0Refresh(t *testing.T) {
	t.Parallel()
	w := newChatWorld(t, options{config: `{"summary_every":2}`})
	w.script(map[string][]string{"I live in Lisbon.": {"User lives in Lisbon."}, "I play the cello.": {"User plays the cello."}}, nil)
	w.fake.Handle("summarize", func(r llmtest.Request) llmtest.Reply {
		var d struct {
			Memories []struct {
				Text string `json:"text"`
			} `json:"memories"`
		}
		w.material(r, &d)
		var out mem0.Summary
		for _, m := range d.Memories {
			out.Summary += " " + m.Text
		}
		return llmtest.JSON(out)
	})
	first := w.sayAndDrain("I live in Lisbon.")
	second := w.sayAndDrain("I play the cello.")
	sum := w.keyed(w.c.ID, memory.KindSummary, "mem0/summary")
	if !strings.Contains(sum.Content, "Lisbon") {
		t.Fatalf("summary %q", sum.Content)
	}
	w.deleteByCaller(first.ID)
	if n := w.keyed(w.c.ID, memory.KindSummary, "mem0/summary"); !n.Provenance.Stale {
		t.Error("the summary is not marked")
	}
	facts := w.all(w.c.ID, memory.KindFact)
	if len(facts) != 1 || facts[0].Content != "User plays the cello." {
		t.Fatalf("facts %+v", facts)
	}
	w.drain()
	if n := w.keyed(w.c.ID, memory.KindSummary, "mem0/summary"); n.Provenance.Stale || strings.Contains(n.Content, "Lisbon") || !strings.Contains(n.Content, "cello") {
		t.Errorf("summary %+v", n)
	}
	w.deleteByCaller(facts[0].ID)
	if n := w.all(w.c.ID, memory.KindMessage); len(n) != 1 || n[0].ID != second.ID || n[0].Content != "[redacted: deleted]" {
		t.Errorf("the message of the deleted fact: %+v", n)
	}
}

// TestMem0RecordRefresh: the record of a run is rewritten without deleted messages, and deleted with
// the last of them.
func TestMem0RecordRefresh(t *testing.T) {
	t.Parallel()
	w := newChatWorld(t, options{heuristic: true, config: `{"memory_type":"procedural"}`})
	in := func(m *notes.NewMessage) { m.Session = "run" }
	first, second := w.sayAndDrain("Open the red door.", in), w.sayAndDrain("Close the blue window.", in)
	key := "mem0/procedure/run"
	if n := w.keyed(w.c.ID, memory.KindSummary, key); !strings.Contains(n.Content, "red") {
		t.Fatalf("record %q", n.Content)
	}
	w.deleteByCaller(first.ID)
	w.drain()
	if n := w.keyed(w.c.ID, memory.KindSummary, key); strings.Contains(n.Content, "red") || !strings.Contains(n.Content, "blue") || n.Provenance.Stale {
		t.Errorf("record %+v", n)
	}
	w.deleteByCaller(second.ID)
	w.drain()
	if _, err := w.store.NoteByKey(t.Context(), w.s, w.view(w.c.ID), memory.KindSummary, key); !fault.Is(err, fault.NotFound) {
		t.Errorf("the record of nothing: %v", err)
	}
}
