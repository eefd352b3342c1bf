//go:build !otelprof_runtime

// Package sched passes regions to Go's scheduler, in programs that were built by "otelprof
// build". This program was not: nothing is there, and all functions do nothing.
package sched

import "time"

// Present reports whether the scheduler takes part.
const Present = false

// Start does nothing.
func Start(float64, Limits) {}

// Stop does nothing.
func Stop() {}

// Growth returns zero.
func Growth() (growth time.Duration, inForce bool) { return 0, false }

// Read returns zeros.
func Read() Counts { return Counts{} }

// A Visit is nothing here.
type Visit struct{}

// Enter does nothing.
func Enter() Visit { return Visit{} }

// Leave does nothing.
func (Visit) Leave() {}

// Point does nothing.
func Point() (paid time.Duration) { return 0 }

// Books returns zeros.
func Books() (credit, spent time.Duration) { return 0, 0 }

// Exempt does nothing.
func Exempt() (end func()) { return func() {} }

// A Request is nothing here.
type Request struct{}

// Open does nothing.
func Open(bool) Request { return Request{} }

// Close does nothing.
func (Request) Close() (spent time.Duration) { return 0 }

// Join does nothing.
func (r Request) Join(bool) (before Request) { return r }

// Arrive does nothing.
func Arrive() bool { return false }

// A Goroutine is nothing here.
type Goroutine struct{}

// Here does nothing.
func Here() Goroutine { return Goroutine{} }

// Served does nothing.
func (Goroutine) Served(bool) {}

// Late returns zero.
func Late() time.Duration { return 0 }

// LateHere returns zero.
func LateHere() time.Duration { return 0 }

// Refused returns zeros.
func Refused() Refusals { return Refusals{} }

// A Watch is nothing here.
type Watch struct{}

// Begin does nothing.
func (*Watch) Begin() {}

// End has nothing to return.
func (*Watch) End() (t Times, ok bool) { return Times{}, false }

// Watching returns zero.
func Watching() int { return 0 }
