//go:build night

package app

import (
	"html"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/config"
	"github.com/slipboxhq/slipbox/internal/eval"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
)

// With a model the answers are the model's, and the report names it (C085): F1 and BLEU-1 by category (C083, C190), the verdicts of
// a judge beside those of plain retrieval and of the whole history (C194), and an agent that decides itself what to look for (C326).
func TestComparisonWithAModel(t *testing.T) {
	t.Parallel()
	d := firstTurns(t, 24, 3)
	gold := map[string]string{}
	for _, q := range d.Conversations[0].Questions {
		gold[q.Text] = q.Answer
	}
	answers, judges := llmtest.New(t), llmtest.New(t)
	answers.Handle("", func(req llmtest.Request) llmtest.Reply {
		memories, question, asked := strings.Cut(req.User, "\n\nQuestion: ")
		if answer := gold[question]; asked && strings.Contains(strings.ToLower(memories), strings.ToLower(answer)) {
			return llmtest.Text(answer)
		}
		return llmtest.Text("not mentioned")
	})
	judges.Handle("", func(req llmtest.Request) llmtest.Reply {
		_, said, _ := strings.Cut(req.User, "\nCorrect answer: ")
		if right, answer, _ := strings.Cut(said, "\nAnswer: "); right == answer {
			return llmtest.Text("CORRECT")
		}
		return llmtest.Text("WRONG")
	})
	g := startGateway(t, func(c *Settings) {
		c.LLM.Provider, c.LLM.BaseURL, c.LLM.Model, c.LLM.EmbedProvider = llm.ProviderOpenAI, answers.URL(), "reader", llm.EmbedHash
		c.Models = map[string]config.Model{"judge": {BaseURL: judges.URL(), Model: "strict"}}
	})
	c := compareOf(t, g, d)
	c.Policies, c.Baselines, c.Judge = []string{"amem"}, []string{eval.FullContext, eval.AgenticSearch}, "judge"
	report, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if report.Model != "reader" || report.Judge == nil || report.Judge.Model != "judge" || report.Judge.Prompt != eval.JudgePrompt || len(report.LeftOut) > 0 {
		t.Errorf("answered by %q, judged by %+v, left out %v", report.Model, report.Judge, report.LeftOut)
	}
	for i := range report.Systems {
		s := &report.Systems[i]
		all, ok := s.Answers[eval.Overall]
		if !ok || all.N != 3 || all.Judge == nil || len(s.Answers) < 2 {
			t.Errorf("%s: answers %+v", s.Name, s.Answers)
			continue
		}
		if right := all.Judge.Mean; s.Name != eval.AgenticSearch && (right == 0 || right > all.F1.Mean+1e-9) {
			t.Errorf("%s: %.2f right by the judge, F1 %.2f", s.Name, right, all.F1.Mean)
		}
		if s.Name == "amem" && s.Model.CallsPerAdd == 0 {
			t.Errorf("no call of the model was counted: %+v", s.Model)
		}
	}
	if len(report.Systems) != 4 || answers.Calls(llmtest.Tool) == 0 {
		t.Errorf("%d systems, %d steps of the agent", len(report.Systems), answers.Calls(llmtest.Tool))
	}
	page := report.HTML()
	checkPage(t, page)
	for _, part := range []string{"reader", "judge", eval.AnswerPrompt} {
		if !strings.Contains(page, html.EscapeString(part)) {
			t.Errorf("the page does not say %q", part)
		}
	}
}

// Questions find memories in the other language with the default settings, also among others in their own.
func TestRecallAcrossLanguages(t *testing.T) {
	t.Parallel()
	d, err := eval.SampleLanguages()
	if err != nil {
		t.Fatal(err)
	}
	runs := checkRuns(t, d, "")
	for _, variant := range []string{eval.Vector, eval.Hybrid} {
		reaches(t, runs[variant], map[string]float64{"recall@10": 0.80})
	}
}

// The memory systems reach the committed results on the bundled conversation. Without a model a fact is a quotation with its
// speaker and date, so what they store has a little more than half as many tokens again as the messages (with a model it is a small share:
// C187 in package engine), and the facts are equal with and without a graph (C208). MemoryBank draws no
// portrait here: two persons talk (persons: several).
func TestRecallOfSystemsOnTheSample(t *testing.T) {
	t.Parallel()
	stored := map[string]*eval.Stored{}
	for _, s := range eval.Systems(true) {
		d, err := eval.SampleTalk()
		if err != nil {
			t.Fatal(err)
		}
		stored[s.Name] = checkSystem(t, d, "sample-derived-", s)[eval.Hybrid].Stored
	}
	if n := stored["messages"].Notes(); n != 0 {
		t.Errorf("%d notes were made of messages without a policy", n)
	}
	for name, kinds := range map[string][]string{"mem0": {"fact", "summary"}, "mem0g": {"fact", "summary", "entity"}, "memorybank": {"summary"}} {
		of := stored[name]
		if got := slices.Sorted(maps.Keys(of.Derived)); !slices.Equal(got, slices.Sorted(slices.Values(kinds))) {
			t.Errorf("%s made %v", name, of.Derived)
		}
		if of.Share() >= 1.6 {
			t.Errorf("%s stores %.2f of the dialogue", name, of.Share())
		}
	}
	if mem0, graph := stored["mem0"].Derived["fact"], stored["mem0g"].Derived["fact"]; mem0 != graph {
		t.Errorf("C208: %d facts without the graph, %d with it", mem0, graph)
	}
}

// With a model that answers nonsense every call is asked, and no nonsense is stored: only valid
// answers are, with their sources.
func TestPoorModels(t *testing.T) {
	t.Parallel()
	answers := map[string]llmtest.Reply{
		"another schema": llmtest.WrongSchema(),
		"a fence":        llmtest.Text("<think>Let me see.</think>```json\n[\"Nora\", {\"is\": [\"here\"]}]\n```"),
		"cut off":        llmtest.Truncated(map[string]any{"facts": []string{"Nora signed the lease of a studio"}}),
		"a refusal":      llmtest.Refusal("I cannot help with that."),
		"prose":          llmtest.Text("Nora likes pottery. Her studio is on Alder Street!"),
		"an outage":      llmtest.StatusText(http.StatusServiceUnavailable, "overloaded"),
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := llmtest.New(t)
			for _, call := range append(eval.AllCalls(), llmtest.Tool, "") {
				model.Always(call, answer)
			}
			report := askAll(t, model)
			if name != "an outage" && len(report.NotAsked) > 0 {
				t.Errorf("not asked: %v", report.NotAsked)
			}
		})
	}
}
