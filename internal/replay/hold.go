package replay

import (
	"context"
	"slices"
)

// What experiments of slow-downs do is simulated, too, to be held against what they measure: each goroutine that ends a span of a region is
// held behind it for a part of the span's own time, by computing and by waiting as the region itself does. That may cost less than a
// region that is slower, where spans have given back what others wait for, and more, where they wait for a processor.

// A holdback is behind a span for a part of the span's own time: the factor of a set for its region, which is 0 unless a change says otherwise.
type holdback struct {
	set uint16
	own
}

// own is what a span takes itself, ns: computing, and waiting.
type own struct{ run, out int64 }

// holding returns the program with holds behind the spans of regions.
func (p *program) holding(regions []int32) *program {
	x := *p
	x.compiled, x.spare = nil, nil
	x.sets, x.holds = slices.Clip(p.sets), map[int32]holdback{}
	sets := map[int32]uint16{}
	for _, r := range regions {
		if len(x.sets) < 1<<16-1 {
			sets[r] = uint16(len(x.sets))
			x.sets = append(x.sets, nil)
		}
	}
	x.heldSets = sets
	times, rest := p.ownTimes()
	for span, t := range times {
		r := p.rec.spans[span].region
		if set, held := sets[r]; held {
			if t == nil {
				t = &own{rest[r].run / rest[r].spans, rest[r].out / rest[r].spans}
			}
			x.holds[span] = holdback{set, *t}
		}
	}
	return &x
}

// left is own time in a region of no span that is known, and the number of spans that it may be of.
type left struct {
	own
	spans int64
}

// An openSpan is open on a goroutine, and its own time until now: the time in which no later span was open there.
type openSpan struct {
	span int32
	own
}

// ownTimes returns the own time of each span that ends, nil for one that began on another goroutine or before the window: what is left of
// its region is theirs.
func (p *program) ownTimes() (of map[int32]*own, rest []left) {
	of, rest = map[int32]*own{}, make([]left, len(p.rec.regions))
	for i := range p.lists {
		p.rec.rests()
		var open []*openSpan // the latest last
		for k := range p.lists[i].ops {
			o := &p.lists[i].ops[k]
			switch o.kind {
			case opOpen:
				open = append(open, &openSpan{span: o.arg})
			case opClose:
				of[o.arg] = nil
				if n := slices.IndexFunc(open, func(x *openSpan) bool { return x.span == o.arg }); n >= 0 {
					of[o.arg] = &open[n].own
					open = slices.Delete(open, n, n+1)
				} else {
					rest[p.rec.spans[o.arg].region].spans++
				}
			case opRun, opOut, opSend:
				switch set := p.sets[o.set]; {
				case len(open) > 0:
					open[len(open)-1].add(o)
				case len(set) == 1:
					rest[set[0]].add(o)
				}
			}
		}
	}
	return of, rest
}

func (t *own) add(o *op) {
	if o.kind == opRun {
		t.run += o.d
	} else {
		t.out += o.d
	}
}

// holdBehind returns the holdback behind an op, if there is one.
func (p *program) holdBehind(o *op) (holdback, bool) {
	if o.kind != opClose || p.holds == nil {
		return holdback{}, false
	}
	h, ok := p.holds[o.arg]
	return h, ok
}

// hold adds a holdback.
func (c *compiler) hold(h holdback) {
	c.emit(instruction{kind: opRun, d: h.run, set: h.set, late: -1})
	c.emit(instruction{kind: opHold, d: h.out, set: h.set, late: -1})
	c.alone = true
}

// Hold has further windows be asked what slow-downs of these regions would cost, by so large parts of their own time, each above 0.
func (s *Study) Hold(levels []float64, regions []Region) { s.levels, s.held = levels, regions }

// hold simulates slow-downs in a window, as far as steps allow.
func (s *Study) hold(ctx context.Context, w *window, p *program, others []alternative, steps int) error {
	var regions []int32
	for _, r := range s.held {
		if i := slices.Index(p.rec.regions, r); i >= 0 {
			regions = append(regions, int32(i))
		}
	}
	if len(regions) == 0 {
		return nil
	}
	d := p.rec.End - p.rec.Start
	for k, all := 0, append([]alternative{{p: p}}, others...); k < len(all) && steps < s.config.Steps; k++ {
		x := all[k].p.holding(regions)
		base := simulate(x, change{pace: all[k].pace}, d)
		for _, level := range s.levels {
			for _, r := range regions {
				if err := context.Cause(ctx); err != nil {
					return err
				}
				o := simulate(x, change{pace: all[k].pace, holds: map[int32]float64{r: level}}, d)
				steps += o.work
				w.heldAs(ask{p.rec.regions[r], -level, true}, k == 0, &alternative{p: x, base: base, most: all[k].most}, &o, d)
			}
		}
	}
	return nil
}

// heldAs books what a slow-down comes to, by the translation that answers come from or by another one.
func (w *window) heldAs(a ask, first bool, by *alternative, o *outcome, d int64) {
	w.asked[a] = true
	for i := range by.p.points {
		if _, ok := w.checks[by.p.points[i].name]; !ok {
			continue
		}
		q := question{region: a.region, speedup: a.speedup, point: by.p.points[i].name, held: a.held}
		if first {
			w.sample(q, &by.base, o, i, d)
		} else {
			w.bound(q, by, o, i, d)
		}
	}
}
