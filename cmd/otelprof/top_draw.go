package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// The terminal's words: see ECMA-48. The other screen keeps what the user had before him. All lines
// of a frame are written over the last one, so that nothing flickers.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[2J"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	homeCursor  = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
	bold        = "\x1b[1m"
	red         = "\x1b[31m"
	plain       = "\x1b[0m"
)

// A topColumn is one column of the table, as wide as its widest cell.
type topColumn struct {
	title string
	sort  string
	cell  func(topRow) string
}

// topColumns stand behind the name.
var topColumns = []topColumn{
	{"rate/s", "rate", func(r topRow) string { return rateText(r.rate) }},
	{"count", "count", func(r topRow) string { return strconv.FormatUint(r.Count, 10) }},
	{"errors", "errors", func(r topRow) string { return strconv.FormatUint(r.Errors, 10) }},
	{"p50", "p50", func(r topRow) string { return nanosText(r.P50) }},
	{"p90", "p90", func(r topRow) string { return nanosText(r.P90) }},
	{"p99", "p99", func(r topRow) string { return nanosText(r.P99) }},
	{"max", "max", func(r topRow) string { return nanosText(r.Max) }},
	{"self%", "self", func(r topRow) string { return fmt.Sprintf("%.1f", 100*r.window) }},
	{"effect", "effect", func(r topRow) string { return r.effectText() }},
}

// mostNeeded are the columns in the order in which they get a place in a narrow table, behind the
// one that is sorted by.
var mostNeeded = []string{"p99", "self", "rate", "effect", "count", "p50", "errors", "max", "p90"}

// leastName is how much of the names is shown before columns are left out.
const leastName = 16

// effectText is the reduction with its interval, at the speed-up that it is for.
func (r topRow) effectText() string {
	if r.effect == nil {
		return ""
	}
	e := r.effect
	return fmt.Sprintf("%+.1f%% (%.1f..%.1f) at %.0f%%", 100*e.Reduction, 100*e.Lo, 100*e.Hi, 100*e.Speedup)
}

// A topTable is what is drawn.
type topTable struct {
	rows          []topRow
	sort          string
	most          int // rows, 0 for all
	relativeError float64
}

// lines returns the head and the rows, no line wider than width; 0 is as wide as it needs.
func (t topTable) lines(width int) []string {
	rows := slices.Clone(t.rows)
	slices.SortFunc(rows, func(a, b topRow) int { return a.compare(b, t.sort) })
	if t.most > 0 && len(rows) > t.most {
		rows = rows[:t.most]
	}
	cells, widths := t.cells(rows, t.columns(rows, width))
	name := len("region")
	for _, r := range rows {
		name = max(name, utf8.RuneCountInString(printable(r.Name)))
	}
	if width > 0 {
		name = max(1, min(name, width-total(widths)))
	}
	out := make([]string, 0, len(rows)+1)
	for i, line := range cells {
		label := "region"
		if i > 0 {
			label = rows[i-1].Name
		}
		var b strings.Builder
		b.WriteString(fit(printable(label), name))
		for k, cell := range line {
			b.WriteString(strings.Repeat(" ", widths[k]-utf8.RuneCountInString(cell)))
			b.WriteString(cell)
		}
		text := b.String()
		if width > 0 {
			text = cut(text, width)
		}
		out = append(out, text)
	}
	return out
}

// columns returns those that there is room for, in their order. Without a causal profile there are
// no effects.
func (t topTable) columns(rows []topRow, width int) []topColumn {
	effects := slices.ContainsFunc(rows, func(r topRow) bool { return r.effect != nil })
	_, widths := t.cells(rows, topColumns)
	room := width - leastName
	kept := map[string]bool{}
	for _, sort := range append([]string{t.sort}, mostNeeded...) {
		i := slices.IndexFunc(topColumns, func(c topColumn) bool { return c.sort == sort })
		if i < 0 || kept[sort] || width > 0 && widths[i] > room || sort == "effect" && !effects {
			continue
		}
		kept[sort] = true
		room -= widths[i]
	}
	return slices.DeleteFunc(slices.Clone(topColumns), func(c topColumn) bool { return !kept[c.sort] })
}

// cells returns the head and the rows, and the columns' widths with two blanks before them.
func (t topTable) cells(rows []topRow, columns []topColumn) (cells [][]string, widths []int) {
	cells, widths = make([][]string, len(rows)+1), make([]int, len(columns))
	for k, c := range columns {
		title := c.title
		if c.sort == t.sort {
			title += "▾"
		}
		cells[0] = append(cells[0], title)
		for i, r := range rows {
			cells[i+1] = append(cells[i+1], c.cell(r))
		}
		for i := range cells {
			widths[k] = max(widths[k], utf8.RuneCountInString(cells[i][k])+2)
		}
	}
	return cells, widths
}

func total(widths []int) (sum int) {
	for _, w := range widths {
		sum += w
	}
	return sum
}

// fit makes a text exactly as wide as asked for.
func fit(s string, width int) string {
	s = cut(s, width)
	return s + strings.Repeat(" ", width-utf8.RuneCountInString(s))
}

func cut(s string, width int) string {
	runes := []rune(s)
	if len(runes) <= width {
		return s
	}
	return string(runes[:width-1]) + "…"
}

// printable keeps names from commanding the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '·'
		}
		return r
	}, s)
}

func rateText(r float64) string {
	switch {
	case r < 0:
		return "-"
	case r >= 100 || r == math.Trunc(r):
		return fmt.Sprintf("%.0f", r)
	default:
		return fmt.Sprintf("%.1f", r)
	}
}

// nanosText has three digits that count.
func nanosText(ns uint64) string {
	for _, u := range []struct {
		least float64
		name  string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
		if v := float64(ns) / u.least; v >= 1 {
			return strconv.FormatFloat(v, 'f', max(0, 2-int(math.Log10(v))), 64) + u.name
		}
	}
	return strconv.FormatUint(ns, 10) + "ns"
}

// topWidth is that of the terminal, or what COLUMNS says, or else the default.
func topWidth(out io.Writer, byDefault int) int {
	if f, ok := out.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	return byDefault
}

// A topScreen is what the user sees and has chosen.
type topScreen struct {
	url      string
	interval time.Duration
	sort     string
	rows     int // 0 for as many as fit
	colour   bool
	held     bool

	last  topPoll
	table []topRow
	err   error
	lost  time.Time
}

// take takes a poll. After one that failed, what was there before stays.
func (s *topScreen) take(p topPoll) {
	switch {
	case p.err != nil:
		if s.err == nil {
			s.lost = time.Now()
		}
		s.err = p.err
	case s.held:
		s.err = nil
	default:
		s.table, s.last, s.err = p.since(s.last), p, nil
	}
}

// press reports whether a key ends the program. In raw mode Ctrl-C is one of them.
func (s *topScreen) press(key byte) (done bool) {
	step := func(by int) {
		i := slices.Index(topSorts, s.sort)
		s.sort = topSorts[(i+by+len(topSorts))%len(topSorts)]
	}
	switch key {
	case 'q', 'Q', 3, 4:
		return true
	case 's':
		step(1)
	case 'r':
		step(-1)
	case ' ':
		s.held = !s.held
	}
	return false
}

// draw returns one frame.
func (s *topScreen) draw(width, height int) string {
	state, style := fmt.Sprintf("every %v", s.interval), bold
	if s.held {
		state = "held, space goes on"
	}
	switch {
	case s.err != nil && s.last.at.IsZero():
		state, style = fmt.Sprintf("no connection: %v; trying again", s.err), red
	case s.err != nil:
		state, style = fmt.Sprintf("connection lost %v ago: %v; trying again", time.Since(s.lost).Round(time.Second), s.err), red
	}
	width = max(1, width-1) // behind the last column clearLine would take what stands in it
	head := fmt.Sprintf("%s  %d regions  %s", s.url, len(s.table), state)
	var b strings.Builder
	b.WriteString(homeCursor)
	line := func(text, style string) {
		text = cut(printable(text), width)
		if s.colour && style != "" {
			text = style + text + plain
		}
		b.WriteString(text + clearLine)
	}
	line(head, style)
	if height > 2 {
		most := height - 3 // the two lines above the rows, and the one below
		if s.rows > 0 {
			most = min(most, s.rows)
		}
		t := topTable{rows: s.table, sort: s.sort, most: max(1, most)}
		for i, text := range t.lines(width) {
			b.WriteString("\r\n")
			style := ""
			if i == 0 {
				style = bold
			}
			line(text, style)
		}
	}
	b.WriteString(clearBelow)
	if height > 3 {
		fmt.Fprintf(&b, "\x1b[%d;1H", height)
		line(fmt.Sprintf("q quits, s and r sort, space holds; percentiles within %.1g %%", 100*s.last.RelativeError), "")
	}
	return b.String()
}
