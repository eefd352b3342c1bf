package pmuattrs

import "github.com/otelprof/otelprof/internal/perf"

// The numbers below are those of linux/perf_event.h, which each PMU's driver translates.

// Hardware events, counted in user code only unless WithKernel is called. Few machines have
// all of them.
var (
	Cycles                = hardware("cycles", "{cycle}", 0)
	Instructions          = hardware("instructions", "{instruction}", 1)
	CacheReferences       = hardware("cache_references", "{reference}", 2) // of the last level, mostly
	CacheMisses           = hardware("cache_misses", "{miss}", 3)
	BranchInstructions    = hardware("branch_instructions", "{instruction}", 4)
	BranchMisses          = hardware("branch_misses", "{miss}", 5)
	BusCycles             = hardware("bus_cycles", "{cycle}", 6)
	StalledCyclesFrontend = hardware("stalled_cycles_frontend", "{cycle}", 7)
	StalledCyclesBackend  = hardware("stalled_cycles_backend", "{cycle}", 8)
	RefCycles             = hardware("ref_cycles", "{cycle}", 9) // at a fixed frequency
)

// Events of the caches: the first-level ones of data and of instructions, the last-level one,
// those of address translation, and the branch predictor.
var (
	L1DReads         = cached("l1d.reads", "{read}", 0, read, access)
	L1DReadMisses    = cached("l1d.read_misses", "{miss}", 0, read, miss)
	L1DWrites        = cached("l1d.writes", "{write}", 0, write, access)
	L1DWriteMisses   = cached("l1d.write_misses", "{miss}", 0, write, miss)
	L1IReads         = cached("l1i.reads", "{read}", 1, read, access)
	L1IReadMisses    = cached("l1i.read_misses", "{miss}", 1, read, miss)
	LLReads          = cached("ll.reads", "{read}", 2, read, access)
	LLReadMisses     = cached("ll.read_misses", "{miss}", 2, read, miss)
	LLWrites         = cached("ll.writes", "{write}", 2, write, access)
	LLWriteMisses    = cached("ll.write_misses", "{miss}", 2, write, miss)
	DTLBReads        = cached("dtlb.reads", "{read}", 3, read, access)
	DTLBReadMisses   = cached("dtlb.read_misses", "{miss}", 3, read, miss)
	DTLBWriteMisses  = cached("dtlb.write_misses", "{miss}", 3, write, miss)
	ITLBReads        = cached("itlb.reads", "{read}", 4, read, access)
	ITLBReadMisses   = cached("itlb.read_misses", "{miss}", 4, read, miss)
	BranchReads      = cached("branch.reads", "{read}", 5, read, access)
	BranchReadMisses = cached("branch.read_misses", "{miss}", 5, read, miss)
)

// Events that the kernel counts. They need the same permission as hardware events, but no
// hardware: without permission see [OpenUsage].
var (
	TaskClock  = software("task_clock", "ns", 1, false) // CPU time, in the kernel too
	PageFaults = software("page_faults", "{fault}", 2, false)
	// ContextSwitches happen in the kernel and can only be counted there: see WithKernel.
	ContextSwitches = software("context_switches", "{switch}", 3, true)
	CPUMigrations   = software("cpu_migrations", "{migration}", 4, true) // as ContextSwitches
)

// What the kernel accounts to each thread. No counters count these; [Usage] reads them.
var (
	CPUTime             = Event{name: "cpu_time", unit: "ns", usage: usageCPU}
	UserTime            = Event{name: "user_time", unit: "ns", usage: usageUser} // by samples at timer ticks
	SystemTime          = Event{name: "system_time", unit: "ns", usage: usageSystem}
	MinorFaults         = Event{name: "minor_faults", unit: "{fault}", usage: usageMinorFaults}
	MajorFaults         = Event{name: "major_faults", unit: "{fault}", usage: usageMajorFaults}
	VoluntarySwitches   = Event{name: "voluntary_switches", unit: "{switch}", usage: usageVoluntary}
	InvoluntarySwitches = Event{name: "involuntary_switches", unit: "{switch}", usage: usageInvoluntary}
)

// named are all events of this file.
var named = []Event{
	Cycles, Instructions, CacheReferences, CacheMisses, BranchInstructions, BranchMisses, BusCycles,
	StalledCyclesFrontend, StalledCyclesBackend, RefCycles,
	L1DReads, L1DReadMisses, L1DWrites, L1DWriteMisses, L1IReads, L1IReadMisses, LLReads, LLReadMisses, LLWrites,
	LLWriteMisses, DTLBReads, DTLBReadMisses, DTLBWriteMisses, ITLBReads, ITLBReadMisses, BranchReads, BranchReadMisses,
	TaskClock, PageFaults, ContextSwitches, CPUMigrations,
	CPUTime, UserTime, SystemTime, MinorFaults, MajorFaults, VoluntarySwitches, InvoluntarySwitches,
}

const (
	read, write  = 0, 1
	access, miss = 0, 1
)

func hardware(name, unit string, config uint64) Event {
	return Event{name: name, unit: unit, perf: perf.Event{Type: perf.TypeHardware, Config: config}}
}

func cached(name, unit string, cache, op, result uint64) Event {
	return Event{name: name, unit: unit, perf: perf.Event{Type: perf.TypeCache, Config: cache | op<<8 | result<<16}}
}

func software(name, unit string, config uint64, kernel bool) Event {
	return Event{name: name, unit: unit, perf: perf.Event{Type: perf.TypeSoftware, Config: config, Kernel: kernel}}
}
