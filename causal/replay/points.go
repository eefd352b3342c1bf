package replay

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// A Rest is what the answers at one progress point rest on.
type Rest struct {
	Point string
	// Visits are those recorded in all windows, and Windows those in which the replay of nothing changed met the recorded period
	// within [MaxDeviation].
	Visits, Windows int
	// Deviation is by which part it missed the period in these, in the median.
	Deviation float64
}

// rests sums up the windows' checks, the progress point with the most visits first.
func (s *Study) rests() []Rest {
	deviations := map[string][]float64{}
	visits := map[string]int{}
	for _, w := range s.windows {
		for point, c := range w.checks {
			visits[point] += c.Visits
			if d := math.Abs(c.Deviation); !c.Stuck && d <= MaxDeviation {
				deviations[point] = append(deviations[point], d)
			}
		}
	}
	all := make([]Rest, 0, len(visits))
	for point, n := range visits {
		r := Rest{Point: point, Visits: n, Windows: len(deviations[point])}
		if d := deviations[point]; len(d) > 0 {
			slices.Sort(d)
			r.Deviation = d[len(d)/2]
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Rest) int { return cmp.Or(cmp.Compare(b.Visits, a.Visits), cmp.Compare(a.Point, b.Point)) })
	return all
}

// length returns how long the windows are together.
func (s *Study) length() (d time.Duration) {
	for _, w := range s.windows {
		d += w.length
	}
	return d
}
