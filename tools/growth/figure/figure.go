// Package figure makes the plots of benchmarks look alike and writes them as SVG. The commands of
// this module use it.
package figure

import (
	"bytes"
	"image/color"
	"os"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// New returns an empty plot with a grid.
func New(title, x, y string) *plot.Plot {
	plot.DefaultFont.Variant = "Sans"
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.Padding = vg.Points(8)
	p.Legend.Padding, p.Legend.ThumbnailWidth = vg.Points(2), vg.Points(24)
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{0xdd}, color.Gray{0xdd}
	p.Add(grid)
	return p
}

// Write writes a plot as an SVG file.
func Write(p *plot.Plot, width, height vg.Length, path string) error {
	image, err := p.WriterTo(width, height, "svg")
	if err != nil {
		return err
	}
	var svg bytes.Buffer
	if _, err := image.WriteTo(&svg); err != nil {
		return err
	}
	// The library names one font. Readers without it get another without serifs.
	text := bytes.ReplaceAll(svg.Bytes(), []byte("font-family:Liberation Sans"), []byte("font-family:'Liberation Sans',Arial,sans-serif"))
	return os.WriteFile(path, text, 0o644) //nolint:gosec // documentation
}
