package model

import (
	"strings"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A trace of stock Go has only the waits that happened, and which goroutine ended each. Where these
// show that goroutines share one lock or channel, it is put in their place as an object: goroutines
// that wait there are served in order of arrival, which may differ from the recording's, and an
// element cannot be received before it is sent.

// A Handover is a wait that another goroutine ended.
type Handover struct {
	Waiter, Waker Place
	From, At      int64
	Taken         bool // the waiter was sending, and the waker received
}

// Grouped returns the numbers below n by their key, groups in the order of their first members.
func Grouped[K comparable](n int, key func(i int32) K) [][]int32 {
	at := map[K]int{}
	var groups [][]int32
	for i := range int32(n) {
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
// not known.
func Direction(r *trace.Recording, site int32) OpKind {
	for i, f := range r.Sites[site].Frames {
		switch {
		case i > 2:
			return OpWake
		case strings.HasPrefix(f.Func, "runtime.chansend"), f.Func == "runtime.selectnbsend":
			return OpSend
		case strings.HasPrefix(f.Func, "runtime.chanrecv"), f.Func == "runtime.selectnbrecv":
			return OpReceive
		case f.Func == "runtime.closechan":
			return OpWake
		}
	}
	return OpWake
}

// Unlimited is the capacity of a channel that nothing was seen to fill.
const Unlimited = 1 << 30

// A Union keeps disjoint sets.
type Union struct{ parent []int32 }

// NewUnion returns n sets of one element each.
func NewUnion(n int) *Union {
	u := &Union{make([]int32, n)}
	u.Reset()
	return u
}

// Reset makes it as many sets as elements.
func (u *Union) Reset() {
	for i := range u.parent {
		u.parent[i] = int32(i)
	}
}

// Find returns the element that stands for the set of i.
func (u *Union) Find(i int32) int32 {
	for u.parent[i] != i {
		u.parent[i] = u.parent[u.parent[i]]
		i = u.parent[i]
	}
	return i
}

// Join makes two sets one.
func (u *Union) Join(a, b int32) { u.parent[u.Find(a)] = u.Find(b) }
