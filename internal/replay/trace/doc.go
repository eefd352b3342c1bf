// Package trace reads recordings: what goroutines of a program did in a window of a few seconds, by
// its execution trace and the marks of spans, progress points and known operations in it. A
// [Recording] is a list of events in the order of time; it can be cut into windows, and knows when
// the whole program stood still. It knows nothing of simulation.
//
// # The way of the data
//
//	bytes of runtime/trace
//	  -> golang.org/x/exp/trace  events of all threads in one order, checked against each other
//	  -> Tracer                  states of goroutines and marks become events: read, transition
//	  -> Recorder                numbers for goroutines, spans, objects, regions
//	  -> Recording               adjusted once: DropTasks, skipUnmarked, sampled
//	  -> Recording.Windows       windows, between which answers scatter: that makes an interval
//	  -> packages hidden, model, infer, cond, sim and doubt
//
// # What a recording guarantees
//
// Times are in ns and do not decrease. The reader of traces makes them strictly increasing. Where
// two are equal (a [Recorder], the beginning of a window, marks that inference has added), the
// order in the list is that of cause and effect. Goroutines, spans, sites, regions, progress points
// and objects are numbered from 0, each in the order in which it was first met, so that slices can
// be indexed by them. [Recording.Windows] keeps all numbers.
//
// # What a trace does not show
//
//   - Operations on locks and channels that neither waited nor woke a goroutine (uncontended ones).
//     Marks show them, or package hidden infers them.
//   - Which object a wait was for. There are a reason and a call stack, no address.
//   - Why and where a goroutine waits that has waited since before the trace: site 0, [WaitOther].
//   - That a thread of the program had no processor (steal time): the goroutine on it seems to
//     compute. See machine.go for the average, stall.go for when the whole program stood still.
//
// # Where it is tested
//
// Tests are those of package replay, the folder above, since what counts is the answer that comes
// out: TestGoVersions reads traces of each version of Go with this format, TestReadCutTrace,
// TestDamaged and FuzzRead what is cut or damaged.
package trace
