package clock

import (
	"testing"
	"time"
)

// Where the clock goes on by a millisecond at a time, as on Windows, that is no other's turn. Where
// it goes on by less, all of that is, also two turns one after the other.
func TestComputeByACoarseClock(t *testing.T) {
	const ms = int64(time.Millisecond)
	for name, tc := range map[string]struct {
		clock     func(look int64) int64
		d         time.Duration
		mostLooks int
	}{
		"coarse": {func(n int64) int64 { return n / 100 * ms }, 4 * time.Millisecond, 501},
		"fine":   {func(n int64) int64 { return n*100 + (n/20+(n+19)/20)*ms }, 4 * time.Microsecond, 45},
	} {
		looks := 0
		read := func() int64 { looks++; return tc.clock(int64(looks)) }
		got := compute(read, tc.clock(0), tc.d, func() bool { return looks < 10_000 })
		if got < tc.d || got > tc.d+time.Microsecond || looks > tc.mostLooks {
			t.Errorf("%s: %v of %v after %d looks, want at most %d", name, got, tc.d, looks, tc.mostLooks)
		}
	}
}
