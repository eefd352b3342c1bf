package trace

import (
	"time"
)

// Steal time. An execution trace has a goroutine run from EvStart to its next EvYield, EvWait,
// EvSyscall or EvEnd, whether or not its thread had a processor all the while. The kernel, a
// cgroup's quota or the host of a virtual machine may have taken it, and a trace has no event of
// that. So the process's CPU clock is held against the time that goroutines ran:
//
//	goroutines ran, by the trace      ##########  1.0 s
//	CPU time of the process           #######     0.7 s
//	Starved = 1 - 0.7/1.0             0.3: all computing looks 1/(1-0.3) = 1.43 times as long
//
// It is an average: which of the waits and computations were hit is not known. CPU time also has
// what goroutines do not run (system calls, the scheduler that spins, threads of C), so that a
// program with many system calls shows less starvation than it had: Starved is a bound from below,
// and 0 where the clock shows more than goroutines ran. TestStarved holds the intervals that follow
// from it.

// A Machine is what became of processor time while a program was recorded.
type Machine struct {
	// CPU is what the program had of it, all threads together, system calls included; 0 where that
	// is not known.
	CPU time.Duration `json:"cpu_ns"`
	// Others is what other programs had, and Stolen what the host of a virtual machine took, on all
	// processors together.
	Others time.Duration `json:"others_ns"`
	Stolen time.Duration `json:"stolen_ns"`
	// Throttled is for how long the program's threads had to wait since they had used up the quota
	// of their cgroup.
	Throttled time.Duration `json:"throttled_ns"`
	// Waited is for how long any thread of the machine had to wait for a processor (pressure stall
	// information); 0 where that is not known.
	Waited time.Duration `json:"waited_ns"`
}

// Add adds a part, in [0, 1], of what was measured in a longer time: a window has the part of its
// recording's figures that it is long.
func (m *Machine) Add(o Machine, part float64) {
	of := func(d time.Duration) time.Duration { return time.Duration(part * float64(d)) }
	m.CPU += of(o.CPU)
	m.Others += of(o.Others)
	m.Stolen += of(o.Stolen)
	m.Throttled += of(o.Throttled)
	m.Waited += of(o.Waited)
}

// Conditions are under which a recording was made. The zero value is for not known: it casts no
// doubt.
type Conditions struct {
	Machine Machine
	Length  int64 // of the recording that they are about, ns
	// Starved is which part, in [0, 1), of the time that goroutines ran they had no processor. An
	// execution trace does not show that: it takes them to run, so that what they compute seems to
	// take longer by 1/(1-starved).
	Starved float64
	// Pressed is for which part, in [0, 1], of the time threads of the machine waited for a
	// processor, or others had one: they may take processors that the program leaves idle, which
	// then come back late. What others had is the sum over all processors, so that on a machine
	// with many this is a bound from above.
	Pressed float64
	// Collected is for which part, in [0, 1], of all processors' time garbage was collected, but
	// for what no goroutine had any use for.
	Collected float64
}

// Ran sets under which conditions the program was recorded: how much of the time that its
// goroutines ran they had a processor, and what took the rest. Parts of the recording that
// [Recording.Windows] makes after that have the same. It goes over all events once, and takes the
// place of what samples of a profile have shown.
func (r *Recording) Ran(m Machine) {
	length := r.End - r.Start
	r.Conditions = Conditions{
		Machine: m, Length: length, Starved: starved(int64(m.CPU), r.running()),
		Pressed:   min(1, float64(max(m.Waited, m.Others+m.Stolen))/float64(max(1, length))),
		Collected: r.Collected,
	}
}

const (
	// sampledEvery is the time between two samples of a CPU profile, ns of processor time. The
	// trace does not have it; runtime/pprof has no other (hz in StartCPUProfile is 100). A program
	// that calls runtime.SetCPUProfileRate itself may have: with fewer samples than these it looks
	// starved, and its answers become bounds.
	sampledEvery = 10_000_000
	// leastSampled is how many samples show how much processor time there was, within a tenth: they
	// come at random, so that a number n of them has a standard error of about √n, which is 20 of
	// 400, and twice that is a tenth. That is 4 s of processor time.
	leastSampled = 400
)

// sampled sets the same by the samples of a CPU profile that was on, which come by processor time:
// so a trace from a file has conditions, too, if it was taken with a profile. It takes the profile
// to have been on all the time; with one that began later the program looks starved.
func (r *Recording) sampled() {
	var n int64
	for e := range r.All() {
		if e.Kind == EvSample {
			n++
		}
	}
	if n >= leastSampled {
		r.Ran(Machine{CPU: time.Duration(n * sampledEvery)})
	}
}

// starved returns which part of the running time, ns, the processor time does not explain; 0 where
// that is not known, or where the clock has more, see Machine.CPU.
func starved(cpu, running int64) float64 {
	if cpu <= 0 || cpu >= running {
		return 0
	}
	return 1 - float64(cpu)/float64(running)
}

// running returns for how long goroutines ran, together, as far as the recording shows, ns. System
// calls do not count: for how much of one its thread has a processor is not known.
func (r *Recording) running() (total int64) {
	since := make([]int64, r.Count)
	on := make([]bool, r.Count)
	for e := range r.All() {
		runs, known := e.Runs()
		if !known || runs == on[e.G] {
			continue
		}
		if on[e.G] = runs; runs {
			since[e.G] = e.At
		} else {
			total += e.At - since[e.G]
		}
	}
	// Goroutines that run at the end have no event there.
	for g, now := range on {
		if now {
			total += r.End - since[g]
		}
	}
	return total
}

// What starvation does to an answer, in package replay. All are parts of 1.
const (
	// StarvedError is how far off an answer may be, in parts of itself and of the time without a
	// processor (steal time): the host or quota would take more of it, or less, from the faster
	// program. An answer of 20 points where a twentieth was stolen is 0.3 * 0.05 * 20 = 0.3 points
	// wider to each side.
	StarvedError = 0.3
	// MostStarved is from where on there are bounds alone: where goroutines had no processor for
	// more than this of the time that they ran, it is not known which waits were for goroutines
	// without one. With a larger one, numbers would be shown that the interval does not cover.
	MostStarved = 0.1
	// MostRebuilt is the same for questions about another build (more processors, a split lock):
	// nothing bounds these, so that there is no answer at all beyond it.
	MostRebuilt = 0.5
)
