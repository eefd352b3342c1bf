package replay

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// slice is for how long a goroutine keeps its processor while others want it, ns. It is that of Go.
const slice = 10_000_000

// A change is what a simulation has otherwise than the recording.
type change struct {
	// factors are what is left of a region's time, by region; nil for all of it.
	factors map[int32]float64
	procs   int // 0 for those of the recording
	// meets has each wake-up wait for the goroutine that it wakes: what a lock or a channel would do whose operations are not in
	// the recording.
	meets bool
}

// An outcome is what a simulation came to.
type outcome struct {
	visits    [][]int64 // by progress point, when
	durations [][]int64 // by progress point, of its spans, ns
	ended     int64     // when the simulation ended
	stuck     bool      // nothing could go on any more
	steps     int
	broken    int // waits that were given up since nothing went on
}

// The states of a goroutine in a simulation.
const (
	asleep = iota // not started, or over
	ready
	onProc
	blocked
	away // outside
)

// A runner is a goroutine that follows a list.
type runner struct {
	list, pc int32
	left     int64 // of the op that computes, -1 before it begins
	state    uint8
	granted  bool // what it waits for has been given to it
	retrying bool // for a lock, after a wait
	asked    int64
	late     int64
	element  int32 // that it was given
	gathers  int32 // the goroutines that it waits for the end of, see simulation.gathered; 0 for none
	of       int32 // the same of the goroutine that waits for its end
	next     int32 // that waits for the same token, -1
}

type processor struct {
	current, next int32 // runners, -1
	slice         int64
	waking        bool
}

type happening struct {
	at   int64
	n    uint32
	kind uint8
	id   int32
}

const (
	happenStep  = iota // the current runner of processor id goes on
	happenBack         // runner id comes back from outside
	happenAwake        // processor id looks for a goroutine
	happenSent         // the element of delivery id is there
)

type happenings []happening

func (h happenings) Len() int { return len(h) }
func (h happenings) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].n < h[j].n
}
func (h happenings) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *happenings) Push(x any)   { *h = append(*h, x.(happening)) }
func (h *happenings) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// A simulation replays a program.
type simulation struct {
	p          *program
	change     change
	factors    []float64 // of each set of regions
	now        int64
	n          uint32
	heap       happenings
	procs      []processor
	queue      []int32 // runners that are ready, in order
	runners    []runner
	free       []int32 // runners that are over
	tokens     []int32
	waits      []int32 // first runner that waits for a token, -1
	holds      []int32 // first runner that has given a token and waits for its taker, -1
	objects    []object
	began      []int64 // of spans
	started    []bool  // lists that come back to something, once they run
	out        outcome
	deliveries []delivery
	gathered   []gathering // the first is none
	over       bool
	passed     map[*op]bool // ops that can be done once, and have been
	patience   int64        // when to break a wait, without progress until then
}

// A delivery is an element on its way.
type delivery struct{ object, element int32 }

// maxSteps bounds a simulation: some ten times what a recording of a million events takes.
const maxSteps = 40_000_000

// maxAtOnce bounds the ops that a goroutine does without time passing.
const maxAtOnce = 100_000

// simulate replays the program for so long, ns.
func simulate(p *program, c change, until int64) outcome {
	s := newSimulation(p, c)
	s.run(until)
	return s.out
}

func newSimulation(p *program, c change) *simulation {
	s := &simulation{
		p: p, change: c, factors: make([]float64, len(p.sets)), procs: make([]processor, max(1, p.rec.Procs)),
		tokens: make([]int32, p.tokens), waits: make([]int32, p.tokens), holds: make([]int32, p.tokens),
		objects: make([]object, len(p.objects)), began: make([]int64, len(p.rec.spans)), started: make([]bool, len(p.lists)), passed: map[*op]bool{}, gathered: make([]gathering, 1),
	}
	if c.procs > 0 {
		s.procs = make([]processor, c.procs)
	}
	for i := range s.procs {
		s.procs[i] = processor{current: -1, next: -1}
	}
	for i := range s.began {
		s.began[i] = -1
	}
	for i := range s.tokens {
		s.waits[i], s.holds[i] = -1, -1
	}
	for i, set := range p.sets {
		s.factors[i] = 1
		for _, r := range set {
			if f, ok := c.factors[r]; ok {
				s.factors[i] = min(s.factors[i], f)
				if f > 1 {
					s.factors[i] = f
				}
			}
		}
	}
	s.patience = p.patience
	for i := range p.objects {
		s.objects[i].begin(&p.objects[i])
	}
	s.out.visits, s.out.durations = make([][]int64, len(p.points)), make([][]int64, len(p.points))
	s.begin()
	return s
}

// begin has goroutines do what they did when the window began: those that wait go on with that, those that run have
// processors, for what is left of their slices, and those that are ready come next, in order. Slices that began together
// would end together for long.
func (s *simulation) begin() {
	var lists []int32
	for i := range s.p.lists {
		if l := &s.p.lists[i]; !l.born && len(l.ops) > 0 {
			lists = append(lists, int32(i))
		}
	}
	rank := map[uint8]int{waiting: 0, inSyscall: 0, running: 1}
	of := func(i int32) int {
		if r, ok := rank[s.p.lists[i].begins.state]; ok {
			return r
		}
		return 2
	}
	slices.SortStableFunc(lists, func(a, b int32) int {
		if of(a) == 2 && of(b) == 2 {
			return cmp.Compare(s.p.lists[a].begins.at, s.p.lists[b].begins.at)
		}
		return cmp.Compare(of(a), of(b))
	})
	for _, i := range lists {
		q := slices.IndexFunc(s.procs, func(p processor) bool { return p.current < 0 })
		if of(i) == 2 || q < 0 {
			s.spawn(i, -1, -1)
			continue
		}
		p := &s.procs[q]
		p.slice = slice
		if left := s.p.lists[i].begins.slice; left > 0 {
			p.slice = min(left, slice)
		}
		p.current = s.admit(i)
		s.runners[p.current].state = onProc
		s.step(int32(q))
	}
}

func (s *simulation) run(until int64) {
	for len(s.heap) > 0 && !s.over {
		if s.heap[0].at > until {
			s.now, s.out.ended = until, until
			return
		}
		e := heap.Pop(&s.heap).(happening)
		s.now = e.at
		if s.now > s.patience {
			s.breakOne()
		}
		s.out.steps++
		if s.out.steps > maxSteps {
			break
		}
		switch e.kind {
		case happenStep:
			s.step(e.id)
		case happenBack:
			s.ready(e.id, -1)
		case happenSent:
			d := s.deliveries[e.id]
			s.send(&s.objects[d.object], d.element, -1)
		case happenAwake:
			p := &s.procs[e.id]
			p.waking = false
			if p.current < 0 {
				s.take(e.id, 0)
			}
		}
	}
	s.out.ended = s.now
	s.out.stuck = !s.over
}

// visited notes progress: for as long as there is some, the simulation is not stuck.
func (s *simulation) visited(point int32) {
	s.out.visits[point] = append(s.out.visits[point], s.now)
	s.patience = s.now + s.p.patience
}

// breakOne ends the wait for another goroutine that was the shortest in the recording, after there has been no progress for
// long: orders that were decided anew in one place and kept in another contradict each other.
func (s *simulation) breakOne() {
	s.patience = s.now + s.p.patience/16
	best := int32(-1)
	var least int64 = math.MaxInt64
	for i := range s.runners {
		r := &s.runners[i]
		if r.state != blocked {
			continue
		}
		l := &s.p.lists[r.list]
		if int(r.pc) >= len(l.ops) {
			continue
		}
		if o := &l.ops[r.pc]; o.kind == opWait && o.d < least {
			best, least = int32(i), o.d
		}
	}
	if best < 0 {
		return
	}
	o := &s.p.lists[s.runners[best].list].ops[s.runners[best].pc]
	for at := &s.waits[o.arg]; *at >= 0; at = &s.runners[*at].next {
		if *at == best {
			*at = s.runners[best].next
			break
		}
	}
	s.out.broken++
	s.grant(best, -1)
}

func (s *simulation) at(d int64, kind uint8, id int32) {
	s.n++
	heap.Push(&s.heap, happening{s.now + max(0, d), s.n, kind, id})
}

// spawn starts a list, on a processor if another goroutine does so.
func (s *simulation) spawn(list, proc, by int32) {
	l := &s.p.lists[list]
	if len(l.ops) == 0 {
		return
	}
	if l.to > 0 || l.serves >= 0 {
		if s.started[list] {
			return
		}
	}
	i := s.admit(list)
	if l.gathered && by >= 0 {
		r := &s.runners[by]
		if r.gathers == 0 {
			s.gathered = append(s.gathered, gathering{waiter: -1})
			r.gathers = int32(len(s.gathered) - 1)
		}
		s.runners[i].of = r.gathers
		s.gathered[r.gathers].left++
	}
	s.ready(i, proc)
}

// A gathering is a number of goroutines whose end another one waits for.
type gathering struct{ left, waiter int32 }

// finished tells of the end of a goroutine.
func (s *simulation) finished(i, proc int32) {
	of := s.runners[i].of
	if of == 0 {
		return
	}
	g := &s.gathered[of]
	if g.left--; g.left == 0 && g.waiter >= 0 {
		s.grant(g.waiter, proc)
	}
}

// gather waits for the goroutines that the runner has started, or reports that it must wait.
func (s *simulation) gather(i int32) bool {
	r := &s.runners[i]
	if !r.granted && r.gathers > 0 && s.gathered[r.gathers].left > 0 {
		s.gathered[r.gathers].waiter = i
		return false
	}
	r.granted = false
	r.gathers = 0
	r.pc++
	return true
}

// admit returns a runner for a list.
func (s *simulation) admit(list int32) int32 {
	s.started[list] = true
	var i int32
	if n := len(s.free); n > 0 {
		i = s.free[n-1]
		s.free = s.free[:n-1]
	} else {
		i = int32(len(s.runners))
		s.runners = append(s.runners, runner{})
	}
	s.runners[i] = runner{list: list, left: -1, next: -1, late: -1}
	return i
}

// ready lets a runner go on, woken from a processor or, with -1, by something outside.
func (s *simulation) ready(i, proc int32) {
	r := &s.runners[i]
	r.state = ready
	late := r.late
	r.late = -1
	switch {
	case proc >= 0:
		p := &s.procs[proc]
		if p.next >= 0 {
			s.queue = append(s.queue, p.next)
		}
		p.next = i
		if late < 0 {
			late = s.p.cross
		}
	default:
		s.queue = append(s.queue, i)
		if late < 0 {
			late = s.p.outside
		}
	}
	for q := range s.procs {
		if p := &s.procs[q]; p.current < 0 && !p.waking {
			p.waking = true
			s.at(late, happenAwake, int32(q))
			return
		}
	}
}

// take has a free processor go on with a goroutine that is ready: its own next one, the first in the queue, or another
// processor's next one.
func (s *simulation) take(proc int32, after int64) {
	p := &s.procs[proc]
	inherit := p.slice
	p.current, p.slice = -1, slice
	i := int32(-1)
	switch {
	case p.next >= 0:
		i, p.next = p.next, -1
		if after > 0 {
			p.slice = max(inherit, 1) // as the runtime does, so that two cannot keep a processor for ever
		}
	case len(s.queue) > 0:
		i = s.queue[0]
		s.queue = s.queue[1:]
	default:
		for q := range s.procs {
			if other := &s.procs[q]; other.next >= 0 && other.current >= 0 {
				i, other.next = other.next, -1
				break
			}
		}
	}
	if i < 0 {
		return
	}
	p.current = i
	s.runners[i].state = onProc
	s.at(after, happenStep, proc)
}

// leave takes the runner off its processor.
func (s *simulation) leave(proc int32, state uint8) {
	p := &s.procs[proc]
	if p.current >= 0 {
		s.runners[p.current].state = state
	}
	s.take(proc, s.p.swap)
}

func (s *simulation) scaled(o *op) int64 {
	if f := s.factors[o.set]; f != 1 {
		return int64(math.Round(float64(o.d) * f))
	}
	return o.d
}

// step runs the current goroutine of a processor until time passes.
func (s *simulation) step(proc int32) {
	p := &s.procs[proc]
	i := p.current
	for n := 0; ; n++ {
		if n > maxAtOnce { // a loop that takes no time
			s.leave(proc, asleep)
			return
		}
		r := &s.runners[i]
		l := &s.p.lists[r.list]
		if l.to > 0 && r.pc >= l.to {
			if r.pc = l.from; l.visits && s.p.travelling {
				s.over = true
			}
		}
		if int(r.pc) >= len(l.ops) {
			if l.serves >= 0 && s.serveOn(i, l.serves) {
				continue
			}
			if l.serves >= 0 {
				s.leave(proc, blocked)
				return
			}
			s.finished(i, proc)
			s.leave(proc, asleep)
			s.free = append(s.free, i)
			return
		}
		o := &l.ops[r.pc]
		switch o.kind {
		case opRun:
			if r.left < 0 {
				r.left = s.scaled(o)
			}
			if r.left == 0 {
				r.left = -1
				r.pc++
				continue
			}
			if p.slice <= 0 {
				p.slice = slice
				if len(s.queue) > 0 || p.next >= 0 {
					s.queue = append(s.queue, i)
					s.leave(proc, ready)
					return
				}
			}
			d := min(r.left, p.slice)
			r.left -= d
			p.slice -= d
			s.at(d, happenStep, proc)
			return
		case opOut:
			r.pc++
			r.late = int64(o.late)
			s.at(s.scaled(o), happenBack, i)
			s.leave(proc, away)
			return
		case opWait:
			if !r.granted && s.skips(o) {
				r.pc++
				continue
			}
			if !s.await(i, o) {
				s.leave(proc, blocked)
				return
			}
		case opWake:
			if !s.wake(i, proc, o) {
				s.leave(proc, blocked)
				return
			}
		case opSpawn:
			r.pc++
			s.spawn(o.arg, proc, i)
		case opGather:
			if !s.gather(i) {
				r.late = int64(o.late)
				s.leave(proc, blocked)
				return
			}
		case opVisit:
			r.pc++
			s.visited(o.arg)
		case opOpen:
			r.pc++
			s.began[o.arg] = s.now
		case opClose:
			r.pc++
			if k := s.p.pointOf[s.p.rec.spans[o.arg].region]; k >= 0 {
				s.visited(k)
				if began := s.began[o.arg]; began >= 0 {
					s.out.durations[k] = append(s.out.durations[k], s.now-began)
				}
			}
		default:
			if !r.granted && !r.retrying && s.skips(o) {
				r.pc++
				continue
			}
			if !s.operate(i, proc, o) {
				s.leave(proc, blocked)
				return
			}
		}
	}
}

// skips reports whether the other side of an op is not done, or not any more.
func (s *simulation) skips(o *op) bool {
	if !o.once {
		return o.never
	}
	if s.passed[o] {
		return true
	}
	s.passed[o] = true
	return false
}

// await takes a token, or reports that the runner must wait for it.
func (s *simulation) await(i int32, o *op) bool {
	r := &s.runners[i]
	if r.granted {
		r.granted = false
		r.pc++
		return true
	}
	if h := s.holds[o.arg]; h >= 0 {
		s.holds[o.arg] = s.runners[h].next
		s.runners[h].granted = true
		s.ready(h, -1)
		r.pc++
		return true
	}
	if s.tokens[o.arg] > 0 {
		s.tokens[o.arg]--
		r.pc++
		return true
	}
	r.next = s.waits[o.arg]
	r.late = int64(o.late)
	s.waits[o.arg] = i
	return false
}

// wake gives a token, or reports that the runner must wait for its taker.
func (s *simulation) wake(i, proc int32, o *op) bool {
	r := &s.runners[i]
	if r.granted {
		r.granted = false
		r.pc++
		return true
	}
	if w := s.waits[o.arg]; w >= 0 {
		s.waits[o.arg] = s.runners[w].next
		s.runners[w].granted = true
		s.ready(w, proc)
		r.pc++
		return true
	}
	if s.skips(o) {
		r.pc++
		return true
	}
	if s.change.meets {
		r.next = s.holds[o.arg]
		s.holds[o.arg] = i
		return false
	}
	s.tokens[o.arg]++
	r.pc++
	return true
}
