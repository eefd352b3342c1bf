package causal

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/otelprof/otelprof/internal/glob"
	"github.com/otelprof/otelprof/internal/mark"
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
// to it by a progress entry whose span is that name. Where delays are paid, the calling goroutine
// may be delayed. While no experiment runs it costs two atomic loads. Allocates nothing.
func Progress(_ context.Context, name string) {
	if mark.Enabled() {
		mark.LogProgress(name)
	}
	if o, l := here(); l != nil {
		o.payNow(l)
	}
	point()
	p := running.runs.Load()
	if p == nil {
		return
	}
	for _, r := range *p {
		r.visitNamed(name)
	}
}

func (run *run) visitNamed(name string) {
	defer run.contain()
	for i := range run.plan.Progress {
		if glob.Match(run.plan.Progress[i].Span, name) {
			run.visit(i)
		}
	}
}
