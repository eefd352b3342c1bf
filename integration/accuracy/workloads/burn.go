package workloads

import (
	"math"
	"sync/atomic"
	"time"
)

// PerSecond is how many steps a processor makes in a second, by calibrate.
var PerSecond float64

// sink keeps the compiler from leaving the work out.
var sink atomic.Uint64

// burn computes for as long as an undisturbed processor takes for that many seconds. While
// another thread has the processor, nothing is done.
func burn(seconds float64) { steps(int(seconds * PerSecond)) }

func steps(n int) {
	x := uint64(n) | 1
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	sink.Store(x)
}

// Calibrate measures how fast the processor is, the best of several tries.
func Calibrate() {
	const n = 1 << 20
	best := math.Inf(1)
	for range 40 {
		began := time.Now()
		steps(n)
		best = min(best, time.Since(began).Seconds())
	}
	PerSecond = n / best
}
