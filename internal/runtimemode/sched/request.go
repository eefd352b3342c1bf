//go:build otelprof_runtime

package sched

import (
	"time"
	"unsafe"
)

//go:linkname runtimeOpen runtime.otelprofOpen
func runtimeOpen(exempt bool, most int64) (id uint64)

//go:linkname runtimeClose runtime.otelprofClose
func runtimeClose(id uint64) (spent int64)

//go:linkname runtimeJoin runtime.otelprofWorkFor
func runtimeJoin(id uint64, known bool) (before uint64)

//go:linkname runtimeArrive runtime.otelprofArrive
func runtimeArrive() bool

//go:linkname runtimeServed runtime.otelprofServed
func runtimeServed(gp unsafe.Pointer, goid uint64, yes bool)

//go:linkname runtimeHere runtime.otelprofHere
func runtimeHere() (gp unsafe.Pointer, goid uint64)

//go:linkname runtimeLateness runtime.otelprofLateness
func runtimeLateness() int64

//go:linkname runtimeLateHere runtime.otelprofLateHere
func runtimeLateHere() int64

//go:linkname runtimeRefusals runtime.otelprofRefusals
func runtimeRefusals() (refused [5]int64, arrivals, unpaid int64)

// A Request is what some goroutines work for together; they share [Limits.PerTrace], over all
// experiments, and the goroutines that they start work for it, too. The zero Request is none.
type Request struct{ id uint64 }

// reuseAfter is the age of a request from which its place is taken by another one, where there is
// no other place. It may never end.
const reuseAfter = time.Minute

// Open begins a request. If it is exempt, no goroutine that works for it is delayed. 4096 may be
// open at a time; for a further one one that is older than a minute and not exempt is closed. If
// there is none such, the further one is none.
func Open(exempt bool) Request { return Request{runtimeOpen(exempt, int64(reuseAfter))} }

// Close ends a request, once, and returns by how much it has been delayed. Goroutines that work for
// it then work for none.
func (r Request) Close() (spent time.Duration) { return time.Duration(runtimeClose(r.id)) }

// Join has the calling goroutine work for the request, and returns the one that it worked for
// before. Known is true if the request came from this process, so that what the goroutine has
// waited for it is paid.
func (r Request) Join(known bool) (before Request) { return Request{runtimeJoin(r.id, known)} }

// Arrive pays what the calling goroutine owes for what it has waited for before it joined the
// request that it works for, by a sleep: the sender of the request would have taken that much
// longer. It reports whether it owed anything.
func Arrive() bool { return runtimeArrive() }

// A Goroutine is one that waits for the network.
type Goroutine struct {
	gp   unsafe.Pointer // the runtime never frees it
	goid uint64
}

// Here returns the calling goroutine.
func Here() (g Goroutine) {
	g.gp, g.goid = runtimeHere()
	return g
}

// Served sets whether what the goroutine waits for from the network is done by this process: then
// that pays, and the goroutine does not. It holds until the next call, or the end of the
// experiment.
func (g Goroutine) Served(yes bool) { runtimeServed(g.gp, g.goid, yes) }

// Late returns by how much all delays of all experiments were longer than the limits had granted: a
// thread was not run in time.
func Late() time.Duration { return time.Duration(runtimeLateness()) }

// LateHere returns by how much the delays of the request that the calling goroutine works for were
// longer, zero if it works for none.
func LateHere() time.Duration { return time.Duration(runtimeLateHere()) }

// Refused returns what the latest experiment has refused.
func Refused() Refusals {
	n, arrivals, unpaid := runtimeRefusals()
	return Refusals{n[0], n[1], n[2], n[3], n[4], arrivals, unpaid}
}
