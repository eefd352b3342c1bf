package causal

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// cozVisits is the number of visits given to each experiment in a Coz profile, whose reader
// divides durations by it.
const cozVisits = 1000

// WriteCoz writes the profile in the format of Coz's profile.coz, which the Coz viewer opens.
// It pools durations and visits of each region, progress point and speed-up; so each effect
// becomes one experiment of a fixed number of visits with the duration that the effect
// predicts, beside one at speed-up 0. Withheld effects are left out.
func (p Profile) WriteCoz(w io.Writer) error {
	out := &strings.Builder{}
	_, _ = fmt.Fprintf(out, "startup\ttime=%d\n", p.Started.UnixNano())
	var runtime float64
	for _, c := range p.Curves {
		experiment := func(speedup, reduction float64, samples int) {
			duration := float64(c.BasePeriod) * (1 - reduction) * cozVisits
			runtime += duration
			_, _ = fmt.Fprintf(out, "experiment\tselected=%s\tspeedup=%g\tduration=%.0f\tselected-samples=%d\n", oneLine(c.Region.Span), speedup, duration, samples)
			_, _ = fmt.Fprintf(out, "throughput-point\tname=%s\tdelta=%d\n", oneLine(c.Progress), cozVisits)
		}
		experiment(0, 0, p.Iterations)
		for _, e := range c.Effects {
			if e.Withheld == "" {
				experiment(e.Speedup, e.Reduction, e.Samples)
			}
		}
	}
	_, _ = fmt.Fprintf(out, "runtime\ttime=%.0f\n", runtime)
	_, err := io.WriteString(w, out.String())
	return err
}

// oneLine keeps names from breaking lines and columns, or from commanding a terminal.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}
