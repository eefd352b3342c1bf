package top

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A topColumn is one column of the table, as wide as its widest cell.
type topColumn struct {
	title string
	sort  string // what it is called by -sort
	cell  func(topRow) string
	// order compares by the column, the largest first.
	order func(r, o topRow) int
	// known reports whether a row has a figure, nil for all: a column that is empty is left out.
	known func(topRow) bool
}

// topColumns stand behind the name.
var topColumns = []topColumn{
	{title: "rate/s", sort: "rate", cell: func(r topRow) string { return rateText(r.rate) }, order: largest(func(r topRow) float64 { return r.rate })},
	{title: "count", sort: "count", cell: func(r topRow) string { return strconv.FormatUint(r.Count, 10) }, order: largest(func(r topRow) uint64 { return r.Count })},
	{title: "errors", sort: "errors", cell: func(r topRow) string { return strconv.FormatUint(r.Errors, 10) }, order: largest(func(r topRow) uint64 { return r.Errors })},
	durationColumn("p50", func(r topRow) uint64 { return r.P50 }),
	durationColumn("p90", func(r topRow) uint64 { return r.P90 }),
	durationColumn("p99", func(r topRow) uint64 { return r.P99 }),
	durationColumn("max", func(r topRow) uint64 { return r.Max }),
	{title: "self%", sort: "self", cell: func(r topRow) string { return fmt.Sprintf("%.1f", 100*r.window) }, order: func(r, o topRow) int {
		return cmp.Or(cmp.Compare(o.window, r.window), cmp.Compare(o.Self, r.Self))
	}},
	{title: "ipc", sort: "ipc", cell: topRow.ipcText, order: largest(topRow.ipc), known: func(r topRow) bool { return r.Pmu.IPC != nil }},
	{title: "effect", sort: "effect", cell: topRow.effectText, order: largest(topRow.reduction), known: func(r topRow) bool { return r.effect != nil }},
}

// mostNeeded are the columns in the order in which they get a place in a narrow table, behind the
// one that is sorted by.
var mostNeeded = []string{"p99", "self", "rate", "effect", "ipc", "count", "p50", "errors", "max", "p90"}

// topSorts are what rows can be sorted by, in the order of the keys: the columns, and names.
var topSorts = []string{"self", "p99", "p90", "p50", "max", "count", "rate", "errors", "effect", "ipc", "name"}

// largest orders rows by a figure, the largest first.
func largest[T cmp.Ordered](of func(topRow) T) func(r, o topRow) int {
	return func(r, o topRow) int { return cmp.Compare(of(o), of(r)) }
}

// durationColumn shows nanoseconds.
func durationColumn(title string, of func(topRow) uint64) topColumn {
	return topColumn{title: title, sort: title, cell: func(r topRow) string { return r.nanos(of(r)) }, order: largest(of)}
}

// compare orders rows by a column, and equal ones by name.
func (r topRow) compare(o topRow, column string) int {
	order := 0
	if i := slices.IndexFunc(topColumns, func(c topColumn) bool { return c.sort == column }); i >= 0 {
		order = topColumns[i].order(r, o)
	}
	return cmp.Or(order, strings.Compare(r.Name, o.Name), strings.Compare(r.Scope, o.Scope))
}

// effectText is the reduction with its interval, or the bounds that it is between, at the speed-up
// that it is for.
func (r topRow) effectText() string {
	if r.effect == nil {
		return ""
	}
	e := r.effect
	if e.Bounded {
		return fmt.Sprintf("%.1f to %.1f%% at %.0f%%", 100*e.Lo, 100*e.Hi, 100*e.Speedup)
	}
	return fmt.Sprintf("%+.1f%% (%.1f..%.1f) at %.0f%%", 100*e.Reduction, 100*e.Lo, 100*e.Hi, 100*e.Speedup)
}

// nanos is a duration, where there has been any, and the viewer has its distribution.
func (r topRow) nanos(ns uint64) string {
	if r.Count == 0 || ns == 0 {
		return "-"
	}
	return nanosText(ns)
}

// reduction of a region without a number is below all others.
func (r topRow) reduction() float64 {
	if r.effect == nil {
		return -1e9
	}
	return r.effect.Reduction
}

func (r topRow) ipcText() string {
	if r.Pmu.IPC == nil {
		return ""
	}
	return fmt.Sprintf("%.2f", *r.Pmu.IPC)
}

// ipc of a region without a number is below all others.
func (r topRow) ipc() float64 {
	if r.Pmu.IPC == nil {
		return -1
	}
	return *r.Pmu.IPC
}
