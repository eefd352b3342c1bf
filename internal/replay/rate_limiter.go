package replay

import (
	"cmp"
	"slices"
)

// A rate limiter (token bucket) lets one goroutine go on each interval, and some more after a pause. One that comes too early waits for a
// timer, but for how long depends on those before: in a faster program for longer. A recording has the waits; goroutines that did not have to
// wait are inferred from what they did before and behind, as a piece of code that asks a limiter asks it each time. A limiter is taken for one if
// it would have had just the same goroutines wait, for as long as they did.

// A pace is a rate limiter.
type pace struct {
	interval int64
	burst    int32 // how many go on at once after a pause
	next     int64 // when the next one goes on, since the window's beginning; in the past where several can
}

const (
	// mostBurst is the largest burst that is looked for.
	mostBurst = 64
	// leastPaced is how many waits must have begun while another one was under way, to find an interval.
	leastPaced = 5
	// paced is which part of the requests that waited, and of those without a wait, a limiter must be right about.
	paced = 0.9
	// coarse is in how many steps up and down the interval is looked for, a tenth of it in all, and again in between.
	coarse = 24
	// mostLate is how late a timer of the runtime may be: what waits for the network and timers counts in ms.
	mostLate = 1_200_000
)

// A passage is where a goroutine asks a limiter.
type passage struct {
	place       // of the wait, or of the op that the request would be behind
	at    int64 // since the window's beginning
	until int64 // when the wait was over, -1 for none
}

// paces puts rate limiters in place of the waits for timers that they were.
func (b *builder) paces() {
	p := b.p
	used := p.usedAt()
	waits := map[int32][]place{}
	var order []int32
	note := func(key int32, at place) {
		if waits[key] == nil {
			order = append(order, key)
		}
		waits[key] = append(waits[key], at)
	}
	n := int32(len(p.rec.sites))
	for l := range p.lists {
		for k := range p.lists[l].ops {
			if o := &p.lists[l].ops[k]; o.kind == opOut && o.site != 0 && (o.reason == waitTimer || o.reason == waitReceive || o.reason == waitSelect) {
				note(used[o.site], place{int32(l), int32(k)}) // of all that call what waits there, or else of one place alone
				note(n+o.site, place{int32(l), int32(k)})
			}
		}
	}
	slices.Sort(order)
	edits := map[int32]*edit{}
	for _, key := range order {
		at := waits[key]
		if slices.ContainsFunc(at, func(at place) bool { return p.op(at).kind != opOut }) {
			continue
		}
		if found, all := p.limiter(at); found != nil {
			object := b.newObject(objectInfo{kind: objectPace, pace: *found})
			for _, a := range all {
				o := op{kind: opPace, arg: object, at: a.at + p.rec.Start, late: -1}
				if a.until >= 0 {
					wait := p.op(a.place)
					o.at, o.site, o.late, o.set, o.free, o.loose = wait.at, wait.site, wait.late, wait.set, wait.free, wait.loose
					*wait = o
					continue
				}
				before := p.op(a.place)
				o.set, o.free, o.loose = before.set, before.free, before.loose
				e := editOf(edits, a.list)
				e.after[int(a.op)] = append(e.after[int(a.op)], o)
			}
		}
	}
	for l, e := range edits {
		e.apply(&p.lists[l])
	}
}

// limiter returns the rate limiter that some waits are for and all that ask it, nil if there is none that would have made them.
func (p *program) limiter(waits []place) (*pace, []passage) {
	interval, ok := p.interval(waits)
	if !ok {
		return nil, nil
	}
	all := p.passages(waits)
	x := fitting(all, interval)
	if x == nil || !x.explains(all) {
		return nil, nil
	}
	for n, a := range all {
		if a.until >= 0 {
			x.next = a.until - int64(n)*x.interval
			break
		}
	}
	return x, all
}

// fitting returns the limiter that is right about most requests, nil for none that is good. The interval is near what it seems.
func fitting(all []passage, interval int64) *pace {
	var best *pace
	most, least := 0, int64(0)
	try := func(x pace) {
		f, off := x.fit(all)
		if n := f.right[fitPassed] + f.right[fitWaited]; f.within(paced) && (n > most || n == most && off < least) {
			best, most, least = &x, n, off
		}
	}
	for burst := int32(1); burst <= mostBurst; burst++ {
		for k := int64(-coarse); k <= coarse; k++ {
			try(pace{interval: interval + k*interval/(10*coarse), burst: burst})
		}
	}
	if best == nil {
		return nil
	}
	for around, k := *best, int64(-coarse); k <= coarse; k++ {
		try(pace{interval: around.interval + k*interval/(10*coarse*coarse), burst: around.burst})
	}
	return best
}

// interval returns after which time the next of the goroutines that wait at the same time goes on, if that is always the same.
func (p *program) interval(waits []place) (interval int64, ok bool) {
	ends := make([]*op, len(waits))
	for i, at := range waits {
		ends[i] = p.op(at)
	}
	slices.SortStableFunc(ends, func(a, b *op) int { return cmp.Compare(a.at, b.at) })
	var steps []int64
	for i := 1; i < len(ends); i++ {
		if ends[i].at-ends[i].d < ends[i-1].at {
			steps = append(steps, ends[i].at-ends[i-1].at)
		}
	}
	if len(steps) < leastPaced {
		return 0, false
	}
	interval = median(steps, 0)
	n := 0
	for _, d := range steps {
		if max(d-interval, interval-d) <= tolerance(interval) {
			n++
		}
	}
	return interval, interval >= shortestInterval && float64(n) >= paced*float64(len(steps))
}

// tolerance is how much a wait may be longer than by the limiter, ns.
func tolerance(interval int64) int64 { return min(interval/2, mostLate) }

// passages returns when a limiter is asked: where goroutines wait, and where they do the same as before and behind a wait.
func (p *program) passages(waits []place) []passage {
	is := map[place]bool{}
	lists := map[int32]bool{}
	for _, at := range waits {
		is[at], lists[at.list] = true, true
	}
	sends := p.sentTo()
	around := map[[2]anchor]bool{}
	var all []passage
	each := func(f func(l int32, last, next anchor, behind int32, wait int32)) {
		for l := range p.lists {
			var last anchor
			behind, wait := int32(-1), int32(-1)
			for k := range p.lists[l].ops {
				at := place{int32(l), int32(k)}
				if is[at] {
					wait = at.op
					continue
				}
				if next, ok := p.landmark(p.op(at), sends); ok {
					f(at.list, last, next, behind, wait)
					last, behind, wait = next, at.op, -1
				}
			}
		}
	}
	each(func(_ int32, last, next anchor, behind, wait int32) {
		if wait >= 0 && behind >= 0 {
			around[[2]anchor{last, next}] = true
		}
	})
	each(func(l int32, last, next anchor, behind, wait int32) {
		if wait < 0 && behind >= 0 && around[[2]anchor{last, next}] {
			at := place{l, behind}
			all = append(all, passage{at, p.op(at).at - p.rec.Start, -1})
		}
	})
	for _, at := range waits {
		o := p.op(at)
		all = append(all, passage{at, o.at - o.d - p.rec.Start, o.at - p.rec.Start})
	}
	slices.SortStableFunc(all, func(a, b passage) int { return cmp.Compare(a.at, b.at) })
	return all
}

// landmark returns what an op is that is done each time in a piece of code, whether it waits or not.
func (p *program) landmark(o *op, sends map[int32]bool) (anchor, bool) {
	switch o.kind {
	case opRun, opWake, opChoose, opWrite:
		return anchor{}, false
	case opReceive:
		if !sends[o.arg] { // of a timer
			return anchor{}, false
		}
	case opOpen, opClose:
		return anchor{kind: o.kind, arg: p.rec.spans[o.arg].region}, true
	case opSpawn:
		return anchor{kind: o.kind, site: p.lists[o.arg].site}, true
	case opWait, opOut:
		return anchor{kind: o.kind, site: o.site}, true
	}
	return anchor{kind: o.kind, arg: o.arg}, true
}

// explains reports whether waits are over when the limiter says, by less than what their lengths differ by: by half of it at most. Where they
// are all of one length they are no waits for a limiter.
func (x pace) explains(all []passage) bool {
	var off, lengths []float64
	x.each(all, func(a *passage, until int64) {
		if a.until >= 0 {
			off, lengths = append(off, float64(a.until-until)), append(lengths, float64(a.until-a.at))
		}
	})
	return len(off) > 0 && 2*spread(off) <= spread(lengths)
}

// each calls f with each request, and until when it should have waited, as one that was later or earlier was seen to be.
func (x *pace) each(all []passage, f func(a *passage, until int64)) (off int64) {
	known := false
	for i := range all {
		a := &all[i]
		if !known {
			known = a.until >= 0
			x.next = a.until + x.interval
			continue
		}
		until := x.ask(a.at)
		f(a, until)
		if a.until < 0 {
			continue
		}
		late := a.until - until
		wrong := late - min(max(0, late), tolerance(x.interval))
		x.next += wrong
		off += max(wrong, -wrong)
	}
	return off
}

// fit compares a limiter with the requests to it, and returns by how much it is off in all: waits are over late, but never early.
func (x pace) fit(all []passage) (f fit, off int64) {
	off = x.each(all, func(a *passage, until int64) {
		if a.until < 0 {
			f.note(fitPassed, until-a.at <= tolerance(x.interval))
			return
		}
		late := a.until - until
		f.note(fitWaited, max(late, -late) <= tolerance(x.interval))
	})
	return f, off
}

// ask returns until when a goroutine that asks at a time has to wait.
func (x *pace) ask(at int64) (until int64) {
	x.next = max(x.next, at-int64(x.burst-1)*x.interval)
	until = max(at, x.next)
	x.next += x.interval
	return until
}
