package bench_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/analyst"
	"github.com/slipboxhq/slipbox/internal/app"
	"github.com/slipboxhq/slipbox/internal/config"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memgpt/agent"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/corpus"
	"github.com/slipboxhq/slipbox/test/must"
)

// BenchmarkAgent measures what an agent costs beside its model, which answers at once: building the context, a step
// (a turn of the model that calls a tool, everything committed and synced), and a flush, with 10,000 messages in recall
// storage. "cpu-ms" is the mean processor time of the process meanwhile, the garbage collector's too; what is above it in p50-ms waits for
// the disk.
func BenchmarkAgent(b *testing.B) {
	const messages = 10_000
	g := newAgents(b)
	c := g.talked(b, "recall", messages, `{"window":8192}`)
	b.Run("context", func(b *testing.B) {
		g.cpuTimed(b, func(int) (time.Duration, error) {
			return g.part(b, func() error {
				v, err := g.Recall.Open(b.Context(), g.scope, c.ID.String(), nil, 0)
				if err == nil {
					_, err = g.agent.Main(b.Context(), g.scope, v)
				}
				return err
			})
		})
	})
	for name, call := range map[string]func(i int) memory.ToolCall{
		"edit": func(i int) memory.ToolCall {
			return toolCall("core_memory_append", "label", "human", "content", fmt.Sprint(i))
		},
		"search": func(int) memory.ToolCall {
			return toolCall("conversation_search", "query", g.text.Query())
		},
		"reply": func(i int) memory.ToolCall { return toolCall("send_message", "message", fmt.Sprintf("Reply %d.", i)) },
	} {
		b.Run("step/"+name, func(b *testing.B) {
			f := g.emptied(b, c)
			n := 0
			g.model.answer = func() memory.Turn {
				n++
				return memory.Turn{Role: memory.RoleAssistant, Calls: []memory.ToolCall{call(n)}}
			}
			g.cpuTimed(b, func(int) (time.Duration, error) { return g.step(b, f, "Go on.") })
		})
	}
	b.Run("flush/200", g.flushes)
}

// agents is a gateway whose jobs only the benchmark runs, and its agents with a model that answers at once.
type agents struct {
	*gateway
	agent *agent.Service
	model *instant
	cpu   time.Duration // of the parts that were measured
}

// instant is a model that answers at once; summaries are made by rules.
type instant struct {
	memory.Model
	answer func() memory.Turn
}

func (m *instant) Analyst() memory.Analyst { return memory.AnalystHeuristic }

func (m *instant) Converse(context.Context, tenant.Scope, memory.Dialogue) (memory.TurnResult, error) {
	return memory.TurnResult{Turn: m.answer(), Analyst: memory.AnalystModel, Model: "instant", Requests: 1}, nil
}

func (m *instant) ModelFor(*memory.Collection) memory.Model { return m }
func (m *instant) ModelNamed(string) (memory.Model, bool)   { return nil, false }

func newAgents(b *testing.B) *agents {
	b.Helper()
	cfg := config.Default()
	cfg.Addr, cfg.Data = "127.0.0.1:0", b.TempDir()
	cfg.Limits.SingleTenant = true
	cfg.LLM.EmbedProvider = llm.EmbedHash // the encoder has benchmarks of its own
	a := must.Get(app.NewGateway(b.Context(), cfg, slog.New(slog.DiscardHandler)))(b)
	b.Cleanup(func() {
		if err := a.Close(); err != nil {
			b.Error(err)
		}
	})
	t := must.Get(a.Tenants.Create(b.Context(), grant.Operator("bench"), tenant.NewTenant{Name: app.DefaultTenant}))(b)
	g := &agents{
		gateway: &gateway{Gateway: a, dir: cfg.Data, text: corpus.New(7), scope: grant.Scope(t.ID, uuid.Nil, "bench", tenant.AllPermissions()...)},
		model:   &instant{Model: analyst.New()},
	}
	g.agent = must.Get(agent.New(agent.Deps{
		Store: a.Store, Notes: a.Notes, Blocks: a.Blocks, Recall: a.Recall, Files: a.Files, Policies: a.Policies, Models: g.model,
	}, agent.Config{Encoding: cfg.Context.Encoding}))(b)
	return g
}

func toolCall(tool string, pairs ...string) memory.ToolCall {
	arguments := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		arguments[pairs[i]] = pairs[i+1]
	}
	raw, _ := json.Marshal(arguments)
	return memory.ToolCall{ID: "x", Name: tool, Arguments: string(raw)}
}

// part measures a part of a call, and adds its processor time.
func (g *agents) part(b *testing.B, fn func() error) (time.Duration, error) {
	b.Helper()
	start, before := time.Now(), processorTime(b)
	err := fn()
	g.cpu += processorTime(b) - before
	return time.Since(start), err
}

// cpuTimed measures fn, which returns how long its part took, and the processor time of the parts.
func (g *agents) cpuTimed(b *testing.B, fn func(i int) (time.Duration, error)) {
	b.Helper()
	runtime.GC()
	n := 0
	g.cpu = 0
	measure(b, func(i int) time.Duration {
		took := must.Get(fn(i))(b)
		n++
		return took
	})
	b.ReportMetric(float64(g.cpu)/float64(n)/float64(time.Millisecond), "cpu-ms")
}

func processorTime(b testing.TB) time.Duration {
	b.Helper()
	var u syscall.Rusage
	must.Do(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// talked creates an agent with messages of two who take turns.
func (g *agents) talked(b *testing.B, name string, n int, settings string) memory.Collection {
	b.Helper()
	v := must.Get(g.Collections.Create(b.Context(), g.scope,
		notes.CollectionInput{Name: name, Policy: memory.PolicyMemGPT, PolicyConfig: json.RawMessage(settings)}, memory.Request{}))(b)
	g.talk(b, v.Collection, n)
	return v.Collection
}

func (g *agents) talk(b *testing.B, c memory.Collection, n int) {
	b.Helper()
	for n > 0 {
		in := notes.NewMessages{Infer: new(false), OnDuplicate: memory.DuplicateKeep}
		for i := range min(n, memory.MaxMessages) {
			role := memory.RoleUser
			if i%2 == 1 {
				role = memory.RoleAssistant
			}
			in.Messages = append(in.Messages, notes.NewMessage{Role: role, Content: g.text.Note()})
		}
		must.Get(g.Notes.AddMessages(b.Context(), g.scope, c.ID.String(), in, memory.Request{}))(b)
		n -= len(in.Messages)
	}
}

// emptied returns a fork of an agent whose window was flushed, so that its steps flush nothing.
func (g *agents) emptied(b *testing.B, c memory.Collection) memory.Collection {
	b.Helper()
	f, _ := g.forked(b, c)
	g.model.answer = func() memory.Turn { return memory.Turn{Role: memory.RoleAssistant, Text: "Yes."} }
	must.Get(g.step(b, f, "Are you there?"))(b)
	return f
}

// step posts an event and does one step of its run, which it measures; the run is canceled then.
func (g *agents) step(b *testing.B, c memory.Collection, content string) (time.Duration, error) {
	b.Helper()
	ctx := b.Context()
	posted, err := g.agent.Post(ctx, g.scope, c.ID.String(), agent.NewEvent{Content: content}, memory.Request{})
	if err != nil {
		return 0, err
	}
	s := grant.Job(g.scope.Tenant(), uuid.New())
	if err := g.prepare(ctx, s, c); err != nil {
		return 0, err
	}
	jobs, err := g.Store.ClaimJobs(ctx, s, c.ID, memory.StageDecide, uuid.New(), time.Now().Add(time.Minute), 1)
	if err != nil || len(jobs) != 1 || jobs[0].Note != posted.Run {
		return 0, fmt.Errorf("claimed are %v: %w", jobs, err)
	}
	took, err := g.part(b, func() error { return g.agent.RunStep(ctx, s, jobs[0]) })
	if err != nil {
		return took, err
	}
	run, err := g.Store.Job(ctx, g.scope, jobs[0].ID)
	if err == nil && !run.Ended() {
		_, err = g.agent.Cancel(ctx, g.scope, c.ID.String(), posted.Run)
	}
	return took, err
}

// prepare does the jobs that make vectors, which the gateway does beside the steps.
func (g *agents) prepare(ctx context.Context, s tenant.Scope, c memory.Collection) error {
	for {
		jobs, err := g.Store.ClaimJobs(ctx, s, c.ID, memory.StagePrepare, uuid.New(), time.Now().Add(time.Minute), 100)
		if err != nil || len(jobs) == 0 {
			return err
		}
		for _, j := range jobs {
			if err := g.Engine.RunPrepare(ctx, s, j); err != nil {
				return err
			}
		}
	}
}

// flushes measures what a step takes longer when 200 messages leave the window and are summed up without a model.
func (g *agents) flushes(b *testing.B) {
	const leave = 200
	c := g.talked(b, "flush", 2*leave, `{"window":24000,"evict":0.5,"warn":1}`)
	g.model.answer = func() memory.Turn { return memory.Turn{Role: memory.RoleAssistant, Text: "Yes."} }
	evicted, rounds := 0, 0
	g.cpuTimed(b, func(int) (time.Duration, error) {
		before, spent := g.evicted(b, c), g.cpu
		for range 100 {
			g.cpu = spent
			plain, err := g.step(b, c, "Are you there?")
			if err != nil {
				return 0, err
			}
			after := g.evicted(b, c)
			if after.From == before.From {
				g.talk(b, c, leave/4)
				continue
			}
			rounds++
			evicted += int(memory.NumberOf(after.Attributes, "messages"))
			flushed := g.cpu
			again, err := g.step(b, c, "Are you there?")
			g.cpu = spent + max(0, 2*flushed-spent-g.cpu) // of the flush: less that of a step without it
			return max(0, plain-again), err
		}
		return 0, fmt.Errorf("nothing was flushed")
	})
	b.ReportMetric(float64(evicted)/float64(max(1, rounds)), "messages")
}

// evicted returns the summary of the messages that have left the window; zero: there is none.
func (g *agents) evicted(b *testing.B, c memory.Collection) memory.Note {
	b.Helper()
	v := must.Get(g.Recall.Open(b.Context(), g.scope, c.ID.String(), nil, 0))(b)
	list := must.Get(g.Store.ListNotes(b.Context(), g.scope, v, memory.NoteQuery{Kinds: []memory.Kind{memory.KindSummary}, Limit: 1}))(b)
	if len(list) == 0 {
		return memory.Note{}
	}
	return list[0]
}
