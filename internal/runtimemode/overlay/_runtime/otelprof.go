package runtime

import "internal/runtime/atomic"

// An experiment asks what would be if one region of the program took less time (virtual speedup,
// as in Coz). Every other goroutine is delayed by what the region would save: its growth. Each
// goroutine has a ledger, a field of its g, which says how much it still owes; each P has one too.
// Virtual time is the real one less the growth.
//
// A goroutine's ledger may be touched by the goroutine itself while it runs, on the system stack;
// by the one that wakes it while it waits; by the M that is about to run it while it is runnable.
// The scheduler's own rules see to it that this is one thread at a time, and its atomic changes of
// the status order what they write. There are no pointers in ledgers, so no write barriers: hooks
// also run where there is no P.

// otelprofEpoch is the number of the experiment in force, 0 if there is none. Hooks read it
// without a lock: one that sees it late misses the first or the last event of an experiment.
var otelprofEpoch uint32

// otelprofExperiments are the latest ones. A thread that is late books on the one it began with,
// and by the time that the place is used again it is through: experiments take milliseconds at
// least.
var otelprofExperiments [8]otelprofExperiment

type otelprofExperiment struct {
	// growth holds how many goroutines run the region in its low bits. The bits above are the
	// growth, in ns; while a goroutine runs the region it is what the growth would have been at
	// start, so that it need not be written as time passes. One word makes the region's
	// beginning and end on all Ps one compare-and-swap each, with no lock.
	growth atomic.Uint64
	_      [56]byte // the rest is seldom written

	epoch   uint32
	start   int64 // by nanotime
	speedup int64 // permille
	longest int64 // that one payment may take for which a processor is held, ns

	// The limits, ns; see otelprof_limits.go.
	perSpan, perTrace, duty, budget int64
	refused                         [otelprofReasons]atomic.Int64
	dutyFull                        atomic.Uint64 // the slot in which duty was last used up, in which nothing more is granted
	spent                           atomic.Int64
	arrivals                        atomic.Int64 // of guests that began to work for a request
	unpaid                          atomic.Int64 // of these, guests that had been forgiven what they owed for the network

	paid    atomic.Int64 // by spinning, ns
	slept   atomic.Int64 // by longer sleeps, ns
	delays  atomic.Int64 // payments
	points  atomic.Int64 // visits of points
	left    atomic.Int64 // sum of debts after points, ns
	foreign atomic.Int64 // ends of the region on another goroutine
}

const (
	otelprofActiveBits = 20
	otelprofActiveMask = 1<<otelprofActiveBits - 1
)

// otelprofCurrent returns the experiment in force, nil if there is none.
func otelprofCurrent() *otelprofExperiment {
	epoch := atomic.Load(&otelprofEpoch)
	if epoch == 0 {
		return nil
	}
	return &otelprofExperiments[epoch%uint32(len(otelprofExperiments))]
}

// earned is by how much the growth rises until t if a goroutine runs the region from start on.
// Differences of it are rounded up as often as down.
func (x *otelprofExperiment) earned(t int64) int64 { return (t - x.start) * x.speedup / 1000 }

func otelprofSplit(word uint64) (growth int64, active uint64) {
	return int64(word) >> otelprofActiveBits, word & otelprofActiveMask
}

func otelprofJoin(growth int64, active uint64) uint64 {
	return uint64(growth)<<otelprofActiveBits | active
}

// now returns the time and the growth at that time.
func (x *otelprofExperiment) now() (now, growth int64) {
	for {
		growth, active := otelprofSplit(x.growth.Load())
		now = nanotime()
		// The thread may have stood still between the two. If the growth was bent meanwhile,
		// it does not belong to that time.
		if g, a := otelprofSplit(x.growth.Load()); g != growth || (a == 0) != (active == 0) {
			continue
		}
		if active != 0 {
			growth += x.earned(now)
		}
		return now, growth
	}
}

// enter counts one more goroutine that runs the region, and reports whether there was room
// to count it.
func (x *otelprofExperiment) enter() (now, growth int64, ok bool) {
	for {
		word := x.growth.Load()
		growth, active := otelprofSplit(word)
		now = nanotime()
		if active == 0 {
			growth -= x.earned(now)
		}
		if active == otelprofActiveMask {
			return now, growth + x.earned(now), false
		}
		if x.growth.CompareAndSwap(word, otelprofJoin(growth, active+1)) {
			return now, growth + x.earned(now), true
		}
	}
}

// leave takes back enter.
func (x *otelprofExperiment) leave() (now, growth int64) {
	for {
		word := x.growth.Load()
		growth, active := otelprofSplit(word)
		now = nanotime()
		if active == 0 {
			// The thread stood still for so long that its experiment's place was given to
			// another one, which it never entered.
			return now, growth
		}
		if active == 1 {
			growth += x.earned(now)
		}
		if !x.growth.CompareAndSwap(word, otelprofJoin(growth, active-1)) {
			continue
		}
		if active > 1 {
			growth += x.earned(now)
		}
		return now, growth
	}
}

// otelprofG is the ledger of a goroutine.
type otelprofG struct {
	watched otelprofWatched

	// Those of the goroutine's whole life.
	exempt   atomic.Uint32 // it never pays while this is above 0
	exemptID uint64        // the goroutine that exempt is about: records of g are used again
	ended    atomic.Uint32 // ends of the region on other goroutines that are not booked here yet

	// The request that it works for. The second is the goroutine that this is about, the third
	// whether it began to by itself, and has not just been started by one that did.
	account, accountID uint64
	own                bool

	served atomic.Uint32 // the experiment in which what it waits for is known to be done in this process

	// Those of one experiment.
	epoch    uint32
	in       uint32 // open spans of the region
	spared   bool   // it never pays
	active   bool   // it is counted in the growth
	running  bool   // its last change was to running
	extended bool   // it pays by a sleep
	settles  bool   // it pays when its wait returns
	napping  bool   // it pays by a nap, and goes on when that is over
	between  bool   // it has worked for a request, which is over; of its whole life
	waited   bool   // it owes for a wait for a timer or the network between two requests, and sleeps for that when the next begins
	handed   bool   // what it owes as a guest, another one may have taken over
	lost     bool   // what it owed as a guest is forgotten, and it has not begun to work for a request since
	debt     int64  // ns, negative if it has paid in advance
	charged  int64  // growth up to which debt is right
	since    int64  // virtual time when it stopped or became runnable
	entered  int64  // when it became active
	spent    int64  // ns that it has been delayed
	stretch  int64  // of these since it last stopped, or since its last point
	guest    int64  // how long it had waited for the network when it came as a guest, else 0
}

// otelprofP is the ledger of a P.
type otelprofP struct {
	// What the goroutine owed that left it last, and when that was in virtual time.
	epoch       uint32
	debt, since int64

	// By how much all slices so far were shorter in virtual time, ns, and what that was when sysmon
	// first saw the present one. Only sysmon writes the latter.
	ahead, aheadBefore int64
}

// otelprofLedger returns the ledger of gp in an experiment, a new one if it has none there.
func otelprofLedger(x *otelprofExperiment, gp *g, now, growth int64) *otelprofG {
	o := &gp.otelprof
	if o.epoch != x.epoch {
		o.ended.Store(0)
		o.epoch, o.in = x.epoch, 0
		o.active, o.running, o.extended, o.settles, o.napping, o.waited = false, false, false, false, false, false
		o.handed, o.lost = false, false
		o.between = o.between && o.accountID == gp.goid // the time between two requests goes on
		o.spared = o.exempt.Load() > 0 && o.exemptID == gp.goid || isSystemGoroutine(gp, false)
		o.debt, o.spent, o.stretch, o.guest = 0, 0, 0, 0
		o.charged, o.since, o.entered = growth, now-growth, now
	}
	return o
}

// charge brings the debt up to date.
func (o *otelprofG) charge(growth int64) {
	if o.in == 0 {
		o.debt += growth - o.charged
	}
	o.charged = growth
}

// activate begins to count a goroutine that runs the region.
func (o *otelprofG) activate(x *otelprofExperiment) {
	now, growth, ok := x.enter()
	o.active, o.entered, o.charged = ok, now, growth
}

// deactivate ends that.
func (o *otelprofG) deactivate(x *otelprofExperiment) (now, growth int64) {
	now, growth = x.leave()
	o.active = false
	if mp := getg().m; o.running && mp.p != 0 {
		mp.p.ptr().otelprof.ahead += (now - o.entered) * x.speedup / 1000
	}
	return now, growth
}

// close books n ends of the region.
func (o *otelprofG) close(x *otelprofExperiment, n uint32, now, growth int64) (int64, int64) {
	if o.in == 0 {
		return now, growth
	}
	if o.in -= min(n, o.in); o.in == 0 {
		if o.active {
			now, growth = o.deactivate(x)
		}
		o.charged = growth
	}
	return now, growth
}

// settleEnds books the ends that other goroutines have seen.
func (o *otelprofG) settleEnds(x *otelprofExperiment, now, growth int64) (int64, int64) {
	if o.ended.Load() == 0 {
		return now, growth
	}
	return o.close(x, o.ended.Swap(0), now, growth)
}
