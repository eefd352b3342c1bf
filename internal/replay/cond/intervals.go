package cond

import (
	"math"
	"slices"
)

// Constants of timetables and rate limiters. Package infer looks for limiters with the first four
// (rate_limiter.go there).
const (
	// MostBurst is the largest burst of a token bucket that is looked for. The search tries each:
	// its time grows with it. A limiter with a larger one is not found.
	MostBurst = 64
	// LeastPaced is how many waits must have begun while another one was under way, to find an
	// interval: only these end one interval apart, whatever the callers do.
	LeastPaced = 5
	// Paced is which part of the requests that waited, and of those without a wait, a limiter must
	// be right about, of 1. It is lower than for locks and channels, since timers end late.
	Paced = 0.9
	// Coarse is in how many steps up and down the interval is looked for, a tenth of it in all, and
	// again in between: 1/240 of the interval in the first pass, 1/5760 in the second. An error of
	// that size adds up over the requests of a window.
	Coarse = 24
	// MostLate is how late a timer of the runtime may be, ns. An idle process waits for timers and
	// the network together, and netpoll makes whole milliseconds of the time that is left
	// (runtime/netpoll_epoll.go: 1 ms for anything shorter). That is 1 ms; the rest is room for the
	// wake-up. Larger, and waits of a few ms would seem to be of one length; smaller, and idle
	// programs would have no limiter.
	MostLate = 1_200_000
)

// LeastTimes is how many waits a timetable takes. With fewer, chance gives one. TestEven holds it:
// it distinguishes tickers from sleeps by 50 times and by 1000.
const LeastTimes = 50

// Even reports whether times are of even intervals, some of which may be missing, and returns how
// long these are, ns. Times are in order, two at least, ns from any origin; lengths are for how
// long goroutines waited each time, ns, in any order. It changes the order of lengths.
//
// A ticker keeps its phase, a sleep does not. The runtime sets a periodic timer to the next
// multiple of its period however late it was (runtime/time.go, unlockAndRun), so that the error of
// a tick leaves the next one alone. Behind time.Sleep the errors add up:
//
//	ticker  t(k) = begin + k*interval + error(k)
//	sleep   t(k) = t(k-1) + interval + error(k)    a random walk
//
// The distinction matters: work before a tick is worth nothing if it becomes faster, since the
// goroutine then waits for longer; work before a sleep is worth all of it (TestTimetable).
//
// The errors are those of a line through the times (least squares). Their spread is the median
// absolute deviation, so that a tick in a few that comes very late decides nothing. Three tests:
//
//   - The spread is below a tenth of the interval: else any times would lie near some multiple.
//   - It is below 1.5 times the usual change from one error to the next. For independent errors it
//     is about 0.7 times (normal distribution: 0.67 and 0.95 sigma), and it grows with the number
//     of times where they add up.
//   - It is below the spread of the lengths: goroutines that all wait for the same time sleep, even
//     if what they sleep after happens to be regular.
func Even(times []int64, lengths []float64) (interval float64, ok bool) {
	// The median step is the interval, unless most ticks are missing: good enough to number the
	// first few times.
	n := len(times)
	steps := make([]float64, n-1)
	for i := range steps {
		steps[i] = float64(times[i+1] - times[i])
	}
	interval = middle(slices.Clone(steps))
	if interval < ShortestInterval {
		return 0, false
	}
	// Number the times by the nearest tick, and fit the line anew, with twice as many each time: an
	// interval that is off by 1 % would give the 50th time a wrong number, but not the 16th.
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
	// Not "<": the line through times with equal numbers has no slope, and NaN is to fail.
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
	// Last, since Spread sorts off and the changes are of successive errors.
	jitter := Spread(off)
	return interval, jitter <= interval/10 && jitter <= 1.5*middle(changes) && jitter < Spread(lengths)
}

// ShortestInterval of a timetable or a limiter, ns: below, wake-ups are too late to find one.
const ShortestInterval = 200_000

// line returns the line through times by their numbers, least squares: what it begins with, ns
// since the first of times, and how much it rises from one number to the next. It is NaN or
// infinite where all numbers are the same.
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

// Spread is the median absolute deviation from the median, of one value at least. Up to half of the
// values may be anything without making it large. It changes the order of all.
func Spread(all []float64) float64 {
	m := middle(all)
	deviations := make([]float64, len(all))
	for i, v := range all {
		deviations[i] = math.Abs(v - m)
	}
	return middle(deviations)
}

// middle is the median, the upper one of two, of one value at least. It changes the order of all.
func middle(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}
