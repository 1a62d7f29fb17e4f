package eval

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
)

// HTML returns the report as one page with its plots, readable in light and dark. It loads nothing and runs no script.
func (r *Report) HTML() string {
	var b strings.Builder
	b.WriteString(`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"><title>Memory systems compared</title><style>` + pageStyle + `</style></head><body><main>
<h1>Memory systems compared</h1>`)
	r.summary(&b)
	section := func(title, text string, plots ...string) {
		fmt.Fprintf(&b, "<section><h2>%s</h2><p>%s</p>", html.EscapeString(title), text)
		for _, p := range plots {
			b.WriteString(p)
		}
		b.WriteString("</section>\n")
	}
	section("Recall by budget", "Share of the evidence that the memory in a prompt covers, for prompts of each size in tokens; the line is the 95% interval. "+
		"What was derived from more than twelve turns covers none. A history that does not fit into a budget covers nothing.", r.recallPlot())
	section("Size of what is kept", "Tokens that a system keeps of one conversation: the messages as they were said, and what it derived from them.", r.sizePlot())
	section("Time per add", fmt.Sprintf("Until what was added (%d turns) is processed. Work for later, such as daily summaries, is not waited for.", r.PerAdd),
		r.pairPlot("ms", func(s *SystemReport) (float64, float64) { return s.AddMs.P50, s.AddMs.P95 }))
	if r.Model == "" {
		section("Tokens and model calls per add", "There is no model: the built-in rules analyze, and no tokens are spent.")
	} else {
		section("Tokens and model calls per add", "Tokens of the model "+html.EscapeString(r.Model)+", as its endpoint counts them, and its calls.",
			r.barPlot("tokens", 0, func(s *SystemReport) float64 { return s.Model.TokensPerAdd }), r.barPlot("calls", 2, func(s *SystemReport) float64 { return s.Model.CallsPerAdd }))
	}
	section("Latency of a search", fmt.Sprintf("Until the memory for a question is there, within %s tokens; all messages are read for the whole history.", thousands(r.Budget)),
		r.pairPlot("ms", func(s *SystemReport) (float64, float64) { return s.SearchMs.P50, s.SearchMs.P95 }))
	section("Tokens per question", "Tokens of memory in the prompt of a question, and their share of the whole history.", r.barPlot("tokens", 0, func(s *SystemReport) float64 { return s.Prompt }))
	section("Cost over a growing history", "Tokens of memory in the prompt of one question, and time per add (median of a tenth), while the history grows. Means over the conversations.",
		r.growthPlot("tokens in a prompt", func(s *Stage) float64 { return float64(s.Prompt) }), r.growthPlot("ms per add", func(s *Stage) float64 { return s.AddMs }))
	if r.Model != "" {
		b.WriteString("<section>" + r.growthPlot("tokens of the model so far", func(s *Stage) float64 { return float64(s.Tokens) }) + "</section>")
	}
	if len(r.categories()) > 0 {
		text := "Answers: " + html.EscapeString(r.Answers) + ". F1 is the official one of LoCoMo (stemmed words, as often as they occur)."
		section("Answers by category", text, r.answerTable())
	}
	r.details(&b)
	b.WriteString("</main></body></html>\n")
	return b.String()
}

// pageStyle colors everything by variables, so that plots follow the reader's choice of light or dark.
const pageStyle = `
:root{color-scheme:light dark;--bg:#fcfcfa;--fg:#22252a;--dim:#666c75;--grid:#dfe1e4;--a:#2f6db5;--b:#e08a1e;--c:#3a8f5c;--d:#b4456b;--e:#7a5bb5;--f:#1c9aa0;--g:#8a6d3b;--h:#5c6670}
@media (prefers-color-scheme:dark){:root{--bg:#16181c;--fg:#e4e6ea;--dim:#9aa1ab;--grid:#343941;--a:#6aa6ea;--b:#f0ad55;--c:#6cc48f;--d:#e581a4;--e:#ac92e6;--f:#5ccdd2;--g:#c7a873;--h:#a3adb8}}
body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",Arial,sans-serif}
main{max-width:72rem;margin:0 auto;padding:1.5rem 1rem 4rem}h1{font-size:1.6rem;margin:.2rem 0 1rem}h2{font-size:1.15rem;margin:2.2rem 0 .2rem}
p{color:var(--dim);margin:.2rem 0 .8rem;max-width:48rem}svg{width:100%;max-width:60rem;height:auto;display:block;margin:.4rem 0}
svg text{fill:var(--fg);font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",Arial,sans-serif}svg .dim{fill:var(--dim)}.grid{stroke:var(--grid);stroke-width:1}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}th,td{padding:.25rem .45rem;text-align:right;border-bottom:1px solid var(--grid);white-space:nowrap}
th:first-child,td:first-child{text-align:left}th{color:var(--dim);font-weight:600}ul{padding-left:1.2rem}li{margin:.15rem 0}pre{white-space:pre-wrap;background:color-mix(in srgb,var(--fg) 6%,transparent);padding:.6rem .8rem;border-radius:.3rem}
.key{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin:0 .3em 0 1em;vertical-align:baseline}`

// palette are the colors of series, as variables of pageStyle.
const palette = "abcdefgh"

func color(i int) string { return "var(--" + string(palette[i%len(palette)]) + ")" }

// summary writes what was compared, and the table of figures.
func (r *Report) summary(b *strings.Builder) {
	turns, tokens, questions := 0, 0, 0
	for _, d := range r.Dialogues {
		turns += d.Turns
		tokens += d.Tokens
		questions += d.Questions
	}
	model := "no model; the built-in rules analyze"
	if r.Model != "" {
		model = "model " + r.Model
	}
	fmt.Fprintf(b, "<p>%d conversations with %s turns (%s tokens) and %s questions. %s, encoder %s, gateway %s, repeated %d times.</p>",
		len(r.Dialogues), thousands(turns), thousands(tokens), thousands(questions), html.EscapeString(strings.ToUpper(model[:1])+model[1:]), html.EscapeString(r.Embedder), html.EscapeString(strings.Join(r.Gateway, "; ")), r.Seeds)
	b.WriteString(`<div class="scroll"><table><tr><th>system</th><th>kept, items</th><th>tokens</th><th>calls per add</th><th>add ms, p50</th><th>p95</th>`)
	for _, budget := range r.Budgets {
		fmt.Fprintf(b, "<th>recall in %s</th>", thousands(budget))
	}
	b.WriteString("<th>search ms, p50</th><th>p95</th><th>tokens per question</th><th>of the history</th></tr>")
	for i := range r.Systems {
		s := &r.Systems[i]
		fmt.Fprintf(b, `<tr><td title="%s">%s</td><td>%.0f</td><td>%s</td><td>%.2f</td><td>%.1f</td><td>%.1f</td>`, html.EscapeString(s.Title), html.EscapeString(s.Name), s.Stored.Items, thousands(int(s.Stored.Tokens)), s.Model.CallsPerAdd, s.AddMs.P50, s.AddMs.P95)
		for _, budget := range r.Budgets {
			fmt.Fprintf(b, "<td>%s</td>", r.figure(s.Recall, budget))
		}
		fmt.Fprintf(b, "<td>%.1f</td><td>%.1f</td><td>%s</td><td>%.1f%%</td></tr>", s.SearchMs.P50, s.SearchMs.P95, thousands(int(s.Prompt)), 100*s.OfFull)
	}
	b.WriteString("</table></div>")
}

// details writes prompts, warnings, and what was left out.
func (r *Report) details(b *strings.Builder) {
	b.WriteString("<section><h2>How it was measured</h2><ul>")
	for i := range r.Systems {
		s := &r.Systems[i]
		fmt.Fprintf(b, "<li>%s: %s", html.EscapeString(s.Name), html.EscapeString(s.Title))
		for _, k := range sortedKeys(s.Config) {
			fmt.Fprintf(b, ", %s = %s", html.EscapeString(k), html.EscapeString(fmt.Sprint(s.Config[k])))
		}
		for _, n := range s.Notes {
			b.WriteString("; " + html.EscapeString(n))
		}
		for _, why := range sortedKeys(s.Failures) {
			fmt.Fprintf(b, "; %d questions without an answer: %s", s.Failures[why], html.EscapeString(why))
		}
		b.WriteString("</li>")
	}
	for _, name := range sortedKeys(r.LeftOut) {
		fmt.Fprintf(b, "<li>%s is left out: %s</li>", html.EscapeString(name), html.EscapeString(r.LeftOut[name]))
	}
	b.WriteString("</ul>")
	if r.Prompt != "" {
		fmt.Fprintf(b, "<p>Prompt of answers</p><pre>%s</pre>", html.EscapeString(r.Prompt))
	}
	if r.Judge != nil {
		fmt.Fprintf(b, "<p>Prompt of the judge, the model %s</p><pre>%s</pre>", html.EscapeString(r.Judge.Model), html.EscapeString(r.Judge.Prompt))
	}
	if len(r.Warnings) > 0 {
		b.WriteString("<h2>Warnings</h2><ul>")
		for _, w := range r.Warnings {
			fmt.Fprintf(b, "<li>%s</li>", html.EscapeString(w))
		}
		b.WriteString("</ul>")
	}
	b.WriteString("</section>")
}

// answerTable returns the answers by category.
func (r *Report) answerTable() string {
	var b strings.Builder
	categories := append([]string{Overall}, r.categories()...)
	b.WriteString(`<div class="scroll"><table><tr><th>system</th>`)
	for _, c := range categories {
		fmt.Fprintf(&b, "<th>%s, F1</th>", html.EscapeString(c))
	}
	b.WriteString("<th>BLEU-1</th><th>judge</th><th>95% of F1</th></tr>")
	best := make([]float64, len(categories))
	for i := range r.Systems {
		for j, c := range categories {
			best[j] = max(best[j], r.Systems[i].Answers[c].F1.Mean)
		}
	}
	for i := range r.Systems {
		s := &r.Systems[i]
		fmt.Fprintf(&b, "<tr><td>%s</td>", html.EscapeString(s.Name))
		for j, c := range categories {
			v, ok := s.Answers[c]
			if !ok {
				b.WriteString("<td></td>")
				continue
			}
			// The darker, the better in its column.
			share := 0.0
			if best[j] > 0 {
				share = v.F1.Mean / best[j]
			}
			fmt.Fprintf(&b, `<td style="background:color-mix(in srgb,var(--a) %.0f%%,transparent)">%.3f</td>`, 45*share*share, v.F1.Mean)
		}
		all := s.Answers[Overall]
		judge := ""
		if all.Judge != nil {
			judge = fmt.Sprintf("%.3f", all.Judge.Mean)
		}
		fmt.Fprintf(&b, "<td>%.3f</td><td>%s</td><td>%.3f to %.3f</td></tr>", all.BLEU1.Mean, judge, all.F1.Low, all.F1.High)
	}
	b.WriteString("</table></div>")
	return b.String()
}

// The measures of plots, in pixels of their own.
const (
	plotWidth  = 900
	nameWidth  = 150
	valueWidth = 150
	rowHeight  = 24
	plotTop    = 30
)

// rowPlot is a plot with a row for each system and a linear scale from 0.
type rowPlot struct {
	strings.Builder

	top float64 // the largest value
}

// newRows begins a plot with n rows for values up to top.
func newRows(n int, top float64, unit string) *rowPlot {
	p := &rowPlot{top: niceTop(top)}
	height := plotTop + n*rowHeight + 8
	_, _ = fmt.Fprintf(p, `<svg viewBox="0 0 %d %d" role="img">`, plotWidth, height)
	for i := range 5 {
		v := p.top * float64(i) / 4
		x := p.x(v)
		_, _ = fmt.Fprintf(p, `<line class="grid" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/><text class="dim" x="%.1f" y="16" text-anchor="middle">%s</text>`, x, plotTop-8, x, height-6, x, short(v))
	}
	_, _ = fmt.Fprintf(p, `<text class="dim" x="%d" y="16" text-anchor="end">%s</text>`, plotWidth-4, html.EscapeString(unit))
	return p
}

func (p *rowPlot) x(v float64) float64 {
	return nameWidth + (plotWidth-nameWidth-valueWidth)*v/p.top
}

func (*rowPlot) y(row int) float64 { return float64(plotTop + row*rowHeight) }

// label names a row, and writes its value at the end.
func (p *rowPlot) label(row int, name, value string) {
	_, _ = fmt.Fprintf(p, `<text x="%d" y="%.1f" text-anchor="end">%s</text><text class="dim" x="%d" y="%.1f" text-anchor="end">%s</text>`,
		nameWidth-10, p.y(row)+14, html.EscapeString(name), plotWidth-4, p.y(row)+14, html.EscapeString(value))
}

func (p *rowPlot) bar(row int, from, to float64, fill string, height float64) {
	_, _ = fmt.Fprintf(p, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="2" fill="%s"/>`, p.x(from), p.y(row)+10-height/2, max(p.x(to)-p.x(from), 1), height, fill)
}

func (p *rowPlot) end() string { return p.String() + "</svg>" }

// legend returns the colors of a plot's series.
func legend(names ...string) string {
	var b strings.Builder
	b.WriteString("<p>")
	for i, n := range names {
		fmt.Fprintf(&b, `<span class="key" style="background:%s"></span>%s`, color(i), html.EscapeString(n))
	}
	b.WriteString("</p>")
	return b.String()
}

// niceTop returns the next round number.
func niceTop(v float64) float64 {
	if v <= 0 || math.IsNaN(v) {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 1.2, 1.6, 2, 2.4, 3.2, 4, 5, 6, 8, 10} {
		if v <= m*unit {
			return m * unit
		}
	}
	return 10 * unit
}

// short writes a number of an axis.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'g', 3, 64) + "M"
	case v >= 1e4:
		return strconv.FormatFloat(v/1e3, 'g', 3, 64) + "k"
	}
	if v >= 1000 { // "1e+03" in the form below
		return thousands(int(v))
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// barPlot shows one figure of each system.
func (r *Report) barPlot(unit string, decimals int, of func(*SystemReport) float64) string {
	top := 0.0
	for i := range r.Systems {
		top = max(top, of(&r.Systems[i]))
	}
	p := newRows(len(r.Systems), top, unit)
	for i := range r.Systems {
		v := of(&r.Systems[i])
		value := strconv.FormatFloat(v, 'f', decimals, 64)
		if decimals == 0 {
			value = thousands(int(math.Round(v)))
		}
		p.bar(i, 0, v, color(0), 14)
		p.label(i, r.Systems[i].Name, value)
	}
	return p.end()
}

// pairPlot shows the median and the 95th percentile of each system: a bar, and a thin one behind it.
func (r *Report) pairPlot(unit string, of func(*SystemReport) (p50, p95 float64)) string {
	top := 0.0
	for i := range r.Systems {
		_, high := of(&r.Systems[i])
		top = max(top, high)
	}
	p := newRows(len(r.Systems), top, unit)
	for i := range r.Systems {
		mid, high := of(&r.Systems[i])
		p.bar(i, 0, high, "color-mix(in srgb,var(--a) 35%,transparent)", 6)
		p.bar(i, 0, mid, color(0), 14)
		p.label(i, r.Systems[i].Name, fmt.Sprintf("%.1f / %.1f", mid, high))
	}
	return "<p>The wide bar is the median, the thin one reaches to the 95th percentile.</p>" + p.end()
}

// sizePlot shows messages and derived notes, one after the other.
func (r *Report) sizePlot() string {
	top := 0.0
	for i := range r.Systems {
		top = max(top, r.Systems[i].Stored.Tokens)
	}
	p := newRows(len(r.Systems), top, "tokens")
	for i := range r.Systems {
		s := &r.Systems[i].Stored
		p.bar(i, 0, s.MessageTokens, color(0), 14)
		if s.DerivedTokens > 0 {
			p.bar(i, s.MessageTokens, s.Tokens, color(1), 14)
		}
		p.label(i, r.Systems[i].Name, fmt.Sprintf("%s + %s", thousands(int(s.MessageTokens)), thousands(int(s.DerivedTokens))))
	}
	return legend("messages", "derived") + p.end()
}

// recallPlot shows a dot with its interval for each budget.
func (r *Report) recallPlot() string {
	names := make([]string, len(r.Budgets))
	p := newRows(len(r.Systems), 1, "recall")
	for i := range r.Systems {
		s := &r.Systems[i]
		var values []string
		for j, budget := range r.Budgets {
			names[j] = thousands(budget) + " tokens"
			v, ok := s.Intervals[strconv.Itoa(budget)]
			if !ok {
				continue
			}
			y := p.y(i) + 4 + 12*float64(j)/float64(max(1, len(r.Budgets)-1))
			_, _ = fmt.Fprintf(p, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="2"/><circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>`,
				p.x(v.Low), y, p.x(v.High), y, color(j), p.x(v.Mean), y, color(j))
			values = append(values, r.figure(s.Recall, budget))
		}
		p.label(i, s.Name, strings.Join(values, " "))
	}
	return legend(names...) + p.end()
}

// growthPlot shows a figure over the turns of a growing history, with a line for each system.
func (r *Report) growthPlot(unit string, of func(*Stage) float64) string {
	const height, left, right, bottom = 320, 70, 150, 40
	var right95, top float64
	var shown []int
	for i := range r.Systems {
		drawn := false
		for j := range r.Systems[i].Growth {
			s := &r.Systems[i].Growth[j]
			top, right95 = max(top, of(s)), max(right95, float64(s.Turns))
			drawn = drawn || of(s) > 0
		}
		if drawn {
			shown = append(shown, i)
		}
	}
	if len(shown) == 0 {
		return ""
	}
	top = niceTop(top)
	// What is a thousand times as large as the rest would hide it.
	scale := func(v float64) float64 { return math.Sqrt(v / top) }
	x := func(turns int) float64 { return left + float64(plotWidth-left-right)*float64(turns)/max(right95, 1) }
	y := func(v float64) float64 { return float64(height-bottom) - float64(height-bottom-20)*scale(v) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" role="img"><text class="dim" x="4" y="12">%s (the axis is a square root)</text>`, plotWidth, height, html.EscapeString(unit))
	for _, share := range []float64{0, 0.04, 0.16, 0.36, 0.64, 1} {
		fmt.Fprintf(&b, `<line class="grid" x1="%d" y1="%.1f" x2="%d" y2="%.1f"/><text class="dim" x="%d" y="%.1f" text-anchor="end">%s</text>`, left, y(share*top), plotWidth-right, y(share*top), left-8, y(share*top)+4, short(share*top))
	}
	for i := range 5 {
		turns := int(right95) * i / 4
		fmt.Fprintf(&b, `<text class="dim" x="%.1f" y="%d" text-anchor="middle">%s</text>`, x(turns), height-bottom+18, thousands(turns))
	}
	fmt.Fprintf(&b, `<text class="dim" x="%d" y="%d" text-anchor="end">turns</text>`, plotWidth-right, height-6)
	type end struct {
		y    float64
		name string
		i    int
	}
	var ends []end
	for n, i := range shown {
		var points []string
		last := 0.0
		for j := range r.Systems[i].Growth {
			s := &r.Systems[i].Growth[j]
			last = y(of(s))
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(s.Turns), last))
		}
		dash := ""
		if n >= len(palette) {
			dash = ` stroke-dasharray="6 4"`
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"%s/>`, strings.Join(points, " "), color(n), dash)
		ends = append(ends, end{last, r.Systems[i].Name, n})
	}
	// Names at the ends of the lines, moved apart where they would overlap.
	slices.SortFunc(ends, func(a, b end) int { return int(a.y - b.y) })
	for n := len(ends) - 1; n >= 0; n-- {
		limit := float64(height - bottom)
		if n < len(ends)-1 {
			limit = ends[n+1].y - 14
		}
		ends[n].y = min(ends[n].y, limit)
	}
	for _, e := range ends {
		fmt.Fprintf(&b, `<text x="%d" y="%.1f" style="fill:%s">%s</text>`, plotWidth-right+6, e.y+4, color(e.i), html.EscapeString(e.name))
	}
	return b.String() + "</svg>"
}
