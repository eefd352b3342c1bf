package profile

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/otelprof/otelprof/internal/naming"
)

// cozVisits is the number of visits given to each experiment in a Coz profile, whose reader
// divides durations by it.
const cozVisits = 1000

// WriteCoz writes the profile in the format of Coz's profile.coz, which the Coz viewer opens.
// It pools durations and visits of each region, progress point and speed-up; so each effect
// becomes one experiment of a fixed number of visits with the duration that the effect
// predicts, beside one at speed-up 0. Withheld effects are left out, and so are latencies, of
// which that format knows the mean only. It knows no modes either: of several answers to
// one question the first is written, an experiment rather than a recording.
func (p Profile) WriteCoz(w io.Writer) error {
	out := &strings.Builder{}
	_, _ = fmt.Fprintf(out, "startup\ttime=%d\n", p.Started.UnixNano())
	var runtime float64
	samples := map[Region]int{}
	var regions []Region
	for _, c := range p.answers() {
		experiment := func(speedup, reduction float64, n int) {
			duration := float64(c.BasePeriod) * (1 - reduction) * cozVisits
			runtime += duration
			if _, known := samples[c.Region]; !known {
				regions = append(regions, c.Region)
			}
			samples[c.Region] += n
			_, _ = fmt.Fprintf(out, "experiment\tselected=%s\tspeedup=%g\tduration=%.0f\tselected-samples=%d\n", naming.OneLine(c.Region.Name), speedup, duration, n)
			_, _ = fmt.Fprintf(out, "throughput-point\tname=%s\tdelta=%d\n", naming.OneLine(c.Progress), cozVisits)
		}
		experiment(0, 0, p.Iterations)
		for _, e := range c.measured() {
			experiment(e.Speedup, e.Reduction, e.Samples)
		}
	}
	_, _ = fmt.Fprintf(out, "runtime\ttime=%.0f\n", runtime)
	for _, r := range regions {
		_, _ = fmt.Fprintf(out, "samples\tlocation=%s\tcount=%d\n", naming.OneLine(r.Name), samples[r])
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// answers returns one curve of throughput for each region and progress point: the first that
// has a number, or the first of all.
func (p Profile) answers() (curves []Curve) {
	of := slices.DeleteFunc(slices.Clone(p.Curves), func(c Curve) bool { return !c.ofThroughput() })
	for _, same := range grouped(of, Curve.question) {
		curves = append(curves, same[max(0, slices.IndexFunc(same, Curve.answered))])
	}
	return curves
}
