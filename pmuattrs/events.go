package pmuattrs

import "github.com/otelprof/otelprof/internal/perf"

// The numbers below are those of linux/perf_event.h, which each PMU's driver translates.

// Hardware events, counted in user code only unless WithKernel is called. Few machines have
// all of them.
var (
	Cycles                = hardware("cycles", "{cycle}", perf.Cycles)
	Instructions          = hardware("instructions", "{instruction}", perf.Instructions)
	cacheReferences       = hardware("cache_references", "{reference}", perf.CacheReferences) // of the last level, mostly
	CacheMisses           = hardware("cache_misses", "{miss}", perf.CacheMisses)
	BranchInstructions    = hardware("branch_instructions", "{instruction}", perf.BranchInstructions)
	BranchMisses          = hardware("branch_misses", "{miss}", perf.BranchMisses)
	busCycles             = hardware("bus_cycles", "{cycle}", perf.BusCycles)
	stalledCyclesFrontend = hardware("stalled_cycles_frontend", "{cycle}", perf.StalledCyclesFrontend)
	stalledCyclesBackend  = hardware("stalled_cycles_backend", "{cycle}", perf.StalledCyclesBackend)
	refCycles             = hardware("ref_cycles", "{cycle}", perf.RefCycles) // at a fixed frequency
)

// Events of the caches: the first-level ones of data and of instructions, the last-level one,
// those of address translation, and the branch predictor.
var (
	l1DReads         = cached("l1d.reads", "{read}", 0, read, access)
	L1DReadMisses    = cached("l1d.read_misses", "{miss}", 0, read, miss)
	l1DWrites        = cached("l1d.writes", "{write}", 0, write, access)
	l1DWriteMisses   = cached("l1d.write_misses", "{miss}", 0, write, miss)
	l1IReads         = cached("l1i.reads", "{read}", 1, read, access)
	l1IReadMisses    = cached("l1i.read_misses", "{miss}", 1, read, miss)
	llReads          = cached("ll.reads", "{read}", 2, read, access)
	llReadMisses     = cached("ll.read_misses", "{miss}", 2, read, miss)
	llWrites         = cached("ll.writes", "{write}", 2, write, access)
	llWriteMisses    = cached("ll.write_misses", "{miss}", 2, write, miss)
	dtlbReads        = cached("dtlb.reads", "{read}", 3, read, access)
	dtlbReadMisses   = cached("dtlb.read_misses", "{miss}", 3, read, miss)
	dtlbWriteMisses  = cached("dtlb.write_misses", "{miss}", 3, write, miss)
	itlbReads        = cached("itlb.reads", "{read}", 4, read, access)
	itlbReadMisses   = cached("itlb.read_misses", "{miss}", 4, read, miss)
	branchReads      = cached("branch.reads", "{read}", 5, read, access)
	branchReadMisses = cached("branch.read_misses", "{miss}", 5, read, miss)
)

// Events that the kernel counts. They need the same permission as hardware events, but no
// hardware: without permission see [OpenBest].
var (
	TaskClock  = software("task_clock", "ns", 1, false) // CPU time, in the kernel too
	PageFaults = software("page_faults", "{fault}", 2, false)
	// ContextSwitches happen in the kernel and can only be counted there: see WithKernel.
	ContextSwitches = software("context_switches", "{switch}", 3, true)
	CPUMigrations   = software("cpu_migrations", "{migration}", 4, true) // as ContextSwitches
)

// What the kernel accounts to each thread. No counters count these; [OpenBest] reads them where
// there are none.
var (
	CPUTime             = Event{name: "cpu_time", unit: "ns", usage: usageCPU}
	userTime            = Event{name: "user_time", unit: "ns", usage: usageUser} // by samples at timer ticks
	systemTime          = Event{name: "system_time", unit: "ns", usage: usageSystem}
	minorFaults         = Event{name: "minor_faults", unit: "{fault}", usage: usageMinorFaults}
	majorFaults         = Event{name: "major_faults", unit: "{fault}", usage: usageMajorFaults}
	voluntarySwitches   = Event{name: "voluntary_switches", unit: "{switch}", usage: usageVoluntary}
	involuntarySwitches = Event{name: "involuntary_switches", unit: "{switch}", usage: usageInvoluntary}
)

// named are all events of this file.
var named = []Event{
	Cycles, Instructions, cacheReferences, CacheMisses, BranchInstructions, BranchMisses, busCycles,
	stalledCyclesFrontend, stalledCyclesBackend, refCycles,
	l1DReads, L1DReadMisses, l1DWrites, l1DWriteMisses, l1IReads, l1IReadMisses, llReads, llReadMisses, llWrites,
	llWriteMisses, dtlbReads, dtlbReadMisses, dtlbWriteMisses, itlbReads, itlbReadMisses, branchReads, branchReadMisses,
	TaskClock, PageFaults, ContextSwitches, CPUMigrations,
	CPUTime, userTime, systemTime, minorFaults, majorFaults, voluntarySwitches, involuntarySwitches,
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
