package hdr

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/internal/chart"
	"github.com/otelprof/otelprof/otelhdr"
)

var hdrPlotCommand = &command.Command{
	Name:  "plot",
	Args:  "FILE…",
	Short: "Draw values over percentiles, one curve for each file",
	Long:  hdrFiles,
	Run: func(c *command.Call) error {
		tag, scale := tagFlag(c), scaleFlag(c)
		out := c.String("o", "", "`file` to write, ending in .svg; - is standard output")
		title := c.String("title", "", "`text` above the plot")
		unit := c.String("unit", "", "`name` of the unit of the values")
		divide := c.Float64("divide", 1, "`number` to divide values by, 1e6 for milliseconds of nanoseconds")
		width := c.Int("width", 860, "`pixels`")
		height := c.Int("height", 480, "`pixels`")
		if err := c.ParseArgs(1, -1); err != nil {
			return err
		}
		switch {
		case *out != "-" && strings.ToLower(filepath.Ext(*out)) != ".svg":
			return command.Usagef("-o %q: must end in .svg, or be -", *out)
		case !(*divide > 0):
			return command.Usagef("-divide %g: must be positive", *divide)
		case *width < 300 || *height < 200 || *width > 10000 || *height > 10000:
			return command.Usagef("-width %d, -height %d: must be at least 300 and 200, and at most 10000", *width, *height)
		}
		files, err := readHistograms(c, c.Args(), *tag, *scale, false)
		if err != nil {
			return err
		}
		p := percentilePlot{title: *title, unit: *unit, width: *width, height: *height}
		for _, f := range files {
			s, err := merge([]histogramFile{f})
			if err != nil {
				return err
			}
			p.names, p.curves = append(p.names, f.title()), append(p.curves, curve(s, *divide))
		}
		return c.OutputTo(*out, func(w io.Writer) error {
			_, err := io.WriteString(w, p.draw())
			return err
		})
	},
}

// A percentilePlot has values over percentiles, with as much room for every nine of the percentile.
type percentilePlot struct {
	title, unit   string
	width, height int
	names         []string
	curves        [][]point
}

// A point is a value at a percentile, by its number of nines.
type point struct{ nines, value float64 }

func (p percentilePlot) draw() string {
	const left, right, top, bottom, lineHeight = 72, 20, 36, 52, 18
	x := chart.Axis{Hi: 1, From: left, To: float64(p.width - right)}
	y := chart.Axis{From: float64(p.height - bottom), To: top}
	for _, points := range p.curves {
		for _, at := range points {
			x.Include(at.nines)
			y.Include(at.value)
		}
	}
	if y.Hi == 0 {
		y.Hi = 1
	}
	y.Hi *= 1 + float64(len(p.curves)*lineHeight)/(y.From-y.To) // for the names
	var s chart.Picture
	s.Open(p.width, p.height, p.title)
	s.Text((x.From+x.To)/2, 20, "middle", chart.Ink, p.title)
	for _, v := range y.Ticks() {
		s.Line(x.From, y.At(v), x.To, y.At(v), chart.Grid)
		s.Text(x.From-6, y.At(v)+4, "end", chart.Ink, fmt.Sprintf("%.4g", v))
	}
	for _, t := range percentileTicks(x.Hi) {
		s.Line(x.At(t.nines), y.From, x.At(t.nines), y.To, chart.Grid)
		s.Text(x.At(t.nines), y.From+18, "middle", chart.Ink, t.label)
	}
	s.Text((x.From+x.To)/2, y.From+38, "middle", chart.Ink, "percentile")
	s.Text(x.From, y.To-6, "end", chart.Ink, p.unit)
	for i, points := range p.curves {
		color, dash := chart.Colors[i%len(chart.Colors)], ""
		if round := i / len(chart.Colors); round > 0 {
			dash = fmt.Sprintf(` stroke-dasharray="%d 3"`, 3*round)
		}
		s.Printf(`<polyline points="%s" fill="none" stroke="%s" stroke-width="2"%s/>`+"\n", steps(points, x, y), color, dash)
		row := y.To + 10 + lineHeight*float64(i)
		s.Printf(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="2"%s/>`+"\n", x.From+10, row, x.From+34, row, color, dash)
		s.Text(x.From+40, row+4, "start", color, p.names[i])
	}
	s.Close()
	return s.String()
}

// steps has each value from the percentile before it up to its own.
func steps(points []point, x, y chart.Axis) string {
	var b strings.Builder
	for i, at := range points {
		if i > 0 {
			fmt.Fprintf(&b, " %.1f,%.1f ", x.At(points[i-1].nines), y.At(at.value))
		}
		fmt.Fprintf(&b, "%.1f,%.1f", x.At(at.nines), y.At(at.value))
	}
	return b.String()
}

// nines returns how many nines a percentile has: 1 for 90, 2 for 99.
func nines(percent float64) float64 { return -math.Log10(1 - percent/100) }

// curve returns the values over the nines of their percentiles. The last one, 100, would be
// infinitely far: it stands where the last of Count values does, half of which is beyond.
func curve(s *otelhdr.Snapshot, divide float64) []point {
	points := []point{{0, float64(s.Min()) / divide}}
	end := math.Log10(2 * float64(max(s.Count(), 1))) // the percentile itself may round to 100
	for b := range s.BucketPercentiles() {
		points = append(points, point{min(nines(b.Percent), end), float64(b.Value) / divide})
	}
	return points
}

// A percentileTick is a percentile that is named.
type percentileTick struct {
	nines float64
	label string
}

// percentileTicks are 0, 50, 75, 90, 99, 99.9 and so on.
func percentileTicks(end float64) []percentileTick {
	ticks := []percentileTick{{0, "0"}, {nines(50), "50"}, {nines(75), "75"}}
	for n := 1; float64(n) <= end; n++ {
		label := "90"
		if n > 1 {
			label = "99"
		}
		if n > 2 {
			label += "." + strings.Repeat("9", n-2)
		}
		ticks = append(ticks, percentileTick{float64(n), label})
	}
	return ticks
}
