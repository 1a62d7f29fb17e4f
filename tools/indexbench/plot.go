package main

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// plot is a chart of lines.
type plot struct {
	title, about string
	xTitle       string
	yTitle       string
	x, y         axis
	lines        []line
	legend       bool // in place of names at the ends of lines
}

type axis struct {
	scale    scale
	low, top float64
	ticks    []tick
}

// scale says how far apart numbers are.
type scale func(float64) float64

// nines is the scale of shares of which one wants all: 0.9 is as far from 0.99 as that
// is from 0.999. What is above that is all.
func nines(v float64) float64 { return -math.Log10(max(1-v, allButNone)) }

const allButNone = 1e-4

type tick struct {
	at   float64
	text string // "": a line without a number
}

type line struct {
	library string
	name    string
	points  []point
}

type point struct {
	x, y float64
	text string
}

// style of a library: its color where the page is light and where it is dark, the shape
// of its points.
type style struct{ light, dark, shape string }

var styles = map[string]style{
	oursVector:  {"#0969da", "#58a6ff", "circle"},
	oursHybrid:  {"#8250df", "#bc8cff", "circle"},
	bruteName:   {"#57606a", "#adbac7", "square"},
	chromemName: {"#9a6700", "#d29922", "square"},
	sqliteName:  {"#bc4c00", "#f0883e", "square"},
	coderName:   {"#cf222e", "#ff7b72", "triangle"},
	exactName:   {"#1a7f37", "#3fb950", "square"},
	hnswName:    {"#0e7490", "#39c5cf", "triangle"},
}

// Where things are on the canvas.
const (
	width, height            = 820, 460
	left, right, top, bottom = 76, 600, 72, 404
	floor                    = bottom - 18 // room for what a point at the lowest number says
	labelGap                 = 18
)

// latency is time by the number of notes, everybody as first set.
func (r *Result) latency() *plot {
	p := &plot{
		title: "Time to find the ten nearest, by number of notes", about: "Median, one caller. Lower is better where recall, in the other plot, is the same.",
		xTitle: "notes", yTitle: "p50, ms", x: axis{scale: math.Log},
	}
	seen := map[string]string{}
	for _, f := range r.Figures {
		if first, ok := seen[f.Library]; ok && first != f.Setting {
			continue
		}
		seen[f.Library] = f.Setting
		at := slices.IndexFunc(p.lines, func(l line) bool { return l.library == f.Library })
		if at < 0 {
			at, p.lines = len(p.lines), append(p.lines, line{library: f.Library, name: f.name()})
		}
		p.lines[at].points = append(p.lines[at].points, point{x: float64(f.Notes), y: f.P50})
	}
	for _, s := range r.Sizes {
		p.x.ticks = append(p.x.ticks, tick{float64(s.Notes), grouped(s.Notes)})
	}
	p.x.low, p.x.top = float64(r.Sizes[0].Notes), float64(r.Sizes[len(r.Sizes)-1].Notes)
	if len(r.Sizes) == 1 {
		p.x.low, p.x.top = p.x.low/2, p.x.top*2
	}
	p.y = decades(p.lines, func(q point) float64 { return q.y })
	return p
}

// recall is recall by time, at the largest size that has graphs: where everybody is there.
func (r *Result) recall() *plot {
	size := r.Sizes[len(r.Sizes)-1].Notes
	for _, f := range r.Figures {
		if f.Setting != "" {
			size = f.Notes
		}
	}
	p := &plot{
		title: fmt.Sprintf("Recall by time, %s notes", grouped(size)), about: "Up and left is better. Recall is drawn by what is missed, on a logarithmic scale.",
		xTitle: "p50, ms", yTitle: "recall@10", legend: true,
	}
	lowest := 1.0
	for _, f := range r.Figures {
		if f.Notes != size || f.Recall == nil {
			continue
		}
		at := slices.IndexFunc(p.lines, func(l line) bool { return l.library == f.Library })
		if at < 0 {
			at, p.lines = len(p.lines), append(p.lines, line{library: f.Library, name: f.Library})
		}
		p.lines[at].points = append(p.lines[at].points, point{f.P50, *f.Recall, f.Setting})
		lowest = min(lowest, *f.Recall)
	}
	p.x = decades(p.lines, func(q point) float64 { return q.x })
	p.y = axis{scale: nines, top: 1}
	for _, t := range []float64{0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 1} {
		if t <= lowest {
			p.y.low, p.y.ticks = t, nil // the last one below all points is the end
		}
		p.y.ticks = append(p.y.ticks, tick{t, fmt.Sprintf("%.4g", t)})
	}
	return p
}

// decades is a logarithmic axis that takes all points in.
func decades(lines []line, of func(point) float64) axis {
	a := axis{scale: math.Log, low: math.Inf(1), top: math.Inf(-1)}
	for _, l := range lines {
		for _, q := range l.points {
			a.low, a.top = min(a.low, of(q)), max(a.top, of(q))
		}
	}
	a.low, a.top = a.low/1.3, a.top*1.3
	for e := math.Floor(math.Log10(a.low)); e <= math.Ceil(math.Log10(a.top)); e++ {
		for _, m := range []float64{1, 2, 5} {
			at := m * math.Pow(10, e)
			if at < a.low || at > a.top {
				continue
			}
			t := tick{at: at}
			if m == 1 || a.top/a.low < 300 {
				t.text = fmt.Sprintf("%.3g", at)
			}
			a.ticks = append(a.ticks, t)
		}
	}
	return a
}

// place gives where a value is between two ends.
func (a axis) place(v, from, to float64) float64 {
	low, top := a.scale(a.low), a.scale(a.top)
	return from + (a.scale(v)-low)/(top-low)*(to-from)
}

func (p *plot) at(q point) (x, y float64) {
	return p.x.place(q.x, left, right), p.y.place(q.y, floor, top)
}

// svg draws the plot, for light and dark pages.
func (p *plot) svg() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" font-family="system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif" font-size="13">
<title>%s</title>
<desc>%s</desc>
<style>
%s</style>
<rect class="page" width="%d" height="%d"/>
<text class="ink" x="%d" y="26" font-size="16" font-weight="600">%[5]s</text>
<text class="soft" x="%[10]d" y="45">%[6]s</text>
`, width, height, width, height, html.EscapeString(p.title), html.EscapeString(p.about), p.css(), width, height, left)
	p.axes(&b)
	for i := range p.lines {
		p.line(&b, len(p.lines)-1-i) // ours, which come first, above the others
	}
	if p.legend {
		p.legendOf(&b)
	} else {
		p.names(&b)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// css has a class for each line: c0, c1 and so on.
func (p *plot) css() string {
	var light, dark strings.Builder
	rule := func(b *strings.Builder, indent string, color func(style) string) {
		for i, l := range p.lines {
			c := color(styles[l.library])
			fmt.Fprintf(b, "%s.c%d { stroke: %s } .f%d { fill: %s }\n", indent, i, c, i, c)
		}
	}
	rule(&light, "", func(s style) string { return s.light })
	rule(&dark, "\t", func(s style) string { return s.dark })
	return ".page { fill: #ffffff } .ink { fill: #1f2328 } .soft { fill: #59636e } .grid { stroke: #d1d9e0 } .faint { stroke: #eff2f5 }\n" +
		"path { fill: none; stroke-width: 2; stroke-linejoin: round } .ours { stroke-width: 3.5 } .edge { stroke: #ffffff; stroke-width: 1 }\n" + light.String() +
		"@media (prefers-color-scheme: dark) {\n" +
		"\t.page { fill: #0d1117 } .ink { fill: #f0f6fc } .soft { fill: #9198a1 } .grid { stroke: #3d444d } .faint { stroke: #21262d } .edge { stroke: #0d1117 }\n" +
		dark.String() + "}\n"
}

func (p *plot) axes(b *strings.Builder) {
	for _, t := range p.y.ticks {
		y := p.y.place(t.at, floor, top)
		fmt.Fprintf(b, `<line class="%s" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>`+"\n", gridClass(t), left, right, y, y)
		if t.text != "" {
			fmt.Fprintf(b, `<text class="soft" x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", left-8, y+4, t.text)
		}
	}
	for _, t := range p.x.ticks {
		x := p.x.place(t.at, left, right)
		fmt.Fprintf(b, `<line class="%s" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>`+"\n", gridClass(t), x, x, top, bottom)
		if t.text != "" {
			fmt.Fprintf(b, `<text class="soft" x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", x, bottom+20, t.text)
		}
	}
	fmt.Fprintf(b, `<text class="soft" x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", (left+right)/2, bottom+42, p.xTitle)
	fmt.Fprintf(b, `<text class="soft" transform="translate(15 %d) rotate(-90)" text-anchor="middle">%s</text>`+"\n", (top+bottom)/2, p.yTitle)
}

func gridClass(t tick) string {
	if t.text == "" {
		return "faint"
	}
	return "grid"
}

func (p *plot) line(b *strings.Builder, i int) {
	l := p.lines[i]
	class := fmt.Sprintf("c%d", i)
	if l.library == oursVector || l.library == oursHybrid {
		class += " ours"
	}
	if len(l.points) > 1 {
		var d strings.Builder
		for j, q := range l.points {
			x, y := p.at(q)
			fmt.Fprintf(&d, "%c%.1f %.1f", "ML"[min(j, 1)], x, y)
		}
		fmt.Fprintf(b, `<path class="%s" d="%s"/>`+"\n", class, d.String())
	}
	for j, q := range l.points {
		x, y := p.at(q)
		mark(b, i, styles[l.library].shape, x, y)
		if q.text == "" {
			continue
		}
		dx, dy, anchor := 8.0, 15.0, "start" // below and above in turn, and inside
		if j%2 == 1 {
			dx, dy, anchor = -dx, -7, "end"
		}
		if x > right-40 {
			dx, anchor = -8, "end"
		}
		fmt.Fprintf(b, `<text class="f%d" x="%.1f" y="%.1f" text-anchor="%s" font-size="11">%s</text>`+"\n", i, x+dx, y+dy, anchor, html.EscapeString(q.text))
	}
}

func mark(b *strings.Builder, i int, shape string, x, y float64) {
	switch shape {
	case "square":
		fmt.Fprintf(b, `<rect class="f%d edge" x="%.1f" y="%.1f" width="9" height="9"/>`+"\n", i, x-4.5, y-4.5)
	case "triangle":
		fmt.Fprintf(b, `<polygon class="f%d edge" points="%.1f,%.1f %.1f,%.1f %.1f,%.1f"/>`+"\n", i, x, y-6, x-5.5, y+4.5, x+5.5, y+4.5)
	default:
		fmt.Fprintf(b, `<circle class="f%d edge" cx="%.1f" cy="%.1f" r="6"/>`+"\n", i, x, y)
	}
}

// names stand at the ends of the lines, moved apart where they would meet.
func (p *plot) names(b *strings.Builder) {
	type name struct {
		line int
		x, y float64 // of the line's end
		at   float64
	}
	var names []name
	for i, l := range p.lines {
		x, y := p.at(l.points[len(l.points)-1])
		names = append(names, name{i, x, y, y})
	}
	slices.SortFunc(names, func(a, b name) int { return int(math.Copysign(1, a.y-b.y)) })
	for range 200 { // neighbours push one another until none is too near
		moved := false
		for i := range len(names) - 1 {
			if near := labelGap - (names[i+1].at - names[i].at); near > 0.1 {
				names[i].at, names[i+1].at, moved = names[i].at-near/2, names[i+1].at+near/2, true
			}
		}
		if !moved {
			break
		}
	}
	for _, n := range names {
		if n.x < right-1 || math.Abs(n.at-n.y) > 3 {
			fmt.Fprintf(b, `<path class="c%d" d="M%.1f %.1fL%d %.1f" style="stroke-width:1;stroke-dasharray:2 2"/>`+"\n", n.line, n.x+6, n.y, right+22, n.at)
		}
		fmt.Fprintf(b, `<text class="f%d" x="%d" y="%.1f">%s</text>`+"\n", n.line, right+26, n.at+4.5, html.EscapeString(p.lines[n.line].name))
	}
}

func (p *plot) legendOf(b *strings.Builder) {
	for i, l := range p.lines {
		y := float64(top + 12 + i*24)
		mark(b, i, styles[l.library].shape, right+30, y)
		fmt.Fprintf(b, `<text class="f%d" x="%d" y="%.1f">%s</text>`+"\n", i, right+44, y+4.5, html.EscapeString(l.name))
	}
}
