package replay

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// split has goroutines take one of several locks in the place of one: any, as if by what they work on. In turn they would keep out of each
// other's way.
func (p *program) split(pattern string, into int) (*program, bool) {
	x := p.rewritten()
	parts := map[int32][]int32{}
	for _, object := range slices.Sorted(maps.Keys(p.objectsAt(pattern))) {
		o := p.objects[object]
		if o.kind != objectMutex && o.kind != objectRWMutex {
			continue
		}
		o.held, o.readers = false, 0
		parts[object] = []int32{object}
		for range into - 1 {
			parts[object] = append(parts[object], int32(len(x.objects)))
			x.objects = append(x.objects, o)
		}
	}
	which := rand.New(rand.NewPCG(1, 2)) // the same recording gives the same answer
	for i := range x.lists {
		held := map[int32]int32{} // the part that the goroutine has taken, by lock
		for k := range x.lists[i].ops {
			o := &x.lists[i].ops[k]
			all, ok := parts[o.arg]
			switch o.kind {
			case opLock, opWriteLock, opReadLock:
				if ok {
					held[o.arg] = all[which.IntN(len(all))]
					o.arg = held[o.arg]
				}
			case opUnlock, opWriteUnlock, opReadUnlock:
				if part, taken := held[o.arg]; ok && taken {
					delete(held, o.arg)
					o.arg = part
				}
			}
		}
	}
	return x, len(parts) > 0
}

// roomier gives channels another capacity, and pools another number of elements.
func (p *program) roomier(pattern string, room int) (*program, bool) {
	x := p.rewritten()
	found := false
	for object := range p.objectsAt(pattern) {
		o := &x.objects[object]
		if o.kind != objectChan || o.inferred {
			continue
		}
		room := int32(min(room, unlimited))
		if held, ok := p.pools(object); ok { // a trace of stock Go does not show the capacity of what is never found full
			if more := room - o.count - held; more >= 0 {
				o.count += more
			} else {
				fewer := min(o.count, -more)
				o.count -= fewer
				o.owed = -more - fewer
			}
		}
		o.capacity = room
		found = true
	}
	return x, found
}

// pools reports whether a channel has what goroutines take and give back, as the connections of a pool: each goroutine sends about as
// many elements as it receives, and waits for elements, never for room. Held is how many are taken when the window begins.
func (p *program) pools(object int32) (held int32, ok bool) {
	for i := range p.lists {
		l := &p.lists[i]
		var out, most int32 // how many more elements it has given than taken, by now and at most
		for k := range l.ops {
			o := &l.ops[k]
			if o.arg != object {
				continue
			}
			switch o.kind {
			case opReceive:
				out--
				ok = ok || o.site > 0
			case opSend:
				if out++; o.site > 0 {
					return 0, false
				}
				most = max(most, out)
			}
		}
		if out < -1 || out > 1 {
			return 0, false
		}
		held += most
	}
	return held, ok
}
