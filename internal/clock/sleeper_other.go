//go:build !linux

package clock

import "time"

// Precise reports whether [Sleep] can wait for less than a millisecond.
const Precise = false

// A sleeper is time.Sleep here.
type sleeper struct{}

func takeSleeper() sleeper { return sleeper{} }

func (sleeper) giveBack() {}

func (sleeper) sleep(d time.Duration) { time.Sleep(d) }
