package engine_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/internal/memory/policy/policies"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/text"
	"github.com/slipboxhq/slipbox/test/must"
)

// newChatWorld returns a world whose collection extracts facts from conversations.
func newChatWorld(t *testing.T, o options) *world {
	t.Helper()
	if o.policy == "" {
		o.policy = "mem0"
	}
	return newWorld(t, o)
}

// sayAndDrain adds a message of the person and runs all jobs.
func (w *world) sayAndDrain(content string, change ...func(*notes.NewMessage)) memory.Note {
	w.t.Helper()
	m := notes.NewMessage{Role: memory.RoleUser, Content: content}
	for _, c := range change {
		c(&m)
	}
	out := must.Get(w.notes.AddMessages(w.t.Context(), w.s, w.c.ID.String(), notes.NewMessages{Messages: []notes.NewMessage{m}, OnDuplicate: memory.DuplicateKeep}, memory.Request{}))(w.t)
	w.drain()
	return out.Messages[0]
}

// texts returns the contents of the live notes of a kind, sorted.
func (w *world) texts(kind memory.Kind) []string {
	w.t.Helper()
	out := []string{}
	for _, n := range w.all(w.c.ID, kind) {
		out = append(out, n.Content)
	}
	slices.Sort(out)
	return out
}

// found returns what a search finds by default, sorted.
func (w *world) found(query string) []string {
	w.t.Helper()
	r := must.Get(w.recall.Search(w.t.Context(), w.s, w.view(w.c.ID), recall.Query{Text: query, K: 50}))(w.t)
	out := []string{}
	for _, h := range r.Hits {
		out = append(out, h.Note.Content)
	}
	slices.Sort(out)
	return out
}

// verdict is the decision of a scripted model about a fact and the memory with the text target.
type verdict struct {
	op     mem0.Operation
	target string
	text   string
}

// script makes the model extract the listed facts of each message, decide about them as listed, and
// add all others.
func (w *world) script(facts map[string][]string, verdicts map[string]verdict) {
	w.fake.Handle("extract", func(r llmtest.Request) llmtest.Reply {
		var d struct {
			New []string `json:"new"` // each with day and speaker before it
		}
		w.material(r, &d)
		out := mem0.Extraction{Facts: []string{}}
		for _, line := range d.New {
			_, said, _ := strings.Cut(line, ": ")
			out.Facts = append(out.Facts, facts[said]...)
		}
		return llmtest.JSON(out)
	})
	w.fake.Handle("decide", func(r llmtest.Request) llmtest.Reply {
		var d struct {
			Fact    string `json:"fact"`
			Similar []struct {
				Handle int    `json:"handle"`
				Text   string `json:"text"`
			} `json:"similar"`
		}
		w.material(r, &d)
		v := verdicts[d.Fact]
		dec := mem0.FactDecision{Operation: mem0.OpAdd}
		for _, s := range d.Similar {
			if v.op != "" && s.Text == v.target {
				dec.Operation, dec.Target = v.op, &s.Handle
				if v.text != "" {
					dec.Text = &v.text
				}
			}
		}
		return llmtest.JSON(dec)
	})
}

var shown = regexp.MustCompile(`(?s)<memory-data>(.*)</memory-data>`)

// material decodes the JSON of a prompt.
func (w *world) material(r llmtest.Request, into any) {
	m := shown.FindStringSubmatch(r.User)
	if m == nil {
		w.t.Errorf("no material in the prompt of %s", r.Call)
		return
	}
	if err := json.Unmarshal([]byte(m[1]), into); err != nil {
		w.t.Errorf("material of %s: %v", r.Call, err)
	}
}

// inventedWords returns the content words of live facts that occur neither in their sources nor in
// the answers that the jobs recorded.
func (w *world) inventedWords() []string {
	w.t.Helper()
	answered := map[string]bool{"user": true}
	for _, j := range w.jobsOf(w.c.ID, memory.JobExchange) {
		for _, f := range resultOf[mem0.Outcome](w.t, &j).Facts {
			for _, term := range text.Terms(f.Fact) {
				answered[term] = true
			}
		}
	}
	var out []string
	for _, n := range w.all(w.c.ID, memory.KindFact) {
		if len(n.Provenance.Sources) == 0 {
			out = append(out, "no source of "+n.Content)
		}
		said := map[string]bool{}
		for _, id := range n.Provenance.Sources {
			for _, term := range text.Terms(w.get(id).Content) {
				said[term] = true
			}
		}
		for _, term := range text.Terms(n.Content) {
			if !said[term] && !answered[term] {
				out = append(out, term)
			}
		}
	}
	return out
}

// TestMem0LateStatement: a statement that comes after a newer one about the same is in the history of its fact, in the order of time, and
// leaves the fact as it is. It goes with its message, and the fact stays.
func TestMem0LateStatement(t *testing.T) {
	t.Parallel()
	for _, op := range []mem0.Operation{mem0.OpUpdate, mem0.OpDelete} {
		for _, policy := range []string{"mem0", "mem0g"} {
			t.Run(fmt.Sprint(policy, " ", op), func(t *testing.T) {
				t.Parallel()
				w := newChatWorld(t, options{policy: policy})
				w.script(map[string][]string{
					"I live in Shanghai now.": {"User lives in Shanghai"}, "I live in Beijing.": {"User lives in Beijing"}, "I live in Chengdu.": {"User lives in Chengdu"},
				}, map[string]verdict{
					"User lives in Beijing": {op, "User lives in Shanghai", ""}, "User lives in Chengdu": {op, "User lives in Shanghai", ""},
				})
				days := func(n int) func(*notes.NewMessage) {
					return func(m *notes.NewMessage) { m.OccurredAt = new(w.now().AddDate(0, 0, -n)) }
				}
				w.sayAndDrain("I live in Shanghai now.")
				late := w.sayAndDrain("I live in Beijing.", days(1))
				w.sayAndDrain("I live in Chengdu.", days(2))
				listed := func() (out []string) {
					facts := w.all(w.c.ID, memory.KindFact)
					if got := w.texts(memory.KindFact); len(got) != 1 || got[0] != "User lives in Shanghai" {
						t.Fatalf("live are %q", got)
					}
					for _, e := range memory.EarlierOf(&facts[0]) {
						out = append(out, e.Content)
					}
					return out
				}
				if got := listed(); !slices.Equal(got, []string{"User lives in Chengdu", "User lives in Beijing"}) {
					t.Fatalf("listed are %q", got)
				}
				w.erase(late.ID)
				w.drain()
				if got := listed(); !slices.Equal(got, []string{"User lives in Chengdu"}) {
					t.Errorf("listed are %q", got)
				}
				if left := w.traces(w.c.ID, "beijing"); len(left) > 0 {
					t.Errorf("left: %q", left)
				}
			})
		}
	}
}

// contradiction is a scenario in which facts change.
type contradiction struct {
	name     string
	said     []string
	facts    map[string][]string
	verdicts map[string]verdict
	query    string
	live     []string // by the scripted model
	gone     []string // former facts: in the history, by the scripted model
}

func contradictions() []contradiction {
	hiking := []string{"I love hiking in the mountains."}
	reworded := contradiction{
		name: "a reworded repeat ten times over", query: "hobbies hiking",
		facts: map[string][]string{hiking[0]: {"User loves hiking in the mountains"}}, verdicts: map[string]verdict{},
		live: []string{"User loves hiking in the mountains"},
	}
	for i, s := range []string{
		"I really love hiking in the mountains.", "I love hiking in the mountains so much!", "I love to hike in the mountains.",
		"I absolutely love hiking in the mountains.", "As you know, I love hiking in the mountains.", "I just love hiking in mountains.",
		"I enjoy hiking in the mountains.", "I like hiking in the mountains a lot.", "I'm fond of hiking in the mountains.", "I do love hiking in the mountains.",
	} {
		fact := fmt.Sprintf("User is fond of hiking in the mountains, wording %d", i)
		hiking = append(hiking, s)
		reworded.facts[s] = []string{fact}
		reworded.verdicts[fact] = verdict{mem0.OpNoop, "User loves hiking in the mountains", ""}
	}
	reworded.said = hiking
	return []contradiction{
		{
			name: "vegetarian, later not", query: "what does the user eat, vegetarian food?",
			said:  []string{"I am vegetarian.", "I am not vegetarian any more, I eat fish now."},
			facts: map[string][]string{"I am vegetarian.": {"User is vegetarian"}, "I am not vegetarian any more, I eat fish now.": {"User is no longer vegetarian and eats fish"}},
			verdicts: map[string]verdict{
				"User is no longer vegetarian and eats fish": {mem0.OpDelete, "User is vegetarian", "User eats fish and is no longer vegetarian"},
			},
			live: []string{"User eats fish and is no longer vegetarian"}, gone: []string{"User is vegetarian"},
		},
		{
			name: "a name that is corrected", query: "what is the name of the user",
			said:     []string{"My name is John.", "My name is Mike, not John."},
			facts:    map[string][]string{"My name is John.": {"User's name is John"}, "My name is Mike, not John.": {"User's name is Mike, not John"}},
			verdicts: map[string]verdict{"User's name is Mike, not John": {mem0.OpDelete, "User's name is John", "User's name is Mike"}},
			live:     []string{"User's name is Mike"}, gone: []string{"User's name is John"},
		},
		{
			name: "a move from Beijing to Shanghai", query: "where does the user live",
			said: []string{"I live in Beijing.", "I moved from Beijing to Shanghai."},
			facts: map[string][]string{
				"I live in Beijing.": {"User lives in Beijing"}, "I moved from Beijing to Shanghai.": {"User moved from Beijing to Shanghai", "User lives in Shanghai"},
			},
			verdicts: map[string]verdict{
				"User moved from Beijing to Shanghai": {mem0.OpDelete, "User lives in Beijing", "User lives in Shanghai"},
				"User lives in Shanghai":              {mem0.OpDelete, "User lives in Beijing", ""},
			},
			live: []string{"User lives in Shanghai"}, gone: []string{"User lives in Beijing"},
		},
		{
			name: "a plan that is cancelled", query: "trip to Rome",
			said:     []string{"I plan a trip to Rome in May.", "I cancelled my trip to Rome."},
			facts:    map[string][]string{"I plan a trip to Rome in May.": {"User plans a trip to Rome in May"}, "I cancelled my trip to Rome.": {"User cancelled the trip to Rome"}},
			verdicts: map[string]verdict{"User cancelled the trip to Rome": {mem0.OpDelete, "User plans a trip to Rome in May", ""}},
			live:     []string{"User cancelled the trip to Rome"}, gone: []string{"User plans a trip to Rome in May"},
		},
		reworded,
		{
			name: "two people with one name", query: "where does Anna live",
			said: []string{"My sister Anna lives in Paris.", "My colleague Anna lives in Oslo."},
			facts: map[string][]string{
				"My sister Anna lives in Paris.": {"User's sister Anna lives in Paris"}, "My colleague Anna lives in Oslo.": {"User's colleague Anna lives in Oslo"},
			},
			live: []string{"User's colleague Anna lives in Oslo", "User's sister Anna lives in Paris"},
		},
	}
}

// TestContradictions: after each scenario a default search finds only what is true, the history has
// what was true, nothing is invented, and there are as many memories as true facts (C172, C178,
// C192). Without a model all that was said stays, in its words.
func TestContradictions(t *testing.T) {
	t.Parallel()
	for _, c := range contradictions() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newChatWorld(t, options{})
			w.script(c.facts, c.verdicts)
			was := map[string]uuid.UUID{}
			for _, s := range c.said {
				w.sayAndDrain(s)
				for _, n := range w.all(w.c.ID, memory.KindFact) {
					was[n.Content] = n.ID
				}
			}
			if got := w.texts(memory.KindFact); !slices.Equal(got, c.live) {
				t.Errorf("live are %q, want %q", got, c.live)
			}
			if got := w.found(c.query); !slices.Equal(got, c.live) {
				t.Errorf("found are %q", got)
			}
			for _, gone := range c.gone {
				w.checkHistoryHolds(was[gone], gone)
			}
			if words := w.inventedWords(); len(words) != 0 {
				t.Errorf("invented: %q", words)
			}
		})
		t.Run(c.name+", without a model", func(t *testing.T) {
			t.Parallel()
			w := newChatWorld(t, options{heuristic: true})
			for _, s := range c.said {
				w.sayAndDrain(s)
			}
			live := w.texts(memory.KindFact)
			told := c.said
			if len(told) > 2 {
				told = told[:1] // what only repeats may be left out
			}
			for _, s := range told {
				if !slices.ContainsFunc(live, func(fact string) bool { return strings.HasSuffix(fact, ": “"+s+"”") }) {
					t.Errorf("%q is not in %q", s, live)
				}
			}
			if got := w.found(c.query); len(got) != len(live) {
				t.Errorf("found are %q, live %q", got, live)
			}
		})
	}
}

// checkHistoryHolds checks that a deleted memory is in the history.
func (w *world) checkHistoryHolds(id uuid.UUID, content string) {
	w.t.Helper()
	h := w.history(id)
	if len(h) < 2 || !slices.ContainsFunc(h, func(e memory.HistoryEntry) bool { return e.Note.Content == content }) {
		w.t.Errorf("the history does not tell that %q", content)
	}
}

// TestMem0Kinds: also without a model what is kept is what is worth keeping (C164: identity, preferences,
// instructions, deadlines, facts of a task) and nothing else (C165: greetings, questions,
// politeness).
func TestMem0Kinds(t *testing.T) {
	t.Parallel()
	w := newChatWorld(t, options{heuristic: true})
	for _, kept := range []string{
		"My name is Ada Berg.", "I work as a nurse in Hamburg.", "I prefer tea to coffee.", "I am allergic to peanuts.",
		"My deadline for the grant report is Friday.", "I have two daughters, Mia and Lea.", "I plan to run the marathon in October.",
		"Please always answer in German.", "From now on, call me Ada.",
		"我住在杭州。", "我喜欢喝绿茶。",
	} {
		before := len(w.all(w.c.ID, memory.KindFact))
		w.sayAndDrain(kept)
		if len(w.all(w.c.ID, memory.KindFact)) <= before {
			t.Errorf("nothing is kept of %q", kept)
		}
	}
	known := w.texts(memory.KindFact)
	for _, dropped := range []string{
		"Hi there!", "Good morning, how are you?", "What is the capital of France?", "Thanks a lot!", "Ok.", "Haha, that's funny.",
		"How do I reverse a list in Python?", "你好！", "法国的首都是哪里？", "My name is Ada Berg.",
	} {
		w.sayAndDrain(dropped)
		if got := w.texts(memory.KindFact); !slices.Equal(got, known) {
			t.Errorf("%q became one of %q", dropped, got)
			known = got
		}
	}
}

// TestMem0Trace: the result of an exchange's job shows both phases, the facts with their decisions
// (C159), and the versions of the memories that the decisions depend on.
func TestMem0Trace(t *testing.T) {
	t.Parallel()
	w := newChatWorld(t, options{})
	w.script(map[string][]string{"I like tea.": {"User likes tea"}, "I like green tea.": {"User likes green tea"}},
		map[string]verdict{"User likes green tea": {mem0.OpUpdate, "User likes tea", "User likes green tea"}})
	w.sayAndDrain("I like tea.")
	was := w.all(w.c.ID, memory.KindFact)[0]
	w.sayAndDrain("I like green tea.")
	jobs := w.jobsOf(w.c.ID, memory.JobExchange)
	out := resultOf[mem0.Outcome](t, &jobs[1])
	if out.Extract == nil || out.Decide == nil || out.Extract.Calls != 1 || out.Decide.Calls != 1 || out.Extract.Model != "test" ||
		len(out.Facts) != 1 || out.Facts[0].Operation != mem0.OpUpdate || out.Facts[0].Target == nil || *out.Facts[0].Target != was.ID {
		t.Errorf("%s", jobs[1].Result)
	}
	set := w.history(was.ID)[0].Changeset
	if set.Cause != memory.CauseExtract || set.Job != jobs[1].ID {
		t.Errorf("the change is %+v", set)
	}
}

// TestMem0Vectors: the vector of a memory follows its text when it is added, updated and deleted
// (C179, C171).
func TestMem0Vectors(t *testing.T) {
	t.Parallel()
	w := newChatWorld(t, options{})
	w.script(map[string][]string{
		"I have a dog.": {"User has a dog"}, "My dog is called Rex.": {"User's dog is called Rex"}, "My dog has died.": {"User's dog Rex died"},
	}, map[string]verdict{
		"User's dog is called Rex": {mem0.OpUpdate, "User has a dog", "User has a dog called Rex"},
		"User's dog Rex died":      {mem0.OpDelete, "User has a dog called Rex", "User's dog Rex died"},
	})
	w.sayAndDrain("I have a dog.")
	n := w.all(w.c.ID, memory.KindFact)[0]
	old := w.get(n.ID).Vector
	w.sayAndDrain("My dog is called Rex.")
	now := w.get(n.ID)
	em, _ := w.embedders.ByName(w.c.Embedder)
	want := must.Get(memory.EmbedAll(t.Context(), em, w.s, []string{"User has a dog called Rex"}))(t)
	if now.Content != "User has a dog called Rex" || len(now.Vector) == 0 || slices.Equal(now.Vector, old) || squaredCosine(now.Vector, want[0].Vector) < 0.999 {
		t.Errorf("the vector of %q is not its own", now.Content)
	}
	w.sayAndDrain("My dog has died.")
	if got := w.found("dog called Rex"); !slices.Equal(got, []string{"User's dog Rex died"}) {
		t.Errorf("found %q", got)
	}
}

func squaredCosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab, aa, bb = ab+float64(a[i]*b[i]), aa+float64(a[i]*a[i]), bb+float64(b[i]*b[i])
	}
	return ab * ab / (aa * bb)
}

// TestMem0Parallel: decisions about the facts of one exchange reach the model concurrently, and none
// is lost or made twice (C177).
func TestMem0Parallel(t *testing.T) {
	t.Parallel()
	w := newChatWorld(t, options{})
	w.script(map[string][]string{
		"I like tea, dogs, rain and the sea.": {"User likes tea", "User likes dogs", "User likes rain", "User likes the sea"},
		"More of it.":                         {"User likes green tea, more of it", "User likes white tea, more of it", "User likes big dogs, more of it", "User likes warm rain, more of it"},
	}, nil)
	w.sayAndDrain("I like tea, dogs, rain and the sea.")
	w.fake.Handle("decide", func(r llmtest.Request) llmtest.Reply {
		var d struct {
			Fact    string `json:"fact"`
			Similar []struct {
				Handle int    `json:"handle"`
				Text   string `json:"text"`
			} `json:"similar"`
		}
		w.material(r, &d)
		words := text.Words(d.Fact)
		for _, s := range d.Similar {
			if slices.Contains(text.Words(s.Text), words[3]) {
				return llmtest.Slow(50*time.Millisecond, llmtest.JSON(mem0.FactDecision{
					Operation: mem0.OpUpdate, Target: &s.Handle, Text: new(s.Text + ", " + words[2] + " " + words[3]),
				}))
			}
		}
		return llmtest.JSON(mem0.FactDecision{Operation: mem0.OpAdd})
	})
	w.sayAndDrain("More of it.")
	want := []string{"User likes dogs, big dogs", "User likes rain, warm rain", "User likes tea, green tea, white tea", "User likes the sea"}
	if got := w.texts(memory.KindFact); !slices.Equal(got, want) {
		t.Errorf("live are %q", got)
	}
	if w.fake.Peak() < 2 {
		t.Error("the decisions were not asked for side by side")
	}
}

// TestMem0SummaryEvery: with K = 3 the summary is written after the 3rd and the 6th exchange (C182),
// independently of the exchanges: facts are stored before the summary is asked for (C181).
func TestMem0SummaryEvery(t *testing.T) {
	t.Parallel()
	w := newChatWorld(t, options{config: `{"summary_every":3}`})
	w.fake.Always("decide", llmtest.JSON(mem0.FactDecision{Operation: mem0.OpAdd}))
	var at []int
	for i := range 7 {
		before := w.fake.Calls("summarize")
		w.say(fmt.Sprintf("I own house number %d.", i))
		for _, stage := range []memory.Stage{memory.StagePrepare, memory.StageDecide} {
			for _, j := range w.claim(w.c.ID, stage, 10) {
				w.run(j)
			}
		}
		if got := len(w.all(w.c.ID, memory.KindFact)); got != i+1 || w.fake.Calls("summarize") != before {
			t.Errorf("exchange %d: %d facts after %d summaries", i+1, got, w.fake.Calls("summarize")-before)
		}
		w.drain()
		if w.fake.Calls("summarize") > before {
			at = append(at, i+1)
		}
	}
	if !slices.Equal(at, []int{3, 6}) {
		t.Errorf("the summary was written at %v", at)
	}
	s := w.all(w.c.ID, memory.KindSummary)
	if len(s) != 1 || s[0].Key != mem0.KeySummary || len(w.history(s[0].ID)) != 2 || len(s[0].Provenance.Sources) != 6 {
		t.Errorf("the summaries are %+v", s)
	}
	// A fork continues the base's count.
	fork := w.fork("other")
	for range 2 {
		w.sayIn(fork, "I own one more house.")
		w.drain()
	}
	if got := w.fake.Calls("summarize"); got != 3 {
		t.Errorf("%d summaries after the 9th exchange of a fork", got)
	}
}

// TestMem0Restart: summary and recent messages survive a restart (C180), and a new process uses the
// summary from its first answer (C183): in the context, and in the background of the next
// extraction.
func TestMem0Restart(t *testing.T) {
	t.Parallel()
	w := newChatWorld(t, options{config: `{"summary_every":2}`})
	w.script(map[string][]string{"I am a nurse.": {"User is a nurse"}, "I live in Bonn.": {"User lives in Bonn"}}, nil)
	w.fake.Always("summarize", llmtest.JSON(mem0.Summary{Summary: "User is a nurse in Bonn."}))
	w.sayAndDrain("I am a nurse.")
	w.sayAndDrain("I live in Bonn.")
	policies := must.Get(policies.All())(t)
	fresh := must.Get(recall.New(recall.Deps{Store: w.store, Embedders: w.embedders, Policies: policies, Clock: w.now}, recall.Config{}))(t)
	c, err := fresh.Context(t.Context(), w.s, w.view(w.c.ID), recall.ContextQuery{Text: "What is my job?"})
	if err != nil || !strings.Contains(c.Text, "User is a nurse in Bonn.") || !strings.Contains(c.Text, "I live in Bonn.") {
		t.Errorf("the context is %q, %v", c.Text, err)
	}
	w.sayAndDrain("Hello again.")
	asked := w.fake.RequestsOf("extract")
	var d struct {
		Summary string   `json:"summary"`
		Recent  []string `json:"recent"`
	}
	w.material(asked[len(asked)-1], &d)
	if d.Summary != "User is a nurse in Bonn." || len(d.Recent) != 2 || !strings.HasSuffix(d.Recent[0], ": I am a nurse.") {
		t.Errorf("the background is %+v", d)
	}
}

// TestMem0Expires: a task deletes an expired fact when its time has come; the fact is not found, and
// can be restored.
func TestMem0Expires(t *testing.T) {
	t.Parallel()
	w := newChatWorld(t, options{})
	w.script(map[string][]string{"I park on deck 3.": {"User parks on deck 3"}}, nil)
	ends := w.now().Add(time.Hour)
	w.sayAndDrain("I park on deck 3.", func(m *notes.NewMessage) { m.ExpiresAt = &ends })
	n := w.all(w.c.ID, memory.KindFact)
	if len(n) != 1 {
		t.Fatalf("%d facts", len(n))
	}
	w.advance(2 * time.Hour)
	w.drain()
	if got := w.texts(memory.KindFact); len(got) != 0 || len(w.found("deck")) != 0 {
		t.Errorf("live are %q", got)
	}
	if set := w.history(n[0].ID)[0].Changeset; set.Cause != memory.CauseForget {
		t.Errorf("it went by %q", set.Cause)
	}
}

// TestMem0Repeats: the same message sent again, and the same words in another message, add nothing.
// A pair of 60 KiB, one-sided pairs and other languages are accepted.
func TestMem0Repeats(t *testing.T) {
	t.Parallel()
	w := newChatWorld(t, options{heuristic: true})
	again := func(m *notes.NewMessage) { m.ID = "m1" }
	for range 3 {
		w.sayAndDrain("I live in Hamburg with my two cats.", again)
	}
	w.sayAndDrain("I live in Hamburg with my two cats.")
	if got := w.texts(memory.KindFact); len(got) != 1 {
		t.Errorf("live are %q", got)
	}
	long := strings.TrimSpace(strings.Repeat("I stayed at home all day and nothing much happened to us. ", 1050)) + " I bought a red bicycle."
	in := notes.NewMessages{Messages: []notes.NewMessage{{Role: memory.RoleUser, Content: long}, {Role: memory.RoleAssistant, Content: long}}}
	must.Get(w.notes.AddMessages(t.Context(), w.s, w.c.ID.String(), in, memory.Request{}))(t)
	in = notes.NewMessages{Messages: []notes.NewMessage{{Role: memory.RoleAssistant, Content: "I will send you the form tomorrow."}}}
	must.Get(w.notes.AddMessages(t.Context(), w.s, w.c.ID.String(), in, memory.Request{}))(t)
	w.drain()
	for _, j := range w.jobsOf(w.c.ID, memory.JobExchange) {
		if j.State != memory.JobDone {
			t.Errorf("a job is %s: %s", j.State, j.Error)
		}
	}
	if got := w.found("bicycle"); !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "bicycle") }) {
		t.Errorf("found %q", got)
	}
}

// TestMem0Share: the facts are a small share of the text of the messages (C187); quotations, which are kept without a
// model, are more, and not all that was said.
func TestMem0Share(t *testing.T) {
	t.Parallel()
	short := newChatWorld(t, options{})
	short.script(map[string][]string{
		"Pretty busy, to be honest. I started a new job at a bakery in Lisbon last Monday and I get up at four every day.": {"User started a new job at a bakery in Lisbon", "User gets up at four"}, "Good idea. My sister Clara visits me in June, so I hope that I am fit again by then.": {"User's sister Clara visits in June"},
		"Haha, she does not eat fish at all. Anyway, thanks for listening!": {"User's sister Clara eats no fish"},
	}, nil)
	for name, c := range map[string]struct {
		w     *world
		share float64
	}{"model": {short, .25}, "quotations": {newChatWorld(t, options{heuristic: true}), .6}} {
		said, stored := shareOfTalk(t, c.w)
		if stored == 0 || float64(stored) > c.share*float64(said) {
			t.Errorf("%s: %d of %d characters are stored", name, stored, said)
		}
	}
}

// shareOfTalk returns the characters of a talk, and those of the facts that are learned of it.
func shareOfTalk(t *testing.T, w *world) (said, stored int) {
	t.Helper()
	for _, pair := range [][2]string{
		{"Hi! How are you doing today? I haven't talked to you in a while.", "Hello! I am fine, thank you. It is lovely to hear from you again, how was your week?"},
		{"Pretty busy, to be honest. I started a new job at a bakery in Lisbon last Monday and I get up at four every day.", "Wow, four in the morning! That sounds tough, but fresh bread all day must be wonderful. Do you like it there?"},
		{"The people are great, so yes. What do you think, is it normal to be that tired in the first week?", "Absolutely. A new rhythm takes the body a while, two or three weeks usually. Try to sleep early and take naps in the afternoon when you can."},
		{"Good idea. My sister Clara visits me in June, so I hope that I am fit again by then.", "That will be nice! Lisbon in June is great, with all the street parties and grilled sardines everywhere."},
		{"Haha, she does not eat fish at all. Anyway, thanks for listening!", "Any time! Have a good night and sleep well."},
	} {
		w.say(pair[0], pair[1])
		said += len(pair[0]) + len(pair[1])
		w.drain()
	}
	for _, s := range w.texts(memory.KindFact) {
		stored += len(s)
		t.Logf("fact: %s", s)
	}
	t.Logf("%d of %d characters are stored: %.0f%%", stored, said, 100*float64(stored)/float64(said))
	return said, stored
}

// TestMem0Outage: while the model is down nothing is lost and nothing is written in part; afterwards
// everything is learned.
func TestMem0Outage(t *testing.T) {
	t.Parallel()
	w := newChatWorld(t, options{})
	w.script(map[string][]string{"I like tea.": {"User likes tea"}}, nil)
	w.fake.Down(true)
	w.sayAndDrain("I like tea.")
	if got := w.texts(memory.KindFact); len(got) != 0 {
		t.Errorf("learned %q of nobody", got)
	}
	w.fake.Down(false)
	w.advance(time.Minute)
	w.drain()
	if got := w.texts(memory.KindFact); !slices.Equal(got, []string{"User likes tea"}) {
		t.Errorf("live are %q", got)
	}
}

// TestMem0Changes: the incremental summary is computed from the previous one and the changes since
// alone (C185): added, deleted and changed facts; also in a fork, where the base holds the earlier
// ones.
func TestMem0Changes(t *testing.T) {
	t.Parallel()
	w := newChatWorld(t, options{config: `{"summary_every":1,"summary_mode":"incremental"}`})
	w.script(map[string][]string{
		"I like tea and live in Bonn.": {"User likes tea", "User lives in Bonn"}, "I like green tea and left Bonn.": {"User likes green tea", "User left Bonn"},
	}, map[string]verdict{
		"User likes green tea": {mem0.OpUpdate, "User likes tea", ""},
		"User left Bonn":       {mem0.OpDelete, "User lives in Bonn", ""},
	})
	w.fake.Always("summarize", llmtest.JSON(mem0.Summary{Summary: "User likes tea and lives in Bonn."}))
	w.sayAndDrain("I like tea and live in Bonn.")
	fork := w.fork("other")
	for _, c := range []uuid.UUID{fork, w.c.ID} {
		w.sayIn(c, "I like green tea and left Bonn.")
		w.drain()
		asked := w.fake.RequestsOf("summarize")
		var d struct {
			Old      string           `json:"old_summary"`
			Memories []map[string]any `json:"memories"`
			Changes  []string         `json:"changes"`
		}
		w.material(asked[len(asked)-1], &d)
		slices.Sort(d.Changes)
		want := []string{"+ User left Bonn", "+ User likes green tea", "- User likes tea", "- User lives in Bonn"}
		if d.Old != "User likes tea and lives in Bonn." || len(d.Memories) != 0 || !slices.Equal(d.Changes, want) {
			t.Errorf("made of %+v", d)
		}
	}
	if got := len(w.fake.RequestsOf("summarize")); got != 3 {
		t.Errorf("%d summaries", got)
	}
}

// TestMem0SummaryOfMany: exchanges that still wait are not counted. So 7 exchanges that are added at
// once produce two summaries with K = 3, as when they are added one by one (C182).
func TestMem0SummaryOfMany(t *testing.T) {
	t.Parallel()
	w := newChatWorld(t, options{config: `{"summary_every":3}`})
	var said []string
	for i := range 7 {
		said = append(said, fmt.Sprintf("I own house number %d.", i), "I see.")
	}
	w.say(said...)
	for _, j := range w.claim(w.c.ID, memory.StagePrepare, 100) {
		w.run(j)
	}
	for range 7 {
		for _, j := range w.claim(w.c.ID, memory.StageDecide, 1) {
			w.run(j)
		}
		for _, j := range w.claim(w.c.ID, memory.StageUpkeep, 1) {
			w.run(j)
		}
	}
	w.drain()
	if got := w.fake.Calls("summarize"); got != 2 {
		t.Errorf("%d summaries", got)
	}
	s := w.all(w.c.ID, memory.KindSummary)
	if len(s) != 1 || s[0].Attributes["exchanges"] != 6.0 {
		t.Errorf("the summary is %+v", s)
	}
}

// TestMem0Runs: where runs are scopes, each run has its own memories, also in a store.
func TestMem0Runs(t *testing.T) {
	t.Parallel()
	w := newChatWorld(t, options{config: `{"scope":"session"}`})
	w.script(map[string][]string{"I drive a van.": {"User drives a van"}, "I drive a red van.": {"User drives a red van"}},
		map[string]verdict{"User drives a red van": {mem0.OpUpdate, "User drives a van", ""}})
	for _, session := range []any{1, "b", nil} {
		w.sayAndDrain("I drive a van.", func(m *notes.NewMessage) { m.Session = session })
	}
	w.sayAndDrain("I drive a red van.", func(m *notes.NewMessage) { m.Session = 1 })
	if got := w.texts(memory.KindFact); !slices.Equal(got, []string{"User drives a red van", "User drives a van", "User drives a van"}) {
		t.Errorf("live are %q", got)
	}
}

// Facts may be quoted although there is a model, which then only decides what they do to the memories.
func TestMem0Quotations(t *testing.T) {
	t.Parallel()
	w := newChatWorld(t, options{config: `{"extraction":"quotations"}`})
	w.script(nil, nil)
	w.sayAndDrain("I live in Lisbon with my sister Berta.", on("2026-01-01"))
	w.sayAndDrain("Berta moved from Lisbon to Porto.", on("2026-01-03"))
	facts := w.all(w.c.ID, memory.KindFact)
	if len(facts) != 2 || facts[0].Analyst != memory.AnalystHeuristic || !strings.Contains(facts[1].Content, "“Berta moved from Lisbon to Porto.”") {
		t.Fatalf("%+v", facts)
	}
	if extracted, decided := w.fake.Calls("extract"), w.fake.Calls("decide"); extracted != 0 || decided != 1 {
		t.Errorf("the model was asked for facts %d times, for decisions %d times", extracted, decided)
	}
}

// What a decision says instead of a quotation takes no place of one.
func TestMem0QuotationsKeepTheirWords(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"UPDATE", "DELETE"} {
		w := newChatWorld(t, options{config: `{"extraction":"quotations"}`})
		w.fake.Always("decide", llmtest.JSON(map[string]any{"why": "", "operation": operation, "target": 0, "text": "Berta lives in Porto with User"}))
		w.sayAndDrain("I live in Lisbon with my sister Berta.", on("2026-01-01"))
		w.sayAndDrain("My sister Berta moved from Lisbon to Porto.", on("2026-01-03"))
		facts := w.texts(memory.KindFact)
		if !slices.ContainsFunc(facts, func(s string) bool { return strings.Contains(s, "“My sister Berta moved from Lisbon to Porto.”") }) ||
			slices.ContainsFunc(facts, func(s string) bool { return strings.Contains(s, "lives in") }) {
			t.Errorf("%s: %q", operation, facts)
		}
	}
}
