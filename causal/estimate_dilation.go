package causal

import (
	"fmt"
	"slices"
)

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

// periodsOf sorts the experiments of one progress point by iteration. Those that were thrown away
// are left out, and those without a visit, which have no period.
func periodsOf(experiments []experiment, point int) map[int]*periods {
	byIteration := map[int]*periods{}
	for _, e := range experiments {
		period := e.passages[point].period()
		if period == 0 || e.spoiled != "" {
			continue
		}
		p := byIteration[e.iteration]
		if p == nil {
			p = &periods{all: map[float64]float64{}, spared: map[spareKey]float64{}}
			byIteration[e.iteration] = p
		}
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

// leastCoverages is the number of values below which nothing is said of what spans cover, of
// which each iteration gives several.
const leastCoverages = 3

// coverageNote warns where the picture is not enlarged as a whole.
func coverageNote(progress string, coverages []float64) string {
	if len(coverages) < leastCoverages {
		return ""
	}
	switch c := median(coverages); {
	case c < 0.8:
		return fmt.Sprintf("%s: spans cover about %.0f%% of the period; what no span covers is taken as it is", progress, 100*max(0, c))
	case c > 1.2:
		return fmt.Sprintf("%s: stretching all spans by x makes the period %.1f x longer: some spans wait for others, and are stretched with them; wrap such waits in causal.Blocked", progress, c)
	}
	return ""
}
