// Package heapuse measures memory, for tests and benchmarks.
package heapuse

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// Now returns how many bytes objects have, including garbage.
func Now() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// Peak returns how many bytes more than before are in use while f runs, at most, looked at each 2
// ms. Meanwhile GOGC is percent, the lower the less of it could be collected; so one runs at a
// time.
func Peak(percent int, f func()) (most int64) {
	defer debug.SetGCPercent(debug.SetGCPercent(percent))
	runtime.GC()
	before := Now()
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		for tick := time.Tick(2 * time.Millisecond); ; {
			select {
			case <-done:
				return
			case <-tick:
				most = max(most, Now()-before)
			}
		}
	})
	f()
	close(done)
	watch.Wait()
	return most
}
