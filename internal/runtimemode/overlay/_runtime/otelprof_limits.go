package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// Each delay is granted before it is made, by all limits of a plan: per_span, per_trace, duty and
// total. What is not granted stays owed, and is counted by the limit that refused it.

// Why a delay was refused or cut. Package sched has the same order.
const (
	otelprofPerSpan = iota
	otelprofPerTrace
	otelprofDuty
	otelprofTotal
	otelprofIdle // the wait of a connection between two requests
	otelprofReasons
)

const (
	// Duty holds in each 100 ms, wherever they begin: delays are summed up in slots, ns, and no
	// delay that is granted at once is longer than one. 13 slots have a part in 100 ms: ten, the
	// two at the borders, and one in which a delay may have begun that is not over.
	otelprofDutySlot  = 10_000_000
	otelprofDutySlots = 13
	otelprofDutyRing  = 16
	otelprofDutyBits  = 36 // of a slot's sum; its number is above

	// A connection that has waited for longer is idle, ns: it is not delayed for that.
	otelprofIdleAfter = 20_000_000

	// The number of requests that are known at once.
	otelprofAccounts    = 1 << 12
	otelprofAccountMask = otelprofAccounts - 1
)

// otelprofDutyUsed are the delays of the latest slots. They outlive experiments, so duty also holds
// where one ends and the next begins.
var otelprofDutyUsed [otelprofDutyRing]atomic.Uint64

// otelprofSlot is the number of the slot that a time is in.
func otelprofSlot(now int64) uint64 {
	return uint64(now/otelprofDutySlot) & (1<<(64-otelprofDutyBits) - 1)
}

// otelprofUse adds delay to the slot of now, and returns the sum of all that count.
func otelprofUse(now, ns int64) (sum int64) {
	const most = 1<<otelprofDutyBits - 1
	slot := otelprofSlot(now)
	for {
		used := &otelprofDutyUsed[slot%otelprofDutyRing]
		word, old := used.Load(), int64(0)
		if word>>otelprofDutyBits == slot {
			old = int64(word & most)
		} else if ns < 0 {
			break // what is given back has been forgotten
		}
		if used.CompareAndSwap(word, slot<<otelprofDutyBits|uint64(min(max(0, old+ns), most))) {
			break
		}
	}
	for i := range uint64(otelprofDutySlots) {
		if word := otelprofDutyUsed[(slot-i)%otelprofDutyRing].Load(); word>>otelprofDutyBits == slot-i {
			sum += int64(word & most)
		}
	}
	return sum
}

// otelprofAccount is the account of a request: of a local root span and all below it, on any
// goroutine.
type otelprofAccount struct {
	id     atomic.Uint64 // 0 while it is free; its lower bits are its place
	spent  atomic.Int64  // ns
	late   atomic.Int64  // ns of these by which delays were longer than granted
	exempt atomic.Uint32
	opened atomic.Int64 // nanotime
}

var otelprofRequests [otelprofAccounts]otelprofAccount

// otelprofUsed is how many are not free.
var otelprofUsed atomic.Int32

// request returns the account of the request that the goroutine works for, nil if it works for
// none.
func (o *otelprofG) request(goid uint64) *otelprofAccount {
	if o.account == 0 || o.accountID != goid {
		return nil
	}
	if a := &otelprofRequests[o.account&otelprofAccountMask]; a.id.Load() == o.account {
		return a
	}
	return nil
}

// works reports whether the goroutine works for a request by itself: what it waits for, the request
// waits for. Goroutines it has started may as well serve a connection.
func (o *otelprofG) works(gp *g) bool { return o.own && o.request(gp.goid) != nil }

// free reports whether the goroutine never pays: one of ours, or of a health check.
func (o *otelprofG) free(gp *g) bool {
	if o.spared {
		return true
	}
	a := o.request(gp.goid)
	return a != nil && a.exempt.Load() != 0
}

func (x *otelprofExperiment) refuse(why int) { x.refused[why].Add(1) }

// grant returns for how long gp may be delayed now, want at most, and books it. Duty comes first:
// it refuses most, and what is refused later has not been spent for a moment.
func (o *otelprofG) grant(x *otelprofExperiment, gp *g, now, want int64) int64 {
	if want = min(want, otelprofDutySlot, x.perSpan-o.stretch); want <= otelprofLeastDebt {
		x.refuse(otelprofPerSpan)
		return 0
	}
	if x.dutyFull.Load() == otelprofSlot(now) {
		x.refuse(otelprofDuty)
		return 0
	}
	booked := nanotime() // now may be of before the thread stood still
	if over := otelprofUse(booked, want) - x.duty; over > 0 {
		x.dutyFull.Store(otelprofSlot(booked))
		over = min(over, want)
		otelprofUse(booked, -over)
		if want -= over; want <= otelprofLeastDebt {
			otelprofUse(booked, -want)
			x.refuse(otelprofDuty)
			return 0
		}
	}
	a := o.request(gp.goid)
	if a != nil {
		if over := a.spent.Add(want) - x.perTrace; over > 0 {
			over = min(over, want)
			a.spent.Add(-over)
			otelprofUse(booked, -over)
			if want -= over; want <= otelprofLeastDebt {
				a.spent.Add(-want)
				otelprofUse(booked, -want)
				x.refuse(otelprofPerTrace)
				return 0
			}
		}
	}
	if x.spent.Add(want) > x.budget {
		o.giveBack(x, a, want)
		otelprofUse(booked, -want)
		x.refuse(otelprofTotal)
		atomic.Cas(&otelprofEpoch, x.epoch, 0)
		return 0
	}
	o.stretch += want
	return want
}

func (o *otelprofG) giveBack(x *otelprofExperiment, a *otelprofAccount, ns int64) {
	x.spent.Add(-ns)
	if a != nil {
		a.spent.Add(-ns)
	}
}

// otelprofTooLong is by how much all delays of all experiments were longer than granted, ns: a
// thread was not run in time.
var otelprofTooLong atomic.Int64

// correct books that a delay that was granted at a time took longer by late, which may be negative.
// If the time is not known, duty does not get back what was too much.
func (o *otelprofG) correct(x *otelprofExperiment, gp *g, granted, late int64) {
	o.stretch += late
	switch {
	case late > 0:
		otelprofTooLong.Add(late) // before it is spent, so that it is known what of that is late
		otelprofUse(nanotime(), late)
		if a := o.request(gp.goid); a != nil {
			a.late.Add(late)
		}
	case granted != 0:
		otelprofUse(granted, late)
	}
	o.giveBack(x, o.request(gp.goid), -late)
}

// What waits for the network and does not work for a request by itself, the goroutine of a
// connection say, is a guest when it is woken, and so are goroutines that it starts and wakes,
// until they begin to work for a request. A guest pays nothing: what it owes for the wait, the
// request pays that came, unless it is exempt or the connection was idle. It pays by a sleep when
// it begins, as it would after a wait of its own: to spin for it takes the Ps from goroutines that
// run the region.

// arrives books that the network has woken one that works for no request by itself, at a growth.
func (o *otelprofG) arrives(now, growth int64) {
	before, since := o.debt, o.charged
	o.charge(growth)
	if o.guest != 0 {
		o.debt -= before // owed by the guest before
		o.lost = o.lost || !o.handed && before > otelprofLeastSleep
	}
	o.handed = false
	o.guest = max(1, now-growth-o.since+growth-since)
}

// departs ends being a guest without having worked for a request: another goroutine, waited for
// since, brings what is owed for the network. Waited is for how long that was, in virtual time. If
// that is less than what the guest owed, it goes on sooner than it could: if it then begins to work
// for a request, that has not waited for its lock, say, as it would have.
func (o *otelprofG) departs(waited int64) {
	if o.guest != 0 {
		o.lost = o.lost || !o.handed && o.debt-waited > otelprofLeastSleep
		o.debt, o.guest, o.handed = min(o.debt, 0), 0, false
	}
}

// settleArrival makes what a guest owes a debt like others.
func (o *otelprofG) settleArrival(x *otelprofExperiment, forgiven bool) {
	unpaid := o.lost && !forgiven
	o.lost = false
	if unpaid {
		x.unpaid.Add(1)
	}
	if o.guest != 0 || unpaid {
		x.arrivals.Add(1)
	}
	if o.guest == 0 {
		return
	}
	if forgiven {
		o.debt = min(o.debt, 0)
	} else if o.guest > otelprofIdleAfter && o.debt > otelprofLeastSleep {
		o.debt = 0
		x.refuse(otelprofIdle)
	}
	o.guest, o.waited = 0, o.debt > 0
}

// otelprofOpen opens the account of a request. If there are too many, it takes that of one that is
// older than most, ns, as are requests that never end; but not that of a health check, which would
// be delayed then. If there is none, id is 0.
//
//go:linkname otelprofOpen
func otelprofOpen(exempt bool, most int64) (id uint64) {
	serial := otelprofOpened.Add(1)
	now := nanotime()
	for _, reuse := range [...]bool{false, true} {
		for i := range uint64(64) {
			place := (serial + i*61) & otelprofAccountMask
			a := &otelprofRequests[place]
			was := a.id.Load()
			if was != 0 && (!reuse || was == otelprofOpening || a.exempt.Load() != 0 || now-a.opened.Load() < most) {
				continue
			}
			if !a.id.CompareAndSwap(was, otelprofOpening) {
				continue
			}
			a.spent.Store(0)
			a.late.Store(0)
			a.exempt.Store(0)
			if exempt {
				a.exempt.Store(1)
			}
			a.opened.Store(now)
			if was == 0 && otelprofUsed.Add(1) == 1 {
				atomic.Or(&otelprofOn, otelprofServing)
			}
			id = serial<<16 | place // never 0, for serials begin with 1
			a.id.Store(id)
			return id
		}
	}
	return 0
}

const otelprofOpening = 1<<64 - 1

var otelprofOpened atomic.Uint64

// otelprofClose closes it, and returns the delays of its request, ns.
//
//go:linkname otelprofClose
func otelprofClose(id uint64) (spent int64) {
	a := &otelprofRequests[id&otelprofAccountMask]
	if id == 0 || a.id.Load() != id {
		return 0
	}
	spent = a.spent.Load()
	if a.id.CompareAndSwap(id, 0) && otelprofUsed.Add(-1) == 0 { // else another request has it by now
		atomic.And(&otelprofOn, ^uint32(otelprofServing))
		if otelprofUsed.Load() != 0 {
			atomic.Or(&otelprofOn, otelprofServing) // one has been opened meanwhile
		}
	}
	return spent
}

// otelprofWorkFor has the calling goroutine work for a request from now on, and returns for which
// it did before. Known says that the request came from this process, which has paid for it.
//
//go:linkname otelprofWorkFor
func otelprofWorkFor(id uint64, known bool) (before uint64) {
	me := getg()
	o := &me.otelprof
	if o.accountID == me.goid {
		before = o.account
	}
	if otelprofEpoch == 0 {
		o.account, o.accountID, o.own = id, me.goid, id != 0
		o.between = id == 0 && before != 0
		return before
	}
	systemstack(func() {
		x := otelprofCurrent()
		if x == nil {
			o.account, o.accountID, o.own = id, me.goid, id != 0
			o.between = id == 0 && before != 0
			return
		}
		now, growth := x.now()
		otelprofLedger(x, me, now, growth)
		o.charge(growth)
		left := o.free(me)
		o.account, o.accountID, o.own = id, me.goid, id != 0
		if left = left || o.free(me); left {
			o.debt = min(o.debt, 0) // what grew while it was exempt is not owed
		}
		// What it owes between two requests, it pays with the next, or at a point.
		if o.between = id == 0 && before != 0; id != 0 {
			o.settleArrival(x, known || left)
		}
	})
	return before
}

// otelprofArrive has the calling goroutine sleep for what it owes for a wait before the request
// that it has begun to work for, and reports whether it owed anything.
//
//go:linkname otelprofArrive
func otelprofArrive() bool {
	o := &getg().otelprof
	if otelprofEpoch == 0 || !o.waited || o.in > 0 {
		return false
	}
	o.waited, o.settles = false, true
	otelprofSettle()
	return true
}

// otelprofServed sets whether what a goroutine waits for from the network is done within this
// process, which pays for it.
//
//go:linkname otelprofServed
func otelprofServed(at unsafe.Pointer, goid uint64, yes bool) {
	// A g is never freed, so it can be looked at.
	if gp := (*g)(at); gp != nil && gp.goid == goid {
		epoch := uint32(0)
		if yes {
			epoch = atomic.Load(&otelprofEpoch)
		}
		gp.otelprof.served.Store(epoch)
	}
}
