package main

import (
	"fmt"
	"image/color"
	"math"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/slipboxhq/slipbox/tools/indexbench/figure"
)

// The size of a plot on its page.
const plotWidth, plotHeight = 22 * vg.Centimeter, 13 * vg.Centimeter

// style is how a library is drawn. Our own lines are wider.
type style struct {
	color color.RGBA
	shape draw.GlyphDrawer
	width vg.Length
}

var styles = map[string]style{
	oursVector:  {color.RGBA{0x09, 0x69, 0xda, 0xff}, draw.CircleGlyph{}, 3},
	oursHybrid:  {color.RGBA{0x82, 0x50, 0xdf, 0xff}, draw.CircleGlyph{}, 3},
	bruteName:   {color.RGBA{0x57, 0x60, 0x6a, 0xff}, draw.BoxGlyph{}, 1.5},
	chromemName: {color.RGBA{0x9a, 0x67, 0x00, 0xff}, draw.BoxGlyph{}, 1.5},
	sqliteName:  {color.RGBA{0xbc, 0x4c, 0x00, 0xff}, draw.BoxGlyph{}, 1.5},
	coderName:   {color.RGBA{0xcf, 0x22, 0x2e, 0xff}, draw.PyramidGlyph{}, 1.5},
	exactName:   {color.RGBA{0x1a, 0x7f, 0x37, 0xff}, draw.BoxGlyph{}, 1.5},
	hnswName:    {color.RGBA{0x0e, 0x74, 0x90, 0xff}, draw.PyramidGlyph{}, 1.5},
}

// series is the line of one library, with a label for each point ("" for none).
type series struct {
	library, name string
	plotter.XYLabels
}

// addPoint adds a point to the line of a library.
func addPoint(all []*series, f *Figure, name string, at plotter.XY, label string) []*series {
	i := slices.IndexFunc(all, func(s *series) bool { return s.library == f.Library })
	if i < 0 {
		i, all = len(all), append(all, &series{library: f.Library, name: name})
	}
	all[i].XYs, all[i].Labels = append(all[i].XYs, at), append(all[i].Labels, label)
	return all
}

// latency plots the time by the number of notes, each library with its first setting.
func (r *Result) latency() (*plot.Plot, error) {
	var all []*series
	first := map[string]string{}
	for i := range r.Figures {
		f := &r.Figures[i]
		if setting, ok := first[f.Library]; ok && setting != f.Setting {
			continue
		}
		first[f.Library] = f.Setting
		all = addPoint(all, f, f.name(), plotter.XY{X: float64(f.Notes), Y: f.P50}, "")
	}
	p := figure.New("Time to find the ten nearest notes (median, one caller; lower is better)", "notes", "p50, ms")
	p.X.Scale, p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogScale{}, plot.LogTicks{Prec: 3}
	var ticks plot.ConstantTicks
	for _, s := range r.Sizes {
		ticks = append(ticks, plot.Tick{Value: float64(s.Notes), Label: grouped(s.Notes)})
	}
	p.X.Tick.Marker = ticks
	if err := addSeries(p, all); err != nil {
		return nil, err
	}
	p.X.Min, p.X.Max = p.X.Min/1.3, p.X.Max*1.3
	p.Y.Min, p.Y.Max = p.Y.Min/1.3, p.Y.Max*1.3
	p.Legend.Top, p.Legend.Left = true, true
	return p, nil
}

// recall plots recall by time at the largest size that has graphs, which all libraries were
// measured at.
func (r *Result) recall() (*plot.Plot, error) {
	size := r.Sizes[len(r.Sizes)-1].Notes
	for _, f := range r.Figures {
		if f.Setting != "" {
			size = f.Notes
		}
	}
	var all []*series
	lowest := 1.0
	for i := range r.Figures {
		f := &r.Figures[i]
		if f.Notes == size && f.Recall != nil {
			all = addPoint(all, f, f.Library, plotter.XY{X: f.P50, Y: *f.Recall}, f.Setting)
			lowest = min(lowest, *f.Recall)
		}
	}
	p := figure.New(fmt.Sprintf("Recall by time, %s notes (up and left is better; what is missed is on a logarithmic scale)", grouped(size)), "p50, ms", "recall@10")
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: 3}
	p.Y.Scale = nines{}
	var ticks plot.ConstantTicks
	for _, v := range []float64{0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 1} {
		if v <= lowest {
			ticks = nil // the last value below all points is the first tick
		}
		ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprintf("%.4g", v)})
	}
	p.Y.Tick.Marker = ticks
	if err := addSeries(p, all); err != nil {
		return nil, err
	}
	p.X.Min, p.X.Max = p.X.Min/1.3, p.X.Max*2
	p.Y.Min, p.Y.Max = ticks[0].Value, 1
	return p, nil
}

// addSeries draws the lines. Ours are the first ones and drawn last, above the others.
func addSeries(p *plot.Plot, all []*series) error {
	thumbs := map[*series][]plot.Thumbnailer{}
	for _, s := range slices.Backward(all) {
		line, points, err := plotter.NewLinePoints(s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		look := styles[s.library]
		line.Color, line.Width = look.color, look.width
		points.Color, points.Shape, points.Radius = look.color, look.shape, vg.Points(4)
		labels, err := plotter.NewLabels(s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		labels.Offset = vg.Point{X: 6, Y: -10}
		for i := range labels.TextStyle {
			labels.TextStyle[i].Color, labels.TextStyle[i].Font.Variant = look.color, "Sans"
		}
		p.Add(line, points, labels)
		thumbs[s] = []plot.Thumbnailer{line, points}
	}
	for _, s := range all {
		p.Legend.Add(s.name, thumbs[s]...)
	}
	return nil
}

// nines is the scale of shares that should be 1: 0.9 is as far from 0.99 as 0.99 is from 0.999.
// Values above 1-1e-4 are drawn as 1.
type nines struct{}

// Normalize implements plot.Normalizer.
func (nines) Normalize(low, high, x float64) float64 {
	scale := func(v float64) float64 { return -math.Log10(max(1-v, 1e-4)) }
	return (scale(x) - scale(low)) / (scale(high) - scale(low))
}

// writePlots writes the plots as SVG files into a folder.
func (r *Result) writePlots(dir string) error {
	for name, draw := range map[string]func() (*plot.Plot, error){"index-latency.svg": r.latency, "index-recall.svg": r.recall} {
		p, err := draw()
		if err != nil {
			return err
		}
		if err := figure.Write(p, plotWidth, plotHeight, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}
