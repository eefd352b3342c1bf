package model

import (
	"slices"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Timers and the network are looked at when a processor looks for what to run next. While all of
// them compute, a goroutine whose time has come is woken when the first is free, and its wait is
// recorded longer than it was (timer latency under load). The network is not looked at even then
// while goroutines are ready, but each 10 ms by the runtime's monitor, which has no processor. In a
// replay in which a processor is free before, it would still wait for so long.
//
// The order is that of findRunnable in runtime/proc.go: timers of this processor, run queues, the
// network, other processors' goroutines and timers. The monitor is sysmon in the same file: it
// looks at the network if that has not been done for 10 ms. Example of one processor, in ms:
//
//	goroutine A   | waits for a timer                 | is ready
//	goroutine B   | computes                          | is stopped
//	              0                     3 over        5 found out
//
// The wait was over at any time from when the processor was given to B, at 0, to 5: it was 0 to 5
// ms long. One wait does not show how long. All waits at the site do, if they ask for the same
// time: the shortest were found out at once. Where they do not, the middle of that range is off by
// half of it at most, and by nothing on average if all times are as likely. TestOverdue,
// TestOverdueMonitored and TestOverdueAlways hold these three.

const (
	// Swapping is how long a processor may be without a goroutine between two of them, ns: the
	// scheduler's own time, and that of a thread that has to wake up. Without anything for longer
	// it counts as idle, and would have looked.
	Swapping = 50_000
	// leastOverdue is how long a wait must have been over for that to matter, ns. A smaller one has
	// more waits corrected by less than timers scatter anyway.
	leastOverdue = 200_000
)

// An overdue wait may have been over for some time.
type overdue struct {
	at     Place
	ended  int64 // when it was found out, which also shows that the op is still that one
	before int64 // for so long it may have been over, at most, ns; at most the whole wait
}

// polled reports whether a wait ends when a processor looks: for a timer, or for the network.
func polled(o *Op) bool { return o.Reason == trace.WaitTimer || o.Reason == trace.WaitNetwork }

// Full follows whether all processors run goroutines: before is how many did before the event at a
// time. Call it behind each event. A processor that is without a goroutine for less than Swapping
// goes from one to the next, and has not been idle.
func (m *Machine) Full(before int, at int64) {
	switch {
	case before >= m.procs && m.idle():
		m.short = at
	case before < m.procs && !m.idle() && at-m.short > Swapping:
		m.free = at
	}
}

// noteOverdue notes that a wait was found to be over when a processor had been busy, and all others
// were.
func (b *Builder) noteOverdue(g, op int32, e *trace.Event) {
	o := &b.P.Lists[g].Ops[op]
	if o.Kind != OpOut || !polled(o) {
		return
	}
	if e.Arg == 0 && o.Reason != trace.WaitNetwork { // the monitor looks at the network alone
		return
	}
	// From is the last look at which the wait was not over. For the network that is the last one
	// that found something, and goroutines that are woken together are of one look. For a timer it
	// is when its processor was given to a goroutine.
	m, from := b.Machine(g), int64(0)
	if o.Reason == trace.WaitNetwork {
		if e.At-m.poll > Swapping {
			m.pollBefore = m.poll
		}
		m.poll, from = e.At, m.pollBefore
	} else {
		from = b.given[e.Arg-1]
	}
	// An idle processor sleeps in the poller, until the very next timer or packet.
	if m.idle() && e.At-m.short > Swapping {
		return
	}
	before := min(o.D, e.At-max(from, m.free))
	if before > leastOverdue {
		b.overdue = append(b.overdue, overdue{Place{g, op}, e.At, before})
	}
}

// soonest is which part of the waits at one place is as short as was asked for. Where all
// processors are busy nearly all waits are found to be over late, so that a larger part would be
// longer than that by this part of the time in which processors are busy.
const soonest = 0.01

// Punctual ends overdue waits when they were over: at one place in the program always after the
// same time, if that may be, or else in the middle of the time in which that may have been. It
// shortens ops in place, and must come before anything that moves ops.
func (b *Builder) Punctual() {
	shortest := map[int32][]int64{} // waits by site
	for _, o := range b.P.All() {
		if o.Kind == OpOut && polled(o) {
			shortest[o.Site] = append(shortest[o.Site], o.D)
		}
	}
	// Waits that have become an operation's are no longer there, or are something else by now.
	least := map[int32][]int64{} // what they were at least
	all := slices.DeleteFunc(b.overdue, func(x overdue) bool {
		ops := b.P.Lists[x.at.List].Ops
		return int(x.at.Op) >= len(ops) || ops[x.at.Op].Kind != OpOut || ops[x.at.Op].At != x.ended
	})
	for _, x := range all {
		o := b.P.Op(x.at)
		least[o.Site] = append(least[o.Site], o.D-x.before)
	}
	for site := range least {
		slices.Sort(shortest[site])
		slices.Sort(least[site])
	}
	// At a site that always asks for the same time hardly any wait can have been longer at least
	// than the shortest waits were in all: 19 of 20 must agree.
	for _, x := range all {
		o := b.P.Op(x.at)
		asked := shortest[o.Site][int(soonest*float64(len(shortest[o.Site])))]
		if v := least[o.Site]; v[len(v)*19/20] > asked+Swapping { // it varies
			o.D -= x.before / 2
			continue
		}
		o.D = max(o.D-x.before, min(o.D, asked))
	}
}
