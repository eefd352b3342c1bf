// Package threadtime has a clock for tests that must not fail on a busy machine.
package threadtime

import (
	"time"

	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/internal/perf"
)

// Now is a time line of the calling thread that stands still while it does not run, where the
// system has one; the clock where it does not. The caller has locked its goroutine to the thread.
func Now() time.Duration {
	var u perf.Usage
	if perf.ThreadUsage(&u) != nil {
		return time.Duration(clock.Now())
	}
	return u.CPU
}
