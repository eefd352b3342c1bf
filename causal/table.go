package causal

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// WriteJSON writes the profile as one JSON object.
func (p Profile) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(p)
}

// WriteTable writes the profile as text, one line for each region, progress point and
// speed-up. Percentages have 95 % intervals; outliers are those set aside, of so many
// iterations.
func (p Profile) WriteTable(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "causal profile: plan %s, %d iterations, %d experiments (%d rejected), %v of delay inserted\n",
		orNone(p.PlanID), p.Iterations, p.Experiments, p.Rejected, p.Delay.Round(time.Millisecond)); err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.AlignRight)
	if len(p.Curves) > 0 {
		_, _ = fmt.Fprintln(t, "if this span\twere faster by\tperiod shrinks\t± std err\t95 % interval\tthroughput\tn\toutliers\tof progress point\t")
	}
	for _, c := range p.Curves {
		for _, e := range c.Effects {
			if e.Withheld != "" {
				_, _ = fmt.Fprintf(t, "%s\t%.4g%%\t-\t-\t-\t-\t%d\t-\t%s\t\n", oneLine(c.Region.Span), 100*e.Speedup, e.Samples, oneLine(c.Progress))
				continue
			}
			_, _ = fmt.Fprintf(t, "%s\t%.4g%%\t%.1f%%\t%.1f\t%.1f .. %.1f\t%+.1f%%\t%d\t%d\t%s\t\n",
				oneLine(c.Region.Span), 100*e.Speedup, 100*e.Reduction, 100*e.StdErr, 100*e.Lo, 100*e.Hi, 100*e.ThroughputGain, e.Samples, e.Outliers, oneLine(c.Progress))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, note := range p.allNotes() {
		if _, err := fmt.Fprintln(w, "note:", note); err != nil {
			return err
		}
	}
	return nil
}

// allNotes are the profile's notes and, once each, why numbers are withheld or doubtful.
func (p Profile) allNotes() []string {
	notes := append([]string{}, p.Notes...)
	seen := map[string]bool{}
	add := func(note string) {
		if note != "" && !seen[note] {
			seen[note] = true
			notes = append(notes, note)
		}
	}
	for _, c := range p.Curves {
		for _, e := range c.Effects {
			add(e.Withheld)
			for _, warning := range e.Warnings {
				add(warning)
			}
		}
	}
	return notes
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
