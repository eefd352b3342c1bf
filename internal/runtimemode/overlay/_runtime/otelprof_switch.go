package runtime

// otelprofSees reports whether a change of the status of gp counts. Between running and a system
// call nothing changes, since both count as running; nor does it when a stack is copied or scanned.
//
//go:nosplit
func otelprofSees(gp *g, before, after uint32) bool {
	born := before == _Gdead || before == _Gdeadextra
	if otelprofEpoch == 0 && !gp.otelprof.watched.open() {
		return born && otelprofOn&otelprofServing != 0
	}
	switch before {
	case _Grunning, _Gsyscall:
		// dropm may run on another stack than g0's, so all that it calls must be nosplit. What it
		// ends is booked when needm begins to use the goroutine again.
		return after != _Grunning && after != _Gsyscall && after != _Gcopystack && after != _Gdeadextra
	case _Gwaiting:
		return after == _Grunnable
	case _Grunnable:
		return after == _Grunning
	}
	return born
}

// otelprofSwitch is called, on the system stack, when the status of gp is about to change. There
// may be no P.
//
//go:nowritebarrierrec
func otelprofSwitch(gp *g, before, after uint32) {
	if before == _Gdead || before == _Gdeadextra {
		otelprofInherits(gp)
	}
	if x := otelprofCurrent(); x != nil {
		otelprofTake(x, gp, before, after)
	}
	if gp.otelprof.watched.open() {
		otelprofBook(gp, before, after)
	}
}

// otelprofTake books a change of status in an experiment.
func otelprofTake(x *otelprofExperiment, gp *g, before, after uint32) {
	switch before {
	case _Grunning, _Gsyscall:
		// A goroutine that stops for the garbage collector only goes on without being made
		// runnable.
		if after != _Gwaiting || !gp.waitreason.isWaitingForSuspendG() {
			otelprofStops(x, gp, after == _Gwaiting && otelprofElsewhere(gp.waitreason))
		}
	case _Gwaiting:
		otelprofWakes(x, gp)
	case _Grunnable:
		otelprofRuns(x, gp)
	case _Gdead, _Gdeadextra:
		otelprofBegins(x, gp)
	}
}

// otelprofElsewhere reports whether what is waited for happens outside of the program: then a
// region goes on meanwhile.
func otelprofElsewhere(r waitReason) bool { return r == waitReasonSleep || r == waitReasonIOWait }

// otelprofReturns reports whether the wait ends in a function that calls otelprofSettle.
func otelprofReturns(r waitReason) bool {
	return r == waitReasonSleep || r == waitReasonIOWait || r == waitReasonChanReceive || r == waitReasonSelect
}

// otelprofStops books that gp does not run any more. If the region goes on, it keeps growing.
func otelprofStops(x *otelprofExperiment, gp *g, regionGoesOn bool) {
	now, growth := x.now()
	o := otelprofLedger(x, gp, now, growth)
	now, growth = o.settleEnds(x, now, growth)
	o.charge(growth)
	if o.active && !regionGoesOn {
		now, growth = o.deactivate(x)
		o.charged = growth
	}
	o.since, o.running, o.settles = now-growth, false, false
	// The P, if it is still there, goes on from where the goroutine leaves it: the next one there
	// begins no earlier in virtual time. One that stops to pay by a sleep has not begun its work,
	// and what a guest owes is not passed on.
	if !o.extended {
		o.stretch = 0
	}
	if mp := getg().m; mp.curg == gp && mp.p != 0 && !o.extended && o.guest == 0 {
		pp := mp.p.ptr()
		pp.otelprof.epoch, pp.otelprof.debt, pp.otelprof.since = x.epoch, o.debt, o.since
	}
}

// otelprofWakes books that gp does not wait any more, and what its waker hands over.
func otelprofWakes(x *otelprofExperiment, gp *g) {
	now, growth := x.now()
	o := otelprofLedger(x, gp, now, growth)
	o.running = false
	if gp.waitreason == waitReasonPreempted {
		// It was stopped from outside, for the garbage collector, so no stop was seen.
		otelprofStops(x, gp, false)
		return
	}
	now, growth = o.settleEnds(x, now, growth)
	mp := getg().m
	waker, network := mp.curg, gp.waitreason == waitReasonIOWait
	if network && sched.gcwaiting.Load() {
		waker = nil // any goroutine may start the world, which polls the network
	}
	switch {
	case waker == gp && gp.waitreason == waitReasonCoroutine:
		// The P comes from the goroutine that has just switched to this one.
		o.debt = max(o.debt-(now-growth-o.since), otelprofOwedByP(x, mp.p.ptr(), now-growth))
	case waker != nil && waker != gp:
		growth = otelprofHandsOver(x, gp, waker, now, growth)
		now = nanotime()
	case o.extended:
		o.debt -= now - growth - o.since // what was too much is prepaid
		o.settles = true
	default:
		// A timer or the network: the world outside does not know of any delay.
		switch {
		case network && o.served.Load() == x.epoch:
			o.debt = max(0, o.debt-(now-growth-o.since)) // this process has paid
		case network && o.in == 0 && !o.works(gp):
			o.arrives(now, growth)
		default:
			o.departs(0)
			o.charge(growth)
			o.settles = o.in == 0 && !o.between && otelprofReturns(gp.waitreason)
			o.waited = o.waited || o.in == 0 && o.between
		}
	}
	o.extended = false
	if o.active {
		now, growth = o.deactivate(x)
	}
	o.since, o.charged = now-growth, growth
}

// otelprofHandsOver books what gp takes over from its waker, and returns the growth then.
func otelprofHandsOver(x *otelprofExperiment, gp, waker *g, now, growth int64) int64 {
	o, w := &gp.otelprof, otelprofLedger(x, waker, now, growth)
	works, waited := o.works(gp), now-growth-o.since
	switch {
	case w.free(waker):
		// It is not delayed, so it was early by what grew meanwhile.
		before := o.debt
		o.charge(growth)
		o.debt = max(before-waited, o.debt-before)
		return growth
	case w.guest != 0 && works && o.served.Load() != x.epoch:
		w.handed = true
		// The guest brings what gp has waited for, from the world outside.
		o.charge(growth)
		o.settles = o.in == 0 && otelprofReturns(gp.waitreason)
		return growth
	case w.guest != 0 && works:
		o.debt = max(0, o.debt-waited) // this process has paid
		return growth
	}
	if w.guest == 0 {
		o.departs(waited)
	}
	o.debt -= waited
	w.charge(growth)
	// What the waker owes is paid before the signal: then the goroutine that is woken is delayed by
	// it, too, and need not pay it again. With a lock of the runtime's in hand nothing is paid, nor
	// while one that must not be delayed waits for it.
	if mp := getg().m; w.in == 0 && w.guest == 0 && !w.between && mp.p != 0 && mp.locks <= 1 && !o.free(gp) {
		growth = w.pay(x, waker, growth, &waker.preempt)
	}
	o.debt = max(o.debt, w.debt)
	if !works {
		o.guest = w.guest
		w.handed = w.guest != 0
	}
	return growth
}

// otelprofRuns books that gp is about to run on this P. The thread is on g0, and gp still is
// runnable: neither the garbage collector nor a stop of the world waits for what is paid here.
func otelprofRuns(x *otelprofExperiment, gp *g) {
	mp := getg().m
	if mp.p == 0 {
		return
	}
	now, growth := x.now()
	o := otelprofLedger(x, gp, now, growth)
	now, growth = o.settleEnds(x, now, growth)
	if o.debt > 0 {
		// Waiting for a P pays: it would have waited as long in virtual time.
		o.debt = max(0, o.debt-(now-growth-o.since))
	}
	if sched.npidle.Load() == 0 {
		o.debt = max(o.debt, otelprofOwedByP(x, mp.p.ptr(), now-growth))
	}
	o.charged = growth
	switch {
	case o.free(gp):
		// It has nothing to pay, but what the P owes is not forgotten.
		o.debt = max(0, otelprofOwedByP(x, mp.p.ptr(), now-growth))
	case !o.settles && !o.napping && !o.between && !o.waited && o.guest == 0:
		growth = o.pay(x, gp, growth, nil)
	}
	o.charged, o.running = growth, true
	if o.in > 0 && !o.active {
		o.activate(x)
	}
}

// otelprofOwedByP is what the P still owes, at a virtual time. It may have been paid in advance.
func otelprofOwedByP(x *otelprofExperiment, pp *p, virtual int64) int64 {
	if pp.otelprof.epoch != x.epoch {
		return -1 << 62 // nothing is known of it
	}
	return pp.otelprof.debt - (virtual - pp.otelprof.since)
}

// otelprofInherits has gp, which is created, work for the request of its parent. What its record
// says of a goroutine before is forgotten.
func otelprofInherits(gp *g) {
	o := &gp.otelprof
	o.exemptID, o.accountID = 0, 0 // the goroutine of an extra M keeps its number
	o.between = false
	o.served.Store(0)
	if parent := getg().m.curg; parent != nil && parent != gp && parent.otelprof.request(parent.goid) != nil {
		o.account, o.accountID, o.own = parent.otelprof.account, gp.goid, false
	}
}

// otelprofBegins books that gp is created: at the virtual time of its parent (happens-before).
func otelprofBegins(x *otelprofExperiment, gp *g) {
	if o := &gp.otelprof; o.epoch == x.epoch && o.active {
		o.deactivate(x) // of an extra M
	}
	now, growth := x.now()
	gp.otelprof.epoch = 0
	o := otelprofLedger(x, gp, now, growth)
	if parent := getg().m.curg; parent != nil && parent != gp {
		p := otelprofLedger(x, parent, now, growth)
		p.charge(growth)
		o.debt, o.guest = p.debt, p.guest
		p.handed = p.guest != 0
	}
}
