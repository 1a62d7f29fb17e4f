package eval

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/test/must"
)

// at returns one metric of a score by name.
func at(t *testing.T, s Score, budgets []int, name string) float64 {
	t.Helper()
	i := slices.Index(metrics(budgets), name)
	if i < 0 {
		t.Fatalf("no metric is named %s", name)
	}
	return s[i]
}

// The example from the definition of the metrics: gold a, b, c; ranked x, a, y, z, b, ...
// and c at rank 30.
func TestMeasureWorkedExample(t *testing.T) {
	t.Parallel()
	ranked := []string{"x", "a", "y", "z", "b"}
	for i := 6; i < 30; i++ {
		ranked = append(ranked, "filler"+string(rune('A'+i)))
	}
	ranked = append(ranked, "c")
	s := newScale(nil, nil).Measure(ranked, []string{"a", "b", "c"}, "")
	for name, want := range map[string]float64{
		"recall@5": 2.0 / 3, "recall@50": 1, "all@10": 0, "any@5": 1, "any@10": 1, "all@50": 1, "MRR": 0.5, "nDCG@10": 0.4776,
	} {
		if got := at(t, s, nil, name); math.Abs(got-want) > 5e-5 {
			t.Errorf("%s = %.4f, want %.4f", name, got, want)
		}
	}
	if got := at(t, s, nil, answerMetric); !math.IsNaN(got) {
		t.Errorf("without an answer %s is %v, want none", answerMetric, got)
	}
}

func TestMeasureNothingFound(t *testing.T) {
	t.Parallel()
	for i, v := range newScale(nil, []int{500}).Measure(nil, []string{"a"}, "a word") {
		if v != 0 {
			t.Errorf("%s of an empty list is %v, want 0", metrics([]int{500})[i], v)
		}
	}
}

// Recall within a budget stops before the first turn that would exceed it.
func TestMeasureTokens(t *testing.T) {
	t.Parallel()
	turns := []Turn{
		{ID: "a", Rendered: "[x] one two three"}, // 6 tokens
		{ID: "b", Rendered: "[x] four"},          // 4
		{ID: "c", Rendered: "[x] fives lie"},     // 5
		{ID: "d", Rendered: "[x] six"},           // 4
	}
	budgets := []int{10, 14, 15}
	s := newScale(turns, budgets)
	if s.total != 19 {
		t.Fatalf("%d tokens in all, want 19", s.total)
	}
	score := s.Measure([]string{"a", "b", "c", "d"}, []string{"b", "c"}, "The five lied, six.")
	for name, want := range map[string]float64{
		"tokens@5": 19, "cost@5": 1, "recall@10t": 0.5, "recall@14t": 0.5, "recall@15t": 1,
		answerMetric: 2.0 / 3, // five, six; "lied" has another stem than "lie"
	} {
		if got := at(t, score, budgets, name); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "one": 1, "don't": 3, "[2:05 pm] Hi!": 8, "naïve": 3, "a  b\n": 2, "\u00a0": 0, "東京": 2} {
		if got := Tokens(text); got != want {
			t.Errorf("Tokens(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestAUROC(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		positive, negative []float64
		want               float64
	}{
		{[]float64{3, 4}, []float64{1, 2}, 1},
		{[]float64{1, 2}, []float64{3, 4}, 0},
		{[]float64{1, 1}, []float64{1, 1}, 0.5},
		{[]float64{1, 3}, []float64{2, 2, 0}, (1.0/3 + 1) / 2},
	} {
		if got := AUROC(c.positive, c.negative); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("AUROC(%v, %v) = %v, want %v", c.positive, c.negative, got, c.want)
		}
	}
	if !math.IsNaN(AUROC(nil, []float64{1})) {
		t.Error("without positives it is a number")
	}
}

func TestSamples(t *testing.T) {
	t.Parallel()
	talk := must.Get(SampleTalk())(t)
	chat := must.Get(SampleChat())(t)
	for _, c := range []struct {
		d                       *Dataset
		turns, questions, apart int
	}{{talk, 48, 20, 2}, {chat, 20, 13, 0}} {
		got := c.d.Conversations[0]
		if len(got.Turns) != c.turns || len(got.Questions) != c.questions {
			t.Errorf("%s has %d turns and %d questions, want %d and %d", c.d.Name, len(got.Turns), len(got.Questions), c.turns, c.questions)
		}
		apart := 0
		for _, q := range got.Questions {
			if len(q.Gold) == 0 && q.Category != "abstention" {
				t.Errorf("question %q has no gold turn", q.Text)
			}
			if q.Category == talk.Apart {
				apart++
			}
		}
		if apart != c.apart {
			t.Errorf("%s has %d questions apart, want %d", c.d.Name, apart, c.apart)
		}
	}
	if got := talk.Conversations[0].Turns[13]; got.ID != "D2:2" || got.Session != "2" || got.Speaker != "Nora" ||
		!strings.HasPrefix(got.Text, "Nora: Eleven people") || !strings.HasPrefix(got.Rendered, "[7:45 pm on 29 March, 2025] Nora: Eleven") ||
		!got.At.Equal(time.Date(2025, 3, 29, 19, 45, 1, 0, time.UTC)) {
		t.Errorf("turn 13 is %+v", got)
	}
	if got := chat.Conversations[0].Turns[7]; got.ID != "7" || got.Session != "2" || got.Attributes != nil ||
		!strings.HasPrefix(got.Text, "assistant: Congratulations") || !got.At.Equal(time.Date(2025, 3, 17, 0, 0, 7, 0, time.UTC)) {
		t.Errorf("message 7 is %+v", got)
	}
}

func TestPooledKeepsConversationsApart(t *testing.T) {
	t.Parallel()
	d := must.Get(SampleTalk())(t)
	p := Pooled(d)
	c := p.Conversations[0]
	if len(p.Conversations) != 1 || len(c.Turns) != 48 || c.Turns[0].ID != "sample-1/D1:1" || c.Turns[0].Attributes["session"] != "sample-1/1" || c.Questions[0].Gold[0] != "sample-1/D1:3" {
		t.Errorf("pooled: %+v, asked %+v", c.Turns[0], c.Questions[0])
	}
	if d.Conversations[0].Turns[0].ID != "D1:1" || d.Conversations[0].Turns[0].Attributes["session"] != 1 {
		t.Errorf("pooling changed what was pooled: %+v", d.Conversations[0].Turns[0])
	}
}

func TestGoldRepairsPublishedIDs(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"D8:6": true, "D9:17": true, "D11:26": true, "D30:5": true}
	got := gold([]string{"D8:6; D9:17", "D:11:26", "D30:05 D8:6", "D99:1"}, known)
	if want := []string{"D8:6", "D9:17", "D11:26", "D30:5"}; !slices.Equal(got, want) {
		t.Fatalf("gold = %v, want %v", got, want)
	}
}

func TestAuditReplacesEvidence(t *testing.T) {
	t.Parallel()
	cs := must.Get(decodeLoCoMo(sampleTalk, []byte(`[
		{"sample_id":"sample-1","qa_index":0,"evidence_audited":["D2:2"]},
		{"sample_id":"sample-1","qa_index":1,"evidence_audited":[]},
		{"sample_id":"other","qa_index":2,"evidence_audited":["D2:2"]}]`)))(t)
	for i, want := range []string{"D2:2", "D1:10", "D2:10"} {
		if got := cs[0].Questions[i].Audited; len(got) != 1 || got[0] != want {
			t.Errorf("question %d is audited to %v, want %s", i, got, want)
		}
	}
	if got := cs[0].Questions[0].Gold; got[0] != "D1:3" {
		t.Errorf("the audit changed the published labels: %v", got)
	}
}

// Counts of the published data, when EVAL_DATA names its folder.
func TestPublishedCounts(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	count := func(d *Dataset) (turns int, scored map[string]int, audited int) {
		scored = map[string]int{}
		for _, c := range d.Conversations {
			turns += len(c.Turns)
			for _, q := range c.Questions {
				if len(q.Gold) > 0 {
					scored[q.Category]++
				}
				if !slices.Equal(q.Gold, q.Audited) {
					audited++
				}
			}
		}
		return turns, scored, audited
	}
	locomo := must.Get(ReadLoCoMo(dir))(t)
	turns, scored, audited := count(locomo)
	if turns != 3889 || scored["multi-hop"] != 195 || scored["temporal"] != 223 || scored["open-domain"] != 61 || scored["single-hop"] != 585 || scored["adversarial"] != 310 {
		t.Errorf("turns %d, scored %v; want 3889 and 195, 223, 61, 585, 310", turns, scored)
	}
	if audited == 0 {
		t.Error("the audit changed no label")
	}
	beam := must.Get(ReadBEAM(dir))(t)
	messages, scored, _ := count(beam)
	sum := 0
	for _, n := range scored {
		sum += n
	}
	if messages != 3596 || sum != 250 || scored["summarization"] != 26 {
		t.Errorf("messages %d, scored %d: %v; want 3596 and 250", messages, sum, scored)
	}
	bank, _, err := ReadInputs([]string{filepath.Join(dir, "memorybank_en.json")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	exchanges := 0
	for _, u := range bank.Conversations {
		exchanges += len(u.Turns) / 2
	}
	if len(bank.Conversations) != 15 || exchanges != 566 {
		t.Errorf("%d users with %d exchanges, want 15 and 566", len(bank.Conversations), exchanges)
	}
}
