package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestClusteredCoverage holds intervals against a mean that is known, where values of one cluster
// resemble each other by so much more than those of others.
func TestClusteredCoverage(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const tries, each = 2000, 3
	for _, c := range []struct {
		between  float64 // deviation between clusters, of 1 within
		clusters int
		least    float64
		narrower float64 // than that of the clusters alone, mostly
	}{
		{0, 2, 0.94, 0.8},
		{0, 5, 0.94, 1.1},
		{1, 2, 0.87, 2},
		{1, 3, 0.90, 2},
		{1, 5, 0.91, 2},
		{2, 2, 0.85, 2},
		{2, 3, 0.91, 2},
		{2, 5, 0.93, 2},
	} {
		holds, width, alone := 0, 0.0, 0.0
		for range tries {
			var values []float64
			var of []int
			for k := range c.clusters {
				center := c.between * r.NormFloat64()
				for range each {
					values, of = append(values, center+r.NormFloat64()), append(of, k)
				}
			}
			e := Clustered(values, of)
			if e.Lo <= 0 && 0 <= e.Hi {
				holds++
			}
			a := analyse(values, of)
			width += math.Min(e.Hi-e.Lo, 100)
			alone += math.Min(2*student(float64(c.clusters-1))*math.Sqrt(a.robust)/float64(len(values)), 100)
		}
		if part := float64(holds) / tries; part < c.least {
			t.Errorf("%d clusters, deviation %v: %.3f of the intervals hold the mean, want %v", c.clusters, c.between, part, c.least)
		}
		if width > c.narrower*alone {
			t.Errorf("%d clusters, deviation %v: intervals of %.2f, and %.2f from clusters alone", c.clusters, c.between, width/tries, alone/tries)
		}
	}
}

func TestClusteredFew(t *testing.T) {
	for name, c := range map[string]struct {
		values   []float64
		clusters []int
		want     Estimate
	}{
		"one value":            {[]float64{2}, []int{0}, Estimate{Mean: 2, Lo: 2, Hi: 2}},
		"all alike":            {[]float64{2, 2, 2, 2}, []int{0, 0, 1, 1}, Estimate{Mean: 2, Lo: 2, Hi: 2}},
		"one value a cluster":  {[]float64{1, 3}, []int{0, 1}, Estimate{Mean: 2, StdErr: 1, Lo: 2 - 12.706, Hi: 2 + 12.706}},
		"one cluster":          {[]float64{1, 3}, []int{0, 0}, Estimate{Mean: 2, StdErr: 1, Lo: 2 - 12.706, Hi: 2 + 12.706}},
		"alike in each":        {[]float64{1, 1, 3, 3}, []int{0, 0, 1, 1}, Estimate{Mean: 2, StdErr: 1, Lo: 2 - 12.706, Hi: 2 + 12.706}},
		"clusters are as much": {[]float64{1, 3, 1, 3}, []int{0, 0, 1, 1}, Estimate{Mean: 2, StdErr: 0.577, Lo: 2 - 1.837, Hi: 2 + 1.837}},
	} {
		got := Clustered(c.values, c.clusters)
		for _, x := range [][2]float64{{got.Mean, c.want.Mean}, {got.StdErr, c.want.StdErr}, {got.Lo, c.want.Lo}, {got.Hi, c.want.Hi}} {
			if !(math.Abs(x[0]-x[1]) < 0.001) {
				t.Errorf("%s: Clustered(%v, %v) = %+v, want %+v", name, c.values, c.clusters, got, c.want)
				break
			}
		}
	}
}
