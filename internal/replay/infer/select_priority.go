package infer

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
)

// A select statement takes any of the cases that are ready, each as likely (pollorder of selectgo
// in runtime/select.go). A program that prefers one channel looks at it alone first:
//
//	select {
//	case x := <-urgent:       // runtime.selectnbrecv: no wait, and no mark if it is empty
//	default:
//		select {
//		case x := <-urgent:
//		case x := <-normal:
//		}
//	}
//
// Where both have elements most of the time this decides who starves (priority queueing): faster
// work on urgent elements helps normal ones, and not the other way round. A recording does not show
// that a channel was found empty. It does show which elements were there when another one was
// taken: with no preference either channel is taken first half of the time, so that 19 of 20 for
// one of them come by chance with a probability of 4 in 100,000.
//
// How many elements a channel had is counted from marks, which are late by up to markedWithin. So
// an element counts as there only if it had been sent for longer than that, and was not taken soon
// after.

const (
	// leastBoth is for how many receives there must have been elements of both channels. With
	// fewer the bound of model.Agreeing is met by chance.
	leastBoth = 20
	// markedWithin is how far the mark of an operation may be from when it took effect, ns. A
	// larger one finds fewer elements there, a smaller one elements that have just been taken.
	markedWithin = 20_000
)

// prefer finds the preferences among channels that one select statement receives from: those of a
// station. Sends and receives must still have in D when they began, and objects what they held at
// first. It sets p.Preferences, for ordered pairs; pairs with too few cases, or without a
// preference, have none. For each pair it takes as many searches as elements were taken.
func prefer(p *model.Program) {
	flows := flowsOf(p)
	// Until is how many of the times, which are in order, are not later than a time.
	until := func(times []int64, at int64) int {
		n, _ := slices.BinarySearchFunc(times, at, func(t, at int64) int { return cmp.Or(cmp.Compare(t, at), -1) })
		return n
	}
	// Both is how often an element of the first was taken while there was one of the second.
	both := func(first, second int32) (n int) {
		other := flows[second]
		for _, at := range flows[first].taken {
			if int(p.Objects[second].Count)+until(other.sends, at-markedWithin)-until(other.receives, at+markedWithin) > 0 {
				n++
			}
		}
		return n
	}
	p.Preferences = map[model.Preference]bool{}
	for _, s := range p.Stations {
		for i, first := range s.Objects {
			for _, second := range s.Objects[i+1:] {
				a, b := both(first, second), both(second, first)
				switch {
				case a+b < leastBoth:
				case float64(a) >= model.Agreeing*float64(a+b):
					p.Preferences[model.Preference{First: first, Second: second}] = true
				case float64(b) >= model.Agreeing*float64(a+b):
					p.Preferences[model.Preference{First: second, Second: first}] = true
				}
			}
		}
	}
}

// A flow is when elements came to a channel, and went, ns, in order. Taken are the receives that
// did not wait.
type flow struct{ sends, receives, taken []int64 }

// flowsOf returns the flows of stations' channels. A receive without a wait has chosen; one that
// waited took what came first.
func flowsOf(p *model.Program) map[int32]*flow {
	flows := map[int32]*flow{}
	for _, s := range p.Stations {
		for _, object := range s.Objects {
			flows[object] = &flow{}
		}
	}
	for _, o := range p.All() {
		f := flows[o.Arg]
		switch {
		case f == nil:
		case o.Kind == model.OpSend && o.Site != 0: // the element was there while its sender waited
			f.sends = append(f.sends, o.D)
		case o.Kind == model.OpSend:
			f.sends = append(f.sends, o.At)
		case o.Kind == model.OpReceive:
			f.receives = append(f.receives, o.At)
			if o.Site == 0 {
				f.taken = append(f.taken, o.At)
			}
		}
	}
	for _, f := range flows {
		slices.Sort(f.sends)
		slices.Sort(f.receives)
	}
	return flows
}
