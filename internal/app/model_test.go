package app

import (
	"fmt"
	"maps"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/eval"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/test/must"
)

// askAll asks a fake model every call of every policy.
func askAll(t *testing.T, model *llmtest.Server) *eval.ModelReport {
	t.Helper()
	return askEach(t, model, 0)
}

// modelGateway starts a gateway that asks a fake model through a proxy.
func modelGateway(t *testing.T, model *llmtest.Server) (*eval.Client, *eval.ModelProxy) {
	t.Helper()
	proxy := must.Get(eval.NewModelProxy(model.URL()))(t)
	between := httptest.NewServer(proxy)
	t.Cleanup(between.Close)
	g := startGateway(t, func(c *Settings) {
		c.LLM.Provider, c.LLM.BaseURL, c.LLM.Model = llm.ProviderOpenAI, between.URL+"/v1", "fake"
		c.LLM.EmbedProvider = llm.EmbedHash
		c.LLM.MaxTries, c.LLM.RetryWait, c.LLM.BreakerPause = 1, time.Millisecond, time.Second
	})
	return &eval.Client{BaseURL: g.url, Key: g.key}, proxy
}

// askEach asks a fake model each call of each policy so many times; 0: as often as it comes.
func askEach(t *testing.T, model *llmtest.Server, enough int) *eval.ModelReport {
	t.Helper()
	client, proxy := modelGateway(t, model)
	test := &eval.ModelTest{
		Client: client, Proxy: proxy, Prefix: "model-", Calls: 3, Enough: enough, Until: time.Now().Add(15 * time.Minute),
		Patience: 1500 * time.Millisecond, State: filepath.Join(t.TempDir(), "calls.jsonl"), Logf: t.Logf,
	}
	report := must.Get(test.Run(t.Context()))(t)
	asked := len(model.Requests())
	if again, err := test.Run(t.Context()); err != nil || !maps.Equal(again.Calls, report.Calls) || len(model.Requests()) != asked {
		t.Errorf("a second run, which has everything already, gives %+v: %v", again, err)
	}
	var table strings.Builder
	must.Do(t, report.Print(&table))
	t.Log("\n" + table.String())
	if err := report.Err(); err != nil {
		t.Error(err)
	}
	if report.TimedOut || len(report.CutOff()) > 0 {
		t.Error("it did not come to an end")
	}
	return report
}

// A good model is asked every call of every policy, and every first answer is valid.
func TestEveryCallOfEveryPolicy(t *testing.T) {
	t.Parallel()
	model := llmtest.New(t)
	report := askAll(t, model)
	// C320: each request of a policy bounds the answer and says that it is a JSON object.
	seen := map[string]bool{}
	for _, r := range model.Requests() {
		if r.Call == "" || r.Call == llmtest.Tool || r.Call == llmtest.Embed {
			continue // a chat answers in words, a step as it likes
		}
		seen[r.Call] = true
		if r.Temperature == nil || r.MaxTokens <= 0 || !strings.Contains(r.System, "JSON object") || !strings.Contains(r.User, "JSON") {
			t.Errorf("%s: temperature %v, %d tokens\n%s\n%s", r.Call, r.Temperature, r.MaxTokens, r.System, r.User)
		}
	}
	for _, call := range eval.AllCalls() {
		if call != eval.CallChat && call != eval.CallStep && !seen[call] {
			t.Errorf("no request of %s was seen", call)
		}
	}
	if len(report.NotAsked) > 0 {
		t.Errorf("not asked: %v", report.NotAsked)
	}
	derived := 0
	for of, c := range report.Calls {
		if of.Call != eval.CallChat && of.Call != eval.CallStep && (c.Good == 0 || c.Repaired+c.Unusable+c.Failed > 0) {
			t.Errorf("%s: %+v", of, c)
		}
	}
	for _, s := range report.Scenarios {
		if derived += s.Derived; len(s.Refused) > 0 {
			t.Errorf("%s: refused %v", s.Scenario, s.Refused)
		}
	}
	if derived == 0 {
		t.Error("nothing was derived")
	}
}

// A slow model is asked each call so many times, and canned answers follow: all calls are reached all the same.
func TestCallsAreAskedOftenEnough(t *testing.T) {
	t.Parallel()
	model := llmtest.New(t)
	report := askEach(t, model, 2)
	if len(report.NotAsked) > 0 {
		t.Errorf("not asked: %v", report.NotAsked)
	}
	for of, c := range report.Calls {
		// What is asked at once, before the first answer, may be once too many for each of four.
		if of.Call != eval.CallStep && c.Requests > 2+4 {
			t.Errorf("%s was asked %d times", of, c.Requests)
		}
	}
}

// A dialogue that is told to policies that link and write gives the links and texts of both, once.
func TestLinksAndTextsOfADialogue(t *testing.T) {
	t.Parallel()
	model := llmtest.New(t)
	client, proxy := modelGateway(t, model)
	at := func(day int) string { return fmt.Sprintf("2025-03-%02dT09:00", day) }
	m := &eval.ModelDialogues{
		Client: client, Proxy: proxy, Prefix: "told-", Model: "fake", Policies: []string{"amem", "memorybank", "memoryos"}, Logf: t.Logf,
		State: filepath.Join(t.TempDir(), "dialogues.jsonl"),
		Dialogues: []eval.Labeled{{ID: "kiln-1", Turns: []eval.LabeledTurn{
			{Date: at(3), Speaker: "user", Role: "user", Text: "I bought a kiln for my pottery studio in Porto."},
			{Date: at(3), Speaker: "assistant", Role: "assistant", Text: "What will you fire in it?"},
			{Date: at(4), Speaker: "user", Role: "user", Text: "The kiln of the pottery studio in Porto broke today."},
			{Date: at(4), Speaker: "assistant", Role: "assistant", Text: "I am sorry."},
			{Date: at(5), Speaker: "user", Role: "user", Text: "Ada repaired the kiln in the pottery studio."},
			{Date: at(5), Speaker: "assistant", Role: "assistant", Text: "Good."},
		}}, {ID: "friends-1", Turns: []eval.LabeledTurn{
			{Date: at(3), Speaker: "Ada", Role: "person", Text: "I bought a kiln for my pottery studio in Porto."},
			{Date: at(4), Speaker: "Ben", Role: "person", Text: "The kiln of the pottery studio in Porto is a good one."},
			{Date: at(5), Speaker: "Ada", Role: "person", Text: "The kiln of the pottery studio broke today."},
			{Date: at(5), Speaker: "Ben", Role: "person", Text: "I am sorry."},
		}}},
	}
	results := must.Get(m.Run(t.Context()))(t)
	for _, r := range results {
		if (r.Policy == "amem") != (len(r.Links) > 0) || (r.Policy == "amem") != (len(r.Texts) == 0) || (r.By == "fake") != (len(r.Calls) > 0) {
			t.Errorf("%s, %s: links %+v, texts %+v, calls %v", r.By, r.Policy, r.Links, r.Texts, r.Calls)
		}
	}
	asked := len(model.Requests())
	if again, err := m.Run(t.Context()); err != nil || len(again) != len(results) || len(model.Requests()) != asked {
		t.Errorf("a second run, which has everything already: %d of %d results, %v", len(again), len(results), err)
	}
	var table strings.Builder
	if err := eval.PrintDialogues(&table, m.Dialogues, results); err != nil || !strings.Contains(table.String(), "| fake, memorybank | 0 | ") {
		t.Errorf("%v\n%s", err, table.String())
	}
	t.Log("\n" + table.String())
}
