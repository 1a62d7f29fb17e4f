package llm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/amem"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

// C005, C071, C296, C320: the request has schema, temperature, token limit and the word JSON, and the
// answer is checked and counted.
func TestAsk_C071(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{llm.ProviderOpenAI, llm.ProviderOllama} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			f := setup(t)
			f.cfg.Provider = provider
			if provider == llm.ProviderOllama {
				f.cfg.APIKey, f.cfg.BaseURL = "", f.srv.OllamaURL()
			}
			f.srv.Script("analyze", llmtest.JSON(goodAnalysis))
			a := must.Get(f.model(t).Ask(t.Context(), f.scope, analyzeCall()))(t)
			if got := keywordsOf(t, a); !slices.Equal(got, goodAnalysis.Keywords) {
				t.Errorf("keywords %q", got)
			}
			if a.Analyst != memory.AnalystModel || a.Model != "fake" || a.Calls != 1 || a.Repaired {
				t.Errorf("answer %+v", a)
			}
			r := f.srv.Requests()[0]
			if r.Temperature == nil || *r.Temperature < 0.69 || *r.Temperature > 0.71 || r.MaxTokens != 1000 {
				t.Errorf("temperature %v, tokens %d", r.Temperature, r.MaxTokens)
			}
			if r.Format != "json_schema" || !r.Strict || !jsonEqual(t, r.Schema, analyzeSchema) {
				t.Errorf("format %q strict %v schema %s", r.Format, r.Strict, r.Schema)
			}
			if !strings.Contains(r.System, "must be one JSON object") || !strings.Contains(r.System, "Describe the note.") {
				t.Errorf("system %q", r.System)
			}
			if r.Key != f.cfg.APIKey {
				t.Errorf("key %q", r.Key)
			}
			in, out := f.srv.Tokens()
			want := memory.ModelUse{Collection: collection, Purpose: "analyze", Day: "2026-03-04", Calls: 1, PromptTokens: in, CompletionTokens: out}
			if got := f.meter.all(); len(got) != 1 || got[0] != want || in == 0 || out == 0 {
				t.Errorf("use %+v, want %+v", got, want)
			}
			if f.meter.by[0] != f.scope.Tenant() {
				t.Error("counted for another tenant")
			}
		})
	}
}

func jsonEqual(t *testing.T, a, b json.RawMessage) bool {
	t.Helper()
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return bytes.Equal(p, q)
}

func TestDefaultsOfACall(t *testing.T) {
	t.Parallel()
	f := setup(t)
	m := f.model(t)
	c := analyzeCall()
	c.Temperature, c.MaxTokens = 0, 0
	mustAsk(t, m, f.scope, c)
	c.Temperature = -1
	mustAsk(t, m, f.scope, c)
	r := f.srv.Requests()
	if *r[0].Temperature < 0.69 || *r[0].Temperature > 0.71 || r[0].MaxTokens != llm.DefaultMaxTokens {
		t.Errorf("a call that states nothing: %v, %d", *r[0].Temperature, r[0].MaxTokens)
	}
	if r[1].Temperature == nil || *r[1].Temperature > 1e-6 || *r[1].Temperature < 1e-7 { // logits are divided by it
		t.Errorf("a call that wants none: %v", r[1].Temperature)
	}
}

func mustAsk(t *testing.T, m memory.Model, s tenant.Scope, c memory.Call) memory.Answer {
	t.Helper()
	a := must.Get(m.Ask(t.Context(), s, c))(t)
	return a
}

// Answers in any wrapping that need no repair.
func TestWrappedAnswers(t *testing.T) {
	t.Parallel()
	good, _ := json.Marshal(goodAnalysis)
	for name, r := range map[string]llmtest.Reply{
		"plain":        llmtest.JSON(goodAnalysis),
		"fence":        llmtest.Fenced(goodAnalysis),
		"think":        llmtest.Think(goodAnalysis),
		"end of think": llmtest.Text("I wonder {\"keywords\": []}\n</think>\n" + string(good)),
		"prose":        llmtest.Text("Result {as asked}: " + string(good) + " {done}"),
		"BOM":          llmtest.Text("\ufeff" + string(good)),
		"extra fields": llmtest.Text(strings.Replace(string(good), "{", `{"mood":"fine","n":{"a":1},`, 1)),
		"slow":         llmtest.Slow(20*time.Millisecond, llmtest.JSON(goodAnalysis)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t)
			f.srv.Script("analyze", r)
			a := mustAsk(t, f.model(t), f.scope, analyzeCall())
			if got := keywordsOf(t, a); !slices.Equal(got, goodAnalysis.Keywords) || a.Calls != 1 {
				t.Errorf("keywords %q after %d calls", got, a.Calls)
			}
		})
	}
}

// Missing lists and numbers mean none; nulls are missing; 1.0 is 1.
func TestLenientReading(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.srv.Script("evolve", llmtest.Text(`{"should_evolve": true, "actions": null, "suggested_connections": [1.0, 2], "because": "why not"}`))
	a := mustAsk(t, f.model(t), f.scope, evolveCall())
	var e amem.Evolution
	if err := json.Unmarshal(a.JSON, &e); err != nil {
		t.Fatalf("%v in %s", err, a.JSON)
	}
	if !e.ShouldEvolve || e.Confidence != nil || len(e.Actions) != 0 || !slices.Equal(e.SuggestedConnections, []int{1, 2}) || a.Calls != 1 {
		t.Errorf("%+v after %d calls", e, a.Calls)
	}
}

// Properties that a call does not require may be missing; required ones may not.
func TestWantedParts(t *testing.T) {
	t.Parallel()
	f := setup(t)
	m := f.model(t)
	c := analyzeCall()
	c.Needs = []string{"tags"}
	f.srv.Script("analyze", llmtest.Text(`{"tags":["a","b","c"]}`))
	if a := mustAsk(t, m, f.scope, c); a.Calls != 1 {
		t.Errorf("%d calls", a.Calls)
	}
	f.srv.Script("analyze", llmtest.Text(`{"keywords":["a"],"context":"x"}`), llmtest.Text(`{"tags":["a"]}`))
	if a := mustAsk(t, m, f.scope, c); a.Calls != 2 || !a.Repaired {
		t.Errorf("%d calls, repaired %v", a.Calls, a.Repaired)
	}
}

// Every kind of bad answer is repaired once, with the error shown.
func TestRepair(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		bad   llmtest.Reply
		shown string
	}{
		"schema":     {llmtest.WrongSchema(), "none of the properties"},
		"example":    {llmtest.Text(`{"keywords":["bees","Oslo"],"context":"x","tags":[]}`), "oslo is from the example"},
		"type":       {llmtest.Text(`{"keywords":"bees","context":"x","tags":[]}`), "/keywords"},
		"refusal":    {llmtest.Refusal("I cannot help with bees."), "I cannot help with bees."},
		"no choices": {llmtest.NoChoices(), "empty"},
		"empty":      {llmtest.Text(" "), "empty"},
		"prose":      {llmtest.Text("The keywords are bees and frost."), "no valid JSON object"},
		"thinking":   {llmtest.Text(`<think>never ends {"keywords":["x"],"context":"x","tags":[]}`), "the answer is empty"},
		"inner":      {llmtest.Text(`{"outer": {"keywords":["x"],"context":"x","tags":[]}`), "not complete"},
		"array":      {llmtest.Text(`["bees"]`), "no valid JSON object"},
		"huge":       {llmtest.Text(strings.Repeat("x", 2<<20)), "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t)
			f.srv.Script("analyze", tc.bad, llmtest.JSON(goodAnalysis))
			a := mustAsk(t, f.model(t), f.scope, analyzeCall())
			if !a.Repaired || a.Calls != 2 || !slices.Equal(keywordsOf(t, a), goodAnalysis.Keywords) {
				t.Errorf("%+v", a)
			}
			if second := f.srv.Requests()[1].User; !strings.Contains(second, tc.shown) || !strings.Contains(second, "JSON") {
				t.Errorf("the repair shows %q, want %q", second, tc.shown)
			}
			if got := f.meter.all(); len(got) != 1 || got[0].Calls != 2 {
				t.Errorf("use %+v", got)
			}
		})
	}
}

func TestCheckAsksForRepair(t *testing.T) {
	t.Parallel()
	f := setup(t)
	wrong := json.RawMessage(`{"should_evolve":true,"actions":[],"suggested_connections":[99],"confidence":1}`)
	right := json.RawMessage(`{"should_evolve":true,"actions":[],"suggested_connections":[0],"confidence":1}`)
	f.srv.Script("evolve", llmtest.JSON(wrong), llmtest.JSON(right))
	c := evolveCall()
	c.Check = func(raw json.RawMessage) error {
		if strings.Contains(string(raw), "99") {
			return errors.New("there is no handle 99")
		}
		return nil
	}
	a := mustAsk(t, f.model(t), f.scope, c)
	if !a.Repaired || !strings.Contains(f.srv.Requests()[1].User, "there is no handle 99") {
		t.Errorf("%+v", a)
	}
}

// C009, C073: two bad answers are ErrBadAnswer, with an empty answer that fits the schema and a
// warning without text of the answer.
func TestBadAnswer_C073(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.srv.Script("analyze", llmtest.Text("private words"), llmtest.WrongSchema())
	a, err := f.model(t).Ask(t.Context(), f.scope, analyzeCall())
	if !errors.Is(err, memory.ErrBadAnswer) || !fault.Is(err, fault.ModelFailed) {
		t.Fatalf("error %v", err)
	}
	if !jsonEqual(t, a.JSON, json.RawMessage(`{"keywords":[],"context":"","tags":[]}`)) || a.Calls != 2 {
		t.Errorf("answer %s after %d calls", a.JSON, a.Calls)
	}
	if log := f.log.String(); strings.Count(log, "level=WARN") != 2 || !strings.Contains(log, "call=analyze") || strings.Contains(log, "private words") {
		t.Errorf("log %s", log)
	}
	if got := f.meter.all(); len(got) != 1 || got[0].Calls != 2 {
		t.Errorf("use %+v", got)
	}
}

// An endpoint without structured outputs is asked for a JSON object with the
// schema in the instructions, and that is remembered.
func TestSchemaRefused(t *testing.T) {
	t.Parallel()
	for objects, wantFormat := range map[bool]string{false: "json_object", true: ""} {
		f := setup(t)
		f.srv.RefuseSchemas(objects)
		m := f.model(t)
		mustAsk(t, m, f.scope, analyzeCall())
		asked := len(f.srv.Requests())
		mustAsk(t, m, f.scope, analyzeCall())
		r := f.srv.Requests()
		if len(r) != asked+1 {
			t.Errorf("objects refused %v: %d requests for the second call", objects, len(r)-asked)
		}
		last := r[len(r)-1]
		if last.Format != wantFormat || !strings.Contains(last.System, string(analyzeSchema)) || last.Call != "analyze" {
			t.Errorf("objects refused %v: format %q, system %q", objects, last.Format, last.System)
		}
	}
}

// Bounds of lengths are sent where the endpoint takes them, and left out for the life of the process where it refuses
// them, as OpenAI's strict schemas do. The order of properties stays, and an answer beyond a bound is not an error.
func TestBoundsRefused(t *testing.T) {
	t.Parallel()
	f := setup(t)
	m := f.model(t)
	c := analyzeCall()
	c.Schema = json.RawMessage(`{"type":"object","properties":{
		"keywords":{"type":"array","items":{"type":"string","maxLength":4},"minItems":1,"maxItems":2},
		"context":{"type":"string","minLength":1, "maxLength":10},
		"tags":{"type":"array","items":{"type":"string"}}},
		"required":["keywords","context","tags"],"additionalProperties":false}`)
	f.srv.Script("analyze", llmtest.StatusText(http.StatusBadRequest,
		"Invalid schema for response_format 'analyze': In context=('properties', 'context'), 'maxLength' is not permitted."),
		llmtest.JSON(goodAnalysis), llmtest.JSON(goodAnalysis))
	for range 2 {
		if got := keywordsOf(t, mustAsk(t, m, f.scope, c)); !slices.Equal(got, goodAnalysis.Keywords) {
			t.Errorf("keywords %q", got)
		}
	}
	r := f.srv.Requests()
	if len(r) != 3 || !jsonEqual(t, r[0].Schema, c.Schema) {
		t.Fatalf("%d requests, the first with the schema %s", len(r), r[0].Schema)
	}
	for _, later := range r[1:] {
		if later.Format != "json_schema" || !later.Strict || !jsonEqual(t, later.Schema, analyzeSchema) {
			t.Errorf("format %q, strict %v, schema %s", later.Format, later.Strict, later.Schema)
		}
		if keywords, tags := bytes.Index(later.Body, []byte(`"keywords":{`)), bytes.Index(later.Body, []byte(`"tags":{`)); keywords < 0 || tags < keywords {
			t.Errorf("the order of properties changed: %s", later.Body)
		}
	}
}

// TestSchemaUnknown: llama-cpp-python answers 500 to a form of answer that it does not know. The request is not repeated as
// it was, and does not count as an outage.
func TestSchemaUnknown(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.cfg.BreakerFailures = 1
	refusal := llmtest.StatusText(http.StatusInternalServerError,
		"1 validation error:\n {'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be 'text' or 'json_object'\"}")
	f.srv.Script("analyze", refusal, refusal) // with bounds, and without them
	mustAsk(t, f.model(t), f.scope, analyzeCall())
	if r := f.srv.Requests(); len(r) != 3 || r[2].Format != "json_object" {
		t.Errorf("%d requests, the last in the form %q", len(r), r[len(r)-1].Format)
	}
}

func TestFieldsRefused(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.srv.RefuseField("max_tokens")
	f.srv.RefuseField("temperature")
	m := f.model(t)
	mustAsk(t, m, f.scope, analyzeCall())
	mustAsk(t, m, f.scope, analyzeCall())
	r := f.srv.Requests()
	if last := r[len(r)-1]; len(r) != 4 || last.Temperature != nil || last.MaxTokens != 1000 {
		t.Errorf("%d requests, the last %s", len(r), last.Body)
	}
}

// Concurrent calls that learn it at the same time all succeed.
func TestFieldsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.srv.RefuseField("max_tokens")
	f.srv.RefuseField("temperature")
	f.srv.RefuseSchemas(true)
	m := f.model(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := m.Ask(t.Context(), f.scope, analyzeCall()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// The client library itself refuses these fields for models that it knows.
func TestReasoningModel(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.cfg.Model = "gpt-5-mini"
	a := mustAsk(t, f.model(t), f.scope, analyzeCall())
	r := f.srv.Requests()
	if a.Calls != 1 || len(r) != 1 || r[0].MaxTokens != 1000 || r[0].Temperature != nil {
		t.Errorf("%d calls, %d requests", a.Calls, len(r))
	}
}

// The caller does not see temporary failures of the transport.
func TestRetry(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]llmtest.Reply{
		"429":      llmtest.Status(429, 0),
		"500":      llmtest.Status(500, 0),
		"503":      llmtest.Status(503, 0),
		"reset":    llmtest.Reset(),
		"cut":      llmtest.CutBody(),
		"not JSON": llmtest.NotJSON(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t)
			f.srv.Script("analyze", r, r, llmtest.JSON(goodAnalysis))
			a := mustAsk(t, f.model(t), f.scope, analyzeCall())
			if a.Calls != 3 || a.Repaired {
				t.Errorf("%+v", a)
			}
		})
	}
}

// A hanging endpoint is asked again after the timeout of one request.
func TestHangingEndpointIsAskedAgain(t *testing.T) {
	t.Parallel()
	inBubble(t, hangTwice)
}

func hangTwice(t *testing.T, f *fixture) {
	t.Helper()
	f.cfg.MaxTries = 2
	m := f.model(t)
	f.srv.Script("analyze", llmtest.Hang(), llmtest.Hang())
	_, err := m.Ask(t.Context(), f.scope, analyzeCall())
	if !fault.Is(err, fault.Timeout) || !strings.Contains(err.Error(), f.srv.URL()) || f.srv.Calls("analyze") != 2 {
		t.Errorf("%v after %d", err, f.srv.Calls("analyze"))
	}
}

// C074: the error of a lasting failure says what failed; its address is for the log alone, and the key for nobody.
func TestTransportFaults_C074(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reply llmtest.Reply
		code  fault.Code
		says  string
		calls int
	}{
		"429":   {llmtest.Status(429, 0), fault.Unavailable, "slow down", 3},
		"500":   {llmtest.StatusText(500, "key "+secret+" crashed"), fault.Unavailable, "failed (500)", 3},
		"reset": {llmtest.Reset(), fault.Unavailable, "broke", 3},
		"400":   {llmtest.StatusText(400, "context length exceeded"), fault.ModelFailed, "refused the request", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t)
			f.srv.Always("analyze", tc.reply)
			a, err := f.model(t).Ask(t.Context(), f.scope, analyzeCall())
			var fl *fault.Error
			if !errors.As(err, &fl) || fl.Code != tc.code || !strings.Contains(fl.Message, tc.says) || strings.Contains(fl.Message, "127.0.0.1") || !strings.Contains(err.Error(), f.srv.URL()) {
				t.Errorf("fault %v", err)
			}
			if strings.Contains(err.Error()+f.log.String(), secret) {
				t.Errorf("the key shows in %v or the log", err)
			}
			if errors.Is(err, memory.ErrBadAnswer) || errors.Is(err, memory.ErrPaused) {
				t.Errorf("%v is not an error of the transport", err)
			}
			if a.Calls != tc.calls || f.srv.Calls("analyze") != tc.calls || len(a.JSON) != 0 {
				t.Errorf("%d calls, %d requests, answer %s", a.Calls, f.srv.Calls("analyze"), a.JSON)
			}
		})
	}
}

// What no waiting heals has a code of its own, also while the breaker is open, and the log names the setting: the key of an endpoint is
// refused, its account is not paid, it does not know the model. Some endpoints say it with another status.
func TestMisconfigured(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reply         llmtest.Reply
		says, setting string
	}{
		"401":        {llmtest.StatusText(401, "Incorrect API key provided: "+secret), "does not accept the key (401)", "API_KEY"},
		"403":        {llmtest.StatusText(403, "no access"), "does not accept the key (403)", "API_KEY"},
		"400 Gemini": {llmtest.StatusCode(400, "API_KEY_INVALID", "API key not valid."), "does not accept the key (401)", "API_KEY"},
		"402":        {llmtest.StatusText(402, "Insufficient Balance"), "to be paid (402)", "API_KEY"},
		"429 OpenAI": {llmtest.StatusCode(429, "insufficient_quota", "You exceeded your current quota."), "to be paid (402)", "API_KEY"},
		"404":        {llmtest.StatusText(404, "model not found"), "does not know the model or the path (404)", "MODEL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t)
			f.cfg.BreakerFailures, f.cfg.BreakerPause, f.cfg.EmbedAPIKey = 1, time.Hour, "another"
			f.srv.Always("analyze", tc.reply)
			f.srv.Always(llmtest.Embed, tc.reply)
			f.srv.Always("", tc.reply)
			m, e, c := f.model(t), f.embedder(t), newChatProxy(t, f.srv, f.deps, func(c *llm.Config) { c.BreakerFailures, c.MaxTries = 1, 3 })
			for range 2 {
				for setting, ask := range map[string]func() error{
					"SLIPBOX_LLM_":   func() error { _, err := m.Ask(t.Context(), f.scope, analyzeCall()); return err },
					"SLIPBOX_EMBED_": func() error { _, err := e.Embed(t.Context(), f.scope, []string{"a"}); return err },
					"SLIPBOX_LLM":    func() error { _, err := said(t.Context(), t, c, hello); return err },
				} {
					err := ask()
					found, ok := errors.AsType[*fault.Error](err)
					if !ok || found.Code != fault.Misconfigured || found.RetryAfter != 0 || !strings.Contains(found.Message, tc.says) || strings.Contains(found.Message, "SLIPBOX") {
						t.Fatalf("%s: callers read %v", setting, err)
					}
					if said := err.Error(); !strings.Contains(said, setting) || !strings.Contains(said, tc.setting) || strings.Contains(said+f.log.String(), secret) {
						t.Errorf("%s: operators read %v", setting, err)
					}
				}
			}
			if log := f.log.String(); !strings.Contains(log, "SLIPBOX_LLM_"+tc.setting) || !strings.Contains(log, "SLIPBOX_EMBED_"+tc.setting) {
				t.Errorf("the log of the breaker is %s", log)
			}
			if n := len(f.srv.Requests()); n != 3 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

func TestNobodyListens_C074(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.srv.Close()
	a, err := f.model(t).Ask(t.Context(), f.scope, analyzeCall())
	var op *net.OpError
	if !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "cannot connect to the model's endpoint: "+f.srv.URL()) || !errors.As(err, &op) {
		t.Errorf("fault %v", err)
	}
	if a.Calls != 0 || len(f.meter.all()) != 0 {
		t.Errorf("%d calls counted of an endpoint that was not reached", a.Calls)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	t.Run("honored", func(t *testing.T) {
		t.Parallel()
		f := setup(t)
		f.srv.Script("analyze", llmtest.Status(429, time.Second), llmtest.JSON(goodAnalysis))
		began := time.Now()
		mustAsk(t, f.model(t), f.scope, analyzeCall())
		if took := time.Since(began); took < time.Second {
			t.Errorf("asked again after %s", took)
		}
	})
	t.Run("past the deadline", func(t *testing.T) {
		t.Parallel()
		f := setup(t)
		f.cfg.MaxRetryWait = time.Hour
		f.srv.Script("analyze", llmtest.Status(429, time.Hour))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		_, err := f.model(t).Ask(ctx, f.scope, analyzeCall())
		if !fault.Is(err, fault.Unavailable) || ctx.Err() != nil || f.srv.Calls("analyze") != 1 {
			t.Errorf("%v, %v", err, ctx.Err())
		}
	})
	t.Run("too long", func(t *testing.T) {
		t.Parallel()
		f := setup(t)
		f.srv.Script("analyze", llmtest.Status(429, time.Hour))
		_, err := f.model(t).Ask(t.Context(), f.scope, analyzeCall())
		var fl *fault.Error
		if !errors.As(err, &fl) || fl.RetryAfter != time.Hour || f.srv.Calls("analyze") != 1 {
			t.Errorf("%v after %d requests", err, f.srv.Calls("analyze"))
		}
	})
}

// The breaker stops requests, returns an error that says so, and lets one request test the endpoint. The log says when that begins
// and ends.
func TestBreaker(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.cfg.MaxTries, f.cfg.BreakerFailures, f.cfg.BreakerPause = 1, 3, time.Second // a busy machine asks late
	m := f.model(t)
	f.srv.Down(true)
	for range 3 {
		if _, err := m.Ask(t.Context(), f.scope, analyzeCall()); errors.Is(err, memory.ErrPaused) || err == nil {
			t.Fatalf("asked: %v", err)
		}
	}
	asked := len(f.srv.Requests())
	a, err := m.Ask(t.Context(), f.scope, analyzeCall())
	var fl *fault.Error
	if !errors.Is(err, memory.ErrPaused) || !errors.As(err, &fl) || fl.Code != fault.Unavailable || fl.RetryAfter != time.Second {
		t.Errorf("open: %v", err)
	}
	if a.Calls != 0 || len(f.srv.Requests()) != asked {
		t.Error("the endpoint was asked through an open breaker")
	}
	// A failed probe counts as a pause too: however long an endpoint is down, no job uses up its
	// tries on probes.
	f.srv.Down(false)
	f.srv.Always("analyze", llmtest.Status(503, 0))
	waitFor(t, func() bool {
		a, err := m.Ask(t.Context(), f.scope, analyzeCall())
		if !errors.Is(err, memory.ErrPaused) {
			t.Fatalf("half open: %v", err)
		}
		return a.Calls == 1
	})
	f.srv.Always("analyze", llmtest.Default())
	waitFor(t, func() bool {
		_, err := m.Ask(t.Context(), f.scope, analyzeCall())
		return err == nil
	})
	said := f.log.String()
	if strings.Count(said, "an endpoint is not asked for now") != 1 || strings.Count(said, "the endpoint answers again") != 1 {
		t.Errorf("the log has not one line when it begins and one when it ends:\n%s", said)
	}
}

// waitFor polls until the condition holds; the breaker's pause is real time.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("did not happen in five minutes")
		}
	}
}

// A refused request says nothing about the endpoint's health.
func TestBreakerIgnoresBadRequests(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.cfg.BreakerFailures = 2
	m := f.model(t)
	f.srv.Always("analyze", llmtest.StatusText(400, "too long"))
	for range 4 {
		if _, err := m.Ask(t.Context(), f.scope, analyzeCall()); errors.Is(err, memory.ErrPaused) {
			t.Fatal(err)
		}
	}
}

func TestCallerGoesAway(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.cfg.BreakerFailures = 1
	m := f.model(t)
	f.srv.Script("analyze", llmtest.Hang())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := m.Ask(ctx, f.scope, analyzeCall())
		done <- err
	}()
	waitFor(t, func() bool { return f.srv.Calls("analyze") == 1 })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) || f.srv.Calls("analyze") != 1 {
		t.Errorf("%v after %d requests", err, f.srv.Calls("analyze"))
	}
	mustAsk(t, m, f.scope, analyzeCall()) // the breaker did not count it
}

func TestConcurrencyIsBounded(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.cfg.MaxConcurrent = 2
	m := f.model(t)
	f.srv.Always("analyze", llmtest.Slow(500*time.Millisecond, llmtest.JSON(goodAnalysis)))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { mustAsk(t, m, f.scope, analyzeCall()) })
	}
	wg.Wait()
	if p := f.srv.Peak(); p != 2 {
		t.Errorf("%d requests at once", p)
	}
}

func TestUseIsEstimatedWhereNotStated(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.srv.OmitUsage()
	a := mustAsk(t, f.model(t), f.scope, analyzeCall())
	if a.PromptTokens < 10 || a.CompletionTokens < 5 {
		t.Errorf("%d, %d", a.PromptTokens, a.CompletionTokens)
	}
}

func TestZeroScopeIsRefused(t *testing.T) {
	t.Parallel()
	f := setup(t)
	_, err := f.model(t).Ask(t.Context(), tenant.Scope{}, analyzeCall())
	if !fault.Is(err, fault.Unauthenticated) || len(f.srv.Requests()) != 0 {
		t.Errorf("%v", err)
	}
}

// The connections that a model suggests are returned unchanged.
func TestSuggestedConnections(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.srv.Script("evolve", llmtest.JSON(map[string]any{
		"should_evolve": true, "actions": []string{"strengthen"}, "suggested_connections": []int{1}, "confidence": 0.97,
	}))
	a := mustAsk(t, f.model(t), f.scope, evolveCall())
	var e amem.Evolution
	if err := json.Unmarshal(a.JSON, &e); err != nil || !slices.Equal(e.SuggestedConnections, []int{1}) {
		t.Errorf("%v, %+v", err, e)
	}
}
