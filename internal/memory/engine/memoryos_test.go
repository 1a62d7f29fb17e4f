package engine_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/engine"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memoryos"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memoryos/tiers"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

// newOSWorld returns a world whose main collection is a MemoryOS with this config.
func newOSWorld(t *testing.T, config string, o options) *world {
	t.Helper()
	o.policy, o.config = "memoryos", config
	return newWorld(t, o)
}

// tell adds an exchange and runs its jobs. An empty answer is left out.
func (w *world) tell(said, answered string) []memory.Note {
	w.t.Helper()
	texts := []string{said}
	if answered != "" {
		texts = append(texts, answered)
	}
	out := w.say(texts...).Messages
	w.drain()
	return out
}

func (w *world) tiers() *tiers.Service { return &tiers.Service{Store: w.store, Clock: w.now} }

func (w *world) sessions() []tiers.Session {
	w.t.Helper()
	w.flush()
	list := must.Get(w.tiers().Sessions(w.t.Context(), w.s, w.view(w.c.ID), tiers.OrderHeat))(w.t)
	return list
}

func (w *world) pages(session uuid.UUID) []tiers.Page {
	w.t.Helper()
	_, list, more, err := w.tiers().Session(w.t.Context(), w.s, w.view(w.c.ID), session, uuid.Nil, 10_000)
	if err != nil || more {
		w.t.Fatal(err, more)
	}
	return list
}

func (w *world) tierState() wire.Tiers {
	w.t.Helper()
	s := must.Get(w.tiers().State(w.t.Context(), w.s, w.view(w.c.ID)))(w.t)
	return s
}

// moves returns all moves, oldest first.
func (w *world) moves() []tiers.Moved {
	w.t.Helper()
	list, next, err := w.tiers().Moves(w.t.Context(), w.s, w.view(w.c.ID), uuid.Nil, 100_000)
	if err != nil || next != uuid.Nil {
		w.t.Fatal(err, next)
	}
	slices.Reverse(list)
	return list
}

func (w *world) knowledge(of string) []memory.Note {
	w.t.Helper()
	return slices.DeleteFunc(w.all(w.c.ID, memory.KindKnowledge), func(n memory.Note) bool { return n.Attributes[memoryos.AttrOf] != of })
}

// themed makes the model file all pages of a batch under a theme for each topic that their texts name. Its keywords
// are the topic's, its content names the topic.
func (w *world) themed(topics ...string) {
	w.fake.Handle(memoryos.CallThemes, func(r llmtest.Request) llmtest.Reply {
		var m struct {
			Pages []struct {
				Page     int `json:"page"`
				Messages []struct {
					Text string `json:"text"`
				} `json:"messages"`
			} `json:"pages"`
		}
		raw := r.User[strings.Index(r.User, "<memory-data>")+len("<memory-data>") : strings.LastIndex(r.User, "</memory-data>")]
		if err := json.Unmarshal([]byte(raw), &m); err != nil {
			w.t.Error(err)
		}
		var answer memoryos.ThemesAnswer
		for _, topic := range topics {
			t := memoryos.Theme{Theme: topic, Keywords: []string{topic}, Content: "They speak about " + topic + ".", Pages: []int{}}
			for _, p := range m.Pages {
				if slices.ContainsFunc(p.Messages, func(said struct {
					Text string `json:"text"`
				},
				) bool {
					return strings.Contains(strings.ToLower(said.Text), topic)
				}) {
					t.Pages = append(t.Pages, p.Page)
				}
			}
			if len(t.Pages) > 0 {
				answer.Themes = append(answer.Themes, t)
			}
		}
		if len(answer.Themes) == 0 {
			answer.Themes = []memoryos.Theme{{Theme: "other", Keywords: []string{}, Content: "They speak about nothing in particular.", Pages: []int{}}}
		}
		return llmtest.JSON(answer)
	})
}

func tierOf(n *memory.Note) string {
	switch n.Category {
	case memoryos.CategoryPage:
		return memoryos.TierMid
	case memoryos.CategoryEvicted:
		return memoryos.TierEvicted
	}
	return memoryos.TierShort
}

// C209, C210, C211: the short tier is a queue of pairs of the configured length in the order in which they were said.
// What is pushed out becomes a page, also a pair of one side; none is lost, and metadata of a message stays (C241).
func TestOSShortTier_C209(t *testing.T) {
	t.Parallel()
	w := newOSWorld(t, `{"short_capacity":3}`, options{})
	var said []memory.Note
	for i := range 5 {
		at := spring.Add(time.Duration(i) * time.Hour)
		in := notes.NewMessages{Messages: []notes.NewMessage{
			{Content: fmt.Sprintf("I water plant number %d.", i), OccurredAt: &at, Attributes: map[string]any{"room": "kitchen"}},
		}}
		if i != 1 { // the second pair has one side
			in.Messages = append(in.Messages, notes.NewMessage{Role: memory.RoleAssistant, Content: "All right.", OccurredAt: &at})
		}
		out := must.Get(w.notes.AddMessages(t.Context(), w.s, w.c.ID.String(), in, memory.Request{}))(t)
		w.drain()
		said = append(said, out.Messages...)
		if s := w.tierState(); s.Short.Pairs != min(i+1, 3) || s.Short.Capacity != 3 || s.Mid.Pages != max(0, i-2) {
			t.Errorf("after %d pairs the tiers are %+v", i+1, s)
		}
	}
	w.checkCollection(w.c.ID, said...)
	all := w.all(w.c.ID, memory.KindMessage)
	for i := range all {
		want := memoryos.TierShort
		if i < 3 {
			want = memoryos.TierMid
		}
		if n := &all[i]; n.ID != said[i].ID || tierOf(n) != want || n.OccurredAt != said[i].OccurredAt || n.State != memory.StateEvolved {
			t.Errorf("message %d is %q of %s in tier %s, %s", i, n.Content, n.OccurredAt, tierOf(n), n.State)
		}
	}
	if room := all[0].Attributes["room"]; room != "kitchen" {
		t.Errorf("the metadata is %v", room)
	}
	var pages []tiers.Page
	for _, s := range w.sessions() {
		pages = append(pages, w.pages(s.Note.ID)...)
	}
	slices.SortFunc(pages, func(a, b tiers.Page) int { return memory.CompareIDs(a.ID, b.ID) })
	if len(pages) != 2 || len(pages[0].Messages) != 2 || len(pages[1].Messages) != 1 || pages[1].Messages[0].Content != "I water plant number 1." {
		t.Errorf("the pages are %+v", pages)
	}
}

// A message that says nothing, such as a smiley, moves on like others, and nothing waits behind it.
func TestOSMessagesWithoutWords(t *testing.T) {
	t.Parallel()
	w := newOSWorld(t, `{"short_capacity":1,"heat_threshold":1}`, options{})
	for _, said := range []string{";)", "😂", "None", "…", "无", "N/A", "I have a dog."} {
		w.tell(said, "")
	}
	w.tell("😂", "👍")
	w.tell("Good night.", "")
	if s := w.tierState(); s.Mid.Pages != 8 || s.Short.Pairs != 1 || s.Mid.Sessions != 1 {
		t.Errorf("the tiers are %+v", s)
	}
	for _, s := range w.sessions() {
		if s.Note.Attributes["pending"] == true {
			t.Errorf("the session %q waits for a summary", s.Note.Content)
		}
	}
}

// Small talk opens no session: it joins the session of the exchange before it, and waits for one at the beginning. A question
// has a theme.
func TestOSSmallTalk(t *testing.T) {
	t.Parallel()
	w := newOSWorld(t, `{"short_capacity":1,"merge_threshold":2}`, options{})
	w.themed("rotterdam", "coffee", "咖啡")
	for _, said := range []string{"Hello!", "I moved to Rotterdam with my sister in May.", "haha ok", "lol", "I stopped drinking coffee because of my heart.", "好的", "I couldn't, so we didn't.", "Thanks!", "我对咖啡过敏,医生说不能再喝了。", "哈哈", "Bye!"} {
		w.tell(said, "Fine.")
	}
	var got []string
	for _, s := range w.sessions() {
		var said []string
		for _, pg := range w.pages(s.Note.ID) {
			said = append(said, pg.Messages[0].Content)
		}
		slices.Sort(said)
		got = append(got, strings.Join(said, "|"))
	}
	slices.Sort(got)
	if want := []string{"Hello!|I moved to Rotterdam with my sister in May.|haha ok|lol", "I couldn't, so we didn't.|I stopped drinking coffee because of my heart.|Thanks!|好的", "哈哈|我对咖啡过敏,医生说不能再喝了。"}; !slices.Equal(got, want) {
		t.Errorf("the sessions have %q", got)
	}
	w.checkCollection(w.c.ID)
}

// With migrate all, a full short tier leaves but for the newest exchange, as one batch whose themes are found by one
// call. With one, each exchange leaves alone.
func TestOSMigrateAll(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]struct{ calls, pairs, pages int }{"all": {1, 1, 4}, "one": {1, 4, 1}} {
		w := newOSWorld(t, fmt.Sprintf(`{"short_capacity":4,"merge_threshold":2,"migrate":%q}`, how), options{})
		w.themed("boat", "violin")
		for i, topic := range []string{"boat", "violin", "boat", "violin", "boat"} {
			w.tell(fmt.Sprintf("I bought a %s number %d in Norway.", topic, i), "Fine.")
		}
		if s := w.tierState(); s.Short.Pairs != want.pairs || s.Mid.Pages != want.pages || w.fake.Calls(memoryos.CallThemes) != want.calls {
			t.Errorf("%s: the tiers are %+v after %d calls for themes", how, s, w.fake.Calls(memoryos.CallThemes))
		}
		w.checkCollection(w.c.ID)
	}
}

// C212, C213, C215, C216: a session and its pages with all that is known of them. A page that continues the one before
// is linked with it and shares the summary of the chain; another topic begins a new chain.
func TestOSPages_C213(t *testing.T) {
	t.Parallel()
	w := newOSWorld(t, `{"short_capacity":1,"heat_threshold":100,"merge_threshold":0}`, options{})
	for i, continues := range []bool{true, true, false} {
		w.fake.Script(memoryos.CallContinuity, llmtest.JSON(memoryos.Continuity{Continuous: continues}))
		w.fake.Script(memoryos.CallMeta, llmtest.JSON(memoryos.Meta{Meta: fmt.Sprintf("Summary %d.", i)}))
	}
	w.fake.Script(memoryos.CallMeta, llmtest.JSON(memoryos.Meta{Meta: "Summary 3."}))
	w.fake.Always(memoryos.CallThemes, llmtest.JSON(memoryos.ThemesAnswer{Themes: []memoryos.Theme{{Theme: "Repairs", Keywords: []string{"bike"}, Content: "They repair a bike.", Pages: []int{0}}}}))
	before := w.now()
	said := w.tell("My bike has a flat tire.", "Patch it.")
	w.tell("With which glue?", "Any glue for rubber.")
	w.tell("And how long does it dry?", "Five minutes.")
	w.tell("What do owls eat?", "Mice.")
	w.tell("Thanks.", "You are welcome.")
	list := w.sessions()
	if len(list) != 1 {
		t.Fatalf("%d sessions", len(list))
	}
	s := &list[0]
	if s.Note.Content == "" || len(s.Note.Keywords) == 0 || len(w.get(s.Note.ID).Vector) == 0 || s.Pages != 4 || s.Fresh != 4 || s.Interaction != 4 || s.Visits != 0 ||
		s.Heat < 4 || s.Note.CreatedAt.Before(before) || s.LastVisit.Before(s.Note.CreatedAt) || s.Accesses != 0 || s.Theme == "" || s.Damaged != "" {
		t.Errorf("the session is %+v", s)
	}
	pages := w.pages(s.Note.ID)
	if len(pages) != 4 {
		t.Fatalf("%d pages", len(pages))
	}
	for i, want := range []struct {
		meta           string
		previous, next int // 1 is the first page
	}{{"Summary 2.", 0, 2}, {"Summary 2.", 1, 3}, {"Summary 2.", 2, 0}, {"Summary 3.", 0, 0}} {
		id := func(n int) uuid.UUID {
			if n == 0 {
				return uuid.Nil
			}
			return pages[n-1].ID
		}
		p := &pages[i]
		if p.Meta != want.meta || p.Previous != id(want.previous) || p.Next != id(want.next) || len(p.Messages) != 2 || p.Analyzed || p.Preloaded || p.Reason == "" {
			t.Errorf("page %d is %+v", i, p)
		}
	}
	p := &pages[0]
	first := w.get(p.ID)
	if p.ID != said[0].ID || p.Messages[1].ID != said[1].ID || !slices.Contains(p.Keywords, "bike") && !slices.Contains(p.Keywords, "flat tire") || len(first.Vector) == 0 || first.OccurredAt != said[0].OccurredAt {
		t.Errorf("the first page is %+v", p)
	}
	w.checkCollection(w.c.ID)
}

// C214: a batch with two topics gives two sessions, and each page is in one of them: the one of its theme.
func TestOSThemes_C214(t *testing.T) {
	t.Parallel()
	w := newOSWorld(t, `{"short_capacity":1,"heat_threshold":100,"keyword_weight":0,"merge_threshold":0.99}`, options{})
	w.themed("kayak", "bread")
	var said []memory.Note
	for _, topic := range []string{"kayak", "bread", "kayak", "bread", "weather"} { // the last one stays
		out := must.Get(w.notes.AddMessages(t.Context(), w.s, w.c.ID.String(), notes.NewMessages{
			Messages: []notes.NewMessage{{Content: "Once more about my " + topic + "."}, {Role: memory.RoleAssistant, Content: "Go on."}}, Infer: new(topic == "weather"), OnDuplicate: memory.DuplicateKeep,
		}, memory.Request{}))(t)
		said = append(said, out.Messages...)
	}
	w.drain()
	list := w.sessions()
	if len(list) != 2 || w.fake.Calls(memoryos.CallThemes) != 1 {
		t.Fatalf("%d sessions of %d batches", len(list), w.fake.Calls(memoryos.CallThemes))
	}
	for _, s := range list {
		pages := w.pages(s.Note.ID)
		if len(pages) != 2 || s.Pages != 2 {
			t.Errorf("the session %q has %d pages", s.Note.Content, len(pages))
		}
		for _, p := range pages {
			if !strings.Contains(p.Messages[0].Content, s.Theme) {
				t.Errorf("%q is in the session of %s", p.Messages[0].Content, s.Theme)
			}
		}
	}
	w.checkCollection(w.c.ID, said...)
}

// C220, C221, C245: a theme joins the session that matches at least as well as the threshold says, and opens one
// below it. A merge changes pages, counts, last visit, heat, summary and vector, and says why.
func TestOSMerge_C220(t *testing.T) {
	t.Parallel()
	// Two themes with one of three keywords in common, and vectors of one direction less than 1.
	match := func(t *testing.T, w *world) float64 {
		t.Helper()
		w.fake.Script(memoryos.CallThemes,
			llmtest.JSON(memoryos.ThemesAnswer{Themes: []memoryos.Theme{{Theme: "Bees", Keywords: []string{"bees", "honey"}, Content: "Mia keeps bees in her garden.", Pages: []int{0}}}}),
			llmtest.JSON(memoryos.ThemesAnswer{Themes: []memoryos.Theme{{Theme: "Hives", Keywords: []string{"bees", "hive"}, Content: "Mia builds a hive for bees in her garden.", Pages: []int{0}}}}))
		w.tell("I keep bees in my garden.", "Lovely.")
		w.tell("I build a hive for them.", "With which wood?")
		first := w.sessions()[0]
		vector := w.get(first.Note.ID).Vector
		theme := memory.Note{Content: "Mia builds a hive for bees in her garden.", Keywords: []string{"bees", "hive"}}
		em, _ := w.embedders.ByName(w.c.Embedder)
		second := must.Get(memory.EmbedAll(t.Context(), em, w.s, []string{memory.EmbedText(&theme)}))(t)
		cosine, _ := memory.Cosine(second[0].Vector, vector)
		return cosine + 1./3
	}
	measured := match(t, newOSWorld(t, `{"short_capacity":1}`, options{}))
	if measured < 0.5 || measured > 1.3 {
		t.Fatalf("the match is %.3f", measured)
	}
	for name, tt := range map[string]struct {
		threshold float64
		sessions  int
	}{"at the threshold": {measured - 1e-6, 1}, "below it": {measured + 1e-6, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newOSWorld(t, fmt.Sprintf(`{"short_capacity":1,"merge_threshold":%.9f,"heat_threshold":100}`, tt.threshold), options{})
			match(t, w)
			before := w.sessions()[0]
			was := w.get(before.Note.ID)
			w.advance(time.Hour)
			w.fake.Script(memoryos.CallThemes, llmtest.JSON(memoryos.ThemesAnswer{Themes: []memoryos.Theme{{Theme: "Beekeeping", Keywords: []string{"bees", "hive", "honey"}, Content: "Mia keeps bees and builds a hive.", Pages: []int{0}}}}))
			w.tell("Pine.", "Good choice.")
			list := w.sessions()
			if len(list) != tt.sessions {
				t.Fatalf("%d sessions, the match is %.6f", len(list), measured)
			}
			moves := w.moves()
			last := moves[len(moves)-1]
			if tt.sessions == 2 {
				if !strings.HasPrefix(last.Reason, "opened a session: the best match is 0.") {
					t.Errorf("the move is %+v", last)
				}
				return
			}
			s := list[0]
			is := w.get(s.Note.ID)
			if s.Pages != 2 || s.Interaction != 2 || !s.LastVisit.After(before.LastVisit) || s.Heat <= before.Heat || is.Content != "Mia keeps bees and builds a hive." ||
				!slices.Contains(is.Keywords, "hive") || slices.Equal(is.Vector, was.Vector) || s.Theme != "Beekeeping" {
				t.Errorf("the session was %+v and is %+v", before, s)
			}
			if !strings.HasPrefix(last.Reason, "joined the session: the match is ") || last.From != memoryos.TierShort || last.To != memoryos.TierMid || *last.Session != s.Note.ID || last.Heat < 2 || last.At.IsZero() {
				t.Errorf("the move is %+v", last)
			}
		})
	}
}

// C225, C226, C229, C234, C235: a session is hot from its fourth page on, is analyzed once and cools down. Searches and
// contexts that show a page heat its session; what was analyzed is not analyzed again. The calls and their tokens are
// counted by purpose (C244).
func TestOSHeat_C229(t *testing.T) {
	t.Parallel()
	w := newOSWorld(t, `{"short_capacity":1,"merge_threshold":0}`, options{})
	for i := range 5 {
		if n := w.fake.Calls(memoryos.CallKnowledge); n != 0 {
			t.Fatalf("analyzed %d times before pair %d", n, i)
		}
		w.tell(fmt.Sprintf("My tulips number %d are red.", i), "Nice.")
	}
	s := w.sessions()[0]
	if w.fake.Calls(memoryos.CallKnowledge) != 1 || w.fake.Calls(memoryos.CallProfile) != 1 || s.Pages != 4 || s.Fresh != 0 || s.Interaction != 0 || s.Heat > 1 {
		t.Fatalf("after %d analyses the session is %+v", w.fake.Calls(memoryos.CallKnowledge), s)
	}
	for _, p := range w.pages(s.Note.ID) {
		if !p.Analyzed {
			t.Errorf("a page is not analyzed: %+v", p)
		}
	}
	for _, j := range w.jobs(uuid.Nil)[:1] {
		var r struct {
			Calls map[string]struct {
				Calls        int   `json:"calls"`
				PromptTokens int64 `json:"prompt_tokens"`
			} `json:"calls"`
		}
		must.Do(t, json.Unmarshal(j.Result, &r))
		for _, purpose := range []string{memoryos.CallContinuity, memoryos.CallMeta, memoryos.CallThemes, memoryos.CallProfile, memoryos.CallKnowledge} {
			if c := r.Calls[purpose]; c.Calls < 1 || c.PromptTokens < 1 {
				t.Errorf("%s costs %+v", purpose, c)
			}
		}
	}
	before := s
	w.advance(time.Hour)
	for range 3 {
		if len(w.search(w.c.ID, recall.Query{Text: "tulips"})) == 0 {
			t.Fatal("nothing is found")
		}
	}
	w.context(w.c.ID, recall.ContextQuery{Text: "What color have my tulips?"})
	s = w.sessions()[0]
	if s.Visits != 4 || s.Accesses != 4 || !s.LastVisit.After(before.LastVisit) || math.Abs(s.Heat-(4+s.Recency)) > 1e-9 {
		t.Errorf("after four reads the session is %+v", s)
	}
	w.tell("Good night.", "Sleep well.") // pushes out one more pair
	s = w.sessions()[0]
	if n := w.fake.Calls(memoryos.CallKnowledge); n != 2 || s.Visits != 0 || s.Accesses != 4 || s.Heat > 1 {
		t.Errorf("after %d analyses the session is %+v", n, s)
	}
	for _, r := range w.fake.RequestsOf(memoryos.CallKnowledge)[1:] {
		if strings.Contains(r.User, "number 3") || !strings.Contains(r.User, "number 4") {
			t.Errorf("analyzed again: %s", r.User)
		}
	}
	w.tell("One more.", "Yes?")
	if n := w.fake.Calls(memoryos.CallKnowledge); n != 2 {
		t.Errorf("%d analyses", n)
	}
}

// C226: every hot session is analyzed at the next add, the hottest first: no session starves another.
func TestOSAllHotSessions_C226(t *testing.T) {
	t.Parallel()
	w := newOSWorld(t, `{"short_capacity":1,"heat_threshold":4,"keyword_weight":0,"merge_threshold":0.9,"sessions":1}`, options{})
	w.themed("kayak", "bread", "lute")
	for _, topic := range []string{"kayak", "bread", "lute", "weather"} {
		w.tell("Once more about my "+topic+".", "Go on.")
	}
	for range 3 {
		w.search(w.c.ID, recall.Query{Text: "bread"})
	}
	for range 4 {
		w.search(w.c.ID, recall.Query{Text: "lute"})
	}
	list := w.sessions()
	if len(list) != 3 || list[0].Theme != "lute" || list[1].Theme != "bread" || w.fake.Calls(memoryos.CallKnowledge) != 0 {
		t.Fatalf("the sessions are %+v", list)
	}
	for i := range list[1:] {
		if list[i].Heat < list[i+1].Heat {
			t.Errorf("session %d is not the hottest", i)
		}
	}
	w.tell("About my kayak again.", "Yes.")
	var analyzed []string
	for _, m := range w.moves() {
		if m.To == memoryos.TierLong {
			analyzed = append(analyzed, w.get(m.Note).Attributes["theme"].(string))
		}
	}
	if want := []string{"lute", "bread"}; !slices.Equal(analyzed, want) {
		t.Errorf("analyzed were %v", analyzed)
	}
}

// C230: profile and knowledge are asked for at the same time, and what one of them gives is kept when the other fails.
func TestOSParallelExtraction_C230(t *testing.T) {
	t.Parallel()
	w := newOSWorld(t, `{"short_capacity":1,"heat_threshold":2,"merge_threshold":0}`, options{})
	profile, knowledge := make(chan struct{}), make(chan struct{})
	meet := func(mine, other chan struct{}, answer any) func(llmtest.Request) llmtest.Reply {
		return func(llmtest.Request) llmtest.Reply {
			close(mine)
			select {
			case <-other:
			case <-t.Context().Done():
			}
			return llmtest.JSON(answer)
		}
	}
	w.fake.Handle(memoryos.CallProfile, meet(profile, knowledge, memoryos.Profile{Dimensions: []memoryos.Dimension{}, Text: "Mia sails."}))
	w.fake.Handle(memoryos.CallKnowledge, meet(knowledge, profile, memoryos.Knowledge{User: []string{"Mia sails."}, Assistant: []string{}}))
	w.tell("I sail.", "Ahoy.")
	w.tell("I row, and I like a good profile and knowledge.", "Ahoy.") // each call waits for the other
	if len(w.knowledge("user")) != 1 || w.keyed(w.c.ID, memory.KindProfile, memoryos.KeyProfile).Content != "Mia sails." {
		t.Fatal("nothing was learned")
	}
	for _, fails := range []string{memoryos.CallProfile, memoryos.CallKnowledge} {
		works := func(what string) {
			w.fake.Always(memoryos.CallProfile, llmtest.JSON(memoryos.Profile{Dimensions: []memoryos.Dimension{}, Text: "Mia sails and likes " + what + "."}))
			w.fake.Always(memoryos.CallKnowledge, llmtest.JSON(memoryos.Knowledge{User: []string{"Mia likes " + what + "."}, Assistant: []string{}}))
		}
		works(fails)
		w.fake.Always(fails, llmtest.Status(500, 0))
		w.tell("I like a profile and knowledge.", "Fine.")
		learned := func() (profile, knowledge bool) {
			profile = strings.Contains(w.keyed(w.c.ID, memory.KindProfile, memoryos.KeyProfile).Content, fails)
			return profile, slices.ContainsFunc(w.knowledge("user"), func(n memory.Note) bool { return strings.Contains(n.Content, fails) })
		}
		if p, k := learned(); p != (fails == memoryos.CallKnowledge) || k != (fails == memoryos.CallProfile) {
			t.Errorf("while %s fails, profile %t and knowledge %t are learned", fails, p, k)
		}
		works(fails)
		w.advance(time.Hour)
		w.settle()
		if p, k := learned(); !p || !k {
			t.Errorf("after %s failed, profile %t and knowledge %t are learned", fails, p, k)
		}
	}
	if n := len(w.knowledge("user")); n != 3 {
		t.Errorf("%d entries", n)
	}
	w.checkCollection(w.c.ID)
}

// mixedModel marks the answers of one call as quotations, and lets them end after those of another call.
type mixedModel struct {
	memory.Model
	quotes string
	other  chan struct{} // has a value when an answer of the other call is there
}

func (m mixedModel) Ask(ctx context.Context, s tenant.Scope, c memory.Call) (memory.Answer, error) {
	a, err := m.Model.Ask(ctx, s, c)
	switch c.Name {
	case memoryos.CallProfile, memoryos.CallKnowledge:
		if c.Name != m.quotes {
			m.other <- struct{}{}
			break
		}
		<-m.other
		a.Analyst = memory.AnalystHeuristic
	}
	return a, err
}

// Knowledge and sessions say who answered their own call, and knowledge by a model is checked, even when another answer, asked
// concurrently, comes later and is not by a model.
func TestOSKnowledgeHasItsOwnAnalyst(t *testing.T) {
	t.Parallel()
	for _, quotes := range []string{memoryos.CallProfile, memoryos.CallKnowledge} {
		w := newOSWorld(t, `{"short_capacity":1,"heat_threshold":1,"merge_threshold":0}`, options{
			model: func(m memory.Model) memory.Model { return mixedModel{m, quotes, make(chan struct{}, 1)} },
		})
		want := map[string]memory.Analyst{memoryos.CallProfile: memory.AnalystModel, memoryos.CallKnowledge: memory.AnalystModel}
		want[quotes] = memory.AnalystHeuristic
		for i, owned := range []string{"boat", "violin", "greenhouse", "telescope", "kiln"} {
			w.fake.Always(memoryos.CallProfile, llmtest.JSON(memoryos.Profile{Dimensions: []memoryos.Dimension{}, Text: "Mia owns a " + owned + "."}))
			w.fake.Always(memoryos.CallKnowledge, llmtest.JSON(memoryos.Knowledge{User: []string{"Mia owns a " + owned + ".", fmt.Sprintf("Mia lives in Kiel since %d.", 1990+i)}, Assistant: []string{}}))
			w.tell("My "+owned+" is old.", "I see.")
		}
		w.tell("Bye for now, I will paint my boat.", "Bye.")
		if n := w.keyed(w.c.ID, memory.KindProfile, memoryos.KeyProfile); n.Analyst != want[memoryos.CallProfile] {
			t.Errorf("the profile is by %q, want %q", n.Analyst, want[memoryos.CallProfile])
		}
		known, invented := w.knowledge("user"), 0
		for _, n := range known {
			if n.Analyst != want[memoryos.CallKnowledge] {
				t.Errorf("%q is by %q, want %q", n.Content, n.Analyst, want[memoryos.CallKnowledge])
			}
			if strings.Contains(n.Content, "Kiel") {
				invented++
			}
		}
		if checked := quotes == memoryos.CallProfile; len(known) == 0 || checked != (invented == 0) {
			t.Errorf("%s quotes: %d entries, %d that nobody said", quotes, len(known), invented)
		}
		for _, s := range w.all(w.c.ID, memory.KindSession) {
			if s.Analyst != memory.AnalystModel {
				t.Errorf("the session %q is by %q", s.Content, s.Analyst)
			}
		}
	}
}

// C231, C237: a new profile keeps old findings and adds new ones with level and evidence. A poor answer, or one about a
// dimension that is not in the catalog, changes nothing.
func TestOSProfile_C231(t *testing.T) {
	t.Parallel()
	w := newOSWorld(t, `{"short_capacity":1,"heat_threshold":2,"merge_threshold":0}`, options{})
	w.tell("I plan each day.", "I see.")
	for _, tt := range []struct {
		answer any
		want   []string // of the text and the dimensions
	}{
		{memoryos.Profile{Text: "Mia likes order.", Dimensions: []memoryos.Dimension{{Name: "order", Level: memoryos.LevelHigh, Evidence: "I plan each day."}}}, []string{"Mia likes order.", "order High I plan each day."}},
		{memoryos.Profile{Text: "", Dimensions: []memoryos.Dimension{}}, []string{"Mia likes order.", "order High I plan each day."}},
		{memoryos.Profile{Text: "A.", Dimensions: []memoryos.Dimension{}}, []string{"Mia likes order.", "order High I plan each day."}},
		{memoryos.Profile{Text: "Mia likes order.", Dimensions: []memoryos.Dimension{{Name: "shoe size", Level: memoryos.LevelHigh, Evidence: "I have big feet."}, {Name: "music", Level: memoryos.LevelLow, Evidence: "None"}}}, []string{"Mia likes order.", "order High I plan each day."}},
		{memoryos.Profile{Text: "Mia likes order and music.", Dimensions: []memoryos.Dimension{{Name: "Music", Level: memoryos.LevelMedium, Evidence: "I sing."}, {Name: "order", Level: memoryos.LevelLow, Evidence: "My desk is a mess."}}}, []string{"Mia likes order and music.", "order Low I plan each day. My desk is a mess.", "music Medium I sing."}},
		{memoryos.Profile{Text: "Mia likes order and music. Mia sails.", Dimensions: []memoryos.Dimension{}}, []string{"Mia likes order and music. Mia sails.", "order Low I plan each day. My desk is a mess.", "music Medium I sing."}},
		{memoryos.Profile{Dimensions: []memoryos.Dimension{}, Ended: []string{"Mia sails.", "order"}}, []string{"Mia likes order and music.", "music Medium I sing."}},
	} {
		w.fake.Always(memoryos.CallProfile, llmtest.JSON(tt.answer))
		w.tell("And so on.", "I see.")
		n := w.keyed(w.c.ID, memory.KindProfile, memoryos.KeyProfile)
		p := must.Get(memoryos.ReadProfileNote(&n))(t)
		got := []string{n.Content}
		for _, d := range p.Dimensions {
			got = append(got, fmt.Sprintf("%s %s %s", d.Name, d.Level, strings.Join(d.Evidence, " ")))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("after %+v the profile is %q, want %q", tt.answer, got, tt.want)
		}
	}
	n := w.keyed(w.c.ID, memory.KindProfile, memoryos.KeyProfile)
	if !slices.ContainsFunc(w.history(n.ID), func(v memory.HistoryEntry) bool { return strings.Contains(v.Note.Content, "Mia sails.") }) {
		t.Error("what ended is not in the history")
	}
	if c := w.context(w.c.ID, recall.ContextQuery{Text: "What do you know about me?"}); !strings.Contains(c.Text, "Mia likes order and music.") {
		t.Errorf("the context is %s", c.Text)
	}
	w.checkCollection(w.c.ID)
}

// C232, C233, C236, C332: what is known of the user and of the assistant, one fact for each entry with its time, its
// vector and the messages that it is from. "None" is not knowledge, and nothing is known twice. At capacity the oldest
// entry goes. Nothing crosses collections.
func TestOSKnowledge_C232(t *testing.T) {
	t.Parallel()
	w := newOSWorld(t, `{"short_capacity":1,"heat_threshold":2,"merge_threshold":0,"knowledge_capacity":3}`, options{})
	other := must.Get(w.collections.Create(t.Context(), w.s, notes.CollectionInput{Name: "other", Policy: "memoryos"}, memory.Request{}))(t)
	said := w.tell("My dog Rex is old.", "I wrote you a list of vets.")
	w.fake.Always(memoryos.CallKnowledge, llmtest.JSON(memoryos.Knowledge{User: []string{"Mia has a dog called Rex.", "None", "- none.", ""}, Assistant: []string{"The assistant wrote a list of vets.", "N/A"}}))
	w.advance(24 * time.Hour) // an entry has the time of what it is from, however late it is found
	w.tell("He sleeps.", "Good.")
	user, assistant := w.knowledge("user"), w.knowledge("assistant")
	if len(user) != 1 || len(assistant) != 1 {
		t.Fatalf("knowledge is %+v, %+v", user, assistant)
	}
	for i, n := range []memory.Note{user[0], assistant[0]} {
		full := w.get(n.ID)
		if len(full.Vector) == 0 || !full.OccurredAt.Equal(said[i].OccurredAt) || !slices.Contains(full.Provenance.Sources, said[i].ID) || len(full.Provenance.Sources) != 1 || full.Attributes["reason"] == "" {
			t.Errorf("%q is %+v", n.Content, full)
		}
	}
	w.tell("My dog Rex eats.", "Good.") // says the same
	w.fake.Always(memoryos.CallKnowledge, llmtest.JSON(memoryos.Knowledge{User: []string{"A dog, called Rex: Mia has"}, Assistant: []string{"N/A"}}))
	const owned = "Rex, my dog, guards my boat, my violin, my greenhouse and my telescope."
	w.tell(owned, "Good.") // says it in other words, with a vector that is as near as a repetition
	if len(w.knowledge("user")) != 1 || len(w.knowledge("assistant")) != 1 {
		t.Error("something is known twice")
	}
	for i := range 4 {
		w.fake.Always(memoryos.CallKnowledge, llmtest.JSON(memoryos.Knowledge{User: []string{fmt.Sprintf("Mia owns a %s.", []string{"boat", "violin", "greenhouse", "telescope"}[i])}, Assistant: []string{"None"}}))
		w.tell(owned, "Go on.")
	}
	var known []string
	for _, n := range w.knowledge("user") {
		known = append(known, n.Content)
	}
	if want := []string{"Mia owns a violin.", "Mia owns a greenhouse.", "Mia owns a telescope."}; !slices.Equal(known, want) || len(w.knowledge("assistant")) != 1 {
		t.Errorf("known is %q", known)
	}
	if hits := w.search(w.c.ID, recall.Query{Text: "telescope"}); len(hits) == 0 || hits[0].Note.Kind != memory.KindKnowledge {
		t.Errorf("found is %+v", hits)
	}
	if n := w.all(other.Collection.ID); len(n) != 0 {
		t.Errorf("the other collection has %d notes", len(n))
	}
	if hits := w.search(other.Collection.ID, recall.Query{Text: "list of vets"}); len(hits) != 0 {
		t.Errorf("the other collection finds %+v", hits)
	}
	w.checkCollection(w.c.ID)
}

// C227, C245, C333: after ten times as many sessions as there is room for, there are as many as there is room for, and
// so of knowledge. What left is in the log and found by nobody who does not ask for it; it was analyzed before, no link
// leads to it, and each session says once why it left.
func TestOSEviction_C333(t *testing.T) {
	t.Parallel()
	for _, how := range []string{memoryos.EvictLeastUsed, memoryos.EvictColdest} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			const capacity = 4
			w := newOSWorld(t, fmt.Sprintf(`{"short_capacity":1,"mid_capacity":%d,"knowledge_capacity":%d,"merge_threshold":2,"eviction":%q}`, capacity, capacity, how), options{})
			w.fake.Always(memoryos.CallProfile, llmtest.JSON(memoryos.Profile{Dimensions: []memoryos.Dimension{}}))
			w.fake.Handle(memoryos.CallKnowledge, func(r llmtest.Request) llmtest.Reply {
				i := strings.Index(r.User, "topic ")
				return llmtest.JSON(memoryos.Knowledge{User: []string{"The person speaks about " + r.User[i:i+len("topic 00")] + "."}, Assistant: []string{}})
			})
			var said []memory.Note
			for i := range 10*capacity + 1 {
				said = append(said, w.tell(fmt.Sprintf("Here is topic %02d: %s.", i, strings.Repeat(fmt.Sprintf("word%02d ", i), 3)), "I see.")...)
				w.advance(time.Minute)
			}
			w.settle()
			if s := w.tierState(); s.Mid.Sessions != capacity || s.Mid.Pages != capacity || s.Short.Pairs != 1 || s.Long.User != capacity || s.Long.Assistant != 0 {
				t.Errorf("the tiers are %+v", s)
			}
			w.checkCollection(w.c.ID, said...)
			const gone = 10*capacity - capacity
			for i := range gone {
				n := w.get(said[2*i].ID)
				if tierOf(&n) != memoryos.TierEvicted {
					t.Errorf("topic %d is in the tier %s", i, tierOf(&n))
				}
				word := fmt.Sprintf("word%02d", i)
				for _, h := range w.search(w.c.ID, recall.Query{Text: word}) {
					if h.ID == n.ID {
						t.Errorf("%s is found", word)
					}
				}
				if c := w.context(w.c.ID, recall.ContextQuery{Text: word}); strings.Contains(c.Text, word) {
					t.Errorf("a context shows %s: %s", word, c.Text)
				}
				for _, f := range []filter.Expr{nil, memory.OfKinds(memory.KindMessage)} {
					if !found(w.search(w.c.ID, recall.Query{Text: word, Hidden: true, Filter: f}), n.ID) {
						t.Errorf("%s is not found by who asks for it with the filter %v", word, f)
					}
				}
			}
			var left []uuid.UUID
			for _, m := range w.moves() {
				if m.To == memoryos.TierEvicted {
					left = append(left, m.Note)
					if !strings.Contains(m.Reason, "have room") || m.From != memoryos.TierMid {
						t.Errorf("the move is %+v", m)
					}
				}
			}
			distinct := slices.Clone(left)
			slices.SortFunc(distinct, memory.CompareIDs)
			if len(slices.Compact(distinct)) != gone || len(left) != gone {
				t.Errorf("%d sessions left", len(left))
			}
			if n := w.fake.Calls(memoryos.CallKnowledge); n != gone {
				t.Errorf("%d analyses of %d sessions that left", n, gone)
			}
		})
	}
}

// A full middle tier loses the session that was read least or is coldest, but never one of the newest: they had no time
// to be read.
func TestOSGrace_C227(t *testing.T) {
	t.Parallel()
	for _, how := range []string{memoryos.EvictLeastUsed, memoryos.EvictColdest} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w := newOSWorld(t, fmt.Sprintf(`{"short_capacity":1,"mid_capacity":4,"merge_threshold":0.9,"keyword_weight":0,"heat_threshold":1000,"sessions":1,"eviction":%q}`, how), options{})
			topics := []string{"kayak", "bread", "lute", "stamps", "glacier"}
			w.themed(topics...)
			for _, topic := range topics[:4] {
				w.tell("I bought a book about "+topic+" in Norway.", "Go on.")
			}
			w.tell("My brother plays the lute, too.", "Yes.")
			for _, topic := range []string{"kayak", "kayak", "lute", "lute", "lute", "stamps"} {
				w.search(w.c.ID, recall.Query{Text: topic})
			}
			w.flush()
			w.tell("I bought a book about glacier in Norway.", "Go on.")
			w.tell("And so on.", "Yes.")
			var left []string
			for _, s := range w.sessions() {
				left = append(left, s.Theme)
			}
			slices.Sort(left)
			if want := []string{"glacier", "kayak", "lute", "stamps"}; !slices.Equal(left, want) {
				t.Errorf("left are %v", left)
			}
		})
	}
}

// What a gateway says of a failed request in place of an answer is never content, also where the request seems to succeed: as plain
// text, as JSON, and inside of an answer.
func TestOSErrorTextsAreNoContent(t *testing.T) {
	t.Parallel()
	const said = "Error: no response of the language model"
	for name, reply := range map[string]llmtest.Reply{
		"text": llmtest.Text(said), "quoted": llmtest.Text(fmt.Sprintf("%q", said)), "object": llmtest.JSON(map[string]any{"error": said}),
		"knowledge": llmtest.JSON(memoryos.Knowledge{User: []string{said, "The person has a dog called Rex."}, Assistant: []string{said}}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newOSWorld(t, `{"short_capacity":1,"heat_threshold":2}`, options{})
			for _, call := range []string{memoryos.CallContinuity, memoryos.CallMeta, memoryos.CallThemes, memoryos.CallProfile, memoryos.CallKnowledge} {
				w.fake.Always(call, reply)
			}
			var messages []memory.Note
			for _, s := range []string{"I have a dog called Rex.", "Rex is afraid of thunder.", "I bake bread.", "Rex eats bread."} {
				messages = append(messages, w.tell(s, "Tell me more.")...)
			}
			w.checkCollection(w.c.ID, messages...)
			for _, n := range w.all(w.c.ID) {
				if strings.Contains(fmt.Sprint(n.Content, n.Context, n.Keywords, n.Attributes), said) {
					t.Errorf("a %s has the error: %q %v", n.Kind, n.Content, n.Attributes)
				}
			}
			for _, s := range w.sessions() {
				for _, p := range w.pages(s.Note.ID) {
					if strings.Contains(p.Meta, said) {
						t.Errorf("a chain has the error: %q", p.Meta)
					}
				}
			}
			if n := len(w.knowledge(memoryos.OfUser)); (n > 0) != (name == "knowledge") {
				t.Errorf("%d entries of knowledge", n)
			}
		})
	}
}

// C211: a pair moves to a session in one changeset. However often the process dies, before that is written or right after,
// no pair is lost, none is in two tiers or sessions, and each says once why it moved.
func TestOSMigrationAmongCrashes_C211(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			const capacity, pairs = 2, 10
			w := newOSWorld(t, fmt.Sprintf(`{"short_capacity":%d,"heat_threshold":3}`, capacity), options{heuristic: true, wrap: func(s engine.Store) engine.Store {
				return &mortalStore{s, rand.New(rand.NewPCG(seed, 211))}
			}})
			topics := []string{"the garden", "my bicycle", "a film"}
			var said []memory.Note
			for i := range pairs {
				said = append(said, w.say(fmt.Sprintf("I have news number %d about %s.", i, topics[i%len(topics)]), "Tell me more.").Messages...)
			}
			if deaths := w.runAmongCrashes(); deaths < pairs {
				t.Errorf("only %d deaths", deaths)
			}
			w.checkCollection(w.c.ID, said...)
			if s := w.tierState(); s.Short.Pairs != capacity || s.Mid.Pages != pairs-capacity {
				t.Errorf("the tiers are %+v", s)
			}
			sessions, moves := map[uuid.UUID]int{}, map[uuid.UUID]int{}
			for _, s := range w.sessions() {
				for _, p := range w.pages(s.Note.ID) {
					sessions[p.ID]++
				}
			}
			for _, m := range w.moves() {
				if m.To == memoryos.TierMid {
					moves[m.Note]++
				}
			}
			for i := range pairs {
				user, assistant := said[2*i], said[2*i+1]
				moved := i < pairs-capacity
				at, count := w.movedToPage(user.ID)
				if other, n := w.movedToPage(assistant.ID); n != count || other != at {
					t.Errorf("pair %d: its sides moved %d and %d times, at %d and %d", i, count, n, at, other)
				}
				if !moved {
					if count+sessions[user.ID]+moves[user.ID] > 0 {
						t.Errorf("pair %d of the short tier has moved", i)
					}
					continue
				}
				if count != 1 || sessions[user.ID] != 1 || moves[user.ID] != 1 {
					t.Errorf("pair %d moved %d times, is in %d sessions and says %d times why", i, count, sessions[user.ID], moves[user.ID])
				}
				if before, after := w.pageLinks(user.ID, at-1), w.pageLinks(user.ID, at); before != 0 || after != 1 {
					t.Errorf("pair %d is in %d sessions before its move and in %d after", i, before, after)
				}
			}
		})
	}
}

// movedToPage returns the revision at which a message became part of a page, and how often that happened.
func (w *world) movedToPage(id uuid.UUID) (at memory.Revision, count int) {
	w.t.Helper()
	versions := w.history(id)
	slices.SortFunc(versions, func(a, b memory.HistoryEntry) int { return cmp.Compare(a.Changeset.Revision, b.Changeset.Revision) })
	before := ""
	for _, v := range versions {
		if v.Note.Category == memoryos.CategoryPage && before != memoryos.CategoryPage {
			at, count = v.Changeset.Revision, count+1
		}
		before = v.Note.Category
	}
	return at, count
}

// pageLinks returns how many links of sessions lead to a message at a revision.
func (w *world) pageLinks(id uuid.UUID, at memory.Revision) int {
	w.t.Helper()
	v := must.Get(w.store.OpenView(w.t.Context(), w.s, w.c.ID.String(), memory.At{AsOf: &at}))(w.t)
	list := must.Get(w.store.Links(w.t.Context(), w.s, v, memory.LinkQuery{Notes: []uuid.UUID{id}, Direction: memory.Incoming}))(w.t)
	return len(slices.DeleteFunc(list, func(l memory.Link) bool { return l.Relation != memoryos.RelPage }))
}

// A message that a caller deletes or changes is no longer in what was derived from it: its session is summed up again,
// the profile is written again, and knowledge from it is marked.
func TestOSChangedMessages(t *testing.T) {
	t.Parallel()
	w := newOSWorld(t, `{"short_capacity":1,"heat_threshold":3,"merge_threshold":0}`, options{})
	secret := w.tell("The code of my cake box is 4711.", "I will forget it.")
	kept := w.tell("I like marble cake in a box.", "Yum.")
	w.tell("Bye.", "Bye.")
	says := func(word string) []string {
		var out []string
		for _, n := range w.all(w.c.ID) {
			raw := mustJSON(n.Attributes)
			if n.Kind != memory.KindKnowledge && (strings.Contains(n.Content, word) || strings.Contains(string(raw), word)) {
				out = append(out, fmt.Sprintf("%s %q %s", n.Kind, n.Content, raw))
			}
		}
		return out
	}
	if len(says("4711")) < 3 || len(w.knowledge("user")) != 2 {
		t.Fatalf("nothing was derived: %v, %v", says("4711"), w.knowledge("user"))
	}
	remove := func(id uuid.UUID) {
		must.Get(w.notes.Delete(t.Context(), w.s, w.c.ID.String(), id, memory.Request{}))(t)
		w.settle()
	}
	remove(secret[0].ID)
	if left := says("4711"); len(left) > 0 {
		t.Errorf("after the deletion: %v", left)
	}
	list := w.sessions()
	if len(list) != 1 || !strings.Contains(list[0].Note.Content, "marble cake") || list[0].Note.Provenance.Stale || list[0].Pages != 2 {
		t.Fatalf("the sessions are %+v", list)
	}
	pages := w.pages(list[0].Note.ID)
	if len(pages) != 2 || pages[0].ID != secret[1].ID || len(pages[0].Messages) != 1 || pages[1].ID != kept[0].ID {
		t.Errorf("the pages are %+v", pages)
	}
	for _, n := range w.knowledge("user") {
		if n.Provenance.Stale != strings.Contains(n.Content, "4711") {
			t.Errorf("%q: stale is %t", n.Content, n.Provenance.Stale)
		}
	}
	if p := w.keyed(w.c.ID, memory.KindProfile, memoryos.KeyProfile); p.Provenance.Stale || !strings.Contains(p.Content, "marble cake") {
		t.Errorf("the profile is %+v", p)
	}
	remove(secret[1].ID)
	remove(kept[0].ID)
	remove(kept[1].ID)
	if list := w.sessions(); len(list) != 0 {
		t.Errorf("the sessions are %+v", list)
	}
	w.checkCollection(w.c.ID)
}

// C242: damaged records are reported and left as they are; the rest continues.
func TestOSDamagedRecords_C242(t *testing.T) {
	t.Parallel()
	w := newOSWorld(t, `{"short_capacity":1,"heat_threshold":3,"merge_threshold":0}`, options{})
	w.tell("I keep bees.", "Nice.")
	w.tell("I sell honey.", "Nice.")
	session, profile := w.sessions()[0].Note.ID, uuid.Nil
	must.Get(w.store.Write(t.Context(), w.s, w.c.ID, memory.WriteOptions{}, func(ctx context.Context, tx memory.Tx) error {
		n := w.get(session)
		n.Attributes = map[string]any{"pages": "many"}
		if _, err := tx.Put(ctx, n); err != nil {
			return err
		}
		p, err := tx.Put(ctx, memory.Note{Kind: memory.KindProfile, Key: memoryos.KeyProfile, Content: "Mia keeps bees.", Attributes: map[string]any{"dimensions": "many"}, State: memory.StateEvolved, OccurredAt: w.now(), Importance: 0.5, Category: memory.DefaultCategory})
		profile = p.ID
		return err
	}))(t)
	for range 3 {
		w.tell("The bees swarm.", "Oh.")
	}
	w.settle()
	if n := w.get(session); n.Attributes["pages"] != "many" {
		t.Errorf("the session was overwritten: %v", n.Attributes)
	}
	if n := w.get(profile); n.Attributes["dimensions"] != "many" || n.Content != "Mia keeps bees." {
		t.Errorf("the profile was overwritten: %+v", n)
	}
	list := w.sessions()
	if len(list) != 2 || list[0].Damaged != "" || list[0].Pages != 3 || list[1].Damaged == "" {
		t.Errorf("the sessions are %+v", list)
	}
	reported := map[uuid.UUID]bool{}
	for _, j := range w.jobs(uuid.Nil) {
		var o struct {
			Damaged []memoryos.Damaged `json:"damaged"`
		}
		if err := json.Unmarshal(j.Result, &o); err == nil {
			for _, d := range o.Damaged {
				reported[d.Note] = true
			}
		}
	}
	if !reported[session] || !reported[profile] || len(w.knowledge("user")) == 0 {
		t.Errorf("reported are %v", reported)
	}
}

// C238, C239: a context holds the newest pairs and the profile whole, pages of sessions that match, and knowledge of
// the user and of the assistant. Kinds that a caller names replace the parts.
func TestOSContext_C239(t *testing.T) {
	t.Parallel()
	w := newOSWorld(t, `{"short_capacity":2,"heat_threshold":2,"merge_threshold":0}`, options{})
	w.fake.Always(memoryos.CallKnowledge, llmtest.JSON(memoryos.Knowledge{User: []string{"Mia bought a red kayak."}, Assistant: []string{"The assistant recommended a kayak course."}}))
	w.fake.Always(memoryos.CallProfile, llmtest.JSON(memoryos.Profile{Dimensions: []memoryos.Dimension{}, Text: "Mia is sporty."}))
	w.tell("I bought a kayak in Kiel.", "Take a course.")
	w.tell("It rains here.", "Stay dry.")
	w.tell("I bake bread.", "Enjoy.")
	c := w.context(w.c.ID, recall.ContextQuery{Text: "Where did I buy the kayak?"})
	for _, want := range []string{"Mia is sporty.", "I bought a kayak in Kiel.", "It rains here.", "Stay dry.", "I bake bread.", "Enjoy.", "Mia bought a red kayak.", "The assistant recommended a kayak course."} {
		if !strings.Contains(c.Text, want) {
			t.Errorf("%q is not in the context: %s", want, c.Text)
		}
	}
	kind := &filter.Leaf{Field: filter.Kind, Op: filter.Eq, Values: []filter.Value{{Type: filter.Text, Text: "session"}}}
	if hits := w.search(w.c.ID, recall.Query{Text: "kayak", Filter: kind}); len(hits) != 1 || hits[0].Note.Kind != memory.KindSession {
		t.Errorf("found is %+v", hits)
	}
}

// Searches and contexts agree on the pages of a session that a caller deletes: they are evicted, once and for all messages, and nothing
// else is. A restored session has its pages again.
func TestOSDeletedSession(t *testing.T) {
	t.Parallel()
	w := newOSWorld(t, `{"short_capacity":1,"merge_threshold":0.9,"keyword_weight":0,"heat_threshold":1000}`, options{})
	w.themed("kayak", "bread")
	var of []memory.Note
	for _, said := range []string{"I bought a kayak.", "The kayak leaks.", "I bake bread.", "Good night."} {
		of = append(of, w.tell(said, "Tell me more about it.")...)
	}
	var session uuid.UUID
	for _, s := range w.sessions() {
		if s.Theme == "kayak" {
			session = s.Note.ID
		}
	}
	is := func(when, kayak string) {
		t.Helper()
		want := []string{kayak, kayak, kayak, kayak, memoryos.TierMid, memoryos.TierMid, memoryos.TierShort, memoryos.TierShort}
		for i, n := range of {
			if n = w.get(n.ID); tierOf(&n) != want[i] {
				t.Errorf("%s: message %d is in the tier %s, want %s", when, i, tierOf(&n), want[i])
			}
		}
		for _, word := range []string{"kayak", "bread"} {
			shown := word == "bread" || kayak == memoryos.TierMid
			message := of[0].ID
			if word == "bread" {
				message = of[4].ID
			}
			if got := found(w.search(w.c.ID, recall.Query{Text: word}), message); got != shown {
				t.Errorf("%s: a search finds the %s: %t", when, word, got)
			}
			if c := w.context(w.c.ID, recall.ContextQuery{Text: word}); strings.Contains(c.Text, word) != shown {
				t.Errorf("%s: the context of %s is %s", when, word, c.Text)
			}
			if !found(w.search(w.c.ID, recall.Query{Text: word, Hidden: true, Filter: memory.OfKinds(memory.KindMessage)}), message) {
				t.Errorf("%s: the %s is not found by who asks for it", when, word)
			}
		}
	}
	is("before", memoryos.TierMid)
	then := w.get(session)
	must.Get(w.notes.Delete(t.Context(), w.s, w.c.ID.String(), session, memory.Request{}))(t)
	w.settle()
	is("deleted", memoryos.TierEvicted)
	left := 0
	for _, m := range w.moves() {
		if m.To == memoryos.TierEvicted {
			left++
			if m.Note != session || m.From != memoryos.TierMid || m.Reason != "it was deleted" {
				t.Errorf("the move is %+v", m)
			}
		}
	}
	if left != 1 {
		t.Errorf("it left %d times", left)
	}
	must.Get(w.notes.Restore(t.Context(), w.s, w.c.ID.String(), session, then.From, memory.Request{}))(t)
	w.settle()
	is("restored", memoryos.TierMid)
	if pages := w.pages(session); len(pages) != 2 {
		t.Errorf("the pages are %+v", pages)
	}
	w.checkCollection(w.c.ID)
}

// C245: the moves of a try whose answer was unusable are reported together with those of the tries after it, each once.
func TestOSMovesOfAllTries_C245(t *testing.T) {
	t.Parallel()
	w := newOSWorld(t, `{"short_capacity":1,"heat_threshold":2,"merge_threshold":0}`, options{})
	w.fake.Script(memoryos.CallKnowledge, llmtest.NotJSON(), llmtest.WrongSchema(), llmtest.WrongSchema())
	first := w.say("I keep bees.", "Lovely.").Messages
	w.drain()
	w.say("I sell honey.", "Lovely.")
	w.settle()
	var got []string
	for _, m := range w.moves() {
		got = append(got, m.From+" to "+m.To)
		if m.From == memoryos.TierShort && m.Note != first[0].ID {
			t.Errorf("the move is %+v", m)
		}
	}
	if want := []string{"short to mid", "mid to long"}; !slices.Equal(got, want) {
		t.Errorf("the moves are %v, want %v", got, want)
	}
	tried := 0
	for _, j := range w.jobs(uuid.Nil) {
		tried = max(tried, j.Attempts)
	}
	if tried == 0 {
		t.Error("no job was tried again")
	}
}
