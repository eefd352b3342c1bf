// Package schedule shows where the time of a region went: how long its goroutine ran, was ready to
// run, and was blocked, and by what. It reads that from the Go scheduler's own events, so the
// figures are exact, not sampled, and come after the fact.
//
//	r, err := schedule.NewRecorder(schedule.WithThreshold(time.Second))
//	if err != nil {
//		return err
//	}
//	provider := spans.WrapTracerProvider(base, spans.WithHook(r.Hook()))
//	if err := r.Start(); err != nil { // keeps the last ten seconds
//		return err
//	}
//	defer r.Shutdown(ctx)
//	…
//	report, err := r.Snapshot(ctx) // now
//	slow := r.Slow()               // when a session last took more than a second
//
// # What is counted
//
// A region is followed on the goroutine that started it, from its start to its end. Total is all of
// that time, and Self what is left when the time is taken away in which a later region was open on
// the same goroutine. So a parent that waits for children on other goroutines is blocked, while
// they have times of their own: what runs side by side adds up to more than has passed.
//
// A region that ends on another goroutine has no goroutine to which its time belongs; it is counted
// as Moved, and by name in Moves. Regions that began before the window are Partial, those not yet
// ended Open; none of them is in the sums.
//
// Running means that the goroutine had a thread to run on; whether the system gave that thread a
// CPU, the scheduler does not know. Time in a system call or in C is blocked for "syscall", also if
// it used a CPU. Time in which a goroutine marks for the garbage collector is blocked for "gc". A
// wait that began before the window is blocked for "other": the runtime does not repeat for what.
//
// # Cost
//
// While the recorder is off, a region costs two atomic loads. While it is on, the runtime writes
// down each change of each goroutine, which its authors put at 1 to 2 %, and two more events for
// each region, about 0.25 µs each, without an allocation. The runtime keeps up to [WithMaxBytes] of
// events. A snapshot stops nothing; for each megabyte of events it takes about 0.05 s of one CPU
// and allocates about 16 MB, most of which is garbage at once.
package schedule
