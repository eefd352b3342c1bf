package engine

import (
	"context"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// A Load watches how busy the processors are. Where goroutines wait for one, they wait for each
// other in a way that no span shows: delays mean nothing then.
type Load struct {
	short     atomic.Bool // processors are short, not just for a moment
	looks     atomic.Int64
	saturated atomic.Int64 // looks at which processors were short
}

// lookEvery is how often a load looks; a look takes about 5 µs.
const lookEvery = 10 * time.Millisecond

// WatchLoad keeps l up to date until ctx ends.
func WatchLoad(ctx context.Context, l *Load) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	share := 0.0 // of the latest looks at which goroutines were queued
	sample := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}, {Name: "/sched/goroutines/running:goroutines"}}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		metrics.Read(sample)
		queued := 0.0
		if crowded(goroutines(sample[0].Value), goroutines(sample[1].Value)) {
			l.saturated.Add(1)
			queued = 1
		}
		l.looks.Add(1)
		share += (queued - share) / memory
		l.short.Store(share > saturation)
	}
}

// memory is how many looks it takes, about, to notice that something has changed.
const memory = 8

// crowded reports whether goroutines that could run are too many beside those that do. By Little's
// law their ratio is that of the time which goroutines wait for a processor to the time which they
// run: many processors have some goroutines that are just being woken up at each moment.
func crowded(runnable, running uint64) bool { return runnable > displaced+running/10 }

// displaced is the one runnable goroutine that the sampler itself keeps off its processor.
const displaced = 1

// goroutines is the value of a metric, 0 of one that the runtime does not have.
func goroutines(v metrics.Value) uint64 {
	if v.Kind() != metrics.KindUint64 {
		return 0
	}
	return v.Uint64()
}

// saturation is the share of looks above which processors are short.
const saturation = 0.5

// idle reports whether goroutines get a processor when they want one, as a rule.
func (l *Load) idle() bool { return !l.short.Load() }

// A loadMark is the state of a load at a moment.
type loadMark struct{ looks, saturated int64 }

// mark is the state at this moment.
func (l *Load) mark() loadMark { return loadMark{l.looks.Load(), l.saturated.Load()} }

// since returns the share of looks since m at which processors were short, in [0, 1].
func (l *Load) since(m loadMark) float64 {
	now := l.mark()
	if now.looks == m.looks {
		return 0
	}
	return float64(now.saturated-m.saturated) / float64(now.looks-m.looks)
}

// mutexWait is how long goroutines have waited for locks of package sync so far, those in our own
// types too. The runtime estimates it from a few of the waits: over a second it can be twice as
// long as it was, or half.
func mutexWait() time.Duration {
	sample := []metrics.Sample{{Name: "/sync/mutex/wait/total:seconds"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindFloat64 {
		return 0
	}
	return time.Duration(sample[0].Value.Float64() * float64(time.Second))
}

// processors is how many goroutines can run at the same time.
func processors() int { return runtime.GOMAXPROCS(0) }
