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
	byTimer bool // it runs what a timer calls, as that of a context with a deadline does
	since   trace.Time
	clocks  times
	open    []*region  // the latest last
	waits   trace.Time // since when, where class is a reason
	site    line       // where, if that is a select statement and it has started others

	// within are the regions that were open where the goroutine was started. What it does is theirs
	// unless it opens regions itself. Helped and served are what goroutines without regions did
	// while it waited for them, those started for what it works for, and others; given and lent is
	// what it has counted for the one that waits for it.
	within         []*region
	opened         bool
	helped, served int64
	given, lent    int64

	crew     *crew   // that it belongs to, nil for none
	starts   *crew   // that it starts now, nil before
	pieces   uint32  // of its work that are done, by progress points passed
	steps    uint32  // begins and ends of its regions, and its pieces
	attempt  uint32  // that it is of in its crew
	timedOut *Region // that counts the last one of its regions as timed out

	// waiting is what the goroutine waits for since counted, without a region if that does not
	// count.
	waiting wait
	counted trace.Time

	wrote trace.Time // when it last wrote to the network, if it has not waited for an answer since
	moved moved      // the last region that it has ended which began elsewhere
}

// moved is a region that ended on another goroutine, at a time, and until when that would be held
// by a tenth of the region's time. Of is nil for none.
type moved struct {
	of       *Region
	at, held trace.Time
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
	helped  int64 // what goroutines without regions did while it waited for them, of those it started
	served  int64 // and of others
	ended   bool
	late    bool // it began when the work was done that its goroutine was started for
	answers bool // its goroutine has ended a wait of the starter meanwhile
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

// serves are the open regions that the goroutine's work is for.
func (g *goroutine) serves() []*region {
	if g.opened {
		return g.open
	}
	g.within = slices.DeleteFunc(g.within, func(r *region) bool { return r.ended })
	return g.within
}

// ends counts a wait of another goroutine that this one ends: as far as regions of this one were
// open, the other waited for them. What both work for does not wait for itself.
func (g *goroutine) ends(other *goroutine, at trace.Time) {
	theirs := other.serves()
	for _, r := range g.serves() {
		if !slices.Contains(theirs, r) {
			r.awaited += int64(min(at-other.waits, at-r.began))
		}
	}
}

// helps counts what the goroutine, which has no regions itself, did while another one waited for
// it.
func (g *goroutine) helps(other *goroutine, wait int64) {
	if g.opened || other.class != forLock && other.class != forCond {
		return
	}
	helped, served := &other.helped, &other.served
	if innermost := other.innermost(); innermost != nil {
		helped, served = &innermost.helped, &innermost.served
	}
	did, foreign := g.worked()+g.helped, g.served
	theirs := other.serves()
	if slices.ContainsFunc(g.serves(), func(r *region) bool { return slices.Contains(theirs, r) }) {
		part := min(wait, did-g.given)
		*helped += part
		g.given, wait = did, wait-part
	} else {
		foreign += did
	}
	*served += min(wait, max(0, foreign-g.lent))
	g.lent = max(g.lent, foreign)
}

// worked is for how long the goroutine has neither waited for others nor for a processor.
func (g *goroutine) worked() (sum int64) {
	for c, t := range g.clocks {
		if c := class(c); c != unknown && c != runnable && !slices.Contains(forOthers, c) {
			sum += t
		}
	}
	return sum
}

func (g *goroutine) start(at trace.Time, key regionKey, s mark.Span) *region {
	r := &region{key: key, spanID: s.SpanID, traceID: s.Trace, goroutine: g, start: g.clocks, below: g.clocks, began: at, late: g.crew.isOver()}
	g.open, g.opened = append(g.open, r), true
	g.steps++
	return r
}

// passes ends a piece of the goroutine's work.
func (g *goroutine) passes() {
	g.pieces++
	g.steps++
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
	r.ended = true
	g.steps++
	total = g.clocks
	total.sub(&r.start)
	self = total
	self.sub(&r.above)
	return total, self
}
