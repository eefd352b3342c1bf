package schedule

import (
	"slices"

	"golang.org/x/exp/trace"

	"github.com/otelprof/otelprof/internal/mark"
)

// A goroutine has one clock for each class, which runs while that is where its time goes.
type goroutine struct {
	class   class
	assists bool // the garbage collector
	since   trace.Time
	clocks  times
	open    []*region  // the latest last
	waits   trace.Time // since when, where class is a reason

	// waiting is what the goroutine waits for since counted, without a region if that does not
	// count.
	waiting wait
	counted trace.Time
}

// A region is open on a goroutine. What its clocks show at the end, less what they showed at the
// start, is the region's time.
type region struct {
	key       regionKey
	spanID    uint64
	traceID   [16]byte // zeros unless the span is sampled
	lost      bool     // it is not known when the region ended
	goroutine *goroutine
	start     times
	// above is the time in which later regions were open, up to top for the one that stands
	// directly on this one now.
	above times
	// below is what the clocks showed when the region came to stand on the one below it.
	below times
	// awaited is what others waited for it in its time, since it began.
	began   trace.Time
	awaited int64
}

// advance moves the clocks on.
func (g *goroutine) advance(at trace.Time) {
	c := g.class
	if c == running && g.assists {
		c = forGC
	}
	g.clocks[c] += int64(at - g.since)
	g.since = at
}

// waitsForOthers reports whether a goroutine waits for what others hold or have to do. One that
// waits outside of all regions waits for work, unless for a lock.
func (g *goroutine) waitsForOthers() bool {
	return g.class == forLock || len(g.open) > 0 && slices.Contains(forOthers, g.class)
}

// ends counts a wait of so long that the goroutine ends: as far as its regions were open, it waited
// for them.
func (g *goroutine) ends(wait, at trace.Time) {
	for _, r := range g.open {
		r.awaited += int64(min(wait, at-r.began))
	}
}

func (g *goroutine) start(at trace.Time, key regionKey, s mark.Span) *region {
	r := &region{key: key, spanID: s.SpanID, traceID: s.Trace, goroutine: g, start: g.clocks, below: g.clocks, began: at}
	g.open = append(g.open, r)
	return r
}

// close takes the region off its goroutine, whose clocks must have been advanced, and returns its
// time. Regions mostly end in the order of a stack; where one does not, those above it stand on the
// one below it from now on.
func (r *region) close() (total, self times) {
	g := r.goroutine
	i := slices.Index(g.open, r)
	if i > 0 {
		under := g.open[i-1]
		under.above.add(&g.clocks)
		under.above.sub(&r.below)
	}
	if i+1 < len(g.open) {
		over := g.open[i+1]
		r.above.add(&g.clocks)
		r.above.sub(&over.below)
		over.below = g.clocks
	}
	g.open = slices.Delete(g.open, i, i+1)
	total = g.clocks
	total.sub(&r.start)
	self = total
	self.sub(&r.above)
	return total, self
}
