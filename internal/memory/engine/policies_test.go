package engine_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy/policies"
	"github.com/slipboxhq/slipbox/test/must"
)

// This file and the other policies_*_test.go files hold every policy to the same table: with any
// decision of a policy, the engine loses nothing, applies nothing twice and keeps only what fits. A
// new policy is in it as soon as the list of policies has it; the calls that it makes are named
// below.

// answers are good answers to every call of every policy, for the talk below.
var answers = map[string]any{
	"analyze":           map[string]any{"keywords": []string{"alice", "move", "diet"}, "context": "Alice tells of herself.", "tags": []string{"person", "life", "talk"}},
	"evolve":            json.RawMessage(`{"should_evolve":true,"actions":["strengthen"],"suggested_connections":[0],"tags_to_update":["talk"],"new_context_neighborhood":[],"new_tags_neighborhood":[],"new_keywords_neighborhood":[],"confidence":0.95}`),
	"split":             map[string]any{"parts": []string{}},
	"extract":           map[string]any{"facts": []string{"Alice lives in Shanghai.", "Alice is a vegetarian."}},
	"decide":            map[string]any{"operation": "ADD", "target": nil, "text": nil},
	"summarize":         map[string]any{"summary": "Alice lives in Shanghai and is a vegetarian."},
	"procedure":         map[string]any{"summary": "Alice moved to Shanghai."},
	"entities":          map[string]any{"entities": []any{map[string]any{"entity": "Alice", "entity_type": "person"}, map[string]any{"entity": "Shanghai", "entity_type": "place"}}},
	"relations":         map[string]any{"relations": []any{map[string]any{"source": "Alice", "relationship": "lives in", "destination": "Shanghai"}}},
	"conflicts":         map[string]any{"invalidate": []any{}},
	"daily_summary":     map[string]any{"summary": "Alice tells where she lives and what she eats.", "events": []string{"Alice moved to Shanghai."}},
	"daily_personality": map[string]any{"traits": []string{"open"}, "mood": "calm", "reply_strategy": "Ask her how she likes Shanghai."},
	"overall_history":   map[string]any{"summary": "Alice moved to Shanghai and changed what she eats."},
	"overall_personality": map[string]any{
		"portrait": "Alice is open about her life.", "reply_strategy": "Ask her how she likes Shanghai.",
	},
	"triples":       map[string]any{"triples": []any{map[string]any{"subject": "user", "relation": "place", "object": "Shanghai", "confidence": 0.9}}},
	"abstract":      map[string]any{"summary": "Alice tells of herself.", "sources": []int{0, 1}},
	"continuity":    map[string]any{"continuous": true},
	"meta_info":     map[string]any{"meta": "Alice tells of her life."},
	"multi_summary": map[string]any{"themes": []any{map[string]any{"theme": "Life", "keywords": []string{"alice", "life"}, "content": "Alice tells where she lives and what she eats.", "pages": []int{0}}}},
	"profile":       map[string]any{"dimensions": []any{map[string]any{"name": "Food", "level": "High", "evidence": "I am a vegetarian."}}, "text": "Alice tells what she eats."},
	"knowledge":     map[string]any{"user": []string{"Alice lives in Shanghai."}, "assistant": []string{"The assistant praised Shanghai."}},
	"relevance":     map[string]any{"scores": []any{}},
}

// nonsense are answers of the right form that name things that do not exist, or
// ask for far too much.
var nonsense = map[string]any{
	"analyze":             map[string]any{"keywords": slices.Repeat([]string{"pwned"}, 200), "context": strings.Repeat("pwned ", 20_000), "tags": slices.Repeat([]string{"pwned"}, 200)},
	"evolve":              json.RawMessage(`{"should_evolve":true,"actions":["strengthen","update_neighbor"],"suggested_connections":[-1,77,99999],"tags_to_update":[],"new_context_neighborhood":["","","","","","","","","pwned"],"new_tags_neighborhood":[],"new_keywords_neighborhood":[],"confidence":7}`),
	"split":               map[string]any{"parts": slices.Repeat([]string{"pwned"}, 100)},
	"extract":             map[string]any{"facts": append(slices.Repeat([]string{"", "   ", "pwned"}, 200), strings.Repeat("pwned ", 20_000), "pwned by the model")},
	"decide":              map[string]any{"operation": "DELETE", "target": 4711, "text": strings.Repeat("pwned ", 20_000)},
	"summarize":           map[string]any{"summary": strings.Repeat("pwned ", 50_000)},
	"procedure":           map[string]any{"summary": strings.Repeat("pwned ", 50_000)},
	"entities":            map[string]any{"entities": slices.Repeat([]any{map[string]any{"entity": strings.Repeat("\"pwned\"\n", 50), "entity_type": "\x01"}}, 300)},
	"relations":           map[string]any{"relations": slices.Repeat([]any{map[string]any{"source": "nobody", "relationship": strings.Repeat("is", 900), "destination": "nobody"}}, 300)},
	"conflicts":           map[string]any{"invalidate": slices.Repeat([]any{map[string]any{"source": "nobody", "relationship": "is", "destination": "nothing"}}, 300)},
	"daily_summary":       map[string]any{"summary": strings.Repeat("pwned ", 50_000), "events": slices.Repeat([]string{"pwned"}, 5_000)},
	"daily_personality":   map[string]any{"traits": slices.Repeat([]string{"pwned"}, 5_000), "mood": "", "reply_strategy": strings.Repeat("pwned ", 50_000)},
	"overall_history":     map[string]any{"summary": strings.Repeat("pwned ", 50_000)},
	"overall_personality": map[string]any{"portrait": strings.Repeat("pwned ", 50_000), "reply_strategy": strings.Repeat("pwned ", 50_000)},
	"triples":             map[string]any{"triples": slices.Repeat([]any{map[string]any{"subject": strings.Repeat("pwned ", 900), "relation": "\x01", "object": strings.Repeat("pwned ", 900), "confidence": 77}}, 300)},
	"abstract":            map[string]any{"summary": strings.Repeat("pwned ", 50_000), "sources": []int{-1, 4711}},
	"continuity":          map[string]any{"continuous": true},
	"meta_info":           map[string]any{"meta": strings.Repeat("pwned ", 50_000)},
	"multi_summary":       map[string]any{"themes": slices.Repeat([]any{map[string]any{"theme": strings.Repeat("pwned ", 900), "keywords": slices.Repeat([]string{"pwned"}, 500), "content": strings.Repeat("pwned ", 5_000), "pages": []int{-1, 0, 0, 4711}}}, 20)},
	"profile":             map[string]any{"dimensions": slices.Repeat([]any{map[string]any{"name": "pwned", "level": "High", "evidence": strings.Repeat("pwned ", 900)}}, 100), "text": strings.Repeat("pwned ", 50_000)},
	"knowledge":           map[string]any{"user": append(slices.Repeat([]string{"None", "", "pwned"}, 300), strings.Repeat("pwned ", 20_000)), "assistant": []string{"None"}},
	"relevance":           map[string]any{"scores": slices.Repeat([]any{map[string]any{"id": 4711, "score": 9}}, 100)},
}

// settings make policies do within a few exchanges what they otherwise do rarely.
var settings = map[string]string{
	"mem0":  `{"summary_every":2}`,
	"mem0g": `{"summary_every":2}`,
	// Each exchange pushes out the one before, and each session is hot.
	"memoryos": `{"short_capacity":1,"heat_threshold":2}`,
}

// talk is the conversation of most tests, an exchange a line.
var talk = [][2]string{
	{"I'm Alice. I am a vegetarian and I live in Beijing.", "Nice to meet you, Alice."},
	{"I moved from Beijing to Shanghai in May.", "Shanghai is lovely in May."},
	{"I am not a vegetarian any more. I eat fish now.", "Noted: you eat fish."},
}

// spring is the time of the talk.
var spring = time.Date(2024, 5, 20, 9, 0, 0, 0, time.UTC)

// everyPolicy runs a test for every policy.
func everyPolicy(t *testing.T, test func(t *testing.T, name string)) {
	t.Helper()
	all := must.Get(policies.All())(t)
	for _, name := range all.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, name)
		})
	}
}

// newPolicyWorld returns a world with a collection of a policy.
func newPolicyWorld(t *testing.T, name string, o options) *world {
	t.Helper()
	o.policy, o.config = name, settings[name]
	w := newWorld(t, o)
	t.Cleanup(func() {
		for _, r := range w.fake.Requests() {
			if _, ok := answers[r.Call]; !ok && r.Call != llmtest.Embed {
				t.Errorf("the call %q is not among the answers of this table", r.Call)
			}
		}
	})
	return w
}

// answer makes the model answer every call with one reply, derived from a good answer; nil: it
// answers as usual.
func (w *world) answer(reply func(call string) llmtest.Reply) {
	for call := range answers {
		if reply == nil {
			w.fake.Handle(call, nil)
			continue
		}
		w.fake.Always(call, reply(call))
	}
}

// exchange adds a line of the talk, i minutes after its start.
func (w *world) exchange(c uuid.UUID, i int, line [2]string) []memory.Note {
	w.t.Helper()
	at := spring.Add(time.Duration(i) * time.Minute)
	out := must.Get(w.notes.AddMessages(w.t.Context(), w.s, c.String(), notes.NewMessages{Messages: []notes.NewMessage{
		{Role: memory.RoleUser, Name: "Alice", Content: line[0], OccurredAt: &at},
		{Role: memory.RoleAssistant, Content: line[1], OccurredAt: &at},
	}}, memory.Request{}))(w.t)
	return out.Messages
}

// sayAll adds the whole talk.
func (w *world) sayAll(c uuid.UUID, lines ...[2]string) []memory.Note {
	w.t.Helper()
	var said []memory.Note
	for i, line := range lines {
		said = append(said, w.exchange(c, i, line)...)
	}
	return said
}

// settle runs jobs, deferred ones included, until none is left.
func (w *world) settle() {
	w.t.Helper()
	for range 500 {
		w.drain()
		if len(w.openJobs()) == 0 {
			return
		}
		w.advance(time.Minute)
		if w.pause > 0 {
			select { // an open breaker uses real time
			case <-w.t.Context().Done():
			case <-time.After(w.pause / 50):
			}
		}
	}
	for _, j := range w.openJobs() {
		w.t.Errorf("a %s job still is %q after %d tries: %s", j.Kind, j.State, j.Attempts, j.Error)
	}
}

func (w *world) openJobs() []memory.Job {
	w.t.Helper()
	return slices.DeleteFunc(w.jobs(uuid.Nil), func(j memory.Job) bool { return j.Ended() })
}

// digest returns the contents of a collection as text, without ids and times.
func (w *world) digest(c uuid.UUID) []string {
	w.t.Helper()
	var out []string
	names := map[uuid.UUID]string{}
	var ids []uuid.UUID
	for _, n := range w.all(c) {
		names[n.ID] = fmt.Sprintf("%s %q %q", n.Kind, n.Key, n.Content)
		out = append(out, fmt.Sprintf("%s (%s, %s, %v, %v, %q)", names[n.ID], n.State, n.Category, n.Tags, n.Keywords, n.Context))
		ids = append(ids, n.ID)
	}
	links := must.Get(w.store.Links(w.t.Context(), w.s, w.view(c), memory.LinkQuery{Notes: ids, Direction: memory.Outgoing}))(w.t)
	for _, l := range links {
		out = append(out, fmt.Sprintf("%s -%s-> %s", names[l.Source], l.Relation, names[l.Target]))
	}
	slices.Sort(out)
	return out
}

// independentLines returns the lines of a digest that do not depend on the order of decisions:
// messages and facts.
func independentLines(digest []string) []string {
	return slices.DeleteFunc(slices.Clone(digest), func(line string) bool {
		return strings.Contains(line, "-> ") || !strings.HasPrefix(line, "message ") && !strings.HasPrefix(line, "fact ")
	})
}

// sameDigest compares the digests of two collections.
func sameDigest(t *testing.T, what string, got, want []string) {
	t.Helper()
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("%s: too much: %s", what, line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("%s: missing: %s", what, line)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d lines, want %d", what, len(got), len(want))
	}
}

// checkCollection checks what always holds: every message exists with its words, derived notes name
// their sources, nothing exists twice, and everything is within its limits.
func (w *world) checkCollection(c uuid.UUID, said ...memory.Note) {
	w.t.Helper()
	for _, m := range said {
		if n := w.getIn(c, m.ID); n.Content != m.Content || n.Kind != memory.KindMessage || n.Attributes[memory.AttrRole] != m.Attributes[memory.AttrRole] {
			w.t.Errorf("a message says %.80q, not %.80q", n.Content, m.Content)
		}
	}
	twice := map[string]bool{}
	for _, n := range w.all(c) {
		if err := n.Check(); err != nil || !utf8.ValidString(n.Content) {
			w.t.Errorf("a %s does not fit: %v", n.Kind, err)
		}
		if n.Kind == memory.KindMessage || n.Kind == memory.KindBlock { // as they are written, or from the beginning
			continue
		}
		name := string(n.Kind) + "\n" + n.Content
		if n.Kind != memory.KindProfile && n.Kind != memory.KindSummary && twice[name] {
			w.t.Errorf("a %s is there twice: %.80q", n.Kind, n.Content)
		}
		twice[name] = true
		if len(n.Provenance.Sources) == 0 || n.Provenance.Job == nil {
			w.t.Errorf("a %s comes from nowhere: %.80q, %+v", n.Kind, n.Content, n.Provenance)
		}
		if n.State != memory.StateEvolved && n.State != memory.StateInReview {
			w.t.Errorf("a %s that was derived is %q", n.Kind, n.State)
		}
	}
	problems, err := w.store.Verify(w.t.Context())
	if err != nil || len(problems) > 0 {
		w.t.Errorf("the store has problems %v, %v", problems, err)
	}
}

// expectedDigest returns the digest of a talk without failures.
func expectedDigest(t *testing.T, name string, o options, lines ...[2]string) []string {
	t.Helper()
	w := newPolicyWorld(t, name, o)
	said := w.sayAll(w.c.ID, lines...)
	w.settle()
	w.checkCollection(w.c.ID, said...)
	return w.digest(w.c.ID)
}

// trouble is a failure of the model.
type trouble struct {
	reply   func(call string) llmtest.Reply // nil: the model is down
	breaker int
	timeout time.Duration
	passed  bool // a failed exchange is skipped, so later ones may be decided first
	bad     bool // the model answers, but its answer is useless: a policy may continue without it
	alike   bool // internal/llm makes the same failure of these: at night with every policy, else with some
	pwned   bool // the answers must leave no trace
}

func always(r llmtest.Reply) func(string) llmtest.Reply {
	return func(string) llmtest.Reply { return r }
}

// With any failure of the model, no message is lost and nothing is applied twice. When the model is
// back, the memory becomes what it would have been.
func TestPoliciesAndTrouble(t *testing.T) {
	t.Parallel()
	rows := map[string]trouble{
		"down":         {},
		"open breaker": {breaker: 2, passed: true},
		"429":          {reply: always(llmtest.Status(429, time.Second))},
		"500":          {reply: always(llmtest.Status(500, 0)), alike: true},
		// A good answer must not take as long as the timeout on a busy machine.
		"timeout":      {reply: always(llmtest.Hang()), timeout: time.Second, alike: true},
		"cut":          {reply: always(llmtest.CutBody()), alike: true},
		"no JSON":      {reply: always(llmtest.NotJSON()), alike: true},
		"no choices":   {reply: always(llmtest.NoChoices()), alike: true},
		"garbage":      {reply: always(llmtest.Text("I would rather not say")), bad: true},
		"wrong schema": {reply: always(llmtest.WrongSchema()), bad: true},
		"refusal":      {reply: always(llmtest.Refusal("I can't help with that.")), bad: true},
		"truncated":    {reply: func(call string) llmtest.Reply { return llmtest.Truncated(answers[call]) }, bad: true},
		"nonsense":     {reply: func(call string) llmtest.Reply { return llmtest.JSON(nonsense[call]) }, bad: true, pwned: true},
		"types": {reply: func(call string) llmtest.Reply {
			return llmtest.Text(strings.NewReplacer(`"`, `1`, `[`, `{"a":[`, `]`, `]}`).Replace(string(mustJSON(answers[call]))))
		}, bad: true},
	}
	everyPolicy(t, func(t *testing.T, name string) {
		t.Helper()
		want := expectedDigest(t, name, options{}, talk...)
		for i, kind := range slices.Sorted(maps.Keys(rows)) {
			r := rows[kind]
			if r.alike && (i+len(name))%3 != 0 && os.Getenv("SLIPBOX_SETUPS") != "all" {
				continue
			}
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				w := newPolicyWorld(t, name, options{breaker: r.breaker, timeout: r.timeout})
				said := w.exchange(w.c.ID, 0, talk[0])
				w.settle()
				if r.reply == nil {
					w.fake.Down(true)
				} else {
					w.answer(r.reply)
				}
				said = append(said, w.exchange(w.c.ID, 1, talk[1])...)
				said = append(said, w.exchange(w.c.ID, 2, talk[2])...)
				w.drain()
				w.advance(2 * time.Second)
				w.drain()
				w.checkWhileFailing(said, &r)
				w.fake.Down(false)
				w.answer(nil)
				w.advance(time.Minute)
				w.settle()
				w.checkCollection(w.c.ID, said...)
				switch {
				case r.bad:
				case r.passed:
					sameDigest(t, "afterwards", independentLines(w.digest(w.c.ID)), independentLines(want))
				default:
					sameDigest(t, "afterwards", w.digest(w.c.ID), want)
				}
				for _, j := range w.jobs(uuid.Nil) {
					if j.State != memory.JobDone {
						t.Errorf("a %s job is %q: %s", j.Kind, j.State, j.Error)
					}
				}
			})
		}
	})
}

func mustJSON(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

// checkWhileFailing checks what holds while the model fails.
func (w *world) checkWhileFailing(said []memory.Note, r *trouble) {
	w.t.Helper()
	w.checkCollection(w.c.ID, said...)
	for _, m := range said {
		n := w.get(m.ID)
		if n.State == memory.StatePending && n.Error == "" {
			w.t.Error("a message is pending without a reason")
		}
	}
	for _, j := range w.openJobs() {
		if r.breaker > 0 && j.Attempts > 1 {
			w.t.Errorf("a %s job has used up %d tries with the breaker open", j.Kind, j.Attempts)
		}
	}
	if !r.pwned {
		return
	}
	for _, n := range w.all(w.c.ID) {
		if len(n.Content) > 8<<10 && n.Kind != memory.KindMessage || len(n.Context) > memory.MaxContextBytes || len(n.Tags) > memory.MaxTags {
			w.t.Errorf("a %s of %d bytes was kept", n.Kind, len(n.Content))
		}
	}
}

// Good answers in unusual forms are parsed, however long they take.
func TestPoliciesAndOddAnswers(t *testing.T) {
	t.Parallel()
	rows := map[string]func(call string) llmtest.Reply{
		"fenced":  func(call string) llmtest.Reply { return llmtest.Fenced(answers[call]) },
		"thought": func(call string) llmtest.Reply { return llmtest.Think(answers[call]) },
		"slow":    func(call string) llmtest.Reply { return llmtest.Slow(30*time.Millisecond, llmtest.JSON(answers[call])) },
	}
	everyPolicy(t, func(t *testing.T, name string) {
		t.Helper()
		tell := func(t *testing.T, reply func(call string) llmtest.Reply) []string {
			t.Helper()
			w := newPolicyWorld(t, name, options{})
			w.answer(reply)
			said := w.sayAll(w.c.ID, talk...)
			w.settle()
			w.checkCollection(w.c.ID, said...)
			return w.digest(w.c.ID)
		}
		want := tell(t, func(call string) llmtest.Reply { return llmtest.JSON(answers[call]) })
		for _, kind := range slices.Sorted(maps.Keys(rows)) {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				sameDigest(t, kind, tell(t, rows[kind]), want)
			})
		}
	})
}
