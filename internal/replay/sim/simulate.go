package sim

import (
	"cmp"
	"math"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
)

// Simulate replays the program with a change from the beginning of the window on, for so long, ns.
// It keeps what it has compiled, and its memory, in the program: simulations of one program must
// not run at the same time, and nothing that is simulated of the program may change between them,
// see Rewritten in package model. Work is about linear in the ops of the program, and bounded, see
// LeastWork. It rests now and then, and panics where that ends the analysis, see
// trace.Recording.Rests.
//
// Nothing is checked here: a replay of nothing changed may differ from the recording, come to a
// stop (Stuck), or have given up waits (Broken). What that means for an answer is up to the caller.
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
// order. Slices that began together would end together for long. A simulation that begins with
// other queues than the program had needs some time to come to them, which answers leave out (see
// doubt.Period): the better it begins, the shorter windows may be.
//
// Each waiting goroutine has a processor for the moment that it takes to begin its wait, before any
// goroutine has one to compute. Time does not pass meanwhile.
func (s *Simulation) begin() {
	// Requests of clients that think, or whose requests are on their way.
	for i := range s.P.Objects {
		for _, at := range s.P.Objects[i].Comes {
			s.comes(int32(i), at)
		}
	}
	// Lists of goroutines that begin in the window are started by others.
	var lists []int32
	for i := range s.P.Lists {
		if l := &s.P.Lists[i]; !l.Born && len(l.Ops) > 0 {
			lists = append(lists, int32(i))
		}
	}
	// In order: what waits, what runs, and what is ready, which is rank 2 and in the order in which
	// it ran first in the recording. The sort must be stable, for simulations to be alike.
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
	// Where there are fewer processors than in the recording some of the running ones are ready.
	for _, i := range lists {
		q := s.idleOf(s.homeOf(i))
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
		s.step(q)
	}
	for i := range s.P.Objects {
		for range s.P.Objects[i].Staff {
			s.serveAlso(s.P.Objects[i].Server)
		}
	}
}

// run has one happening after the other happen, until that time, ns, or until nothing is left to
// happen. It is the loop of any discrete-event simulation: take the next, set the time, and let it
// plan what follows from it. The simulation is stuck if it ends before that time, and no list has
// ended it: all goroutines wait for each other, or it was more work than is allowed.
func (s *Simulation) run(until int64) {
	s.until = until
	for len(s.heap) > 0 && !s.over {
		if s.heap[0].at > until {
			s.now, s.Out.ended = until, until
			return
		}
		// Without a visit for long, orders contradict each other: see breakOne.
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
			// There is room: such channels have no limit.
			d := s.deliveries[e.id()]
			b := s.channel(d.object)
			s.send(b, d.element, -1)
			if b.hires > 0 && b.count > 0 { // and no goroutine waits for it
				s.serveAlso(b.hires - 1)
			}
		case happenAwake:
			// It may find nothing, where others were faster, and sleeps again.
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

// at plans what is to happen after d ns, or now if that is below 0: a time that has passed already,
// as of a timer that several select statements share.
func (s *Simulation) at(d int64, kind uint8, id int32) {
	s.n++
	s.heap.push(newHappening(s.now+max(0, d), s.n, kind, id))
}

// spawn starts a list, on a processor if another goroutine does so, the runner by; proc and by are
// -1 as the simulation begins. A go statement has the new goroutine be next on its processor
// (newproc in runtime/proc.go). A list that comes back to something lives on, as a worker does,
// while the list of its starter begins anew: it is started once. One that ends is started each
// time.
func (s *Simulation) spawn(list, proc, by int32) {
	e := &s.x.entries[list]
	if e.at < 0 || e.once && s.started[list] {
		return
	}
	i := s.admit(list)
	if by >= 0 && s.runners[by].spares != model.Spends {
		s.runners[i].spares = model.SparesAll
	}
	// Its starter waits for the end of all that it starts from one such wait to the next.
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

// admit returns a runner for a list, at its first instruction, and in no queue yet. It is the place
// of one that is over, if there is one: what is planned for that (due) does not meet the new one.
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

// scaled returns what is left of a time of a set of regions, rounded, ns. Factors of 1 are apart,
// for the replay of nothing changed to be exact, and as most times are not changed.
func (s *Simulation) scaled(d int64, set uint16) int64 {
	f := s.factors[set]
	if f == 1 {
		return d
	}
	return int64(min(math.Round(float64(d)*f), longest))
}

// step runs the current goroutine of a processor until time passes, or it leaves the processor.
// What it does until then happens at once, and no other goroutine sees half of it. That makes
// operations atomic in the order of their times, as locks and atomic instructions do in the
// program.
//
// Each kind of instruction moves pc itself, and returns true in done, or leaves pc where it is and
// returns false where the runner must wait: then it comes to the same instruction again once it is
// granted, or retries. A runner may be moved in memory by one that it starts, so that none is kept
// over an instruction.
func (s *Simulation) step(proc int32) {
	i := s.procs[proc].current
	for n := 0; ; n++ {
		s.Out.Work++
		if n > MaxAtOnce { // a loop that takes no time
			s.leave(proc, asleep)
			return
		}
		// A runner that went on elsewhere, behind another choice, has come to where that ends.
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
			done = s.choose(i, proc, o)
		case model.OpVisit, model.OpOpen, model.OpClose, opOver, opAgain, opBegin, opDone:
			s.note(r, o)
		case opEnd:
			if s.end(i, proc, o) {
				return
			}
		default:
			var left bool
			if done, left = s.onObject(i, proc, o); left {
				return
			}
		}
		if !done {
			s.leave(proc, blocked)
			return
		}
	}
}

// onObject does an op on an object, and reports whether it is done, and whether the runner has left
// its processor, or looks at a lock for a while. An op that is done once is noted when it is first
// come to, and not again as its wait ends.
func (s *Simulation) onObject(i, proc int32, o *instruction) (done, left bool) {
	if r := &s.runners[i]; !r.granted && !r.retrying && s.skips(o) {
		r.pc++
		return true, false
	}
	if s.spins(i, proc, o) {
		return true, true
	}
	if done = s.operate(i, proc, o); s.yields {
		s.yields = false
		s.queueOf(proc).push(i)
		s.leave(proc, ready)
		return done, true
	}
	return done, false
}

// compute has a runner compute until its slice ends or something else is next. It returns n, the
// number of ops done at once: 0 if time has passed, -1 if the runner goes on later. Computing takes
// as long as in the recording, whatever processor it is on and whatever others do: caches, memory
// bandwidth and hyperthreads are as they were.
func (s *Simulation) compute(i, proc int32, o *instruction, n int) int {
	p, r := &s.procs[proc], &s.runners[i]
	// It begins here. Instructions that follow each other are one: pc is at the last one of them.
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
	// The slice is over: others that are ready have their turn. If none is, the next slice begins;
	// the monitor would find none, either.
	if p.slice <= 0 {
		p.slice = s.Slice()
		if s.queueOf(proc).len() > 0 || p.next >= 0 {
			s.queueOf(proc).push(i)
			s.leave(proc, ready)
			return -1
		}
	}
	// It computes to its end or to that of the slice, whichever is first. Another goroutine that
	// becomes ready meanwhile does not interrupt it.
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

// goOut has a runner wait for something outside, and reports whether that takes time: if not it is
// still on its processor. A tick or a request that has come already is not waited for, as
// TestWhatHasComeIsNotWaitedFor has it. How long it waits, ns, does not depend on other goroutines,
// but for the times that it may have to wait for:
//
//	OpOut     as long as in the recording, or what its regions leave of that
//	opHold    what a slow-down holds it for
//	opArrive  until a request from outside comes, at its recorded time
//	OpDue     until the next time of a timetable
//	OpPace    until the rate limiter (token bucket) lets it go on, in the order of asking
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
		// Spans are counted that are held for nothing, too: a slow-down may have more or fewer of
		// them, see reroute in the parent package.
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
	if d < 0 {
		return false
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
		if r.spares == model.Spends { // or else it is not done at all
			s.visited(o.arg)
		}
	// A span that began before the window, or whose beginning was left out, has no duration.
	case model.OpOpen:
		s.began[o.arg] = s.now + 1
	case model.OpClose:
		if r.spares != model.Spends {
			return
		}
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
// its processor. A goroutine whose end others wait for wakes them first, so that they come next on
// that processor.
func (s *Simulation) end(i, proc int32, o *instruction) bool {
	switch {
	case o.arg < 0:
		s.finished(i, proc)
		s.leave(proc, asleep)
		s.free = append(s.free, i)
		return true
	case !s.serveOn(i, proc, o): // what it does next is up to the next element
		s.leave(proc, blocked)
		return true
	}
	return false
}
