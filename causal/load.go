package causal

import (
	"context"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// A load watches how busy the processors are. Where goroutines wait for one, they wait for each
// other in a way that no span shows: neither delays nor virtual time mean anything then.
type load struct {
	queued    atomic.Int64 // goroutines waiting for a processor, at the last look
	looks     atomic.Int64
	saturated atomic.Int64 // looks at which processors were short
}

// lookEvery is how often a load looks; a look takes about 5 µs.
const lookEvery = 10 * time.Millisecond

// watchLoad keeps l up to date until ctx ends.
func watchLoad(ctx context.Context, l *load) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	sample := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		metrics.Read(sample)
		queued := int64(0)
		if sample[0].Value.Kind() == metrics.KindUint64 {
			queued = int64(sample[0].Value.Uint64())
		}
		l.queued.Store(queued)
		l.looks.Add(1)
		if queued > displaced {
			l.saturated.Add(1)
		}
	}
}

// displaced is the one goroutine that waits because the one that looks is running.
const displaced = 1

// idle reports whether no goroutine waits for a processor.
func (l *load) idle() bool { return l.queued.Load() <= displaced }

// mark is the state of a load at a moment.
type mark struct{ looks, saturated int64 }

func (l *load) mark() mark { return mark{l.looks.Load(), l.saturated.Load()} }

// since returns the share of looks since m at which processors were short, in [0, 1].
func (l *load) since(m mark) float64 {
	now := l.mark()
	if now.looks == m.looks {
		return 0
	}
	return float64(now.saturated-m.saturated) / float64(now.looks-m.looks)
}

// processors is how many goroutines can run at the same time.
func processors() int { return runtime.GOMAXPROCS(0) }
