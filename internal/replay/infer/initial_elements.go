package infer

import (
	"slices"

	"github.com/otelprof/otelprof/internal/replay/hidden"
	"github.com/otelprof/otelprof/internal/replay/model"
)

// How many elements a channel holds when the window begins decides which send each receive got the
// element of. The lowest level gives the least number that there can have been, see Finish, and
// that is too small where the channel was never empty, as before a server that is always busy. Each
// element is then taken for the one sent before it, and each answer goes to another client:
//
//	sent by     a  b  c  a  b        one element there at first
//	served      x  a  b  c  a        answers to x, a, b, c, a
//	taken for   a  b  c  a  b        with none there: a's answer is x's, b's is a's, ...
//
// The replay of nothing changed meets the recording all the same, as all of them wait by turns. In
// a faster program each client would wait for the one before it. So the number is the one with
// which the work goes to its sender: the span is a child of one of the sender's, or the answer
// comes to the sender. Only channels are looked at of which neither a sender that waits for room
// nor a receiver that waits shows the number. TestInitialElements holds it.

const (
	// theirWork is which part of the elements must be their sender's with the number that is taken,
	// and lessTheirs by how much larger that part is than with the least number.
	theirWork  = 0.9
	lessTheirs = 0.1
	// mostAtFirst bounds the numbers that are tried, and mostTried the elements that each is tried
	// with.
	mostAtFirst = 64
	mostTried   = 256
)

// A queue is the sends to a channel and its receives, each in the order in which they began.
type queue struct{ sends, receives []model.Place }

// initialElements decides for each queue, by object, how many elements its channel held at first.
func initialElements(b *model.Builder, queues []queue) {
	if !b.P.Rec.Uses(ruleInitial) {
		return
	}
	var opened, waits []int32                        // a stock program mostly needs none
	for i := range min(len(queues), len(b.Levels)) { // what a rule has made since has no level
		o, lv, q := &b.P.Objects[i], &b.Levels[i], &queues[i]
		if lv.Exact || lv.Full >= 0 || o.Counted || len(q.sends) == 0 {
			continue
		}
		if opened == nil {
			_, opened, waits = ends(b.P)
		}
		least := min(len(q.receives), int(o.Count))
		first := q.theirs(b.P, least, opened, waits)
		best, at := first, least
		for n := least + 1; n <= min(int(o.Capacity), least+mostAtFirst) && best < 1; n++ {
			if part := q.theirs(b.P, n, opened, waits); part > best {
				best, at = part, n
			}
		}
		if best >= theirWork && best-first >= lessTheirs {
			q.begin(b.P, int32(i), at)
		}
	}
}

// theirs returns which part of the elements is work of their senders if so many are there at first.
func (q *queue) theirs(p *model.Program, n int, opened, waits []int32) float64 {
	matched := min(len(q.sends), len(q.receives)-n)
	if matched < hidden.LeastHandovers {
		return 0
	}
	good, all := 0, 0
	for k := 0; k < matched; k += 1 + matched/mostTried {
		theirs, told := travels(p, q.receives[n+k], q.sends[k:k+1], opened, waits)
		if told {
			all++
		}
		if theirs {
			good++
		}
	}
	return float64(good) / float64(max(1, all))
}

// begin has so many elements there at first, and matches the others anew. Each receive keeps its
// segment, which it does not name where it got an element from before.
func (q *queue) begin(p *model.Program, object int32, n int) {
	o := &p.Objects[object]
	segments := slices.Clone(o.Elements)
	for _, at := range q.receives[len(segments):] {
		segments = append(segments, p.Op(at).Segment)
	}
	o.Count, o.Elements = int32(n), segments[:n:n]
	for k, at := range q.receives {
		r := p.Op(at)
		r.Segment = 0
		if k < n || k-n >= len(q.sends) {
			continue
		}
		if r.Segment = segments[k]; r.Segment == 0 {
			r.Segment = p.AddSegment(at)
		}
		p.Op(q.sends[k-n]).Segment = r.Segment
	}
	for _, at := range q.sends[min(len(q.sends), len(q.receives)-n):] {
		p.Op(at).Segment = 0
	}
}
