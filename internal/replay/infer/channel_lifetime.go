package infer

import (
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A channel may be made for one request, and keep elements that nothing receives: the answers of
// replicas that come once a quorum has been reached (hedged requests). In the program such a
// channel is garbage with its request. Where a list begins anew in the replay it does the same
// operations on the same objects again, and the answer of the last round would be taken for that of
// this one:
//
//	round 1   asks .. 2 ms, fast answers, taken .. 4 ms, slow answers, stays in the channel
//	round 2   asks, finds an answer at once                   wrong: it is of round 1
//
// So the channels of a list's requests begin anew with the list (TestAnswerThatComesTooLate).
//
// It is wrong for a channel that does last, and happens to have had no more elements than it has
// room. Then what is in it when a list begins anew is lost, at most one round's elements. A channel
// for which a goroutine waits is not emptied, see clear in package sim.

// findLeft finds the channels that keep elements, and notes them in the list's Leaves. Only a
// goroutine that begins anew, and its child goroutines, use them, and each has room for all that is
// sent to it: one that lasts has had more elements than that. Lists must know where they begin
// anew.
func findLeft(p *model.Program) {
	type uses struct {
		sends, receives int32
		by              int32 // the list that begins anew, none if there are several
	}
	all := make([]uses, len(p.Objects))
	for at, o := range p.All() {
		if o.Kind != model.OpSend && o.Kind != model.OpReceive {
			continue
		}
		x := &all[o.Arg]
		// All uses must be of one list's rounds. A second list makes by none, and it stays so.
		by := repeats(p, at)
		if x.sends+x.receives > 0 && by != x.by {
			by = trace.None
		}
		x.by = by
		if o.Kind == model.OpSend {
			x.sends++
		} else {
			x.receives++
		}
	}
	for i := range all {
		x, o := &all[i], &p.Objects[i]
		// A channel of select statements is left to these, which make their own channels new. One
		// that held elements at first is older than the request.
		if x.by != trace.None && x.sends > x.receives && x.sends <= o.Capacity && o.Count == 0 && !o.Inferred && !p.Cases[int32(i)] {
			p.Lists[x.by].Leaves = append(p.Lists[x.by].Leaves, int32(i))
		}
	}
}

// repeats returns the list that does an op again when it begins anew: its own, or the one that
// starts its goroutine, at any depth; none for one that is not done again. A goroutine that serves
// does not repeat a list: what it does comes with elements. Each step goes to an earlier goroutine,
// so that it ends.
func repeats(p *model.Program, at model.Place) int32 {
	for {
		l := &p.Lists[at.List]
		switch {
		case l.Serves >= 0:
			return trace.None
		case l.To > 0 && at.Op >= l.From && at.Op < l.To:
			return at.List
		case l.To > 0 || !l.Born || l.Spawned.List < 0:
			return trace.None
		}
		at = l.Spawned
	}
}
