package simulator

import "math"

// slice is how long a goroutine keeps its CPU while others want it, ns, as in Go.
const slice = 10 * Millisecond

// switching is how long a CPU takes to go on with another goroutine, ns, if [Config.Go].
const switching = 300

// A goroutine looks so many times at a lock before it waits, each for so long, ns, if [Config.Go].
const (
	spins = 4
	pause = 750
)

// canSpin reports whether another CPU runs a goroutine, and none waits for that of g.
func (w *World) canSpin(g *Goroutine) bool {
	if len(w.queue) > 0 || w.cpus.all[g.cpu].next != nil {
		return false
	}
	for i := range w.cpus.all {
		if int64(i) != g.cpu && w.cpus.all[i].busy {
			return true
		}
	}
	return false
}

// A state is what a goroutine is doing.
type state uint8

const (
	runnable state = iota
	running
	waiting
	ended
)

// cpus are those of a world: so many, or one for each goroutine.
type cpus struct {
	all  []cpu
	more bool    // whenever one is wanted
	idle []int64 // in the order in which they became so
}

type cpu struct {
	next   *Goroutine // that was woken by the one that runs here, see Config.Go
	busy   bool
	waking bool
}

func newCPUs(n int) cpus {
	c := cpus{more: n == 0}
	for range n {
		c.add()
	}
	return c
}

func (c *cpus) add() {
	c.idle = append(c.idle, int64(len(c.all)))
	c.all = append(c.all, cpu{})
}

// take returns an idle one, the one that the goroutine had last if that is, or -1.
func (c *cpus) take(g *Goroutine) int64 {
	if c.more {
		if g.cpu < 0 {
			if len(c.idle) == 0 {
				c.add()
			}
			g.cpu, c.idle = c.idle[0], c.idle[1:]
		}
		return g.cpu
	}
	if len(c.idle) == 0 {
		return -1
	}
	n := c.idle[0]
	c.idle = c.idle[1:]
	c.all[n].busy = true
	return n
}

// ready lets a goroutine that waits go on.
func (w *World) ready(g *Goroutine) {
	w.tape.ready(g)
	g.state = runnable
	if w.config.Go {
		w.enqueue(g)
		return
	}
	w.after(w.about(w.config.Wake), func() { w.runnable(g) })
}

// arises lets a new goroutine begin.
func (w *World) arises(g *Goroutine) {
	if w.config.Go {
		w.enqueue(g)
		return
	}
	w.after(0, func() { w.runnable(g) })
}

// runnable puts a goroutine at the end of the run queue.
func (w *World) runnable(g *Goroutine) {
	w.queue = append(w.queue, g)
	w.dispatch()
}

// enqueue has a goroutine run next on the current one's CPU, or at the end of the run queue, and
// wakes an idle CPU.
func (w *World) enqueue(g *Goroutine) {
	if by := w.current; by != nil {
		c := &w.cpus.all[by.cpu]
		if c.next != nil {
			w.queue = append(w.queue, c.next)
		}
		c.next = g
	} else {
		w.queue = append(w.queue, g)
	}
	for i := range w.cpus.all {
		if c := &w.cpus.all[i]; !c.busy && !c.waking {
			c.waking = true
			w.after(w.about(w.config.Wake), func() {
				if c.waking = false; !c.busy {
					w.proceed(int64(i), slice, 0)
				}
			})
			return
		}
	}
}

// proceed has a CPU go on with a goroutine that is ready: its own next one, which gets no more than
// a slice, the first in the queue, or another CPU's next one. That takes a time.
func (w *World) proceed(n, left, after int64) {
	c := &w.cpus.all[n]
	c.busy = false
	var g *Goroutine
	share := int64(slice)
	switch {
	case c.next != nil:
		g, c.next, share = c.next, nil, left
	case len(w.queue) > 0:
		g, w.queue = w.queue[0], w.queue[1:]
	default:
		for i := range w.cpus.all {
			if other := &w.cpus.all[i]; other.next != nil {
				g, other.next = other.next, nil
				break
			}
		}
	}
	if g == nil {
		return
	}
	c.busy = true
	w.after(after, func() { w.begin(g, n, share) })
}

// dispatch gives CPUs that are idle to goroutines that want one.
func (w *World) dispatch() {
	for len(w.queue) > 0 {
		g := w.queue[0]
		n := w.cpus.take(g)
		if n < 0 {
			return
		}
		w.queue = w.queue[1:]
		share := int64(slice)
		if w.cpus.more {
			share = math.MaxInt64
		}
		w.begin(g, n, share)
	}
}

// begin lets a goroutine run on a CPU.
func (w *World) begin(g *Goroutine, n, share int64) {
	g.cpu, g.slice, g.state = n, share, running
	w.tape.start(g)
	w.after(0, func() { w.resume(g) })
}

// resume lets a goroutine run until it gives its CPU away.
func (w *World) resume(g *Goroutine) {
	w.current = g
	_, alive := g.next()
	w.current = nil
	if !alive {
		g.state = ended
		w.tape.end(g)
		if w.cpus.more {
			w.cpus.idle = append(w.cpus.idle, g.cpu)
		}
		w.release(g)
	}
}

// release has the goroutine's CPU go on with another one.
func (w *World) release(g *Goroutine) {
	switch {
	case w.cpus.more:
	case w.config.Go:
		w.proceed(g.cpu, max(1, g.slice), switching)
	default:
		w.cpus.all[g.cpu].busy = false
		w.cpus.idle = append(w.cpus.idle, g.cpu)
		w.dispatch()
	}
}

// park waits, without a CPU, until another goroutine makes g ready.
func (g *Goroutine) park() {
	g.state = waiting
	g.world.tape.wait(g)
	g.world.release(g)
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
			g.slice = slice
			g.reschedule()
		}
	}
}

// reschedule gives the CPU to those that are ready, and goes on behind them.
func (g *Goroutine) reschedule() {
	g.state = runnable
	g.world.tape.yield(g)
	g.world.queue = append(g.world.queue, g)
	g.world.release(g)
	g.switchAway()
}
