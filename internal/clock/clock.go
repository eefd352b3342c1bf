// Package clock reads the time and waits, both more exactly than package time.
package clock

import "time"

// Now returns nanoseconds on a monotonic line that begins shortly before the program does.
func Now() int64 { return int64(time.Since(epoch)) }

// epoch lies a little back, so that no time is zero.
var epoch = time.Now().Add(-time.Second)

// Spin burns processor time, as work would, until d has passed since start, a time of [Now],
// or until valid turns false. The goroutine that spins does not let others run in its place.
// It returns the time spent, within about 100 ns of d if it is not interrupted.
func Spin(start int64, d time.Duration, valid func() bool) time.Duration {
	for {
		spent := time.Duration(Now() - start)
		if spent >= d || !valid() {
			return spent
		}
	}
}

// Gap is between two looks at the clock, ns, what only others, who had the processor meanwhile, can
// have taken.
const Gap = int64(10 * time.Microsecond)

// Compute burns d of processor time, as work would, or less if valid turns false. What passes while
// others have the processor does not count, so it may take longer. It returns the processor time
// spent, within about 100 ns of d, or a step of the clock where that is longer.
func Compute(start int64, d time.Duration, valid func() bool) time.Duration {
	return compute(Now, start, d, valid)
}

// compute takes gaps for the others'. Where the second one comes before any shorter step, they are
// the steps of a coarse clock.
func compute(clock func() int64, start int64, d time.Duration, valid func() bool) time.Duration {
	spent, gap, fine := int64(0), false, false
	for last := start; ; {
		now := clock()
		switch step := now - last; {
		case step < Gap:
			spent += step
			fine = fine || step > 0
		case gap && !fine:
			spent += step
		default:
			gap = true
		}
		last = now
		if spent >= int64(d) || !valid() {
			return time.Duration(spent)
		}
	}
}

// nap is how long Sleep waits before it looks again whether it still should.
const nap = 5 * time.Millisecond

// Sleep waits until d has passed since start, a time of [Now], or until valid turns false, which is
// seen within 5 ms. It takes about 25 µs longer than asked on Linux, see [Precise], and up to 1 ms
// elsewhere, or where 64 goroutines sleep so already. It returns the time spent.
func Sleep(start int64, d time.Duration, valid func() bool) time.Duration {
	s := takeSleeper()
	defer s.giveBack()
	for {
		spent := time.Duration(Now() - start)
		if spent >= d || !valid() {
			return spent
		}
		s.sleep(min(d-spent, nap))
	}
}
