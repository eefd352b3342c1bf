package trace

import (
	"time"
)

// A Machine is what became of processor time while a program was recorded.
type Machine struct {
	// CPU is what the program had of it, all threads together; 0 where that is not known.
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

// Add adds what was measured in a part of the time.
func (m *Machine) Add(o Machine, part float64) {
	of := func(d time.Duration) time.Duration { return time.Duration(part * float64(d)) }
	m.CPU += of(o.CPU)
	m.Others += of(o.Others)
	m.Stolen += of(o.Stolen)
	m.Throttled += of(o.Throttled)
	m.Waited += of(o.Waited)
}

// Conditions are under which a recording was made.
type Conditions struct {
	Machine Machine
	Length  int64 // of the recording that they are about, ns
	// Starved is which part of the time that goroutines ran they had no processor. An execution
	// trace does not show that: it takes them to run, so that what they compute seems to take
	// longer by 1/(1-starved).
	Starved float64
	// Pressed is for which part of the time threads of the machine waited for a processor, or
	// others had one: they may take processors that the program leaves idle.
	Pressed float64
}

// Ran sets under which conditions the program was recorded: how much of the time that its
// goroutines ran they had a processor, and what took the rest. Parts of the recording that
// [Recording.Split] makes after that have the same.
func (r *Recording) Ran(m Machine) {
	length := r.End - r.Start
	r.Conditions = Conditions{
		Machine: m, Length: length, Starved: starved(int64(m.CPU), r.running()),
		Pressed: min(1, float64(max(m.Waited, m.Others+m.Stolen))/float64(max(1, length))),
	}
}

const (
	// sampledEvery is the time between two samples of a CPU profile, ns of processor time. The
	// trace does not have it; runtime/pprof has no other.
	sampledEvery = 10_000_000
	// leastSampled is how many samples show how much processor time there was, within a tenth.
	leastSampled = 400
)

// sampled sets the same by the samples of a CPU profile that was on, which come by processor time.
func (r *Recording) sampled() {
	var n int64
	for i := range r.Events {
		r.RestsAt(i)
		if r.Events[i].Kind == EvSample {
			n++
		}
	}
	if n >= leastSampled {
		r.Ran(Machine{CPU: time.Duration(n * sampledEvery)})
	}
}

func starved(cpu, running int64) float64 {
	if cpu <= 0 || cpu >= running {
		return 0
	}
	return 1 - float64(cpu)/float64(running)
}

// running returns for how long goroutines ran, together, as far as the recording shows, ns.
func (r *Recording) running() (total int64) {
	since := make([]int64, r.Count)
	on := make([]bool, r.Count)
	for i := range r.Events {
		r.RestsAt(i)
		e := &r.Events[i]
		now := on[e.G]
		switch e.Kind {
		case EvExists:
			now = e.Arg == StateRunning
		case EvStart, EvReturn:
			now = true
		case EvYield, EvWait, EvSyscall, EvEnd:
			now = false
		}
		if on[e.G] && !now {
			total += e.At - since[e.G]
		}
		if now && !on[e.G] {
			since[e.G] = e.At
		}
		on[e.G] = now
	}
	for g, now := range on {
		if now {
			total += r.End - since[g]
		}
	}
	return total
}

// StarvedError is how far off an answer may be, in parts of itself and of the time without a
// processor (steal time): the host or quota would take more of it, or less, from the faster
// program. Where goroutines had none for more than MostStarved of the time that they ran, which
// waits were for them is not known, and there are bounds alone; about other builds there is no
// answer from MostRebuilt on.
const (
	StarvedError = 0.3
	MostStarved  = 0.1
	MostRebuilt  = 0.5
)
