package replay

import (
	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
)

// disturb simulates a change as it would be beside other programs, which have processors while
// those of this one sleep: they leave the program alone, or they keep it waiting. Nothing is
// simulated where that cannot matter.
func (w *window) disturb(p *model.Program, c sim.Change, base, o *sim.Outcome, d int64) (all []sim.Variation, work int) {
	add := func(c sim.Change) {
		x := sim.Variation{Base: *base, Changed: sim.Simulate(p, c, d)}
		all, work = append(all, x), work+x.Changed.Work
	}
	if left := w.leaves(p, c, base, o, d); left > sim.LeastLeft {
		alone := c
		alone.Pace = 1 - left
		add(alone)
	}
	most := float64(model.MostRouse)
	if w.Pressed >= sim.LeastPressed {
		most = sim.KernelTick / 2
	}
	back := int64(o.Awakened(base) * most)
	for i := range p.Points {
		_, asked := w.checks[p.Points[i].Name]
		if asked && float64(back)*float64(o.Asleep) > model.RouseMatters*float64(len(o.Visits[i]))*doubt.Period(base.Visits[i], d) {
			c.Back = back
			add(c)
			break
		}
	}
	return all, work
}

// leaves returns which part of what goroutines seem to compute takes no time, since other programs
// have their processor time while the program needs none: as far as that is more time than in the
// recording, and they had not enough of it there.
func (w *window) leaves(p *model.Program, c sim.Change, base, o *sim.Outcome, d int64) float64 {
	taken, idle := w.Starved*float64(base.Ran), float64(d)*float64(max(1, p.Rec.Procs))-float64(base.Ran)
	if c.Procs > 0 || taken <= 0 { // other processors are modelled separately, see restructure
		return 0
	}
	return w.Starved * max(0, min(float64(base.Ran-o.Ran), taken-idle)) / taken
}

// bounds returns by how much the reduction may be less, and more, for a faster region.
func bounds(s *doubt.Stampede, q question, reduction float64) (less, more float64) {
	if q.region == s.Region && q.speedup > 0 {
		more = s.Part * q.speedup
	}
	if reduction > 0 { // as many more come as there are more requests, and at most as many as take all that is gained
		less = min(reduction, s.Part*reduction/(1-reduction))
	}
	return less, more
}

// bound has an answer span from none, as where no token is refused, to no waits for ticks at all,
// but no more than the ticks allow that let no goroutine go on.
func bound(b *doubt.Buckets, w *window, q question) {
	if b == nil {
		return
	}
	spilled, ok := b.Spilled[q.point]
	if !ok || spilled <= doubt.MostSpilled && q.speedup >= 0 {
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
		part := b.Waited
		if m != Throughput {
			part = b.Wait / x.before
		}
		switch {
		case q.speedup > 0 && (x.most > doubt.LeastGain || !b.Replayed):
			x.most = min(q.speedup, x.most) + part
			if !b.Replayed {
				x.most = q.speedup + part
			}
			if m == Throughput {
				x.most = min(x.most, spilled)
			}
			x.most = max(min(1, x.most), x.reduction())
		case q.speedup < 0 && x.least < -doubt.LeastGain: // it may wait for one more tick each time
			x.least -= 1 - spilled
		}
		w.effects[q] = x
	}
}

// vary simulates a change as it may be besides: with processors that come back sooner or later, and
// beside other programs.
func (w *window) vary(p *model.Program, c sim.Change, base, o *sim.Outcome, d int64) (all []sim.Variation, work int) {
	if p.Rec.Uses(ruleWakeup) {
		all, work = w.rouse(p, c, base, o, d)
	}
	if p.Rec.Uses(ruleOthers) {
		disturbed, more := w.disturb(p, c, base, o, d)
		all, work = append(all, disturbed...), work+more
	}
	return all, work
}

// rouse simulates a change with processors that come back sooner or later, and what is not changed,
// unless that is known.
func (w *window) rouse(p *model.Program, c sim.Change, base, o *sim.Outcome, d int64) (all []sim.Variation, work int) {
	lags, longer := sim.OtherLags(p), 1.0
	if len(p.Lags) == 0 {
		longer = lags[1]
	}
	matters := false
	for i := range p.Points {
		_, asked := w.checks[p.Points[i].Name]
		matters = matters || asked && longer*max(o.Lagging(i), base.Lagging(i)) > model.RouseMatters*doubt.Period(base.Visits[i], d)
	}
	if !matters {
		return nil, 0
	}
	if w.unhurried == nil {
		for _, f := range lags {
			w.unhurried = append(w.unhurried, sim.Simulate(p, sim.Change{Lag: f}, d))
		}
	}
	for k, f := range lags {
		c.Lag = f
		x := sim.Variation{Base: w.unhurried[k], Changed: sim.Simulate(p, c, d)}
		all, work = append(all, x), work+x.Changed.Work
	}
	return all, work
}

// widen notes what variations say, of the program as it was and as it would have been.
func (w *window) widen(q question, base *sim.Outcome, all []sim.Variation, i int, d int64) {
	note := func(x *sample, reduction float64) {
		lower(&x.late, reduction)
		raise(&x.soon, reduction)
	}
	for k := range all {
		w.extend(q, base, &all[k].Changed, i, d, note)
		w.extend(q, &all[k].Base, &all[k].Changed, i, d, note)
	}
}
