package stacks

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"hash/fnv"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/otelprof/otelprof/internal/naming"
)

const (
	svgWidth   = 1200.0
	svgRow     = 18.0
	svgTop     = 46.0
	svgChar    = 6.6 // the width of a letter, about
	svgTooThin = 0.4
	// svgMaxDepth keeps a picture of endless recursion within what programs open.
	svgMaxDepth = 400
)

// WriteSVG writes a flame graph, outermost calls on top: the width of a call is its part of the
// time. Calls that would be thinner than half a pixel are left out. It is a picture without
// scripts; pointing at a call shows its name and numbers.
func (t *Tree) WriteSVG(w io.Writer, title string) error {
	v := &svgVisitor{total: t.Total().Nanos}
	if v.total > 0 {
		t.Visit(v.enter, v.leave)
	}
	out := bufio.NewWriter(w)
	height := svgTop + svgRow*float64(v.depth) + 8
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="ui-monospace, monospace" font-size="11">`+"\n", svgWidth, height)
	fmt.Fprintf(out, `<rect width="100%%" height="100%%" fill="#fff"/><text x="6" y="18" font-size="14">%s</text>`+"\n", escape(title))
	note := fmt.Sprintf("%s, %v of processor time", naming.Count(t.Total().Samples, "sample"), roughly(v.total))
	if t.TooFew() {
		note += fmt.Sprintf(": too few samples, shares mean little below %d", minSamples)
	}
	fmt.Fprintf(out, `<text x="6" y="36" fill="#555">%s</text>`+"\n", escape(note))
	out.WriteString(v.boxes.String())
	out.WriteString("</svg>\n")
	return out.Flush()
}

type svgVisitor struct {
	total int64
	boxes strings.Builder
	left  []float64 // where the next child of each open node begins
	depth int
}

func (v *svgVisitor) enter(n Node) bool {
	if len(v.left) == 0 {
		v.left = append(v.left, 0)
	}
	width := svgWidth * float64(n.Whole.Nanos) / float64(v.total)
	x := v.left[n.Depth]
	v.left[n.Depth] += width
	v.left = append(v.left, x)
	if width < svgTooThin || n.Depth >= svgMaxDepth {
		return false
	}
	v.depth = max(v.depth, n.Depth+1)
	y := svgTop + svgRow*float64(n.Depth)
	fmt.Fprintf(&v.boxes, `<g><title>%s</title><rect x="%.1f" y="%.1f" width="%.1f" height="%g" rx="1.5" fill="%s" stroke="#fff" stroke-width="0.6"/>`,
		escape(fmt.Sprintf("%s %s: %s, self %s, %s", n.Func, n.place(), strings.TrimSpace(percent(width/svgWidth)),
			strings.TrimSpace(percent(float64(n.AsLeaf.Nanos)/float64(v.total))), naming.Count(n.Whole.Samples, "sample"))),
		x, y, width, svgRow-1, svgColor(n.Func))
	if label := fit(n.Func, int((width-6)/svgChar)); label != "" {
		fmt.Fprintf(&v.boxes, `<text x="%.1f" y="%.1f">%s</text>`, x+3, y+12.5, escape(label))
	}
	v.boxes.WriteString("</g>\n")
	return true
}

func (v *svgVisitor) leave(Node) { v.left = v.left[:len(v.left)-1] }

// fit shortens a name to n letters: the package's path goes first.
func fit(name string, n int) string {
	if utf8.RuneCountInString(name) > n {
		name = name[strings.LastIndexByte(name, '/')+1:]
	}
	switch letters := []rune(name); {
	case n < 3:
		return ""
	case len(letters) > n:
		return string(letters[:n-1]) + "…"
	}
	return name
}

// svgColor gives each package a color of its own.
func svgColor(function string) string {
	slash := strings.LastIndexByte(function, '/') + 1
	pkg, _, _ := strings.Cut(function[slash:], ".")
	h := fnv.New32a()
	_, _ = h.Write([]byte(function[:slash] + pkg)) // it never fails
	return fmt.Sprintf("hsl(%d 70%% 72%%)", h.Sum32()%300)
}

// place is the file with the line.
func (f Frame) place() string {
	if f.Line == 0 {
		return f.File
	}
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a builder takes everything
	return b.String()
}
