package pmuattrs

// An outcome is how the measurement of a span ended.
type outcome int

const (
	counted outcome = iota
	otherGoroutine
	otherThread
	multiplexed
	implausible
	unread
	stopped
	crowded
	outcomes // how many there are
)

// reasons are the outcomes without numbers as the values of [naming.ReasonKey].
var reasons = [outcomes]string{
	otherGoroutine: "other_goroutine",
	otherThread:    "other_thread",
	multiplexed:    "multiplexed",
	implausible:    "implausible",
	unread:         "unread",
	stopped:        "stopped",
	crowded:        "crowded",
}

// Stats counts the spans of the sample since [NewHook], by what came of them.
type Stats struct {
	// Counted spans have counts. Those of the next seven have none.
	Counted uint64
	// OtherGoroutine: they ended on another goroutine than they began.
	OtherGoroutine uint64
	// OtherThread: the goroutine was unlocked in between, or its counters were opened anew.
	OtherThread uint64
	// Multiplexed: others had the counters for a part of the time.
	Multiplexed uint64
	// Implausible: a count went down, or up faster than any CPU counts.
	Implausible uint64
	// Unread: the counters could not be read.
	Unread uint64
	// Stopped: the goroutine stopped running in between. Only with [WithoutLock].
	Stopped uint64
	// Crowded: as many spans as may be were measured with their goroutines locked. Never with
	// [WithoutLock].
	Crowded uint64
	// Moving: they were not measured because of an earlier span of their name, which had ended
	// on another goroutine.
	Moving uint64
	// Threads is how many threads have counters now, Reaped how many had and have ended.
	Threads int
	Reaped  uint64
	// Refused is how many readings of threads failed that have no counters, because too many have
	// or the kernel gave none.
	Refused uint64
}
