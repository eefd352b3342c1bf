package record

import (
	"runtime"
	"time"

	"github.com/otelprof/otelprof/internal/perf"
)

// threadTime begins to measure the processor time of the calling goroutine, which keeps its thread
// until it calls stop. On a busy machine that is less than has passed by the clock. Where the
// system does not tell, it is as much.
func threadTime() (stop func() time.Duration) {
	runtime.LockOSThread()
	begin := time.Now()
	var before perf.Usage
	err := perf.ThreadUsage(&before)
	return func() time.Duration {
		defer runtime.UnlockOSThread()
		var after perf.Usage
		if err != nil || perf.ThreadUsage(&after) != nil {
			return time.Since(begin)
		}
		return after.CPU - before.CPU
	}
}
