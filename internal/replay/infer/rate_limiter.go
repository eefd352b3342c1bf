package infer

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A passage is where a goroutine asks a limiter.
type passage struct {
	model.Place       // of the wait, or of the op that the request would be behind
	at          int64 // since the window's beginning
	until       int64 // when the wait was over, -1 for none
}

// paces puts rate limiters in place of the waits for timers that they were.
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
	for l := range p.Lists {
		for k := range p.Lists[l].Ops {
			if o := &p.Lists[l].Ops[k]; o.Kind == model.OpOut && o.Site != 0 && (o.Reason == trace.WaitTimer || o.Reason == trace.WaitReceive || o.Reason == trace.WaitSelect) {
				note(used[o.Site], model.Place{List: int32(l), Op: int32(k)}) // of all that call what waits there, or else of one place alone
				note(n+o.Site, model.Place{List: int32(l), Op: int32(k)})
			}
		}
	}
	slices.Sort(order)
	edits := map[int32]*cond.Edit{}
	for _, key := range order {
		at := waits[key]
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
				before := p.Op(a.Place)
				o.Set, o.Free, o.Loose = before.Set, before.Free, before.Loose
				e := cond.EditOf(edits, a.List)
				e.After[int(a.Op)] = append(e.After[int(a.Op)], o)
			}
		}
	}
	for l, e := range edits {
		e.Apply(&p.Lists[l])
	}
}

// limiter returns the rate limiter that some waits are for and all that ask it, nil if there is
// none that would have made them.
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
	for n, a := range all {
		if a.until >= 0 {
			x.Next = a.until - int64(n)*x.Interval
			break
		}
	}
	return x, all
}

// fitting returns the limiter that is right about most requests, nil for none that is good. The
// interval is near what it seems.
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
// if that is always the same.
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

// tolerance is how much a wait may be longer than by the limiter, ns.
func tolerance(interval int64) int64 { return min(interval/2, cond.MostLate) }

// passages returns when a limiter is asked: where goroutines wait, and where they do the same as
// before and behind a wait.
func passages(p *model.Program, waits []model.Place) []passage {
	is := map[model.Place]bool{}
	lists := map[int32]bool{}
	for _, at := range waits {
		is[at], lists[at.List] = true, true
	}
	sends := p.SentTo()
	around := map[[2]cond.Anchor]bool{}
	var all []passage
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
// not.
func landmark(p *model.Program, o *model.Op, sends map[int32]bool) (cond.Anchor, bool) {
	switch o.Kind {
	case model.OpRun, model.OpWake, model.OpChoose, model.OpWrite:
		return cond.Anchor{}, false
	case model.OpReceive:
		if !sends[o.Arg] { // of a timer
			return cond.Anchor{}, false
		}
	case model.OpOpen, model.OpClose:
		return cond.Anchor{Kind: o.Kind, Arg: p.Rec.Spans[o.Arg].Region}, true
	case model.OpSpawn:
		return cond.Anchor{Kind: o.Kind, Site: p.Lists[o.Arg].Site}, true
	case model.OpWait, model.OpOut:
		return cond.Anchor{Kind: o.Kind, Site: o.Site}, true
	}
	return cond.Anchor{Kind: o.Kind, Arg: o.Arg}, true
}

// explains reports whether waits are over when the limiter says, by less than what their lengths
// differ by: by half of it at most. Where they are all of one length they are no waits for a
// limiter.
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
// later or earlier was seen to be.
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
		late := a.until - until
		wrong := late - min(max(0, late), tolerance(x.Interval))
		x.Next += wrong
		off += max(wrong, -wrong)
	}
	return off
}

// fit compares a limiter with the requests to it, and returns by how much it is off in all: waits
// are over late, but never early.
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
