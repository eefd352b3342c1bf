package causal

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"
)

// The picture's geometry, in pixels.
const (
	svgWidth, svgHeight = 860, 420
	svgLeft, svgRight   = 64, 240 // the right margin holds the names
	svgTop, svgBottom   = 36, 48
)

// svgColors are told apart also by people who do not see red and green alike; each curve has a
// mark of its own as well.
var svgColors = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"}

// mostDrawn is how many curves a panel has room for.
const mostDrawn = 20

// WriteSVG draws the curves, a panel for each metric: across, how much faster the region would
// be; up, how much higher throughput, or how much lower latency, with 95 % intervals. A
// panel holds all progress points. What was computed is dashed, or dotted if from recordings.
func (p Profile) WriteSVG(w io.Writer) error {
	panels := p.panels()
	s := &svg{}
	s.open(len(panels))
	for i, curves := range panels {
		s.printf(`<g transform="translate(0,%d)">`+"\n", i*svgHeight)
		s.panel(curves)
		s.printf("</g>\n")
	}
	s.printf("</svg>\n")
	_, err := io.WriteString(w, s.String())
	return err
}

// panels returns the curves by metric, in their order; an empty panel if there are none.
func (p Profile) panels() [][]Curve {
	var panels [][]Curve
	place := map[Metric]int{}
	for _, c := range p.Curves {
		i, known := place[c.Metric]
		if !known {
			i = len(panels)
			place[c.Metric] = i
			panels = append(panels, nil)
		}
		panels[i] = append(panels[i], c)
	}
	if panels == nil {
		return [][]Curve{nil}
	}
	return panels
}

func (s *svg) panel(curves []Curve) {
	drawn := curves[:min(len(curves), mostDrawn)]
	x := axis{lo: 0, hi: 0.5, from: svgLeft, to: svgWidth - svgRight}
	y := axis{lo: 0, hi: 0.05, from: svgHeight - svgBottom, to: svgTop}
	for _, c := range drawn {
		for _, e := range c.measured() {
			x.include(e.Speedup)
			y.include(c.height(e.Lo))
			y.include(c.height(e.Hi))
			y.include(c.height(e.Reduction))
		}
	}
	title := "What throughput would do if a span were faster"
	if len(drawn) > 0 && !drawn[0].ofThroughput() {
		title = "How much lower " + string(drawn[0].Metric) + " would be if a span were faster"
	}
	s.text(svgLeft, 20, "start", "#444", title)
	s.axes(x, y)
	for i, c := range drawn {
		s.curve(i, c, x, y)
	}
	if len(curves) == 0 {
		s.text((svgLeft+svgWidth-svgRight)/2, svgHeight/2, "middle", "#444", "no experiment has been measured yet")
	}
	if more := len(curves) - len(drawn); more > 0 {
		s.text(x.to+14, svgTop+18*mostDrawn+8, "start", "#444", fmt.Sprintf("and %d more", more))
	}
}

// ofThroughput reports whether a rise is better.
func (c Curve) ofThroughput() bool { return c.Metric == MetricThroughput || c.Metric == "" }

// height is what of a reduction is drawn.
func (c Curve) height(reduction float64) float64 {
	if c.ofThroughput() {
		return gain(reduction)
	}
	return reduction
}

// axis maps [lo, hi] to [from, to].
type axis struct{ lo, hi, from, to float64 }

func (a *axis) include(v float64) { a.lo, a.hi = min(a.lo, v), max(a.hi, v) }

func (a *axis) at(v float64) float64 { return a.from + (v-a.lo)/(a.hi-a.lo)*(a.to-a.from) }

// ticks returns round values, four to ten of them.
func (a *axis) ticks() (values []float64) {
	step := math.Pow(10, math.Floor(math.Log10((a.hi-a.lo)/4)))
	for _, m := range []float64{5, 2} {
		if (a.hi-a.lo)/(m*step) >= 4 {
			step *= m
			break
		}
	}
	for i := math.Ceil(a.lo / step); i*step <= a.hi+step/1e6; i++ {
		values = append(values, i*step)
	}
	return values
}

type svg struct{ strings.Builder }

func (s *svg) printf(format string, args ...any) { _, _ = fmt.Fprintf(s, format, args...) }

func (s *svg) open(panels int) {
	s.printf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" role="img">`+"\n", svgWidth, panels*svgHeight)
	s.printf(`<title>Causal profile</title><rect width="%d" height="%d" fill="#fff"/>`+"\n", svgWidth, panels*svgHeight)
}

func (s *svg) text(x, y float64, anchor, color, text string) {
	s.printf(`<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s">`, x, y, anchor, color)
	_ = xml.EscapeText(s, []byte(text)) // a Builder takes everything
	s.printf("</text>\n")
}

func (s *svg) line(x1, y1, x2, y2 float64, color string) {
	s.printf(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`+"\n", x1, y1, x2, y2, color)
}

func (s *svg) axes(x, y axis) {
	for _, v := range y.ticks() {
		s.line(x.from, y.at(v), x.to, y.at(v), "#ddd")
		s.text(x.from-6, y.at(v)+4, "end", "#444", fmt.Sprintf("%+.3g%%", 100*v))
	}
	for _, v := range x.ticks() {
		s.text(x.at(v), y.from+18, "middle", "#444", fmt.Sprintf("%.3g%%", 100*v))
	}
	s.line(x.from, y.at(0), x.to, y.at(0), "#444")
	s.text((x.from+x.to)/2, y.from+38, "middle", "#444", "the span is faster by")
}

func (s *svg) curve(i int, c Curve, x, y axis) {
	color := svgColors[i%len(svgColors)]
	points := []string{fmt.Sprintf("%.1f,%.1f", x.at(0), y.at(0))}
	for _, e := range c.measured() {
		px, py := x.at(e.Speedup), y.at(c.height(e.Reduction))
		points = append(points, fmt.Sprintf("%.1f,%.1f", px, py))
		s.line(px, y.at(c.height(e.Lo)), px, y.at(c.height(e.Hi)), color)
		s.mark(i, px, py, color)
	}
	name, dash := fmt.Sprintf("%s → %s", c.Region.Span, c.Progress), ""
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
	s.printf(`<polyline points="%s" fill="none" stroke="%s" stroke-width="2"%s/>`+"\n", strings.Join(points, " "), color, dash)
	s.mark(i, x.to+14, svgTop+18*float64(i)+4, color)
	s.text(x.to+24, svgTop+18*float64(i)+8, "start", color, name)
}

// mark draws the sign of the i-th curve: circle, square, diamond, triangle.
func (s *svg) mark(i int, x, y float64, color string) {
	switch i % 4 {
	case 0:
		s.printf(`<circle cx="%.1f" cy="%.1f" r="4" fill="%s"/>`+"\n", x, y, color)
	case 1:
		s.printf(`<rect x="%.1f" y="%.1f" width="8" height="8" fill="%s"/>`+"\n", x-4, y-4, color)
	case 2:
		s.printf(`<path d="M%.1f %.1f l5 5 l-5 5 l-5 -5 z" fill="%s"/>`+"\n", x, y-5, color)
	case 3:
		s.printf(`<path d="M%.1f %.1f l5 9 h-10 z" fill="%s"/>`+"\n", x, y-6, color)
	}
}
