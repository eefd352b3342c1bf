package causal

import (
	"math"

	"github.com/aclements/go-moremath/stats"
)

// A step is one arm of a series of experiments and what came out for one progress point and
// metric: the effective period, (elapsed - growth)/visits, or a quantile of the effective
// latency; in any unit, 0 if nothing did or if the arm was thrown away.
type step struct {
	arm
	value float64
}

const (
	// beside is how many steps away a baseline may be from the arm that it is compared with.
	beside = 2
	// baselineDrift is by how much the baselines before and after an arm may differ, as a
	// logarithm: 3 %. Where a baseline varies more than that as a rule, it is outlierMADs of
	// the usual differences.
	baselineDrift = 0.03
)

// pairs compares each arm that has a delay with the baselines next to it, and returns the
// reductions by arm, in the order of time. An arm is left out if the baselines before and
// after it differ too much: something else has happened meanwhile. Rejected are its indices. The steps
// must be in the order of time, and all of them, so that no others become neighbours.
//
// The logarithms of periods are compared, and the baseline is read off the line between the
// two: a factor that everything takes longer by cancels, and so does one that grows steadily.
func pairs(steps []step) (reductions map[arm][]float64, rejected []int) {
	reductions = map[arm][]float64{}
	limit := driftLimit(steps)
	for i, s := range steps {
		if s.speedup == 0 || s.value <= 0 {
			continue
		}
		before, back := baseline(steps, i, -1)
		after, ahead := baseline(steps, i, +1)
		var expected float64
		switch {
		case back > 0 && ahead > 0:
			if math.Abs(after-before) > limit {
				rejected = append(rejected, i)
				continue
			}
			expected = (before*float64(ahead) + after*float64(back)) / float64(back+ahead)
		case back > 0:
			expected = before
		case ahead > 0:
			expected = after
		default:
			continue
		}
		reductions[s.arm] = append(reductions[s.arm], 1-math.Exp(math.Log(s.value)-expected))
	}
	return reductions, rejected
}

// baseline returns the logarithm of the next baseline in a direction and how far away it is,
// 0 if there is none.
func baseline(steps []step, from, direction int) (value float64, distance int) {
	for d := 1; d <= beside; d++ {
		i := from + d*direction
		if i < 0 || i >= len(steps) {
			break
		}
		if steps[i].speedup == 0 && steps[i].value > 0 {
			return math.Log(steps[i].value), d
		}
	}
	return 0, 0
}

// baselines returns the logarithms of all baselines.
func baselines(steps []step) (values []float64) {
	for _, s := range steps {
		if s.speedup == 0 && s.value > 0 {
			values = append(values, math.Log(s.value))
		}
	}
	return values
}

func driftLimit(steps []step) float64 {
	values := baselines(steps)
	var differences []float64
	for i := 1; i < len(values); i++ {
		differences = append(differences, math.Abs(values[i]-values[i-1]))
	}
	if len(differences) == 0 {
		return baselineDrift
	}
	// A normal distribution's MAD is that part of its standard deviation.
	sigma := median(differences) / stats.InvCDF(stats.StdNormal)(0.75)
	return max(baselineDrift, outlierMADs*sigma)
}

// nulls compares baselines with each other, which must come out as no effect. Which of the two
// is taken for the experiment changes from pair to pair, so that a drift cancels.
func nulls(steps []step) (reductions []float64) {
	values := baselines(steps)
	for i := 0; i+1 < len(values); i += 2 {
		d := values[i+1] - values[i]
		if i%4 == 2 {
			d = -d
		}
		reductions = append(reductions, 1-math.Exp(d))
	}
	return reductions
}
