package replay

// A channel may be made for one request, and keep elements that nothing receives: the answers of replicas that come once a quorum
// has been reached. Where a list begins anew in the replay, so do the channels of its requests: what is left in them is of requests before.

// findLeft finds the channels that keep elements. Only a goroutine that begins anew, and its child goroutines, use them, and each has room for all that
// is sent to it: one that lasts has had more elements than that.
func (p *program) findLeft() {
	type uses struct {
		sends, receives int32
		by              int32 // the list that begins anew, none if there are several
	}
	all := make([]uses, len(p.objects))
	for l := range p.lists {
		p.rec.restsAt(l)
		for k := range p.lists[l].ops {
			o := &p.lists[l].ops[k]
			if o.kind != opSend && o.kind != opReceive {
				continue
			}
			x := &all[o.arg]
			by := p.repeats(place{int32(l), int32(k)})
			if x.sends+x.receives > 0 && by != x.by {
				by = none
			}
			x.by = by
			if o.kind == opSend {
				x.sends++
			} else {
				x.receives++
			}
		}
	}
	for i := range all {
		x, o := &all[i], &p.objects[i]
		if x.by != none && x.sends > x.receives && x.sends <= o.capacity && o.count == 0 && !o.inferred && !p.cases[int32(i)] {
			p.lists[x.by].leaves = append(p.lists[x.by].leaves, int32(i))
		}
	}
}

// repeats returns the list that does an op again when it begins anew: its own, or the one that starts its goroutine; none for one that is not done again.
func (p *program) repeats(at place) int32 {
	for {
		l := &p.lists[at.list]
		switch {
		case l.serves >= 0:
			return none
		case l.to > 0 && at.op >= l.from && at.op < l.to:
			return at.list
		case l.to > 0 || !l.born || l.spawned.list < 0:
			return none
		}
		at = l.spawned
	}
}

// clear empties the channels of the requests that a list has made, except channels that goroutines wait for.
func (s *simulation) clear(list int32) {
	for _, i := range s.p.lists[list].leaves {
		if b := &s.objects[i]; b.queue.len() == 0 && b.others.len() == 0 {
			b.begin(&s.p.objects[i])
		}
	}
}
