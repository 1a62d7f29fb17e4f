package eval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Comparison feeds conversations to all memory systems of a gateway and to baselines, each in a collection or
// fork of its own, and measures what they store, what they cost and what they find. It continues where an earlier
// one with the same folder and settings was cut off.
type Comparison struct {
	Client *Client
	Data   *Dataset
	Folder string // of the measured parts
	Prefix string // of the collections' names

	Policies   []string // to compare; nil means all that the gateway has
	Baselines  []string // of Baselines; nil means those that make sense with the gateway's model
	Chunks     []int    // sizes in tokens
	ChunkHits  []int    // chunks in a prompt
	Budget     int      // tokens of memory in a prompt that answers
	Seeds      int      // repetitions
	Questions  int      // of each conversation and repetition, drawn at random; 0 means all
	PerAdd     int      // turns of a session in a request
	AtOnce     int      // conversations
	Model      string   // of the gateway, that answers and that policies ask; "" for its main model
	Judge      string   // model that judges answers; "" for none
	Warnings   []string // about the data, for the report
	OnProgress func(Progress)
}

// The baselines.
const (
	FullContext   = "full-context"   // the whole history in the prompt
	SlidingWindow = "sliding-window" // the newest turns that fit
	ChunkSearch   = "chunks"         // pieces of equal size, by the similarity of their vectors
	AgenticSearch = "agentic"        // a static store; the model decides when and what to fetch
)

// Baselines returns the names of all baselines.
func Baselines() []string { return []string{FullContext, SlidingWindow, ChunkSearch, AgenticSearch} }

// Progress says how far a comparison is.
type Progress struct {
	Done, Total int    // parts: a system with a conversation
	Now         string // what is measured
	Step, Steps int    // turns added, or questions asked
	Ended       bool   // the part is done
}

// compareForm is the version of the parts. A change that measures otherwise makes parts of earlier runs void.
const compareForm = 1

// contender is a memory system or baseline with its settings.
type contender struct {
	System

	Baseline string         `json:",omitempty"` // "" for a policy
	Title    string         `json:"-"`
	Defaults map[string]any `json:"-"`
	Chunk    int            `json:",omitempty"` // tokens
	Hits     int            `json:",omitempty"`
}

// Part is what was measured of a system with one conversation.
type Part struct {
	System       string            `json:"system"`
	Conversation string            `json:"conversation"`
	Seed         int               `json:"seed"`
	Revision     string            `json:"revision"` // of the gateway
	Turns        int               `json:"turns"`
	History      int               `json:"history_tokens"` // of the rendered turns
	Stored       Stored            `json:"stored"`
	Costs        Costs             `json:"costs"`
	AddMs        []float64         `json:"add_ms"` // by add, until what was added is processed
	Seconds      float64           `json:"seconds"`
	Stages       []Stage           `json:"stages"`
	Asked        []AskedQuestion   `json:"asked"`
	Notes        []string          `json:"notes,omitempty"` // what a reader must know
	Config       map[string]any    `json:"config,omitempty"`
	Model        string            `json:"model,omitempty"` // that answered
	Roles        string            `json:"roles,omitempty"`
	Failures     map[string]int    `json:"failures,omitempty"`
	Examples     map[string]string `json:"-"`
}

// Stage is a moment of a growing history.
type Stage struct {
	Turns   int     `json:"turns"`
	History int     `json:"history_tokens"`
	Prompt  int     `json:"prompt_tokens"` // of memory for one question
	AddMs   float64 `json:"add_ms"`        // median since the stage before; 0 when nothing is processed
	Seconds float64 `json:"seconds"`       // since the first add
	Calls   int64   `json:"calls"`         // of a model
	Tokens  int64   `json:"tokens"`        // of these calls
}

// AskedQuestion is the result of a question.
type AskedQuestion struct {
	Question int       `json:"question"` // index in the conversation
	Category string    `json:"category"`
	Recall   []float64 `json:"recall,omitempty"` // by budget; nil without evidence
	Tokens   []int     `json:"tokens"`           // of the memory in the prompt, by budget
	Prompt   int       `json:"prompt_tokens"`    // of the memory in the prompt that was answered from
	Ms       float64   `json:"search_ms"`        // until that memory was there
	Terms    *float64  `json:"terms,omitempty"`  // share of the gold answer's terms in it
	Answer   string    `json:"answer,omitempty"`
	AnswerMs float64   `json:"answer_ms,omitempty"` // until the answer was there, memory included
	F1       *float64  `json:"f1,omitempty"`
	BLEU1    *float64  `json:"bleu1,omitempty"`
	Judged   *bool     `json:"judged,omitempty"`
	Failed   string    `json:"failed,omitempty"` // why there is no answer
}

// Costs are the model calls of a collection, as the gateway counts them.
type Costs struct {
	Calls  int64 `json:"calls"`
	Tokens int64 `json:"tokens"`
}

// PolicyDescription is the part of a policy's description that is used.
type PolicyDescription struct {
	Name     string         `json:"name"`
	Title    string         `json:"title"`
	Text     string         `json:"description"`
	Defaults map[string]any `json:"defaults"`
	Schema   struct {
		Properties map[string]struct {
			Enum []any `json:"enum"`
		} `json:"properties"`
	} `json:"schema"`
}

// Policies lists the policies of the gateway.
func (c *Client) Policies(ctx context.Context) ([]PolicyDescription, error) {
	var out struct {
		Items []PolicyDescription `json:"items"`
	}
	err := c.do(ctx, http.MethodGet, "/v1/policies", nil, &out)
	return out.Items, err
}

// costs reads the model calls of a collection.
func (c *Client) costs(ctx context.Context, collection string) (out Costs, err error) {
	var page struct {
		Purposes []struct {
			Calls      int64 `json:"calls"`
			Prompt     int64 `json:"prompt_tokens"`
			Completion int64 `json:"completion_tokens"`
		} `json:"purposes"`
	}
	err = c.do(ctx, http.MethodGet, "/v1/collections/"+url.PathEscape(collection)+"/costs", nil, &page)
	for _, p := range page.Purposes {
		out.Calls += p.Calls
		out.Tokens += p.Prompt + p.Completion
	}
	return out, err
}

// Run measures what is missing in the folder, and reports on all.
func (c *Comparison) Run(ctx context.Context) (*Report, error) {
	if err := os.MkdirAll(c.Folder, 0o750); err != nil {
		return nil, fmt.Errorf("make the folder of the parts: %w", err)
	}
	answers, err := c.openReader(ctx)
	if err != nil {
		return nil, err
	}
	systems, leftOut, err := c.contenders(ctx, answers.model != "")
	if err != nil {
		return nil, err
	}
	run := comparing{Comparison: c, reader: answers, systems: systems, total: len(systems) * len(c.Data.Conversations) * c.Seeds, parts: map[string]*Part{}}
	version, commit, err := c.Client.Version(ctx)
	if err != nil {
		return nil, err
	}
	run.revision = strings.TrimSpace(version + " " + commit)
	if err := run.all(ctx); err != nil {
		return nil, fmt.Errorf("%d of %d parts are measured; the same command goes on from there: %w", run.done, run.total, err)
	}
	return run.report(leftOut), nil
}

// contenders returns the systems to compare, and why some are left out.
func (c *Comparison) contenders(ctx context.Context, hasModel bool) (out []contender, leftOut map[string]string, err error) {
	policies, err := c.Client.Policies(ctx)
	if err != nil {
		return nil, nil, err
	}
	leftOut = map[string]string{}
	missing := slices.Clone(c.Policies)
	for _, p := range policies {
		missing = slices.DeleteFunc(missing, func(n string) bool { return n == p.Name })
		// Plain messages are the baseline of all others.
		if c.Policies != nil && !slices.Contains(c.Policies, p.Name) && p.Name != noPolicy {
			continue
		}
		out = append(out, contender{System: System{Name: p.Name, Policy: p.Name, Config: settingsFor(&p, c.Model)}, Title: p.Title, Defaults: p.Defaults})
	}
	if len(missing) > 0 {
		return nil, nil, fmt.Errorf("the gateway has no policy %s", strings.Join(missing, ", "))
	}
	// Plain messages come first: baselines are forks of their collection.
	slices.SortStableFunc(out, func(a, b contender) int { return count(b.Policy == noPolicy) - count(a.Policy == noPolicy) })
	for _, b := range Baselines() {
		if c.Baselines != nil && !slices.Contains(c.Baselines, b) {
			continue
		}
		switch b {
		case FullContext:
			out = append(out, contender{System: System{Name: b}, Baseline: b, Title: "The whole history in the prompt"})
		case SlidingWindow:
			out = append(out, contender{System: System{Name: b}, Baseline: b, Title: "The newest turns that fit"})
		case ChunkSearch:
			for _, size := range c.Chunks {
				for _, k := range c.ChunkHits {
					out = append(out, contender{
						System: System{Name: fmt.Sprintf("chunks-%d-k%d", size, k)}, Baseline: b, Chunk: size, Hits: k,
						Title: fmt.Sprintf("The best %d chunks of %d tokens by their vectors", k, size),
					})
				}
			}
		case AgenticSearch:
			if !hasModel && c.Baselines == nil {
				leftOut[b] = "there is no model: the built-in rules always make the same searches, so nothing decides when and what to fetch"
				continue
			}
			out = append(out, contender{System: System{Name: b, Policy: "memgpt"}, Baseline: b, Title: "A static store; the model decides when and what to fetch"})
		}
	}
	return out, leftOut, nil
}

// noPolicy is the policy that derives nothing.
const noPolicy = "none"

// deferred are seconds after which deferred work is done, so that a comparison need not wait for it.
const deferred = 2

// settingsFor returns the settings of a policy that a comparison needs, by their names, for any policy that has them: what is deferred is
// done soon, several persons may talk, and the model is the one that is compared.
func settingsFor(p *PolicyDescription, model string) map[string]any {
	var out map[string]any
	set := func(name string, value any) {
		if out == nil {
			out = map[string]any{}
		}
		out[name] = value
	}
	if _, ok := p.Schema.Properties["summary_delay"]; ok {
		set("summary_delay", deferred)
	}
	if persons, ok := p.Schema.Properties["persons"]; ok && slices.Contains(persons.Enum, any("several")) {
		set("persons", "several")
	}
	if _, ok := p.Schema.Properties["model"]; ok && model != "" {
		set("model", model)
	}
	return out
}

// comparing is a comparison under way.
type comparing struct {
	*Comparison

	reader   *reader
	systems  []contender
	revision string
	total    int

	mu    sync.Mutex
	done  int
	parts map[string]*Part // by key
}

// all measures all parts, some conversations concurrently.
func (r *comparing) all(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type task struct{ conversation, seed int }
	tasks := make(chan task)
	errs := make(chan error, max(1, r.AtOnce))
	var workers sync.WaitGroup
	for range max(1, r.AtOnce) {
		workers.Go(func() {
			for t := range tasks {
				if err := r.conversation(ctx, t.conversation, t.seed); err != nil {
					errs <- err
					cancel()
					return
				}
			}
		})
	}
	for seed := range r.Seeds {
		for i := range r.Data.Conversations {
			select {
			case tasks <- task{i, seed}:
			case <-ctx.Done():
			}
		}
	}
	close(tasks)
	workers.Wait()
	select {
	case err := <-errs: // the first; those after it follow from it
		return err
	default:
		return ctx.Err()
	}
}

// conversation measures all systems with one conversation.
func (r *comparing) conversation(ctx context.Context, index, seed int) (err error) {
	conversation := &r.Data.Conversations[index]
	if len(conversation.Turns) == 0 {
		r.mu.Lock()
		r.done += len(r.systems)
		r.mu.Unlock()
		return nil
	}
	var base *Loaded // the plain messages, which baselines fork
	defer func() {
		if base != nil {
			err = errors.Join(err, r.Client.remove(context.WithoutCancel(ctx), base.Collection))
		}
	}()
	for i := range r.systems {
		s := &r.systems[i]
		key := r.key(s, conversation, seed)
		part, err := r.measured(key)
		if err != nil {
			return err
		}
		if part == nil {
			u := unit{comparing: r, contender: s, conversation: conversation, seed: seed, base: &base, answers: key + ".answers"}
			if part, err = u.measure(ctx); err != nil {
				return fmt.Errorf("%s: %s: %w", conversation.ID, s.Name, err)
			}
			if err := r.keep(key+".json", part); err != nil {
				return err
			}
			_ = os.Remove(filepath.Join(r.Folder, u.answers))
		}
		r.mu.Lock()
		r.done++
		r.parts[key] = part
		now := Progress{Done: r.done, Total: r.total, Now: conversation.ID + ": " + s.Name, Ended: true}
		r.mu.Unlock()
		r.progress(now)
	}
	return nil
}

func (r *comparing) progress(p Progress) {
	if r.OnProgress == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p.Done, p.Total = r.done, r.total
	r.OnProgress(p)
}

// key identifies a part by all that it depends on.
func (r *comparing) key(s *contender, c *Conversation, seed int) string {
	h := sha256.New()
	err := json.NewEncoder(h).Encode([]any{compareForm, s, c.ID, c.Turns, c.Questions, seed, r.Data.Budgets, r.Budget, r.Questions, r.PerAdd, r.Judge, r.reader.model, r.reader.embedder})
	if err != nil {
		panic(err) // all of it is texts and numbers
	}
	return slug(c.ID) + "-" + s.Name + "-" + strconv.Itoa(seed) + "-" + hex.EncodeToString(h.Sum(nil))[:12]
}

// measured returns the part that an earlier run has measured; nil if none has.
func (r *comparing) measured(key string) (*Part, error) {
	raw, err := os.ReadFile(filepath.Join(r.Folder, key+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // nothing is there
	}
	if err != nil {
		return nil, fmt.Errorf("read an earlier part: %w", err)
	}
	var out Part
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, nil //nolint:nilnil,nilerr // written half: it is measured again
	}
	return &out, nil
}

// keep writes what was measured to a file of the folder.
func (r *comparing) keep(file string, measured any) error {
	raw, err := json.Marshal(measured)
	if err != nil {
		return fmt.Errorf("encode a part: %w", err)
	}
	name := filepath.Join(r.Folder, file)
	if err := os.WriteFile(name+".new", raw, 0o600); err != nil {
		return fmt.Errorf("write a part: %w", err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		return fmt.Errorf("write a part: %w", err)
	}
	return nil
}

// slug returns a text that may be a part of a collection's name.
func slug(text string) string {
	return strings.Trim(unsafeInNames.ReplaceAllString(strings.ToLower(text), "-"), "-")
}

// remove deletes a collection.
func (c *Client) remove(ctx context.Context, collection string) error {
	return c.do(ctx, http.MethodDelete, "/v1/collections/"+url.PathEscape(collection), nil, nil)
}

// unit is the measurement of one part.
type unit struct {
	*comparing
	*contender

	conversation *Conversation
	seed         int
	base         **Loaded
	answers      string // file with the answers of a model so far: each may take minutes
}

// name returns the name of the part's collection.
func (u *unit) name() string {
	name := u.Prefix + slug(u.conversation.ID)
	if len(name) > 80 { // ids may be long, and names may not
		sum := sha256.Sum256([]byte(u.conversation.ID))
		name = name[:60] + hex.EncodeToString(sum[:8])
	}
	return name + "-" + slug(u.Name) + "-" + strconv.Itoa(u.seed)
}

// create makes the part's collection.
func (u *unit) create(ctx context.Context) (Collection, error) {
	if err := u.removeOld(ctx); err != nil {
		return Collection{}, err
	}
	col, err := u.Client.CreateConfigured(ctx, u.name(), u.Policy, u.Config)
	if err != nil {
		return Collection{}, fmt.Errorf("create collection %s: %w", u.name(), err)
	}
	return col, nil
}

// removeOld removes what a run that was cut off has left under the name of the part's collection.
func (u *unit) removeOld(ctx context.Context) error {
	old, err := u.Client.Collection(ctx, u.name())
	if isNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return u.Client.removed(ctx, old.ID, u.name())
}

func (u *unit) step(what string, n, of int) {
	u.progress(Progress{Now: u.conversation.ID + ": " + u.Name + ": " + what, Step: n, Steps: of})
}

// measure adds the conversation and asks the questions.
func (u *unit) measure(ctx context.Context) (_ *Part, err error) {
	p := &Part{System: u.Name, Conversation: u.conversation.ID, Seed: u.seed, Revision: u.revision, Turns: len(u.conversation.Turns), Config: u.Config, Failures: map[string]int{}, Model: u.reader.model}
	for i := range u.conversation.Turns {
		p.History += Tokens(u.conversation.Turns[i].Rendered)
	}
	began := time.Now()
	var m memorySystem
	var collection string
	switch u.Baseline {
	case "":
		l, err := u.feed(ctx, p)
		if err != nil {
			return nil, err
		}
		collection = l.Collection
		m = &policyMemory{client: u.Client, loaded: l, origins: newOrigins(u.Client, l)}
		if u.Policy == noPolicy {
			*u.base = l
		}
	case ChunkSearch:
		chunks, err := u.addChunks(ctx, p)
		if err != nil {
			return nil, err
		}
		collection, m = chunks.collection, chunks
	case AgenticSearch:
		agent, err := u.addPassages(ctx, p)
		if err != nil {
			return nil, err
		}
		collection, m = agent.loaded.Collection, agent
	default:
		h, err := u.forkHistory(ctx, p)
		if err != nil {
			return nil, err
		}
		collection, m = h.collection, h
	}
	if *u.base == nil || (*u.base).Collection != collection {
		defer func() { err = errors.Join(err, u.Client.remove(context.WithoutCancel(ctx), collection)) }()
	}
	p.Seconds = time.Since(began).Seconds()
	if p.Stored, err = countStored(ctx, u.Client, collection); err != nil {
		return nil, err
	}
	if p.Costs, err = u.settledCosts(ctx, collection); err != nil {
		return nil, err
	}
	return p, u.ask(ctx, p, m)
}

// settledCosts reads the costs of a collection. Calls are counted a few seconds after they were made, so with a model it waits for
// two equal readings. Baselines and plain messages call none.
func (u *unit) settledCosts(ctx context.Context, collection string) (Costs, error) {
	last, err := u.Client.costs(ctx, collection)
	calls := u.reader.model != "" && u.Baseline == "" && u.Policy != noPolicy
	for tries := 0; err == nil && calls && tries < 10; tries++ {
		if err := pause(ctx, 2*time.Second); err != nil {
			return last, err
		}
		now, err := u.Client.costs(ctx, collection)
		if err != nil || now == last && now.Calls > 0 {
			return now, err
		}
		last = now
	}
	return last, err
}

// stages is the number of moments of a growing history that are measured.
const stages = 10

// feed sends the conversation to a policy, and waits for each request until it is processed.
func (u *unit) feed(ctx context.Context, p *Part) (*Loaded, error) {
	turns := u.conversation.Turns
	l, err := u.feedAs(ctx, p, turns)
	if problem, ok := errors.AsType[*Problem](err); ok && problem.Status == http.StatusUnprocessableEntity && !slices.ContainsFunc(turns, func(t Turn) bool { return t.Role != "" }) {
		// The policy serves one person: the first speaker is the user, and the others are the assistant.
		roled := slices.Clone(turns)
		for i := range roled {
			roled[i].Role = "assistant"
			if roled[i].Speaker == turns[0].Speaker {
				roled[i].Role = "user"
			}
		}
		p.Notes = append(p.Notes, "it serves one person: the first speaker is the user, the other the assistant")
		p.AddMs, p.Stages = nil, nil
		return u.feedAs(ctx, p, roled)
	}
	return l, err
}

func (u *unit) feedAs(ctx context.Context, p *Part, turns []Turn) (*Loaded, error) {
	col, err := u.create(ctx)
	if err != nil {
		return nil, err
	}
	probe := "What happened?"
	if len(u.conversation.Questions) > 0 {
		probe = u.conversation.Questions[0].Text
	}
	began, history, done, since := time.Now(), 0, 0, 0
	l, err := addTurns(ctx, u.Client, col, &Conversation{Turns: turns}, u.PerAdd, func(_ *Loaded, messages []Message) ([]string, error) {
		at := time.Now()
		ids, err := u.Client.AddEvolved(ctx, col.ID, messages)
		if err != nil {
			return nil, err
		}
		p.AddMs = append(p.AddMs, milliseconds(time.Since(at)))
		// What is left is not waited for by the request: work that the add has caused. Work for later stays.
		if err := u.settle(ctx, col.ID); err != nil {
			return nil, err
		}
		for range messages {
			history += Tokens(turns[done].Rendered)
			done++
		}
		if done*stages/len(turns) > len(p.Stages) {
			stage := Stage{Turns: done, History: history, AddMs: quantile(p.AddMs[since:], 0.5), Seconds: time.Since(began).Seconds()}
			since = len(p.AddMs)
			prompt, err := u.Client.Context(ctx, col.ID, probe, u.Budget, 0)
			if err != nil {
				return nil, err
			}
			costs, err := u.Client.costs(ctx, col.ID)
			if err != nil {
				return nil, err
			}
			stage.Prompt, stage.Calls, stage.Tokens = prompt.Tokens, costs.Calls, costs.Tokens
			p.Stages = append(p.Stages, stage)
		}
		u.step("turns", done, len(turns))
		return ids, nil
	})
	return &l, err
}

// settle waits until no job of a collection can run now.
func (u *unit) settle(ctx context.Context, collection string) error {
	for {
		open, err := u.Client.jobs(ctx, collection, "queued", "running", "queued")
		if err != nil || len(open) == 0 {
			return err
		}
		if err := pause(ctx, look); err != nil {
			return err
		}
	}
}

// loadPlain returns the conversation's messages without a policy: those that the system "none" was fed, or new ones.
func (u *unit) loadPlain(ctx context.Context) (*Loaded, error) {
	if *u.base != nil {
		return *u.base, nil
	}
	plain := *u
	plain.contender = &contender{System: System{Name: "base", Policy: noPolicy}}
	col, err := plain.create(ctx)
	if err != nil {
		return nil, err
	}
	const bulk = 200
	l, err := addTurns(ctx, u.Client, col, &Conversation{Turns: u.conversation.Turns}, bulk, func(_ *Loaded, messages []Message) ([]string, error) {
		return u.Client.AddMessages(ctx, col.ID, messages)
	})
	*u.base = &l
	return &l, err
}

// ask asks the questions and answers them.
func (u *unit) ask(ctx context.Context, p *Part, m memorySystem) error {
	questions := make([]int, len(u.conversation.Questions))
	for i := range questions {
		questions[i] = i
	}
	if n := u.Questions; n > 0 && n < len(questions) {
		rng := rand.New(rand.NewPCG(uint64(u.seed), 5)) //nolint:gosec // a sample that is always the same
		rng.Shuffle(len(questions), func(i, j int) { questions[i], questions[j] = questions[j], questions[i] })
		questions = slices.Sorted(slices.Values(questions[:n]))
	}
	var before []AskedQuestion // by a run that was cut off
	if raw, err := os.ReadFile(filepath.Join(u.Folder, u.answers)); err == nil && json.Unmarshal(raw, &before) != nil {
		before = nil // written half
	}
	for n, i := range questions {
		q := &u.conversation.Questions[i]
		if n < len(before) && before[n].Question == i {
			p.Asked = append(p.Asked, before[n])
			continue
		}
		row, err := u.askOne(ctx, m, q)
		if err != nil {
			return fmt.Errorf("%q: %w", q.Text, err)
		}
		row.Question, row.Category = i, q.Category
		p.Asked = append(p.Asked, row)
		if u.reader.model != "" {
			if err := u.keep(u.answers, p.Asked); err != nil {
				return err
			}
		}
		u.step("questions", n+1, len(questions))
	}
	for _, row := range p.Asked {
		if row.Failed != "" {
			p.Failures[row.Failed]++
		}
	}
	return nil
}

// retrieved is the memory for a question.
type retrieved struct {
	text   string
	turns  []string // that it covers
	tokens int
	took   time.Duration
	answer string // when the system has answered by itself
}

// memorySystem is what is asked: it returns the memory for a question within a budget of tokens; 0 means no limit. bounded reports
// whether what is shown to a model is limited.
type memorySystem interface {
	retrieve(ctx context.Context, q *Question, budget int) (retrieved, error)
	bounded() bool
}

func (u *unit) askOne(ctx context.Context, m memorySystem, q *Question) (row AskedQuestion, err error) {
	var at retrieved
	measured := false
	for _, budget := range u.Data.Budgets {
		r, err := m.retrieve(ctx, q, budget)
		if err != nil {
			return row, err
		}
		if len(q.Gold) > 0 {
			row.Recall = append(row.Recall, coveredShare(r.turns, q.Gold))
		}
		row.Tokens = append(row.Tokens, r.tokens)
		if budget == u.Budget {
			at, measured = r, true
		}
	}
	if !m.bounded() || !measured {
		budget := u.Budget
		if !m.bounded() {
			budget = 0
		}
		if at, err = m.retrieve(ctx, q, budget); err != nil {
			return row, err
		}
	}
	row.Prompt, row.Ms = at.tokens, milliseconds(at.took)
	if share := answerIn([]string{at.text}, q.Answer); q.Answer != "" && !math.IsNaN(share) {
		row.Terms = &share
	}
	if err := u.reader.answer(ctx, q, &at, &row); err != nil {
		return row, err
	}
	return row, nil
}

// policyMemory is a policy with a conversation.
type policyMemory struct {
	client  *Client
	loaded  *Loaded
	origins *Origins
}

func (*policyMemory) bounded() bool { return true }

func (m *policyMemory) retrieve(ctx context.Context, q *Question, budget int) (out retrieved, err error) {
	start := time.Now()
	p, err := m.client.Context(ctx, m.loaded.Collection, q.Text, budget, 0)
	if err != nil {
		return out, err
	}
	out = retrieved{text: p.Text, tokens: p.Tokens, took: time.Since(start)}
	if p.Tokens > budget {
		return out, fmt.Errorf("a context of %d tokens for a budget of %d", p.Tokens, budget)
	}
	for _, c := range p.Citations {
		covers, err := m.origins.Turns(ctx, FoundNote{ID: c.Note})
		if err != nil {
			return out, err
		}
		out.turns = append(out.turns, covers...)
	}
	return out, nil
}
