package replay

import (
	"cmp"
	"math"
	"slices"
)

// simulate replays the program for so long, ns.
func simulate(p *program, c change, until int64) outcome {
	if p.spare == nil {
		p.spare = &simulation{p: p}
	}
	s := p.spare
	p.rec.rests()
	s.reset(c)
	p.rec.rests()
	s.begin()
	s.run(until)
	return s.out
}

// begin has goroutines do what they did when the window began: waiting ones go on with that, running ones have
// processors, for what is left of their slices, and ready ones come next, in order. Slices that began together
// would end together for long.
func (s *simulation) begin() {
	for i := range s.p.objects {
		for _, at := range s.p.objects[i].comes {
			s.comes(int32(i), at)
		}
	}
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
		p.slice = s.slice()
		if left := s.p.lists[i].begins.slice; left > 0 {
			p.slice = min(left, p.slice)
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
		s.p.rec.restsAt(s.out.steps)
		s.out.steps++
		if s.out.work++; s.out.work > s.limit || len(s.runners) > maxRunners {
			break
		}
		switch e.kind() {
		case happenStep:
			s.step(e.id())
		case happenBack:
			s.back(e.id())
		case happenSent:
			d := s.deliveries[e.id()]
			s.send(s.channel(d.object), d.element, -1)
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
	e := &s.x.entries[list]
	if e.at < 0 || e.once && s.started[list] {
		return
	}
	i := s.admit(list)
	if by >= 0 && s.runners[by].spares != spends {
		s.runners[i].spares = sparesAll
	}
	if e.gathered && by >= 0 {
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
	s.runners[i] = runner{list: list, pc: s.x.entries[list].at, left: -1, next: -1, late: -1}
	return i
}

// longest bounds how long anything takes, ns: thirty years, so that times can be added.
const longest = 1 << 60

// scaled returns what is left of a time.
func (s *simulation) scaled(d int64, set uint16) int64 {
	f := s.factors[set]
	if f == 1 {
		return d
	}
	return int64(min(math.Round(float64(d)*f), longest))
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
		if r.until > 0 && r.pc == r.until {
			s.comeBack(r)
		}
		o := &s.code[r.pc]
		switch o.kind {
		case opRun, opRunOn, opRow, opRowOn:
			if r.left < 0 {
				r.left = s.computes(o)
				for o.kind == opRunOn || o.kind == opRowOn {
					r.pc++
					o = &s.code[r.pc]
					r.left = min(r.left+s.computes(o), longest)
				}
				if r.spares != spends {
					r.left = 0
				}
				if r.batch > 0 {
					r.left = s.strained(r, r.left)
				}
			}
			if r.left == 0 {
				r.left = -1
				r.pc++
				continue
			}
			if p.slice <= 0 {
				p.slice = s.slice()
				if s.queue.len() > 0 || p.next >= 0 {
					s.queue.push(i)
					s.leave(proc, ready)
					return
				}
			}
			d := min(r.left, p.slice)
			p.slice -= d
			s.out.ran += d
			if r.left -= d; r.left == 0 {
				r.left = -1
				r.pc++
			}
			if s.passes(d) {
				n = 0
				continue
			}
			s.at(d, happenStep, proc)
			return
		case opOut:
			r.pc++
			if r.spares != spends {
				continue
			}
			r.late = int64(o.late)
			d := s.shortened(o)
			if r.batch > 0 {
				d = s.stretched(r, o.set, d)
			}
			s.backIn(i, d)
			s.leave(proc, away)
			return
		case opHold:
			r.pc++
			d := s.scaled(o.d, o.set)
			if d == 0 {
				continue
			}
			r.late = -1
			s.backIn(i, d)
			s.leave(proc, away)
			return
		case opArrive:
			r.pc++
			r.late = int64(o.late)
			s.backIn(i, s.arrives(r, o))
			s.leave(proc, away)
			return
		case opDue:
			r.pc++
			r.late = int64(o.late)
			s.backIn(i, s.due(o))
			s.leave(proc, away)
			return
		case opPace:
			r.pc++
			d := s.objects[o.arg].pace.ask(s.now) - s.now
			if d == 0 {
				continue
			}
			r.late = int64(o.late)
			s.backIn(i, d)
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
			if !s.gather(i, o) {
				r.late = int64(o.late)
				s.leave(proc, blocked)
				return
			}
		case opChoose:
			if !s.choose(i, o) {
				s.leave(proc, blocked)
				return
			}
		case opUse:
			if !s.use(i, o) {
				s.leave(proc, blocked)
				return
			}
		case opFill:
			s.fill(i, proc, o)
		case opVisit:
			r.pc++
			s.visited(o.arg)
		case opOpen:
			r.pc++
			s.began[o.arg] = s.now + 1
		case opClose:
			r.pc++
			s.visited(o.ref)
			if began := s.began[o.arg]; began > 0 {
				s.out.durations[o.ref] = append(s.out.durations[o.ref], s.now+1-began)
			}
		case opOver:
			r.pc++
			s.over = true
		case opAgain:
			r.pc = o.arg
			r.laps++
			s.clear(o.ref)
		case opBegin:
			r.pc++
			s.takeUp(r, o.arg, o.head)
		case opDone:
			r.pc++
			s.putDown(r, o.arg)
		case opEnd:
			switch {
			case o.arg < 0:
				s.finished(i, proc)
				s.leave(proc, asleep)
				s.free = append(s.free, i)
				return
			case !s.serveOn(i, o): // what it does next is up to the next element
				s.leave(proc, blocked)
				return
			}
		default:
			if !r.granted && !r.retrying && s.skips(o) {
				r.pc++
				continue
			}
			if s.spins(i, proc, o) {
				return
			}
			if !s.operate(i, proc, o) {
				s.leave(proc, blocked)
				return
			}
		}
	}
}
