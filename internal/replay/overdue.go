package replay

import "slices"

// Timers and the network are looked at when a processor looks for what to run next. While all of them compute, a goroutine whose
// time has come is woken when the first is free, and its wait is recorded longer than it was. The network is not looked at even then while goroutines
// are ready, but each 10 ms by the runtime's monitor, which has no processor. In a replay in which a processor is free before, it would still wait
// for so long.

const (
	// swapping is how long a processor may be without a goroutine between two of them, ns.
	swapping = 50_000
	// leastOverdue is how long a wait must have been over for that to matter, ns.
	leastOverdue = 200_000
)

// An overdue wait may have been over for some time.
type overdue struct {
	at     place
	ended  int64
	before int64 // for so long, at most
}

// polled reports whether a wait ends when a processor looks: for a timer, or for the network.
func polled(o *op) bool { return o.reason == waitTimer || o.reason == waitNetwork }

// full follows whether all processors run goroutines.
func (b *builder) full(before int, at int64) {
	switch procs := b.p.rec.Procs; {
	case before >= procs && b.running < procs:
		b.short = at
	case before < procs && b.running >= procs && at-b.short > swapping:
		b.free = at
	}
}

// noteOverdue notes that a wait was found to be over when a processor had been busy, and all others were.
func (b *builder) noteOverdue(g, op int32, e *event) {
	o := &b.p.lists[g].ops[op]
	if o.kind != opOut || !polled(o) {
		return
	}
	if e.arg == 0 && o.reason != waitNetwork { // the monitor looks at the network alone
		return
	}
	from := int64(0)
	if o.reason == waitNetwork {
		if e.at-b.poll > swapping {
			b.pollBefore = b.poll
		}
		b.poll, from = e.at, b.pollBefore
	} else {
		from = b.given[e.arg-1]
	}
	if b.running < b.p.rec.Procs && e.at-b.short > swapping {
		return
	}
	before := min(o.d, e.at-max(from, b.free))
	if before > leastOverdue {
		b.overdue = append(b.overdue, overdue{place{g, op}, e.at, before})
	}
}

// soonest is which part of the waits at one place is as short as was asked for. Where all processors are busy nearly all waits are found to be over
// late, so that a larger part would be longer than that by this part of the time in which processors are busy.
const soonest = 0.01

// punctual ends overdue waits when they were over: at one place in the program always after the same time, if that may be, or else
// in the middle of the time in which that may have been.
func (b *builder) punctual() {
	shortest := map[int32][]int64{} // waits by site
	for l := range b.p.lists {
		for k := range b.p.lists[l].ops {
			if o := &b.p.lists[l].ops[k]; o.kind == opOut && polled(o) {
				shortest[o.site] = append(shortest[o.site], o.d)
			}
		}
	}
	least := map[int32][]int64{} // what they were at least
	all := slices.DeleteFunc(b.overdue, func(x overdue) bool {
		ops := b.p.lists[x.at.list].ops
		return int(x.at.op) >= len(ops) || ops[x.at.op].kind != opOut || ops[x.at.op].at != x.ended
	})
	for _, x := range all {
		o := b.p.op(x.at)
		least[o.site] = append(least[o.site], o.d-x.before)
	}
	for site := range least {
		slices.Sort(shortest[site])
		slices.Sort(least[site])
	}
	for _, x := range all {
		o := b.p.op(x.at)
		asked := shortest[o.site][int(soonest*float64(len(shortest[o.site])))]
		if v := least[o.site]; v[len(v)*19/20] > asked+swapping { // it varies
			o.d -= x.before / 2
			continue
		}
		o.d = max(o.d-x.before, min(o.d, asked))
	}
}
