package causal

import (
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
	"golang.org/x/perf/benchmath"
)

// confidence of all intervals.
const confidence = 0.95

// leastSamples is the number of iterations below which no number is given: with fewer, the
// interval is wider than anything it could tell. leastCoverages is that for the note on what
// spans cover, of which each iteration gives several.
const (
	leastSamples   = 5
	leastCoverages = 3
)

// outlierMADs is how many median absolute deviations from the median make an outlier.
const outlierMADs = 3

// An estimate sums up repeated measurements of one quantity.
type estimate struct {
	median   float64
	stdErr   float64 // of what is not an outlier
	lo, hi   float64 // bound the median
	samples  int
	outliers int
	warnings []string
}

// summarize returns the median of values and how sure it is, after those that lie more than
// outlierMADs median absolute deviations from the median are set aside. There must be at
// least one value.
//
// From six values on the interval is that of the order statistics, which assumes nothing
// of the distribution; below, there is none of 95 %, and the normal one is given in its place.
func summarize(values []float64) estimate {
	center := median(values)
	deviations := make([]float64, len(values))
	for i, v := range values {
		deviations[i] = math.Abs(v - center)
	}
	mad := median(deviations)
	kept := slices.DeleteFunc(slices.Clone(values), func(v float64) bool {
		return math.Abs(v-center) > outlierMADs*mad
	})
	if len(kept) == 0 { // more than half are equal, and the others none of them
		kept = slices.Clone(values)
	}
	e := estimate{samples: len(values), outliers: len(values) - len(kept)}
	if len(kept) > 1 {
		e.stdErr = stats.Sample{Xs: kept}.StdDev() / math.Sqrt(float64(len(kept)))
	}
	summary := benchmath.AssumeNothing.Summary(benchmath.NewSample(kept, &benchmath.DefaultThresholds), confidence)
	e.median, e.lo, e.hi = summary.Center, summary.Lo, summary.Hi
	if math.IsInf(e.lo, 0) || math.IsInf(e.hi, 0) {
		mean, lo, hi := stats.Sample{Xs: kept}.MeanCI(confidence)
		e.lo, e.hi = e.median-(mean-lo), e.median+(hi-mean)
		e.warnings = append(e.warnings, "the interval assumes a normal distribution: fewer than 6 iterations that are no outliers")
	}
	if width := e.hi - e.lo; math.IsNaN(width) || math.IsInf(width, 0) { // of one value
		e.lo, e.hi = e.median, e.median
	}
	return e
}

func median(values []float64) float64 {
	return stats.Sample{Xs: slices.Clone(values)}.Quantile(0.5)
}

// periods are the times between visits of one progress point in one iteration.
type periods struct {
	none   []float64           // ns, of the arms without delay
	all    map[float64]float64 // by speed-up: everything stretched
	spared map[spareKey]float64
}

type spareKey struct {
	speedup float64
	region  int
}

// periodsOf sorts the experiments of one progress point by iteration. Those without a visit
// have no period and are left out.
func periodsOf(experiments []experiment, point int) map[int]*periods {
	byIteration := map[int]*periods{}
	for _, e := range experiments {
		if e.visits[point] == 0 {
			continue
		}
		p := byIteration[e.iteration]
		if p == nil {
			p = &periods{all: map[float64]float64{}, spared: map[spareKey]float64{}}
			byIteration[e.iteration] = p
		}
		period := float64(e.duration) / float64(e.visits[point])
		switch {
		case e.speedup == 0:
			p.none = append(p.none, period)
		case e.spared == sparesNone:
			p.all[e.speedup] = period
		default:
			p.spared[spareKey{e.speedup, e.spared}] = period
		}
	}
	return byIteration
}

// reductions returns, for each iteration that has all three arms, by which part the period
// would shrink if the region were faster by speedup:
//
//	(1 - speedup) * (period(all) - period(all but region)) / period(none)
//
// If spans cover the whole period, period(all) is period(none)/(1-speedup), and this is
// 1 - period(all but region)/period(all), which is exact for every dependency on the region,
// linear or not. Time that no span covers is not stretched: it cancels in the difference, and
// the division by the true period keeps its share.
func reductions(byIteration map[int]*periods, region int, speedup float64) []float64 {
	var values []float64
	for _, p := range inOrder(byIteration) {
		all, ok := p.all[speedup]
		spared, too := p.spared[spareKey{speedup, region}]
		if ok && too && len(p.none) > 0 {
			values = append(values, (1-speedup)*(all-spared)/median(p.none))
		}
	}
	return values
}

// coverages returns which part of the period the spans cover, as seen from how much longer
// it becomes when they are all stretched.
func coverages(byIteration map[int]*periods) []float64 {
	var values []float64
	for _, p := range inOrder(byIteration) {
		if len(p.none) == 0 {
			continue
		}
		for speedup, all := range p.all {
			factor := arm{speedup: speedup}.factor()
			values = append(values, (all/median(p.none)-1)/factor)
		}
	}
	return values
}

func inOrder(byIteration map[int]*periods) []*periods {
	keys := make([]int, 0, len(byIteration))
	for k := range byIteration {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	ordered := make([]*periods, len(keys))
	for i, k := range keys {
		ordered[i] = byIteration[k]
	}
	return ordered
}
