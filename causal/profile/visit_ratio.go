package profile

import (
	"math"
	"slices"
)

// The visit ratio of a region is how many of its spans there are for each visit of a progress
// point. Theorems on slow-downs, and simulations of recordings, take for granted that it depends on
// no durations (operational analysis calls that routing homogeneity). Where the least loaded of
// several workers is asked, work goes elsewhere, or what was not done in time is done again, it
// does: the same experiments show by how much.

// leastRerouted is by which part of itself a visit ratio has to answer to a delay to be no error of
// windows' edges.
const leastRerouted = 0.05

// visitRatio is that of slopes together, weighted by how sure they are, with its standard error.
func visitRatio(slopes []Slope) (by, stdErr float64) {
	const tiny = 1e-30 // below it is rounding
	var sum, weights float64
	for _, s := range slopes {
		if s.VisitRatioErr > 0 {
			w := 1 / max(s.VisitRatioErr*s.VisitRatioErr, tiny)
			sum, weights = sum+w*s.VisitRatio, weights+w
		}
	}
	if weights == 0 {
		return 0, 0
	}
	return sum / weights, 1 / math.Sqrt(weights)
}

// reroutable reports whether work goes another way where the region is slower, by more than chance.
func (c Curve) reroutable() bool {
	by, stdErr := visitRatio(c.Slopes)
	return math.Abs(by) >= max(leastRerouted, sure*stdErr)
}

// avoided is by which part there are fewer of the region's spans for each visit, for each part by
// which it is slower, at most; 0 if that may be chance.
func (c Curve) avoided() float64 {
	by, stdErr := visitRatio(c.Slopes)
	if by >= 0 || !c.reroutable() {
		return 0
	}
	return -by + 2*stdErr
}

// avoidedMuch reports whether work avoids the region so that it matters, not only because the
// region does something aside.
func (c Curve) avoidedMuch() bool {
	const much = 0.05 // of the period, where a region is slower by all of its time
	avoided := c.avoided()
	return avoided > 0 && slices.ContainsFunc(c.Slopes, func(s Slope) bool { return s.known() && avoided*s.Elasticity > much })
}

// reroutes reports whether spans of a region have another part in the work of a simulation than in
// the program, once they are slower, by so much that it matters at 50 % faster: the program decides
// by its state which way work takes, and the simulation of any region lets it take the recorded
// one. The throughput shows it: simulations have visit ratios of that alone.
func (c Curve) reroutes(by Curve) bool {
	const half = 0.5
	if c.metric() != MetricThroughput {
		return false
	}
	for _, simulated := range c.Slopes {
		for _, measured := range by.Slopes {
			if measured.Level != simulated.Level || !measured.known() || measured.VisitRatioErr == 0 {
				continue
			}
			apart := math.Abs(measured.VisitRatio-simulated.VisitRatio) - sure*math.Hypot(measured.VisitRatioErr, simulated.VisitRatioErr)
			if apart*clamp(measured.Elasticity, 0, 1)*half*half > agreeWithin {
				return true
			}
		}
	}
	return false
}
