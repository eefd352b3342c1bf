package cond

import (
	"math"
	"slices"
)

const (
	// MostBurst is the largest burst that is looked for.
	MostBurst = 64
	// LeastPaced is how many waits must have begun while another one was under way, to find an
	// interval.
	LeastPaced = 5
	// Paced is which part of the requests that waited, and of those without a wait, a limiter must
	// be right about.
	Paced = 0.9
	// Coarse is in how many steps up and down the interval is looked for, a tenth of it in all, and
	// again in between.
	Coarse = 24
	// MostLate is how late a timer of the runtime may be: what waits for the network and timers
	// counts in ms.
	MostLate = 1_200_000
)

// LeastTimes is how many waits a timetable takes. With fewer, chance gives one.
const LeastTimes = 50

// Even reports whether times are those of even intervals, some of which may be missing, and returns
// how long these are. What times are off by must not add up, as it does where each wait begins when
// the one before is over; and it must be less than what the lengths of the waits differ by, which
// is nothing where all wait for the same time.
func Even(times []int64, lengths []float64) (interval float64, ok bool) {
	n := len(times)
	steps := make([]float64, n-1)
	for i := range steps {
		steps[i] = float64(times[i+1] - times[i])
	}
	interval = middle(slices.Clone(steps))
	if interval < ShortestInterval {
		return 0, false
	}
	numbers, off := make([]float64, n), make([]float64, n)
	begin := 0.0
	for m := 16; ; m *= 2 { // the more of them, the more exactly the interval is known
		m = min(m, n)
		for i := range m {
			numbers[i] = math.Round((float64(times[i]-times[0]) - begin) / interval)
		}
		begin, interval = line(numbers[:m], times[:m])
		if m == n {
			break
		}
	}
	if !(interval >= ShortestInterval) {
		return 0, false
	}
	for i := range off {
		off[i] = float64(times[i]-times[0]) - begin - interval*numbers[i]
	}
	changes := make([]float64, n-1)
	for i := range changes {
		changes[i] = math.Abs(off[i+1] - off[i])
	}
	jitter := Spread(off)
	return interval, jitter <= interval/10 && jitter <= 1.5*middle(changes) && jitter < Spread(lengths)
}

// ShortestInterval of a timetable, ns: below, wake-ups are too late to find one.
const ShortestInterval = 200_000

// line returns the line through times by their numbers, least squares: what it begins with, and how
// much it rises.
func line(numbers []float64, times []int64) (begin, rise float64) {
	var x, y, xx, xy float64
	n := float64(len(numbers))
	for i, v := range numbers {
		t := float64(times[i] - times[0])
		x, y, xx, xy = x+v, y+t, xx+v*v, xy+v*t
	}
	rise = (n*xy - x*y) / (n*xx - x*x)
	return (y - rise*x) / n, rise
}

// Spread is the median absolute deviation from the median. It changes the order of all.
func Spread(all []float64) float64 {
	m := middle(all)
	deviations := make([]float64, len(all))
	for i, v := range all {
		deviations[i] = math.Abs(v - m)
	}
	return middle(deviations)
}

// middle is the median. It changes the order of all.
func middle(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}
