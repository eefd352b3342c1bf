package causal

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/otelprof/otelprof/spans"
)

// running are the runs that progress calls count for.
var running struct {
	mu   sync.Mutex
	runs atomic.Pointer[[]*run] // replaced, never changed
}

func addRunning(r *run) {
	running.mu.Lock()
	defer running.mu.Unlock()
	var next []*run
	if p := running.runs.Load(); p != nil {
		next = slices.Clone(*p)
	}
	next = append(next, r)
	running.runs.Store(&next)
}

func removeRunning(r *run) {
	running.mu.Lock()
	defer running.mu.Unlock()
	if p := running.runs.Load(); p != nil {
		next := slices.DeleteFunc(slices.Clone(*p), func(have *run) bool { return have == r })
		running.runs.Store(&next)
	}
}

// Progress counts one visit of the progress point name: a unit of work is done. Plans refer
// to it by a progress entry whose span is that name. While no plan runs it costs one
// atomic load. Allocates nothing.
func Progress(_ context.Context, name string) {
	p := running.runs.Load()
	if p == nil {
		return
	}
	for _, r := range *p {
		for i := range r.plan.Progress {
			if glob(r.plan.Progress[i].Span, name) {
				r.progress[i].Add(1)
			}
		}
	}
}

// Blocked calls f, which waits for somebody else: a lock, a channel, a condition. That time
// is not self time of the current span, so experiments do not stretch it; whoever is
// waited for is stretched in its own right.
//
//	causal.Blocked(ctx, mu.Lock)
func Blocked(ctx context.Context, f func()) {
	r := spans.RegionFromContext(ctx)
	if r == nil {
		f()
		return
	}
	r.BeginWait()
	defer r.EndWait()
	f()
}
