package replay

import (
	"math"
	"slices"
)

// A Speedup is a region and which part of its own computing and waiting outside is taken away, in [0, 1); below 0 it is slower.
type Speedup struct {
	Region Region
	By     float64
}

// Effect1 asks one recording what a speed-up would change, for tests: by which part the time between visits of a point shrinks.
func (r *Recording) Predict(point string, all ...Speedup) (base, period float64) {
	p := newProgram(r)
	c := change{factors: map[int32]float64{}}
	for _, s := range all {
		if i := slices.Index(r.regions, s.Region); i >= 0 {
			c.factors[int32(i)] = 1 - s.By
		}
	}
	k := slices.Index(r.points, point)
	if k < 0 {
		return math.NaN(), math.NaN()
	}
	d := r.End - r.Start
	a := simulate(p, change{}, d, nil)
	b := simulate(p, c, d, nil)
	return periodOf(a.visits[k], d), periodOf(b.visits[k], d)
}

// periodOf returns the mean time between visits in the last nine tenths of the time.
func periodOf(v []int64, d int64) float64 {
	for len(v) > 0 && v[0] < d/10 {
		v = v[1:]
	}
	if len(v) < 2 {
		return math.NaN()
	}
	return float64(v[len(v)-1]-v[0]) / float64(len(v)-1)
}
