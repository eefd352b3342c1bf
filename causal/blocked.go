package causal

import (
	"context"

	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/spans"
)

// Blocked calls f, which waits for somebody else: a lock, a channel, a condition. That time
// is not self time of the current span, so experiments do not stretch it; whoever is
// waited for is stretched in its own right.
//
//	causal.Blocked(ctx, mu.Lock)
//
// For whom f waits is not known, so goroutines hand no virtual time over. A [Mutex], a [Chan] and the
// other types of this package say it, also within f.
func Blocked(ctx context.Context, f func()) {
	if r := spans.RegionFromContext(ctx); r != nil {
		r.BeginWait()
		defer r.EndWait()
	}
	if o := live.observation.Load(); o != nil {
		l, at := o.ledger(), clock.Now()
		o.arrive(l, at)
		defer func() { o.resume(l, at, clock.Now()) }()
	}
	f()
}
