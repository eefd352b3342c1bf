package replay

import (
	"cmp"
	"slices"
)

// Each channel of Go has limited room. A stock trace shows that where a sender has waited for it; of a channel that was never
// full it shows nothing. A goroutine that sends there faster than the others receive may have to wait (backpressure), and in the long run has to. How soon, is not
// known, so that the truth is between channels that hold any number of elements and channels that hold no more than they did.

// confine gives channels of which it is not known how much room they have as much as was used, and reports whether there are any.
func (p *program) confine() bool {
	sends, takes, free := p.channelWakes()
	used := p.used()
	found := false
	for i := range p.objects {
		if o := &p.objects[i]; o.kind == objectChan && o.capacity == unlimited && !free[i] {
			o.capacity = max(1, used[i])
			found = true
		}
	}
	type receiver struct{ list, site int32 }
	objects := map[receiver]int32{}
	of := func(list, site, there int32) int32 {
		object, ok := objects[receiver{list, site}]
		if !ok {
			object = int32(len(p.objects))
			p.objects = append(p.objects, objectInfo{kind: objectChan, capacity: 1, count: there, inferred: true, site: site})
			objects[receiver{list, site}] = object
		}
		return object
	}
	for l := range p.lists {
		for k := range p.lists[l].ops {
			o := &p.lists[l].ops[k]
			if o.kind != opWait {
				continue
			}
			switch send, take := sends[o.arg], takes[o.arg]; {
			case send.list >= 0:
				other := p.op(send)
				o.kind, other.kind = opReceive, opSend
				o.arg, o.d, other.d = of(int32(l), o.site, 0), 0, 0
				other.arg = o.arg
				found = true
			case take.list >= 0: // it is full
				other := p.op(take)
				o.kind, other.kind = opSend, opReceive
				o.arg, o.d, other.d = of(take.list, o.site, 1), 0, 0
				other.arg = o.arg
				found = true
			}
		}
	}
	return found
}

// channelWakes returns, by token, the wake-ups by senders and by receivers, and which inferred channels have sends that never wait for
// room.
func (p *program) channelWakes() (sends, takes []place, free []bool) {
	sends, takes = slices.Repeat([]place{{-1, -1}}, int(p.tokens)), slices.Repeat([]place{{-1, -1}}, int(p.tokens))
	blocking := make([]int8, len(p.rec.sites))
	free = make([]bool, len(p.objects))
	for l := range p.lists {
		for k := range p.lists[l].ops {
			switch o := &p.lists[l].ops[k]; o.kind {
			case opWake:
				switch {
				case p.sendsTo(blocking, o.site):
					sends[o.arg] = place{int32(l), int32(k)}
				case p.rec.direction(o.site) == opReceive:
					takes[o.arg] = place{int32(l), int32(k)}
				}
			case opSend:
				if p.objects[o.arg].inferred && !p.sendsTo(blocking, o.site) {
					free[o.arg] = true
				}
			}
		}
	}
	return sends, takes, free
}

// sendsTo reports whether a site is where an element is sent to a channel, and would wait for room.
func (p *program) sendsTo(known []int8, site int32) bool {
	if known[site] == 0 {
		known[site] = -1
		frames := p.rec.sites[site].Frames
		if p.rec.direction(site) == opSend && !slices.ContainsFunc(frames[:min(3, len(frames))], func(f Frame) bool { return f.Func == "runtime.selectnbsend" }) {
			known[site] = 1
		}
	}
	return known[site] > 0
}

// used returns how many elements there were in each channel at most.
func (p *program) used() []int32 {
	type change struct {
		at int64
		by int32
	}
	all := make([][]change, len(p.objects))
	for l := range p.lists {
		for k := range p.lists[l].ops {
			switch o := &p.lists[l].ops[k]; o.kind {
			case opSend:
				all[o.arg] = append(all[o.arg], change{o.at, 1})
			case opReceive:
				all[o.arg] = append(all[o.arg], change{o.at, -1})
			}
		}
	}
	most := make([]int32, len(p.objects))
	for i := range all {
		slices.SortFunc(all[i], func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
		now := p.objects[i].count
		for _, c := range all[i] {
			now += c.by
			most[i] = max(most[i], now)
		}
	}
	return most
}
