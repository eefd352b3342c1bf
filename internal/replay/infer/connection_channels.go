package infer

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/hidden"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Where work travels with the request, which connection it goes over is an accident of the
// recording: whichever is free is taken. A channel of one connection, of which two requests had no
// need at a time, would hold up the second one where both happen to need it at once in the replay,
// and for ever if the first one waits for the second (a wait-for cycle). So a channel that decides
// nothing is not an object: each of its elements is a wait of its receiver for its sender.
//
//	object   send --> [ ][ ] --> receive    the next receive takes the next element, of any sender
//	tokens   send 1 ---------> receive 1    each receive waits for its send, and no send waits
//	         send 2 ---------> receive 2
//
// Channels that decide nothing are:
//
//   - a channel of one element, such as the one for an answer (resc of persistConn.roundTrip in
//     net/http/transport.go) or for the end of a goroutine: there is no order to be decided, and
//     whose element it is is known (Program.Singles), so that no object is inferred of such waits;
//   - a channel to or from a goroutine that reads or writes one connection (writech, reqch), as
//     long as no sender waited for room: one sender at a time, and the connection keeps the order;
//   - a channel without room on which one goroutine answers, each time just behind a request of the
//     one that it answers: the two meet there by the request, and not by the channel;
//   - a channel that nothing receives from in the window.
//
// Channels that select statements receive from are left alone, since which of them is first is
// decided there. A send that waited for its receiver in the recording keeps its channel. One that
// did not, though the channel has no room, never waits in the replay either: with such a channel a
// sender that becomes faster than its receiver is let go too early, and answers are too high.
// TestPair, TestRepliesOfAConnection and TestElementForOneWhoWaitedBefore have the cases.

// An exchange is what was done on a channel, each side in the order of lists until inOrder is
// called.
type exchange struct {
	sends, receives []model.Place
	full            bool // a sender waited
}

// pair puts waits for goroutines in place of the operations on channels that decide nothing. It
// reads all lists once, and changes ops in place, so that places stay valid. Sends and receives
// must still have in D when they began.
func pair(p *model.Program) {
	all := make([]exchange, len(p.Objects))
	for at, o := range p.All() {
		switch o.Kind {
		case model.OpSend:
			x := &all[o.Arg]
			x.sends = append(x.sends, at)
			// A site is where an operation waited: without one it did not.
			x.full = x.full || o.Site != 0
		case model.OpReceive:
			all[o.Arg].receives = append(all[o.Arg].receives, at)
		}
	}
	carries := carriers(p, all)
	from := singles(all)
	for i := range all {
		// The order of cases matters. Without receives there is nothing to wait for; a channel
		// without room, with answers to requests, may have had senders that waited; any other full
		// one stays.
		switch x := &all[i]; {
		case len(x.receives) == 0 && !x.full && !p.Cases[int32(i)]: // by who waited before the window
			discard(p, x.sends)
		case len(x.sends) == 0 || len(x.receives) == 0 || p.Cases[int32(i)]:
		case p.Objects[i].Capacity == 0 && len(x.sends) > 1 && repliesTo(p, x, from):
			detached(p, x, 0)
		case x.full && p.Objects[i].Capacity == 0: // the sender waits for the receiver, too
		case len(x.sends) == 1 && len(x.receives) == 1 && p.Objects[i].Count == 0:
			p.Singles = append(append(p.Singles, make([]bool, int(p.Tokens)-len(p.Singles))...), true)
			detached(p, x, 0)
		case !x.full && carries[listOf(x.receives)]:
			detached(p, x, int(p.Objects[i].Count))
		}
	}
}

// singles returns which lists sent the elements that were alone on their channels, by the op that
// received each. These are requests with a channel of their own, or signals of them.
func singles(all []exchange) map[model.Place]int32 {
	from := map[model.Place]int32{}
	for i := range all {
		if x := &all[i]; len(x.sends) == 1 && len(x.receives) == 1 {
			from[x.receives[0]] = x.sends[0].List
		}
	}
	return from
}

// repliesTo reports whether one goroutine sends all elements, each behind one that the receiver had
// sent to it, on a channel of that request, and no other since: the two of them meet there, even if
// other goroutines use the channel. The nth send is to the nth receive, which inOrder provides. Of
// the last cond.Within ops before a send the latest receive of a single element counts. As
// everywhere one in 20 may be otherwise.
func repliesTo(p *model.Program, x *exchange, from map[model.Place]int32) bool {
	if len(x.sends) != len(x.receives) || listOf(x.sends) == trace.None {
		return false
	}
	inOrder(p, x)
	theirs := 0
	for n, at := range x.sends {
		for k := at.Op - 1; k >= max(0, at.Op-cond.Within); k-- {
			if by, ok := from[model.Place{List: at.List, Op: k}]; ok {
				if by == x.receives[n].List {
					theirs++
				}
				break
			}
		}
	}
	return float64(theirs) >= hidden.Fairness*float64(len(x.sends))
}

// inOrder has the operations in the order in which they began: channels are first in, first out,
// for elements and for goroutines that wait (waitq in runtime/chan.go). Of equal times the order of
// lists holds.
func inOrder(p *model.Program, x *exchange) {
	begun := func(a, b model.Place) int { return cmp.Compare(p.Op(a).D, p.Op(b).D) }
	slices.SortStableFunc(x.sends, begun)
	slices.SortStableFunc(x.receives, begun)
}

// listOf returns the list that all ops are of, none if there are several. There must be an op.
func listOf(all []model.Place) int32 {
	if slices.ContainsFunc(all, func(at model.Place) bool { return at.List != all[0].List }) {
		return trace.None
	}
	return all[0].List
}

// carriers returns the lists of goroutines that carry what others send through the network: they
// have no spans and wait for the network, or exchange elements with one that does, and with no
// other goroutine, on a channel of two elements at least. The writeLoop of net/http is of the
// second kind: it may never wait for the network, but its readLoop does, to which it sends its
// errors (writeErrCh of persistConn). A goroutine without spans that waits for the network once is
// taken for a carrier too, as a single worker that queries a database would be; then it takes its
// elements in the recorded order.
func carriers(p *model.Program, all []exchange) map[int32]bool {
	spans, waits := p.Spanned(), map[int32]bool{}
	for at, o := range p.All() {
		if o.Kind == model.OpOut && o.Reason == trace.WaitNetwork {
			waits[at.List] = true
		}
	}
	carries := map[int32]bool{}
	for l := range waits {
		carries[l] = !spans[l]
	}
	for i := range all {
		x := &all[i]
		if len(x.sends) < 2 || len(x.receives) < 2 {
			continue
		}
		from, to := listOf(x.sends), listOf(x.receives)
		if from == trace.None || to == trace.None {
			continue
		}
		// One step only: what exchanges with a goroutine that is a carrier by this is not one
		// itself.
		for _, ends := range [][2]int32{{from, to}, {to, from}} {
			if waits[ends[0]] && !spans[ends[0]] && !spans[ends[1]] {
				carries[ends[1]] = true
			}
		}
	}
	return carries
}

// detached has each receive of a channel wait for its send alone. Elements that were there at first
// have none: the first receives, as many, take no time. Sends beyond the receives of the window are
// dropped, and so are receives beyond its sends. It sorts x.
func detached(p *model.Program, x *exchange, there int) {
	inOrder(p, x)
	site := int32(0) // of one that waited
	for _, at := range x.receives {
		if s := p.Op(at).Site; s != 0 {
			site = s
		}
	}
	there = min(there, len(x.receives))
	for k, at := range x.receives {
		o := p.Op(at)
		// A receive that did not wait may have to in the replay. It waits where the others did,
		// which is what lists come back to, and its wait in the recording is 0 long.
		if o.Site == 0 {
			o.D, o.Site = o.At, site
		}
		n := k - there
		if n < 0 || n >= len(x.sends) {
			o.Pass()
			continue
		}
		// D is how long the wait was: it began when the receive did. An offer (Tries) gives its
		// token in any case.
		wake := p.Op(x.sends[n])
		o.Kind, o.Arg, o.D, o.Reason, o.Tries = model.OpWait, p.Tokens, o.At-o.D, trace.WaitReceive, false
		wake.Kind, wake.Arg, wake.D, wake.Site, wake.Reason, wake.Tries = model.OpWake, p.Tokens, 0, o.Site, trace.WaitReceive, false
		p.Tokens++
	}
	discard(p, x.sends[min(len(x.sends), max(0, len(x.receives)-there)):])
}

// discard has sends of elements that nothing receives take no time.
func discard(p *model.Program, sends []model.Place) {
	for _, at := range sends {
		p.Op(at).Pass()
	}
}
