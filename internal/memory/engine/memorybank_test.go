package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/engine"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memorybank"
	"github.com/slipboxhq/slipbox/internal/memory/policy/policies"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/test/must"
)

// newBankWorld returns a world whose main collection is a MemoryBank.
func newBankWorld(t *testing.T, o options) *world {
	t.Helper()
	o.policy = "memorybank"
	if o.config == "" {
		o.config = `{"summary_delay":0}`
	}
	w := newWorld(t, o)
	now := w.now().UTC()
	w.advance(now.Truncate(24 * time.Hour).Add(32 * time.Hour).Sub(now)) // eight in the morning: no test runs past midnight
	return w
}

// anotherBank creates a further collection of the same kind.
func (w *world) anotherBank(name string) memory.Collection {
	w.t.Helper()
	made := must.Get(w.collections.Create(w.t.Context(), w.s, notes.CollectionInput{Name: name, Policy: "memorybank", PolicyConfig: json.RawMessage(`{"summary_delay":0}`)}, memory.Request{}))(w.t)
	return made.Collection
}

// chat adds what a person and their companion said some days ago.
func (w *world) chat(c uuid.UUID, person string, ago int, texts ...string) []memory.Note {
	w.t.Helper()
	at := w.now().Add(-time.Duration(ago) * 24 * time.Hour)
	in := notes.NewMessages{OnDuplicate: memory.DuplicateKeep}
	for i, s := range texts {
		m := notes.NewMessage{Role: memory.RoleUser, Name: person, Content: s, OccurredAt: new(at.Add(time.Duration(i) * time.Millisecond))}
		if i%2 == 1 {
			m.Role, m.Name = memory.RoleAssistant, "Bo"
		}
		in.Messages = append(in.Messages, m)
	}
	out := must.Get(w.notes.AddMessages(w.t.Context(), w.s, c.String(), in, memory.Request{}))(w.t)
	return out.Messages
}

// date returns the date of the day some days ago.
func (w *world) date(ago int) string {
	return memorybank.DayOf(w.now().Add(-time.Duration(ago) * 24 * time.Hour))
}

func (w *world) keyed(c uuid.UUID, kind memory.Kind, key string) memory.Note {
	w.t.Helper()
	n, err := w.store.NoteByKey(w.t.Context(), w.s, w.view(c), kind, key)
	if err != nil {
		w.t.Fatalf("%s %s: %v", kind, key, err)
	}
	return n
}

func (w *world) search(c uuid.UUID, q recall.Query) []recall.Hit {
	w.t.Helper()
	r := must.Get(w.recall.Search(w.t.Context(), w.s, w.view(c), q))(w.t)
	return r.Hits
}

func (w *world) context(c uuid.UUID, q recall.ContextQuery) recall.Context {
	w.t.Helper()
	r := must.Get(w.recall.Context(w.t.Context(), w.s, w.view(c), q))(w.t)
	return r
}

func (w *world) flush() {
	w.t.Helper()
	must.Do(w.t, w.recall.Flush(w.t.Context()))
}

func (w *world) act(name, key, args string, apply bool) (memory.Revision, map[string]any) {
	w.t.Helper()
	t := memory.Task{Name: name, Key: key}
	if args != "" {
		t.Args = json.RawMessage(args)
	}
	out := must.Get(w.engine.Act(w.t.Context(), w.s, w.c.ID.String(), t, apply))(w.t)
	var said map[string]any
	must.Do(w.t, json.Unmarshal(out.Outcome, &said))
	return out.Revision, said
}

func found(hits []recall.Hit, id uuid.UUID) bool {
	return slices.ContainsFunc(hits, func(h recall.Hit) bool {
		return h.ID == id || slices.ContainsFunc(h.Exchange, func(n recall.NoteView) bool { return n.ID == id })
	})
}

// TestBankLayers: turns in order with their times (C092), summaries of events (C094), analyses of
// days (C096), a shared history (C095) and a portrait (C097): one read of a collection shows all
// four layers (C093). The prompts name the speakers (C115).
func TestBankLayers(t *testing.T) {
	t.Parallel()
	w := newBankWorld(t, options{})
	w.chat(w.c.ID, "Ann", 2, "I adopted a cat called Mia.", "Congratulations!", "She sleeps all day.", "Cats do.")
	w.chat(w.c.ID, "Ann", 1, "I started to learn the cello.", "That is brave.")
	w.drain()
	notes := w.all(w.c.ID)
	var said []string
	layers := map[string]int{}
	for _, n := range notes {
		if n.Kind == memory.KindMessage {
			said = append(said, n.OccurredAt.Format(time.DateOnly)+" "+n.Content[:4])
			continue
		}
		layers[string(n.Kind)+" "+n.Key]++
		if n.Analyst != memory.AnalystModel || n.State != memory.StateEvolved || len(n.Provenance.Sources) == 0 || n.Provenance.Job == nil || n.Embedder == "" {
			t.Errorf("%s %s is %+v", n.Kind, n.Key, n)
		}
	}
	wantSaid := []string{w.date(2) + " I ad", w.date(2) + " Cong", w.date(2) + " She ", w.date(2) + " Cats", w.date(1) + " I st", w.date(1) + " That"}
	if !slices.Equal(said, wantSaid) {
		t.Errorf("said %q", said)
	}
	want := map[string]int{
		"summary day/" + w.date(2): 1, "summary day/" + w.date(1): 1, "profile day/" + w.date(2): 1, "profile day/" + w.date(1): 1,
		"summary overall": 1, "profile overall": 1,
	}
	if diff := cmp.Diff(want, layers); diff != "" {
		t.Errorf("layers (-want +got):\n%s", diff)
	}
	if n := w.keyed(w.c.ID, memory.KindSummary, "day/"+w.date(2)); len(n.Provenance.Sources) != 4 || n.Attributes["events"] == nil || w.history(n.ID)[0].Changeset.Cause != memory.CauseSummarize {
		t.Errorf("summary %+v", n)
	}
	if n := w.keyed(w.c.ID, memory.KindProfile, "day/"+w.date(1)); n.Attributes["traits"] == nil || n.Attributes["mood"] == nil || n.Attributes["reply_strategy"] == nil {
		t.Errorf("profile %+v", n)
	}
	for _, r := range w.fake.RequestsOf("daily_summary") {
		if !strings.Contains(fmt.Sprint(r), "Ann") || !strings.Contains(fmt.Sprint(r), "Bo") {
			t.Errorf("a prompt does not name who spoke: %v", r)
		}
	}
	if n := w.fake.Calls("daily_summary"); n != 2 {
		t.Errorf("%d days were summed up", n)
	}
}

// TestBankDelay: turns that follow each other closely are summarized together, and later turns in
// another pass, also for a past day.
func TestBankDelay(t *testing.T) {
	t.Parallel()
	w := newBankWorld(t, options{config: `{"summary_delay":60}`})
	for range 3 {
		w.chat(w.c.ID, "Ann", 1, "I adopted a cat called Mia.", "Congratulations!")
		w.drain()
	}
	if n := w.fake.Calls("daily_summary"); n != 0 {
		t.Errorf("%d summaries before the delay is over", n)
	}
	w.advance(2 * time.Minute)
	w.drain()
	w.drain()
	if a, b := w.fake.Calls("daily_summary"), w.fake.Calls("overall_history"); a != 1 || b != 1 {
		t.Errorf("%d daily and %d overall summaries", a, b)
	}
	w.chat(w.c.ID, "Ann", 1, "And a dog.", "Two animals!")
	w.drain()
	w.advance(2 * time.Minute)
	w.drain()
	if n := w.keyed(w.c.ID, memory.KindSummary, "day/"+w.date(1)); len(n.Provenance.Sources) != 8 {
		t.Errorf("the day rests on %d messages", len(n.Provenance.Sources))
	}
	if a, b := w.fake.Calls("daily_summary"), w.fake.Calls("overall_history"); a != 2 || b != 2 {
		t.Errorf("then %d daily and %d overall summaries", a, b)
	}
}

// TestBankFailures: with the model down nothing is written and the job is retried. An answer that
// cannot be used is not a summary, and the overall summary is unchanged.
func TestBankFailures(t *testing.T) {
	t.Parallel()
	w := newBankWorld(t, options{engine: engine.Config{ServiceTries: 3}})
	w.fake.Down(true)
	w.chat(w.c.ID, "Ann", 0, "I adopted a cat called Mia.", "Congratulations!")
	w.drain()
	if got := w.all(w.c.ID, memory.KindSummary, memory.KindProfile); len(got) != 0 {
		t.Fatalf("written without a model: %+v", got)
	}
	w.fake.Down(false)
	w.advance(time.Minute)
	w.drain()
	history, portrait := w.keyed(w.c.ID, memory.KindSummary, "overall"), w.keyed(w.c.ID, memory.KindProfile, "overall")

	w.fake.Always("daily_summary", llmtest.WrongSchema())
	w.chat(w.c.ID, "Ann", 0, "Mia ran away.", "Oh no!")
	for range 5 {
		w.drain()
		w.advance(time.Minute)
	}
	sum := w.keyed(w.c.ID, memory.KindSummary, "day/"+w.date(0))
	if len(sum.Provenance.Sources) != 2 {
		t.Errorf("a wrong answer changed the summary: %+v", sum)
	}
	if jobs := w.jobsOf(w.c.ID, memory.JobPolicy); jobs[len(jobs)-1].State != memory.JobDead || jobs[len(jobs)-1].Error == "" {
		t.Errorf("the job is %+v", jobs[len(jobs)-1])
	}
	w.fake.Always("daily_summary", llmtest.JSON(memorybank.DaySummary{Summary: "Mia is away.", Events: []string{}}))
	w.fake.Always("overall_history", llmtest.JSON(memorybank.History{}))
	w.fake.Always("overall_personality", llmtest.WrongSchema())
	w.chat(w.c.ID, "Ann", 0, "She is back.", "Good!")
	w.drain()
	if n := w.keyed(w.c.ID, memory.KindSummary, "day/"+w.date(0)); n.Content != "Mia is away." || len(n.Provenance.Sources) != 6 {
		t.Errorf("summary %+v", n)
	}
	if a, b := w.keyed(w.c.ID, memory.KindSummary, "overall"), w.keyed(w.c.ID, memory.KindProfile, "overall"); a.Version() != history.Version() || b.Version() != portrait.Version() {
		t.Errorf("a wrong answer took the place of %q and %q", history.Content, portrait.Content)
	}
}

// TestBankSearch: turns and summaries are pieces of one index (C103), found by words and by meaning.
// A recall strengthens both (C109), in a search as in a context that shows them; reads of a decision
// do not.
func TestBankSearch(t *testing.T) {
	t.Parallel()
	w := newBankWorld(t, options{})
	w.fake.Always("daily_summary", llmtest.JSON(memorybank.DaySummary{Summary: "Ann told of the cello lessons that she takes.", Events: []string{}}))
	said := w.chat(w.c.ID, "Ann", 1, "I take cello lessons now.", "Who is the teacher?")
	w.drain()
	sum := w.keyed(w.c.ID, memory.KindSummary, "day/"+w.date(1))
	w.flush()
	used := func(id uuid.UUID) memory.Usage {
		w.flush()
		u := must.Get(w.store.Usage(t.Context(), w.s, w.view(w.c.ID), []uuid.UUID{id}))(t)
		return u[id]
	}
	if u := used(said[0].ID); u.AccessCount != 0 {
		t.Errorf("a decision counted as a recall: %+v", u)
	}
	for i, mode := range []recall.Mode{recall.Hybrid, recall.Vector} {
		hits := w.search(w.c.ID, recall.Query{Text: "cello lessons", Mode: mode})
		if !found(hits, said[0].ID) || !found(hits, sum.ID) {
			t.Errorf("%s: %d hits without the turn or the summary", mode, len(hits))
		}
		if found(hits, w.keyed(w.c.ID, memory.KindSummary, memorybank.KeyOverall).ID) {
			t.Errorf("%s: the history of all days, which every context shows, is a hit too", mode)
		}
		for _, id := range []uuid.UUID{said[0].ID, sum.ID} {
			if u := used(id); u.CurrentStrength() != float64(i+2) || w.now().Sub(u.LastAccess) > time.Minute {
				t.Errorf("after %d searches %+v", i+1, u)
			}
		}
	}
	w.advance(24 * time.Hour)
	c := w.context(w.c.ID, recall.ContextQuery{Text: "cello lessons"})
	if !strings.Contains(c.Text, "I take cello lessons now.") {
		t.Fatalf("context:\n%s", c.Text)
	}
	if u := used(said[0].ID); u.AccessCount != 3 || w.now().Sub(u.LastAccess) > time.Minute {
		t.Errorf("after a context %+v", u)
	}
}

// TestBankContext: the portrait and the way to answer are part of a context (C098), another portrait
// produces another context (C099), the meta information is included (C100), the dialogue is the
// query (C104), and hits are grouped by date, oldest first (C106).
func TestBankContext(t *testing.T) {
	t.Parallel()
	w := newBankWorld(t, options{})
	w.fake.Handle("overall_personality", func(r llmtest.Request) llmtest.Reply {
		if strings.Contains(fmt.Sprint(r), "Cleo") {
			return llmtest.JSON(memorybank.Portrait{Portrait: "Cleo is a daring climber.", ReplyStrategy: "Be short and bold."})
		}
		return llmtest.JSON(memorybank.Portrait{Portrait: "Ann is a shy reader.", ReplyStrategy: "Be gentle."})
	})
	w.fake.Always("overall_history", llmtest.JSON(memorybank.History{Summary: "They spoke of weekends."}))
	other := w.anotherBank("cleo")
	for c, person := range map[uuid.UUID]string{w.c.ID: "Ann", other.ID: "Cleo"} {
		w.chat(c, person, 3, "On the weekend I went to the lake.", "How was the water?")
		w.chat(c, person, 2, "I repaired the bicycle.", "Well done.")
		w.chat(c, person, 1, "On the weekend I will go to the lake again.", "Enjoy the lake!")
	}
	w.drain()
	w.changeByHand(func(ctx context.Context, tx memory.Tx) error {
		_, err := tx.Put(ctx, memory.Note{
			Kind: memory.KindProfile, Key: memorybank.KeyMeta, Content: "Ann, 41", State: memory.StateEvolved, OccurredAt: w.now(),
			Attributes: map[string]any{"name": "Ann", "hobbies": "novels", "speaking_style": "calm"},
		})
		return err
	})
	q := recall.ContextQuery{Text: "what about the lake on the weekend?"}
	ann, cleo := w.context(w.c.ID, q), w.context(other.ID, q)
	for _, want := range []string{"Ann is a shy reader.", "Be gentle.", "They spoke of weekends.", "novels", "calm"} {
		if !strings.Contains(ann.Text, want) {
			t.Errorf("%q is not in the context:\n%s", want, ann.Text)
		}
	}
	if !strings.Contains(cleo.Text, "Be short and bold.") || strings.Contains(cleo.Text, "Ann") || strings.Contains(ann.Text, "Cleo") {
		t.Errorf("another person's context:\n%s", cleo.Text)
	}
	if !slices.Contains(ann.Dates, w.date(3)) || !slices.Contains(ann.Dates, w.date(1)) || !slices.IsSorted(ann.Dates) {
		t.Errorf("dates %v", ann.Dates)
	}
	if a, b := strings.Index(ann.Text, "I went to the lake"), strings.Index(ann.Text, "I will go to the lake again"); a < 0 || b < 0 || a > b {
		t.Errorf("not oldest first:\n%s", ann.Text)
	}
	// C104: the last message alone names nothing; the messages before it do.
	hits := w.search(w.c.ID, recall.Query{Messages: []recall.Message{
		{Role: "user", Content: "My bicycle makes a noise again after I repaired it."}, {Role: "assistant", Content: "The bicycle you repaired?"}, {Role: "user", Content: "Yes, that one."},
	}, K: 2})
	if !slices.ContainsFunc(hits, func(h recall.Hit) bool { return strings.Contains(h.Note.Content, "bicycle") }) {
		t.Error("the dialogue before the last message was not asked about")
	}
	// Another portrait produces another prompt.
	w.fake.Always("overall_personality", llmtest.JSON(memorybank.Portrait{Portrait: "Ann is a bold singer.", ReplyStrategy: "Sing along."}))
	w.chat(w.c.ID, "Ann", 0, "I sang on a stage.", "Bravo!")
	w.drain()
	if c := w.context(w.c.ID, q); !strings.Contains(c.Text, "Sing along.") || strings.Contains(c.Text, "Be gentle.") {
		t.Errorf("the old way to answer is still there:\n%s", c.Text)
	}
}

// TestBankForget: faded pieces are not found, recalled ones are (C110). The report lists what was
// deleted and why (C113). A dry run reports the same and changes nothing. What was deleted can be
// restored.
func TestBankForget(t *testing.T) {
	t.Parallel()
	w := newBankWorld(t, options{})
	w.fake.Handle("daily_summary", func(r llmtest.Request) llmtest.Reply {
		if strings.Contains(fmt.Sprint(r), "trumpet") {
			return llmtest.JSON(memorybank.DaySummary{Summary: "The day of the trumpet.", Events: []string{}})
		}
		return llmtest.JSON(memorybank.DaySummary{Summary: "The day of the ladder.", Events: []string{}})
	})
	lost := w.chat(w.c.ID, "Ann", 0, "I sold the trumpet.", "Who bought it?")
	kept := w.chat(w.c.ID, "Ann", 0, "I bought a ladder.", "How high is it?")
	w.drain()
	sum := w.keyed(w.c.ID, memory.KindSummary, "day/"+w.date(0))
	day := w.date(0)
	w.search(w.c.ID, recall.Query{Text: "bought a ladder", K: 1})
	w.advance(20 * 24 * time.Hour)
	w.search(w.c.ID, recall.Query{Text: "bought a ladder", K: 1})
	w.flush()
	w.advance(time.Hour)
	head := w.view(w.c.ID).At

	args := `{"mode":"threshold","floor":0.05,"tau":5}`
	rev, dry := w.act("forget", "", args, false)
	if rev != head || w.view(w.c.ID).At != head {
		t.Error("a dry run changed something")
	}
	rev, did := w.act("forget", "", args, true)
	if diff := cmp.Diff(comparableOutcome(dry), comparableOutcome(did)); diff != "" {
		t.Errorf("a dry run says otherwise (-dry +done):\n%s", diff)
	}
	items := did["items"].([]any)
	if did["forgotten"] != 3.0 || len(items) != 3 {
		t.Fatalf("outcome %v", did)
	}
	want := memorybank.Retention(w.now().Sub(lost[1].OccurredAt).Hours()/24, 5, 1)
	for _, raw := range items[:2] {
		item := raw.(map[string]any)
		if item["kind"] != "message" || item["reason"] != "below the floor" || math.Abs(item["retention"].(float64)-want) > 1e-6 || !strings.Contains(fmt.Sprint(lost[0].ID, lost[1].ID), item["note"].(string)) {
			t.Errorf("item %v", item)
		}
	}
	hits := w.search(w.c.ID, recall.Query{Text: "sold the trumpet, bought a ladder", K: 20})
	if found(hits, lost[0].ID) || found(hits, lost[1].ID) || found(hits, sum.ID) || !found(hits, kept[0].ID) || !found(hits, kept[1].ID) {
		t.Errorf("found %d hits, wrong ones", len(hits))
	}
	w.drain()
	if h := w.all(w.c.ID, memory.KindSummary); slices.ContainsFunc(h, func(n memory.Note) bool { return n.Key == "overall" }) {
		t.Errorf("the history of forgotten days is there: %+v", h)
	}
	if set := w.history(lost[0].ID)[0]; !set.Note.Deleted || set.Changeset.Cause != memory.CauseForget || set.Changeset.Revision != rev {
		t.Errorf("tombstone %+v", set)
	}
	if !w.audited("policy.forget", w.c.ID.String()) {
		t.Error("nobody wrote down who forgot")
	}
	must.Get(w.notes.Restore(t.Context(), w.s, w.c.ID.String(), lost[0].ID, w.history(lost[0].ID)[1].Note.From, memory.Request{}))(t)
	if hits := w.search(w.c.ID, recall.Query{Text: "sold the trumpet", K: 5}); !found(hits, lost[0].ID) {
		t.Error("what was restored is not found")
	}
	must.Get(w.notes.Restore(t.Context(), w.s, w.c.ID.String(), sum.ID, w.history(sum.ID)[1].Note.From, memory.Request{}))(t)
	if n := w.keyed(w.c.ID, memory.KindSummary, "day/"+day); n.ID != sum.ID {
		t.Errorf("restored %+v", n)
	}
	w.drain()
	w.keyed(w.c.ID, memory.KindSummary, "overall")
	w.advance(time.Hour)
	if _, again := w.act("forget", "", args, true); again["forgotten"] != 0.0 {
		t.Errorf("what a person has restored is forgotten again: %v", again)
	}
}

// comparableOutcome returns the parts of an outcome that do not depend on the time.
func comparableOutcome(outcome map[string]any) []string {
	var out []string
	for _, raw := range outcome["items"].([]any) {
		item := raw.(map[string]any)
		out = append(out, fmt.Sprint(item["note"], item["kind"], item["reason"]))
	}
	return append(out, fmt.Sprint(outcome["forgotten"], outcome["mode"], outcome["floor"], outcome["tau"]))
}

// TestBankForgetByChance: a dry run draws the same random numbers as applying (C111).
func TestBankForgetByChance(t *testing.T) {
	t.Parallel()
	w := newBankWorld(t, options{heuristic: true})
	for i := range 40 {
		w.chat(w.c.ID, "Ann", 4, fmt.Sprintf("Thing number %d happened.", i), "I see.")
	}
	w.drain()
	_, dry := w.act("forget", "", `{"mode":"random"}`, false)
	_, again := w.act("forget", "", `{"mode":"random"}`, false)
	_, did := w.act("forget", "", `{"mode":"random"}`, true)
	if !cmp.Equal(comparableOutcome(dry), comparableOutcome(again)) || !cmp.Equal(comparableOutcome(dry), comparableOutcome(did)) {
		t.Errorf("chance drew otherwise: %v, %v, %v", comparableOutcome(dry), comparableOutcome(again), comparableOutcome(did))
	}
	// 81 notes in 41 pieces, of which e^-0.8 = 0.45 are kept each: outside of these it is once in 10^8 runs.
	if n := did["forgotten"].(float64); n < 10 || n > 77 {
		t.Errorf("%v of 81 notes were forgotten", n)
	}
}

// TestBankForgetsByItself: with forgetting on, a pass runs at its hours without a call, and
// schedules the next one. A summary outlives its turns.
func TestBankForgetsByItself(t *testing.T) {
	t.Parallel()
	w := newBankWorld(t, options{heuristic: true, config: `{"summary_delay":0,"forgetting":"threshold","forget_hours":24}`})
	said := w.chat(w.c.ID, "Ann", 0, "I adopted a cat called Mia.", "Congratulations!")
	day := w.date(0)
	w.drain()
	sum := w.keyed(w.c.ID, memory.KindSummary, "day/"+day)
	w.search(w.c.ID, recall.Query{Text: sum.Content, K: 6, Filter: &filter.Leaf{Field: filter.Kind, Op: filter.Eq, Values: []filter.Value{{Type: filter.Text, Text: "summary"}}}})
	w.flush()
	for range 16 {
		w.advance(24*time.Hour + time.Minute)
		w.drain()
	}
	if got := w.all(w.c.ID, memory.KindMessage); len(got) != 0 {
		t.Errorf("%d turns are still there", len(got))
	}
	if n := w.keyed(w.c.ID, memory.KindSummary, "day/"+day); n.Content != sum.Content {
		t.Errorf("summary %+v", n)
	}
	waiting := 0
	for _, j := range w.jobsOf(w.c.ID, memory.JobPolicy) {
		if j.State == memory.JobQueued && strings.Contains(string(j.Payload), "forget") {
			waiting++
		}
	}
	if waiting != 1 {
		t.Errorf("%d passes wait", waiting)
	}
	if set := w.history(said[0].ID)[0].Changeset; set.Cause != memory.CauseForget {
		t.Errorf("changeset %+v", set)
	}
}

// TestBankDayDeleted: a day whose turns were deleted by their caller has no summary.
func TestBankDayDeleted(t *testing.T) {
	t.Parallel()
	w := newBankWorld(t, options{heuristic: true})
	said := w.chat(w.c.ID, "Ann", 1, "I adopted a cat called Mia.", "Congratulations!")
	w.chat(w.c.ID, "Ann", 0, "I take cello lessons now.", "Who is the teacher?")
	w.drain()
	for _, m := range said {
		w.deleteByCaller(m.ID)
	}
	w.drain()
	if _, err := w.store.NoteByKey(t.Context(), w.s, w.view(w.c.ID), memory.KindSummary, "day/"+w.date(1)); !fault.Is(err, fault.NotFound) {
		t.Errorf("the summary: %v", err)
	}
	if n := w.keyed(w.c.ID, memory.KindSummary, "overall"); strings.Contains(n.Content, "Mia") || !strings.Contains(n.Content, "cello") {
		t.Errorf("the history says %q", n.Content)
	}
}

// TestBankChinese: without a model, a conversation in Chinese is stored, summarized and described in
// Chinese (C101), with any names (C328).
func TestBankChinese(t *testing.T) {
	t.Parallel()
	w := newBankWorld(t, options{heuristic: true})
	w.chat(w.c.ID, "林晓", 0, "我昨天收养了一只猫，名字叫咪咪。", "恭喜你！", "我很喜欢喝茶，也喜欢读小说。", "真不错。")
	w.drain()
	for _, n := range w.all(w.c.ID, memory.KindSummary, memory.KindProfile) {
		if n.Analyst != memory.AnalystHeuristic || !strings.ContainsFunc(n.Content, func(r rune) bool { return r >= 0x4e00 && r <= 0x9fff }) {
			t.Errorf("%s %s: %q", n.Kind, n.Key, n.Content)
		}
	}
	if hits := w.search(w.c.ID, recall.Query{Text: "咪咪是什么动物？"}); len(hits) == 0 {
		t.Error("nothing was found")
	}
}

// TestBankForks: a fork forgets independently, and each bank holds only its own pieces, also when
// another process reads it (C114).
func TestBankForks(t *testing.T) {
	t.Parallel()
	w := newBankWorld(t, options{heuristic: true})
	other := w.anotherBank("cleo")
	ann := w.chat(w.c.ID, "Ann", 30, "I adopted a cat called Mia.", "Congratulations!")
	cleo := w.chat(other.ID, "Cleo", 30, "I adopted a cat called Tom.", "Congratulations!")
	w.drain()
	fork := w.fork("sandbox")
	must.Get(w.engine.Act(t.Context(), w.s, fork.String(), memory.Task{Name: "forget"}, true))(t)
	policies := must.Get(policies.All())(t)
	again := must.Get(recall.New(recall.Deps{Store: w.store, Embedders: w.embedders, Policies: policies, Clock: w.now}, recall.Config{}))(t)
	for _, r := range []*recall.Service{w.recall, again} {
		in := func(c uuid.UUID) []recall.Hit {
			out := must.Get(r.Search(t.Context(), w.s, w.view(c), recall.Query{Text: "who adopted a cat?", K: 50}))(t)
			return out.Hits
		}
		if hits := in(fork); found(hits, ann[0].ID) {
			t.Error("the fork did not forget")
		}
		if hits := in(w.c.ID); !found(hits, ann[0].ID) || found(hits, cleo[0].ID) {
			t.Error("the base forgot, or knows another's")
		}
		for _, h := range in(other.ID) {
			if strings.Contains(h.Note.Content, "Ann") || strings.Contains(h.Note.Content, "Mia") {
				t.Errorf("another's: %q", h.Note.Content)
			}
		}
	}
}

// TestBankReembed: with another encoder the vectors change, and both kinds of pieces are still found
// by meaning (C105).
func TestBankReembed(t *testing.T) {
	t.Parallel()
	other := &secondEmbedder{dim: secondDim}
	w := newBankWorld(t, options{heuristic: true, also: other, config: `{"summary_delay":0,"analyst":"heuristic"}`})
	said := w.chat(w.c.ID, "Ann", 1, "I adopted a cat called Mia.", "Congratulations!")
	w.drain()
	sum := w.keyed(w.c.ID, memory.KindSummary, "day/"+w.date(1))
	w.convert(w.reembed(w.c.ID, other.Name()))
	if c := w.view(w.c.ID).Collection; c.Embedder != other.Name() {
		t.Fatalf("embedder %s", c.Embedder)
	}
	for _, n := range []memory.Note{said[0], sum} {
		hits := w.search(w.c.ID, recall.Query{Text: n.Content, Mode: recall.Vector, K: 5})
		if !found(hits, n.ID) {
			t.Errorf("%q is not found", n.Content)
		}
		if got := w.get(n.ID); got.Embedder != other.Name() {
			t.Errorf("vector of %s", got.Embedder)
		}
	}
}

// TestBankDaysAtOnce: a day that several jobs summarize concurrently has one summary, and messages that
// are added while it is written are summarized afterwards.
func TestBankDaysAtOnce(t *testing.T) {
	t.Parallel()
	w := newBankWorld(t, options{})
	w.chat(w.c.ID, "Ann", 0, "I adopted a cat called Mia.", "Congratulations!")
	w.decideAll()
	task := memory.Task{Name: "day", Key: w.date(0)}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := w.engine.Act(t.Context(), w.s, w.c.ID.String(), task, true); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := len(w.all(w.c.ID, memory.KindSummary)); n != 1 {
		t.Fatalf("%d summaries", n)
	}

	var once sync.Once
	w.fake.Handle("daily_summary", func(llmtest.Request) llmtest.Reply {
		once.Do(func() { w.chat(w.c.ID, "Ann", 0, "A dog came too.", "Two animals!") })
		return llmtest.JSON(memorybank.DaySummary{Summary: "Animals.", Events: []string{}})
	})
	w.chat(w.c.ID, "Ann", 0, "She eats a lot.", "Poor fridge.")
	w.drain()
	if n := w.keyed(w.c.ID, memory.KindSummary, "day/"+w.date(0)); len(n.Provenance.Sources) != 6 {
		t.Errorf("the day rests on %d messages", len(n.Provenance.Sources))
	}
}

// decideAll runs all due jobs except tasks.
func (w *world) decideAll() {
	w.t.Helper()
	for ran := true; ran; {
		ran = false
		for _, stage := range []memory.Stage{memory.StagePrepare, memory.StageDecide} {
			for _, j := range w.claim(w.c.ID, stage, 100) {
				ran = true
				w.run(j)
			}
		}
	}
}
