// Package chart draws charts as SVG: text, lines and axes.
package chart

import (
	"encoding/xml"
	"fmt"
	"math"
	"strings"
)

// Colors are distinguishable also with red-green color blindness.
var Colors = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"}

// The colors of what is not a curve.
const (
	Ink  = "#444"
	Grid = "#ddd"
)

// A Picture is an SVG document that is being written. Its zero value is empty.
type Picture struct{ strings.Builder }

// Open begins a picture of a size in pixels, on white, with a title for screen readers.
func (p *Picture) Open(width, height int, title string) {
	p.Printf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" role="img">`+"\n<title>", width, height)
	p.escape(title)
	p.Printf(`</title><rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height)
}

// Close ends the picture.
func (p *Picture) Close() { p.Printf("</svg>\n") }

// Printf writes markup as it is.
func (p *Picture) Printf(format string, args ...any) { _, _ = fmt.Fprintf(p, format, args...) }

// Text writes text; anchor is what of it is at x: start, middle or end.
func (p *Picture) Text(x, y float64, anchor, color, text string) {
	p.Printf(`<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s">`, x, y, anchor, color)
	p.escape(text)
	p.Printf("</text>\n")
}

func (p *Picture) escape(text string) { _ = xml.EscapeText(p, []byte(text)) } // a Builder takes everything

// Line draws a line.
func (p *Picture) Line(x1, y1, x2, y2 float64, color string) {
	p.Printf(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`+"\n", x1, y1, x2, y2, color)
}

// An Axis maps values in [Lo, Hi] to pixels in [From, To].
type Axis struct{ Lo, Hi, From, To float64 }

// Include widens the axis so that it has v.
func (a *Axis) Include(v float64) { a.Lo, a.Hi = min(a.Lo, v), max(a.Hi, v) }

// At returns where v is.
func (a Axis) At(v float64) float64 { return a.From + (v-a.Lo)/(a.Hi-a.Lo)*(a.To-a.From) }

// Ticks returns round values, four to ten of them.
func (a Axis) Ticks() (values []float64) {
	step := math.Pow(10, math.Floor(math.Log10((a.Hi-a.Lo)/4)))
	for _, m := range []float64{5, 2} {
		if (a.Hi-a.Lo)/(m*step) >= 4 {
			step *= m
			break
		}
	}
	for i := math.Ceil(a.Lo / step); i*step <= a.Hi+step/1e6; i++ {
		values = append(values, i*step)
	}
	return values
}
