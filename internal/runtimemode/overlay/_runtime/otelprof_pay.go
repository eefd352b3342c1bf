package runtime

import "internal/runtime/atomic"

const (
	// Less is not worth paying, ns.
	otelprofLeastDebt = 2_000
	// Less is not worth a sleep, ns.
	otelprofLeastSleep = 50_000
	// By so much may a timer be late while Ps are idle, ns: it waits for the poller, whose time
	// is in milliseconds.
	otelprofLate = 1_000_000
	// The longest sleep at a time, ns: within it each goroutine sees that an experiment is over.
	otelprofLongestSleep = 5_000_000
	// The longest slice, ns, which is a whole one of virtual time up to a speed-up of 0.9.
	otelprofLongestSlice = 100_000_000
	// The most threads that naps may block at once.
	otelprofMostNapping = 64
)

// pay lets time pass on this thread until gp owes nothing, for as long as the limits grant and
// x.longest at most, and returns the growth then. The debt must be charged up to growth; it is so
// in the end. It ends at once if the world is to stop, the P is to run a safe-point function, the
// experiment is over, or preempt, if there is one, turns true.
func (o *otelprofG) pay(x *otelprofExperiment, gp *g, growth int64, preempt *bool) int64 {
	pp := getg().m.p.ptr()
	for left := x.longest; o.debt > otelprofLeastDebt && left > otelprofLeastDebt; {
		debt, at := o.debt, growth
		began := nanotime()
		granted := o.grant(x, gp, began, min(debt, left))
		if granted == 0 {
			break
		}
		now, stop := began, false
		for !stop && o.debt > 0 && now-began < granted {
			procyield(5)
			now, growth = x.now()
			o.debt = debt + (growth - at) - (now - began)
			stop = otelprofEpoch != x.epoch || sched.gcwaiting.Load() || pp.runSafePointFn != 0 || preempt != nil && *preempt
		}
		o.correct(x, gp, began, now-began-granted)
		o.charged = growth
		pp.otelprof.ahead += now - began // the slice goes on
		o.book(x, &x.paid, now-began)
		if left -= now - began; stop {
			break
		}
	}
	return growth
}

// book counts a delay.
func (o *otelprofG) book(x *otelprofExperiment, kind *atomic.Int64, ns int64) {
	o.spent += ns
	x.delays.Add(1)
	kind.Add(ns)
}

// otelprofExtend is asked by the timer that ends a time.Sleep of gp. The sleep ends when virtual
// time has come to its end, which is later by what the goroutine owes: then the timer is set anew
// and the answer is true.
func otelprofExtend(gp *g) bool {
	x := otelprofCurrent()
	if x == nil || gp.waitreason != waitReasonSleep || gp.timer == nil || gp.timer.isFake {
		return false
	}
	now, growth := x.now()
	o := otelprofLedger(x, gp, now, growth)
	if o.in > 0 || o.free(gp) {
		return false
	}
	if !o.extended {
		o.charge(growth)
		o.since = now - growth
		o.extended = true
	}
	// Too short rather than too long: the goroutine pays the rest when it has woken up.
	rest := min(o.debt-(now-growth-o.since)-otelprofLate, otelprofLongestSleep)
	if rest < otelprofLeastSleep {
		return false
	}
	if rest = o.grant(x, gp, now, rest); rest == 0 {
		return false
	}
	o.book(x, &x.slept, rest)
	gp.timer.reset(now+rest, 0)
	return true
}

// otelprofSettle pays what the calling goroutine owes when a wait that a timer or the network has
// ended is over: it would have taken longer, and that needs no processor. The region may go on
// meanwhile, so there is more to pay after each nap, until it is not worth another one. No lock is
// held.
func otelprofSettle() {
	for first, napped := true, int64(0); ; first = false {
		sleep, nap := otelprofOwedToWorld(first)
		switch {
		case sleep > 0:
			timeSleep(sleep) // which ends here again
			return
		case nap == 0 || napped > otelprofLongestSleep:
			return
		}
		otelprofNap(nap)
		napped += nap
	}
}

// otelprofOwedToWorld returns for how long otelprofSettle is to sleep or to nap, which is booked
// already.
func otelprofOwedToWorld(first bool) (sleep, nap int64) {
	systemstack(func() {
		x := otelprofCurrent()
		gp := getg().m.curg
		if x == nil || gp.bubble != nil {
			return
		}
		now, growth := x.now()
		o := otelprofLedger(x, gp, now, growth)
		if first && !o.settles || o.in > 0 || o.free(gp) {
			return
		}
		o.settles = false
		o.charge(growth)
		switch {
		case o.debt-otelprofLate >= otelprofLeastSleep:
			if sleep = o.grant(x, gp, now, min(o.debt-otelprofLate, otelprofLongestSleep)); sleep > 0 {
				o.extended = true // so otelprofExtend goes on with it
				o.book(x, &x.slept, sleep)
			}
		case o.debt >= otelprofLeastSleep:
			nap = o.lieDown(x, gp, now, o.debt)
		}
	})
	return sleep, nap
}

// otelprofNapping is how many threads are.
var otelprofNapping atomic.Int32

// lieDown prepares a nap of ns that pays, and returns its length, 0 if too many threads nap or a
// limit forbids it.
func (o *otelprofG) lieDown(x *otelprofExperiment, gp *g, now, ns int64) int64 {
	if otelprofNapping.Add(1) > otelprofMostNapping {
		otelprofNapping.Add(-1)
		return 0
	}
	if ns = o.grant(x, gp, now, ns); ns == 0 {
		otelprofNapping.Add(-1)
		return 0
	}
	// It is taken off now: if there is no P afterwards the goroutine has to queue, and what is
	// owed then would be paid again.
	o.debt -= ns
	o.napping = true
	o.book(x, &x.slept, ns)
	return ns
}

// otelprofNap has the calling goroutine sleep in a system call, after lieDown. Timers are a
// millisecond late, this 50 µs, which are taken off before; a thread is blocked meanwhile, so only
// a few may do it, and not for long.
func otelprofNap(ns int64) {
	late := otelprofUsleep(ns) - ns
	otelprofNapping.Add(-1)
	systemstack(func() {
		x := otelprofCurrent()
		if x == nil {
			return
		}
		now, growth := x.now()
		// The experiment may be another one by now; then a few microseconds are booked there.
		gp := getg().m.curg
		o := otelprofLedger(x, gp, now, growth)
		o.debt -= late
		o.correct(x, gp, 0, late)
		o.napping = false
	})
}

// otelprofUsleep lets others have the P meanwhile. It returns how long it took, without the wait
// for a P. The stack must not grow between the system call's beginning and its end.
//
//go:nosplit
func otelprofUsleep(ns int64) (took int64) {
	began := nanotime()
	entersyscallblock()
	usleep(uint32(max(0, ns-otelprofLeastSleep) / 1000))
	took = nanotime() - began
	exitsyscall()
	return took
}

// otelprofLonger is asked by sysmon before it preempts what runs on a P whose slice is over. Slices
// are measured in virtual time, so one is longer by what the region has saved in it and by what was
// paid in it. They end all the same: however little virtual time there is, others wait for the P.
//
// What is read belongs to another thread. If it is old, that costs a part of one slice.
func otelprofLonger(pp *p, tick *sysmontick, now int64) bool {
	x := otelprofCurrent()
	if x == nil {
		return false
	}
	slice := now - tick.schedwhen
	if slice >= otelprofLongestSlice {
		return false
	}
	slice -= pp.otelprof.ahead - pp.otelprof.aheadBefore
	if mp := pp.m.ptr(); mp != nil {
		if gp := mp.curg; gp != nil && gp.otelprof.epoch == x.epoch && gp.otelprof.active {
			slice -= (now - max(gp.otelprof.entered, tick.schedwhen)) * x.speedup / 1000
		}
	}
	return slice < forcePreemptNS
}
