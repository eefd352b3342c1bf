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

// match finds, for channels whose operations are in the recording, which receive got the element of
// which send: they are first in, first out.
func match(p *model.Program) {
	type end struct {
		begun int64
		at    model.Place
	}
	sends, receives := make([][]end, len(p.Objects)), make([][]end, len(p.Objects))
	for l := range p.Lists {
		for k := range p.Lists[l].Ops {
			o := &p.Lists[l].Ops[k]
			if p.Lists[l].Ops[k].Kind != model.OpSend && p.Lists[l].Ops[k].Kind != model.OpReceive || p.Objects[o.Arg].Inferred {
				continue
			}
			e := end{o.D, model.Place{List: int32(l), Op: int32(k)}}
			o.D = 0
			if o.Kind == model.OpSend {
				sends[o.Arg] = append(sends[o.Arg], e)
			} else {
				receives[o.Arg] = append(receives[o.Arg], e)
			}
		}
	}
	for i := range sends {
		s, r := sends[i], receives[i]
		if len(s) == 0 { // a timer sends, or what is not seen
			for _, e := range r {
				p.Op(e.at).Kind = model.OpRun
			}
			continue
		}
		for _, all := range [][]end{s, r} {
			slices.SortStableFunc(all, func(a, b end) int {
				return cmp.Or(cmp.Compare(a.begun, b.begun), cmp.Compare(p.Op(a.at).At, p.Op(b.at).At))
			})
		}
		there := min(len(r), int(p.Objects[i].Count))
		for _, e := range r[:there] {
			p.Segments = append(p.Segments, e.at)
			p.Objects[i].Elements = append(p.Objects[i].Elements, int32(len(p.Segments)-1))
		}
		r = r[there:]
		for k := range min(len(s), len(r)) {
			p.Segments = append(p.Segments, r[k].at)
			p.Op(s[k].at).Segment = int32(len(p.Segments) - 1)
			p.Op(r[k].at).Segment = int32(len(p.Segments) - 1)
		}
	}
}

// evidence is which part of the elements must show that their work is theirs.
const evidence = 0.5

// proof is the same for elements that several goroutines send: to answer any of them is to answer
// the sender by chance.
func proof(senders int) float64 {
	if senders < 2 {
		return evidence
	}
	return evidence + (1-evidence)/float64(senders)
}

// soon is how far behind a receive, or a send, to look for evidence that the work is the sender's,
// in ops.
const soon = 400

// A deliveries counts what becomes of the elements of a channel.
type deliveries struct {
	all, free, theirs, untold int
	from, to                  map[int32]bool // lists
}

// served reports whether the work that follows the elements is their senders'.
func (d *deliveries) served() bool {
	return (len(d.from) > 1 || len(d.to) > 1) && 10*d.free >= 9*d.all && float64(d.theirs) >= proof(len(d.from))*float64(d.all-d.untold) && d.theirs >= d.untold
}

// delivered returns which send each element is of, in list -1 if that is not known, and what
// becomes of those of each channel.
func delivered(p *model.Program) (sent []model.Place, channels []deliveries) {
	sent = make([]model.Place, len(p.Segments))
	for i := range sent {
		sent[i] = model.Place{List: -1, Op: -1}
	}
	opened := make([]int32, len(p.Rec.Spans)) // by span: the list
	waits := make([]int32, p.Tokens)          // by token: the same
	for l := range p.Lists {
		for k := range p.Lists[l].Ops {
			switch o := &p.Lists[l].Ops[k]; o.Kind {
			case model.OpWait:
				waits[o.Arg] = int32(l)
			case model.OpSend:
				if o.Segment > 0 {
					sent[o.Segment] = model.Place{List: int32(l), Op: int32(k)}
				}
			case model.OpOpen:
				opened[o.Arg] = int32(l)
			}
		}
	}
	channels = make([]deliveries, len(p.Objects))
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
		switch theirs, told := travels(p, at, sent[i], opened, waits); {
		case theirs:
			t.theirs++
		case !told:
			t.untold++
		}
	}
	return sent, channels
}

// handOver notes what senders give to goroutines that serve and have no spans.
func handOver(p *model.Program) {
	if len(p.Segments) < 2 {
		return
	}
	spanned := make([]bool, len(p.Lists))
	for l := range p.Lists {
		spanned[l] = p.Lists[l].Has(model.OpOpen)
	}
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

// serve finds the receives whose goroutines serve.
func serve(p *model.Program) {
	_, channels := delivered(p)
	for l := range p.Lists {
		for k := range p.Lists[l].Ops {
			o := &p.Lists[l].Ops[k]
			if o.Kind != model.OpReceive || o.Head {
				continue
			}
			if channels[o.Arg].served() && (p.Lists[l].Serves < 0 || p.Lists[l].Serves == o.Arg || sim.ServesBoth(p, &p.Lists[l], o.Arg)) {
				o.Head = true
				p.Lists[l].Serves = o.Arg
				if p.Objects[o.Arg].Inferred {
					p.Objects[o.Arg].Count = 0
				}
			}
		}
	}
	sim.OpenStations(p)
}

// travels reports whether what follows a receive is the sender's work: it is a child of one of the
// sender's spans, or it answers the sender, by a channel or a wait group. An answer that nothing
// received, since it came too late, is no evidence. A goroutine that answers at once and does not
// come back has only left its place in a semaphore.
func travels(p *model.Program, at, sender model.Place, opened, waits []int32) (theirs, told bool) {
	told = true
	answered := false
	l := &p.Lists[at.List]
	object := l.Ops[at.Op].Arg
	for k := at.Op + 1; int(k) < len(l.Ops) && k < at.Op+soon; k++ {
		o, answers := &l.Ops[k], false
		switch o.Kind {
		case model.OpReceive:
			if o.Arg == object {
				return answered, told
			}
		case model.OpOpen:
			s := p.Rec.Spans[o.Arg]
			if s.Parent >= 0 {
				if opened[s.Parent] == sender.List {
					return true, true
				}
				if opened[s.Parent] != at.List {
					return false, true
				}
			}
		case model.OpSend:
			answers = o.Segment > 0 && p.Segments[o.Segment].List == sender.List
			told = told && o.Segment > 0
		case model.OpWake: // by a channel for this answer alone, see pair
			answers = o.Reason == trace.WaitReceive && waits[o.Arg] == sender.List && !p.Objects[object].Inferred
		case model.OpAdd:
			answers = o.D < 0 && joins(p, sender, o.Arg)
		}
		if answers && cond.Worked(l.Ops[at.Op+1:k]) {
			return true, true
		}
		answered = answered || answers
	}
	return false, told
}

// joins reports whether a goroutine waits for a wait group behind an op.
func joins(p *model.Program, behind model.Place, group int32) bool {
	ops := p.Lists[behind.List].Ops[behind.Op+1:]
	return slices.ContainsFunc(ops[:min(len(ops), soon)], func(o model.Op) bool { return o.Kind == model.OpJoin && o.Arg == group })
}
