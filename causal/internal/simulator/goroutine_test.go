package simulator

import (
	"errors"
	"iter"
	"math/rand/v2"

	"github.com/otelprof/otelprof/causal/internal/ledger"
)

// A Goroutine is the program's view of the world. Its methods take time; those of others
// must not be called.
type Goroutine struct {
	world *World
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
	rand  *rand.Rand
	slice int64 // left of its time on a CPU
	id    int64 // from 0
	cpu   int64 // that it runs on, or ran on last
	state state
	at    int // where in the program it is, for programs whose code does not tell

	chooses bool // it waits in a select statement

	ledger *ledger.Ledger // nil until it is needed
	spans  []*Span        // open ones that it started
	inside int            // how many of them are within the region that is really shorter
}

// Go starts a goroutine that none of the others has started.
func (w *World) Go(f func(g *Goroutine)) {
	w.start(f, nil, w.config.Seed, uint64(len(w.goroutines)))
}

// Go starts another goroutine and lets the ledger know.
func (g *Goroutine) Go(f func(g *Goroutine)) {
	var l *ledger.Ledger
	if s := g.world.config.Setting; s != nil && !g.world.without(Inheritance) {
		l = g.books().Fork(s, g.world.now)
	}
	g.world.start(f, l, g.rand.Uint64(), 0)
}

// GoPlain starts another goroutine behind the back of the ledger. The first span that
// it starts may tell whose child it is.
func (g *Goroutine) GoPlain(f func(g *Goroutine)) {
	g.world.start(f, nil, g.rand.Uint64(), 0)
}

var errStopped = errors.New("simulator: stopped")

func (w *World) start(f func(g *Goroutine), l *ledger.Ledger, seed1, seed2 uint64) {
	g := &Goroutine{world: w, id: int64(len(w.goroutines)), cpu: -1, ledger: l, rand: rand.New(rand.NewPCG(seed1, seed2))}
	g.next, g.stop = iter.Pull(func(yield func(struct{}) bool) {
		defer func() {
			if err := recover(); err != nil && err != any(errStopped) {
				panic(err)
			}
		}()
		g.yield = yield
		f(g)
	})
	w.goroutines = append(w.goroutines, g)
	w.tape.create(g)
	w.arises(g)
}

// switchAway lets others run until g is resumed.
func (g *Goroutine) switchAway() {
	if !g.yield(struct{}{}) {
		panic(errStopped)
	}
}

// Rand is for durations. It is the goroutine's own, so the n-th number is the same in
// all worlds of one seed, independently of the others.
func (g *Goroutine) Rand() *rand.Rand { return g.rand }

// Now returns the time.
func (g *Goroutine) Now() int64 { return g.world.now }

// Work takes a CPU for a time.
func (g *Goroutine) Work(ns int64) { g.busy(g.duration(ns)) }

// IO waits for something outside, which takes a time.
func (g *Goroutine) IO(ns int64) { g.wait(g.duration(ns)) }

// Sleep waits for a timer. Nothing makes that shorter.
func (g *Goroutine) Sleep(ns int64) {
	g.wait(max(0, ns) + g.world.about(g.world.config.Oversleep))
}

// duration is how long work really takes.
func (g *Goroutine) duration(ns int64) int64 {
	c := &g.world.config
	d := float64(ns)
	if c.Jitter != 0 {
		d *= 1 - c.Jitter + 2*c.Jitter*g.rand.Float64()
	}
	if g.inside > 0 {
		d *= 1 - c.Shorter.Speedup
	}
	return int64(d)
}

func (g *Goroutine) wait(ns int64) {
	g.world.after(ns, func() { g.world.ready(g) })
	g.park()
}
