package profile

import (
	"math"
	"slices"

	"github.com/otelprof/otelprof/internal/stats"
)

// A Candidate is a region that an experiment is worth most for.
type Candidate struct {
	Region Region
	// Elasticity is that of the progress point to the region at most, by recordings: 0.3 is 3 % for
	// 10 %.
	Elasticity float64
}

// Candidates are the regions that seem to bring something and that no slow-down has confirmed, the
// best first, at most n; of the progress point that [Profile.WriteAnswer] takes, which is returned
// as well, with the metric that counts there.
func (p Profile) Candidates(progress string, n int) (point string, metric Metric, all []Candidate, err error) {
	a, err := p.answerAt(progress)
	if err != nil {
		return "", "", nil, err
	}
	for _, c := range a.regions {
		e, _ := c.likely()
		if c.Mode != ModeReplay || c.evidence() == EvidenceConfirmed || e.Hi < noEffect || e.Reduction <= 0 || len(all) == n {
			continue
		}
		first := c.measured()[0]
		all = append(all, Candidate{Region: c.Region, Elasticity: min(1, max(0, first.Hi/first.Speedup))})
	}
	return a.progress, a.metric, all, nil
}

// likely returns the effect to compare regions by: at 25 %, or else at the largest speed-up of at
// most a half, or at the smallest.
func (c Curve) likely() (best Effect, ok bool) {
	for i, e := range c.measured() {
		if e.Speedup == likelySpeedup {
			return e, true
		}
		if i == 0 || e.Speedup <= 0.5 {
			best, ok = e, true
		}
	}
	return best, ok
}

// first returns the effect to rank regions by: of slow-downs and recordings near, where a slope is
// an answer and no bound, else the likely one.
func (c Curve) first() (best Effect, ok bool) {
	if c.Mode == ModeSlowdown || c.Mode == ModeReplay {
		for _, e := range c.measured() {
			if e.Speedup <= Near {
				best, ok = e, true
			}
		}
	}
	if !ok {
		return c.likely()
	}
	return best, ok
}

// leadsAlone reports whether a curve surely brings more than each of the others, and more than
// nothing, as far as they were measured or simulated at the same time, and than a slow-down of
// theirs bounds. How much it is may be open: what the model is wrong by is the same for all.
func (c Curve) leadsAlone(others []Curve) bool {
	best, known := c.first()
	if !known || best.Reduction <= 0 || !ahead(best.Reductions, nil) {
		return false
	}
	for _, other := range others {
		next, ok := other.first()
		if ok && (len(next.Reductions) == 0 || !ahead(best.Reductions, next.Reductions) || other.Mode == ModeSlowdown && next.Bounded && next.Hi > best.Reduction) {
			return false
		}
	}
	return true
}

const (
	// leastAhead is how many samples a rank takes.
	leastAhead = 3
	// apartBy is how many standard errors two means are apart beyond chance, by Student's t of ten
	// samples.
	apartBy = 2.2
)

// ahead reports whether samples are surely above those of another region, of the same windows, or
// above zero.
func ahead(samples, others []float64) bool {
	samples = slices.Clone(samples)
	if len(samples) < leastAhead {
		return false
	}
	if others != nil && len(others) != len(samples) { // of other windows
		if min(len(samples), len(others)) < stats.LeastSamples {
			return false
		}
		a, b := stats.Summarize(samples), stats.Summarize(others)
		return a.Mean-max(0, b.Mean) > apartBy*math.Hypot(a.StdErr, b.StdErr)
	}
	for i, x := range others {
		samples[i] -= max(0, x)
	}
	return stats.Summarize(samples).Mean > 0 && stats.PValue(samples) < 1-stats.Confidence
}
