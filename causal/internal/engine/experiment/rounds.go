package experiment

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/otelprof/otelprof/causal/internal/design"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/stats"
)

// OverlapArms returns the arms of one round over all cells that need more: of each region a
// block in random order, with baselines in between such that each arm has one beside it; so
// they are a third at least, even if zeroWeight is less. Speedups are the grid, zeros are
// ignored; near knees there are further ones. samples returns what was measured in a cell so
// far, one slice for each progress point and metric. No arms mean that all is settled or
// futile.
func OverlapArms(regions int, speedups []float64, zeroWeight float64, samples func(Arm) [][]float64, rng *rand.Rand) []Arm {
	return blocks(regions, zeroWeight, rng, func(region int) (block []Arm) {
		for _, s := range refined(region, speedups, samples) {
			if a := (Arm{s, region}); isOpen(samples(a)) {
				block = append(block, a)
			}
		}
		return block
	})
}

// blocks returns the arms of one round: of each region a block in random order, with placebos in
// between.
func blocks(regions int, zeroWeight float64, rng *rand.Rand, of func(region int) []Arm) []Arm {
	var delayed []Arm
	for _, region := range rng.Perm(regions) {
		block := of(region)
		rng.Shuffle(len(block), func(i, j int) { block[i], block[j] = block[j], block[i] })
		delayed = append(delayed, block...)
	}
	if len(delayed) == 0 {
		return nil
	}
	arms := withZeros(delayed, design.OverlapZeros(len(delayed), zeroWeight))
	placebos(arms)
	return arms
}

// placebos makes each arm without delay a placebo of the region that comes next, or last: it does
// all that an arm does, but inserts no delay.
func placebos(arms []Arm) {
	region := SparesNone
	place := func(a *Arm) {
		if a.Speedup > 0 {
			region = a.Spared
		} else if a.Spared == SparesNone {
			a.Spared = region
		}
	}
	for i := range arms {
		place(&arms[len(arms)-1-i])
	}
	for i := range arms { // those behind the last region
		place(&arms[i])
	}
}

// isOpen reports whether a cell is worth more time: it is until it is settled or futile for
// each progress point and metric.
func isOpen(samples [][]float64) bool {
	return len(samples) == 0 || slices.ContainsFunc(samples, func(values []float64) bool { return stats.NeedOf(values) == stats.NeedsMore })
}

// refined returns the speed-ups of a region in rising order: the grid, those that were measured
// besides, and further ones once each of these has a number.
func refined(region int, grid []float64, samples func(Arm) [][]float64) []float64 {
	var all []float64
	for _, s := range grid {
		if s > 0 {
			all = append(all, s)
		}
	}
	room := design.MaxRefinements
	for percent := 1; percent <= design.MaxSpeedup; percent++ {
		s := float64(percent) / 100
		if !slices.Contains(all, s) && slices.ContainsFunc(samples(Arm{s, region}), func(values []float64) bool { return len(values) > 0 }) {
			all = append(all, s)
			room--
		}
	}
	slices.Sort(all)
	var further []float64
	for curve := range leastLen(region, all, samples) {
		var c profile.Curve
		for _, s := range all {
			c.Effects = append(c.Effects, profile.NewEffect(s, samples(Arm{s, region})[curve], nil))
		}
		if slices.ContainsFunc(c.Effects, func(e profile.Effect) bool { return !e.Known() }) {
			continue
		}
		for _, s := range c.Refinements() {
			if len(further) < room && !slices.Contains(further, s) {
				further = append(further, s)
			}
		}
	}
	all = append(all, further...)
	slices.Sort(all)
	return all
}

// leastLen returns the number of progress points and metrics that all speed-ups of a region have
// samples of.
func leastLen(region int, speedups []float64, samples func(Arm) [][]float64) int {
	least := math.MaxInt
	for _, s := range speedups {
		least = min(least, len(samples(Arm{s, region})))
	}
	if len(speedups) == 0 {
		return 0
	}
	return least
}
