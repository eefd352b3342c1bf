package doubt

import (
	"maps"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A goroutine waits for a result, or for others to leave (contention): for a lock, a place, a
// connection of a pool, room in a channel. Where it is not known for which object, the replay has
// each wait end by what ended it in the recording. For a result that is right. For others it is
// not: in the faster program another one comes first, or the lock is free. So such waits are taken
// out of the order, and change with what others did meanwhile:
//
//	recorded        client 2   |--3 ms--|~~ 2 ms ~~|     client 1 releases, after 1.5 ms in "query"
//	"query" * 0.5   client 2   |--3 ms--|~.8~|           2 ms * (1 - 0.75 * 0.5)^2
//
// Waits go with the square of what others hold the resource for, at a rate that stays (Pollaczek
// and Khinchine: a shorter hold is met less often, and for less long). That bounds a faster region
// from above. A region that is slower has goroutines come less often, so that waits which it has no
// part in may shrink by as much.
//
// Whom a wait is for is followed back from what ended it, along the goroutines that ended one
// another's waits (critical path). It was for a result where that leads back to the waiter, since
// it last began to run. TestContention has both.
//
// What is missed: a queue whose server was busy shows no wake-up by who put something in, so that
// the wait for its answer looks like contention. The interval is wider then, and as right.

// Contention is waits at one place in the program for what others have.
type Contention struct {
	Time  int64           // of all goroutines together, ns
	By    map[int32]int64 // of that, in which region who was waited for was, ns
	whole int64           // with the waits there for results
}

// left is which part of the waits is left by a change: of regions that are faster by their parts of
// the waits, and of one that is slower by the part that it has not.
func (c *Contention) left(change sim.Change) float64 {
	left, slower := 1.0, 0.0
	for region, f := range change.Factors {
		part := float64(c.By[region]) / float64(c.Time)
		if f <= 1 {
			left -= part * (1 - f)
		} else {
			slower = max(slower, (f-1)*(1-part))
		}
	}
	left = max(0, left-slower)
	return left * left
}

// A stretch is what a goroutine did between two changes of its state.
type stretch struct {
	from, to int64
	by       int32 // who ended the wait that it was; none where it did something, or waited outside
	region   int32 // of the innermost span, none for none
}

// A course is what a goroutine did last, the latest behind.
type course struct {
	past    []stretch
	from    int64 // when it began what it does now
	resumed int64 // when its last wait ended
	waits   bool  // for another goroutine
	site    int32
	mutual  bool // it waits for a lock, which no waiter has a part in
	open    []int32
}

const (
	// mostPast is how many stretches of a goroutine are kept, twice as many at most.
	mostPast = 64
	// mostFollowed is how many stretches a wait is followed back for.
	mostFollowed = 256
)

// A follower goes through the events of a recording.
type follower struct {
	rec   *trace.Recording
	all   []course
	ended []bool // spans
	found map[int32]*Contention
	locks []bool // by site
}

// Contentions returns the places where goroutines mostly wait for what others have, by site.
func Contentions(rec *trace.Recording) map[int32]*Contention {
	f := &follower{rec: rec, all: make([]course, rec.Count), ended: make([]bool, len(rec.Spans)), found: map[int32]*Contention{}, locks: trace.BySite(rec.Sites, trace.Site.Excludes)}
	for i := range f.all {
		f.all[i].from, f.all[i].resumed = rec.Start, rec.Start
	}
	for e := range rec.All() {
		f.event(e)
	}
	for site, c := range f.found {
		if 2*c.Time < c.whole {
			delete(f.found, site)
		}
	}
	return f.found
}

func (f *follower) event(e *trace.Event) {
	c := &f.all[e.G]
	switch e.Kind {
	case trace.EvCreate:
		c.from, c.resumed = e.At, e.At
		c.add(stretch{e.At, e.At, e.By, trace.None})
	case trace.EvOpen:
		f.end(c, e.At, trace.None)
		c.open = append(c.open, e.Ref)
	case trace.EvClose:
		f.end(c, e.At, trace.None)
		f.ended[e.Ref] = true
	case trace.EvWait:
		f.end(c, e.At, trace.None)
		c.waits, c.site, c.mutual = true, e.Site, f.locks[e.Site]
	case trace.EvReady:
		by := int32(trace.None)
		if c.waits && e.By >= 0 && e.By != e.G {
			by = e.By
			f.judge(e.G, by, e.At)
		}
		f.end(c, e.At, by)
		c.waits, c.resumed = false, e.At
	}
}

// end ends what a goroutine does.
func (f *follower) end(c *course, at int64, by int32) {
	if at > c.from || by != trace.None {
		c.add(stretch{c.from, at, by, f.region(c)})
	}
	c.from = at
}

func (c *course) add(s stretch) {
	if len(c.past) == 2*mostPast {
		c.past = append(c.past[:0], c.past[mostPast:]...)
	}
	c.past = append(c.past, s)
}

// region is that of the innermost span that is open on a goroutine.
func (f *follower) region(c *course) int32 {
	for n := len(c.open); n > 0; n-- {
		if last := c.open[n-1]; !f.ended[last] {
			return f.rec.Spans[last].Region
		}
		c.open = c.open[:n-1]
	}
	return trace.None
}

// judge books the wait of a goroutine that another one ends, if it was for what others have.
func (f *follower) judge(g, by int32, at int64) {
	c := &f.all[g]
	began, took := c.from, at-c.from
	if took <= 0 {
		return
	}
	of := f.found[c.site]
	if of == nil {
		of = &Contention{By: map[int32]int64{}}
		f.found[c.site] = of
	}
	of.whole += took
	if !c.mutual && f.follow(by, at, c.resumed, func(who int32, _ stretch) bool { return who == g }) {
		return
	}
	regions, blamed := map[int32]int64{}, int64(0)
	within := int32(trace.None)
	f.follow(by, at, began, func(_ int32, s stretch) bool {
		if s.region != trace.None {
			within = s.region
		}
		if d := s.to - max(s.from, began); s.by == trace.None && within != trace.None && d > 0 {
			regions[within] += d
			blamed += d
		}
		return false
	})
	if 2*blamed < took { // who has it is in no span
		return
	}
	of.Time += took
	for region, d := range regions {
		of.By[region] += d
	}
}

// follow goes back from a time on the goroutine that ran then to the one that ended its wait, and
// so on, until since, and passes each stretch, cut off at the time from which it is looked at. It
// ends when done reports true, and returns that.
func (f *follower) follow(who int32, at, since int64, done func(who int32, s stretch) bool) bool {
	for range mostFollowed {
		if at < since {
			return false
		}
		s, ok := f.all[who].at(at)
		if !ok {
			return false
		}
		if s.by == trace.None && s.region == trace.None && s.from == f.all[who].from {
			s.region = f.region(&f.all[who])
		}
		s.to = min(s.to, at)
		if done(who, s) {
			return true
		}
		at = s.from
		if s.by != trace.None { // what it did before is not why it waited
			who, at = s.by, s.to
		}
	}
	return false
}

// at is the stretch that ends at a time, or in which it is.
func (c *course) at(at int64) (stretch, bool) {
	if c.from < at {
		return stretch{c.from, at, trace.None, trace.None}, true
	}
	for _, s := range slices.Backward(c.past) {
		if s.from < at || s.by != trace.None && s.to <= at {
			return s, true
		}
	}
	return stretch{}, false
}

// Contended returns which part of the window goroutines wait in the recorded order at places of
// contention, all of them together, at most 1.
func Contended(p *model.Program, found map[int32]*Contention) float64 {
	return p.PartWaited(func(_ model.Place, o *model.Op) bool { return found[o.Site] != nil })
}

// Contend takes waits at places of contention out of the recorded order, in place: each takes as
// long as it did, as a region of its own. It returns the contention by those regions.
func Contend(p *model.Program, found map[int32]*Contention) map[int32]*Contention {
	of, sets := map[int32]*Contention{}, map[int32]uint16{}
	given := make([]bool, p.Tokens)
	for _, o := range p.All() {
		if o.Kind != model.OpWait || found[o.Site] == nil {
			continue
		}
		set, known := sets[o.Site]
		if !known {
			if len(p.Sets) == 1<<16-1 { // an op has the number of its set in 16 bits
				continue
			}
			set = uint16(len(p.Sets))
			region := int32(len(p.Rec.Regions) + len(sets))
			p.Sets = append(p.Sets, []int32{region})
			sets[o.Site], of[region] = set, found[o.Site]
		}
		given[o.Arg] = true
		o.Kind, o.Set = model.OpOut, set
	}
	Unheard(p, given)
	return of
}

// Unheard has wake-ups that nothing waits for any more do nothing.
func Unheard(p *model.Program, given []bool) {
	for _, o := range p.All() {
		if o.Kind == model.OpWake && given[o.Arg] {
			o.Kind, o.D = model.OpRun, 0
		}
	}
}

// Change is what a change of the program is in the alternative: waits for what others have, where
// they are regions of their own, change with what others have it for.
func (a *Alternative) Change(c sim.Change) sim.Change {
	c.Pace = a.Pace
	if len(a.Waits) == 0 || len(c.Factors) == 0 {
		return c
	}
	all := maps.Clone(c.Factors)
	for region, w := range a.Waits {
		all[region] = w.left(c)
	}
	c.Factors = all
	return c
}
