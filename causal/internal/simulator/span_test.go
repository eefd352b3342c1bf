package simulator

import (
	"slices"

	"github.com/otelprof/otelprof/causal/internal/ledger"
)

// A Span is a piece of work that has a name. It ends where [Span.End] says.
type Span struct {
	goroutine *Goroutine
	region    ledger.RegionID
	start     int64
	frame     *ledger.Frame
	inside    bool   // the region that is really shorter
	below     bool   // a span of it on the same goroutine
	number    uint64 // in a recording, 0 for none
}

// Start starts a span below the goroutine's last one that is open.
func (g *Goroutine) Start(region ledger.RegionID) *Span { return g.StartBelow(nil, region) }

// StartBelow starts a span below one of another goroutine, nil for none.
func (g *Goroutine) StartBelow(parent *Span, region ledger.RegionID) *Span {
	w := g.world
	c := &w.config
	sp := &Span{goroutine: g, region: region, start: w.now}
	sp.inside, sp.below = region == c.Shorter.Region || parent != nil && (parent.inside || parent.below), g.inside > 0
	if sp.inside {
		g.inside++
	}
	above := parent
	if n := len(g.spans); above == nil && n > 0 {
		above = g.spans[n-1]
	}
	w.tape.open(sp, above)
	g.spans = append(g.spans, sp)
	if c.Setting == nil {
		return sp
	}
	var frame *ledger.Frame
	if parent != nil && parent.frame != nil && !w.without(Implied) {
		frame = parent.frame
	}
	if g.ledger == nil && frame != nil && !w.without(Inheritance) {
		g.ledger = frame.Ledger().Fork(c.Setting, w.now)
	}
	sp.frame = g.books().Begin(c.Setting, w.now, region, frame, region == c.Point)
	return sp
}

// End ends the span, on any goroutine. Then that one pays.
func (sp *Span) End(on *Goroutine) {
	g := sp.goroutine
	w := g.world
	if sp.inside {
		g.inside--
	}
	if i := slices.Index(g.spans, sp); i >= 0 {
		g.spans = slices.Delete(g.spans, i, i+1)
	}
	w.tape.close(sp, on)
	s := w.config.Setting
	var took ledger.Duration
	if sp.frame != nil {
		took = sp.frame.End(s, w.now, on != g)
	}
	if sp.region == w.config.Point {
		w.arrive(w.now - sp.start)
		if s != nil {
			took.RecordAt(s, 0)
		}
	}
	on.pay()
}

func (w *World) arrive(duration int64) {
	a := Arrival{Time: w.now, Duration: duration}
	if s := w.config.Setting; s != nil && s.Growth() != nil {
		a.Growth = s.Growth().At(w.now)
	}
	w.arrivals = append(w.arrivals, a)
	w.tape.visit()
}

// Span runs f in a span.
func (g *Goroutine) Span(region ledger.RegionID, f func()) {
	sp := g.Start(region)
	f()
	sp.End(g)
}
