package main

import (
	"fmt"
	"image/color"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/slipboxhq/slipbox/tools/growth/figure"
)

// markdown returns the figures as a table, in the order in which they were measured.
func (r *Result) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "- command: `%s`\n- machine: %s\n\n| who | what | notes | p50 ms | p99 ms | limit ms | ÷ limit | value |\n|---|---|---:|---:|---:|---:|---:|---|\n", r.Command, r.Machine)
	for _, f := range r.Figures {
		number := func(v float64) string {
			if v == 0 {
				return ""
			}
			return fmt.Sprintf("%.3g", v)
		}
		notes, ratio, value := "", "", ""
		if f.Notes > 0 {
			notes = fmt.Sprint(f.Notes)
		}
		if f.Limit > 0 {
			ratio = fmt.Sprintf("%.1f", f.P50/f.Limit)
		}
		if f.Unit != "" {
			value = fmt.Sprintf("%.4g %s", f.Value, f.Unit)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", f.Who, f.What, notes, number(f.P50), number(f.P99), number(f.Limit), ratio, value)
	}
	return b.String()
}

// curve is a line of a plot: a figure by the number of notes.
type curve struct{ who, what string }

// plots writes the curves as SVG files, those with one size left out.
func (r *Result) plots(dir string) error {
	for _, p := range []struct {
		file, title, unit string
		of                func(*Figure) float64
		curves            []string
	}{
		{"growth-search.svg", "Time of a search (median, one caller)", "ms", func(f *Figure) float64 { return f.P50 }, []string{whatHybrid, whatVector, whatNew}},
		{"growth-add.svg", "Time of a durable add (median, one caller)", "ms", func(f *Figure) float64 { return f.P50 }, []string{whatAdd}},
		{"growth-start.svg", "After a start", "ms", func(f *Figure) float64 { return f.P50 }, []string{whatAfter, whatFill, whatFirst, whatFirstAdd}},
		{"growth-memory.svg", "Resident memory after a search", "MiB", func(f *Figure) float64 { return f.Value }, []string{whatResident, whatOwn}},
	} {
		lines := map[curve]plotter.XYs{}
		var order []curve
		for i := range r.Figures {
			f := &r.Figures[i]
			c := curve{f.Who, f.What}
			if f.Notes == 0 || !slices.Contains(p.curves, f.What) || p.of(f) == 0 {
				continue
			}
			if lines[c] == nil {
				order = append(order, c)
			}
			lines[c] = append(lines[c], plotter.XY{X: float64(f.Notes), Y: p.of(f)})
		}
		if err := draw(filepath.Join(dir, p.file), p.title, p.unit, order, lines); err != nil {
			return fmt.Errorf("%s: %w", p.file, err)
		}
	}
	return nil
}

// palette are the colors of the lines, in order.
var palette = []color.RGBA{{0x09, 0x69, 0xda, 0xff}, {0x82, 0x50, 0xdf, 0xff}, {0x1a, 0x7f, 0x37, 0xff}, {0xbc, 0x4c, 0x00, 0xff}, {0x57, 0x60, 0x6a, 0xff}}

func draw(path, title, unit string, order []curve, lines map[curve]plotter.XYs) error {
	if len(order) == 0 {
		return nil
	}
	p := figure.New(title, "notes", unit)
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{Prec: -1}, plot.LogTicks{Prec: 3}
	p.Legend.Top, p.Legend.Left = true, true
	for i, c := range order {
		line, points, err := plotter.NewLinePoints(lines[c])
		if err != nil {
			return err
		}
		line.Color, line.Width = palette[i%len(palette)], vg.Points(2)
		points.Color, points.Radius = line.Color, vg.Points(3)
		p.Add(line, points)
		p.Legend.Add(c.who+", "+c.what, line, points)
	}
	p.Y.Max *= 4 // room for the legend
	return figure.Write(p, 20*vg.Centimeter, 11*vg.Centimeter, path)
}
