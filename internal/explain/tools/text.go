package tools

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/otelprof/otelprof/internal/naming"
)

// mostBytes is how long an answer may be: a token of tables has three bytes at least.
const mostBytes = 4500

// reserve is for the line about what was left out.
const reserve = 120

// A page is an answer that is being written, within its length.
type page struct {
	b    strings.Builder
	full bool
}

// mostLine and mostCell bound a line and a cell of a table: one name must not push all else out.
const (
	mostLine = 400
	mostCell = 240
)

// line writes a line, or leaves it and all after it out where there is no room.
func (p *page) line(format string, args ...any) bool {
	text := naming.Cut(naming.OneLine(fmt.Sprintf(format, args...)), mostLine)
	if p.full || p.b.Len()+len(text)+1 > mostBytes-reserve {
		p.full = true
		return false
	}
	p.b.WriteString(strings.TrimRight(text, " ") + "\n")
	return true
}

// table writes rows of cells below a head, in columns, and how many there are where not all fit.
func (p *page) table(what string, head []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	text := &strings.Builder{}
	t := tabwriter.NewWriter(text, 0, 8, 2, ' ', 0)
	for _, cells := range append([][]string{head}, rows...) {
		for i, cell := range cells {
			cells[i] = naming.Cut(naming.OneLine(cell), mostCell)
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	_ = t.Flush()
	lines := strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
	shown := -1 // the head is no row
	for _, line := range lines {
		if !p.line("%s", line) {
			break
		}
		shown++
	}
	if shown < len(rows) {
		p.left("%d of %d %s shown", max(shown, 0), len(rows), what)
	}
}

// lines writes a text that has lines already.
func (p *page) lines(what, text string) {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range all {
		if !p.line("%s", line) {
			p.left("%d of %d lines of %s shown", i, len(all), what)
			return
		}
	}
}

// left notes what has no room, once.
func (p *page) left(format string, args ...any) {
	if text := "(" + naming.OneLine(fmt.Sprintf(format, args...)) + ")\n"; p.b.Len()+len(text) <= mostBytes {
		p.b.WriteString(text)
	}
}

func (p *page) String() string { return p.b.String() }

// duration writes nanoseconds with three digits.
func duration(ns float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
		if math.Abs(ns) >= 0.9995*unit.size {
			return number(ns/unit.size) + " " + unit.name
		}
	}
	return number(ns) + " ns"
}

func percent(part float64) string { return number(100*part) + " %" }

// number writes three digits, and whole numbers from 1000 on.
func number(v float64) string {
	if math.Abs(v) >= 999.5 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// short leaves the path of a package out: "main.(*stock).take:49".
func short(where string) string { return where[strings.LastIndexByte(where, '/')+1:] }
