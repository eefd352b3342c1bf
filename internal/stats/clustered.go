package stats

import (
	"math"

	"github.com/aclements/go-moremath/mathx"
	"github.com/aclements/go-moremath/stats"
)

// poolAt is from which p-value on clusters are taken to differ by chance alone: as is usual for a
// test that decides whether variances are pooled. Bancroft, Analysis and inference for incompletely
// specified models, 1964.
const poolAt = 0.25

// Clustered returns the mean of values and how sure it is, where those with the same cluster, a
// number from 0, were measured together and may resemble each other. Where clusters differ by more
// than what they have within, the standard error is that between clusters, and the interval
// Student's with as many degrees of freedom as there are clusters, less one: many values of few
// clusters say little then. Otherwise, and of one cluster, in which that cannot be seen, all values
// count. There must be at least one value. Diagnostics are left zero.
func Clustered(values []float64, clusters []int) Estimate {
	n := len(values)
	e := Estimate{Mean: stats.Mean(values)}
	e.Lo, e.Hi = e.Mean, e.Mean
	if n < 2 {
		return e
	}
	e.StdErr = stats.StdDev(values) / math.Sqrt(float64(n))
	reach := student(float64(n-1)) * e.StdErr
	if a := analyse(values, clusters); a.differ() {
		deviation := math.Sqrt(a.robust) / float64(n)
		e.StdErr, reach = max(e.StdErr, deviation), max(reach, student(float64(a.groups-1))*deviation)
	}
	e.Lo, e.Hi = e.Mean-reach, e.Mean+reach
	return e
}

// A variance is an analysis of variance by clusters.
type variance struct {
	groups          int
	freedom         int // within clusters
	between, within float64
	// robust is the variance of the sum of all values, from the sums of the clusters.
	robust float64
}

func analyse(values []float64, clusters []int) (a variance) {
	sums, counts := map[int]float64{}, map[int]float64{}
	for i, v := range values {
		sums[clusters[i]] += v
		counts[clusters[i]]++
	}
	a.groups = len(sums)
	a.freedom = len(values) - a.groups
	mean := stats.Mean(values)
	for c := range a.groups {
		d := sums[c] - counts[c]*mean
		a.between += d * d / counts[c] / float64(a.groups-1)
		a.robust += d * d * float64(a.groups) / float64(a.groups-1)
	}
	for i, v := range values {
		d := v - sums[clusters[i]]/counts[clusters[i]]
		a.within += d * d / float64(a.freedom)
	}
	return a
}

// differ reports whether clusters differ by more than chance, by the F test.
func (a *variance) differ() bool {
	if a.groups < 2 || a.freedom < 1 || a.between <= a.within {
		return false
	}
	d1, d2 := float64(a.groups-1), float64(a.freedom)
	return mathx.BetaInc(d2*a.within/(d2*a.within+d1*a.between), d2/2, d1/2) < poolAt
}
