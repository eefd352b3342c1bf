package model

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

// RoundEnds returns the op with which what a list does again and again is over, at or behind an op.
// The list must have rounds, and the op stand before To: the last round ends with op To-1.
func (l *List) RoundEnds(from int32) int32 {
	n, _ := slices.BinarySearch(l.Rounds, from)
	return l.Rounds[n]
}

// ServeAgain has a connection begin anew with its first request behind its last answer. A list with
// fewer than two requests stays as it is: there is nothing to begin anew with.
func (l *List) ServeAgain() {
	is := func(o Op) bool { return o.Kind == OpServe }
	first, last := slices.IndexFunc(l.Ops, is), len(l.Ops)-1
	for last > first && !is(l.Ops[last]) {
		last--
	}
	if last > first {
		l.From, l.To, l.Rounds, l.Visits = int32(first)+1, int32(last)+1, nil, true
	}
}

// LockBefore returns the op that gives a lock back right before the wait that ends with op k, -1
// for none. It is the lock of a condition variable: sync.Cond.Wait unlocks c.L, waits, and locks it
// again, which stands in the list as
//
//	OpUnlock, OpWait, OpAwait (op k), OpLock
//
// with computing and wake-ups in between, and without OpWait where the signal came before.
func (l *List) LockBefore(k int) int { return l.beside(k, -1, OpUnlock) }

// Awaits returns the mark of a wait for a condition variable right behind op k, -1 for none.
func (l *List) Awaits(k int) int { return l.beside(k, 1, OpAwait) }

// beside returns the op of a kind right behind op k, or before it with step -1, but for computing,
// wake-ups and waits; -1 for none.
func (l *List) beside(k, step int, kind OpKind) int {
	for k += step; k >= 0 && k < len(l.Ops); k += step {
		switch l.Ops[k].Kind {
		case kind:
			return k
		case OpRun, OpWake, OpWait:
		default:
			return -1
		}
	}
	return -1
}

// Pass has an op do nothing, and forget what it was. It remains as a place where a list may begin
// anew.
func (o *Op) Pass() { *o = Op{Kind: OpRun, At: o.At, Set: o.Set, Free: o.Free, Loose: o.Loose} }

// works reports whether a goroutine does more than to let others go on, or note that. To compute
// for AtOnce in all is not work: a context's cancellation walks its children.
func (l *List) works() bool {
	took := int64(0)
	return slices.ContainsFunc(l.Ops, func(o Op) bool {
		if o.Kind == OpRun {
			took += o.D
		}
		return took > AtOnce || o.Kind == OpOut || o.Kind == OpOpen || o.Kind == OpVisit
	})
}

// SiteOf returns where the op at a place was done.
func (p *Program) SiteOf(at Place) int32 { return p.Lists[at.List].Ops[at.Op].Site }

// FirstAt returns how far behind an op the first one is that was over at a time or later; what is
// left of the list if there is none. Ops must be in order of At, as the builder writes them: log n.
func (l *List) FirstAt(from int32, at int64) int32 {
	n, _ := slices.BinarySearchFunc(l.Ops[from:], at, func(o Op, at int64) int { return cmp.Compare(o.At, at) })
	return int32(n)
}

// Pauses reports whether an op may be a pause.
func (o *Op) Pauses() bool { return o.Site != 0 && o.D >= leastPause && o.Timed() }

// leastPause is how long a wait for a timer must be to be a pause, ns. Shorter ones are as long as
// a timer is late, or a processor takes to wake up: nothing that a program would choose.
const leastPause = 50_000

// OpKind is what a goroutine does next.
type OpKind uint8

// The kinds of ops. All from OpLock on that wait have an object as their argument, but OpChoose and
// OpGather; ObjectsAt depends on that order. The files that are named are of package cond.
const (
	OpRun   OpKind = iota // compute for d, on a processor
	OpOut                 // wait for d for something outside: a timer, the network, a system call
	OpDue                 // wait until the next time of timetable arg
	OpWait                // wait for token arg
	OpWake                // give token arg
	OpSpawn               // start list arg
	OpVisit               // visit progress point arg
	OpOpen                // span arg begins
	OpClose               // span arg ends
	OpLock                // of object arg, and so on
	OpUnlock
	OpWriteLock
	OpWriteUnlock
	OpReadLock
	OpReadUnlock
	OpAdd // d to a wait group
	OpJoin
	OpSend    // gives an element, after d
	OpReceive // takes one
	OpMeet    // wait until as many are there as the object has room for
	OpChoose  // comes to a select statement, see choice
	OpAwait   // marks a wait for condition variable arg, behind it
	OpSignal  // marks a signal to condition variable arg
	OpPace    // ask rate limiter arg
	OpWrite   // marks that something is written to the network
	OpGather  // wait until the goroutines that this one has started are over, except for arg
	OpTicket  // take a number, see tickets.go
	OpTurn    // wait until those with lower numbers have gone on
	OpNext    // have the next number go on
	OpAsk     // wait for the answer of a batcher, see batches.go
	OpTake    // take those who wait for that
	OpAnswer  // let the goroutines that were taken go on
	OpOffer   // gives an element if there is room, as in a select with a default that found none
	// OpServe is where an answer is there: its client comes again after d, to any goroutine that
	// waits here. It waits for one of them.
	OpServe
	// OpKinds is the number of kinds. Package sim has instructions behind it.
	OpKinds
)

// An Op is one step of a list. Its set is the regions that are open while it lasts, see
// Program.Sets. The fields have several meanings:
//
//	kind                  D                               Arg
//	OpRun                 computing, ns                   0
//	OpOut                 wait, ns                        0
//	OpDue                 wait in the recording, ns       timetable
//	OpWait                wait in the recording, ns       token
//	OpWake                0                               token
//	OpSpawn               0                               list
//	OpVisit               0                               progress point
//	OpOpen, OpClose       0                               span
//	OpLock and its kin    wait in the recording, ns       object
//	OpAdd                 change of the count             object
//	OpSend, OpReceive     when it began, until package    object
//	                      infer has matched them; then
//	                      the delay on the way, ns
//	OpTake                size of the recorded batch      object
//	OpServe               think time of the client, ns    object
//	OpChoose              0                               choice, once settled; none for no choice
//	OpGather              0                               how many it goes on without
//	OpWrite               0                               0
//	all others            0                               object
//
// A wait in the recording is for statistics, and shows which token to break in a wait-for cycle:
// the shortest. How long it takes in a replay is decided there.
type Op struct {
	D    int64
	At   int64 // when it was over in the recording, ns on its clock; in order within a list
	Arg  int32
	Site int32 // where the goroutine waited, or wakes another one; 0 for not known, or no wait
	// Late is how long after it need not wait any more the goroutine ran, ns; -1 where the
	// recording does not show how long that takes when a processor is idle. Until Builder.Settle
	// there are codes below -1 for censored times, see lateCensored.
	Late int32
	// Segment is, of a send, where the work of the element is, and of a receive which element it
	// got: see Program.Segments; 0 for none.
	Segment int32
	// Answers is, of a send, which element it answers that was received before; 0 for none. Of a
	// receive it is the token that its goroutine has waited for, from 1, until cond.Batches has
	// looked at that.
	Answers int32
	// Nth is the number of an op that is done once, see package sim, and of a select statement's
	// channels, see Program.Told; 0 for none.
	Nth  int32
	Set  uint16
	Kind OpKind
	// Head is of a receive whose goroutine serves: it goes on with the work of the element that it
	// gets.
	Head bool
	// Tries is of a send or a receive that is given up where it would have to wait.
	Tries bool
	// Drops is of a send that tries: nothing is sent where there is no room.
	Drops bool
	// Free means that behind the op no span is open and no lock is held: the list can begin anew
	// here.
	Free bool
	// Loose means the same but that spans may be open.
	Loose bool
	// Arrives is of a wait for something outside that ends when it did, and not as long after it
	// began: requests of an open loop, whose senders do not wait for answers. See open_loop.go in
	// package infer.
	Arrives bool
	// Once means that the token comes only the first time round, never that it does not come at
	// all: its other side stands before or behind what that list does again and again. Found by
	// recur in package infer.
	Once, Never bool
	// Row is of a receive that select statements follow at once, as where a batch is made.
	Row bool
	// Called is of a wait for a timer that a goroutine ended which the timer had started: a
	// context's deadline, say.
	Called bool
	Reason uint8 // of a wait
}

// A List is what one goroutine did, in order.
type List struct {
	Ops    []Op
	Visits bool // progress points, and begins anew
	// Serves is the object whose elements it works on; -1 for none.
	Serves int32
	// Station is where it works on those of others, too; 0 for none.
	Station int32
	Site    int32 // where it was created, 0 where that is not known
	Born    bool  // in the window
	Begins  beginning
	Ended   bool
	// Gathered means that the goroutine that starts this one waits for its end.
	Gathered bool
	// From is where the list goes on behind op to-1; to is 0 if it ends. A closed loop: the window
	// is over, the program is not. What stands before from is done once.
	From, To int32
	// Rounds are the ops like op to-1, in order: behind each it does the same again.
	Rounds  []int32
	Spawned Place   // by which op
	Leaves  []int32 // channels that it leaves elements in, see findLeft
	Created int64   // when
	// Timed means that a timer has started it, when it did in the recording, called that it works
	// before it wakes others, and set that others set the timer, see afterfunc.go.
	Timed, Called, Set bool
}

// A Place is an op of a list.
type Place struct{ List, Op int32 }

// Has reports whether a list has an op of a kind.
func (l *List) Has(kind OpKind) bool {
	return slices.ContainsFunc(l.Ops, func(o Op) bool { return o.Kind == kind })
}

// Drop takes ops out of a list: as slices.DeleteFunc, which copies each of them. Gone is asked once
// for each op, in order. An op has 56 bytes, and most lists lose ops several times.
func (l *List) Drop(gone func(o *Op) bool) {
	kept := 0
	for k := range l.Ops {
		if gone(&l.Ops[k]) {
			continue
		}
		if kept < k {
			l.Ops[kept] = l.Ops[k]
		}
		kept++
	}
	l.Ops = l.Ops[:kept]
}

// Nothing makes an op one that takes no time, and keeps what else is known of it: which set it is
// of, and whether the list may begin anew there.
func (o *Op) Nothing() { o.Kind, o.D, o.Once, o.Never = OpRun, 0, false, false }

// AwaitsBefore returns the mark of the wait before op k. There must be one.
func (l *List) AwaitsBefore(k int) int {
	k--
	for k > 0 && l.Ops[k].Kind != OpAwait {
		k--
	}
	return k
}

// Op returns the op at a place.
func (p *Program) Op(at Place) *Op { return &p.Lists[at.List].Ops[at.Op] }

// Timed reports whether a timer ended a wait: a sleep, or a receive or a select statement that no
// goroutine ended. Timer channels are sent to on the scheduler's stack, which is no goroutine's.
func (o *Op) Timed() bool {
	return o.Kind == OpOut && (o.Reason == trace.WaitTimer || o.Reason == trace.WaitReceive || o.Reason == trace.WaitSelect)
}

// Merge makes one op of successive ones that compute for the same regions, and drops what computes
// for no time. The later one stays, with both times, since At is when an op was over.
func (l *List) Merge() {
	kept := 0
	for k := range l.Ops {
		o := &l.Ops[k]
		if o.Kind == OpRun {
			if o.D == 0 {
				continue
			}
			if kept > 0 && l.Ops[kept-1].Kind == OpRun && l.Ops[kept-1].Set == o.Set {
				o.D += l.Ops[kept-1].D
				kept--
			}
		}
		if kept < k {
			l.Ops[kept] = *o
		}
		kept++
	}
	l.Ops = l.Ops[:kept]
}

// IsLocking reports whether an op is on a lock.
func (o *Op) IsLocking() bool {
	switch o.Kind {
	case OpLock, OpUnlock, OpWriteLock, OpWriteUnlock, OpReadLock, OpReadUnlock:
		return true
	}
	return false
}
