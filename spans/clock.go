package spans

import "time"

// epoch is where the nanosecond time line of all spans begins. It carries a monotonic
// reading, so that differences to it do not jump with the wall clock.
var epoch = time.Now()

// now is the time since epoch in nanoseconds. About 30 ns.
func now() int64 { return int64(time.Since(epoch)) }

// sinceEpoch puts a time on the same line. Times without a monotonic reading, which
// callers give by trace.WithTimestamp, are placed by the wall clock.
func sinceEpoch(t time.Time) int64 { return int64(t.Sub(epoch)) }
