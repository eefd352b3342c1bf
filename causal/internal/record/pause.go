package record

import (
	"math"
	"runtime/metrics"
	"slices"
	"time"
)

// Where a trace begins the world is stopped, for 1 to 2 ms as a rule. It is not where that takes
// longer.
const (
	// maxPause is for how long recordings of a Recorder's own accord may stop the world.
	maxPause = 5 * time.Millisecond
	// avoid is how long there are none after one that stopped it for longer.
	avoid = time.Hour
)

// pauseMetric is the metric of stop-the-world pauses for other reasons than garbage collection,
// which are rare.
const pauseMetric = "/sched/pauses/total/other:seconds"

// pausesSince begins to measure for how long the world is stopped once until shortest is called,
// rounded up to the end of the metric's bucket. Where others stop it as well, the shortest of these
// times counts: which is whose is not known. Zero is for none, and where the runtime does not tell.
func pausesSince() (shortest func() time.Duration) {
	before := readPauses()
	return func() time.Duration {
		after := readPauses()
		if before == nil || after == nil || len(before.Counts) != len(after.Counts) {
			return 0
		}
		for i, n := range after.Counts {
			if n > before.Counts[i] {
				return seconds(after.Buckets[i], after.Buckets[i+1])
			}
		}
		return 0
	}
}

// seconds is the upper bound of a bucket, or its lower one if it has no other.
func seconds(lo, hi float64) time.Duration {
	if math.IsInf(hi, 1) {
		hi = lo
	}
	return time.Duration(hi * float64(time.Second))
}

// readPauses returns nil where the runtime does not tell.
func readPauses() *metrics.Float64Histogram {
	sample := []metrics.Sample{{Name: pauseMetric}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return nil
	}
	h := sample[0].Value.Float64Histogram()
	return &metrics.Float64Histogram{Counts: slices.Clone(h.Counts), Buckets: h.Buckets}
}
