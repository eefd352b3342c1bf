// Package pmuattrs counts what the CPU does for a piece of a program: cycles, instructions,
// mispredicted branches, cache misses.
//
// [Open] counts [Event]s on the calling OS thread, and two [Reading]s give [Deltas]:
//
//	runtime.LockOSThread()
//	defer runtime.UnlockOSThread()
//	group, err := pmuattrs.Open(pmuattrs.Cycles, pmuattrs.Instructions)
//	if err != nil {
//		return err // and why, and what would help: see Error
//	}
//	defer group.Close()
//	var before, after pmuattrs.Reading
//	group.Read(&before)
//	work()
//	group.Read(&after)
//	deltas, err := after.Since(before)
//
// [NewHook] does that for spans, and sets the counts as attributes of theirs.
//
// # What the numbers are
//
// Counters belong to OS threads. The goroutine must be locked to its thread, and what other
// goroutines do for it is not counted. Counted is user code; see [Event.WithKernel].
//
// Counts are exact or absent. Where the counters were shared with others, a count has gone down
// or the readings are of two threads, [Reading.Since] returns an error and no number: nothing is
// scaled up and no estimate takes a count's place.
//
// # Where there are no counters
//
// Most virtual machines have no PMU, and containers often may not use it. [OpenBest] and [NewHook]
// then fall back to what the kernel accounts to each thread anyway: CPU time, page faults and
// context switches. The command otelprof doctor reports what this machine and this process can
// measure, and what grants the rest.
//
// Systems other than Linux have neither; there all of these return [ErrNotSupported].
//
// If user-space reading of counters is turned off while the program runs, by
// /sys/bus/event_source/devices/cpu/rdpmc or kernel.perf_user_access, the program crashes at the
// next reading.
package pmuattrs
