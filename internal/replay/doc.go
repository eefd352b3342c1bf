// Package replay answers what would be if a part of a program were faster, from a recording of the
// program, by discrete-event simulation: it simulates the recorded goroutines with locks, channels,
// queues and processors that decide anew.
package replay
