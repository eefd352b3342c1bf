package perf

// MaxEvents is the most events that one group may have. PMUs have 4 to 8 general counters
// and up to 4 fixed ones, and a group is counted as a whole or not at all.
const MaxEvents = 8

// The types of events, PERF_TYPE_* in linux/perf_event.h. PMUs listed in
// /sys/bus/event_source/devices have further ones.
const (
	TypeHardware uint32 = 0
	TypeSoftware uint32 = 1
	TypeCache    uint32 = 3
	TypeRaw      uint32 = 4
)

// What hardware counts, PERF_COUNT_HW_* in linux/perf_event.h: the Config of events of
// [TypeHardware].
const (
	Cycles uint64 = iota
	Instructions
	CacheReferences // of the last level, mostly
	CacheMisses
	BranchInstructions
	BranchMisses
	BusCycles
	StalledCyclesFrontend
	StalledCyclesBackend
	RefCycles // at a fixed frequency
)

// L1DReadMisses is the Config of an event of [TypeCache].
const L1DReadMisses uint64 = 1 << 16

// An Event is what one counter counts, in the terms of struct perf_event_attr.
type Event struct {
	Type                     uint32
	Config, Config1, Config2 uint64

	// Kernel counts what the kernel does for the thread as well. It needs
	// perf_event_paranoid <= 1 or CAP_PERFMON; user code alone needs <= 2.
	Kernel bool
}

// Values are what the counters of one group have counted since it was opened, in the order
// in which the events were given.
type Values struct {
	Counts [MaxEvents]uint64

	// Enabled and Running are the CPU time of the thread since the group was opened, and
	// that part of it in which the group had its counters, in nanoseconds. Running lags
	// behind Enabled if the counters were shared with others.
	Enabled, Running uint64

	// Exact reports whether Enabled and Running are of the same moment as Counts. If the
	// counts were read in user space, the times are those of the last read().
	Exact bool
}
