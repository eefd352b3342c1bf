package simulator

import "math"

// slice is how long a goroutine keeps its CPU while others want it, ns. It is that of Go.
const slice = 10 * Millisecond

// ready lets a goroutine that waits go on.
func (w *World) ready(g *Goroutine) {
	w.after(w.about(w.config.Wake), func() { w.runnable(g) })
}

// runnable puts a goroutine at the end of the run queue.
func (w *World) runnable(g *Goroutine) {
	w.queue = append(w.queue, g)
	w.dispatch()
}

// dispatch gives CPUs that are idle to those who want one.
func (w *World) dispatch() {
	for w.idle > 0 && len(w.queue) > 0 {
		g := w.queue[0]
		w.queue = w.queue[1:]
		w.idle--
		g.slice = slice
		if w.config.CPUs == 0 {
			g.slice = math.MaxInt64
		}
		w.after(0, func() { w.resume(g) })
	}
}

// resume lets a goroutine run until it gives its CPU away.
func (w *World) resume(g *Goroutine) {
	if _, alive := g.next(); !alive {
		w.idle++
		w.dispatch()
	}
}

// park waits, without a CPU, until somebody makes g ready.
func (g *Goroutine) park() {
	g.world.idle++
	g.world.dispatch()
	g.switchAway()
}

// busy takes a CPU for so long.
func (g *Goroutine) busy(ns int64) {
	w := g.world
	for ns > 0 {
		run := min(ns, g.slice)
		w.after(run, func() { w.resume(g) })
		g.switchAway()
		ns -= run
		g.slice -= run
		if ns > 0 {
			w.queue = append(w.queue, g)
			g.park()
		}
	}
}
