package eval

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ModelTest asks a model every call of every policy, through a gateway.
type ModelTest struct {
	Client *Client
	Proxy  *ModelProxy // that the gateway takes for its model's endpoint
	Prefix string      // of the collections' names
	Calls  int         // exchanges, or notes, in each collection; most calls are asked about as often
	Until  time.Time   // when nothing more is asked
	// Patience is how long nothing has to change before jobs are taken for stuck, behind one
	// that waits for another try as the model gave it nothing usable.
	Patience time.Duration
	Tellf    func(format string, args ...any)
}

// Call is what became of one call.
type Call struct {
	Name     string
	Requests int // to the endpoint, repairs included
	// Questions by how they ended: good at the first try, repaired, unusable (the fallback
	// decided), or failed as the endpoint did. None for chats, which have no schema.
	Good, Repaired, Unusable, Failed int
	In, Out                          float64 // tokens of a request
	Seconds                          float64 // of a request, median
}

// Questions is how many questions ended.
func (c *Call) Questions() int { return c.Good + c.Repaired + c.Unusable + c.Failed }

// ModelReport is what a model is worth to the policies.
type ModelReport struct {
	Calls    []Call
	NotAsked []string // calls that were never asked
	Problems []string // what is stored and should not be
	Derived  int      // notes that were looked at
	Waiting  int      // jobs that are to be tried again, since the model gave nothing usable
	Refused  []string // requests that the gateway answered with an error of the model
	TimedOut bool
	Seconds  float64
}

// AllCalls are the calls of all policies, and chats.
func AllCalls() []string {
	return []string{
		"analyze", "evolve", "split", "relevance", "extract", "decide", "summarize", "procedure", "entities", "relations", "conflicts",
		"daily_summary", "daily_personality", "overall_history", "overall_personality", CallChat,
	}
}

// primes are usable answers that keep a scenario going up to the call that it is for.
var primes = map[string][]string{
	"analyze":  {`{"keywords":["pottery studio","lease","kiln"],"context":"A pottery studio opens.","tags":["pottery","business","plans"]}`},
	"extract":  {`{"facts":["Nora lives in Lisbon"]}`, `{"facts":["Nora moved from Lisbon to Porto"]}`, `{"facts":["Tomas bakes sourdough bread in Porto"]}`, `{"facts":["Nora lives in Porto"]}`},
	"decide":   {`{"operation":"ADD","target":null,"text":null}`},
	"entities": {`{"entities":[{"entity":"Nora","entity_type":"person"},{"entity":"Lisbon","entity_type":"place"},{"entity":"Porto","entity_type":"place"}]}`},
	"relations": {
		`{"relations":[{"source":"Nora","relationship":"lives_in","destination":"Lisbon"}]}`,
		`{"relations":[{"source":"Nora","relationship":"lives_in","destination":"Porto"}]}`,
	},
	"daily_summary":     {`{"summary":"Nora told of her new pottery studio.","events":["Nora signed a lease"]}`},
	"daily_personality": {`{"traits":["curious"],"mood":"glad","reply_strategy":"Ask about the studio."}`},
}

// scenario is a collection, what it is told, and what the proxy answers by itself.
type scenario struct {
	name, policy string
	config       map[string]any
	primed       []string // calls
	say          func(t *ModelTest, ctx context.Context, collection string) error
}

func scenarios() []scenario {
	soon := map[string]any{"summary_delay": 0}
	return []scenario{
		{name: "amem", policy: "amem", config: map[string]any{"split": true}, say: (*ModelTest).notes},
		{name: "amem-described", policy: "amem", config: map[string]any{"split": true}, primed: []string{"analyze"}, say: (*ModelTest).notes},
		{name: "mem0", policy: "mem0", config: map[string]any{"summary_every": 1}, say: (*ModelTest).talk},
		{name: "mem0-facts", policy: "mem0", config: map[string]any{"summary_every": 1}, primed: []string{"extract"}, say: (*ModelTest).moves},
		{name: "mem0-procedure", policy: "mem0", config: map[string]any{"memory_type": "procedural"}, say: (*ModelTest).talk},
		{name: "mem0g", policy: "mem0g", say: (*ModelTest).talk},
		{name: "mem0g-facts", policy: "mem0g", primed: []string{"extract", "decide"}, say: (*ModelTest).moves},
		{name: "mem0g-entities", policy: "mem0g", primed: []string{"extract", "decide", "entities"}, say: (*ModelTest).moves},
		{name: "mem0g-relations", policy: "mem0g", primed: []string{"extract", "decide", "entities", "relations"}, say: (*ModelTest).moves},
		{name: "memorybank", policy: "memorybank", config: soon, say: (*ModelTest).talk},
		{name: "memorybank-zh", policy: "memorybank", config: map[string]any{"summary_delay": 0, "language": "zh"}, say: (*ModelTest).talkChinese},
		{name: "memorybank-moods", policy: "memorybank", config: soon, primed: []string{"daily_summary"}, say: (*ModelTest).talk},
		{name: "memorybank-days", policy: "memorybank", config: soon, primed: []string{"daily_summary", "daily_personality"}, say: (*ModelTest).talk},
	}
}

// Run goes through all scenarios, waits for their jobs as long as they make progress, and
// looks at what is stored. An error is one of the gateway; what a model does is in the report.
func (t *ModelTest) Run(ctx context.Context) (*ModelReport, error) {
	began := time.Now()
	out := &ModelReport{}
	ends := map[string]map[string]int{}                                  // questions by call and end
	ctx, cancel := context.WithDeadline(ctx, t.Until.Add(5*time.Minute)) // to look at what there is
	defer cancel()
	for _, s := range scenarios() {
		if !time.Now().Before(t.Until) {
			out.TimedOut = true
			break
		}
		before, err := t.ends(ctx)
		if err != nil {
			return nil, err
		}
		answers := map[string][]string{}
		for _, call := range s.primed {
			answers[call] = primes[call]
		}
		t.Proxy.prime(answers)
		if err := t.play(ctx, s, out); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		after, err := t.ends(ctx)
		if err != nil {
			return nil, err
		}
		for call, of := range after {
			if slices.Contains(s.primed, call) {
				continue // the proxy's own answers
			}
			if ends[call] == nil {
				ends[call] = map[string]int{}
			}
			for end, n := range of {
				ends[call][end] += n - before[call][end]
			}
		}
	}
	t.Proxy.stop()
	out.account(t.Proxy.requests(), ends)
	if err := t.Client.do(ctx, http.MethodGet, "/readyz", nil, nil); err != nil {
		return nil, fmt.Errorf("the gateway is not ready any more: %w", err)
	}
	out.Seconds = time.Since(began).Seconds()
	return out, nil
}

// play tells one collection what its scenario says, and looks at what became of it.
func (t *ModelTest) play(ctx context.Context, s scenario, out *ModelReport) error {
	began := time.Now()
	col, err := t.Client.CreateConfigured(ctx, t.Prefix+s.name, s.policy, s.config)
	if err != nil {
		return err
	}
	if err := s.say(t, ctx, col.ID); err != nil {
		return err
	}
	waiting, over, err := t.settle(ctx, col.ID)
	if err != nil {
		return err
	}
	out.Waiting += waiting
	out.TimedOut = out.TimedOut || over
	if len(s.primed) == 0 && !over {
		out.Refused = append(out.Refused, t.read(ctx, col.ID, s.policy == "amem")...)
		if waiting, over, err = t.settle(ctx, col.ID); err != nil { // what a chat adds
			return err
		}
		out.TimedOut = out.TimedOut || over
	}
	derived, problems, err := CheckStored(ctx, t.Client, col.ID)
	if err != nil {
		return err
	}
	out.Derived += derived
	for _, p := range problems {
		out.Problems = append(out.Problems, s.name+": "+p)
	}
	t.Tellf("%s: %d derived notes, %d jobs to be tried again, %.0f s", s.name, derived, waiting, time.Since(began).Seconds())
	return nil
}

// unrelated is a note of two concepts, which A-MEM may divide.
const unrelated = "The north gate of the orchard needs a new hinge before the frost. Quarterly invoices to Lindqvist go out on the fifth by post."

func (t *ModelTest) notes(ctx context.Context, collection string) error {
	c, err := Sample()
	if err != nil {
		return err
	}
	notes := []Note{{Content: unrelated}}
	for i := range min(t.Calls, len(c.Turns)) {
		notes = append(notes, Note{Content: c.Turns[i].Text, OccurredAt: &c.Turns[i].At})
	}
	_, err = t.Client.AddNotes(ctx, collection, notes)
	return err
}

// talk tells exchanges of the sample, each of a person and an assistant, a day for every two.
func (t *ModelTest) talk(ctx context.Context, collection string) error {
	c, err := Sample()
	if err != nil {
		return err
	}
	for i := range min(t.Calls, len(c.Turns)/2) {
		messages := []Message{c.Turns[2*i].message(), c.Turns[2*i+1].message()}
		at := c.Turns[0].At.AddDate(0, 0, i/2).Add(time.Duration(i) * time.Minute)
		for j := range messages {
			messages[j].Session, messages[j].Attributes = "1", nil
			messages[j].OccurredAt = new(at.Add(time.Duration(j) * time.Second))
		}
		messages[1].Role = "assistant"
		if _, err := t.Client.AddMessages(ctx, collection, messages); err != nil {
			return err
		}
	}
	return nil
}

// moves tells what the proxy's own facts say, and nothing else.
func (t *ModelTest) moves(ctx context.Context, collection string) error {
	said := []string{
		"I live in Lisbon, and I love the light here.", "I moved from Lisbon to Porto. It rains more.",
		"You should try what Tomas bakes in Porto: sourdough bread, every morning.", "I live in Porto now, near the river.",
	}
	start := time.Date(2025, 3, 3, 9, 0, 0, 0, time.UTC)
	for i := range t.Calls {
		at := start.Add(time.Duration(i) * time.Hour)
		_, err := t.Client.AddMessages(ctx, collection, []Message{
			{Role: "user", Name: "Nora", Content: said[i%len(said)], OccurredAt: &at}, {Role: "assistant", Content: "Tell me more.", OccurredAt: &at},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// chinese is what a person says in Chinese, two days apart.
var chinese = []string{"我叫林夏，上个月搬到了杭州，在一家书店工作。", "今天很开心，我的猫阿福学会了开门。"}

func (t *ModelTest) talkChinese(ctx context.Context, collection string) error {
	start := time.Date(2025, 3, 3, 9, 0, 0, 0, time.UTC)
	for i, said := range chinese {
		at := start.AddDate(0, 0, 2*i)
		_, err := t.Client.AddMessages(ctx, collection, []Message{
			{Role: "user", Name: "林夏", Content: said, OccurredAt: &at}, {Role: "assistant", Content: "听起来真不错！", OccurredAt: &at},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// read asks what only readers ask: chats, whole and streamed, and judged searches. A
// model that fails may be an error of these; it gives their words.
func (t *ModelTest) read(ctx context.Context, collection string, judged bool) (refused []string) {
	ctx, cancel := context.WithDeadline(ctx, t.Until)
	defer cancel()
	base := "/v1/collections/" + url.PathEscape(collection)
	ask := func(path string, body map[string]any) {
		raw, err := json.Marshal(body)
		if err != nil {
			refused = append(refused, err.Error())
			return
		}
		resp, err := t.Client.send(ctx, http.MethodPost, base+path, "application/json", bytes.NewReader(raw))
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		if err != nil {
			refused = append(refused, err.Error())
		}
	}
	if judged {
		// The words of a note: the first stage lets it pass whatever the embedder.
		ask("/search", map[string]any{"query": unrelated, "k": 5, "rerank": "model"})
	}
	ask("/chat", map[string]any{"message": "What do you know of the pottery studio?"})
	ask("/chat", map[string]any{"message": "When does it open?", "stream": true, "remember": false})
	return refused
}

// settle waits until no job of a collection is left, or none gets on.
func (t *ModelTest) settle(ctx context.Context, collection string) (waiting int, over bool, err error) {
	last, since := "", time.Now()
	for ended := 0; ; {
		n, state, err := t.Client.openJobs(ctx, collection)
		switch {
		case err != nil:
			return 0, false, err
		case n > 0:
			ended = 0
		default:
			if ended++; ended == 2 { // a decision that has just ended may have put something off
				return 0, false, nil
			}
		}
		if state != last || !t.Proxy.idle() {
			last, since = state, time.Now()
		}
		if n > 0 && time.Since(since) >= t.Patience {
			return n, false, nil
		}
		if !time.Now().Before(t.Until) {
			return n, true, nil
		}
		select {
		case <-ctx.Done():
			return 0, false, fmt.Errorf("waiting for jobs: %w", ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// openJobs counts the jobs of a collection that have not ended, and tells how far they are.
func (c *Client) openJobs(ctx context.Context, collection string) (n int, state string, err error) {
	var b strings.Builder
	for _, state := range []string{"running", "queued"} {
		var page struct {
			Items []struct {
				ID       string `json:"id"`
				Attempts int    `json:"attempts"`
			} `json:"items"`
		}
		q := url.Values{"collection": {collection}, "state": {state}, "limit": {"200"}}
		if err := c.do(ctx, http.MethodGet, "/v1/jobs?"+q.Encode(), nil, &page); err != nil {
			return 0, "", err
		}
		for _, j := range page.Items {
			fmt.Fprintf(&b, "%s %s %d\n", state, j.ID, j.Attempts)
		}
		n += len(page.Items)
	}
	return n, b.String(), nil
}

var (
	answersLine = regexp.MustCompile(`^slipbox_model_answers_total\{(.*)\} ([0-9.e+]+)$`)
	labelPair   = regexp.MustCompile(`(\w+)="([^"]*)"`)
)

// ends reads from the gateway's metrics how questions ended, by call and end.
func (t *ModelTest) ends(ctx context.Context) (map[string]map[string]int, error) {
	resp, err := t.Client.send(ctx, http.MethodGet, "/metrics", "", nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	out := map[string]map[string]int{}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		m := answersLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		labels := map[string]string{}
		for _, l := range labelPair.FindAllStringSubmatch(m[1], -1) {
			labels[l[1]] = l[2]
		}
		n, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return nil, fmt.Errorf("a metric is no number: %w", err)
		}
		call := labels["slipbox_model_purpose"]
		if out[call] == nil {
			out[call] = map[string]int{}
		}
		out[call][labels["slipbox_model_answer"]] += int(n)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	return out, nil
}

// account fills in what became of each call.
func (r *ModelReport) account(requests map[string][]ModelRequest, ends map[string]map[string]int) {
	names := AllCalls()
	for _, more := range slices.Sorted(maps.Keys(requests)) {
		if !slices.Contains(names, more) {
			names = append(names, more)
		}
	}
	for _, name := range names {
		of := requests[name]
		if len(of) == 0 {
			r.NotAsked = append(r.NotAsked, name)
			continue
		}
		c := Call{Name: name, Requests: len(of), Good: ends[name]["good"], Repaired: ends[name]["repaired"], Unusable: ends[name]["unusable"], Failed: ends[name]["failed"]}
		seconds := make([]float64, len(of))
		for i, q := range of {
			seconds[i] = q.Took.Seconds()
			c.In += float64(q.In) / float64(len(of))
			c.Out += float64(q.Out) / float64(len(of))
		}
		c.Seconds = quantile(seconds, 0.5)
		r.Calls = append(r.Calls, c)
	}
}

// Err is what makes the run a failure: something stored that should not be.
func (r *ModelReport) Err() error {
	if len(r.Problems) == 0 {
		return nil
	}
	return errors.New("what is stored is not sound:\n" + strings.Join(r.Problems, "\n"))
}

// Print writes a Markdown table and what else is to be told.
func (r *ModelReport) Print(w io.Writer) error {
	var b strings.Builder
	b.WriteString("| call | requests | questions | good at once | repaired | fallback | failed | tokens in | tokens out | seconds, median |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, c := range r.Calls {
		share := func(n int) string {
			if c.Questions() == 0 {
				return "–"
			}
			return fmt.Sprintf("%.0f%%", 100*float64(n)/float64(c.Questions()))
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %s | %s | %s | %s | %.0f | %.0f | %.2f |\n", c.Name, c.Requests, c.Questions(),
			share(c.Good), share(c.Repaired), share(c.Unusable), share(c.Failed), c.In, c.Out, c.Seconds)
	}
	fmt.Fprintf(&b, "\n%d derived notes were looked at, %d of them are not as they should be; %d jobs wait for another try; %.0f s.\n", r.Derived, len(r.Problems), r.Waiting, r.Seconds)
	if len(r.NotAsked) > 0 {
		fmt.Fprintf(&b, "Not asked: %s.\n", strings.Join(r.NotAsked, ", "))
	}
	for _, refused := range r.Refused {
		fmt.Fprintf(&b, "Refused: %s\n", refused)
	}
	if r.TimedOut {
		b.WriteString("The time was over before everything was asked.\n")
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}
