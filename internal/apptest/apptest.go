// Package apptest is the API with the real services over an empty store, for the tests of the routes: those of the API, and those
// that a policy mounts, beside the policy. Nothing runs by itself: a test sets the clock and runs the jobs. It depends on all that
// the gateway is built of but its commands, and no product code imports it.
package apptest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/analyst"
	"github.com/slipboxhq/slipbox/internal/api"
	"github.com/slipboxhq/slipbox/internal/api/contracttest"
	"github.com/slipboxhq/slipbox/internal/api/route"
	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/app/command/commandtest"
	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/clone"
	"github.com/slipboxhq/slipbox/internal/console"
	parser "github.com/slipboxhq/slipbox/internal/document"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/chat"
	"github.com/slipboxhq/slipbox/internal/memory/engine"
	"github.com/slipboxhq/slipbox/internal/memory/files"
	"github.com/slipboxhq/slipbox/internal/memory/hooks"
	"github.com/slipboxhq/slipbox/internal/memory/jobs"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/policy/layered/layers"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memgpt/agent"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memgpt/agent/tools"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memgpt/letta"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memorybank/bank"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memoryos/tiers"
	"github.com/slipboxhq/slipbox/internal/memory/policy/policies"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/outbound"
	"github.com/slipboxhq/slipbox/internal/seal"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/store/enginetest"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/clock"
)

// System is the API with the real services over its own store. Jobs run when a test runs them, or
// while a request waits for them.
type System struct {
	*api.Server
	*clock.Clock
	Store   store.Store
	Engine  *engine.Engine
	Agents  *agent.Service
	Clone   *clone.Service
	Files   *files.Service
	Parses  time.Duration // how long turning a file into text takes
	Parsing func()        // runs meanwhile; nil: nothing
	Model   *Model
	Recall  *recall.Service
	Logs    *commandtest.Buffer

	Policies memory.PolicySet
	Scopes   map[string]auth.Principal // by credential

	Events []func() // what happens while a collection is followed
}

// Model is the analyst by rules. A test can make it fail, or answer in its place.
type Model struct {
	memory.Model
	mu    sync.Mutex
	err   error
	turns func(memory.Dialogue) (memory.TurnResult, error) // nil: the rules answer
	asks  func(memory.Call) (memory.Answer, error)         // nil: the rules answer
}

// AnswerTurns answers turns of a dialogue; nil: the rules answer.
func (m *Model) AnswerTurns(answer func(memory.Dialogue) (memory.TurnResult, error)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turns = answer
}

// AnswerCalls answers calls of policies; nil: the rules answer.
func (m *Model) AnswerCalls(answer func(memory.Call) (memory.Answer, error)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asks = answer
}

// Fail makes calls of policies fail; nil: no more.
func (m *Model) Fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

// Converse implements memory.Model.
func (m *Model) Converse(ctx context.Context, s tenant.Scope, d memory.Dialogue) (memory.TurnResult, error) {
	m.mu.Lock()
	turns := m.turns
	m.mu.Unlock()
	if turns == nil {
		return m.Model.Converse(ctx, s, d)
	}
	return turns(d)
}

// Ask implements memory.Model.
func (m *Model) Ask(ctx context.Context, s tenant.Scope, c memory.Call) (memory.Answer, error) {
	m.mu.Lock()
	err, asks := m.err, m.asks
	m.mu.Unlock()
	if asks != nil {
		return asks(c)
	}
	if err != nil {
		return memory.Answer{}, err
	}
	return m.Model.Ask(ctx, s, c)
}

// Authenticate resolves the credentials of the tests.
func (b *System) Authenticate(_ context.Context, credential string) (auth.Principal, error) {
	p, ok := b.Scopes[credential]
	if !ok {
		return p, fault.New(fault.Unauthenticated, "the credential is not accepted")
	}
	return p, nil
}

// New creates two tenants, "one" and "two". The credential "one" has all permissions in the first, "ada" and "bob" are its agents,
// "reader" may only read, "writer" may only write notes. A test may change what the API is built of.
func New(t *testing.T, change ...func(*System, *api.Deps, *api.Config)) *System {
	t.Helper()
	return build(t, chat.Models{}, change...)
}

// Talking is New with a fake model for chats.
func Talking(t *testing.T) (*System, *llmtest.Server) {
	t.Helper()
	model := llmtest.New(t)
	talk, err := llm.NewChatProxy(llm.Deps{Clock: time.Now}, llm.Config{
		BaseURL: model.URL(), Model: "fake-1", MaxTries: 1, Timeout: 10 * time.Second, BreakerFailures: 1000,
	})
	if err != nil {
		t.Fatal(err)
	}
	return build(t, chat.Models{Main: talk, Named: map[string]chat.Model{"small": talk}}), model
}

// unusedTenant is a tenant.UsageSource of tenants without quotas on what they store.
type unusedTenant struct{}

func (unusedTenant) TenantUsage(context.Context, uuid.UUID) (tenant.Usage, error) {
	return tenant.Usage{}, nil
}

func build(t *testing.T, models chat.Models, change ...func(*System, *api.Deps, *api.Config)) *System {
	t.Helper()
	b := &System{Scopes: map[string]auth.Principal{}, Clock: clock.New(time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC))}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	written := enginetest.Open(t, b.Now, nil)
	var retiring *notes.Service
	plans := store.PlanCollections(store.RetireExpired(written, b.Now, func(ctx context.Context, s tenant.Scope, collection uuid.UUID) error {
		return retiring.RetireExpired(ctx, grant.Job(s.Tenant(), uuid.Nil), collection)
	}))
	b.Store = plans
	for _, name := range []string{"one", "two"} {
		made, err := b.Store.CreateTenant(t.Context(), grant.Operator("test"), tenant.Tenant{Name: name})
		must(err)
		all := grant.Scope(made.ID, uuid.Nil, "key:"+name, tenant.AllPermissions()...)
		b.Scopes[name] = auth.Principal{Scope: all}
		if name != "one" {
			continue
		}
		for _, agent := range []string{"ada", "bob"} {
			a, err := b.Store.EnsureAgent(t.Context(), all, agent)
			must(err)
			b.Scopes[agent] = auth.Principal{Scope: grant.Scope(made.ID, a.ID, "key:"+agent, tenant.NotesRead, tenant.NotesWrite, tenant.CollectionsWrite, tenant.Clone)}
		}
		b.Scopes["reader"] = auth.Principal{Scope: grant.Scope(made.ID, uuid.Nil, "key:reader", tenant.NotesRead)}
		b.Scopes["writer"] = auth.Principal{Scope: grant.Scope(made.ID, uuid.Nil, "key:writer", tenant.NotesWrite, tenant.BaseWrite)}
	}
	b.Logs = &commandtest.Buffer{}
	log := slog.New(slog.NewTextHandler(b.Logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	embedders, err := llm.NewRegistry(llm.Deps{}, llm.Config{EmbedProvider: llm.EmbedHash})
	must(err)
	b.Model = &Model{Model: analyst.New()}
	policies, err := policies.All()
	must(err)
	judge, err := policy.NewJudge()
	must(err)
	found, err := recall.New(recall.Deps{Store: b.Store, Embedders: embedders, Model: b.Model, Judge: judge, Policies: policies, Clock: b.Now, Log: log}, recall.Config{MinRevisionWait: time.Millisecond})
	must(err)
	retiring, err = notes.New(notes.Deps{Store: written, Embedders: embedders, Policies: policies, Clock: b.Now, Log: log}, notes.Config{})
	must(err)
	service, err := notes.New(notes.Deps{Store: b.Store, Embedders: embedders, Policies: policies, Clock: b.Now, Log: log}, notes.Config{})
	must(err)
	collections, err := notes.NewCollections(notes.CollectionsDeps{Store: b.Store, Plans: plans, Agents: b.Store, Embedders: embedders, Policies: policies, Clock: b.Now})
	must(err)
	quotas, err := tenant.NewQuotas(b.Store, unusedTenant{}, b.Now, tenant.QuotaConfig{Defaults: tenant.Limits{ParseSecondsPerHour: 120}})
	must(err)
	b.Files, err = files.New(files.Deps{
		Store: b.Store, Notes: service, Collections: collections, Recall: found, Clock: b.Now,
		Parse: func(_ context.Context, m parser.Media, data []byte, l parser.Limits) ([]string, error) {
			b.Pass(b.Parses)
			if b.Parsing != nil {
				b.Parsing()
			}
			return parser.Extract(m, data, l, parser.DefaultCache())
		},
		Quota: quotas,
	}, files.Config{})
	must(err)
	b.Clone, err = clone.New(clone.Deps{Store: b.Store, Agents: b.Store, Policies: policies, Clock: b.Now}, clone.Config{})
	must(err)
	banks, err := bank.New(bank.Deps{Store: b.Store, Notes: service, Collections: collections, Clock: b.Now})
	must(err)
	b.Engine, err = engine.New(engine.Deps{
		Store: b.Store, Policies: policies, Model: b.Model, Embedders: embedders, Nearest: found, Index: found, Clock: b.Now, Log: log,
	}, engine.Config{})
	must(err)
	sealer, err := seal.New([]byte("a wrapping key of this test system"), hooks.Purpose)
	must(err)
	allowed, err := outbound.ParseHosts("127.0.0.1")
	must(err)
	told, err := hooks.New(hooks.Deps{Store: b.Store, Directory: b.Store, Client: outbound.New(outbound.Config{Allow: allowed}), Sealer: sealer}, hooks.Config{})
	must(err)
	ownTools, err := tools.New(tools.Deps{Store: b.Store, Policies: policies})
	must(err)
	b.Recall, b.Policies = found, policies
	b.Agents, err = agent.New(agent.Deps{Store: b.Store, Notes: service, Blocks: notes.NewBlocks(service), Recall: found, Files: b.Files, Tools: ownTools, Policies: policies, Models: b.Engine, Clock: b.Now}, agent.Config{})
	must(err)
	importing := &imports{System: b, notes: service}
	agentFiles, err := letta.New(letta.Deps{Store: b.Store, Collections: collections, Blocks: notes.NewBlocks(service), Imports: importing, Agent: b.Agents, Clock: b.Now})
	must(err)
	chats, err := chat.New(chat.Deps{Recall: found, Notes: service, Models: models, Clock: b.Now, Log: log}, chat.Config{Limits: chat.Limits{MaxChoices: 8}})
	must(err)
	parts := &api.Core{
		Collections: collections, Notes: service, Blocks: notes.NewBlocks(service), Files: b.Files, Agent: b.Agents, Tools: ownTools, Hooks: told, Recall: found, Clone: b.Clone, Imports: importing,
		Jobs: b.Store, Engine: b.Engine, Upkeep: upkeep{b}, Waiter: b, Waiters: 2,
		Routes: []route.Set{
			(&layers.Service{Store: b.Store, Actor: b.Engine, Persons: service, Clock: b.Now}).Routes(),
			(&tiers.Service{Store: b.Store, Clock: b.Now}).Routes(), banks.Routes(), agentFiles.Routes(),
		},
		Policies: policies, Embedders: embedders, Costs: notes.NewCosts(b.Store), Chat: chats,
	}
	deps, cfg := api.Deps{Log: log, Auth: b, Now: b.Now, CursorKey: []byte("a key of the installation"), Core: parts}, api.DefaultConfig()
	for _, f := range change {
		f(b, &deps, &cfg)
	}
	b.Server, err = api.New(deps, cfg)
	must(err)
	return b
}

// Work runs all due jobs in order, and returns the number of tries.
func (b *System) Work(ctx context.Context) (tries int, err error) {
	for {
		due, err := b.Store.DueCollections(ctx, b.Now(), 100)
		if err != nil || len(due) == 0 {
			return tries, err
		}
		before := tries
		for _, d := range due {
			n, err := b.WorkOn(ctx, d)
			if err != nil {
				return tries, err
			}
			tries += n
		}
		if tries == before {
			return tries, fmt.Errorf("%d collections are due, but none of their jobs can be claimed", len(due))
		}
	}
}

// WorkOn runs the due jobs of a collection, and returns the number of tries.
func (b *System) WorkOn(ctx context.Context, d memory.Due) (tries int, err error) {
	for _, stage := range []memory.Stage{memory.StagePrepare, memory.StageDecide, memory.StageTask, memory.StageUpkeep} {
		s := grant.Job(d.Tenant, uuid.New())
		jobs, err := b.Store.ClaimJobs(ctx, s, d.Collection, stage, uuid.New(), b.Now().Add(time.Minute), 10)
		if fault.Is(err, fault.NotFound) {
			return tries, nil // a job has removed it
		}
		if err != nil {
			return tries, err
		}
		for _, j := range jobs {
			tries++
			if err := b.try(ctx, s, j, stage); err != nil {
				return tries, err
			}
		}
	}
	return tries, nil
}

// try does one try of a job, and ends it if the job does not end itself.
func (b *System) try(ctx context.Context, s tenant.Scope, j memory.Job, stage memory.Stage) error {
	ends, err := b.run(ctx, s, j, stage)
	if err != nil {
		return b.Engine.Fail(ctx, s, j, err)
	}
	if ends {
		return nil
	}
	err = b.Store.ReleaseJob(ctx, s, j.ID, j.Lease, memory.JobEnd{State: memory.JobDone, Stage: stage})
	if fault.Is(err, fault.Conflict) || fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// run runs a job, and reports whether it ends itself.
func (b *System) run(ctx context.Context, s tenant.Scope, j memory.Job, stage memory.Stage) (ends bool, err error) {
	noProgress := func(context.Context, memory.Progress) error { return nil }
	switch j.Kind {
	case memory.JobNote, memory.JobExchange:
		if stage == memory.StagePrepare {
			return true, b.Engine.RunPrepare(ctx, s, j)
		}
		return true, b.Engine.RunDecide(ctx, s, j)
	case memory.JobStep, memory.JobFlush:
		return true, b.Agents.RunStep(ctx, s, j)
	case memory.JobPolicy:
		return true, b.Engine.RunPolicy(ctx, s, j)
	case memory.JobAdopt:
		return true, b.Engine.RunAdopt(ctx, s, j)
	case memory.JobConsolidate:
		return true, b.Engine.RunConsolidate(ctx, s, j, noProgress)
	case memory.JobCopy:
		return false, b.Clone.RunCopy(ctx, s, j, noProgress)
	case memory.JobRemove:
		return false, b.Clone.RunRemove(ctx, s, j, noProgress)
	case memory.JobFile:
		return false, b.Files.Run(ctx, s, j, noProgress)
	case memory.JobErase:
		return false, b.Engine.RunErase(ctx, s, j)
	default: // no test waits for it
		return true, nil
	}
}

// Wait runs the jobs that a request waits for.
func (b *System) Wait(ctx context.Context, s tenant.Scope, job uuid.UUID, _ int) (memory.Job, error) {
	if _, err := b.Work(ctx); err != nil {
		return memory.Job{}, err
	}
	return b.Store.Job(ctx, s, job)
}

// Watch shows a job before and after it ran.
func (b *System) Watch(ctx context.Context, s tenant.Scope, job uuid.UUID, fn func(memory.Job) error) error {
	for range 2 {
		j, err := b.Store.Job(ctx, s, job)
		if err != nil {
			return err
		}
		if err := fn(j); err != nil || j.Ended() {
			return err
		}
		if _, err := b.Work(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Each says that a collection may have changed after each of the events.
func (b *System) Each(_ context.Context, _ uuid.UUID, _ time.Duration, fn func() (bool, error)) error {
	for _, happen := range b.Events {
		happen()
		if more, err := fn(); err != nil || !more {
			return err
		}
	}
	return nil
}

type upkeep struct{ *System }

func (u upkeep) Consolidate(ctx context.Context, s tenant.Scope, ref string) (memory.Job, error) {
	return jobs.Upkeep{Store: u.Store, Policies: u.Policies}.Consolidate(ctx, s, ref)
}

func (u upkeep) Reembed(ctx context.Context, s tenant.Scope, ref, embedder string) (memory.Job, error) {
	if embedder != llm.HashName {
		return memory.Job{}, fault.InvalidField("embedder", "unknown embedder %q", embedder)
	}
	return u.enqueue(ctx, s, ref, memory.JobReembed)
}

func (u upkeep) Refresh(ctx context.Context, s tenant.Scope, ref string) (memory.Job, error) {
	return jobs.Upkeep{Store: u.Store, ModelFor: u.Engine.ModelFor}.Refresh(ctx, s, ref)
}

func (b *System) enqueue(ctx context.Context, s tenant.Scope, ref string, kind memory.JobKind) (job memory.Job, err error) {
	c, err := b.Store.ResolveCollection(ctx, s, ref)
	if err != nil {
		return job, err
	}
	_, err = b.Store.Write(ctx, s, c.ID, memory.WriteOptions{}, func(ctx context.Context, tx memory.Tx) error {
		job, err = tx.Enqueue(ctx, memory.Job{Collection: c.ID, Kind: kind, Stage: memory.StageTask})
		return err
	})
	return job, err
}

// imports runs imports before it answers and keeps the results in memory.
type imports struct {
	*System
	notes   *notes.Service
	results sync.Map // job → []notes.ImportResult
}

func (im *imports) Start(ctx context.Context, s tenant.Scope, ref string, body io.Reader) (memory.Job, error) {
	raw, err := io.ReadAll(body)
	if err != nil {
		return memory.Job{}, fault.Wrap(err, fault.StorageFull, "the body cannot be kept")
	}
	importer, err := im.notes.Importer(ctx, s, ref, uuid.Nil)
	if err != nil {
		return memory.Job{}, err
	}
	var lines []notes.ImportLine
	for i, line := range bytes.Split(bytes.TrimSpace(raw), []byte("\n")) {
		lines = append(lines, notes.ImportLine{Line: i + 1, Raw: line})
	}
	var results []notes.ImportResult
	for batch := range slices.Chunk(lines, 100) {
		part, err := importer.Lines(ctx, batch)
		if err != nil {
			return memory.Job{}, err
		}
		results = append(results, part...)
	}
	last, err := importer.Finish(ctx)
	if err != nil {
		return memory.Job{}, err
	}
	job, err := im.enqueue(ctx, s, ref, memory.JobImport)
	im.results.Store(job.ID, append(results, last...))
	return job, err
}

func (im *imports) Results(ctx context.Context, s tenant.Scope, id uuid.UUID, fn func(notes.ImportResult) error) error {
	if _, err := im.Store.Job(ctx, s, id); err != nil {
		return err
	}
	kept, _ := im.results.Load(id)
	results, ok := kept.([]notes.ImportResult)
	if !ok {
		return fault.Missing("results of the job")
	}
	for _, r := range results {
		if err := fn(r); err != nil {
			return err
		}
	}
	return nil
}

// Response is an answer that matches the contract.
type Response struct {
	*httptest.ResponseRecorder
	T *testing.T
}

// Call sends a request with a credential; header are pairs. Every answer must match the contract:
// its status is documented and its body fits the schema.
func (b *System) Call(t *testing.T, credential, method, target, body string, header ...string) Response {
	t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequestWithContext(context.WithoutCancel(t.Context()), method, target, reader)
	r.Header.Set("Authorization", "Bearer "+credential)
	switch {
	case strings.HasSuffix(r.URL.Path, "/bulk"), strings.HasSuffix(r.URL.Path, "/import"):
		r.Header.Set("Content-Type", "application/x-ndjson")
	case body != "":
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	contracttest.Conforms(t, method, r.URL.Path, w)
	return Response{w, t}
}

// Want checks the status.
func (a Response) Want(status int) Response {
	a.T.Helper()
	if a.Code != status {
		a.T.Fatalf("status %d, want %d: %s", a.Code, status, a.Body)
	}
	return a
}

// Refused checks status, code and the first field of a problem.
func (a Response) Refused(status int, code fault.Code, field string) {
	a.T.Helper()
	var p struct {
		Code   string            `json:"code"`
		Errors []wire.FieldError `json:"errors"`
	}
	if err := json.Unmarshal(a.Body.Bytes(), &p); err != nil {
		a.T.Fatalf("%d %s", a.Code, a.Body)
	}
	got := ""
	if len(p.Errors) > 0 {
		got = p.Errors[0].Field
	}
	if a.Code != status || p.Code != string(code) || got != field {
		a.T.Errorf("%d %s %q, want %d %s %q: %s", a.Code, p.Code, got, status, code, field, a.Body)
	}
}

// At returns a value of the answer by its dotted path; nil without one.
func (a Response) At(path string) any {
	a.T.Helper()
	var v any
	if err := json.Unmarshal(a.Body.Bytes(), &v); err != nil {
		a.T.Fatalf("%v: %s", err, a.Body)
	}
	return Dig(v, path)
}

// Dig returns a value by its dotted path; nil without one.
func Dig(v any, path string) any {
	for key := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[key]
		case []any:
			i := 0
			for _, r := range key {
				i = i*10 + int(r-'0')
			}
			if i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

// Text returns a text of the answer by its dotted path.
func (a Response) Text(path string) string {
	a.T.Helper()
	s, ok := a.At(path).(string)
	if !ok {
		a.T.Fatalf("%s is no text: %s", path, a.Body)
	}
	return s
}

// Number returns a number of the answer by its dotted path.
func (a Response) Number(path string) float64 {
	a.T.Helper()
	n, ok := a.At(path).(float64)
	if !ok {
		a.T.Fatalf("%s is no number: %s", path, a.Body)
	}
	return n
}

// Texts returns the texts of a list, by a path in which * is any of its elements: items.*.id.
func (a Response) Texts(path string) []string {
	a.T.Helper()
	list, field, _ := strings.Cut(path, ".*")
	out := []string{}
	for i := range a.Length(list) {
		out = append(out, a.Text(fmt.Sprintf("%s.%d%s", list, i, field)))
	}
	return out
}

// Length returns how long a list of the answer is by its dotted path.
func (a Response) Length(path string) int {
	a.T.Helper()
	list, ok := a.At(path).([]any)
	if !ok {
		a.T.Fatalf("%s is no list: %s", path, a.Body)
	}
	return len(list)
}

// Lines decodes an NDJSON answer.
func (a Response) Lines() []map[string]any {
	a.T.Helper()
	var out []map[string]any
	dec := json.NewDecoder(a.Body)
	for {
		var line map[string]any
		err := dec.Decode(&line)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			a.T.Fatal(err)
		}
		out = append(out, line)
	}
}

// Collection creates a collection and returns its path.
func (b *System) Collection(t *testing.T, credential, name string) string {
	t.Helper()
	return "/v1/collections/" + b.Call(t, credential, "POST", "/v1/collections", `{"name":"`+name+`"}`).Want(http.StatusCreated).Text("id")
}

// Space creates a collection with a policy and returns its path.
func (b *System) Space(t *testing.T, name, policy string) string {
	t.Helper()
	return "/v1/collections/" + b.Call(t, "one", "POST", "/v1/collections", `{"name":"`+name+`","policy":"`+policy+`"}`).Want(http.StatusCreated).Text("id")
}

// Note adds a note and returns its id.
func (b *System) Note(t *testing.T, credential, collection, content string) string {
	t.Helper()
	return b.Call(t, credential, "POST", collection+"/notes", JSON(t, map[string]any{"content": content, "on_duplicate": "keep"})).Want(http.StatusCreated).Text("note.id")
}

// RunJobs is Work in a test that expects no error.
func (b *System) RunJobs(t *testing.T) int {
	t.Helper()
	n, err := b.Work(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// JSON encodes a body.
func JSON(tb testing.TB, v any) string {
	tb.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return string(raw)
}

// Object encodes pairs of names and values.
func Object(tb testing.TB, pairs ...any) string {
	tb.Helper()
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return JSON(tb, m)
}

// Console returns the web console, which the API of a System does not serve otherwise.
func Console() (http.Handler, error) { return console.New() }
