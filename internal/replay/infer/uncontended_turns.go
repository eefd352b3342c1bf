package infer

import (
	"slices"

	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/hidden"
	"github.com/otelprof/otelprof/internal/replay/model"
)

// Two goroutines that compute for as long each time come to take turns, and never wait for the lock
// that they share. That is not a lock which a goroutine has for itself: once something is faster,
// they meet. Locks of which a goroutine has one by something else, such as those of the connections
// of a pool, show otherwise: behind the same op a goroutine comes once to the one and once to the
// other.
//
//	in turns         A  takes 1 . . . takes 1 . . . takes 1       one lock at this juncture
//	                 B  . . takes 1 . . . takes 1 . . .
//	of connections   A  has 1, takes 1 . has 2, takes 2 . has 1   two locks at this juncture
//	                 B  has 2, takes 2 . has 1, takes 1 . has 2
//
// A goroutine that has one connection as long as it lives takes one lock alone, and its lock stays:
// nothing distinguishes it from the first. It is only its own in the replay, too, so that this
// costs nothing.

// A juncture is where a goroutine comes to one of the locks in question: the nth of them behind an
// op that is done each time.
type juncture struct {
	list   int32
	behind cond.Anchor
	set    uint16
	nth    int32
}

// substituted returns which part of the operations that take each of some locks are where the same
// goroutine takes others, too, in [0, 1], by object, of those at junctures that it often comes to;
// 0 for a lock without any. Locks has the ones in question. All lists are read once.
func substituted(p *model.Program, locks []bool) []float64 {
	at := map[juncture][]int32{} // how they come to locks, in order
	sends := p.SentTo()
	for l := range p.Lists {
		x := juncture{list: int32(l)}
		for k := range p.Lists[l].Ops {
			o := &p.Lists[l].Ops[k]
			switch mine := o.IsLocking() && locks[o.Arg]; {
			// What gives a lock back is no juncture.
			case mine && o.Kind != model.OpLock:
			case mine:
				x.set = o.Set
				at[x] = append(at[x], o.Arg)
				x.nth++
			default:
				if next, ok := landmark(p, o, sends); ok {
					x.behind, x.nth = next, 0
				}
			}
		}
	}
	all, several := make([]int, len(locks)), make([]int, len(locks))
	for _, taken := range at {
		// Behind what is there once, as an object of one request, it is one lock in any case.
		if len(taken) < hidden.LeastHandovers {
			continue
		}
		// A juncture is alone if it has one lock each time.
		alone := !slices.ContainsFunc(taken, func(lock int32) bool { return lock != taken[0] })
		for _, lock := range taken {
			all[lock]++
			if !alone {
				several[lock]++
			}
		}
	}
	parts := make([]float64, len(locks))
	for i := range parts {
		parts[i] = float64(several[i]) / float64(max(1, all[i]))
	}
	return parts
}
