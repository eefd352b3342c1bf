package simulator

import (
	"container/heap"
	"math/rand/v2"

	"github.com/otelprof/otelprof/causal/internal/ledger"
)

// Units of time, ns.
const (
	Microsecond = 1_000
	Millisecond = 1_000_000
	Second      = 1_000_000_000
)

// A Config says what kind of world it is. The zero Config is the program as it is: there are
// no ledgers, every goroutine has a CPU, and nothing is random.
type Config struct {
	Seed   uint64
	Jitter float64 // in [0, 1]; work takes 1±Jitter of its time, evenly distributed
	CPUs   int     // one for each goroutine if 0
	// Go has goroutines run, and locks passed on, as Go does. One that is woken goes on next where
	// the one that woke it runs, unless a CPU that is idle, which takes Wake, is awake before that.
	// Locks are barging ones until one goroutine has waited for above 1 ms. It needs CPUs.
	Go bool
	// Wake is the mean time from when a goroutine may go on until it does, Oversleep by how
	// much timers are late on average, ns. Both are evenly distributed between 0 and twice that.
	Wake, Oversleep int64

	// Shorter is what is really shorter: work in the region takes 1-Speedup of its time.
	Shorter ledger.Hypothesis

	// Setting is what ledgers are kept for, nil for none.
	Setting *ledger.Setting
	// Pay is how delays are paid, if the setting has them paid.
	Pay Payment
	// Without are rules of virtual time that are not kept, to see what for they are there.
	Without Rules

	// Point is the region whose ends are counted as progress.
	Point ledger.RegionID
}

// An Arrival is an end of a span at the progress point.
type Arrival struct {
	Time     int64
	Duration int64 // of the span
	Growth   int64 // what goroutines owed by then, where delays are paid
}

// A World is one run of a program.
type World struct {
	config     Config
	now        int64
	events     events
	scheduled  uint64
	goroutines []*Goroutine
	noise      *rand.Rand // of all but the work, so that this is the same in all worlds
	cpus       cpus
	queue      []*Goroutine
	current    *Goroutine // that runs while things happen, nil for something outside
	objects    uint64     // that have a number
	tape       *tape

	arrivals []Arrival
}

// NewWorld returns a world in which nothing happens yet.
func NewWorld(config Config) *World {
	config.Go = config.Go && config.CPUs > 0
	return &World{config: config, cpus: newCPUs(config.CPUs), noise: rand.New(rand.NewPCG(config.Seed, 1))}
}

// Now returns the time.
func (w *World) Now() int64 { return w.now }

// Arrivals returns the progress so far.
func (w *World) Arrivals() []Arrival { return w.arrivals }

// Set changes what ledgers are kept for.
func (w *World) Set(s *ledger.Setting) { w.config.Setting = s }

// Run lets the world go on until a time, or until nothing happens any more.
func (w *World) Run(until int64) {
	for len(w.events) > 0 && w.events[0].at <= until {
		e := heap.Pop(&w.events).(*event)
		w.now = e.at
		e.do()
	}
	w.now = until
}

// Stop ends all goroutines where they are. The world is of no use after that.
func (w *World) Stop() {
	for _, g := range w.goroutines {
		g.stop()
	}
}

// after lets something happen later, or now but after what is happening.
func (w *World) after(ns int64, do func()) {
	w.scheduled++
	heap.Push(&w.events, &event{at: w.now + ns, order: w.scheduled, do: do})
}

// about returns a random time with a mean.
func (w *World) about(mean int64) int64 {
	if mean == 0 {
		return 0
	}
	return w.noise.Int64N(2*mean + 1)
}

// event is something that will happen. Of two at one time the one that was scheduled first does.
type event struct {
	at    int64
	order uint64
	do    func()
}

type events []*event

func (q events) Len() int { return len(q) }

func (q events) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].order < q[j].order
}

func (q events) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

func (q *events) Push(e any) { *q = append(*q, e.(*event)) }

func (q *events) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return e
}
