package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"
)

// shown are the rows of a table: means, and whatever has changed.
func (r report) shown() (rows []Row) {
	for _, row := range r.Rows {
		if row.Metric == "mean" || row.Verdict == slower || row.Verdict == faster {
			rows = append(rows, row)
		}
	}
	return rows
}

func (r report) title() string {
	return fmt.Sprintf("%s; %d pairs, both at once, %v each", r.What, r.Pairs, time.Duration(r.EachNs))
}

var columns = []string{"region", "metric", "base", "new", "change (interval)", "this machine's noise", "verdict"}

func (row Row) cells() []string {
	value := func(v float64) string {
		if row.Metric == "rate" {
			return fmt.Sprintf("%.3g/s", v)
		}
		return threeDigits(v)
	}
	return []string{row.Region, row.Metric, value(row.Base), value(row.New), row.change(), fmt.Sprintf("%.1f %%", 100*row.Noise), row.Verdict}
}

func (row Row) change() string {
	return fmt.Sprintf("%+.1f %% (%+.1f .. %+.1f)", 100*row.Change, 100*row.Lo, 100*row.Hi)
}

// threeDigits writes nanoseconds.
func threeDigits(ns float64) string {
	d := time.Duration(math.Round(ns))
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if d >= unit {
			return d.Round(unit / 100).String()
		}
	}
	return d.String()
}

func writeText(w io.Writer, r report) error {
	out := &strings.Builder{}
	_, _ = fmt.Fprintln(out, r.title())
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, strings.Join(columns, "\t"))
	for _, row := range r.shown() {
		_, _ = fmt.Fprintln(t, strings.Join(row.cells(), "\t"))
	}
	_ = t.Flush() // a Builder takes everything
	for _, line := range r.outcome() {
		_, _ = fmt.Fprintln(out, line)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// outcome returns what the exit status means.
func (r report) outcome() (lines []string) {
	for _, f := range r.Failed {
		lines = append(lines, fmt.Sprintf("FAIL: %s: %s", f.Rule, f.Row.change()))
	}
	for _, u := range r.Unclear {
		if u.Row.Region == "" {
			lines = append(lines, "not clear: "+u.Rule)
			continue
		}
		lines = append(lines, fmt.Sprintf("not clear: %s: %s; more -pairs make it so", u.Rule, u.Row.change()))
	}
	switch {
	case len(r.Rows) == 0:
		lines = append(lines, "not clear: no region ended in all runs")
	case len(lines) == 0:
		lines = append(lines, "ok: no condition holds")
	}
	return lines
}

func writeJSON(w io.Writer, r report) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func writeMarkdown(w io.Writer, r report) error {
	out := &strings.Builder{}
	_, _ = fmt.Fprintf(out, "%s\n\n| %s |\n|%s\n", r.title(), strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	for _, row := range r.shown() {
		cells := row.cells()
		cells[0] = "`" + strings.ReplaceAll(strings.ReplaceAll(cells[0], "|", `\|`), "`", "'") + "`"
		_, _ = fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | "))
	}
	_, _ = fmt.Fprintln(out)
	for _, line := range r.outcome() {
		_, _ = fmt.Fprintf(out, "- %s\n", line)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// writeBench writes the runs of both versions as benchmarks of package testing.
func writeBench(dir string, runs duets) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	cells := commonCells(runs)
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "base.txt"), benchmarks(runs.both, cells, first), 0o644),
		os.WriteFile(filepath.Join(dir, "new.txt"), benchmarks(runs.both, cells, second), 0o644))
}

func benchmarks(all []duet, cells []cell, of func(duet) sample) []byte {
	var out strings.Builder
	for _, c := range cells {
		if c.metric == "rate" { // benchstat takes less for better
			continue
		}
		name := strings.Map(func(r rune) rune {
			if r <= ' ' {
				return '_'
			}
			return r
		}, c.region)
		for _, d := range all {
			fmt.Fprintf(&out, "BenchmarkRegion/%s/%s 1 %.1f ns/op\n", name, c.metric, of(d)[c])
		}
	}
	return []byte(out.String())
}
