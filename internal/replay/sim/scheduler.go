package sim

import (
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
)

// The scheduler is what makes computing of one goroutine the waiting time of another one, where
// more are ready than there are processors. It follows runtime/proc.go:
//
//   - A goroutine that another one wakes is the next one on its processor (ready, runqput with
//     next). The one that was next before goes to the end of the queue. So the two sides of a
//     channel take turns on one processor.
//   - The next one shares the slice of the one before (execute with inheritTime), so that two
//     goroutines that wake each other cannot keep out all others.
//   - A goroutine whose slice is over goes to the end of the queue (goschedImpl).
//   - A processor without work takes the first in the queue, or steals what another one has next
//     (stealWork, runqgrab).
//   - A goroutine that becomes ready wakes an idle processor (wakep), which takes time.
//
// One queue stands for the queues of all processors of a process and the global one. With work
// stealing no processor stays idle while a queue has goroutines, so that as many of them run; which
// one runs first is approximate. Three more things are simpler here. The runtime wakes a processor
// only while no other one looks for work, and that one wakes the next, so that many goroutines that
// become ready at once get their processors one after the other. A goroutine that a timer wakes is
// next on the processor that has the timer (goroutineReady), and here comes last. And a processor
// asks the global queue first each 61st time. Where these matter the replay of nothing changed
// misses the recording.

// Slice is for how long a goroutine keeps its processor while others want it, ns, unless the
// recording shows that: see [Simulation.Slice]. It is forcePreemptNS in runtime/proc.go: the
// runtime's monitor (sysmon, retake) preempts a goroutine that it has seen for so long in one
// slice. With longer slices goroutines that compute for a short time wait for longer behind
// goroutines that compute for a long time.
const Slice = 10_000_000

// A processor is a P of the scheduler with its thread. It has a runner, or is idle, or is idle and
// about to wake up.
type processor struct {
	// current is the runner that it runs, and next the one that it runs next, -1 for none. Only a
	// processor that runs one has a next one: it takes that before it becomes idle.
	current, next int32
	slice         int64 // what is left of the slice, ns; 0 or less where it is over
	idle          int64 // since when it has no runner; of no meaning while it has one
	waking        bool  // it will look for work, see happenAwake, so that it is not woken twice
	home          int32 // the process that it is of
}

// A process has processors of its own. Where recordings were joined there are several.
type process struct {
	from, to int32 // its processors
	queue    queue // runners that are ready, in order
}

// setProcesses gives each process its processors, of which so many are there.
func (s *Simulation) setProcesses(procs int) {
	all := s.P.Rec.Processes
	n := max(1, len(all))
	s.processes = slices.Grow(s.processes[:0], n)[:n]
	from := int32(0)
	for i := range s.processes {
		if len(all) > 0 {
			procs = all[i].Procs
		}
		p := &s.processes[i]
		p.queue.reset()
		p.from, p.to = from, from+int32(procs)
		for ; from < p.to; from++ {
			s.procs[from].home = int32(i)
		}
	}
}

// homeOf returns the number of the process of a list.
func (s *Simulation) homeOf(list int32) int32 {
	if s.x.homes == nil {
		return 0
	}
	return s.x.homes[list]
}

// idleOf returns a processor of a process without a runner, -1 for none.
func (s *Simulation) idleOf(home int32) int32 {
	p := &s.processes[home]
	for q := p.from; q < p.to; q++ {
		if s.procs[q].current < 0 {
			return q
		}
	}
	return -1
}

// queueOf returns the queue that a processor takes runners from.
func (s *Simulation) queueOf(proc int32) *queue { return &s.processes[s.procs[proc].home].queue }

// ready lets a runner go on, woken from a processor or, with -1, by something outside. The runner
// must not be in a queue, nor on a processor. At most one idle processor begins to wake up for it;
// the runner itself is taken by whichever looks first.
func (s *Simulation) ready(i, proc int32) {
	r := &s.runners[i]
	r.state = ready
	late := r.late
	r.late = -1
	s.Out.Woken++
	home := s.homeOf(r.list)
	m := &s.processes[home]
	if proc >= 0 && s.procs[proc].home != home { // what wakes it came through the network
		proc = -1
	}
	// It comes next where its waker runs, as p.runnext in runtime/runtime2.go: goroutines that wake
	// each other and wait are a unit then, and do not wait for all that are in the queue.
	switch {
	case proc >= 0:
		p := &s.procs[proc]
		if p.next >= 0 {
			m.queue.push(p.next)
		}
		p.next = i
	default:
		m.queue.push(i)
	}
	// An idle processor takes it sooner, unless its waker waits before that. What counts is how
	// late the goroutine was in the recording after the same wait, if a processor was idle then.
	// Otherwise it is the usual time: of the poller for something outside, and of a thread that the
	// kernel has to wake up for a goroutine.
	q := s.sleeper(m)
	if q < 0 {
		return
	}
	p := &s.procs[q]
	p.waking = true
	switch {
	case proc < 0 && late < 0:
		late = s.P.Outside
	case proc >= 0:
		if late < 0 {
			late = s.Lag()
			s.Out.lagged += late
		}
		s.Out.Roused++
	}
	// One that has only just become idle is taken to look for work still, not to sleep.
	if s.now-p.idle > model.Swapping {
		s.Out.Asleep++
		late += s.Change.Back // see outcome.go
	}
	s.at(late, happenAwake, q)
}

// sleeper returns the idle processor that is woken up next, -1 for none. It is the one that became
// idle last: they are in a stack (pidleput), and its thread may still look for work.
func (s *Simulation) sleeper(m *process) int32 {
	last := int32(-1)
	for q := m.from; q < m.to; q++ {
		if p := &s.procs[q]; p.current < 0 && !p.waking && (last < 0 || p.idle > s.procs[last].idle) {
			last = q
		}
	}
	return last
}

// take has a free processor go on with a goroutine that is ready: its own next one, the first in
// the queue, or another processor's next one. The goroutine begins after some time, ns: 0 for a
// processor that has just woken up, as its lag has passed, and else what it takes to change from
// one goroutine to another. Without a goroutine the processor is idle from now on. The order is
// that of findRunnable.
func (s *Simulation) take(proc int32, after int64) {
	p := &s.procs[proc]
	m := &s.processes[p.home]
	inherit := p.slice
	p.current, p.slice = -1, s.Slice()
	i := int32(-1)
	switch {
	case p.next >= 0:
		i, p.next = p.next, -1
		// As the runtime does, so that two cannot keep a processor for ever.
		if after > 0 {
			p.slice = max(inherit, 1)
		}
	case m.queue.len() > 0:
		i = m.queue.pop()
	default:
		// The next one of a processor that runs another goroutine has to wait for that one, which
		// may compute for long. The runtime waits for 3 µs before it steals it (runqgrab), which
		// here is part of how late the processor is.
		for q := m.from; q < m.to; q++ {
			if other := &s.procs[q]; other.next >= 0 && other.current >= 0 {
				i, other.next = other.next, -1
				break
			}
		}
	}
	if i < 0 {
		p.idle = s.now
		return
	}
	p.current = i
	s.runners[i].state = onProc
	s.at(after, happenStep, proc)
}

// leave takes the runner off its processor, in the state that it is in from now on, and has the
// processor go on with another one after the usual time of a change, Program.Swap.
func (s *Simulation) leave(proc int32, state uint8) {
	p := &s.procs[proc]
	if p.current >= 0 {
		s.runners[p.current].state = state
	}
	s.take(proc, s.P.Swap)
}

// passes lets d ns pass at once, and reports whether it does: if the end of that is before all that
// is planned. It would be planned and be the next to happen: without the heap the same happens in
// the same order, and a goroutine that computes alone costs no push and pop. At equal times what is
// planned comes first, as its number is lower. It steps back for whatever run looks at between two
// happenings: the end of the window, which is -1 while the simulation begins, a wait to be broken,
// and the bound of its work.
func (s *Simulation) passes(d int64) bool {
	at := s.now + d
	if s.over || at > s.until || at > s.patience || len(s.heap) > 0 && s.heap[0].at <= at || s.Out.Work >= s.limit {
		return false
	}
	s.now = at
	s.n++
	s.Out.Steps++
	s.Out.Work++
	return true
}

// Slice returns how long the next slice is, ns. The monitor that ends slices is a thread like
// others: where other programs have the processors it comes late, and slices are several times as
// long. So the recorded ones are used in turn, over again at their end, where there are at least
// model.LeastSlices of them. TestSlices holds both ways.
func (s *Simulation) Slice() int64 {
	all := s.P.Slices
	if len(all) < model.LeastSlices {
		return Slice
	}
	s.slices++
	return all[s.slices%len(all)]
}

// Lag returns how long the next processor takes to come back that a goroutine wakes up, ns, where
// the recording has no example of the same wait. How long that takes decides whether goroutines at
// a lock come late each time (lock convoy), and one mean does not do: the recorded quantiles take
// turns, in an order that mixes short and long ones. LagStride and the number of quantiles, 64,
// have no common divisor, so that each of them has its turn; TestLags holds that. Change.Lag
// stretches all of them.
func (s *Simulation) Lag() int64 {
	d := s.P.Cross
	if n := len(s.P.Lags); n > 0 {
		d = s.P.Lags[s.Out.Roused*model.LagStride%n]
	}
	if f := s.Change.Lag; f > 0 {
		return int64(f * float64(d))
	}
	return d
}
