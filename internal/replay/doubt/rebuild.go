package doubt

import (
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
)

// A question about structure asks what another build would bring: a lock split in several (lock
// striping, sharding), or a pool of another size, of elements or of goroutines. No recording can
// contradict a structure that was not there. So where a doubt would leave bounds alone of a faster
// region, such an answer is withheld.

// Split has goroutines take one of several locks in the place of one: any, as if by what they work
// on. In turn they would keep out of each other's way, and lock striping would look better than it
// is. It returns false if there is no lock where the pattern shows; p is not changed.
//
// Each part is equally likely. Real keys are often not: with one hot key the truth is nearer to one
// lock, and the answer is too high. TestQuestion asks for 64 parts of a lock that two goroutines
// use, and has them wait almost no more.
func Split(p *model.Program, pattern string, into int) (*model.Program, bool) {
	x := p.Rewritten()
	parts := map[int32][]int32{}
	for _, object := range slices.Sorted(maps.Keys(p.ObjectsAt(pattern))) {
		o := p.Objects[object]
		if o.Kind != model.ObjectMutex && o.Kind != model.ObjectRWMutex {
			continue
		}
		// The new parts are free at first. The first part is the lock itself, and is held if that
		// was: its holder gives it back with no lock before in its list.
		o.Held, o.Readers = false, 0
		parts[object] = []int32{object}
		for range into - 1 {
			parts[object] = append(parts[object], int32(len(x.Objects)))
			x.Objects = append(x.Objects, o)
		}
	}
	which := rand.New(rand.NewPCG(1, 2)) // the same recording gives the same answer
	for i := range x.Lists {
		// A goroutine gives back the part that it has taken, by lock. There is one for each lock:
		// sync.RWMutex prohibits recursive read-locking, and a Mutex that another goroutine gives
		// back (a hand-off) gives back the first part, so that the replay may come to a stop.
		held := map[int32]int32{}
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

// Roomier gives channels another capacity, and pools another number of elements. It returns false
// if there is no channel where the pattern shows of which each operation is recorded; p is not
// changed.
//
// A channel as a counting semaphore or a pool has its size in its elements, not in its capacity. A
// pool has idle elements, in the channel, and taken ones. If it shrinks, idle ones go first; what
// is still too much is owed, and swallowed when it is given back. TestPools has a pool of two, of
// which one is idle and one taken:
//
//	room  5  idle 4
//	room  1  idle 0
//	room  0  idle 0, owed 1: what is given back next is not there any more
func Roomier(p *model.Program, pattern string, room int) (*model.Program, bool) {
	x := p.Rewritten()
	found := false
	for object := range p.ObjectsAt(pattern) {
		o := &x.Objects[object]
		if o.Kind != model.ObjectChan || o.Inferred {
			continue
		}
		room := int32(min(room, model.Unlimited))
		// What is no pool keeps the elements that it has, even if these are more than its new room:
		// senders wait until they are taken.
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

// Staffed has another number of goroutines serve channels: workers, which come back to the same
// receive again and again, so that work travels with the elements. Of fewer than in the recording
// as many leave as they come back for one. It returns false if there is no such channel where
// the pattern shows; p is not changed.
func Staffed(p *model.Program, pattern string, number int) (*model.Program, bool) {
	x := p.Rewritten()
	found := false
	for object := range p.ObjectsAt(pattern) {
		o := &x.Objects[object]
		servers := int32(0)
		for i := range x.Lists {
			if l := &x.Lists[i]; l.Serves == object && l.Station == 0 && !l.Born {
				o.Server = int32(i)
				servers++
			}
		}
		if servers > 0 && o.Hires == 0 {
			o.Staff, found = int32(number)-servers, true
		}
	}
	return x, found
}

// pools reports whether a channel has what goroutines take and give back, as the connections of a
// pool: each goroutine sends about as many elements as it receives, and waits for elements, never
// for room. Held is how many are taken when the window begins: a list that has given one more than
// it took had one before. An element that is neither used nor given back in the window is not seen.
// A queue has goroutines that only send, or only receive, and differs by that.
//
// One element more or less is allowed, for one that is out at either end of the window.
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
				if out++; o.Site > 0 { // it waited for room, which a pool always has
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
