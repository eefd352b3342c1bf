package replay

import (
	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
)

// Some of what an answer depends on is not in the recording, whichever program is the true one: how
// soon a processor that sleeps comes back, what other programs do with processors that the faster
// program leaves idle, how many tokens a bucket has spilled. The change is simulated with what may
// be at either end, and the interval takes the results in. A variation is another machine, while an
// alternative (bounds.go) is another program.

// disturb simulates a change as it would be beside other programs, which have processors while
// those of this one sleep: they leave the program alone, or they keep it waiting. Nothing is
// simulated where that cannot matter. TestAsleep has a processor that sleeps in the replay alone.
func (w *window) disturb(p *model.Program, c sim.Change, base, o *sim.Outcome, d int64) (all []sim.Variation, work int) {
	add := func(c sim.Change) {
		x := sim.Variation{Base: *base, Changed: sim.Simulate(p, c, d)}
		all, work = append(all, x), work+x.Changed.Work
	}
	// From above: what others took from the program is no longer taken.
	if left := w.leaves(p, c, base, o, d); left > sim.LeastLeft {
		alone := c
		alone.Pace = 1 - left
		add(alone)
	}
	// From below: a processor that slept comes back late. Beside programs that are short of
	// processors it comes back when the kernel looks again, half a tick later on average.
	most := float64(model.MostRouse)
	if w.Pressed >= sim.LeastPressed {
		most = sim.KernelTick / 2
	}
	// That is an error only as far as processors sleep more often than in the recording, whose
	// waits have it already.
	back := int64(o.Awakened(base) * most)
	for i := range w.checked(p) {
		if float64(back)*float64(o.Asleep) > model.RouseMatters*float64(len(o.Visits[i]))*doubt.Period(base.Visits[i], d) {
			c.Back = back
			add(c)
			break
		}
	}
	return all, work
}

// leaves returns which part of what goroutines seem to compute takes no time, since other programs
// have their processor time while the program needs none: as far as that is more time than in the
// recording, and they had not enough of it there. With two processors for 1 s, all of it computing
// and a tenth of that taken by others (200 ms): a change after which the program computes for 1,900
// ms leaves 100 ms, half of what was taken, so that 5 % of the time seems to be computed and is
// not. If processors were idle for 200 ms before, others had their time there, and leave nothing:
// TestLeaves.
func (w *window) leaves(p *model.Program, c sim.Change, base, o *sim.Outcome, d int64) float64 {
	taken, idle := w.Starved*float64(base.Ran), float64(d)*float64(max(1, p.Rec.Procs))-float64(base.Ran)
	if c.Procs > 0 || taken <= 0 { // other processors are modelled separately, see restructure
		return 0
	}
	return w.Starved * max(0, min(float64(base.Ran-o.Ran), taken-idle)) / taken
}

// moreOften returns by how much the reduction may be less where requests become slower, and share
// of their time is work per time. A goroutine does it where it did it in the recording, once for so
// many requests, and not more often, as it would. Of rounds of 100 ms and loads of 40 ms a load is
// for 25 requests of 4 ms, and for 20 of 5 ms: each has 2 ms of it, and not 1.6. TestPerTime holds
// it.
func moreOften(share, reduction float64) float64 {
	const most = 0.9
	share = min(share, most)
	return max(0, -reduction) * share / (1 - share)
}

// garbage returns by how much the reduction may be less, and more, where garbage is collected for
// a part of the processors' time. That is done for what requests have allocated, so that it grows
// with them, while in the replay it is done at the times of the recording. A program that only
// computes, a tenth of the time for the collector, and half of the rest in a region that takes no
// time any more: 45 % less time each, while the replay says 50.
func garbage(part, reduction float64) (less, more float64) {
	return max(0, part*reduction), max(0, -part*reduction)
}

// bound has an answer span from none, as where no token is refused, to no waits for ticks at all,
// but no more than the ticks allow that let no goroutine go on (token bucket, rate limiter). If 0.7
// of the ticks let a goroutine go on, and none is refused, all tokens are used and a faster region
// brings nothing. If the other 0.3 are refused, the program has room for 30 % less time between
// visits: the rate of ticks is a bottleneck (Denning and Buzen, 1978). TestBucket and TestNextTick
// hold answers against such programs. B is nil where there is no bucket; what has no sample stays
// without one. By is how much faster the question has regions.
func bound(b *doubt.Buckets, w *window, q question, by float64) {
	if b == nil {
		return
	}
	spilled, ok := b.Spilled[q.point]
	// Where each tick is waited for nothing can be gained; slower regions may still miss ticks.
	if !ok || spilled <= doubt.MostSpilled && by >= 0 {
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
		// What waits for ticks take: of the time between visits, or of one request.
		part, tick := b.Waited, 1-spilled
		if m != Throughput {
			part, tick = b.Wait/x.before, b.Tick/x.before
		}
		switch {
		// A faster region saves its part of what is not waiting for ticks, and at most all of that.
		case by > 0 && (x.most > doubt.LeastGain || !b.Replayed):
			x.most = min(by, x.most) + part
			if !b.Replayed {
				x.most = by + part
			}
			if m == Throughput {
				x.most = min(x.most, spilled)
			}
			x.most = max(min(1, x.most), x.reduction())
		case by < 0 && x.least < -doubt.LeastGain: // it may wait for one more tick each time
			x.least -= tick
		}
		w.effects[q] = x
	}
}

// vary simulates a change as it may be besides: with processors that come back sooner or later, and
// beside other programs. Base is the replay of p without the change, o that of x with it, of d ns:
// x is p, or p built in another way. It returns the variations, and the steps that these took.
func (w *window) vary(p, x *model.Program, c sim.Change, base, o *sim.Outcome, d int64) (all []sim.Variation, work int) {
	if p.Rec.Uses(ruleWakeup) {
		all, work = w.rouse(p, x, c, base, o, d)
	}
	if p.Rec.Uses(ruleOthers) {
		disturbed, more := w.disturb(x, c, base, o, d)
		all, work = append(all, disturbed...), work+more
	}
	return all, work
}

// rouse simulates a change with processors that come back sooner or later, and what is not changed,
// unless that is known (wake-up latency). It matters where goroutines wait in turn for processors
// that sleep, as at a lock that each finds taken (lock convoy): a wake-up of 100 µs may take longer
// than what the lock is held for. Without recorded wake-ups the range is 5 to 200 µs, else half of
// the recorded time less and more: TestLags, TestLagOfOneProcessor.
func (w *window) rouse(p, changed *model.Program, c sim.Change, base, o *sim.Outcome, d int64) (all []sim.Variation, work int) {
	lags, longer := sim.OtherLags(p), 1.0
	if len(p.Lags) == 0 {
		longer = lags[1]
	}
	// By the longest wake-ups that may be, they must take RouseMatters of the time between visits.
	matters := false
	for i := range w.checked(p) {
		matters = matters || longer*max(o.Lagging(i), base.Lagging(i)) > model.RouseMatters*doubt.Period(base.Visits[i], d)
	}
	if !matters {
		return nil, 0
	}
	// Nothing changed is simulated once for all changes.
	if w.unhurried == nil {
		for _, f := range lags {
			w.unhurried = append(w.unhurried, sim.Simulate(p, sim.Change{Lag: f}, d))
		}
	}
	for k, f := range lags {
		c.Lag = f
		x := sim.Variation{Base: w.unhurried[k], Changed: sim.Simulate(changed, c, d)}
		all, work = append(all, x), work+x.Changed.Work
	}
	return all, work
}

// widen notes the answers of variations at progress point i: against the program as it was, where
// the machine may be another one once the region is faster, and against the program as it would
// have been, where the machine was such all along.
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
