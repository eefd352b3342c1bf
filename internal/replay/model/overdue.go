package model

import (
	"slices"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Timers and the network are looked at when a processor looks for what to run next. While all of
// them compute, a goroutine whose time has come is woken when the first is free, and its wait is
// recorded longer than it was. The network is not looked at even then while goroutines are ready,
// but each 10 ms by the runtime's monitor, which has no processor. In a replay in which a processor
// is free before, it would still wait for so long.

const (
	// Swapping is how long a processor may be without a goroutine between two of them, ns.
	Swapping = 50_000
	// leastOverdue is how long a wait must have been over for that to matter, ns.
	leastOverdue = 200_000
)

// An overdue wait may have been over for some time.
type overdue struct {
	at     Place
	ended  int64
	before int64 // for so long, at most
}

// polled reports whether a wait ends when a processor looks: for a timer, or for the network.
func polled(o *Op) bool { return o.Reason == trace.WaitTimer || o.Reason == trace.WaitNetwork }

// Full follows whether all processors run goroutines.
func (b *Builder) Full(before int, at int64) {
	switch procs := b.P.Rec.Procs; {
	case before >= procs && b.Running < procs:
		b.short = at
	case before < procs && b.Running >= procs && at-b.short > Swapping:
		b.free = at
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
	from := int64(0)
	if o.Reason == trace.WaitNetwork {
		if e.At-b.poll > Swapping {
			b.pollBefore = b.poll
		}
		b.poll, from = e.At, b.pollBefore
	} else {
		from = b.given[e.Arg-1]
	}
	if b.Running < b.P.Rec.Procs && e.At-b.short > Swapping {
		return
	}
	before := min(o.D, e.At-max(from, b.free))
	if before > leastOverdue {
		b.overdue = append(b.overdue, overdue{Place{g, op}, e.At, before})
	}
}

// soonest is which part of the waits at one place is as short as was asked for. Where all
// processors are busy nearly all waits are found to be over late, so that a larger part would be
// longer than that by this part of the time in which processors are busy.
const soonest = 0.01

// Punctual ends overdue waits when they were over: at one place in the program always after the
// same time, if that may be, or else in the middle of the time in which that may have been.
func (b *Builder) Punctual() {
	shortest := map[int32][]int64{} // waits by site
	for l := range b.P.Lists {
		for k := range b.P.Lists[l].Ops {
			if o := &b.P.Lists[l].Ops[k]; o.Kind == OpOut && polled(o) {
				shortest[o.Site] = append(shortest[o.Site], o.D)
			}
		}
	}
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
