package replay

import "slices"

// A token bucket by a channel, in a program that marks no operations. A goroutine sends at each of its ticks, but only where there is room
// (select with a default), and workers receive first. The trace shows the ticks that let a goroutine go on. Of the others it does
// not show whether their token was stored, and taken later without a wait, or refused. So it shows neither where a goroutine that comes sooner
// finds one, nor for how many of them there is one: in truth a faster region may bring nothing, if none was refused, and the replay of waits
// as long as they were shows what it brings if there is always one. See select_default.go for programs that mark operations.
//
// Goroutines that wait for the next tick itself are alike, as where what has come until then is written at once: a goroutine that comes sooner
// is let go on by another tick. There the waits may become shorter, too.

const (
	// leastDrips is how often such a goroutine must have let others go on, in parts of the visits of a progress point, for these to depend
	// on it, and leastDripping how often at all.
	leastDrips    = 0.01
	leastDripping = 3
	// mostSpilled is which part of the ticks may let no goroutine go on without mattering for regions that are faster: no more could be gained.
	mostSpilled = modelError
)

// A dripper is a goroutine outside of requests whose waits timers end, or goroutines that timers begin, and that tries to send in between.
type dripper struct {
	ticks, others int // waits that timers ended, or something else
	dripping      int // ticks at which it let at least one go on
	sent          bool
	several       bool    // it may let several go on at a tick
	drips         []int32 // the goroutines that it has let go on
}

// spill returns which part of the ticks lets no goroutine go on; with several, the mean over the goroutines that it lets go on.
func (d *dripper) spill() float64 {
	if !d.several {
		return 1 - float64(d.dripping)/float64(d.ticks)
	}
	all := slices.Clone(d.drips)
	slices.Sort(all)
	return 1 - float64(len(d.drips))/(float64(d.ticks)*float64(len(slices.Compact(all))))
}

// buckets describes the ticks that goroutines wait for.
type buckets struct {
	drippers map[int32]bool
	spilled  map[string]float64 // by progress point that depends on them: which part of the ticks let no goroutine go on
	waited   float64            // which part of the time goroutines are there they wait for ticks
	wait     float64            // for how long, ns
	// slower means that each tick is waited for: a region that is faster brings nothing, but one that is slower may miss some.
	slower bool
	// replayed means that the waits as long as they were are among the alternatives.
	replayed bool
}

// buckets finds the token buckets and the like in a recording of the program that marks no operations, nil if there are none that matter.
func (p *program) buckets(rec *Recording) *buckets {
	u := drippers{rec: rec, requests: rec.inRequests(), waits: make([]int32, rec.count), who: make([]int32, rec.count), all: map[int32]*dripper{}}
	for i := range u.who {
		u.who[i] = int32(i)
	}
	for i := range rec.sites {
		is := classify(rec.sites[i])
		u.tries, u.tells = append(u.tries, is[trySender]), append(u.tells, is[teller])
	}
	for i := range rec.events {
		rec.restsAt(i)
		u.event(&rec.events[i])
	}
	b := &buckets{slower: true, drippers: map[int32]bool{}, spilled: map[string]float64{}}
	for who, d := range u.all {
		if len(d.drips) < leastDripping || 20*d.others > d.ticks {
			continue
		}
		spilled := d.spill()
		b.slower = b.slower && spilled <= mostSpilled
		b.drippers[who] = true
		waited, wait := u.waitsFor(who)
		b.waited, b.wait = max(b.waited, waited), max(b.wait, wait)
		for point, n := range p.dependOn(rec, d.drips) {
			if name := p.points[point].name; float64(len(d.drips)) >= leastDrips*float64(n) {
				b.spilled[name] = max(b.spilled[name], spilled, 0)
			}
		}
	}
	if len(b.spilled) == 0 {
		return nil
	}
	return b
}

// drippers finds those of a recording.
type drippers struct {
	rec      *Recording
	requests []bool  // by goroutine
	waits    []int32 // by goroutine: why it waits
	tries    []bool  // by site
	tells    []bool  // by site
	who      []int32 // by goroutine: a number, the same for all that timers have begun at one place
	all      map[int32]*dripper
}

func (u *drippers) event(e *event) {
	switch {
	case e.kind == evExists:
		u.waits[e.g] = e.ref
	case e.kind == evWait:
		u.waits[e.g] = e.arg
	case e.kind == evCreate && e.by < 0 && !u.requests[e.g]:
		u.who[e.g] = u.rec.count + e.site
		u.of(e.g).tick()
	case e.kind != evReady:
	case e.by < 0:
		if u.requests[e.g] {
			break
		}
		switch d := u.of(e.g); u.waits[e.g] {
		case waitTimer, waitSelect, waitReceive:
			d.tick()
		default:
			d.others++
		}
	default:
		if !u.requests[e.g] {
			u.of(e.g).others++
		}
		if u.drips(e) {
			u.of(e.by).drip(e.g, u.tells[e.site])
		}
	}
}

// drips reports whether a goroutine outside of requests lets one of a request go on, other than by a lock or a send that waits for room.
func (u *drippers) drips(e *event) bool {
	if u.requests[e.by] || !u.requests[e.g] {
		return false
	}
	if u.tells[e.site] { // what timers begin closes the channels of contexts
		return u.who[e.by] == e.by
	}
	return u.tries[e.site] && (u.waits[e.g] == waitReceive || u.waits[e.g] == waitSelect)
}

// waitsFor returns which part of the time that goroutines are there they wait for one that lets them go on, and for how long each time, ns.
func (u *drippers) waitsFor(who int32) (part, each float64) {
	first, last, since := make([]int64, u.rec.count), make([]int64, u.rec.count), make([]int64, u.rec.count)
	is := make([]bool, u.rec.count)
	var waited, n int64
	for i := range u.rec.events {
		u.rec.restsAt(i)
		e := &u.rec.events[i]
		if first[e.g] == 0 {
			first[e.g], since[e.g] = e.at, e.at
		}
		last[e.g] = e.at
		switch {
		case e.kind == evWait:
			since[e.g] = e.at
		case e.kind == evReady && e.by >= 0 && u.who[e.by] == who && u.drips(e):
			waited, n, is[e.g] = waited+e.at-since[e.g], n+1, true
		}
	}
	var there int64
	for g := range is {
		if is[g] {
			there += last[g] - first[g]
		}
	}
	return float64(waited) / float64(max(1, there)), float64(waited) / float64(max(1, n))
}

func (u *drippers) of(g int32) *dripper {
	d := u.all[u.who[g]]
	if d == nil {
		d = &dripper{}
		u.all[u.who[g]] = d
	}
	return d
}

func (d *dripper) tick() {
	d.ticks++
	d.sent = false
}

// drip notes that a goroutine is let go on, by what may be for all.
func (d *dripper) drip(g int32, tells bool) {
	if d.ticks == 0 {
		return
	}
	if !d.sent {
		d.dripping++
	}
	d.several = d.several || d.sent || tells
	d.sent = true
	d.drips = append(d.drips, g)
}

// inRequests returns which goroutines have spans or visit progress points.
func (r *Recording) inRequests() []bool {
	is := make([]bool, r.count)
	for i := range r.events {
		r.restsAt(i)
		switch e := &r.events[i]; e.kind {
		case evOpen, evClose, evVisit:
			is[e.g] = true
		}
	}
	return is
}

// dependOn returns the progress points that goroutines visit which were let go on, or which those have started or let go on in turn, other
// than by a lock, and how often all goroutines visit each.
func (p *program) dependOn(rec *Recording, drips []int32) map[int32]int {
	type edge struct{ from, to int32 }
	after := map[int32][]int32{}
	seen := map[edge]bool{}
	waits := make([]int32, rec.count) // sites
	visits := make([]int, len(p.points))
	points := map[int32][]int32{}
	visit := func(g, point int32) {
		visits[point]++
		if e := (edge{g, ^point}); !seen[e] {
			seen[e] = true
			points[g] = append(points[g], point)
		}
	}
	for i := range rec.events {
		rec.restsAt(i)
		e := &rec.events[i]
		switch e.kind {
		case evExists, evWait:
			waits[e.g] = e.site
		case evVisit:
			visit(e.g, e.ref)
		case evClose:
			if point := p.pointOf[e.ref]; point >= 0 {
				visit(e.g, point)
			}
		case evCreate, evReady:
			x := edge{e.by, e.g}
			if e.by < 0 || seen[x] || e.kind == evReady && rec.sites[waits[e.g]].excludes() {
				continue
			}
			seen[x] = true
			after[e.by] = append(after[e.by], e.g)
		}
	}
	depend := map[int32]int{}
	reached := map[int32]bool{}
	pending := slices.Clone(drips)
	for len(pending) > 0 {
		g := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if reached[g] {
			continue
		}
		reached[g] = true
		for _, point := range points[g] {
			depend[point] = visits[point]
		}
		pending = append(pending, after[g]...)
	}
	return depend
}

// unlimited has goroutines wait for tokens for as long as they did.
func (b *buckets) unlimited(rec *Recording, infer bool) *program {
	dripping := *rec
	dripping.drippers = b.drippers
	return newProgram(&dripping, infer)
}

// bound has an answer span from none, as where no token is refused, to no waits for ticks at all, but no more than the ticks allow that let
// no goroutine go on.
func (b *buckets) bound(w *window, q question) {
	if b == nil {
		return
	}
	spilled, ok := b.spilled[q.point]
	if !ok || spilled <= mostSpilled && q.speedup >= 0 {
		return
	}
	for _, m := range []Metric{Throughput, LatencyP50, LatencyP90, LatencyP99} {
		q.metric = m
		x, ok := w.effects[q]
		if !ok {
			continue
		}
		lower(&x.least, min(0, x.reduction()))
		raise(&x.most, max(0, x.reduction()))
		part := b.waited
		if m != Throughput {
			part = b.wait / x.before
		}
		switch {
		case q.speedup > 0 && (x.most > leastGain || !b.replayed):
			x.most = min(q.speedup, x.most) + part
			if !b.replayed {
				x.most = q.speedup + part
			}
			if m == Throughput {
				x.most = min(x.most, spilled)
			}
			x.most = max(min(1, x.most), x.reduction())
		case q.speedup < 0 && x.least < -leastGain: // it may wait for one more tick each time
			x.least -= 1 - spilled
		}
		w.effects[q] = x
	}
}

// leastGain is what a region must bring at least where waits for ticks are as long as they were, for these to become shorter.
const leastGain = 0.001
