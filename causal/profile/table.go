package profile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/otelprof/otelprof/internal/naming"
)

// WriteJSON writes the profile as one JSON object, which [Read] reads.
func (p Profile) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(p)
}

// tableColumns is how many speed-ups a table has room for.
const tableColumns = 4

// WriteTable writes the profile as text: for each progress point and metric the regions, ranked,
// one line for each mode. A percentage has its standard error behind ±, in percentage points, and
// its 95 % interval in parentheses; "!" marks a curve that another mode disagrees with.
func (p Profile) WriteTable(w io.Writer) error {
	out := &strings.Builder{}
	_, _ = fmt.Fprintln(out, "causal profile:", p.title())
	if len(p.Curves) > 0 {
		_, _ = fmt.Fprintln(out, "cells: percent ±standard error, in percentage points (95 % interval)")
	}
	for _, curves := range p.sections() {
		p.section(out, curves)
	}
	for _, note := range p.allNotes() {
		_, _ = fmt.Fprintln(out, "note:", naming.OneLine(note))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// sections returns the curves by progress point and metric, in their order.
func (p Profile) sections() [][]Curve {
	return grouped(p.Curves, func(c Curve) question { return question{progress: c.Progress, metric: c.Metric} })
}

func (p *Profile) section(out *strings.Builder, curves []Curve) {
	first := curves[0]
	what := "the time for each"
	if !first.ofThroughput() {
		what = string(first.Metric) + " of"
	}
	_, _ = fmt.Fprintf(out, "\nby how many %% %s %s%s shrinks if a span is faster by\n", what, naming.OneLine(first.Progress), now(first))
	writeRows(out, "  span\tmode\t", "slope\tn\tverdict", curves, func(c Curve) (before, after string) {
		return fmt.Sprintf("%s\t%s", naming.OneLine(c.Region.Name), c.Mode), fmt.Sprintf("%.2f\t%d\t%s", c.Slope, c.samples(), naming.OneLine(c.sentence(p.narrower())))
	})
	for _, c := range curves {
		if worth := c.worth(what + " " + naming.OneLine(c.Progress)); worth != "" && !c.ofItself() {
			_, _ = fmt.Fprintln(out, worth)
		}
	}
}

// writeRows writes a line for each curve, with a cell for each of [columnsOf] them, and of gives
// what stands before the cells and after. First and last are the same of the table's head.
func writeRows(out *strings.Builder, first, last string, curves []Curve, of func(Curve) (before, after string)) {
	columns := columnsOf(curves)
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprint(t, first)
	for _, s := range columns {
		_, _ = fmt.Fprintf(t, "%.3g %%\t", 100*s)
	}
	_, _ = fmt.Fprintln(t, last)
	for _, c := range curves {
		sign := " "
		if len(c.Disagrees) > 0 {
			sign = "!"
		}
		before, after := of(c)
		_, _ = fmt.Fprintf(t, "%s %s\t", sign, before)
		for _, s := range columns {
			_, _ = fmt.Fprintf(t, "%s\t", c.cell(s))
		}
		_, _ = fmt.Fprintln(t, after)
	}
	_ = t.Flush() // a Builder takes everything
}

// threeDigits rounds a duration.
func threeDigits(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d >= 1000*unit {
		unit *= 10
	}
	return d.Round(unit)
}

// cell writes the effect at a speed-up with its standard error, if there is one.
func (c Curve) cell(speedup float64) string {
	if e, known := c.at(speedup); known {
		return e.withError()
	}
	return "-"
}

// withError writes the reduction in percent with its standard error, if that is known, and its
// bounds.
func (e Effect) withError() string {
	if e.StdErr <= 0 {
		return e.interval()
	}
	return fmt.Sprintf("%.1f ±%.1f (%.1f .. %.1f)", 100*e.Reduction, 100*e.StdErr, 100*e.Lo, 100*e.Hi)
}

// columnsOf returns the speed-ups of which there is room for in a table: all, or 10, 25 and 50 %
// as far as they were measured, or else some of them.
func columnsOf(curves []Curve) []float64 {
	var all []float64
	for _, c := range curves {
		for _, e := range c.Effects {
			all = append(all, e.Speedup)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) <= tableColumns {
		return all
	}
	var usual []float64
	for _, s := range []float64{0.1, 0.25, 0.5} {
		if slices.Contains(all, s) {
			usual = append(usual, s)
		}
	}
	if len(usual) > 0 {
		return usual
	}
	return []float64{all[0], all[len(all)/2], all[len(all)-1]}
}

// remarks are the profile's notes, and what it is: of nothing, or of several.
func (p Profile) remarks() []string {
	notes := slices.Clone(p.Notes)
	if p.PlanID == "" && p.Experiments == 0 && len(p.Curves) == 0 {
		notes = append(notes, "under load recordings answer within a minute, without a plan")
	}
	if p.Merged > 0 {
		notes = append(notes, "merged from "+naming.Count(p.Merged, "profile"))
	}
	return notes
}

// allNotes are the profile's remarks and, once each, why modes disagree and why numbers are
// withheld or doubtful.
func (p Profile) allNotes() []string {
	notes := p.remarks()
	seen := map[string]bool{}
	add := func(note string) {
		if note != "" && !seen[note] {
			seen[note] = true
			notes = append(notes, note)
		}
	}
	if p.Handover == HandoverRuntime {
		add("runtime mode: Go's scheduler saw who waited for whom, and inserted the delays")
	}
	for _, c := range p.Curves {
		if len(c.Disagrees) > 0 {
			for _, note := range p.disagreement(c) {
				add(note)
			}
		}
		for _, e := range c.Effects {
			add(e.Withheld.String())
			for _, warning := range e.Warnings {
				add(warning)
			}
		}
	}
	return notes
}

// title returns where the numbers come from.
func (p Profile) title() string {
	if p.PlanID == "" && p.Experiments == 0 {
		if len(p.Curves) == 0 {
			return "nothing was measured"
		}
		return "recordings, simulated; nothing is delayed"
	}
	return fmt.Sprintf("plan %s, %s, %s (%d rejected), %v of delay inserted",
		cmp.Or(naming.OneLine(p.PlanID), "unnamed"), naming.Count(p.Iterations, "iteration"), naming.Count(p.Experiments, "experiment"),
		p.Rejected, p.Delay.Round(time.Millisecond))
}
