package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/spans"
)

// goal is what should happen more often.
const goal = "POST /orders"

// report writes what the run has shown: the load, a line for each region, and what would help most.
func report(w io.Writer, l *load, regions []spans.RegionStats, p profile.Profile) error {
	elapsed := time.Since(l.started)
	fmt.Fprintf(w, "\n%d orders in %v (%.0f/s), %d refused for lack of stock, %d reads\n\n",
		l.Orders.Load(), elapsed.Round(time.Second), float64(l.Orders.Load())/elapsed.Seconds(),
		l.OutOfStock.Load(), l.Reads.Load())
	if err := writeRegions(w, regions); err != nil {
		return err
	}
	fmt.Fprintln(w)
	progress := goal
	if !slices.ContainsFunc(p.Curves, func(c profile.Curve) bool { return c.Progress == goal }) {
		progress = "" // it was too short for that
	}
	return p.WriteAnswer(w, progress)
}

// writeRegions writes the regions, those with most self time first.
func writeRegions(w io.Writer, regions []spans.RegionStats) error {
	regions = slices.Clone(regions)
	slices.SortFunc(regions, func(a, b spans.RegionStats) int {
		return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(a.Name, b.Name))
	})
	var self time.Duration
	for _, r := range regions {
		self += r.Self
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "region\tcount\terrors\tp50\tp90\tp99\tp99.9\tmax\tself\t")
	for _, r := range regions {
		d := r.Durations
		fmt.Fprintf(table, "%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%.1f%%\t\n", r.Name, r.Count, r.Errors,
			short(d.Percentile(50)), short(d.Percentile(90)), short(d.Percentile(99)), short(d.Percentile(99.9)),
			short(d.Max()), 100*float64(r.Self)/float64(max(self, 1)))
	}
	return table.Flush()
}

// short writes nanoseconds with three digits, "1.23ms".
func short(ns uint64) string {
	d := time.Duration(ns)
	for unit := time.Duration(1); ; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit).String()
		}
	}
}
