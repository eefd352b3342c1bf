package spans

import (
	"cmp"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"
)

// mostExemplars is how many exemplars of a region one collection brings: the slowest, and others by
// chance.
const mostExemplars = 8

// exemplars are the sampled spans that a reader has not collected yet, a few of each region. The
// worker adds them when a session has ended, so that no span waits for it.
type exemplars struct {
	mu sync.Mutex
	of map[*regionStats]*reservoir
}

// A reservoir has the slowest of the spans that it has seen, and a few of all, each as likely as
// any other.
type reservoir struct {
	seen    int
	slowest exemplar
	some    [mostExemplars - 1]exemplar
}

type exemplar struct {
	end, duration int64 // on the line of now, and ns as in the region's histogram
	trace         trace.TraceID
	span          trace.SpanID
}

// wantsExemplars is the value of the SDK's variable. The other filters are alike here: a span that
// is not sampled leads nowhere.
func wantsExemplars() bool {
	return !strings.EqualFold(strings.TrimSpace(os.Getenv("OTEL_METRICS_EXEMPLAR_FILTER")), "always_off")
}

// exemplarReaders are the readers of all producers.
type exemplarReaders struct {
	mu  sync.Mutex // of goroutines that add
	all atomic.Pointer[[]*exemplars]
}

func (e *exemplarReaders) add(x *exemplars) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []*exemplars
	if before := e.all.Load(); before != nil {
		all = slices.Clone(*before)
	}
	all = append(all, x)
	e.all.Store(&all)
}

// offerExemplars hands a list of spans that have ended to all readers of their providers.
func offerExemplars(ended *Span) {
	last := int64(0)
	for r := ended; r != nil; r = r.next {
		readers := r.tracer.provider.exemplars.all.Load()
		if readers == nil {
			continue
		}
		if last == 0 {
			last = now()
		}
		span := r.SpanContext()
		end := r.end.Load()
		if !span.IsSampled() || end > last { // the caller's time may be any
			continue
		}
		one := exemplar{end, r.measured(end), span.TraceID(), span.SpanID()}
		stats := r.lastStats()
		for _, x := range *readers {
			x.offer(stats, one)
		}
	}
}

func (x *exemplars) offer(stats *regionStats, one exemplar) {
	x.mu.Lock()
	defer x.mu.Unlock()
	r := x.of[stats]
	if r == nil {
		r = &reservoir{}
		x.of[stats] = r
	}
	r.offer(one)
}

func (r *reservoir) offer(one exemplar) {
	if r.seen == 0 || one.duration > r.slowest.duration {
		r.slowest = one
	}
	at := r.seen
	if r.seen++; at >= len(r.some) {
		at = rand.IntN(r.seen)
	}
	if at < len(r.some) {
		r.some[at] = one
	}
}

// take returns what there is of a region since the last call, in the order of time. A nil x has
// none.
func (x *exemplars) take(stats *regionStats) []metricdata.Exemplar[float64] {
	if x == nil {
		return nil
	}
	x.mu.Lock()
	r := x.of[stats]
	delete(x.of, stats)
	x.mu.Unlock()
	if r == nil {
		return nil
	}
	all := append(make([]exemplar, 0, mostExemplars), r.some[:min(r.seen, len(r.some))]...)
	if !slices.Contains(all, r.slowest) {
		all = append(all, r.slowest)
	}
	slices.SortFunc(all, func(a, b exemplar) int { return cmp.Compare(a.end, b.end) })
	out := make([]metricdata.Exemplar[float64], len(all))
	for i, one := range all {
		out[i] = metricdata.Exemplar[float64]{
			Time:    wallTime(one.end),
			Value:   float64(one.duration) * time.Nanosecond.Seconds(),
			TraceID: slices.Clone(one.trace[:]),
			SpanID:  slices.Clone(one.span[:]),
		}
	}
	return out
}
