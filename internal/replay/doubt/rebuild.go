package doubt

import (
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
)

// Split has goroutines take one of several locks in the place of one: any, as if by what they work
// on. In turn they would keep out of each other's way.
func Split(p *model.Program, pattern string, into int) (*model.Program, bool) {
	x := p.Rewritten()
	parts := map[int32][]int32{}
	for _, object := range slices.Sorted(maps.Keys(p.ObjectsAt(pattern))) {
		o := p.Objects[object]
		if o.Kind != model.ObjectMutex && o.Kind != model.ObjectRWMutex {
			continue
		}
		o.Held, o.Readers = false, 0
		parts[object] = []int32{object}
		for range into - 1 {
			parts[object] = append(parts[object], int32(len(x.Objects)))
			x.Objects = append(x.Objects, o)
		}
	}
	which := rand.New(rand.NewPCG(1, 2)) // the same recording gives the same answer
	for i := range x.Lists {
		held := map[int32]int32{} // the part that the goroutine has taken, by lock
		for k := range x.Lists[i].Ops {
			o := &x.Lists[i].Ops[k]
			all, ok := parts[o.Arg]
			switch o.Kind {
			case model.OpLock, model.OpWriteLock, model.OpReadLock:
				if ok {
					held[o.Arg] = all[which.IntN(len(all))]
					o.Arg = held[o.Arg]
				}
			case model.OpUnlock, model.OpWriteUnlock, model.OpReadUnlock:
				if part, taken := held[o.Arg]; ok && taken {
					delete(held, o.Arg)
					o.Arg = part
				}
			}
		}
	}
	return x, len(parts) > 0
}

// Roomier gives channels another capacity, and pools another number of elements.
func Roomier(p *model.Program, pattern string, room int) (*model.Program, bool) {
	x := p.Rewritten()
	found := false
	for object := range p.ObjectsAt(pattern) {
		o := &x.Objects[object]
		if o.Kind != model.ObjectChan || o.Inferred {
			continue
		}
		room := int32(min(room, model.Unlimited))
		if held, ok := pools(p, object); ok { // a trace of stock Go does not show the capacity of what is never found full
			if more := room - o.Count - held; more >= 0 {
				o.Count += more
			} else {
				fewer := min(o.Count, -more)
				o.Count -= fewer
				o.Owed = -more - fewer
			}
		}
		o.Capacity = room
		found = true
	}
	return x, found
}

// pools reports whether a channel has what goroutines take and give back, as the connections of a
// pool: each goroutine sends about as many elements as it receives, and waits for elements, never
// for room. Held is how many are taken when the window begins.
func pools(p *model.Program, object int32) (held int32, ok bool) {
	for i := range p.Lists {
		l := &p.Lists[i]
		var out, most int32 // how many more elements it has given than taken, by now and at most
		for k := range l.Ops {
			o := &l.Ops[k]
			if o.Arg != object {
				continue
			}
			switch o.Kind {
			case model.OpReceive:
				out--
				ok = ok || o.Site > 0
			case model.OpSend:
				if out++; o.Site > 0 {
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
