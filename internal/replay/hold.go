package replay

import (
	"context"
	"slices"
)

// What experiments of slow-downs do is simulated, too, to be held against what they measure: each goroutine that ends a span of a region is
// held behind it for a part of the region's own time, by computing and by waiting as the region itself does. That may cost less than a
// region that is slower, where spans have given back what others wait for, and more, where they wait for a processor.

// A holdback is behind spans of a region for a part of its own time: the factor of a set of its own, which is 0 unless a change says otherwise.
type holdback struct {
	set      uint16
	run, out int64 // own time of a span, ns: computing, and waiting
}

// holding returns the program with holds behind the spans of regions.
func (p *program) holding(regions []int32) *program {
	x := *p
	x.compiled, x.spare = nil, nil
	x.sets, x.holds = slices.Clip(p.sets), map[int32]holdback{}
	run, out, ends := make([]int64, len(p.rec.regions)), make([]int64, len(p.rec.regions)), make([]int64, len(p.rec.regions))
	for i := range p.lists {
		p.rec.rests()
		for k := range p.lists[i].ops {
			switch o := &p.lists[i].ops[k]; o.kind {
			case opRun:
				p.credit(run, o)
			case opOut, opSend:
				p.credit(out, o)
			case opClose:
				ends[p.rec.spans[o.arg].region]++
			}
		}
	}
	for _, r := range regions {
		if ends[r] > 0 && len(x.sets) < 1<<16-1 {
			x.holds[r] = holdback{uint16(len(x.sets)), run[r] / ends[r], out[r] / ends[r]}
			x.sets = append(x.sets, nil)
		}
	}
	return &x
}

// credit adds the time of an op to that of the regions which it belongs to.
func (p *program) credit(own []int64, o *op) {
	for _, r := range p.sets[o.set] {
		own[r] += o.d
	}
	for _, x := range p.sharesOf(int(o.set)) {
		own[x.region] += int64(x.part * float64(o.d))
	}
}

// holdBehind returns the holdback behind an op, if there is one.
func (p *program) holdBehind(o *op) (holdback, bool) {
	if o.kind != opClose || p.holds == nil {
		return holdback{}, false
	}
	h, ok := p.holds[p.rec.spans[o.arg].region]
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
