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

// WriteSVG draws the curves: across, how much faster the region would be; up, how much higher
// throughput would be, with 95 % intervals. One picture holds all progress points.
func (p Profile) WriteSVG(w io.Writer) error {
	x := axis{lo: 0, hi: 0.5, from: svgLeft, to: svgWidth - svgRight}
	y := axis{lo: 0, hi: 0.05, from: svgHeight - svgBottom, to: svgTop}
	for _, c := range p.Curves {
		for _, e := range c.Effects {
			if e.Withheld == "" {
				x.include(e.Speedup)
				y.include(gain(e.Lo))
				y.include(gain(e.Hi))
			}
		}
	}
	s := &svg{}
	s.open()
	s.text(svgLeft, 20, "start", "#444", "What throughput would do if a span were faster")
	s.axes(x, y)
	for i, c := range p.Curves {
		s.curve(i, c, x, y)
	}
	if len(p.Curves) == 0 {
		s.text((svgLeft+svgWidth-svgRight)/2, svgHeight/2, "middle", "#444", "no experiment has been measured yet")
	}
	s.printf("</svg>\n")
	_, err := io.WriteString(w, s.String())
	return err
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

func (s *svg) open() {
	s.printf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" role="img">`+"\n", svgWidth, svgHeight)
	s.printf(`<title>Causal profile</title><rect width="%d" height="%d" fill="#fff"/>`+"\n", svgWidth, svgHeight)
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

	for _, e := range c.Effects {
		if e.Withheld != "" {
			continue
		}
		px, py := x.at(e.Speedup), y.at(e.ThroughputGain)
		points = append(points, fmt.Sprintf("%.1f,%.1f", px, py))
		s.line(px, y.at(gain(e.Lo)), px, y.at(gain(e.Hi)), color)
		s.mark(i, px, py, color)

	}
	s.printf(`<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(points, " "), color)
	s.mark(i, x.to+14, svgTop+18*float64(i)+4, color)
	s.text(x.to+24, svgTop+18*float64(i)+8, "start", color, fmt.Sprintf("%s → %s", c.Region.Span, c.Progress))
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
