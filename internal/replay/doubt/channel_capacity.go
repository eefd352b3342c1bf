package doubt

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Each channel of Go has limited room. A stock trace shows that where a sender has waited for it;
// of a channel that was never full it shows nothing. A goroutine that sends there faster than the
// others receive may have to wait (backpressure), and in the long run has to. How soon, is not
// known, so that the truth is between channels that hold any number of elements and channels that
// hold no more than they did.
//
// In Go's runtime, chansend in runtime/chan.go waits (gopark) only if no receiver waits and qcount
// has come to dataqsiz, the capacity. A trace has an event of that wait, and none of dataqsiz.
// TestConfine in package replay has a dispatcher with two subscribers, which take 4 and 3 ms. If
// the first takes 1 ms, room without end brings 75 %, and no more room than was used 25 %.
//
// An unbuffered channel holds one element here, not none: its sender may be one element ahead. A
// send among several cases of a select statement is made by runtime.selectgo, where the stack does
// not show whether it was a send. Such a channel is not confined, and the answer not bounded.

// Confine gives channels of which it is not known how much room they have as much as was used, and
// reports whether there are any. It changes p in place. Where only the waits of a channel are
// known, and no object, it adds an object for each goroutine that waits to receive, or that has a
// sender wait: with room for one element, who wakes another must wait until the element before is
// taken.
func Confine(p *model.Program) bool {
	sends, takes, free := channelWakes(p)
	used := used(p)
	found := false
	for i := range p.Objects {
		if o := &p.Objects[i]; o.Kind == model.ObjectChan && o.Capacity == model.Unlimited && !free[i] {
			o.Capacity = max(1, used[i])
			found = true
		}
	}
	// Waits for tokens are of channels that were not found to be one object. The wake-up becomes a
	// send, and the wait a receive, in a channel of the receiver's own. In the recording the
	// receiver came first each time, so that the send never waits in the replay of nothing changed.
	type receiver struct{ list, site int32 }
	objects := map[receiver]int32{}
	of := func(list, site, there int32) int32 {
		object, ok := objects[receiver{list, site}]
		if !ok {
			object = int32(len(p.Objects))
			p.Objects = append(p.Objects, model.ObjectInfo{Kind: model.ObjectChan, Capacity: 1, Count: there, Inferred: true, Site: site})
			objects[receiver{list, site}] = object
		}
		return object
	}
	for at, o := range p.All() {
		if o.Kind != model.OpWait {
			continue
		}
		switch send, take := sends[o.Arg], takes[o.Arg]; {
		case send.List >= 0:
			other := p.Op(send)
			o.Kind, other.Kind = model.OpReceive, model.OpSend
			o.Arg, o.D, other.D = of(at.List, o.Site, 0), 0, 0
			other.Arg = o.Arg
			found = true
		case take.List >= 0: // it is full: one element is there before the sender waits
			other := p.Op(take)
			o.Kind, other.Kind = model.OpSend, model.OpReceive
			o.Arg, o.D, other.D = of(take.List, o.Site, 1), 0, 0
			other.Arg = o.Arg
			found = true
		}
	}
	return found
}

// channelWakes returns, by token, the wake-ups by senders and by receivers, in list -1 for none,
// and which inferred channels have sends that never wait for room. These are select statements with
// a default, and also locks and the like, which are inferred as channels and have no capacity.
func channelWakes(p *model.Program) (sends, takes []model.Place, free []bool) {
	sends, takes, free = model.Nowhere(int(p.Tokens)), model.Nowhere(int(p.Tokens)), make([]bool, len(p.Objects))
	blocking, selects := trace.BySite(p.Rec.Sites, sendsTo), trace.BySite(p.Rec.Sites, selects)
	for at, o := range p.All() {
		switch o.Kind {
		case model.OpWake:
			switch {
			case blocking[o.Site]:
				sends[o.Arg] = at
			case model.Direction(p.Rec.Sites[o.Site]) == model.OpReceive:
				takes[o.Arg] = at
			}
		case model.OpSend:
			free[o.Arg] = free[o.Arg] || p.Objects[o.Arg].Inferred && !blocking[o.Site] && !selects[o.Site]
		}
	}
	return sends, takes, free
}

// sendsTo reports whether a site is where an element is sent to a channel, and would wait for room.
// A select statement with a default and one other case, a send, is compiled to
// runtime.selectnbsend, see walk/select.go of cmd/compile. It never waits.
func sendsTo(s trace.Site) bool { return model.Direction(s) == model.OpSend && !s.Offers() }

// selects reports whether a site is in a select statement of several cases (runtime.selectgo),
// which may wait for room: such as a send that gives up when a context ends. One with a default
// does not wait, and is not known from it; for a bound it counts as one that does.
func selects(s trace.Site) bool { return len(s.Frames) > 0 && s.Frames[0].Func == "runtime.selectgo" }

// used returns how many elements there were in each channel at most, by object, since the first
// operation. It takes n log n of the operations.
func used(p *model.Program) []int32 {
	type change struct {
		at int64
		by int32
	}
	all := make([][]change, len(p.Objects))
	for _, o := range p.All() {
		switch o.Kind {
		case model.OpSend:
			all[o.Arg] = append(all[o.Arg], change{o.At, 1})
		case model.OpReceive:
			all[o.Arg] = append(all[o.Arg], change{o.At, -1})
		}
	}
	most := make([]int32, len(p.Objects))
	for i := range all {
		// An element that comes as another one goes takes its place: receives come first.
		slices.SortFunc(all[i], func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
		now := p.Objects[i].Count
		for _, c := range all[i] {
			now += c.by
			most[i] = max(most[i], now)
		}
	}
	return most
}
