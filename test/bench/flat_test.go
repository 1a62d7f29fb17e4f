package bench_test

import (
	"encoding/json"
	"fmt"
	"io"
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

var pagesRead = regexp.MustCompile(`(?m)^slipbox_database_pages_total\S* (\S+)$`)

// pages returns how many pages of the database the gateway has read, in its cache or not. A statement that looks at all rows
// of a collection to return one of them looks at all their pages.
func (g *gateway) pages(tb testing.TB) int {
	tb.Helper()
	resp := must.Get(http.Get(g.URL() + "/metrics"))(tb)
	defer func() { _ = resp.Body.Close() }()
	text := must.Get(io.ReadAll(resp.Body))(tb)
	found := pagesRead.FindSubmatch(text)
	if found == nil {
		tb.Fatalf("no pages in %s", text)
	}
	return int(must.Get(strconv.ParseFloat(string(found[1]), 64))(tb))
}

// compared returns how many notes the gateway's searches have compared with their filters. Conditions that all searches of a
// policy have are looked up.
func (g *gateway) compared() int { return int(g.Recall.Stats().Compared) }

// flatCost is what a message and what a context cost at one size of a collection.
type flatCost struct {
	messages        int
	days            int // that something was said on
	messagePages    int // of a message, its jobs included
	contextPages    int
	messageCompared int // notes that searches for a message compared with their filters
	contextCompared int
	grownCompared   int // notes compared for each message of the bulks before
	messageCPU      time.Duration
	contexts, again time.Duration // of questions that are asked first, and once more
}

// flatRun is how costs are measured.
type flatRun struct {
	bulk    int // messages of a call that a collection grows by
	sampled int // messages and contexts that a cost is the mean of. Summaries of mem0 are due at each 20th exchange
}

// testRun grows by bulks, whose searches are counted. benchmarkRun grows as it measures, by what people say in turn: a bulk of 50 leaves
// about four times as much in a session of memoryos, and each message that is then measured by itself evicts five others.
var testRun, benchmarkRun = flatRun{bulk: 50, sampled: 40}, flatRun{bulk: 2, sampled: 200}

// growing is a collection that grows by what people say.
type growing struct {
	flatRun

	g      *gateway
	c      memory.Collection
	client eval.Client
	turns  []said
	sent   int
	days   map[string]bool // that something was said on
}

func (s *growing) next() eval.Message {
	m := s.turns[s.sent%len(s.turns)].message
	m.Name = "" // memoryos remembers one person
	s.days[m.OccurredAt.Format(time.DateOnly)] = true
	if s.sent >= len(s.turns) {
		m.Content += " " + strconv.Itoa(s.sent)
	}
	s.sent++
	return m
}

// grow adds messages until there are so many. Their jobs are done at each 50th.
func (s *growing) grow(tb testing.TB, to int) {
	tb.Helper()
	for s.sent < to {
		var part []eval.Message
		for range min(s.bulk, to-s.sent) {
			part = append(part, s.next())
		}
		must.Get(s.client.AddMessages(tb.Context(), s.c.ID.String(), part))(tb)
		if s.sent%50 == 0 || s.sent == to {
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

// cost measures messages and contexts at the present size.
func (s *growing) cost(tb testing.TB) flatCost {
	tb.Helper()
	out := flatCost{messages: s.sent, days: len(s.days)}
	read, compared, used := s.g.pages(tb), s.g.compared(), processorTime(tb)
	for range s.sampled {
		must.Get(s.client.AddEvolved(tb.Context(), s.c.ID.String(), []eval.Message{s.next()}))(tb)
	}
	s.settle(tb)
	out.messagePages, out.messageCPU = (s.g.pages(tb)-read)/s.sampled, (processorTime(tb)-used)/time.Duration(s.sampled)
	out.messageCompared = (s.g.compared() - compared) / s.sampled
	query := func(i int) string { return s.turns[(i*997)%min(s.sent, len(s.turns))].message.Content }
	must.Get(s.client.Context(tb.Context(), s.c.ID.String(), query(0), 1000, 0))(tb) // its index is up to date then
	s.settle(tb)
	asked := func() time.Duration {
		used := processorTime(tb)
		for i := range s.sampled {
			must.Get(s.client.Context(tb.Context(), s.c.ID.String(), query(i), 1000, 0))(tb)
		}
		return (processorTime(tb) - used) / time.Duration(s.sampled)
	}
	read, compared = s.g.pages(tb), s.g.compared()
	out.contexts = asked()
	out.contextPages, out.contextCompared = (s.g.pages(tb)-read)/s.sampled, (s.g.compared()-compared)/s.sampled
	out.again = asked()
	return out
}

// flatCollection is a collection of a policy whose tasks are all due when they are made.
func (g *gateway) flatCollection(tb testing.TB, policyName string) memory.Collection {
	tb.Helper()
	if policyName == "memorybank" {
		return g.newCollectionWith(tb, policyName, `{"summary_delay":0}`)
	}
	return g.newCollection(tb, policyName)
}

// costs returns what a policy costs at some sizes.
func (g *gateway) costs(tb testing.TB, c memory.Collection, r flatRun, turns []said, sizes []int) (out []flatCost) {
	tb.Helper()
	s := growing{g: g, c: c, client: eval.Client{BaseURL: g.URL(), Key: g.key}, flatRun: r, turns: turns, days: map[string]bool{}}
	for _, n := range sizes {
		compared, sent := g.compared(), s.sent
		s.grow(tb, n)
		grown := (g.compared() - compared) / max(s.sent-sent, 1)
		out = append(out, s.cost(tb))
		out[len(out)-1].grownCompared = grown
	}
	return out
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
	turns, _ := saidTurns(b)
	g := newGateway(b)
	for _, policyName := range g.Policies.Names() {
		b.Run(policyName, func(b *testing.B) {
			for range b.N {
				for _, c := range g.costs(b, g.flatCollection(b, policyName), benchmarkRun, turns, flatSizes(b, 1000, 10_000)) {
					at := "-at-" + strconv.Itoa(c.messages)
					b.ReportMetric(c.messageCPU.Seconds()*1000, "cpu-ms/message"+at)
					b.ReportMetric(c.contexts.Seconds()*1000, "cpu-ms/context"+at)
					b.ReportMetric(c.again.Seconds()*1000, "cpu-ms/context-again"+at)
					b.ReportMetric(float64(c.messagePages), "pages/message"+at)
					b.ReportMetric(float64(c.contextPages), "pages/context"+at)
				}
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// A message and a context cost the same in a small collection and in a larger one: the store reads no more pages, and no more
// notes are compared with filters, for each policy and with all parts of its contexts. "make nightly" compares larger sizes.
func TestFlat(t *testing.T) {
	turns, _ := saidTurns(t)
	g := newGateway(t)
	for _, policyName := range g.Policies.Names() {
		isFlat(t, policyName, g.costs(t, g.flatCollection(t, policyName), testRun, turns, flatSizes(t, 60, 240)))
	}
	// Each exchange opens a session, so that another one leaves.
	evicts := g.newCollectionWith(t, "memoryos", `{"short_capacity":1,"mid_capacity":10,"merge_threshold":11,"keyword_weight":0}`)
	isFlat(t, "memoryos that evicts", g.costs(t, evicts, testRun, turns, flatSizes(t, 60, 240)))
}

// isFlat compares the costs at the smallest and at the largest size.
func isFlat(t *testing.T, name string, costs []flatCost) {
	t.Helper()
	small, large := costs[0], costs[len(costs)-1]
	// Years are told here in seconds: the days of memorybank all wait to be summed up.
	if limit := 3*small.messagePages/2 + 400 + large.days - small.days; large.messagePages > limit {
		t.Errorf("%s: a message reads %d pages at %d messages, %d at %d", name, small.messagePages, small.messages, large.messagePages, large.messages)
	}
	// What a context shows is read by key, through a tree that is deeper, and less of it is in a cache.
	if limit := 2*small.contextPages + 450; large.contextPages > limit {
		t.Errorf("%s: a context reads %d pages at %d messages, %d at %d", name, small.contextPages, small.messages, large.contextPages, large.messages)
	}
	for of, compared := range map[string][2]int{
		"message": {small.messageCompared, large.messageCompared}, "context": {small.contextCompared, large.contextCompared},
		"message of a bulk": {small.grownCompared, large.grownCompared},
	} {
		// An index that is replaced compares each note once for each condition.
		if compared[1] > 3*compared[0]/2+20+16*large.messages/testRun.sampled {
			t.Errorf("%s: a %s compares %d notes at %d messages, %d at %d", name, of, compared[0], small.messages, compared[1], large.messages)
		}
	}
	t.Logf("%s: %+v %+v", name, small, large)
}
