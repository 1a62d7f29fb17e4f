package eval

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Report is the result of a comparison.
type Report struct {
	Gateway   []string          `json:"gateway"`  // versions that measured
	Embedder  string            `json:"embedder"` //
	Model     string            `json:"model"`    // that answers and that policies ask; "" without one
	Answers   string            `json:"answers"`  // who answered
	Judge     *JudgeUsed        `json:"judge,omitempty"`
	Prompt    string            `json:"answer_prompt,omitempty"`
	Budget    int               `json:"budget"` // tokens of memory in prompts that are answered
	Budgets   []int             `json:"budgets"`
	Seeds     int               `json:"seeds"`
	PerAdd    int               `json:"turns_per_add"`
	Data      map[string]string `json:"data"` // SHA-256 by file
	Dialogues []Dialogue        `json:"dialogues"`
	Warnings  []string          `json:"warnings,omitempty"`
	LeftOut   map[string]string `json:"left_out,omitempty"` // systems, and why
	Systems   []SystemReport    `json:"systems"`
}

// JudgeUsed names the model that judged answers, and what it was told.
type JudgeUsed struct {
	Model  string `json:"model"`
	Prompt string `json:"prompt"`
}

// Dialogue is a conversation of the data.
type Dialogue struct {
	ID        string `json:"id"`
	Turns     int    `json:"turns"`
	Tokens    int    `json:"tokens"`
	Questions int    `json:"questions"`
}

// SystemReport is what was measured of a system.
type SystemReport struct {
	Name          string                 `json:"name"`
	Title         string                 `json:"title"`
	Kind          string                 `json:"kind"` // policy or baseline
	Config        map[string]any         `json:"config,omitempty"`
	Notes         []string               `json:"notes,omitempty"`
	Stored        StoredSize             `json:"stored"`
	Model         ModelUse               `json:"model"`
	AddMs         Latency                `json:"add_ms"`
	Recall        map[string]float64     `json:"recall"`           // by budget
	Intervals     map[string]Interval    `json:"recall_intervals"` // the same, with 95%
	ByCategory    map[string]Interval    `json:"recall_by_category"`
	Context       map[string]float64     `json:"context_tokens"` // of the memory, by budget
	SearchMs      Latency                `json:"search_ms"`
	AnswerMs      Latency                `json:"answer_ms"`
	Prompt        float64                `json:"tokens_per_question"` // of memory in the prompt
	OfFull        float64                `json:"share_of_history"`    // the same, of the whole history
	Terms         Interval               `json:"terms"`               // share of the answers' terms in it
	Questions     int                    `json:"questions"`
	Seconds       float64                `json:"add_seconds"` // in all
	Growth        []Stage                `json:"growth"`      // means by tenth of the history
	Answers       map[string]AnswerScore `json:"answers"`     // by category
	SeedSpread    float64                `json:"seed_spread,omitempty"`
	Failures      map[string]int         `json:"failures,omitempty"`
	Conversations int                    `json:"conversations"`
}

// StoredSize is what a system keeps of a conversation: means for one.
type StoredSize struct {
	Items         float64            `json:"items"`
	Tokens        float64            `json:"tokens"`
	Messages      float64            `json:"messages"`
	MessageTokens float64            `json:"message_tokens"`
	Derived       map[string]float64 `json:"derived,omitempty"` // notes by kind
	DerivedTokens float64            `json:"derived_tokens"`
	Share         float64            `json:"derived_share"` // of the history's tokens
}

// ModelUse are the calls of a model while conversations were added.
type ModelUse struct {
	Name         string  `json:"name,omitempty"`
	Calls        int64   `json:"calls"`
	Tokens       int64   `json:"tokens"`
	CallsPerAdd  float64 `json:"calls_per_add"`
	TokensPerAdd float64 `json:"tokens_per_add"`
}

// AnswerScore are the means of a category.
type AnswerScore struct {
	N     int       `json:"n"`
	F1    Interval  `json:"f1"`
	BLEU1 Interval  `json:"bleu1"`
	Judge *Interval `json:"judge,omitempty"`
}

// Overall is the name of the row over all categories but the one that is reported apart.
const Overall = "overall"

// report sums the parts up.
func (r *comparing) report(leftOut map[string]string) *Report {
	out := &Report{
		Embedder: r.reader.embedder, Model: r.reader.model, Answers: ExtractiveAnswer, Budget: r.Budget, Budgets: r.Data.Budgets, Seeds: r.Seeds, PerAdd: r.PerAdd,
		Data: r.Data.Files, Warnings: r.Warnings, LeftOut: leftOut,
	}
	if r.reader.model != "" {
		out.Answers, out.Prompt = r.reader.model, AnswerPrompt
	}
	if r.Judge != "" {
		out.Judge = &JudgeUsed{Model: r.Judge, Prompt: JudgePrompt}
	}
	for i := range r.Data.Conversations {
		c := &r.Data.Conversations[i]
		d := Dialogue{ID: c.ID, Turns: len(c.Turns), Questions: len(c.Questions)}
		for j := range c.Turns {
			d.Tokens += Tokens(c.Turns[j].Rendered)
		}
		out.Dialogues = append(out.Dialogues, d)
	}
	for i := range r.systems {
		s := &r.systems[i]
		var parts []*Part
		for j := range r.Data.Conversations {
			for seed := range r.Seeds {
				if p := r.parts[r.key(s, &r.Data.Conversations[j], seed)]; p != nil {
					parts = append(parts, p)
				}
			}
		}
		if len(parts) == 0 {
			continue
		}
		for _, p := range parts {
			if !slices.Contains(out.Gateway, p.Revision) {
				out.Gateway = append(out.Gateway, p.Revision)
			}
		}
		out.Systems = append(out.Systems, r.sum(s, parts))
	}
	if len(out.Gateway) > 1 {
		out.Warnings = append(out.Warnings, "the parts were measured by more than one version of the gateway: "+strings.Join(out.Gateway, "; "))
	}
	return out
}

// sum sums up the parts of one system.
func (r *comparing) sum(s *contender, parts []*Part) SystemReport {
	out := SystemReport{
		Name: s.Name, Title: s.Title, Kind: "policy", Config: s.Config, Recall: map[string]float64{}, Intervals: map[string]Interval{},
		ByCategory: map[string]Interval{}, Context: map[string]float64{}, Answers: map[string]AnswerScore{}, Failures: map[string]int{}, Conversations: len(parts),
	}
	out.Stored.Derived = map[string]float64{}
	if s.Baseline != "" {
		out.Kind = "baseline"
	}
	var adds, search, answered, prompts, shares, terms []float64
	var rows []*AskedQuestion
	n := float64(len(parts))
	history := 0.0
	bySeed := map[int][]float64{}
	mid := slices.Index(r.Data.Budgets, r.Budget)
	for _, p := range parts {
		adds = append(adds, p.AddMs...)
		out.Seconds += p.Seconds / n
		out.Model.Calls += p.Costs.Calls
		out.Model.Tokens += p.Costs.Tokens
		history += float64(p.History)
		out.Stored.Messages += float64(p.Stored.Messages) / n
		out.Stored.MessageTokens += float64(p.Stored.Raw) / n
		out.Stored.DerivedTokens += float64(p.Stored.Tokens) / n
		for kind, of := range p.Stored.Derived {
			out.Stored.Derived[kind] += float64(of) / n
			out.Stored.Items += float64(of) / n
		}
		for _, note := range p.Notes {
			if !slices.Contains(out.Notes, note) {
				out.Notes = append(out.Notes, note)
			}
		}
		for why, n := range p.Failures {
			out.Failures[why] += n
		}
		for i := range p.Asked {
			a := &p.Asked[i]
			rows = append(rows, a)
			search = append(search, a.Ms)
			if a.Failed == "" {
				answered = append(answered, a.AnswerMs)
			}
			prompts = append(prompts, float64(a.Prompt))
			shares = append(shares, float64(a.Prompt)/float64(max(p.History, 1)))
			if a.Terms != nil && a.Category != r.Data.Apart {
				terms = append(terms, *a.Terms)
			}
			if mid >= 0 && a.Recall != nil && a.Category != r.Data.Apart {
				bySeed[p.Seed] = append(bySeed[p.Seed], a.Recall[mid])
			}
		}
	}
	out.Stored.Items += out.Stored.Messages
	out.Stored.Tokens = out.Stored.MessageTokens + out.Stored.DerivedTokens
	out.Stored.Share = out.Stored.DerivedTokens / max(history/n, 1)
	out.AddMs, out.SearchMs, out.AnswerMs = latency(adds), latency(search), latency(answered)
	out.Prompt, out.OfFull, out.Terms, out.Questions = mean(prompts), mean(shares), bootstrap(terms), len(rows)
	out.Model.Name = r.reader.model
	if len(adds) > 0 {
		out.Model.CallsPerAdd, out.Model.TokensPerAdd = float64(out.Model.Calls)/float64(len(adds)), float64(out.Model.Tokens)/float64(len(adds))
	}
	for i, budget := range r.Data.Budgets {
		var recall, tokens []float64
		for _, a := range rows {
			tokens = append(tokens, float64(a.Tokens[i]))
			if a.Recall != nil && a.Category != r.Data.Apart {
				recall = append(recall, a.Recall[i])
			}
		}
		name := strconv.Itoa(budget)
		out.Context[name] = mean(tokens)
		if len(recall) > 0 {
			out.Intervals[name] = bootstrap(recall)
			out.Recall[name] = round(out.Intervals[name].Mean)
		}
	}
	for _, c := range append([]string{Overall}, r.Data.Categories...) {
		r.sumCategory(&out, c, rows, mid)
	}
	out.Growth = growthOf(parts)
	var means []float64
	for _, of := range bySeed {
		means = append(means, mean(of))
	}
	if len(means) > 1 {
		out.SeedSpread = round(slices.Max(means) - slices.Min(means))
	}
	return out
}

// sumCategory adds the recall and the answers of a category.
func (r *comparing) sumCategory(out *SystemReport, category string, rows []*AskedQuestion, budget int) {
	var recall, f1, bleu, judged []float64
	for _, a := range rows {
		if category == Overall && a.Category == r.Data.Apart || category != Overall && a.Category != category {
			continue
		}
		if budget >= 0 && a.Recall != nil {
			recall = append(recall, a.Recall[budget])
		}
		if a.F1 != nil {
			f1 = append(f1, *a.F1)
		}
		if a.BLEU1 != nil {
			bleu = append(bleu, *a.BLEU1)
		}
		if a.Judged != nil {
			judged = append(judged, float64(count(*a.Judged)))
		}
	}
	if len(recall) > 0 && category != Overall {
		out.ByCategory[category] = bootstrap(recall)
	}
	if len(f1) == 0 {
		return
	}
	score := AnswerScore{N: len(f1), F1: bootstrap(f1), BLEU1: bootstrap(bleu)}
	if len(judged) > 0 {
		score.Judge = new(bootstrap(judged))
	}
	out.Answers[category] = score
}

// growthOf returns the means of the stages of all parts.
func growthOf(parts []*Part) []Stage {
	var out []Stage
	for i := range stages {
		var sum Stage
		n := 0
		for _, p := range parts {
			if i >= len(p.Stages) {
				continue
			}
			s := p.Stages[i]
			n++
			sum.Turns += s.Turns
			sum.History += s.History
			sum.Prompt += s.Prompt
			sum.AddMs += s.AddMs
			sum.Seconds += s.Seconds
			sum.Calls += s.Calls
			sum.Tokens += s.Tokens
		}
		if n == 0 {
			break
		}
		out = append(out, Stage{
			Turns: sum.Turns / n, History: sum.History / n, Prompt: sum.Prompt / n, AddMs: round(sum.AddMs / float64(n)), Seconds: round(sum.Seconds / float64(n)),
			Calls: sum.Calls / int64(n), Tokens: sum.Tokens / int64(n),
		})
	}
	return out
}

func round(v float64) float64 { return math.Round(v*1e4) / 1e4 }

// Write writes report.json and report.html into a folder.
func (r *Report) Write(dir string) error {
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	raw = append(indentedTriple.ReplaceAll(raw, []byte("[$1, $2, $3]")), '\n')
	for name, content := range map[string][]byte{"report.json": raw, "report.html": []byte(r.HTML())} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil { //nolint:gosec // results are public
			return fmt.Errorf("write the report: %w", err)
		}
	}
	return nil
}

// Markdown returns the report as tables, the first one on one screen. F1 by category is in the page and the JSON.
func (r *Report) Markdown() string { return r.Table() + r.byCategory() }

// Table returns what each system keeps, costs and finds.
func (r *Report) Table() string {
	var b strings.Builder

	b.WriteString("| system | kept, items | kept, tokens | model calls per add | add, ms p50 / p95 |")
	for _, budget := range r.Budgets {
		fmt.Fprintf(&b, " recall in %s |", thousands(budget))
	}
	fmt.Fprintf(&b, " search, ms p50 / p95 | tokens per question, of the history |\n|---|---|---|---|---|%s---|---|\n", strings.Repeat("---|", len(r.Budgets)))
	for i := range r.Systems {
		s := &r.Systems[i]
		fmt.Fprintf(&b, "| `%s` | %.0f | %s | %.2f | %s |", s.Name, s.Stored.Items, thousands(int(s.Stored.Tokens)), s.Model.CallsPerAdd, s.adds())
		for _, budget := range r.Budgets {
			b.WriteString(" " + r.figure(s.Recall, budget) + " |")
		}
		fmt.Fprintf(&b, " %.1f / %.1f | %s, %.1f%% |\n", s.SearchMs.P50, s.SearchMs.P95, thousands(int(s.Prompt)), 100*s.OfFull)
	}

	return b.String()
}

// byCategory returns recall by category and what the answers are worth; nothing without categories.
func (r *Report) byCategory() string {
	categories := r.categories()
	if len(categories) == 0 {
		return ""
	}

	var b strings.Builder
	fmt.Fprintf(&b, "\nRecall within %s tokens by category; then the answers (%s): official F1 and BLEU-1%s.\n\n| system |", thousands(r.shownBudget()), r.Answers, r.judged())
	for _, c := range categories {
		fmt.Fprintf(&b, " %s |", c)
	}
	b.WriteString(" F1 | BLEU-1 |\n|---|" + strings.Repeat("---|", len(categories)+2) + "\n")
	for i := range r.Systems {
		s := &r.Systems[i]
		fmt.Fprintf(&b, "| `%s` |", s.Name)
		for _, c := range categories {
			if v, ok := s.ByCategory[c]; ok {
				fmt.Fprintf(&b, " %.3f |", v.Mean)
			} else {
				b.WriteString(" |")
			}
		}
		answers := s.Answers[Overall]
		fmt.Fprintf(&b, " %.3f | %.3f |\n", answers.F1.Mean, answers.BLEU1.Mean)
	}
	return b.String()
}

// adds returns the times of adds; nothing for a system that nothing was added to.
func (s *SystemReport) adds() string {
	if s.AddMs.P95 == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f / %.0f", s.AddMs.P50, s.AddMs.P95)
}

func (r *Report) judged() string {
	if r.Judge == nil {
		return ""
	}
	return ", judged by " + r.Judge.Model
}

// shownBudget is the budget of figures by category: that of the prompts, or the middle one.
func (r *Report) shownBudget() int {
	if slices.Contains(r.Budgets, r.Budget) {
		return r.Budget
	}
	return r.Budgets[len(r.Budgets)/2]
}

// figure returns a figure by budget; nothing without one.
func (*Report) figure(by map[string]float64, budget int) string {
	if v, ok := by[strconv.Itoa(budget)]; ok {
		return strings.TrimPrefix(fmt.Sprintf("%.3f", v), "0")
	}
	return ""
}

// categories returns the categories with recall or answers, in the order of the first system that has them.
func (r *Report) categories() []string {
	seen := map[string]bool{}
	for i := range r.Systems {
		for c := range r.Systems[i].ByCategory {
			seen[c] = true
		}
		for c := range r.Systems[i].Answers {
			seen[c] = true
		}
	}
	delete(seen, Overall)
	out := sortedKeys(seen)
	order := newLoCoMo("").Categories
	slices.SortStableFunc(out, func(a, b string) int {
		return cmp.Compare(slices.Index(order, a), slices.Index(order, b))
	})
	return out
}

// thousands writes a number with commas.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
