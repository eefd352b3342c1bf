package sim

import (
	"cmp"
	"math"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
)

// Simulate replays the program for so long, ns.
func Simulate(p *model.Program, c Change, until int64) Outcome {
	s, ok := p.Spare.(*Simulation)
	if !ok {
		s = &Simulation{P: p}
		p.Spare = s
	}
	p.Rec.Rests()
	s.Reset(c)
	p.Rec.Rests()
	s.begin()
	s.run(until)
	return s.Out
}

// begin has goroutines do what they did when the window began: waiting ones go on with that,
// running ones have processors, for what is left of their slices, and ready ones come next, in
// order. Slices that began together would end together for long.
func (s *Simulation) begin() {
	for i := range s.P.Objects {
		for _, at := range s.P.Objects[i].Comes {
			s.comes(int32(i), at)
		}
	}
	var lists []int32
	for i := range s.P.Lists {
		if l := &s.P.Lists[i]; !l.Born && len(l.Ops) > 0 {
			lists = append(lists, int32(i))
		}
	}
	rank := map[uint8]int{model.Waiting: 0, model.InSyscall: 0, model.Running: 1}
	of := func(i int32) int {
		if r, ok := rank[s.P.Lists[i].Begins.State]; ok {
			return r
		}
		return 2
	}
	slices.SortStableFunc(lists, func(a, b int32) int {
		if of(a) == 2 && of(b) == 2 {
			return cmp.Compare(s.P.Lists[a].Begins.At, s.P.Lists[b].Begins.At)
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
		p.slice = s.Slice()
		if left := s.P.Lists[i].Begins.Slice; left > 0 {
			p.slice = min(left, p.slice)
		}
		p.current = s.admit(i)
		s.runners[p.current].state = onProc
		s.step(int32(q))
	}
}

func (s *Simulation) run(until int64) {
	s.until = until
	for len(s.heap) > 0 && !s.over {
		if s.heap[0].at > until {
			s.now, s.Out.ended = until, until
			return
		}
		e := s.heap.pop()
		s.now = e.at
		if s.now > s.patience {
			s.breakOne()
		}
		s.P.Rec.RestsAt(s.Out.Steps)
		s.Out.Steps++
		if s.Out.Work++; s.Out.Work > s.limit || len(s.runners) > maxRunners {
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
	s.Out.ended = s.now
	s.Out.Stuck = !s.over
}

// visited notes progress: for as long as there is some, the simulation is not stuck.
func (s *Simulation) visited(point int32) {
	s.Out.Visits[point] = append(s.Out.Visits[point], s.now)
	s.patience = s.now + s.P.Patience
}

func (s *Simulation) at(d int64, kind uint8, id int32) {
	s.n++
	s.heap.push(newHappening(s.now+max(0, d), s.n, kind, id))
}

// spawn starts a list, on a processor if another goroutine does so.
func (s *Simulation) spawn(list, proc, by int32) {
	e := &s.x.entries[list]
	if e.at < 0 || e.once && s.started[list] {
		return
	}
	i := s.admit(list)
	if by >= 0 && s.runners[by].spares != model.Spends {
		s.runners[i].spares = model.SparesAll
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
func (s *Simulation) admit(list int32) int32 {
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
func (s *Simulation) scaled(d int64, set uint16) int64 {
	f := s.factors[set]
	if f == 1 {
		return d
	}
	return int64(min(math.Round(float64(d)*f), longest))
}

// step runs the current goroutine of a processor until time passes.
func (s *Simulation) step(proc int32) {
	i := s.procs[proc].current
	for n := 0; ; n++ {
		s.Out.Work++
		if n > MaxAtOnce { // a loop that takes no time
			s.leave(proc, asleep)
			return
		}
		r := &s.runners[i]
		if r.until > 0 && r.pc == r.until {
			s.comeBack(r)
		}
		o, done := &s.code[r.pc], true
		switch o.kind {
		case model.OpRun, opRunOn, opRow, opRowOn:
			if n = s.compute(i, proc, o, n); n < 0 {
				return
			}
		case model.OpOut, opHold, opArrive, model.OpDue, model.OpPace:
			if s.goOut(i, proc, o) {
				return
			}
		case model.OpWait:
			done = s.await(i, o)
		case model.OpWake:
			s.wake(i, proc, o)
		case model.OpSpawn:
			r.pc++
			s.spawn(o.arg, proc, i)
		case model.OpGather:
			done = s.gather(i, o)
		case model.OpChoose:
			done = s.choose(i, o)
		case model.OpUse:
			done = s.use(i, o)
		case model.OpFill:
			s.fill(i, proc, o)
		case model.OpVisit, model.OpOpen, model.OpClose, opOver, opAgain, opBegin, opDone:
			s.note(r, o)
		case opEnd:
			if s.end(i, proc, o) {
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
			done = s.operate(i, proc, o)
		}
		if !done {
			s.leave(proc, blocked)
			return
		}
	}
}

// compute has a runner compute until its slice ends or something else is next. It returns n, the
// number of ops done at once: 0 if time has passed, -1 if the runner goes on later.
func (s *Simulation) compute(i, proc int32, o *instruction, n int) int {
	p, r := &s.procs[proc], &s.runners[i]
	if r.left < 0 {
		r.left = s.computes(o)
		for o.kind == opRunOn || o.kind == opRowOn {
			r.pc++
			o = &s.code[r.pc]
			r.left = min(r.left+s.computes(o), longest)
		}
		if r.spares != model.Spends {
			r.left = 0
		}
		if r.batch > 0 {
			r.left = s.strained(r, r.left)
		}
	}
	if r.left == 0 {
		r.left = -1
		r.pc++
		return n
	}
	if p.slice <= 0 {
		p.slice = s.Slice()
		if s.queue.len() > 0 || p.next >= 0 {
			s.queue.push(i)
			s.leave(proc, ready)
			return -1
		}
	}
	d := min(r.left, p.slice)
	p.slice -= d
	s.Out.Ran += d
	if r.left -= d; r.left == 0 {
		r.left = -1
		r.pc++
	}
	if s.passes(d) {
		return 0
	}
	s.at(d, happenStep, proc)
	return -1
}

// goOut has a runner wait for something outside, and reports whether that takes time.
func (s *Simulation) goOut(i, proc int32, o *instruction) bool {
	r := &s.runners[i]
	r.pc++
	d, late := int64(0), int64(o.late)
	switch o.kind {
	case model.OpOut:
		if r.spares != model.Spends {
			return false
		}
		d = s.shortened(o)
		if r.batch > 0 {
			d = s.stretched(r, o.set, d)
		}
	case opHold:
		s.Out.Held[o.set]++
		if d = s.scaled(o.d, o.set); d == 0 {
			return false
		}
		late = -1
	case opArrive:
		d = s.arrives(r, o)
	case model.OpDue:
		d = s.due(o)
	case model.OpPace:
		if d = s.objects[o.arg].pace.Ask(s.now) - s.now; d == 0 {
			return false
		}
	}
	r.late = late
	s.backIn(i, d)
	s.leave(proc, away)
	return true
}

// note does an op that takes no time and concerns no other runner: a visit, a span, work per time,
// or a list that begins anew.
func (s *Simulation) note(r *runner, o *instruction) {
	r.pc++
	switch o.kind {
	case model.OpVisit:
		s.visited(o.arg)
	case model.OpOpen:
		s.began[o.arg] = s.now + 1
	case model.OpClose:
		s.visited(o.ref)
		if began := s.began[o.arg]; began > 0 {
			s.Out.Durations[o.ref] = append(s.Out.Durations[o.ref], s.now+1-began)
		}
	case opOver:
		s.over = true
	case opAgain:
		r.pc = o.arg
		r.laps++
		s.clear(o.ref)
	case opBegin:
		s.takeUp(r, o.arg, o.head)
	case opDone:
		s.putDown(r, o.arg)
	}
}

// end ends a list, or has its runner serve the next element. It reports whether the runner leaves
// its processor.
func (s *Simulation) end(i, proc int32, o *instruction) bool {
	switch {
	case o.arg < 0:
		s.finished(i, proc)
		s.leave(proc, asleep)
		s.free = append(s.free, i)
		return true
	case !s.serveOn(i, o): // what it does next is up to the next element
		s.leave(proc, blocked)
		return true
	}
	return false
}
