package api

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
	"github.com/slipboxhq/slipbox/internal/api/route"
	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/app/command/commandtest"
	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/clone"
	parser "github.com/slipboxhq/slipbox/internal/document"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/llm"
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
)

// system is the API with the real services over its own store. Jobs run when a test runs them, or
// while a request waits for them.
type system struct {
	*Server
	store   store.Store
	engine  *engine.Engine
	agent   *agent.Service
	clone   *clone.Service
	files   *files.Service
	parses  time.Duration // how long turning a file into text takes
	parsing func()        // runs meanwhile; nil: nothing
	model   *switchable
	recall  *recall.Service
	logs    *commandtest.Buffer

	policies memory.Policies
	scopes   map[string]auth.Principal // by credential

	events []func() // what happens while a collection is followed

	mu  sync.Mutex
	now time.Time
}

// switchable is the analyst by rules, which can be told to fail.
type switchable struct {
	memory.Model
	mu    sync.Mutex
	err   error
	turns func(memory.Dialogue) (memory.TurnResult, error) // nil: the rules answer
	asks  func(memory.Call) (memory.Answer, error)         // nil: the rules answer
}

// Converse implements memory.Model.
func (m *switchable) Converse(ctx context.Context, s tenant.Scope, d memory.Dialogue) (memory.TurnResult, error) {
	m.mu.Lock()
	turns := m.turns
	m.mu.Unlock()
	if turns == nil {
		return m.Model.Converse(ctx, s, d)
	}
	return turns(d)
}

func (m *switchable) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

func (m *switchable) Ask(ctx context.Context, s tenant.Scope, c memory.Call) (memory.Answer, error) {
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
func (b *system) Authenticate(_ context.Context, credential string) (auth.Principal, error) {
	p, ok := b.scopes[credential]
	if !ok {
		return p, fault.New(fault.Unauthenticated, "the credential is not accepted")
	}
	return p, nil
}

func (b *system) clock() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *system) pass(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

// newSystem creates two tenants, "one" and "two". The credential "one" has all permissions in the
// first, "ada" and "bob" are its agents, "reader" may only read, "writer" may only write notes.
func newSystem(t *testing.T) *system {
	t.Helper()
	return newTalking(t, chat.Models{})
}

// unusedTenant is a tenant.UsageSource of tenants without quotas on what they store.
type unusedTenant struct{}

func (unusedTenant) TenantUsage(context.Context, uuid.UUID) (tenant.Usage, error) {
	return tenant.Usage{}, nil
}

// newTalking is newSystem with models for chats, and what change sets.
func newTalking(t *testing.T, models chat.Models, change ...func(*system, *Core)) *system {
	t.Helper()
	b := &system{scopes: map[string]auth.Principal{}, now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	written := enginetest.Open(t, b.clock, nil)
	var retiring *notes.Service
	b.store = store.RetireExpired(written, b.clock, func(ctx context.Context, s tenant.Scope, collection uuid.UUID) error {
		return retiring.RetireExpired(ctx, grant.Job(s.Tenant(), uuid.Nil), collection)
	})
	for _, name := range []string{"one", "two"} {
		made, err := b.store.CreateTenant(t.Context(), grant.Operator("test"), tenant.Tenant{Name: name})
		must(err)
		all := grant.Scope(made.ID, uuid.Nil, "key:"+name, tenant.AllPermissions()...)
		b.scopes[name] = auth.Principal{Scope: all}
		if name != "one" {
			continue
		}
		for _, agent := range []string{"ada", "bob"} {
			a, err := b.store.EnsureAgent(t.Context(), all, agent)
			must(err)
			b.scopes[agent] = auth.Principal{Scope: grant.Scope(made.ID, a.ID, "key:"+agent, tenant.NotesRead, tenant.NotesWrite, tenant.CollectionsWrite, tenant.Clone)}
		}
		b.scopes["reader"] = auth.Principal{Scope: grant.Scope(made.ID, uuid.Nil, "key:reader", tenant.NotesRead)}
		b.scopes["writer"] = auth.Principal{Scope: grant.Scope(made.ID, uuid.Nil, "key:writer", tenant.NotesWrite, tenant.BaseWrite)}
	}
	b.logs = &commandtest.Buffer{}
	log := slog.New(slog.NewTextHandler(b.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	embedders, err := llm.NewRegistry(llm.Deps{}, llm.Config{EmbedProvider: llm.EmbedHash})
	must(err)
	b.model = &switchable{Model: analyst.New()}
	policies, err := policies.All()
	must(err)
	judge, err := policy.NewJudge()
	must(err)
	found, err := recall.New(recall.Deps{Store: b.store, Embedders: embedders, Model: b.model, Judge: judge, Policies: policies, Clock: b.clock, Log: log}, recall.Config{MinRevisionWait: time.Millisecond})
	must(err)
	retiring, err = notes.New(notes.Deps{Store: written, Embedders: embedders, Policies: policies, Clock: b.clock, Log: log}, notes.Config{})
	must(err)
	service, err := notes.New(notes.Deps{Store: b.store, Embedders: embedders, Policies: policies, Clock: b.clock, Log: log}, notes.Config{})
	must(err)
	collections, err := notes.NewCollections(notes.CollectionsDeps{Store: b.store, Agents: b.store, Embedders: embedders, Policies: policies, Clock: b.clock})
	must(err)
	quotas, err := tenant.NewQuotas(b.store, unusedTenant{}, b.clock, tenant.QuotaConfig{Defaults: tenant.Limits{ParseSecondsPerHour: 120}})
	must(err)
	b.files, err = files.New(files.Deps{
		Store: b.store, Notes: service, Collections: collections, Recall: found, Clock: b.clock,
		Parse: func(_ context.Context, m parser.Media, data []byte, l parser.Limits) ([]string, error) {
			b.pass(b.parses)
			if b.parsing != nil {
				b.parsing()
			}
			return parser.Extract(m, data, l)
		},
		Quota: quotas,
	}, files.Config{})
	must(err)
	b.clone, err = clone.New(clone.Deps{Store: b.store, Agents: b.store, Policies: policies, Clock: b.clock}, clone.Config{})
	must(err)
	banks, err := bank.New(bank.Deps{Store: b.store, Notes: service, Collections: collections, Clock: b.clock})
	must(err)
	b.engine, err = engine.New(engine.Deps{
		Store: b.store, Policies: policies, Model: b.model, Embedders: embedders, Nearest: found, Index: found, Clock: b.clock, Log: log,
	}, engine.Config{})
	must(err)
	sealer, err := seal.New([]byte("a wrapping key of this test system"), hooks.Purpose)
	must(err)
	allowed, err := outbound.ParseHosts("127.0.0.1")
	must(err)
	told, err := hooks.New(hooks.Deps{Store: b.store, Directory: b.store, Client: outbound.New(outbound.Config{Allow: allowed}), Sealer: sealer}, hooks.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ownTools, err := tools.New(tools.Deps{Store: b.store, Policies: policies})
	must(err)
	b.recall, b.policies = found, policies
	b.agent, err = agent.New(agent.Deps{Store: b.store, Notes: service, Blocks: notes.NewBlocks(service), Recall: found, Files: b.files, Tools: ownTools, Policies: policies, Models: b.engine, Clock: b.clock}, agent.Config{})
	must(err)
	importing := &imports{system: b, notes: service}
	agentFiles, err := letta.New(letta.Deps{Store: b.store, Collections: collections, Blocks: notes.NewBlocks(service), Imports: importing, Agent: b.agent, Clock: b.clock})
	must(err)
	chats, err := chat.New(chat.Deps{Recall: found, Notes: service, Models: models, Clock: b.clock, Log: log}, chat.Config{Limits: chat.Limits{MaxChoices: 8}})
	must(err)
	parts := &Core{
		Collections: collections, Notes: service, Blocks: notes.NewBlocks(service), Files: b.files, Agent: b.agent, Tools: ownTools, Hooks: told, Recall: found, Clone: b.clone, Imports: importing,
		Jobs: b.store, Engine: b.engine, Upkeep: upkeep{b}, Waiter: b, Waiters: 2,
		Routes: []route.Set{
			(&layers.Service{Store: b.store, Actor: b.engine, Persons: service, Clock: b.clock}).Routes(),
			(&tiers.Service{Store: b.store, Clock: b.clock}).Routes(), banks.Routes(), agentFiles.Routes(),
		},
		Policies: policies, Embedders: embedders, Costs: notes.NewCosts(b.store), Chat: chats,
	}
	for _, f := range change {
		f(b, parts)
	}
	b.Server, err = New(Deps{Log: log, Auth: b, Now: b.clock, CursorKey: []byte("a key of the installation"), Core: parts}, DefaultConfig())
	must(err)
	return b
}

// work runs all due jobs in order, and returns the number of tries.
func (b *system) work(ctx context.Context) (tries int, err error) {
	for {
		due, err := b.store.DueCollections(ctx, b.clock(), 100)
		if err != nil || len(due) == 0 {
			return tries, err
		}
		before := tries
		for _, d := range due {
			n, err := b.workOn(ctx, d)
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

func (b *system) workOn(ctx context.Context, d memory.Due) (tries int, err error) {
	noProgress := func(context.Context, memory.Progress) error { return nil }
	for _, stage := range []memory.Stage{memory.StagePrepare, memory.StageDecide, memory.StageTask, memory.StageUpkeep} {
		s := grant.Job(d.Tenant, uuid.New())
		jobs, err := b.store.ClaimJobs(ctx, s, d.Collection, stage, uuid.New(), b.clock().Add(time.Minute), 10)
		if fault.Is(err, fault.NotFound) {
			return tries, nil // a job has removed it
		}
		if err != nil {
			return tries, err
		}
		for _, j := range jobs {
			tries++
			switch {
			case (j.Kind == memory.JobNote || j.Kind == memory.JobExchange) && stage == memory.StagePrepare:
				err = b.engine.RunPrepare(ctx, s, j)
			case j.Kind == memory.JobNote || j.Kind == memory.JobExchange:
				err = b.engine.RunDecide(ctx, s, j)
			case j.Kind == memory.JobStep || j.Kind == memory.JobFlush:
				err = b.agent.RunStep(ctx, s, j)
			case j.Kind == memory.JobPolicy:
				err = b.engine.RunPolicy(ctx, s, j)
			case j.Kind == memory.JobAdopt:
				err = b.engine.RunAdopt(ctx, s, j)
			case j.Kind == memory.JobConsolidate:
				err = b.engine.RunConsolidate(ctx, s, j, noProgress)
			case j.Kind == memory.JobCopy:
				err = b.clone.RunCopy(ctx, s, j, noProgress)
			case j.Kind == memory.JobRemove:
				err = b.clone.RunRemove(ctx, s, j, noProgress)
			case j.Kind == memory.JobFile:
				err = b.files.Run(ctx, s, j, noProgress)
			case j.Kind == memory.JobErase:
				err = b.engine.RunErase(ctx, s, j)
			}
			if err != nil {
				err = b.engine.Fail(ctx, s, j, err)
			} else if j.Kind == memory.JobCopy || j.Kind == memory.JobRemove || j.Kind == memory.JobFile || j.Kind == memory.JobErase {
				err = b.store.ReleaseJob(ctx, s, j.ID, j.Lease, memory.JobEnd{State: memory.JobDone, Stage: stage})
				if fault.Is(err, fault.Conflict) || fault.Is(err, fault.NotFound) {
					err = nil
				}
			}
			if err != nil {
				return tries, err
			}
		}
	}
	return tries, nil
}

// Wait runs the jobs that a request waits for.
func (b *system) Wait(ctx context.Context, s tenant.Scope, job uuid.UUID, _ int) (memory.Job, error) {
	if _, err := b.work(ctx); err != nil {
		return memory.Job{}, err
	}
	return b.store.Job(ctx, s, job)
}

// Watch shows a job before and after it ran.
func (b *system) Watch(ctx context.Context, s tenant.Scope, job uuid.UUID, fn func(memory.Job) error) error {
	for range 2 {
		j, err := b.store.Job(ctx, s, job)
		if err != nil {
			return err
		}
		if err := fn(j); err != nil || j.Ended() {
			return err
		}
		if _, err := b.work(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Each says that a collection may have changed after each of the events.
func (b *system) Each(_ context.Context, _ uuid.UUID, _ time.Duration, fn func() (bool, error)) error {
	for _, happen := range b.events {
		happen()
		if more, err := fn(); err != nil || !more {
			return err
		}
	}
	return nil
}

type upkeep struct{ *system }

func (u upkeep) Consolidate(ctx context.Context, s tenant.Scope, ref string) (memory.Job, error) {
	return jobs.Upkeep{Store: u.store, Policies: u.policies}.Consolidate(ctx, s, ref)
}

func (u upkeep) Reembed(ctx context.Context, s tenant.Scope, ref, embedder string) (memory.Job, error) {
	if embedder != llm.HashName {
		return memory.Job{}, fault.InvalidField("embedder", "unknown embedder %q", embedder)
	}
	return u.enqueue(ctx, s, ref, memory.JobReembed)
}

func (u upkeep) Refresh(ctx context.Context, s tenant.Scope, ref string) (memory.Job, error) {
	return jobs.Upkeep{Store: u.store, ModelFor: u.engine.ModelFor}.Refresh(ctx, s, ref)
}

func (b *system) enqueue(ctx context.Context, s tenant.Scope, ref string, kind memory.JobKind) (job memory.Job, err error) {
	c, err := b.store.ResolveCollection(ctx, s, ref)
	if err != nil {
		return job, err
	}
	_, err = b.store.Write(ctx, s, c.ID, memory.WriteOptions{}, func(ctx context.Context, tx memory.Tx) error {
		job, err = tx.Enqueue(ctx, memory.Job{Collection: c.ID, Kind: kind, Stage: memory.StageTask})
		return err
	})
	return job, err
}

// imports runs imports at once and keeps the results in memory.
type imports struct {
	*system
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
	if _, err := im.store.Job(ctx, s, id); err != nil {
		return err
	}
	kept, ok := im.results.Load(id)
	if !ok {
		return fault.Missing("results of the job")
	}
	for _, r := range kept.([]notes.ImportResult) {
		if err := fn(r); err != nil {
			return err
		}
	}
	return nil
}

// response is an answer that matches the contract.
type response struct {
	*httptest.ResponseRecorder
	t *testing.T
}

// call sends a request with a credential; header are pairs. Every answer must match the contract:
// its status is documented and its body fits the schema.
func (b *system) call(t *testing.T, credential, method, target, body string, header ...string) response {
	t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequestWithContext(context.WithoutCancel(t.Context()), method, target, reader)
	r.Header.Set("Authorization", "Bearer "+credential)
	switch {
	case strings.HasSuffix(r.URL.Path, "/bulk"), strings.HasSuffix(r.URL.Path, "/import"):
		r.Header.Set("Content-Type", mediaNDJSON)
	case body != "":
		r.Header.Set("Content-Type", mediaJSON)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	b.conforms(t, method, r.URL.Path, w)
	return response{w, t}
}

func (b *system) conforms(t *testing.T, method, path string, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Code == http.StatusInternalServerError { // the other 5xx are a model's, or temporary
		t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	op := b.doc.operationOf(method, path)
	if op == nil {
		return
	}
	documented := op.written().Responses.Status(w.Code)
	if documented == nil {
		t.Errorf("%s answers %d, which is not documented: %s", op.id, w.Code, w.Body)
		return
	}
	for name := range documented.Value.Headers {
		if name == "Slipbox-Revision" && w.Header().Get(name) == "" && op.id != "bulkNotes" && !strings.HasSuffix(op.id, "Review") {
			t.Errorf("%s: no header %s", op.id, name)
		}
	}
	media, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
	if w.Body.Len() == 0 {
		return
	}
	content := documented.Value.Content[media]
	if content == nil {
		t.Errorf("%s answers %d with %q", op.id, w.Code, media)
		return
	}
	if !strings.HasSuffix(media, "json") || media == mediaNDJSON {
		return
	}
	value, err := parseJSON(w.Body.Bytes())
	if err != nil {
		t.Errorf("%s: %v: %s", op.id, err, w.Body)
		return
	}
	if err := content.Schema.Value.VisitJSON(value, allErrors...); err != nil {
		t.Errorf("%s: the answer breaks its schema: %v\n%s", op.id, err, w.Body)
	}
	if op.errors == errorsOpenAI {
		return // an endpoint's answer passes unchanged, with its nulls
	}
	if path := findNull(value, ""); path != "" && !strings.Contains(path, "attributes") {
		t.Errorf("%s: %s is null: %s", op.id, path, w.Body)
	}
}

// findNull returns the path of the first null: absent fields are absent, never null.
func findNull(v any, path string) string {
	switch v := v.(type) {
	case nil:
		return path
	case map[string]any:
		for k, e := range v {
			if p := findNull(e, join(path, k)); p != "" {
				return p
			}
		}
	case []any:
		for i, e := range v {
			if p := findNull(e, join(path, string(rune('0'+i%10)))); p != "" {
				return p
			}
		}
	}
	return ""
}

// want checks the status.
func (a response) want(status int) response {
	a.t.Helper()
	if a.Code != status {
		a.t.Fatalf("status %d, want %d: %s", a.Code, status, a.Body)
	}
	return a
}

// refused checks status, code and the first field of a problem.
func (a response) refused(status int, code fault.Code, field string) {
	a.t.Helper()
	var p struct {
		Code   string            `json:"code"`
		Errors []wire.FieldError `json:"errors"`
	}
	if err := json.Unmarshal(a.Body.Bytes(), &p); err != nil {
		a.t.Fatalf("%d %s", a.Code, a.Body)
	}
	got := ""
	if len(p.Errors) > 0 {
		got = p.Errors[0].Field
	}
	if a.Code != status || p.Code != string(code) || got != field {
		a.t.Errorf("%d %s %q, want %d %s %q: %s", a.Code, p.Code, got, status, code, field, a.Body)
	}
}

// at returns a value of the answer by its dotted path; nil without one.
func (a response) at(path string) any {
	a.t.Helper()
	var v any
	if err := json.Unmarshal(a.Body.Bytes(), &v); err != nil {
		a.t.Fatalf("%v: %s", err, a.Body)
	}
	return dig(v, path)
}

func dig(v any, path string) any {
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

func (a response) text(path string) string {
	a.t.Helper()
	s, ok := a.at(path).(string)
	if !ok {
		a.t.Fatalf("%s is no text: %s", path, a.Body)
	}
	return s
}

func (a response) number(path string) float64 {
	a.t.Helper()
	n, ok := a.at(path).(float64)
	if !ok {
		a.t.Fatalf("%s is no number: %s", path, a.Body)
	}
	return n
}

func (a response) length(path string) int {
	a.t.Helper()
	list, ok := a.at(path).([]any)
	if !ok {
		a.t.Fatalf("%s is no list: %s", path, a.Body)
	}
	return len(list)
}

// lines decodes an NDJSON answer.
func (a response) lines() []map[string]any {
	a.t.Helper()
	var out []map[string]any
	dec := json.NewDecoder(a.Body)
	for {
		var line map[string]any
		err := dec.Decode(&line)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			a.t.Fatal(err)
		}
		out = append(out, line)
	}
}

// collection creates a collection and returns its path.
func (b *system) collection(t *testing.T, credential, name string) string {
	t.Helper()
	return "/v1/collections/" + b.call(t, credential, "POST", "/v1/collections", `{"name":"`+name+`"}`).want(http.StatusCreated).text("id")
}

// note adds a note and returns its id.
func (b *system) note(t *testing.T, credential, collection, content string) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"content": content, "on_duplicate": "keep"})
	if err != nil {
		t.Fatal(err)
	}
	return b.call(t, credential, "POST", collection+"/notes", string(body)).want(http.StatusCreated).text("note.id")
}

func (b *system) runJobs(t *testing.T) int {
	t.Helper()
	n, err := b.work(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}
