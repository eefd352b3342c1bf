package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// What package sched of otelprof calls.

// otelprofSerial is the number of the latest experiment.
var otelprofSerial uint32

func otelprofLatest() *otelprofExperiment {
	return &otelprofExperiments[atomic.Load(&otelprofSerial)%uint32(len(otelprofExperiments))]
}

// otelprofStart puts an experiment in force. Calls must not overlap.
//
//go:linkname otelprofStart
func otelprofStart(speedupPermille, longest, perSpan, perTrace, duty, budget int64) {
	atomic.Store(&otelprofEpoch, 0)
	serial := otelprofSerial + 1
	if serial == 0 {
		serial++
	}
	x := &otelprofExperiments[serial%uint32(len(otelprofExperiments))]
	x.growth.Store(0)
	x.dutyFull.Store(1<<64 - 1) // none
	x.epoch, x.start = serial, nanotime()
	x.speedup, x.longest = speedupPermille, longest
	x.perSpan, x.perTrace, x.duty, x.budget = perSpan, perTrace, duty, budget
	for _, counter := range []*atomic.Int64{&x.paid, &x.slept, &x.delays, &x.points, &x.left, &x.foreign, &x.spent, &x.arrivals, &x.unpaid} {
		counter.Store(0)
	}
	for i := range x.refused {
		x.refused[i].Store(0)
	}
	atomic.Store(&otelprofSerial, serial) // a reader of counters finds those of the one before, or zeros
	atomic.Store(&otelprofEpoch, x.epoch)
	atomic.Or(&otelprofOn, otelprofInForce)
}

// otelprofStop ends the experiment. Delays in flight end within microseconds, sleeps within
// otelprofLongestSleep.
//
//go:linkname otelprofStop
func otelprofStop() {
	atomic.Store(&otelprofEpoch, 0)
	atomic.And(&otelprofOn, ^uint32(otelprofInForce))
	if atomic.Load(&otelprofEpoch) != 0 {
		atomic.Or(&otelprofOn, otelprofInForce) // the next one has begun meanwhile
	}
}

// otelprofGrowth returns the growth of the latest experiment now, and whether it is in force.
//
//go:linkname otelprofGrowth
func otelprofGrowth() (growth int64, inForce bool) {
	x := otelprofLatest()
	if x.epoch != 0 {
		_, growth = x.now()
	}
	return growth, atomic.Load(&otelprofEpoch) == x.epoch && x.epoch != 0
}

// otelprofCounts returns the latest experiment's counters.
//
//go:linkname otelprofCounts
func otelprofCounts() (paid, slept, delays, spent, points, left, foreign int64) {
	x := otelprofLatest()
	return x.paid.Load(), x.slept.Load(), x.delays.Load(), x.spent.Load(), x.points.Load(), x.left.Load(), x.foreign.Load()
}

// otelprofRefusals returns how many delays were refused or cut, by reason, how many guests began to
// work, and how many of these had been forgiven what they owed for the network.
//
//go:linkname otelprofRefusals
func otelprofRefusals() (refused [otelprofReasons]int64, arrivals, unpaid int64) {
	x := otelprofLatest()
	for i := range refused {
		refused[i] = x.refused[i].Load()
	}
	return refused, x.arrivals.Load(), x.unpaid.Load()
}

// otelprofLateness returns by how much all delays of all experiments were longer than granted, ns.
//
//go:linkname otelprofLateness
func otelprofLateness() int64 { return otelprofTooLong.Load() }

// otelprofLateHere returns by how much those of the request that the calling goroutine works for
// were, ns.
//
//go:linkname otelprofLateHere
func otelprofLateHere() int64 {
	me := getg()
	if a := me.otelprof.request(me.goid); a != nil {
		return a.late.Load()
	}
	return 0
}

// otelprofHere returns the calling goroutine, for otelprofServed.
//
//go:linkname otelprofHere
func otelprofHere() (gp unsafe.Pointer, goid uint64) {
	me := getg()
	return unsafe.Pointer(me), me.goid
}

// otelprofEnter begins the region on the calling goroutine. What it returns is for otelprofLeave;
// gp is nil if nothing is in force.
//
//go:linkname otelprofEnter
func otelprofEnter() (gp unsafe.Pointer, goid uint64, epoch uint32) {
	if otelprofEpoch == 0 {
		return nil, 0, 0
	}
	me := getg()
	systemstack(func() {
		x := otelprofCurrent()
		if x == nil {
			return
		}
		now, growth := x.now()
		o := otelprofLedger(x, me, now, growth)
		o.settleEnds(x, now, growth)
		if o.in == 0 {
			_, growth = x.now()
			o.charge(growth)
			o.activate(x)
		}
		o.in++
		gp, goid, epoch = unsafe.Pointer(me), me.goid, x.epoch
	})
	return gp, goid, epoch
}

// otelprofLeave ends the region on the goroutine that otelprofEnter was called by. If that is
// another one, it books the end at its next change of status. A later experiment has no such end.
//
//go:linkname otelprofLeave
func otelprofLeave(gp unsafe.Pointer, goid uint64, epoch uint32) {
	if otelprofEpoch != epoch {
		return
	}
	me := getg()
	systemstack(func() {
		x := otelprofCurrent()
		if x == nil || x.epoch != epoch {
			return
		}
		if gp == unsafe.Pointer(me) && goid == me.goid {
			now, growth := x.now()
			o := otelprofLedger(x, me, now, growth)
			now, growth = o.settleEnds(x, now, growth)
			o.close(x, 1, now, growth)
			return
		}
		// A g is never freed, so it can be looked at. If another goroutine uses it by now,
		// the region has ended with the one before.
		if other := (*g)(gp); other.goid == goid {
			x.foreign.Add(1)
			other.otelprof.ended.Add(1)
		}
	})
}

// otelprofPoint pays what the calling goroutine owes, unless it runs the region, and returns how
// long that took, in ns. It spins, as if it worked: a sleep would give its P away. Only what takes
// long is slept while Ps are idle, so that the goroutine that runs the region finds one, and what
// is owed for a wait.
//
//go:linkname otelprofPoint
func otelprofPoint() (paid int64) {
	if otelprofEpoch == 0 {
		return 0
	}
	me := getg()
	for again := true; again; {
		var nap int64
		again = false
		systemstack(func() {
			x := otelprofCurrent()
			if x == nil {
				return
			}
			now, growth := x.now()
			o := otelprofLedger(x, me, now, growth)
			_, growth = o.settleEnds(x, now, growth)
			if o.in > 0 || o.free(me) {
				return
			}
			o.charge(growth)
			if paid == 0 {
				o.settleArrival(x, false)
				o.stretch, o.between = 0, false
			}
			before := o.spent
			sleeps := o.debt >= otelprofLate && sched.npidle.Load() > 0 || o.waited && o.debt >= otelprofLeastSleep
			if sleeps && paid < x.longest {
				nap = o.lieDown(x, me, now, min(o.debt, x.longest))
			}
			if again = nap > 0; !again {
				o.waited = false
				o.pay(x, me, growth, &me.preempt)
				x.points.Add(1)
				x.left.Add(max(0, o.debt))
			}
			paid += o.spent - before
		})
		if nap > 0 {
			otelprofNap(nap)
		}
	}
	return paid
}

// otelprofBooks returns by how much the calling goroutine would be ahead in this experiment, and by
// how much it has been delayed, in ns.
//
//go:linkname otelprofBooks
func otelprofBooks() (credit, spent int64) {
	if otelprofEpoch == 0 {
		return 0, 0
	}
	me := getg()
	systemstack(func() {
		if x := otelprofCurrent(); x != nil {
			now, growth := x.now()
			o := otelprofLedger(x, me, now, growth)
			_, growth = o.settleEnds(x, now, growth)
			o.charge(growth)
			credit, spent = growth-o.debt, o.spent
		}
	})
	return credit, spent
}

// otelprofExempt lets the calling goroutine pay nothing, until otelprofPayAgain has been called as
// often with what it returns.
//
//go:linkname otelprofExempt
func otelprofExempt() (gp unsafe.Pointer, goid uint64) {
	me := getg()
	o := &me.otelprof
	if o.exemptID != me.goid {
		o.exempt.Store(0)
		o.exemptID = me.goid
	}
	o.exempt.Add(1)
	o.spared = true
	return unsafe.Pointer(me), me.goid
}

// otelprofPayAgain ends one exemption of a goroutine. On another one it holds from the next
// experiment on.
//
//go:linkname otelprofPayAgain
func otelprofPayAgain(at unsafe.Pointer, goid uint64) {
	gp := (*g)(at) // a g is never freed, so it can be looked at
	if gp.goid != goid || !gp.otelprof.endExemption() || gp != getg() {
		return
	}
	systemstack(func() {
		o := &gp.otelprof
		if x := otelprofCurrent(); x != nil {
			now, growth := x.now()
			otelprofLedger(x, gp, now, growth).charge(growth)
			o.debt = min(o.debt, 0) // what grew meanwhile is not owed
		}
		o.spared = isSystemGoroutine(gp, false)
	})
}

// endExemption ends one exemption, and reports whether it was the last.
func (o *otelprofG) endExemption() bool {
	for {
		n := o.exempt.Load()
		if n == 0 {
			return false
		}
		if o.exempt.CompareAndSwap(n, n-1) {
			return n == 1
		}
	}
}
