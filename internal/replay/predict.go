package replay

import (
	"math"
	"slices"
)

// A Speedup is a region and which part of its own computing and waiting outside is taken away, below 1; below 0 it is slower.
type Speedup struct {
	Region Region
	By     float64
}

// Predict replays one recording as it was and with regions faster. It returns the mean time between visits of a progress
// point in both, ns; NaN where there are fewer than two visits.
func (r *Recording) Predict(point string, all ...Speedup) (base, changed float64) {
	p := newProgram(r, true)
	c := change{factors: map[int32]float64{}}
	for _, s := range all {
		if i := slices.Index(r.regions, s.Region); i >= 0 {
			c.factors[int32(i)] = 1 - s.By
		}
	}
	k := slices.IndexFunc(p.points, func(x pointInfo) bool { return x.name == point })
	if k < 0 {
		return math.NaN(), math.NaN()
	}
	d := r.End - r.Start
	a, b := simulate(p, change{}, d), simulate(p, c, d)
	return period(a.visits[k], d), period(b.visits[k], d)
}
