package bench_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/eval"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/test/must"
)

// reads are what calls read, each on average.
type reads struct {
	pages    int // of the database, cached or not: a statement that looks at all rows of a collection looks at all their pages
	versions int // of notes that were looked up by their keys, cached or not
	compared int // notes that searches compared with their filters. Conditions that all searches of a policy have are looked up
}

func (r reads) minus(o reads, calls int) reads {
	return reads{(r.pages - o.pages) / calls, (r.versions - o.versions) / calls, (r.compared - o.compared) / calls}
}

// The metrics of what is read.
var (
	pagesRead    = regexp.MustCompile(`(?m)^slipbox_database_pages_total\S* (\S+)$`)
	versionsRead = regexp.MustCompile(`(?m)^slipbox_cache_lookups_total\S*level="process"\S* (\S+)$`)
)

// reads returns what the gateway has read so far. What was recalled is counted first, which is written every second otherwise.
func (g *gateway) reads(tb testing.TB) reads {
	tb.Helper()
	must.Do(tb, g.Recall.Flush(tb.Context()))
	resp := must.Get(http.Get(g.URL() + "/metrics"))(tb)
	defer func() { _ = resp.Body.Close() }()
	text := must.Get(io.ReadAll(resp.Body))(tb)
	sum := func(metric *regexp.Regexp) (out int) {
		for _, found := range metric.FindAllSubmatch(text, -1) {
			out += int(must.Get(strconv.ParseFloat(string(found[1]), 64))(tb))
		}
		return out
	}
	out := reads{sum(pagesRead), sum(versionsRead), int(g.Recall.Stats().Compared)}
	if out.pages == 0 {
		tb.Fatalf("no pages in %s", text)
	}
	return out
}

// flatCost is what a message and what a context cost at one size of a collection.
type flatCost struct {
	messages int
	// of is what is read for "message of a bulk", "message" with its jobs, "first context" and "context", whose notes the caches have,
	// and for each part of a context alone, by its name in the contract, if there is one.
	of              map[string]reads
	messageCPU      time.Duration
	contexts, again time.Duration // of questions that are asked first, and once more
}

// flatRun is how costs are measured.
type flatRun struct {
	bulk  int // messages of a call that a collection grows by
	told  int // messages that a cost is the mean of. Summaries of mem0 are due at each 20th exchange
	asked int // contexts that a cost is the mean of
	about int // questions
}

// testRun grows by bulks, whose searches are counted. benchmarkRun grows as it measures, by what people say in turn: a bulk of 50 leaves
// about four times as much in a session of memoryos, and each message that is then measured by itself evicts five others.
var testRun, benchmarkRun = flatRun{bulk: 50, told: 40, asked: 10, about: 2}, flatRun{bulk: 2, told: 200, asked: 200, about: math.MaxInt}

// growing is a collection that grows by what people say.
type growing struct {
	flatRun

	g      *gateway
	c      memory.Collection
	client eval.Client
	turns  []said
	sent   int
}

func (s *growing) next() eval.Message {
	m := s.turns[s.sent%len(s.turns)].message
	m.Name = "" // memoryos remembers one person
	if s.sent >= len(s.turns) {
		m.Content += " " + strconv.Itoa(s.sent)
	}
	s.sent++
	return m
}

// grow adds messages until there are so many. Their jobs are done after each 50.
func (s *growing) grow(tb testing.TB, to int) {
	tb.Helper()
	for from := s.sent; s.sent < to; {
		var part []eval.Message
		for range min(s.bulk, to-s.sent) {
			part = append(part, s.next())
		}
		must.Get(s.client.AddMessages(tb.Context(), s.c.ID.String(), part))(tb)
		if (s.sent-from)%50 == 0 || s.sent == to {
			s.settle(tb)
		}
	}
}

// settle waits until no job of the collection is due.
func (s *growing) settle(tb testing.TB) {
	tb.Helper()
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		open := 0
		for _, state := range []memory.JobState{memory.JobQueued, memory.JobRunning, memory.JobQueued} {
			var page struct {
				Items []json.RawMessage `json:"items"`
			}
			req := must.Get(http.NewRequestWithContext(tb.Context(), http.MethodGet,
				fmt.Sprintf("%s/v1/jobs?collection=%s&state=%s&limit=1", s.g.URL(), s.c.ID, state), nil))(tb)
			req.Header.Set("Authorization", "Bearer "+s.g.key)
			resp := must.Get(http.DefaultClient.Do(req))(tb)
			err := json.NewDecoder(resp.Body).Decode(&page)
			_ = resp.Body.Close()
			if err != nil {
				tb.Fatal(err)
			}
			open += len(page.Items)
		}
		if open == 0 {
			return
		}
		select {
		case <-tb.Context().Done():
			tb.Fatal(tb.Context().Err())
		case <-time.After(pause):
		}
	}
}

// cost measures messages, contexts and their parts at the present size.
func (s *growing) cost(tb testing.TB, parts []string) flatCost {
	tb.Helper()
	out := flatCost{messages: s.sent, of: map[string]reads{}}
	read, used := s.g.reads(tb), processorTime(tb)
	for range s.told {
		must.Get(s.client.AddEvolved(tb.Context(), s.c.ID.String(), []eval.Message{s.next()}))(tb)
	}
	s.settle(tb)
	out.messageCPU = (processorTime(tb) - used) / time.Duration(s.told)
	out.of["message"] = s.g.reads(tb).minus(read, s.told)
	whole := map[string]any{}
	s.ask(tb, whole, 1) // its index is up to date then
	s.settle(tb)
	read, used = s.g.reads(tb), processorTime(tb)
	shown := s.ask(tb, whole, s.asked)
	out.contexts = (processorTime(tb) - used) / time.Duration(s.asked)
	out.of["first context"] = s.g.reads(tb).minus(read, s.asked)
	read, used = s.g.reads(tb), processorTime(tb)
	s.ask(tb, whole, s.asked)
	out.again = (processorTime(tb) - used) / time.Duration(s.asked)
	out.of["context"] = s.g.reads(tb).minus(read, s.asked)
	for part := range shown {
		if parts != nil && !slices.Contains(parts, part) {
			tb.Errorf("contexts show %s, which is not measured", part)
		}
	}
	for _, part := range parts {
		if !s.ask(tb, onlyPart(part), s.asked)[part] {
			continue // such notes come later
		}
		read = s.g.reads(tb)
		s.ask(tb, onlyPart(part), s.asked)
		out.of[part] = s.g.reads(tb).minus(read, s.asked)
	}
	return out
}

// onlyPart returns what limits a context to one of its parts.
func onlyPart(name string) map[string]any {
	kinds := map[string][]memory.Kind{
		"blocks": {memory.KindBlock}, "profile": {memory.KindProfile}, "knowledge": {memory.KindKnowledge}, "summaries": {memory.KindSummary},
		"entities": {memory.KindEntity}, "facts": {memory.KindFact}, "episodes": {memory.KindMessage}, "messages": {memory.KindMessage},
	}
	only := map[string]any{"filter": map[string]any{"kind": kinds[name]}}
	if name == "messages" {
		only["min_score"] = math.MaxInt32 // the newest ones are not found
	}
	return only
}

// ask builds contexts, and returns the parts that they show.
func (s *growing) ask(tb testing.TB, only map[string]any, n int) map[string]bool {
	tb.Helper()
	shown := map[string]bool{}
	for i := range n {
		body := map[string]any{"query": s.turns[(i%s.about*997)%min(s.sent, len(s.turns))].message.Content, "token_budget": 1000}
		maps.Copy(body, only)
		var answer struct {
			Parts []struct{ Kind string } `json:"parts"`
		}
		must.Do(tb, s.g.answer(tb.Context(), "/v1/collections/"+s.c.ID.String()+"/context", body, http.StatusOK, &answer))
		for _, p := range answer.Parts {
			shown[p.Kind] = true
		}
	}
	return shown
}

// flatCollection is a collection of a policy whose tasks are all due when they are made.
func (g *gateway) flatCollection(tb testing.TB, policyName string) memory.Collection {
	tb.Helper()
	if policyName == "memorybank" {
		return g.newCollectionWith(tb, policyName, `{"summary_delay":0}`)
	}
	return g.newCollection(tb, policyName)
}

// costs returns what a policy costs at some sizes. Parts are those of its contexts that are measured alone; nil: none.
func (g *gateway) costs(tb testing.TB, c memory.Collection, r flatRun, parts []string, sizes []int) (out []flatCost) {
	tb.Helper()
	s := growing{flatRun: r, g: g, c: c, client: eval.Client{BaseURL: g.URL(), Key: g.key}, turns: mixedTurns(tb)}
	for _, n := range sizes {
		read, sent := g.reads(tb), s.sent
		s.grow(tb, n)
		grown := g.reads(tb).minus(read, max(s.sent-sent, 1))
		out = append(out, s.cost(tb, parts))
		out[len(out)-1].of["message of a bulk"] = grown
	}
	return out
}

// mixedTurns returns all turns, dialogue by dialogue in a drawn order: the corpus begins with those in English, whose text costs less to
// show, and a small collection should hold and ask what a large one does.
func mixedTurns(tb testing.TB) []said {
	tb.Helper()
	turns, _ := saidTurns(tb)
	dialogues := slices.Collect(func(yield func([]said) bool) {
		for len(turns) > 0 {
			n := 1
			for n < len(turns) && turns[n].message.Session == turns[0].message.Session {
				n++
			}
			if !yield(turns[:n]) {
				return
			}
			turns = turns[n:]
		}
	})
	rand.New(rand.NewPCG(5, 7)).Shuffle(len(dialogues), func(i, j int) { dialogues[i], dialogues[j] = dialogues[j], dialogues[i] })
	return slices.Concat(dialogues...)
}

// flatSizes returns the sizes to compare: SLIPBOX_FLAT_SIZES, such as "1000,10000", or those given.
func flatSizes(tb testing.TB, otherwise ...int) (out []int) {
	tb.Helper()
	list := os.Getenv("SLIPBOX_FLAT_SIZES")
	if list == "" {
		return otherwise
	}
	for part := range strings.SplitSeq(list, ",") {
		out = append(out, must.Get(strconv.Atoi(part))(tb))
	}
	slices.Sort(out)
	return out
}

// BenchmarkFlat measures what a message costs until it is handled, and a context, in CPU time and in pages that the store
// reads, as a collection grows (SLIPBOX_FLAT_SIZES). What a small collection holds is soon in caches, so contexts are also
// measured for questions that were asked before.
func BenchmarkFlat(b *testing.B) {
	g := newGateway(b)
	for _, policyName := range g.Policies.Names() {
		b.Run(policyName, func(b *testing.B) {
			for range b.N {
				for _, c := range g.costs(b, g.flatCollection(b, policyName), benchmarkRun, nil, flatSizes(b, 1000, 10_000)) {
					at := "-at-" + strconv.Itoa(c.messages)
					b.ReportMetric(c.messageCPU.Seconds()*1000, "cpu-ms/message"+at)
					b.ReportMetric(c.contexts.Seconds()*1000, "cpu-ms/context"+at)
					b.ReportMetric(c.again.Seconds()*1000, "cpu-ms/context-again"+at)
					b.ReportMetric(float64(c.of["message"].pages), "pages/message"+at)
					b.ReportMetric(float64(c.of["first context"].pages), "pages/context"+at)
				}
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// flatPolicy is a policy, and the most that is read at 400 messages: somewhat more than was measured, since
// what was recalled is counted every second, and a context may be charged for two counts.
type flatPolicy struct {
	name, policy, config string
	most                 map[string]reads
}

func flatPolicies() []flatPolicy {
	return []flatPolicy{
		{name: "amem", most: map[string]reads{
			"message of a bulk": {470, 0, 48}, "message": {370, 0, 120}, "first context": {60, 68, 620}, "context": {50, 68, 0},
			"episodes": {50, 68, 0},
		}},
		{name: "layered", most: map[string]reads{
			"message of a bulk": {300, 0, 34}, "message": {1100, 0, 120}, "first context": {60, 90, 290}, "context": {50, 90, 0},
			"episodes": {50, 90, 0}, "knowledge": {7, 16, 0}, "messages": {3, 24, 0},
		}},
		{name: "mem0", most: map[string]reads{
			"message of a bulk": {280, 0, 9}, "message": {630, 0, 60}, "first context": {70, 80, 400}, "context": {60, 80, 0},
			"episodes": {60, 78, 0}, "facts": {70, 66, 0}, "messages": {14, 12, 0}, "summaries": {15, 2, 0},
		}},
		{name: "mem0g", most: map[string]reads{
			"message of a bulk": {295, 0, 18}, "message": {655, 0, 120}, "first context": {105, 80, 870}, "context": {95, 80, 0},
			"episodes": {100, 78, 0}, "facts": {95, 66, 0}, "messages": {65, 12, 0}, "summaries": {65, 2, 0},
		}},
		{name: "memgpt", most: map[string]reads{
			"message of a bulk": {27, 0, 0}, "message": {50, 0, 0}, "first context": {75, 78, 50}, "context": {60, 78, 0},
			"episodes": {60, 78, 0}, "messages": {15, 12, 0},
		}},
		{name: "memorybank", config: `{"summary_delay":0}`, most: map[string]reads{
			"message of a bulk": {175, 0, 0}, "message": {490, 0, 0}, "first context": {155, 84, 170}, "context": {155, 84, 0},
			"episodes": {150, 84, 0}, "messages": {18, 16, 0}, "summaries": {95, 68, 0},
		}},
		{name: "memoryos", most: map[string]reads{
			"message of a bulk": {225, 0, 0}, "message": {700, 0, 0}, "first context": {210, 90, 340}, "context": {190, 90, 16},
			"episodes": {190, 90, 0}, "knowledge": {100, 60, 0}, "messages": {12, 24, 0}, "profile": {18, 2, 0},
		}},
		{name: "none", most: map[string]reads{
			"message of a bulk": {27, 0, 0}, "message": {50, 0, 0}, "first context": {60, 68, 70}, "context": {50, 68, 0},
			"episodes": {50, 68, 0},
		}},
		{
			// Each exchange opens a session, so that another one leaves.
			name: "memoryos that evicts", policy: "memoryos", config: `{"short_capacity":1,"mid_capacity":10,"merge_threshold":11,"keyword_weight":0}`,
			most: map[string]reads{
				"message of a bulk": {315, 0, 0}, "message": {690, 0, 0}, "first context": {150, 60, 550}, "context": {145, 60, 8},
				"episodes": {150, 30, 0}, "knowledge": {120, 70, 0}, "messages": {18, 3, 0}, "profile": {25, 2, 0},
			},
		},
	}
}

// parts returns the parts that contexts of a policy have.
func (p *flatPolicy) parts() []string {
	out := slices.Sorted(maps.Keys(p.most))
	return slices.DeleteFunc(out, func(name string) bool {
		return slices.Contains([]string{"message of a bulk", "message", "first context", "context"}, name)
	})
}

// A message, a context and each part of it read as much in a small collection as in a larger one: pages of the store, versions of
// notes, and notes that are compared with filters. "make nightly" compares larger sizes.
func TestFlat(t *testing.T) {
	t.Parallel()
	for _, p := range flatPolicies() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			g := newGateway(t)
			c := g.newCollectionWith(t, cmp.Or(p.policy, p.name), p.config)
			p.check(t, g.costs(t, c, testRun, p.parts(), flatSizes(t, 100, 400)))
		})
	}
	g := newGateway(t)
	for _, name := range g.Policies.Names() {
		if !slices.ContainsFunc(flatPolicies(), func(p flatPolicy) bool { return p.name == name }) {
			t.Errorf("%s is not measured", name)
		}
	}
}

// check compares the costs at the smallest and at the largest size with each other and with the limits.
func (p *flatPolicy) check(t *testing.T, costs []flatCost) {
	t.Helper()
	small, large := costs[0], costs[len(costs)-1]
	// Trees are deeper, more of what is found is known, and an index that is replaced compares each note once for each condition.
	deeper := 1 + math.Max(0, math.Log10(float64(large.messages)/400))
	for _, name := range slices.Sorted(maps.Keys(p.most)) {
		most, before := p.most[name], small.of[name]
		now, shown := large.of[name]
		most.pages, most.versions = int(float64(most.pages)*deeper), int(float64(most.versions)*deeper)
		if _, ok := small.of[name]; ok {
			most.pages = min(most.pages, int(float64(before.pages)*(1+deeper))+100)
		}
		if large.messages > 400 {
			most.compared += 20 * large.messages / testRun.asked
		}
		if !shown || now.pages > most.pages || now.versions > most.versions || now.compared > most.compared {
			t.Errorf("%s: %s reads %+v at %d messages, %+v at %d, at most %+v", p.name, name, before, small.messages, now, large.messages, most)
		}
		t.Logf("%s: %s: %+v %+v", p.name, name, before, now)
	}
}
