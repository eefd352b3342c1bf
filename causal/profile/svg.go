package profile

import (
	"fmt"
	"io"
	"strings"

	"github.com/otelprof/otelprof/internal/chart"
	"github.com/otelprof/otelprof/internal/stats"
)

// The picture's geometry, in pixels.
const (
	svgWidth, svgHeight = 860, 420
	svgLeft, svgRight   = 64, 240 // the right margin holds the names
	svgTop, svgBottom   = 36, 48
)

// mostDrawn is how many curves a panel has room for.
const mostDrawn = 20

// WriteSVG draws the curves, a panel for each metric: across, how much faster the region would
// be; up, how much higher throughput, or how much lower latency, with 95 % intervals. A
// panel holds all progress points. What was computed is dashed, or dotted if from recordings.
func (p Profile) WriteSVG(w io.Writer) error {
	panels := p.panels()
	s := &svg{}
	s.Open(svgWidth, len(panels)*svgHeight, "Causal profile")
	for i, curves := range panels {
		s.Printf(`<g transform="translate(0,%d)">`+"\n", i*svgHeight)
		s.panel(curves)
		s.Printf("</g>\n")
	}
	s.Close()
	_, err := io.WriteString(w, s.String())
	return err
}

// panels returns the curves by metric, in their order; an empty panel if there are none.
func (p Profile) panels() [][]Curve {
	if len(p.Curves) == 0 {
		return [][]Curve{nil}
	}
	return grouped(p.Curves, func(c Curve) Metric { return c.Metric })
}

func (s *svg) panel(curves []Curve) {
	drawn := curves[:min(len(curves), mostDrawn)]
	x := chart.Axis{Lo: 0, Hi: 0.5, From: svgLeft, To: svgWidth - svgRight}
	y := chart.Axis{Lo: 0, Hi: 0.05, From: svgHeight - svgBottom, To: svgTop}
	for _, c := range drawn {
		for _, e := range c.measured() {
			x.Include(e.Speedup)
			y.Include(c.height(e.Lo))
			y.Include(c.height(e.Hi))
			y.Include(c.height(e.Reduction))
		}
	}
	title := "What throughput would do if a span were faster"
	if len(drawn) > 0 && !drawn[0].ofThroughput() {
		title = "How much lower " + string(drawn[0].Metric) + " would be if a span were faster"
	}
	s.Text(svgLeft, 20, "start", chart.Ink, title)
	s.axes(x, y)
	for i, c := range drawn {
		s.curve(i, c, x, y)
	}
	if len(curves) == 0 {
		s.Text((svgLeft+svgWidth-svgRight)/2, svgHeight/2, "middle", chart.Ink, "no experiment has been measured yet")
	}
	if more := len(curves) - len(drawn); more > 0 {
		s.Text(x.To+14, svgTop+18*mostDrawn+8, "start", chart.Ink, fmt.Sprintf("and %d more", more))
	}
}

// ofThroughput reports whether a rise is better.
func (c Curve) ofThroughput() bool { return c.Metric == MetricThroughput || c.Metric == "" }

// height is what of a reduction is drawn.
func (c Curve) height(reduction float64) float64 {
	if c.ofThroughput() {
		return stats.Gain(reduction)
	}
	return reduction
}

// svg is a picture of curves.
type svg struct{ chart.Picture }

func (s *svg) axes(x, y chart.Axis) {
	for _, v := range y.Ticks() {
		s.Line(x.From, y.At(v), x.To, y.At(v), chart.Grid)
		s.Text(x.From-6, y.At(v)+4, "end", chart.Ink, fmt.Sprintf("%+.3g%%", 100*v))
	}
	for _, v := range x.Ticks() {
		s.Text(x.At(v), y.From+18, "middle", chart.Ink, fmt.Sprintf("%.3g%%", 100*v))
	}
	s.Line(x.From, y.At(0), x.To, y.At(0), chart.Ink)
	s.Text((x.From+x.To)/2, y.From+38, "middle", chart.Ink, "the span is faster by")
}

func (s *svg) curve(i int, c Curve, x, y chart.Axis) {
	color := chart.Colors[i%len(chart.Colors)]
	points := []string{fmt.Sprintf("%.1f,%.1f", x.At(0), y.At(0))}
	for _, e := range c.measured() {
		px, py := x.At(e.Speedup), y.At(c.height(e.Reduction))
		points = append(points, fmt.Sprintf("%.1f,%.1f", px, py))
		s.Line(px, y.At(c.height(e.Lo)), px, y.At(c.height(e.Hi)), color)
		s.mark(i, px, py, color)
	}
	name, dash := fmt.Sprintf("%s → %s", c.Region.Name, c.Progress), ""
	if !c.Mode.Delays() {
		name = fmt.Sprintf("%s (%s)", name, c.Mode)
		dash = ` stroke-dasharray="6 3"`
		if c.Mode == ModeReplay {
			dash = ` stroke-dasharray="1 3"`
		}
	}
	if len(c.Disagrees) > 0 {
		name = "! " + name
	}
	s.Printf(`<polyline points="%s" fill="none" stroke="%s" stroke-width="2"%s/>`+"\n", strings.Join(points, " "), color, dash)
	s.mark(i, x.To+14, svgTop+18*float64(i)+4, color)
	s.Text(x.To+24, svgTop+18*float64(i)+8, "start", color, name)
}

// mark draws the sign of the i-th curve: circle, square, diamond, triangle.
func (s *svg) mark(i int, x, y float64, color string) {
	switch i % 4 {
	case 0:
		s.Printf(`<circle cx="%.1f" cy="%.1f" r="4" fill="%s"/>`+"\n", x, y, color)
	case 1:
		s.Printf(`<rect x="%.1f" y="%.1f" width="8" height="8" fill="%s"/>`+"\n", x-4, y-4, color)
	case 2:
		s.Printf(`<path d="M%.1f %.1f l5 5 l-5 5 l-5 -5 z" fill="%s"/>`+"\n", x, y-5, color)
	case 3:
		s.Printf(`<path d="M%.1f %.1f l5 9 h-10 z" fill="%s"/>`+"\n", x, y-6, color)
	}
}
