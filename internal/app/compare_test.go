package app

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/eval"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/test/must"
)

// compareOf returns a comparison of all policies of a gateway and all baselines.
func compareOf(t *testing.T, g *gatewayTest, d *eval.Dataset) *eval.Comparison {
	t.Helper()
	return &eval.Comparison{
		Client: &eval.Client{BaseURL: g.url, Key: g.key}, Data: d, Folder: filepath.Join(t.TempDir(), "parts"), Prefix: "compare-",
		Baselines: eval.Baselines(), Chunks: []int{128}, ChunkHits: []int{10}, Budget: 1000, Seeds: 1, PerAdd: 2,
	}
}

// firstTurns returns the bundled conversation with its first turns, and the questions that they answer.
func firstTurns(t *testing.T, turns, questions int) *eval.Dataset {
	t.Helper()
	d := must.Get(eval.SampleTalk())(t)
	c := &d.Conversations[0]
	c.Turns = c.Turns[:turns]
	known := map[string]bool{}
	for i := range c.Turns {
		known[c.Turns[i].ID] = true
	}
	c.Questions = slices.DeleteFunc(c.Questions, func(q eval.Question) bool {
		return len(q.Gold) == 0 || slices.ContainsFunc(q.Gold, func(id string) bool { return !known[id] })
	})
	c.Questions = c.Questions[:min(questions, len(c.Questions))]
	return d
}

// One dialogue goes to every system of the gateway, and to the baselines, through one API (C310): plain messages, the
// whole history and chunks (C191), an agent over a static store (C326). The report has the tokens of a question beside those of the
// whole history (C084, C188), and the latency beside that of reading it (C189).
func TestComparisonStopsAndGoesOn(t *testing.T) {
	t.Parallel()
	g := startGateway(t, func(c *Settings) { c.LLM.EmbedProvider = llm.EmbedHash })
	d := firstTurns(t, 24, 4)
	c := compareOf(t, g, d)

	ctx, cancel := context.WithCancel(t.Context())
	ended := 0
	c.OnProgress = func(p eval.Progress) {
		if p.Ended {
			ended++
		} else if ended == 2 {
			cancel() // in the middle of the third part
		}
	}
	if _, err := c.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("cut off: %v", err)
	}
	before, err := filepath.Glob(filepath.Join(c.Folder, "*.json"))
	if err != nil || len(before) != 2 {
		t.Fatalf("%d parts were kept: %v", len(before), err)
	}
	kept := must.Get(os.Stat(before[0]))(t)
	c.OnProgress = nil
	report := must.Get(c.Run(t.Context()))(t)
	if again, err := os.Stat(before[0]); err != nil || !again.ModTime().Equal(kept.ModTime()) {
		t.Errorf("a part was measured again: %v", err)
	}

	policies := must.Get(c.Client.Policies(t.Context()))(t)
	by := map[string]*eval.SystemReport{}
	for i := range report.Systems {
		by[report.Systems[i].Name] = &report.Systems[i]
	}
	names := []string{eval.FullContext, eval.SlidingWindow, "chunks-128-k10", eval.AgenticSearch}
	for _, p := range policies {
		names = append(names, p.Name)
	}
	for _, name := range names {
		s := by[name]
		if s == nil {
			t.Errorf("%s was not compared", name)
			continue
		}
		if s.Stored.Items == 0 || s.Recall["2000"] == 0 && name != eval.AgenticSearch || s.SearchMs.P50 <= 0 || s.Questions != 4 {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if full := by[eval.FullContext]; full.OfFull < 0.9 || by["none"].Prompt > 1000 {
		t.Errorf("the whole history is %.2f of itself, plain messages take %.0f tokens", full.OfFull, by["none"].Prompt)
	}
	for _, category := range report.Systems[0].ByCategory {
		if category.Low > category.Mean || category.High < category.Mean {
			t.Errorf("interval %+v", category)
		}
	}
	if report.Model != "" || report.Answers != eval.ExtractiveAnswer {
		t.Errorf("answered by %q: %s", report.Model, report.Answers)
	}
	checkPage(t, report.HTML())
}

// checkPage checks that a page is complete by itself.
func checkPage(t *testing.T, page string) {
	t.Helper()
	if n := strings.Count(page, "<svg"); n < 7 {
		t.Errorf("%d plots", n)
	}
	for _, outside := range []string{"http:", "https:", "<script", "@import", "url(", "src=", "NaN", "Inf"} {
		if strings.Contains(page, outside) {
			t.Errorf("the page has %q", outside)
		}
	}
	for rest := page; ; {
		_, after, ok := strings.Cut(rest, "<svg")
		if !ok {
			break
		}
		body, after, ok := strings.Cut(after, "</svg>")
		if !ok {
			t.Fatal("a plot does not end")
		}
		dec := xml.NewDecoder(strings.NewReader("<svg" + body + "</svg>"))
		for {
			if _, err := dec.Token(); err == io.EOF { //nolint:errorlint // the decoder returns it as it is
				break
			} else if err != nil {
				t.Fatalf("a plot is no XML: %v", err)
			}
		}
		rest = after
	}
}

// A history that is much longer than a prompt is answered from prompts that stay within their budget (C311), while the whole history
// grows (C084). "eval compare --generate 1000000" does the same with a million tokens.
func TestLongHistoryIsAnsweredFromBoundedPrompts(t *testing.T) {
	t.Parallel()
	g := startGateway(t, func(c *Settings) { c.LLM.EmbedProvider = llm.EmbedHash })
	c := compareOf(t, g, eval.Generated(12_000, []int{500, 1000, 2000}))
	c.Policies, c.Baselines, c.PerAdd = []string{"none"}, []string{eval.FullContext}, 20
	report := must.Get(c.Run(t.Context()))(t)
	none, full := report.Systems[0], report.Systems[1]
	// Hashed n-grams, not the encoder; the newest turns alone cover a twelfth.
	if none.Recall["1000"] < 0.6 || none.Context["1000"] > 1000 || none.Context["2000"] > 2000 {
		t.Errorf("recall %v within %v tokens", none.Recall, none.Context)
	}
	if none.Terms.Mean < 0.6 || full.Prompt < 11_000 || full.Recall["2000"] != 0 {
		t.Errorf("%.2f of the answers are in the prompts; the whole history has %.0f tokens, recall %v", none.Terms.Mean, full.Prompt, full.Recall)
	}
}

// A model that answers slowly is not asked again what it has answered before a comparison was cut off.
func TestAnswersOfAComparisonAreKept(t *testing.T) {
	t.Parallel()
	model := llmtest.New(t)
	client, _ := modelGateway(t, model)
	c := &eval.Comparison{
		Client: client, Data: firstTurns(t, 24, 4), Folder: filepath.Join(t.TempDir(), "parts"), Prefix: "compare-",
		Policies: []string{"none"}, Baselines: []string{}, Budget: 1000, Seeds: 1, PerAdd: 12,
	}
	answers := func() (n int) {
		for _, r := range model.Requests() {
			if strings.Contains(r.User, "Question: ") {
				n++
			}
		}
		return n
	}
	ctx, cancel := context.WithCancel(t.Context())
	c.OnProgress = func(p eval.Progress) {
		if strings.HasSuffix(p.Now, "questions") && p.Step == 3 {
			cancel()
		}
	}
	if _, err := c.Run(ctx); !errors.Is(err, context.Canceled) || answers() != 3 {
		t.Fatalf("cut off after %d answers: %v", answers(), err)
	}
	c.OnProgress = nil
	if report, err := c.Run(t.Context()); err != nil || answers() != 4 || report.Systems[0].Questions != 4 {
		t.Errorf("in all the model was asked %d times: %v", answers(), err)
	}
	if left, err := filepath.Glob(filepath.Join(c.Folder, "*.answers")); err != nil || len(left) > 0 {
		t.Errorf("%v is left: %v", left, err)
	}
}
