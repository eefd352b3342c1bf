package infer

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Work travels with the request. A goroutine that serves comes back to the same receive again and
// again, and what it does until the next one belongs to the element that it received: in the replay
// it goes on with the work of the element that it gets there, in any list that was recorded.
//
//	recorded   worker 1   receives a, 4 ms .............. receives c, 1 ms
//	           worker 2   receives b, 2 ms .. receives d, 3 ms
//	replayed   a takes 1 ms: worker 1 is free first, and gets the next element with its 1 or 3 ms
//
// A list of its own for each worker would keep who gets what, and a worker would wait for an
// element that another one is to be given (a wait-for cycle). It would be as wrong to let work
// travel with what is no request. An element of a semaphore or of a pool has no work: what follows
// belongs to the goroutine that receives. So evidence is needed that the work is the sender's: a
// span that is a child of one of the sender's, or an answer to the sender. A semaphore is left at
// once and for good (errgroup's limit, see TestPlacesOfTasks); a worker does something first, or
// comes back (TestAnswersByChannelsOfTheirOwn).
//
// What is missed: workers that neither answer nor have spans of the request, such as a queue that
// is only consumed. Their lists keep the recorded order. What is wrong: a worker that keeps a state
// from element to element, such as a cache, does the work of an element as it was with the state of
// the recording.

// match finds, for channels whose operations are in the recording, which receive got the element of
// which send: they are first in, first out. The nth element goes to the nth receive, in the order
// in which operations began; both queues of a channel and its buffer are in order
// (runtime/chan.go). Elements that were there at first come before all, and have no send. It takes
// n log n, and uses up D of sends and receives. What it returns is by object.
func match(p *model.Program) []queue {
	type end struct {
		begun int64
		at    model.Place
	}
	placesOf := func(all []end) (at []model.Place) {
		for _, e := range all {
			at = append(at, e.at)
		}
		return at
	}
	sends, receives := make([][]end, len(p.Objects)), make([][]end, len(p.Objects))
	for at, o := range p.All() {
		if o.Kind != model.OpSend && o.Kind != model.OpReceive || p.Objects[o.Arg].Inferred {
			continue
		}
		e := end{o.D, at}
		o.D = 0
		if o.Kind == model.OpSend {
			sends[o.Arg] = append(sends[o.Arg], e)
		} else {
			receives[o.Arg] = append(receives[o.Arg], e)
		}
	}
	queues := make([]queue, len(sends))
	for i := range sends {
		s, r := sends[i], receives[i]
		// In the replay nothing would ever send. What the goroutine waited for stays, as a wait for
		// a timer.
		if len(s) == 0 { // a timer sends, or what is not seen
			for _, e := range r {
				p.Op(e.at).Kind = model.OpRun
			}
			continue
		}
		// Of operations that began at one time the one that was over first came first.
		for _, all := range [][]end{s, r} {
			slices.SortStableFunc(all, func(a, b end) int {
				return cmp.Or(cmp.Compare(a.begun, b.begun), cmp.Compare(p.Op(a.at).At, p.Op(b.at).At))
			})
		}
		queues[i] = queue{placesOf(s), placesOf(r)}
		// Without the number of their send, these receives are known to have got an element from
		// before.
		there := min(len(r), int(p.Objects[i].Count))
		for _, e := range r[:there] {
			p.Objects[i].Elements = append(p.Objects[i].Elements, p.AddSegment(e.at))
		}
		r = r[there:]
		// Sends beyond the receives stay in the channel, and receives beyond the sends wait.
		for k := range min(len(s), len(r)) {
			n := p.AddSegment(r[k].at)
			p.Op(s[k].at).Segment, p.Op(r[k].at).Segment = n, n
		}
	}
	return queues
}

// evidence is which part of the elements must show that their work is theirs. With more, work
// without a span or an answer within soon would refute it.
const evidence = 0.5

// proof is the same for elements that several goroutines send: to answer any of them is to answer
// the sender by chance. Of chance hits alone one in senders is right, so that half of what is not
// chance must be: 0.75 for two senders, 0.55 for ten.
func proof(senders int) float64 {
	if senders < 2 {
		return evidence
	}
	return evidence + (1-evidence)/float64(senders)
}

// soon is how far behind a receive, or a send, to look for evidence that the work is the sender's,
// in ops. It bounds the cost for goroutines that never come back; work that is longer has no
// evidence.
const soon = 400

// A deliveries counts what becomes of the elements of a channel. All are elements whose send is
// known. Free are the ones whose receiver held nothing, theirs the ones with evidence for the
// sender, untold the ones whose answer nothing received, so that there is no evidence either way.
type deliveries struct {
	all, free, theirs, untold int
	from, to                  map[int32]bool // lists
}

// served reports whether the work that follows the elements is their senders'. One goroutine that
// sends to one other has nothing to be decided anew. Nine in ten receivers must be free: a
// goroutine that holds a lock or a span cannot go on with another's work.
func (d *deliveries) served() bool {
	return (len(d.from) > 1 || len(d.to) > 1) && 10*d.free >= 9*d.all && float64(d.theirs) >= proof(len(d.from))*float64(d.all-d.untold) && d.theirs >= d.untold
}

// delivered returns which send each element is of, in list -1 if that is not known, and what
// becomes of the elements of each channel, by object. It takes up to soon steps for each element,
// once for each channel that work goes through one behind the other: a pipeline whose spans are all
// children of the request's shows whose work its second stage does as soon as the first stage is
// known to work for the request (TestStagesOfRequests).
func delivered(p *model.Program) (sent []model.Place, channels []deliveries) {
	sent, opened, waits := ends(p)
	works := make([]int32, len(p.Segments))
	for before := 0; ; {
		channels = judged(p, sent, works, opened, waits)
		served := 0
		for i := range channels {
			if channels[i].served() {
				served++
			}
		}
		if served <= before {
			return sent, channels
		}
		before = served
		relay(p, channels, works)
	}
}

// relay notes, by element, which other one its sender had received to work on, 0 for none.
func relay(p *model.Program, channels []deliveries, works []int32) {
	for i := range p.Lists {
		on := int32(0)
		for k := range p.Lists[i].Ops {
			switch o := &p.Lists[i].Ops[k]; o.Kind {
			case model.OpReceive:
				if channels[o.Arg].served() {
					on = o.Segment
				}
			case model.OpSend:
				if o.Segment > 0 {
					works[o.Segment] = on
				}
			}
		}
	}
}

// mostRelays bounds through how many channels, one behind the other, work is followed.
const mostRelays = 16

// ends returns where each element was sent, in list -1 if that is not known, and the lists that
// opened each span and that wait for each token.
func ends(p *model.Program) (sent []model.Place, opened, waits []int32) {
	sent = model.Nowhere(len(p.Segments))
	opened, waits = slices.Repeat([]int32{trace.None}, len(p.Rec.Spans)), slices.Repeat([]int32{trace.None}, int(p.Tokens))
	for at, o := range p.All() {
		switch o.Kind {
		case model.OpWait:
			waits[o.Arg] = at.List
		case model.OpSend:
			if o.Segment > 0 {
				sent[o.Segment] = at
			}
		case model.OpOpen:
			opened[o.Arg] = at.List
		}
	}
	return sent, opened, waits
}

// judged counts what becomes of the elements of each channel. Receives that are heads already, as
// of connections, are not judged.
func judged(p *model.Program, sent []model.Place, works, opened, waits []int32) []deliveries {
	channels := make([]deliveries, len(p.Objects))
	var senders []model.Place
	for i := 1; i < len(p.Segments); i++ {
		if sent[i].List < 0 {
			continue
		}
		at := p.Segments[i]
		o := p.Op(at)
		if o.Head || o.Kind != model.OpReceive {
			continue
		}
		t := &channels[o.Arg]
		if t.all == 0 {
			t.from, t.to = map[int32]bool{}, map[int32]bool{}
		}
		t.all++
		if o.Free {
			t.free++
		}
		t.from[sent[i].List], t.to[at.List] = true, true
		senders = senders[:0]
		for n := int32(i); n > 0 && sent[n].List >= 0 && len(senders) < mostRelays; n = works[n] {
			senders = append(senders, sent[n])
		}
		switch theirs, told := travels(p, at, senders, opened, waits); {
		case theirs:
			t.theirs++
		case !told:
			t.untold++
		}
	}
	return channels
}

// handOver notes what senders give to goroutines that serve and have no spans. Letters are for
// errands: what is done for an element is of the spans that are open on its sender. A receive that
// began after the send has its element when it is over; one that waited has it no earlier than the
// send.
func handOver(p *model.Program) {
	if len(p.Segments) < 2 {
		return
	}
	spanned := p.Spanned()
	if !slices.ContainsFunc(p.Segments[1:], func(at model.Place) bool { return !spanned[at.List] }) {
		return
	}
	sent, channels := delivered(p)
	for i, from := range sent {
		to := p.Segments[i]
		if from.List < 0 || spanned[to.List] {
			continue
		}
		if o := p.Op(to); o.Kind == model.OpReceive && channels[o.Arg].served() {
			p.Letters = append(p.Letters, model.Letter{From: from.List, To: to.List, Written: min(p.Op(from).At, o.At), At: o.At})
		}
	}
}

// serve finds the receives whose goroutines serve, and marks them as heads. A list serves one
// channel, or all channels of its station; a loop over a select statement without one serves none.
// An inferred channel that serves is empty at first: an element without work could not be gone on
// with.
func serve(p *model.Program) {
	_, channels := delivered(p)
	for at, o := range p.All() {
		if o.Kind != model.OpReceive || o.Head {
			continue
		}
		l := &p.Lists[at.List]
		if channels[o.Arg].served() && !p.Several[o.Arg] && (l.Serves < 0 || l.Serves == o.Arg || sim.ServesBoth(p, l, o.Arg)) {
			o.Head = true
			l.Serves = o.Arg
			if p.Objects[o.Arg].Inferred {
				p.Objects[o.Arg].Count = 0
			}
		}
	}
	sim.OpenStations(p)
}

// travels reports whether what follows a receive is the sender's work: it is a child of one of the
// sender's spans, or it answers the sender, by a channel or a wait group. Senders are this one, and
// the ones that it works for itself. An answer that nothing received, since it came too late, is no
// evidence, and told is false. Nor is an element that it gives back to where it took it, as to a
// pool. A goroutine that answers at once and does not come back has only left its place in a
// semaphore. Opened is by span, waits by token; both are lists.
func travels(p *model.Program, at model.Place, senders []model.Place, opened, waits []int32) (theirs, told bool) {
	sends := func(list int32) bool {
		return slices.ContainsFunc(senders, func(s model.Place) bool { return s.List == list })
	}
	told = true
	answered := false
	l := &p.Lists[at.List]
	object := l.Ops[at.Op].Arg
	var taken []int32
	for k := at.Op + 1; int(k) < len(l.Ops) && k < at.Op+soon; k++ {
		o, answers := &l.Ops[k], false
		switch o.Kind {
		// It comes back for the next. To have answered at once is enough then.
		case model.OpReceive:
			if o.Arg == object {
				return answered, told
			}
			taken = append(taken, o.Arg)
		case model.OpOpen:
			s := p.Rec.Spans[o.Arg]
			// A parent of its own shows nothing; a parent on a third goroutine shows whose work
			// this is.
			if s.Parent >= 0 {
				if sends(opened[s.Parent]) {
					return true, true
				}
				if opened[s.Parent] != at.List {
					return false, true
				}
			}
		case model.OpSend:
			answers = o.Segment > 0 && sends(p.Segments[o.Segment].List) && !slices.Contains(taken, o.Arg)
			told = told && o.Segment > 0
		case model.OpWake: // by a channel for this answer alone, see pair
			answers = o.Reason == trace.WaitReceive && sends(waits[o.Arg]) && !p.Objects[object].Inferred
		// A part of a wait group is over, and the sender waits for all parts.
		case model.OpAdd:
			answers = o.D < 0 && slices.ContainsFunc(senders, func(s model.Place) bool { return joins(p, s, o.Arg) })
		}
		if answers && cond.Worked(l.Ops[at.Op+1:k]) {
			return true, true
		}
		answered = answered || answers
	}
	return false, told
}

// joins reports whether a goroutine waits for a wait group behind an op, within soon ops.
func joins(p *model.Program, behind model.Place, group int32) bool {
	ops := p.Lists[behind.List].Ops[behind.Op+1:]
	return slices.ContainsFunc(ops[:min(len(ops), soon)], func(o model.Op) bool { return o.Kind == model.OpJoin && o.Arg == group })
}
