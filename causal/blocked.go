package causal

import (
	"context"

	"github.com/otelprof/otelprof/causal/internal/engine/virtualtime"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/spans"
)

// Blocked calls f, which waits for another goroutine: a lock, a channel, a condition. That time
// is not self time of the current span, so experiments do not stretch it; the goroutine that is
// waited for is stretched in its own right.
//
//	causal.Blocked(ctx, mu.Lock)
//
// Which goroutine f waits for is not known, so no virtual time is handed over. A [Mutex], a [Chan]
// and the other types of this package report it, also within f.
func Blocked(ctx context.Context, f func()) {
	if r := spans.SpanFromContext(ctx); r != nil {
		r.BeginWait()
		defer r.EndWait()
	}
	if o := virtualtime.Current.Load(); o != nil {
		l, at := o.Ledger(), clock.Now()
		o.Arrive(l, at)
		defer func() { o.Resume(l, at, clock.Now()) }()
	}
	f()
}
