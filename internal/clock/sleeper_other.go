//go:build !linux

package clock

import "time"

// Precise reports whether [Sleep] can wait for less than a millisecond.
const Precise = false

// Late is by how much [Sleep] is too long at most by its timer. What is more was a wait for a processor.
const Late = 1100 * time.Microsecond

// A sleeper is time.Sleep here.
type sleeper struct{}

func takeSleeper() sleeper { return sleeper{} }

func (sleeper) giveBack() {}

func (sleeper) sleep(d time.Duration) { time.Sleep(d) }
