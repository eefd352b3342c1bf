package replay

// A recording of a program that keeps all its processors busy shows what other programs take of them then, and not what they do once a
// region is faster and processors sleep. Others may then run at times at which the program needs none, so that it is left alone. And a
// processor that sleeps takes some time to come back; if others wait for one they get it, and when a goroutine has something to do there again its
// thread waits until the kernel looks, or shares the processor of another one. In the recording of a program whose processors sleep each wait is longer by
// that, as all waits are as long as they were; so it is about processors that did not sleep.

const (
	// kernelTick is how often the kernel looks whether another thread should run, ns: 250 times in a second on most systems. A thread waits for half
	// of that, on average.
	kernelTick = 4_000_000
	// leastPressed is for which part of the time others must wait for a processor, or have one, to be there: what a program needs that keeps all its
	// processors busy, and what the system does, is less. Processors that sleep they may use from not at all to always.
	leastPressed = 0.1
	// leastAwakened is how many times as often as in the recording processors must sleep, for it to have no examples.
	leastAwakened = 2
	// leastLeft is which part of the time that goroutines compute others must leave them, to matter.
	leastLeft = 0.001
)

// disturb simulates a change as it would be beside other programs, which have processors while those of this one sleep: they leave the program alone,
// or they keep it waiting. Nothing is simulated where that cannot matter.
func (w *window) disturb(p *program, c change, base, o *outcome, d int64) (all []variation, work int) {
	add := func(c change) {
		x := variation{*base, simulate(p, c, d)}
		all, work = append(all, x), work+x.changed.work
	}
	if left := w.leaves(p, c, base, o, d); left > leastLeft {
		alone := c
		alone.pace = 1 - left
		add(alone)
	}
	most := float64(mostRouse)
	if w.pressed >= leastPressed {
		most = kernelTick / 2
	}
	back := int64(o.awakened(base) * most)
	for i := range p.points {
		_, asked := w.checks[p.points[i].name]
		if asked && float64(back)*float64(o.asleep) > rouseMatters*float64(len(o.visits[i]))*period(base.visits[i], d) {
			c.back = back
			add(c)
			break
		}
	}
	return all, work
}

// leaves returns which part of what goroutines seem to compute takes no time, since other programs have their processor time while the program
// needs none: as far as that is more time than in the recording, and they had not enough of it there.
func (w *window) leaves(p *program, c change, base, o *outcome, d int64) float64 {
	taken, idle := w.starved*float64(base.ran), float64(d)*float64(max(1, p.rec.Procs))-float64(base.ran)
	if c.procs > 0 || taken <= 0 { // other processors are modelled separately, see restructure
		return 0
	}
	return w.starved * max(0, min(float64(base.ran-o.ran), taken-idle)) / taken
}

// awakened returns for which part of the goroutines that come to a processor which sleeps the recording has no example.
func (o *outcome) awakened(base *outcome) float64 {
	part := func(o *outcome) float64 { return float64(o.asleep) / float64(max(1, o.woken)) }
	if o.asleep == 0 {
		return 0
	}
	return max(0, 1-leastAwakened*part(base)/part(o))
}
