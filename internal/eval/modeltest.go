package eval

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	slipbox "github.com/slipboxhq/slipbox/sdk/go"
)

// ModelTest asks a model every call of every policy, through a gateway.
type ModelTest struct {
	Client *Client
	Proxy  *ModelProxy // the endpoint of the gateway's model
	Prefix string      // of the collections' names
	Calls  int         // exchanges or notes per collection; most calls are asked about as often
	Enough int         // how often each call of a policy is asked, canned answers follow; 0: without a limit
	State  string      // file, a line for each scenario that ended; a later run continues from it. "": none
	Until  time.Time   // nothing is asked after it
	// Patience is how long nothing must change before open jobs count as stuck: a job waits for
	// its next attempt because the model's answers were unusable, and others wait behind it.
	Patience time.Duration
	Logf     func(format string, args ...any)
}

// ScenarioResult is what one scenario gave.
type ScenarioResult struct {
	Scenario string               `json:"scenario"`
	Policy   string               `json:"policy"`
	Asked    int                  `json:"asked"` // for how many exchanges or notes
	Calls    map[string]CallShare `json:"calls"` // of the model, without canned answers
	Derived  int                  `json:"derived"`
	Waiting  int                  `json:"waiting"` // jobs that wait for another attempt
	Problems []string             `json:"problems,omitempty"`
	Refused  []string             `json:"refused,omitempty"`
	CutOff   bool                 `json:"cut_off,omitempty"`
	Seconds  float64              `json:"seconds"`
}

// ModelReport is how well a model answers the calls of the policies.
type ModelReport struct {
	Calls     map[PolicyCall]CallShare
	NotAsked  []string // calls that were never asked
	Scenarios []ScenarioResult
	TimedOut  bool // some scenarios did not begin
}

// Problems returns the stored data that should not be stored.
func (r *ModelReport) Problems() (out []string) {
	for i := range r.Scenarios {
		for _, p := range r.Scenarios[i].Problems {
			out = append(out, r.Scenarios[i].Scenario+": "+p)
		}
	}
	return out
}

// CutOff returns the scenarios whose share of the time ended before their jobs did.
func (r *ModelReport) CutOff() (out []string) {
	for i := range r.Scenarios {
		if name := r.Scenarios[i].Scenario; r.Scenarios[i].CutOff && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// AllCalls returns the calls of all policies, steps of agents, and chat.
func AllCalls() []string {
	return []string{
		"analyze", "evolve", "split", "relevance", "extract", "decide", "summarize", "procedure", "entities", "relations", "conflicts",
		"daily_summary", "daily_personality", "overall_history", "overall_personality", "continuity", "meta_info", "multi_summary",
		"profile", "knowledge", "triples", "abstract", "queue_summary", CallStep, CallChat,
	}
}

// cannedAnswers are usable answers to the calls before the one that a scenario is for, and to those that were asked often
// enough.
var cannedAnswers = map[string][]string{
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
	"triples":           {`{"triples":[]}`}, // an episode that states something is in no abstract
	"continuity":        {`{"continuous":true}`},
	"evolve": {
		`{"should_evolve":false,"actions":[],"suggested_connections":[],"tags_to_update":[],"new_context_neighborhood":[],"new_tags_neighborhood":[],"new_keywords_neighborhood":[],"confidence":0.5}`,
	},
	"split":               {`{"parts":[]}`},
	"relevance":           {`{"scores":[{"id":0,"score":1}]}`},
	"summarize":           {`{"summary":"Nora moved from Lisbon to Porto."}`},
	"procedure":           {`{"summary":"Nora signed a lease."}`},
	"conflicts":           {`{"invalidate":[]}`},
	"overall_history":     {`{"summary":"Nora signed a lease for a pottery studio."}`},
	"overall_personality": {`{"portrait":"Curious.","reply_strategy":"Ask about the studio."}`},
	"meta_info":           {`{"meta":"Nora moved from Lisbon to Porto."}`},
	"profile":             {`{"dimensions":[],"text":"Nora moved from Lisbon to Porto."}`},
	"knowledge":           {`{"user":[],"assistant":[]}`},
	"abstract":            {`{"summary":"Nora ran around the lake with Ada.","sources":[0,1]}`},
	"queue_summary":       {`{"summary":"Nora lives in Lisbon."}`},
	"multi_summary":       {`{"themes":[{"theme":"a move","keywords":["Lisbon","Porto"],"content":"Nora moved from Lisbon to Porto.","pages":[0]}]}`},
}

// scenario is a collection, its messages, and the calls that the proxy answers.
type scenario struct {
	name, policy string
	config       map[string]any
	canned       []string // calls
	send         func(t *ModelTest, ctx context.Context, collection string) error
	agent        bool // nothing is derived, and chats are steps
}

func scenarios() []scenario {
	soon := map[string]any{"summary_delay": 0}
	return []scenario{
		{name: "amem", policy: "amem", config: map[string]any{"split": true}, send: (*ModelTest).addNotes},
		{name: "amem-described", policy: "amem", config: map[string]any{"split": true}, canned: []string{"analyze"}, send: (*ModelTest).addNotes},
		{name: "mem0", policy: "mem0", config: map[string]any{"summary_every": 1}, send: (*ModelTest).addTalk},
		{name: "mem0-facts", policy: "mem0", config: map[string]any{"summary_every": 1}, canned: []string{"extract"}, send: (*ModelTest).addMoves},
		{name: "mem0-procedure", policy: "mem0", config: map[string]any{"memory_type": "procedural"}, send: (*ModelTest).addTalk},
		{name: "mem0g", policy: "mem0g", send: (*ModelTest).addTalk},
		{name: "mem0g-facts", policy: "mem0g", canned: []string{"extract", "decide"}, send: (*ModelTest).addMoves},
		{name: "mem0g-entities", policy: "mem0g", canned: []string{"extract", "decide", "entities"}, send: (*ModelTest).addMoves},
		{name: "mem0g-relations", policy: "mem0g", canned: []string{"extract", "decide", "entities", "relations"}, send: (*ModelTest).addMoves},
		{name: "memorybank", policy: "memorybank", config: soon, send: (*ModelTest).addTalk},
		{name: "memorybank-zh", policy: "memorybank", config: map[string]any{"summary_delay": 0, "language": "zh"}, send: (*ModelTest).addChineseTalk},
		{name: "memorybank-moods", policy: "memorybank", config: soon, canned: []string{"daily_summary"}, send: (*ModelTest).addTalk},
		{name: "memoryos", policy: "memoryos", config: map[string]any{"short_capacity": 1, "heat_threshold": 0}, send: (*ModelTest).addMoves},
		{
			name: "memoryos-themes", policy: "memoryos", config: map[string]any{"short_capacity": 1, "heat_threshold": 0},
			canned: []string{"continuity", "multi_summary"}, send: (*ModelTest).addMoves,
		},
		{
			name: "layered", policy: "layered", canned: []string{"triples"}, send: (*ModelTest).addEpisodes, config: map[string]any{
				"importance_threshold": 0, "consolidate_every": 0, "abstract_cosine": 0.1,
			},
		},
		{name: "layered-triples", policy: "layered", send: (*ModelTest).addMoves},
		{name: "memgpt", policy: "memgpt", config: map[string]any{"max_steps": 2}, send: (*ModelTest).askAgent, agent: true},
		{name: "memorybank-days", policy: "memorybank", config: soon, canned: []string{"daily_summary", "daily_personality"}, send: (*ModelTest).addTalk},
	}
}

// Run runs the scenarios that the state does not have whole, waits for their jobs as long as they make progress, and checks
// what is stored. A scenario may take an equal share of the time that is left, so that a slow model is asked all calls, if
// less often. It returns an error when the gateway fails; failures of the model are in the report.
func (t *ModelTest) Run(ctx context.Context) (*ModelReport, error) {
	out := &ModelReport{Calls: map[PolicyCall]CallShare{}}
	done, state, err := t.openState()
	if err != nil {
		return nil, err
	}
	defer func() { _ = state.Close() }()
	for i := range done {
		out.add(done[i])
	}
	ctx, cancel := context.WithDeadline(ctx, t.Until.Add(5*time.Minute)) // time to check the results
	defer cancel()
	all := scenarios()
	for i, s := range all {
		if slices.ContainsFunc(done, func(r ScenarioResult) bool { return r.Scenario == s.name && r.Asked >= t.Calls && !r.CutOff }) {
			continue
		}
		share := time.Until(t.Until) / time.Duration(len(all)-i)
		if share <= 0 {
			out.TimedOut = true
			break
		}
		asked := map[PolicyCall]int{}
		for of, c := range out.Calls {
			asked[of] = c.Requests - len(t.Proxy.requests()[of])
		}
		t.Proxy.limit(t.Enough, asked)
		r, err := t.runScenario(ctx, s, share)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		out.add(r)
		t.Logf("%d of %d, %s: %d derived notes, %d jobs wait for another attempt, %.0f s", i+1, len(all), s.name, r.Derived, r.Waiting, r.Seconds)
		if err := json.NewEncoder(state).Encode(r); err != nil {
			return nil, fmt.Errorf("write the state: %w", err)
		}
	}
	t.Proxy.stop()
	for _, name := range AllCalls() {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(out.Calls)), func(of PolicyCall) bool { return of.Call == name }) {
			out.NotAsked = append(out.NotAsked, name)
		}
	}
	if err := t.Client.do(ctx, http.MethodGet, "/readyz", nil, nil); err != nil {
		return nil, fmt.Errorf("the gateway is no longer ready: %w", err)
	}
	return out, nil
}

// openState returns what an earlier run has written, and where this one writes.
func (t *ModelTest) openState() (done []ScenarioResult, state io.WriteCloser, err error) {
	if t.State == "" {
		return nil, nopCloser{io.Discard}, nil
	}
	if done, err = readLines[ScenarioResult](t.State); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, err
	}
	state, err = os.OpenFile(t.State, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open the state: %w", err)
	}
	return done, state, nil
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// add adds what a scenario gave.
func (r *ModelReport) add(s ScenarioResult) {
	r.Scenarios = append(r.Scenarios, s)
	for call, share := range s.Calls {
		of := PolicyCall{s.Policy, call}
		sum := r.Calls[of]
		sum.add(share)
		r.Calls[of] = sum
	}
}

// smallModel returns settings of a policy under which a model of a hundred million parameters comes to an end on two
// cores: it reads at most about a thousand tokens of a call, and writes at most 256.
func smallModel(policy string) map[string]any {
	switch policy {
	case "amem":
		return map[string]any{"max_tokens": 256, "k_neighbours": 2, "prompt_chars": 1000, "neighbour_chars": 300, "linked_chars": 100}
	case "mem0", "mem0g":
		return map[string]any{"max_tokens": 256, "recent_messages": 2, "recent_chars": 200, "message_chars": 600, "similar": 3, "max_facts": 4, "summary_chars": 400}
	case "memorybank":
		return map[string]any{"max_tokens": 256, "material_chars": 1500, "summary_chars": 300, "overall_chars": 400}
	case "memoryos":
		return map[string]any{"max_tokens": 256, "material_chars": 1500}
	case "layered":
		return map[string]any{"max_tokens": 256}
	}
	return map[string]any{}
}

// runScenario fills one collection as its scenario says, waits for its jobs up to a time, asks as readers do, and checks
// the result.
func (t *ModelTest) runScenario(ctx context.Context, s scenario, share time.Duration) (out ScenarioResult, err error) {
	out = ScenarioResult{Scenario: s.name, Policy: s.policy, Asked: t.Calls}
	answers := map[string][]string{}
	for _, call := range s.canned {
		answers[call] = cannedAnswers[call]
	}
	t.Proxy.begin(s.policy, answers)
	before, err := t.counts(ctx)
	if err != nil {
		return out, err
	}
	began := time.Now()
	if err := t.fill(ctx, s, began.Add(share), &out); err != nil {
		return out, err
	}
	after, err := t.counts(ctx)
	out.Calls = since(after, before, t.Proxy.cannedSince(), t.Proxy.given())
	out.Seconds = time.Since(began).Seconds()
	return out, err
}

// counts returns what each call of the model took so far.
func (t *ModelTest) counts(ctx context.Context) (map[string]CallShare, error) {
	return (&ModelDialogues{Client: t.Client, Proxy: t.Proxy}).use(ctx)
}

// since returns what the calls took in between. Canned answers, which are good, do not count, nor what was given up.
func since(after, before map[string]CallShare, canned, given map[string]int) map[string]CallShare {
	out := map[string]CallShare{}
	for call, now := range after {
		b := before[call]
		now.add(CallShare{-b.Requests, -b.Good - canned[call], -b.Repaired, -b.Unusable, -b.Failed - given[call], -b.In, -b.Out, -b.Seconds})
		now.Good, now.Failed = max(now.Good, 0), max(now.Failed, 0)
		if now.Requests > 0 {
			out[call] = now
		}
	}
	return out
}

func (t *ModelTest) fill(ctx context.Context, s scenario, until time.Time, out *ScenarioResult) (err error) {
	config := smallModel(s.policy)
	maps.Copy(config, s.config)
	col, err := t.Client.CreateConfigured(ctx, t.Prefix+s.name, s.policy, config)
	if err != nil {
		return err
	}
	if err := s.send(t, ctx, col.ID); err != nil {
		return err
	}
	if out.Waiting, out.CutOff, err = t.waitForJobs(ctx, col.ID, until); err != nil {
		return err
	}
	if out.CutOff {
		t.Proxy.cut()
		if err := t.Client.cancelJobs(ctx, col.ID); err != nil {
			return err
		}
		if err := t.untilIdle(ctx); err != nil {
			return err
		}
	}
	// What waits would ask again during the next scenario, and get the canned answers that are meant for that one.
	defer func() { err = errors.Join(err, t.Client.cancelJobs(ctx, col.ID)) }()
	if s.agent {
		return nil
	}
	if len(s.canned) == 0 {
		out.Refused = t.askReaders(ctx, col.ID, s.policy == "amem")
		if out.Waiting, _, err = t.waitForJobs(ctx, col.ID, until); err != nil { // a chat adds messages
			return err
		}
	}
	out.Derived, out.Problems, err = checkStored(ctx, t.Client, col.ID, out.CutOff)
	return err
}

// twoConcepts is a note about two things, which A-MEM may split.
const twoConcepts = "The north gate of the orchard needs a new hinge before the frost. Quarterly invoices to Lindqvist go out on the fifth by post."

func (t *ModelTest) addNotes(ctx context.Context, collection string) error {
	c, err := Sample()
	if err != nil {
		return err
	}
	notes := []Note{{Content: twoConcepts}}
	for i := range min(t.Calls, len(c.Turns)) {
		notes = append(notes, Note{Content: c.Turns[i].Text, OccurredAt: &c.Turns[i].At})
	}
	_, err = t.Client.AddNotes(ctx, collection, notes)
	return err
}

// addTalk adds exchanges of the sample between a person and an assistant, two per day.
func (t *ModelTest) addTalk(ctx context.Context, collection string) error {
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

// addMoves adds messages that say the same as the canned facts.
func (t *ModelTest) addMoves(ctx context.Context, collection string) error {
	said := []string{
		"I live in Lisbon, and I love the light here.", "I moved from Lisbon to Porto. It rains more.",
		"You should try what Tomas bakes in Porto: sourdough bread, every morning.", "I live in Porto now, near the river.",
	}
	start := time.Date(2025, 3, 3, 9, 0, 0, 0, time.UTC)
	for i := range t.Calls + 1 { // some calls compare an exchange with the one before it
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

// addEpisodes adds messages about one topic after another, and has each consolidated when its messages have vectors.
func (t *ModelTest) addEpisodes(ctx context.Context, collection string) error {
	start := time.Date(2025, 3, 3, 9, 0, 0, 0, time.UTC)
	topics := []string{
		"I ran %d kilometers around the lake with Ada", "I baked %d loaves of rye bread with Tomas", "I read %d chapters of the atlas to my niece",
		"I planted %d apple trees in the north orchard", "I repaired %d old bicycles in the shed with Bruno",
	}
	for i := range t.Calls {
		for j, day := range []string{"Monday", "Wednesday", "Friday"} {
			at := start.AddDate(0, 0, 7*i+2*j)
			said := fmt.Sprintf("On %s "+topics[i%len(topics)]+".", day, 5+j)
			if _, err := t.Client.AddMessages(ctx, collection, []Message{{Role: "user", Name: "Nora", Content: said, OccurredAt: &at}}); err != nil {
				return err
			}
		}
		if _, _, err := t.waitForJobs(ctx, collection, t.Until); err != nil {
			return err
		}
		if err := t.Client.do(ctx, http.MethodPost, "/v1/collections/"+url.PathEscape(collection)+"/consolidate", map[string]any{}, nil); err != nil {
			return err
		}
	}
	return nil
}

// askAgent makes an agent act, heard and not heard, and makes room in its window after each time.
func (t *ModelTest) askAgent(ctx context.Context, collection string) error {
	base := "/v1/collections/" + url.PathEscape(collection)
	said := []string{"I live in Lisbon, and I love the light here. Keep that in mind.", "Where do I live?"}
	for i := range t.Calls + 1 { // the first time there is no room to make
		event := map[string]any{"content": said[i%len(said)], "stream": i%2 == 1}
		if err := t.Client.do(ctx, http.MethodPost, base+"/events", event, nil); err != nil {
			return err
		}
		if err := t.Client.do(ctx, http.MethodPost, base+"/flush", map[string]any{"force": true}, nil); err != nil {
			return err
		}
	}
	return nil
}

// chineseMessages are messages in Chinese, two days apart.
var chineseMessages = []string{"我叫林夏，上个月搬到了杭州，在一家书店工作。", "今天很开心，我的猫阿福学会了开门。"}

func (t *ModelTest) addChineseTalk(ctx context.Context, collection string) error {
	start := time.Date(2025, 3, 3, 9, 0, 0, 0, time.UTC)
	for i, said := range chineseMessages {
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

// askReaders makes the requests of readers: chats, whole and streamed, and searches that the model
// judges. They may fail with the model; it returns their errors.
func (t *ModelTest) askReaders(ctx context.Context, collection string, judged bool) (refused []string) {
	ctx, cancel := context.WithDeadline(ctx, t.Until)
	defer cancel()
	base := "/v1/collections/" + url.PathEscape(collection)
	ask := func(path string, body map[string]any) {
		if err := t.Client.do(ctx, http.MethodPost, base+path, body, nil); err != nil {
			refused = append(refused, err.Error())
		}
	}
	for i := range t.Calls {
		if !judged || i > 0 && t.Enough == 0 {
			break
		}
		// The text of a note, or most of it: it passes the first stage with any embedder.
		ask("/search", map[string]any{"query": twoConcepts[:len(twoConcepts)-i], "k": 5, "rerank": "model"})
	}
	if t.Enough > 0 && t.Proxy.askedAny(CallChat) > 0 { // a chat has no schema, and long prompts
		return refused
	}
	ask("/chat", map[string]any{"message": "What do you know of the pottery studio?"})
	ask("/chat", map[string]any{"message": "When does it open?", "stream": true, "remember": false})
	return refused
}

// waitForJobs waits until a collection has no open jobs, or until they make no progress: none runs, and none changes.
// over is true when the time until which it waits ended before.
func (t *ModelTest) waitForJobs(ctx context.Context, collection string, until time.Time) (waiting int, over bool, err error) {
	var last map[string]job
	since := time.Now()
	for ended := 0; ; {
		open, err := t.Client.openJobs(ctx, collection)
		switch {
		case err != nil:
			return 0, false, err
		case len(open) > 0:
			ended = 0
		default:
			if ended++; ended == 2 { // a job that has just ended may have enqueued another
				return 0, false, nil
			}
		}
		runs := slices.ContainsFunc(slices.Collect(maps.Values(open)), func(j job) bool { return j.State == "running" })
		if runs || !maps.Equal(open, last) || !t.Proxy.idle() {
			last, since = open, time.Now()
		}
		if len(open) > 0 && time.Since(since) >= t.Patience {
			return len(open), false, nil
		}
		if !time.Now().Before(until) {
			return len(open), true, nil
		}
		if err := pause(ctx, 5*look); err != nil {
			return 0, false, err
		}
	}
}

// untilIdle waits until no request is in flight, so that what was given up is counted where it began.
func (t *ModelTest) untilIdle(ctx context.Context) (err error) {
	for err == nil && !t.Proxy.idle() {
		err = pause(ctx, 5*look)
	}
	return err
}

var (
	answersLine = regexp.MustCompile(`^slipbox_model_answers_total\{(.*)\} ([0-9.e+]+)$`)
	labelPair   = regexp.MustCompile(`(\w+)="([^"]*)"`)
)

// answerCounts returns the number of questions by call and result, from the gateway's metrics.
func (t *ModelTest) answerCounts(ctx context.Context) (map[string]map[string]int, error) {
	resp, err := t.Client.send(ctx, slipbox.Request{Method: http.MethodGet, Path: "/metrics"}, tries)
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
			return nil, fmt.Errorf("a metric is not a number: %w", err)
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

// Err returns an error when the report has problems.
func (r *ModelReport) Err() error {
	if problems := r.Problems(); len(problems) > 0 {
		return errors.New("the stored data has problems:\n" + strings.Join(problems, "\n"))
	}
	return nil
}

// leastUsable is the share of the questions whose first answer should be usable.
const leastUsable = 0.98

// Print writes a Markdown table, a row for each call of each policy, and the rest of the report.
func (r *ModelReport) Print(w io.Writer) error {
	var b strings.Builder
	b.WriteString("| policy, call | questions | usable at once | repaired | fallback | failed | tokens in | tokens out | seconds |\n|---|---|---|---|---|---|---|---|---|\n")
	var poor []string
	policies := []string{}
	for of := range r.Calls {
		if !slices.Contains(policies, of.Policy) {
			policies = append(policies, of.Policy)
		}
	}
	slices.Sort(policies)
	for _, policy := range policies {
		calls := map[string]CallShare{}
		for of, share := range r.Calls {
			if of.Policy == policy {
				calls[of.Call] = share
			}
			if n := share.questions(); of.Policy == policy && float64(share.Good) < leastUsable*float64(n) {
				poor = append(poor, policy+" "+of.Call)
			}
		}
		writeCallShares(&b, policy, calls)
	}
	derived, waiting, seconds := 0, 0, 0.0
	for i := range r.Scenarios {
		derived, waiting, seconds = derived+r.Scenarios[i].Derived, waiting+r.Scenarios[i].Waiting, seconds+r.Scenarios[i].Seconds
	}
	fmt.Fprintf(&b, "\n%d derived notes were checked, %d problems were found; %d jobs wait for another attempt; %.0f s.\n", derived, len(r.Problems()), waiting, seconds)
	for title, list := range map[string][]string{"Not asked": r.NotAsked, "Below .98 usable at once": poor, "Cut off at their share of the time": r.CutOff()} {
		if slices.Sort(list); len(list) > 0 {
			fmt.Fprintf(&b, "%s: %s.\n", title, strings.Join(list, ", "))
		}
	}
	for i := range r.Scenarios {
		for _, refused := range r.Scenarios[i].Refused {
			fmt.Fprintf(&b, "Refused, %s: %s\n", r.Scenarios[i].Scenario, refused)
		}
	}
	if r.TimedOut {
		b.WriteString("The time ended before everything was asked.\n")
	}
	return printed(io.WriteString(w, b.String()))
}
