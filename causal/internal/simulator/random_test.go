package simulator

import (
	"math/rand/v2"

	"github.com/otelprof/otelprof/causal/internal/ledger"
)

// A Shape says which programs [Random] makes.
type Shape struct {
	Loops    int  // goroutine loops at most, 2 at least
	Work     bool // some steps compute
	Brief    bool // steps take some 100 µs, rather than milliseconds
	Sharing  bool // locks and channels
	Requests bool // a goroutine for some steps
}

// Random returns a made-up program, the same for the same seed: loops that compute, wait for
// something outside, hold locks, send to and receive from each other through channels, and start
// goroutines that they wait for. One loop visits the progress point, and Region is the name of some
// of the steps. It also returns about how long one round takes.
func Random(seed uint64, shape Shape) (program func(w *World), round int64) {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 7)), shape: shape}
	loops := make([][]step, 2+m.IntN(max(1, shape.Loops-1)))
	for i := range loops {
		loops[i] = m.steps(2+m.IntN(3), 0)
	}
	copies := make([]int, len(loops))
	for i := range copies {
		copies[i] = 1
		if m.IntN(3) == 0 {
			copies[i] += m.IntN(4)
		}
	}
	if shape.Sharing {
		m.connect(loops)
	}
	// The progress point is a span around the steps of one loop, and some step is the region.
	at := m.IntN(len(loops))
	m.mark(loops)
	for i := range loops {
		m.number(loops[i])
		round = max(round, m.time(loops[i]))
	}
	locks := m.locks
	chans := m.chans
	return func(w *World) {
		p := &shared{locks: make([]Mutex, locks), rw: make([]RWMutex, locks)}
		for _, n := range chans {
			p.chans = append(p.chans, NewChan[int](n))
		}
		for i, steps := range loops {
			for range copies[i] {
				w.Go(func(g *Goroutine) {
					for {
						if i == at {
							g.Span(Point, func() { p.all(g, steps) })
						} else {
							p.all(g, steps)
						}
					}
				})
			}
		}
	}, round
}

type stepKind uint8

const (
	stepWork stepKind = iota
	stepIO
	stepLock  // inner steps with a lock
	stepRead  // with a lock for reading
	stepWrite // with the same for writing
	stepSend
	stepReceive
	stepFan // inner steps on a goroutine each, which are waited for
)

// A step of a made-up program.
type step struct {
	kind   stepKind
	ns     int64
	region ledger.RegionID // of a span around it, NoRegion for none
	object int
	at     int // its number
	inner  []step
}

type maker struct {
	*rand.Rand
	shape  Shape
	locks  int
	chans  []int // capacities
	placed int
}

func (m *maker) duration() int64 {
	d := int64(1+m.IntN(10)) * 500 * Microsecond
	if m.shape.Brief {
		d /= 10
	}
	return d
}

func (m *maker) steps(n, depth int) []step {
	all := make([]step, 0, n)
	for range n {
		s := step{kind: stepIO, ns: m.duration(), region: ledger.NoRegion}
		if m.shape.Work && m.IntN(2) == 0 {
			s.kind = stepWork
		}
		if m.IntN(3) > 0 {
			s.region = Other
		}
		switch k := m.IntN(10); {
		case depth < 2 && m.shape.Sharing && k < 3:
			s.kind, s.object = stepLock, depth*2+m.IntN(2) // ordered, so that nothing gets stuck
			if m.IntN(4) == 0 {
				s.kind = stepRead + stepKind(m.IntN(2))
			}
			m.locks = max(m.locks, s.object+1)
			s.inner = m.steps(1+m.IntN(2), depth+1)
		case depth < 1 && m.shape.Requests && k >= 8:
			s.kind = stepFan
			s.inner = m.steps(2+m.IntN(2), depth+1)
		}
		all = append(all, s)
	}
	return all
}

// connect adds channels from each loop to the next, some of them.
func (m *maker) connect(loops [][]step) {
	for i := 1; i < len(loops); i++ {
		if m.IntN(3) == 0 {
			continue
		}
		c := len(m.chans)
		m.chans = append(m.chans, m.IntN(5))
		loops[i-1] = append(loops[i-1], step{kind: stepSend, object: c, region: ledger.NoRegion})
		loops[i] = append([]step{{kind: stepReceive, object: c, region: ledger.NoRegion}}, loops[i]...)
	}
}

// mark makes one step of each the region, or some more.
func (m *maker) mark(loops [][]step) {
	var leaves []*step
	var walk func(all []step)
	walk = func(all []step) {
		for i := range all {
			if s := &all[i]; s.inner == nil && s.kind <= stepIO {
				leaves = append(leaves, s)
			} else {
				walk(s.inner)
			}
		}
	}
	for i := range loops {
		walk(loops[i])
	}
	for range 1 + m.IntN(2) {
		leaves[m.IntN(len(leaves))].region = Region
	}
}

func (m *maker) number(all []step) {
	for i := range all {
		m.placed++
		all[i].at = m.placed
		m.number(all[i].inner)
	}
}

// time is about how long steps take, if nothing is waited for.
func (m *maker) time(all []step) (ns int64) {
	for i := range all {
		if s := &all[i]; s.inner == nil {
			ns += s.ns
		} else {
			ns += m.time(s.inner)
		}
	}
	return ns
}

// shared is what the goroutines of a made-up program share.
type shared struct {
	locks []Mutex
	rw    []RWMutex
	chans []*Chan[int]
}

func (p *shared) all(g *Goroutine, steps []step) {
	for i := range steps {
		p.step(g, &steps[i])
	}
}

func (p *shared) step(g *Goroutine, s *step) {
	if s.region != ledger.NoRegion {
		sp := g.Start(s.region)
		p.inside(g, s)
		sp.End(g)
		return
	}
	p.inside(g, s)
}

func (p *shared) inside(g *Goroutine, s *step) {
	g.at = s.at
	switch s.kind {
	case stepWork:
		g.Work(s.ns)
	case stepIO:
		g.IO(s.ns)
	case stepLock:
		p.locks[s.object].Lock(g)
		p.all(g, s.inner)
		p.locks[s.object].Unlock(g)
	case stepRead:
		p.rw[s.object].RLock(g)
		p.all(g, s.inner)
		p.rw[s.object].RUnlock(g)
	case stepWrite:
		p.rw[s.object].Lock(g)
		p.all(g, s.inner)
		p.rw[s.object].Unlock(g)
	case stepSend:
		p.chans[s.object].Send(g, 0)
	case stepReceive:
		p.chans[s.object].Receive(g)
	case stepFan:
		var wg WaitGroup
		wg.Add(g, len(s.inner))
		for i := range s.inner {
			g.Go(func(g *Goroutine) {
				p.step(g, &s.inner[i])
				wg.Done(g)
			})
		}
		wg.Wait(g)
	}
}
