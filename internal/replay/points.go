package replay

import (
	"cmp"
	"math"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/doubt"
)

// A Rest is what the answers at one progress point rest on.
type Rest struct {
	Point string
	// Visits are those recorded in all windows, and Windows those in which the replay of nothing
	// changed met the recorded period within [doubt.MaxDeviation].
	Visits, Windows int
	// Loop is how work comes there.
	Loop Loop
	// Deviation is by which part it missed the period in the median of all windows in which it ran
	// to the end, 0.01 for 1 %; 0 if it did in none, where Windows is 0, too.
	Deviation float64
}

// rests sums up the windows' checks, the progress point with the most visits first. The self-check
// is an A/A test: the replay has nothing changed, so that what it is off by is the model's own
// error.
func (s *Study) rests() []Rest {
	deviations := map[string][]float64{}
	visits, met := map[string]int{}, map[string]int{}
	for _, w := range s.windows {
		for point, c := range w.checks {
			visits[point] += c.Visits
			if c.Met() {
				met[point]++
			}
			if miss := c.Miss(); !c.Stuck && !math.IsInf(miss, 1) {
				deviations[point] = append(deviations[point], miss)
			}
		}
	}
	all := make([]Rest, 0, len(visits))
	for point, n := range visits {
		r := Rest{Point: point, Visits: n, Windows: met[point], Loop: s.loopAt(point)}
		if d := deviations[point]; len(d) > 0 {
			slices.Sort(d)
			r.Deviation = d[len(d)/2]
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Rest) int { return cmp.Or(cmp.Compare(b.Visits, a.Visits), cmp.Compare(a.Point, b.Point)) })
	return all
}

// Missed reports whether the replay of nothing changed missed what the latest window recorded of
// the progress point that it visits most: then that window has no part in the answers about it,
// where others are enough. Of a window without visits enough of any it is not known, and false.
func (s *Study) Missed() bool {
	if len(s.windows) == 0 {
		return false
	}
	var most doubt.Check
	for _, c := range s.windows[len(s.windows)-1].checks {
		if c.Visits > most.Visits || c.Visits == most.Visits && c.Point < most.Point {
			most = c
		}
	}
	return most.Visits > 0 && !most.Met()
}

// Enough reports whether there are as many windows as a number takes, at the progress point with
// the most visits.
func (r *Result) Enough() bool { return len(r.Rests) > 0 && r.Rests[0].Windows >= doubt.LeastWindows }

// Width is how far the interval of the region that brings most reaches, at the largest speed-up of
// at most a half and the progress point with the most visits; NaN without a number. More recordings
// are worth it while this is wide: what brings most is acted upon first.
func (r *Result) Width() float64 {
	if len(r.Rests) == 0 {
		return math.NaN()
	}
	// The zero Answer loses against any speed-up above 0, and wins against slow-downs.
	var best Answer
	for _, a := range r.Answers {
		if a.Withheld == WithheldNone && a.Point == r.Rests[0].Point && a.Metric == Throughput && !a.Held && a.Speedup <= 0.5 && a.Region.Scope != QuestionScope &&
			cmp.Or(cmp.Compare(a.Speedup, best.Speedup), cmp.Compare(a.Reduction, best.Reduction)) > 0 {
			best = a
		}
	}
	if best.Speedup == 0 {
		return math.NaN()
	}
	return best.Hi - best.Lo
}
