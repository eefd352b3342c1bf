package doubt

import (
	"github.com/otelprof/otelprof/internal/replay/hidden"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A program may choose what it does next by how much of it is under way: a limit of requests that
// refuses more (TryAcquire, an atomic counter), a cache that answers in place of a full back end, a
// breaker. In a faster program there is less of it under way, and the choice is another one, while
// the replay repeats the recorded ones. The choice itself leaves no event. But where goroutines go
// on from one landmark with a span of a region, or a goroutine, in some of all cases, and have none
// where as many are under way as never otherwise, the number decides.
//
//	timer | go serve()   300 times, with 0 to 5 others that are served
//	timer | timer        200 times, with 6 others: refused
//
// Were it by chance, or by what the request is, both would meet the same numbers. Where it goes by
// where in its loop a goroutine is, the number goes with that too, and what the goroutine did the
// last time that it came the same way foresees what it does. It is looked up at the landmark behind
// the choice. TestChosenByLoad has a limit, a choice by chance, and one by the way.

const (
	// mostCounted is up to how many that are under way are told apart.
	mostCounted = 256
	// leastChosen is how often each way must be gone at least.
	leastChosen = 20
)

// A crossing is a landmark, and one of the things that goroutines begin behind it.
type crossing struct{ behind, begins uint64 }

// A tally is how often each number was under way.
type tally [mostCounted]int32

// A choice is what was under way when goroutines did not begin something, and when they did, how
// often they began it after they had waited for others, and how often the way that they had come
// foresaw which.
type choice struct {
	not, did         tally
	waited, foreseen int32
	came             map[uint64]bool // whether those who came this way began it the last time
}

// A chooser goes through the landmarks of a recording.
type chooser struct {
	rec   *trace.Recording
	last  []uint64          // of each goroutine
	way   []uint64          // the last eight landmarks of each goroutine, in a byte each
	made  []uint64          // what each goroutine is, 0 for one that was not created in the recording
	begun map[crossing]bool // what begins where
	all   map[crossing]*choice
	waits []bool // whether each goroutine has waited for others since its last landmark
	// How many are under way: spans by region, goroutines by where they are started.
	spans, goroutines []int32
}

// ChosenByLoad reports whether goroutines choose what they do by how much of it is under way.
func ChosenByLoad(p *model.Program) bool {
	x := chooser{rec: p.Rec, begun: map[crossing]bool{}, all: map[crossing]*choice{}}
	// What begins behind which landmark has to be known before it is seen not to.
	from := map[uint64][]uint64{}
	x.walk(func(_ int32, behind, ahead uint64, begins bool) {
		if c := (crossing{behind, ahead}); begins && behind != ahead && !x.begun[c] { // not one after the other
			x.begun[c] = true
			from[behind] = append(from[behind], ahead)
		}
	})
	x.walk(func(g int32, behind, ahead uint64, _ bool) {
		for _, begins := range from[behind] {
			c := crossing{behind, begins}
			of := x.all[c]
			if of == nil {
				of = &choice{came: map[uint64]bool{}}
				x.all[c] = of
			}
			of.come(x.way[g], ahead == begins)
			n := min(max(0, *x.under(begins)), mostCounted-1)
			switch {
			case ahead != begins:
				of.not[n]++
			case x.waits[g]: // it was another number when it chose
				of.waited++
			default:
				of.did[n]++
			}
		}
	})
	for _, c := range x.all {
		if c.byLoad() {
			return true
		}
	}
	return false
}

// come notes which way a goroutine had come, and whether it began it.
func (c *choice) come(way uint64, begins bool) {
	if before, known := c.came[way]; known && before == begins {
		c.foreseen++
	}
	c.came[way] = begins
}

// byLoad reports whether there is a number that all but a twentieth of those who did not begin it
// found, or more, and no more than a twentieth of the others. Where goroutines wait for it to be
// fewer, or where the way foresees it as well, it is no choice by it.
func (c *choice) byLoad() bool {
	var not, did int32
	for n := range c.not {
		not, did = not+c.not[n], did+c.did[n]
	}
	if not < leastChosen || did < leastChosen || float64(c.waited) > (1-hidden.Fairness)*float64(did) {
		return false
	}
	if float64(c.foreseen) >= hidden.Fairness*float64(not+did) {
		return false
	}
	above, reached := not, did
	for n := range c.not[:mostCounted-1] {
		above, reached = above-c.not[n], reached-c.did[n] // those of n + 1 and more
		if float64(above) < hidden.Fairness*float64(not) {
			return false
		}
		if float64(reached) <= (1-hidden.Fairness)*float64(did) {
			return true
		}
	}
	return false
}

// walk calls f for each landmark that a goroutine comes to, with the one before: a span that begins
// or ends, a visit, a wait, or a goroutine that it starts. While f is called, under has what was
// under way before.
func (x *chooser) walk(f func(g int32, behind, ahead uint64, begins bool)) {
	rec := x.rec
	x.last, x.way, x.made, x.waits = make([]uint64, rec.Count), make([]uint64, rec.Count), make([]uint64, rec.Count), make([]bool, rec.Count)
	x.spans, x.goroutines = make([]int32, len(rec.Regions)), make([]int32, len(rec.Sites))
	for e := range rec.All() {
		g, mark, begins := e.G, uint64(0), false
		switch e.Kind {
		case trace.EvOpen:
			mark, begins = landmark(trace.EvOpen, rec.Spans[e.Ref].Region), true
		case trace.EvClose:
			mark = landmark(trace.EvClose, rec.Spans[e.Ref].Region)
		case trace.EvVisit:
			mark = landmark(trace.EvVisit, e.Ref)
		case trace.EvWait:
			if e.Arg != trace.WaitTimer { // for others, which is no choice
				x.waits[g] = x.waits[g] || e.Arg >= trace.WaitMutex && e.Arg <= trace.WaitSelect || e.Arg == trace.WaitOther
				continue
			}
			mark = landmark(trace.EvWait, e.Site)
		case trace.EvCreate:
			if g, mark, begins = e.By, landmark(trace.EvCreate, e.Site), true; g < 0 {
				continue
			}
			x.made[e.G] = mark
		case trace.EvEnd:
			if m := x.made[g]; m != 0 {
				*x.under(m)--
			}
			continue
		default:
			continue
		}
		if x.last[g] != 0 {
			f(g, x.last[g], mark, begins)
		}
		x.last[g], x.way[g], x.waits[g] = mark, x.way[g]<<8|mark*0x9e3779b97f4a7c15>>56, false
		switch {
		case begins:
			*x.under(mark)++
		case e.Kind == trace.EvClose:
			x.spans[rec.Spans[e.Ref].Region]--
		}
	}
}

func landmark(kind trace.EventKind, ref int32) uint64 { return uint64(kind)<<32 | uint64(uint32(ref)) }

// under is how many of what begins at a landmark are under way.
func (x *chooser) under(mark uint64) *int32 {
	if trace.EventKind(mark>>32) == trace.EvOpen {
		return &x.spans[uint32(mark)]
	}
	return &x.goroutines[uint32(mark)]
}
