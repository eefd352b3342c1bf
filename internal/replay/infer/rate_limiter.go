package infer

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/model"
)

// A rate limiter (token bucket, golang.org/x/time/rate for one) lets one request pass each
// interval, and a burst at once after a pause. A goroutine that comes too early waits for a timer,
// and how long it waits is decided by all that came before. Taken for waits as long as they were,
// such waits hide the limit: a program whose other work is faster asks sooner and waits for longer.
//
//	interval 4 ms, burst 1    A asks at 0, passes          B asks at 1, waits until 4
//	                          C asks at 2, waits until 8   A asks at 13, passes
//	B and C 0.9 ms sooner     they wait until 4 and 8 all the same
//
// The model is the virtual scheduling form of GCRA (ITU-T I.371), see [model.Pace.Ask]: one time,
// when the next request passes, which each request moves on by the interval. A recording has the
// waits, and not the requests that passed. These are inferred: a piece of code that asks a limiter
// asks it each time, so that a goroutine which went from the same op to the same op without a wait
// has asked, too. A limiter is taken for one if it would have had nine in ten of these wait, for as
// long as they did, and as many of the others pass (cond.Paced).
//
// TestPaces has limiters of which goroutines wait seldom to always, TestOrdinarySleepsAreNoPace
// goroutines that sleep side by side. What is missed: limiters by time.Sleep that several ways in
// the program lead to, beside other sleeps, since time.Sleep is the place of all of them; requests
// for several tokens at once.

// A passage is where a goroutine asks a limiter.
type passage struct {
	model.Place       // of the wait, or of the op that the request would be behind
	at          int64 // since the window's beginning
	until       int64 // since then, too: when the wait was over, -1 for none
}

// paces puts rate limiters in place of the waits for timers that they were. Waits are tried
// together if one function waits, by whatever way it was called, and then, where these are no
// limiter's, at each site alone. A wait is of one limiter only. All edits come last, as places must
// stay valid until then. For a site with n requests it takes some cond.MostBurst*2*cond.Coarse*n
// steps, if the ends of its waits are even.
func paces(b *model.Builder) {
	p := b.P
	used := cond.UsedAt(p)
	waits := map[int32][]model.Place{}
	var order []int32
	note := func(key int32, at model.Place) {
		if waits[key] == nil {
			order = append(order, key)
		}
		waits[key] = append(waits[key], at)
	}
	n := int32(len(p.Rec.Sites))
	for at, o := range p.All() {
		if o.Site != 0 && o.Timed() {
			note(used[o.Site], at) // of all that call what waits there, or else of one place alone
			note(n+o.Site, at)
		}
	}
	// Numbers of places are below n, of sites above: together first.
	slices.Sort(order)
	edits := cond.Edits{}
	for _, key := range order {
		at := waits[key]
		// A limiter that was found before has taken these.
		if slices.ContainsFunc(at, func(at model.Place) bool { return p.Op(at).Kind != model.OpOut }) {
			continue
		}
		if found, all := limiter(p, at); found != nil {
			object := b.NewObject(model.ObjectInfo{Kind: model.ObjectPace, Pace: *found})
			for _, a := range all {
				o := model.Op{Kind: model.OpPace, Arg: object, At: a.at + p.Rec.Start, Late: -1}
				if a.until >= 0 {
					wait := p.Op(a.Place)
					o.At, o.Site, o.Late, o.Set, o.Free, o.Loose = wait.At, wait.Site, wait.Late, wait.Set, wait.Free, wait.Loose
					*wait = o
					continue
				}
				// A request without a wait comes in behind the op before. It is where that is: with
				// these regions open, and free or not.
				before := p.Op(a.Place)
				o.Set, o.Free, o.Loose = before.Set, before.Free, before.Loose
				e := edits.Of(a.List)
				e.After[int(a.Op)] = append(e.After[int(a.Op)], o)
			}
		}
	}
	edits.Apply(p)
}

// limiter returns the rate limiter that some waits are for and all that ask it, in order of time,
// nil if there is none that would have made them. Its Next is that of the window's beginning.
func limiter(p *model.Program, waits []model.Place) (*model.Pace, []passage) {
	interval, ok := interval(p, waits)
	if !ok {
		return nil, nil
	}
	all := passages(p, waits)
	x := fitting(all, interval)
	if x == nil || !explains(*x, all) {
		return nil, nil
	}
	// Each of the n requests before the first wait has moved the time on by one interval. Their own
	// times do not matter if the bucket was never full then; else the limiter is a little behind at
	// first.
	for n, a := range all {
		if a.until >= 0 {
			x.Next = a.until - int64(n)*x.Interval
			break
		}
	}
	return x, all
}

// fitting returns the limiter that is right about most requests, nil for none that is good. The
// interval is near what it seems: within a tenth, in steps of 1/240, and of 1/5760 around the best.
// Of limiters that are right as often the one that is off by less is taken, and of these the
// smaller burst.
func fitting(all []passage, interval int64) *model.Pace {
	var best *model.Pace
	most, least := 0, int64(0)
	try := func(x model.Pace) {
		f, off := fit(x, all)
		if n := f.Right[cond.FitPassed] + f.Right[cond.FitWaited]; f.Within(cond.Paced) && (n > most || n == most && off < least) {
			best, most, least = &x, n, off
		}
	}
	for burst := int32(1); burst <= cond.MostBurst; burst++ {
		for k := int64(-cond.Coarse); k <= cond.Coarse; k++ {
			try(model.Pace{Interval: interval + k*interval/(10*cond.Coarse), Burst: burst})
		}
	}
	if best == nil {
		return nil
	}
	for around, k := *best, int64(-cond.Coarse); k <= cond.Coarse; k++ {
		try(model.Pace{Interval: around.Interval + k*interval/(10*cond.Coarse*cond.Coarse), Burst: around.Burst})
	}
	return best
}

// interval returns after which time the next of the goroutines that wait at the same time goes on,
// if that is always the same. Only a wait that began before the one before it ended shows an
// interval: between others the limiter may have been idle.
func interval(p *model.Program, waits []model.Place) (interval int64, ok bool) {
	ends := make([]*model.Op, len(waits))
	for i, at := range waits {
		ends[i] = p.Op(at)
	}
	slices.SortStableFunc(ends, func(a, b *model.Op) int { return cmp.Compare(a.At, b.At) })
	var steps []int64
	for i := 1; i < len(ends); i++ {
		if ends[i].At-ends[i].D < ends[i-1].At {
			steps = append(steps, ends[i].At-ends[i-1].At)
		}
	}
	if len(steps) < cond.LeastPaced {
		return 0, false
	}
	interval = Median(steps, 0)
	n := 0
	for _, d := range steps {
		if max(d-interval, interval-d) <= tolerance(interval) {
			n++
		}
	}
	return interval, interval >= cond.ShortestInterval && float64(n) >= cond.Paced*float64(len(steps))
}

// tolerance is how much a wait may be longer than by the limiter, ns: as late as timers are, and
// never more than half an interval, where one turn would be taken for the next.
func tolerance(interval int64) int64 { return min(interval/2, cond.MostLate) }

// passages returns when a limiter is asked: where goroutines wait, and where they do the same as
// before and behind a wait. It goes through all lists twice. The result is in the order of time.
func passages(p *model.Program, waits []model.Place) []passage {
	is := map[model.Place]bool{}
	for _, at := range waits {
		is[at] = true
	}
	sends := p.SentTo()
	around := map[[2]cond.Anchor]bool{}
	var all []passage
	// Each calls f with two landmarks in a row, the op of the first, and a wait between them; -1
	// for none.
	each := func(f func(l int32, last, next cond.Anchor, behind int32, wait int32)) {
		for l := range p.Lists {
			var last cond.Anchor
			behind, wait := int32(-1), int32(-1)
			for k := range p.Lists[l].Ops {
				at := model.Place{List: int32(l), Op: int32(k)}
				if is[at] {
					wait = at.Op
					continue
				}
				if next, ok := landmark(p, p.Op(at), sends); ok {
					f(at.List, last, next, behind, wait)
					last, behind, wait = next, at.Op, -1
				}
			}
		}
	}
	each(func(_ int32, last, next cond.Anchor, behind, wait int32) {
		if wait >= 0 && behind >= 0 {
			around[[2]cond.Anchor{last, next}] = true
		}
	})
	each(func(l int32, last, next cond.Anchor, behind, wait int32) {
		if wait < 0 && behind >= 0 && around[[2]cond.Anchor{last, next}] {
			at := model.Place{List: l, Op: behind}
			all = append(all, passage{at, p.Op(at).At - p.Rec.Start, -1})
		}
	})
	for _, at := range waits {
		o := p.Op(at)
		all = append(all, passage{at, o.At - o.D - p.Rec.Start, o.At - p.Rec.Start})
	}
	slices.SortStableFunc(all, func(a, b passage) int { return cmp.Compare(a.at, b.at) })
	return all
}

// landmark returns what an op is that is done each time in a piece of code, whether it waits or
// not; false for what may be there or not.
func landmark(p *model.Program, o *model.Op, sends map[int32]bool) (cond.Anchor, bool) {
	switch o.Kind {
	case model.OpRun, model.OpWake, model.OpChoose, model.OpWrite:
		return cond.Anchor{}, false
	case model.OpReceive:
		if !sends[o.Arg] { // of a timer
			return cond.Anchor{}, false
		}
	}
	return cond.WithinAny(p, o), true
}

// explains reports whether waits are over when the limiter would have them be, by less than what
// their lengths differ by: by half of it at most. Where they are all of one length they are no
// waits for a limiter. Both spreads are median absolute deviations, of which a few late timers
// change nothing.
func explains(x model.Pace, all []passage) bool {
	var off, lengths []float64
	eachPassage(&x, all, func(a *passage, until int64) {
		if a.until >= 0 {
			off, lengths = append(off, float64(a.until-until)), append(lengths, float64(a.until-a.at))
		}
	})
	return len(off) > 0 && 2*cond.Spread(off) <= cond.Spread(lengths)
}

// eachPassage calls f with each request, and until when it should have waited, as one that was
// later or earlier was seen to be. It begins with the first request that waited, which shows the
// limiter's time, and x changes. Off is by how much it had to be put right in all, ns: once for
// each error, and not for all requests behind it.
func eachPassage(x *model.Pace, all []passage, f func(a *passage, until int64)) (off int64) {
	known := false
	for i := range all {
		a := &all[i]
		if !known {
			known = a.until >= 0
			x.Next = a.until + x.Interval
			continue
		}
		until := x.Ask(a.at)
		f(a, until)
		if a.until < 0 {
			continue
		}
		// Late timers leave the limiter alone. An end that is early, or later than timers are, is
		// another request that was not seen, or a pause: the limiter follows it.
		late := a.until - until
		wrong := late - min(max(0, late), tolerance(x.Interval))
		x.Next += wrong
		off += max(wrong, -wrong)
	}
	return off
}

// fit compares a limiter with the requests to it, and returns by how much it is off in all: waits
// are over late, but never early. A request that passed is right if it would have waited for less
// than a timer is late.
func fit(x model.Pace, all []passage) (f cond.Fit, off int64) {
	off = eachPassage(&x, all, func(a *passage, until int64) {
		if a.until < 0 {
			f.Note(cond.FitPassed, until-a.at <= tolerance(x.Interval))
			return
		}
		late := a.until - until
		f.Note(cond.FitWaited, max(late, -late) <= tolerance(x.Interval))
	})
	return f, off
}
