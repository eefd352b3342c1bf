package model

import (
	"strings"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A trace of stock Go has only the waits that happened, and which goroutine ended each. Where these
// show that goroutines share one lock or channel, it is put in their place as an object: goroutines
// that wait there are served in order of arrival, which may differ from the recording's, and an
// element cannot be received before it is sent.
//
// Order of arrival (first come, first served) is what the runtime does: waiting senders and
// receivers of a channel are in a queue (runtime/chan.go, sendq and recvq), goroutines that wait
// for a semaphore, and so for a lock, too (runtime/sema.go). So waits that end out of order are of
// several objects: packages infer and hidden hold that against the recording, and TestInTurn their
// count. What no goroutine waited for is not seen: an object that would become the bottleneck of a
// faster program is missing, and the answer then is too high. Package doubt bounds it.

// A Handover is a wait that another goroutine ended.
type Handover struct {
	Waiter, Waker Place // the OpWait, or what is in its place, and the OpWake
	From, At      int64 // when the wait began and ended, ns on the recording's clock
	Taken         bool  // the waiter was sending, and the waker received
}

// Numbers returns the numbers below n, in order.
func Numbers(n int) []int32 {
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// Grouped returns numbers by their key, groups in the order of their first members, and each in the
// order of all. So nothing depends on the order of a map: the same recording has the same answer.
func Grouped[K comparable](all []int32, key func(i int32) K) [][]int32 {
	at := map[K]int{}
	var groups [][]int32
	for _, i := range all {
		k := key(i)
		g, ok := at[k]
		if !ok {
			g = len(groups)
			at[k] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// Direction returns what a waker did with a channel: send or receive; OpWake if that is neither or
// not known. A receive from a full channel wakes a sender, so that the kind of wait alone does not
// show which way an element went. The function is one of the three innermost frames: chansend1
// calls chansend, which calls send, and some of these are inlined. A select statement with one case
// and a default is selectnbsend or selectnbrecv (runtime/chan.go); one with several cases is
// selectgo for both directions, which is not known. A close wakes all, and gives no element; its
// innermost frame is the caller of closechan, see [trace.Site.Closes].
func Direction(s trace.Site) OpKind {
	for i, f := range s.Frames {
		switch {
		case i > 2:
			return OpWake
		case strings.HasPrefix(f.Func, "runtime.chansend"), f.Func == "runtime.selectnbsend":
			return OpSend
		case strings.HasPrefix(f.Func, "runtime.chanrecv"), f.Func == "runtime.selectnbrecv":
			return OpReceive
		}
	}
	return OpWake
}

// Unlimited is the capacity of a channel that nothing was seen to fill, and the limit of a batch
// that has none: more elements than a replay can have. Half of the range of int32 is left above it,
// so that a few more can be added without overflow.
const Unlimited = 1 << 30

// A Union keeps disjoint sets (union-find, with path halving and without ranks): some log n steps
// for each call, on average.
type Union struct{ parent []int32 }

// NewUnion returns n sets of one element each.
func NewUnion(n int) *Union { return &Union{Numbers(n)} }

// Reset makes it as many sets as elements.
func (u *Union) Reset() {
	for i := range u.parent {
		u.parent[i] = int32(i)
	}
}

// Find returns the element that stands for the set of i, until the next call of Join. It changes
// the sets' inner form, so that two goroutines must not call it at once.
func (u *Union) Find(i int32) int32 {
	for u.parent[i] != i {
		u.parent[i] = u.parent[u.parent[i]]
		i = u.parent[i]
	}
	return i
}

// Join makes two sets one. The element that stands for b's set stands for both.
func (u *Union) Join(a, b int32) { u.parent[u.Find(a)] = u.Find(b) }
