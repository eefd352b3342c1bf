// Package trace reads recordings: what goroutines of a program did in a window of a few seconds, by
// its execution trace and the marks of spans, progress points and known operations in it. A
// Recording is a list of events in the order of time; it can be cut into windows, and knows when
// the whole program stood still. It knows nothing of simulation.
package trace
