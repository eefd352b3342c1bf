package experiment

import (
	"fmt"
	"maps"
	"slices"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/naming/withheldcode"
	"github.com/otelprof/otelprof/internal/stats"
)

// An Iteration is what the experiments of one iteration have added up for one progress point.
type Iteration struct {
	None   Total             // of the arms without delay
	All    map[float64]Total // by speed-up: everything stretched
	spared map[spareKey]Total
}

// A Total is a time and the visits in it.
type Total struct{ Time, Visits float64 }

// Add adds another total, or takes it off with a sign of -1.
func (t *Total) Add(u Total, sign float64) {
	t.Time += sign * u.Time
	t.Visits += sign * u.Visits
}

// Period is the time for one visit, 0 if there is none.
func (t Total) Period() float64 {
	if t.Visits <= 0 {
		return 0
	}
	return t.Time / t.Visits
}

type spareKey struct {
	speedup float64
	region  int
}

// IterationsOf sorts the experiments of one progress point by iteration. Those that were thrown
// away are left out, and those without a visit, which have no period.
func IterationsOf(experiments []Experiment, point int) []*Iteration {
	byNumber := map[int]*Iteration{}
	for _, e := range experiments {
		passed := e.Passages[point]
		if passed.Visits == 0 || e.Spoiled != "" {
			continue
		}
		t := Total{float64(passed.Effective), float64(passed.Visits)}
		p := byNumber[e.Iteration]
		if p == nil {
			p = &Iteration{All: map[float64]Total{}, spared: map[spareKey]Total{}}
			byNumber[e.Iteration] = p
		}
		switch {
		case e.Speedup == 0:
			p.None.Add(t, +1)
		case e.Spared == SparesNone:
			p.All[e.Speedup] = t
		default:
			p.spared[spareKey{e.Speedup, e.Spared}] = t
		}
	}
	ordered := make([]*Iteration, 0, len(byNumber))
	for _, k := range slices.Sorted(maps.Keys(byNumber)) {
		ordered = append(ordered, byNumber[k])
	}
	return ordered
}

// stretched are the totals of one iteration that are compared.
type stretched struct{ none, all, spared Total }

func (s *stretched) add(t stretched, sign float64) {
	s.none.Add(t.none, sign)
	s.all.Add(t.all, sign)
	s.spared.Add(t.spared, sign)
}

// Reductions returns the pseudo-values, one for each iteration that has all three arms, of the part
// by which the period would shrink if the region were faster by speedup:
//
//	(1 - speedup) * (period(all) - period(all but region)) / period(none)
//
// If spans cover the whole period, period(all) is period(none)/(1-speedup), and this is
// 1 - period(all but region)/period(all), which is exact for every dependency on the region,
// linear or not. Time that no span covers is not stretched: it cancels in the difference, and
// the division by the true period keeps its share. Periods are totals of time by totals of visits.
func Reductions(iterations []*Iteration, region int, speedup float64) []float64 {
	var blocks []stretched
	for _, p := range iterations {
		all, ok := p.All[speedup]
		spared, too := p.spared[spareKey{speedup, region}]
		if ok && too && p.None.Visits > 0 {
			blocks = append(blocks, stretched{p.None, all, spared})
		}
	}
	return stats.PseudoValues(blocks, (*stretched).add, func(s stretched) float64 {
		if s.none.Time <= 0 {
			return 0
		}
		return (1 - speedup) * (s.all.Period() - s.spared.Period()) / s.none.Period()
	})
}

// Coverages returns which part of the period the spans cover, as seen from how much longer
// it becomes when they are all stretched.
func Coverages(iterations []*Iteration) []float64 {
	var values []float64
	for _, p := range iterations {
		if p.None.Time <= 0 {
			continue
		}
		for speedup, all := range p.All {
			factor := Arm{Speedup: speedup}.Factor()
			values = append(values, (all.Period()/p.None.Period()-1)/factor)
		}
	}
	return values
}

// leastCoverages is the number of values below which no coverage by spans is reported; each
// iteration gives several.
const leastCoverages = 3

// Coverages beyond these have a note, or there is no number.
const (
	littleCoverage = 0.8
	mostCoverage   = 1.1
)

// CoverageNote returns where a part of the picture is not enlarged.
func CoverageNote(progress string, coverages []float64) string {
	if len(coverages) < leastCoverages {
		return ""
	}
	if c := stats.Median(coverages); c < littleCoverage {
		return fmt.Sprintf("%s: spans cover about %.0f%% of the period; what no span covers is taken as it is", progress, 100*max(0, c))
	}
	return ""
}

// Overstretched returns why there is no number where the period grows by more than the spans were
// stretched. Waits of spans are stretched then that would grow by themselves: for other goroutines,
// or for a processor. A short span that has lost its processor for a turn of the others is
// stretched by a part of that turn, which is more than all that it computes; and waits outside of
// the program are stretched by computing, which takes processors from the rest. Differences between
// arms are too large by as much.
func Overstretched(coverages []float64) profile.Withheld {
	if len(coverages) < leastCoverages {
		return profile.Withheld{}
	}
	if c := stats.Median(coverages); c > mostCoverage {
		return profile.Withheld{Code: withheldcode.Stretched, Part: c}
	}
	return profile.Withheld{}
}
