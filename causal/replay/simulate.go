package replay

import (
	"cmp"
	"math"
	"slices"
)

// A change is what a simulation has otherwise than the recording.
type change struct {
	// factors are what is left of a region's time, by region; nil for all of it.
	factors map[int32]float64
	procs   int // 0 for those of the recording
}

// An outcome is what a simulation came to.
type outcome struct {
	visits    [][]int64 // by progress point, when
	durations [][]int64 // by progress point, of its spans, ns
	ended     int64     // when the simulation ended
	stuck     bool      // nothing could go on any more
	steps     int
	work      int // what that took: the ops that were done, and the times that one was come back to
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

const (
	happenStep  = iota // the current runner of processor id goes on
	happenBack         // runner id comes back from outside
	happenAwake        // processor id looks for a goroutine
	happenSent         // the element of delivery id is there
)

// A simulation replays a program.
type simulation struct {
	p          *program
	change     change
	factors    []float64 // of each set of regions
	now, until int64
	n          uint32
	heap       heap
	procs      []processor
	queue      queue // runners that are ready, in order
	runners    []runner
	free       []int32 // runners that are over
	tokens     []token
	objects    []object
	began      []int64 // of spans
	started    []bool  // lists that come back to something, once they run
	out        outcome
	deliveries []delivery
	took       []int32     // by the element that a receive got: the one it got here
	gathered   []gathering // the first is none
	over       bool
	passed     []bool // ops that can be done once, by number: have been
	patience   int64  // when to break a wait, without progress until then
	limit      int    // of out.work
}

// A delivery is an element on its way.
type delivery struct{ object, element int32 }

// What a simulation may do is bounded by how much is in the recording: it does that once if nothing is changed, and up to twenty
// times if all that takes time is faster by 95 %.
const (
	leastWork = 1 << 20
	workPerOp = 40
	// maxRunners bounds the goroutines that there are at a time.
	maxRunners = 1 << 20
)

// maxAtOnce bounds the ops that a goroutine does without time passing.
const maxAtOnce = 100_000

// simulate replays the program for so long, ns.
func simulate(p *program, c change, until int64) outcome {
	if p.spare == nil {
		p.spare = &simulation{p: p}
	}
	s := p.spare
	s.reset(c)
	s.begin()
	s.run(until)
	return s.out
}

// reset makes a simulation new, in the memory that it has.
func (s *simulation) reset(c change) {
	p := s.p
	procs := max(1, p.rec.Procs)
	if c.procs > 0 {
		procs = c.procs
	}
	*s = simulation{
		p: p, change: c, until: -1,
		factors:  filled(s.factors, len(p.sets), 1),
		procs:    filled(s.procs, procs, processor{current: -1, next: -1}),
		tokens:   filled(s.tokens, int(p.tokens), token{wait: -1}),
		began:    filled(s.began, len(p.rec.spans), -1),
		started:  filled(s.started, len(p.lists), false),
		passed:   filled(s.passed, int(p.onces), false),
		took:     filled(s.took, len(p.segments), 0),
		gathered: append(s.gathered[:0], gathering{}),
		heap:     s.heap[:0], queue: s.queue, runners: s.runners[:0], free: s.free[:0], deliveries: s.deliveries[:0],
		objects:  slices.Grow(s.objects[:0], len(p.objects))[:len(p.objects)],
		patience: p.patience, limit: leastWork + workPerOp*p.ops,
	}
	s.queue.reset()
	for i := range p.objects {
		s.objects[i].begin(&p.objects[i])
	}
	for i, set := range p.sets {
		for _, r := range set {
			if f, ok := c.factors[r]; ok {
				s.factors[i] = min(s.factors[i], f)
				if f > 1 {
					s.factors[i] = f
				}
			}
		}
		for _, x := range p.sharesOf(i) {
			if f, ok := c.factors[x.region]; ok {
				s.factors[i] *= 1 - (1-f)*x.part
			}
		}
	}
	s.out.visits, s.out.durations = make([][]int64, len(p.points)), make([][]int64, len(p.points))
}

// filled returns n times x, in the memory of v if that is enough.
func filled[T any](v []T, n int, x T) []T {
	v = slices.Grow(v[:0], n)[:n]
	for i := range v {
		v[i] = x
	}
	return v
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
	s.until = until
	for len(s.heap) > 0 && !s.over {
		if s.heap[0].at > until {
			s.now, s.out.ended = until, until
			return
		}
		e := s.heap.pop()
		s.now = e.at
		if s.now > s.patience {
			s.breakOne()
		}
		s.out.steps++
		if s.out.work++; s.out.work > s.limit || len(s.runners) > maxRunners {
			break
		}
		switch e.kind() {
		case happenStep:
			s.step(e.id())
		case happenBack:
			s.ready(e.id(), -1)
		case happenSent:
			d := s.deliveries[e.id()]
			s.send(&s.objects[d.object], d.element, -1)
		case happenAwake:
			p := &s.procs[e.id()]
			p.waking = false
			if p.current < 0 {
				s.take(e.id(), 0)
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

func (s *simulation) at(d int64, kind uint8, id int32) {
	s.n++
	s.heap.push(newHappening(s.now+max(0, d), s.n, kind, id))
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

// longest bounds how long anything takes, ns: thirty years, so that times can be added.
const longest = 1 << 60

func (s *simulation) scaled(o *op) int64 {
	f := s.factors[o.set]
	if f == 1 {
		return o.d
	}
	return int64(min(math.Round(float64(o.d)*f), longest))
}

// step runs the current goroutine of a processor until time passes.
func (s *simulation) step(proc int32) {
	p := &s.procs[proc]
	i := p.current
	for n := 0; ; n++ {
		s.out.work++
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
				if s.queue.len() > 0 || p.next >= 0 {
					s.queue.push(i)
					s.leave(proc, ready)
					return
				}
			}
			d := min(r.left, p.slice)
			r.left -= d
			p.slice -= d
			if s.passes(d) {
				n = 0
				continue
			}
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
			s.wake(i, proc, o)
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
