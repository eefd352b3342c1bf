package main

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"

	"github.com/otelprof/otelprof/otelhdr"
)

var hdrPlotCommand = &command{
	name:  "plot",
	args:  "FILE…",
	short: "Draw values over percentiles, one curve for each file",
	long:  hdrFiles,
	run: func(c *call) error {
		tag, scale := c.tagFlag(), c.scaleFlag()
		out := c.String("o", "", "`file` to write; its extension tells the format: svg, png, pdf")
		title := c.String("title", "", "`text` above the plot")
		unit := c.String("unit", "", "`name` of the unit of the values")
		divide := c.Float64("divide", 1, "`number` to divide values by, 1e6 for milliseconds of nanoseconds")
		width := c.Float64("width", 18, "`centimeters`")
		height := c.Float64("height", 11, "`centimeters`")
		if err := c.parse(1, -1); err != nil {
			return err
		}
		format := strings.TrimPrefix(strings.ToLower(filepath.Ext(*out)), ".")
		switch {
		case format != "svg" && format != "png" && format != "pdf":
			return usagef("-o %q: must end in .svg, .png or .pdf", *out)
		case !(*divide > 0) || !(*width > 0) || !(*height > 0) || *width > 200 || *height > 200:
			return usagef("-divide %g, -width %g, -height %g: must be positive, and the size at most 200", *divide, *width, *height)
		}
		files, err := c.readHistograms(c.Args(), *tag, *scale)
		if err != nil {
			return err
		}
		p, err := percentilePlot(files, *divide)
		if err != nil {
			return err
		}
		p.Title.Text = *title
		p.Y.Label.Text = *unit
		to, err := p.WriterTo(vg.Length(*width)*vg.Centimeter, vg.Length(*height)*vg.Centimeter, format)
		if err != nil {
			return err
		}
		return c.output(*out, func(w io.Writer) error {
			_, err := to.WriteTo(w)
			return err
		})
	},
}

// percentilePlot draws values over percentiles, with as much room for every nine of the percentile.
func percentilePlot(files []histogramFile, divide float64) (*plot.Plot, error) {
	p := plot.New()
	p.X.Label.Text = "percentile"
	p.Legend.Top, p.Legend.Left = true, true
	nines := 1.0
	for i, f := range files {
		s, err := merge([]histogramFile{f})
		if err != nil {
			return nil, err
		}
		points := curve(s, divide)
		line, err := plotter.NewLine(points)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		line.StepStyle = plotter.PreStep // up to a percentile its value is what it takes
		line.Color = plotutil.Color(i)
		line.Dashes = plotutil.Dashes(i)
		line.Width = vg.Points(1.5)
		p.Add(line)
		p.Legend.Add(f.title(), line)
		nines = max(nines, points[len(points)-1].X)
	}
	p.Add(plotter.NewGrid())
	p.X.Min, p.X.Max = 0, nines
	p.Y.Min = 0
	p.Y.Max *= 1 + 0.06*float64(len(files)) // for the legend
	p.X.Tick.Marker = plot.ConstantTicks(percentileTicks(nines))
	return p, nil
}

// nines returns how many nines a percentile has: 1 for 90, 2 for 99.
func nines(percent float64) float64 { return -math.Log10(1 - percent/100) }

// curve returns the values over the nines of their percentiles. The last one, 100, would be infinitely far: it stands
// where the last of so many values does.
func curve(s *otelhdr.Snapshot, divide float64) plotter.XYs {
	points := plotter.XYs{{X: 0, Y: float64(s.Min()) / divide}}
	end := nines(100 * (1 - 0.5/float64(max(s.Count(), 1))))
	for b := range s.BucketPercentiles() {
		points = append(points, plotter.XY{X: min(nines(b.Percent), end), Y: float64(b.Value) / divide})
	}
	return points
}

// percentileTicks labels 0, 50, 90, 99, 99.9 and so on.
func percentileTicks(end float64) []plot.Tick {
	ticks := []plot.Tick{{Value: 0, Label: "0"}, {Value: nines(50), Label: "50"}, {Value: nines(75), Label: "75"}}
	for n := 1; float64(n) <= end; n++ {
		label := "90"
		if n > 1 {
			label = "99"
		}
		if n > 2 {
			label += "." + strings.Repeat("9", n-2)
		}
		ticks = append(ticks, plot.Tick{Value: float64(n), Label: label})
	}
	return ticks
}
