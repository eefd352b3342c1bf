package top

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// leastName is how much of the names is shown before columns are left out.
const leastName = 16

// A topTable is what is drawn.
type topTable struct {
	rows   []topRow
	sort   string
	filter string // part of the names that are shown, in any case
	most   int    // rows, 0 for all
}

// shown are the rows that pass the filter.
func (t topTable) shown() []topRow {
	wanted := strings.ToLower(t.filter)
	return slices.DeleteFunc(slices.Clone(t.rows), func(r topRow) bool {
		return !strings.Contains(strings.ToLower(r.Name+"\n"+r.Scope), wanted)
	})
}

// sorted are the rows that are drawn, in their order.
func (t topTable) sorted() []topRow {
	rows := t.shown()
	slices.SortFunc(rows, func(a, b topRow) int { return a.compare(b, t.sort) })
	if t.most > 0 && len(rows) > t.most {
		rows = rows[:t.most]
	}
	return rows
}

// lines returns the head and the rows, no line wider than width; 0 is as wide as it needs.
func (t topTable) lines(width int) []string {
	rows := t.sorted()
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

// columns returns the columns that have a figure in some row and for which there is room. Without a
// causal profile there are no effects, and without a PMU no instructions.
func (t topTable) columns(rows []topRow, width int) []topColumn {
	_, widths := t.cells(rows, topColumns)
	room := width - leastName
	kept := map[string]bool{}
	for _, sort := range append([]string{t.sort}, mostNeeded...) {
		i := slices.IndexFunc(topColumns, func(c topColumn) bool { return c.sort == sort })
		if i < 0 || kept[sort] || width > 0 && widths[i] > room {
			continue
		}
		if known := topColumns[i].known; known != nil && !slices.ContainsFunc(rows, known) {
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

// topWidth is the width of the terminal, or COLUMNS, or else the default.
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
