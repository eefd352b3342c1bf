package replay

import (
	"cmp"
	"slices"
)

// Work travels with the request. A goroutine that serves comes back to the same receive again and again, and what it does
// until the next one belongs to the element that it received: in the replay it goes on with the work of the element that it
// gets there, in any list that was recorded.

// match finds, for channels whose operations are in the recording, which receive got the element of which send: they are
// first in, first out.
func (p *program) match() {
	type end struct {
		begun int64
		at    place
	}
	sends, receives := make([][]end, len(p.objects)), make([][]end, len(p.objects))
	for l := range p.lists {
		for k := range p.lists[l].ops {
			o := &p.lists[l].ops[k]
			if p.lists[l].ops[k].kind != opSend && p.lists[l].ops[k].kind != opReceive || p.objects[o.arg].inferred {
				continue
			}
			e := end{o.d, place{int32(l), int32(k)}}
			o.d = 0
			if o.kind == opSend {
				sends[o.arg] = append(sends[o.arg], e)
			} else {
				receives[o.arg] = append(receives[o.arg], e)
			}
		}
	}
	for i := range sends {
		s, r := sends[i], receives[i]
		if len(s) == 0 { // a timer sends, or what is not seen
			for _, e := range r {
				p.op(e.at).kind = opRun
			}
			continue
		}
		for _, all := range [][]end{s, r} {
			slices.SortStableFunc(all, func(a, b end) int {
				return cmp.Or(cmp.Compare(a.begun, b.begun), cmp.Compare(p.op(a.at).at, p.op(b.at).at))
			})
		}
		there := min(len(r), int(p.objects[i].count))
		for _, e := range r[:there] {
			p.segments = append(p.segments, e.at)
			p.objects[i].elements = append(p.objects[i].elements, int32(len(p.segments)-1))
		}
		r = r[there:]
		for k := range min(len(s), len(r)) {
			p.segments = append(p.segments, r[k].at)
			p.op(s[k].at).segment = int32(len(p.segments) - 1)
			p.op(r[k].at).segment = int32(len(p.segments) - 1)
		}
	}
}

func (p *program) op(at place) *op { return &p.lists[at.list].ops[at.op] }

// evidence is which part of the elements must show that their work is theirs.
const evidence = 0.5

// proof is the same for elements that several goroutines send: to answer any of them is to answer the sender by chance.
func proof(senders int) float64 {
	if senders < 2 {
		return evidence
	}
	return evidence + (1-evidence)/float64(senders)
}

// soon is how far behind a receive, or a send, to look for evidence that the work is the sender's, in ops.
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

// delivered returns which send each element is of, in list -1 if that is not known, and what becomes of those of each channel.
func (p *program) delivered() (sent []place, channels []deliveries) {
	sent = make([]place, len(p.segments))
	for i := range sent {
		sent[i] = place{-1, -1}
	}
	opened := make([]int32, len(p.rec.spans)) // by span: the list
	waits := make([]int32, p.tokens)          // by token: the same
	for l := range p.lists {
		for k := range p.lists[l].ops {
			switch o := &p.lists[l].ops[k]; o.kind {
			case opWait:
				waits[o.arg] = int32(l)
			case opSend:
				if o.segment > 0 {
					sent[o.segment] = place{int32(l), int32(k)}
				}
			case opOpen:
				opened[o.arg] = int32(l)
			}
		}
	}
	channels = make([]deliveries, len(p.objects))
	for i := 1; i < len(p.segments); i++ {
		if sent[i].list < 0 {
			continue
		}
		at := p.segments[i]
		o := p.op(at)
		if o.head || o.kind != opReceive {
			continue
		}
		t := &channels[o.arg]
		if t.all == 0 {
			t.from, t.to = map[int32]bool{}, map[int32]bool{}
		}
		t.all++
		if o.free {
			t.free++
		}
		t.from[sent[i].list], t.to[at.list] = true, true
		switch theirs, told := p.travels(at, sent[i], opened, waits); {
		case theirs:
			t.theirs++
		case !told:
			t.untold++
		}
	}
	return sent, channels
}

// handOver notes what senders give to goroutines that serve and have no spans.
func (p *program) handOver() {
	if len(p.segments) < 2 {
		return
	}
	spanned := make([]bool, len(p.lists))
	for l := range p.lists {
		spanned[l] = p.lists[l].has(opOpen)
	}
	if !slices.ContainsFunc(p.segments[1:], func(at place) bool { return !spanned[at.list] }) {
		return
	}
	sent, channels := p.delivered()
	for i, from := range sent {
		to := p.segments[i]
		if from.list < 0 || spanned[to.list] {
			continue
		}
		if o := p.op(to); o.kind == opReceive && channels[o.arg].served() {
			p.letters = append(p.letters, letter{from: from.list, to: to.list, written: min(p.op(from).at, o.at), at: o.at})
		}
	}
}

// serve finds the receives whose goroutines serve.
func (p *program) serve() {
	_, channels := p.delivered()
	for l := range p.lists {
		for k := range p.lists[l].ops {
			o := &p.lists[l].ops[k]
			if o.kind != opReceive || o.head {
				continue
			}
			if channels[o.arg].served() && (p.lists[l].serves < 0 || p.lists[l].serves == o.arg || p.servesBoth(&p.lists[l], o.arg)) {
				o.head = true
				p.lists[l].serves = o.arg
				if p.objects[o.arg].inferred {
					p.objects[o.arg].count = 0
				}
			}
		}
	}
	p.openStations()
}

// travels reports whether what follows a receive is the sender's work: it is a child of one of the sender's spans, or it
// answers the sender, by a channel or a wait group. An answer that nothing received, since it came too late, is no evidence. A goroutine
// that answers at once and does not come back has only left its place in a semaphore.
func (p *program) travels(at, sender place, opened, waits []int32) (theirs, told bool) {
	told = true
	answered := false
	l := &p.lists[at.list]
	object := l.ops[at.op].arg
	for k := at.op + 1; int(k) < len(l.ops) && k < at.op+soon; k++ {
		o, answers := &l.ops[k], false
		switch o.kind {
		case opReceive:
			if o.arg == object {
				return answered, told
			}
		case opOpen:
			s := p.rec.spans[o.arg]
			if s.parent >= 0 {
				if opened[s.parent] == sender.list {
					return true, true
				}
				if opened[s.parent] != at.list {
					return false, true
				}
			}
		case opSend:
			answers = o.segment > 0 && p.segments[o.segment].list == sender.list
			told = told && o.segment > 0
		case opWake: // by a channel for this answer alone, see pair
			answers = o.reason == waitReceive && waits[o.arg] == sender.list && !p.objects[object].inferred
		case opAdd:
			answers = o.d < 0 && p.joins(sender, o.arg)
		}
		if answers && worked(l.ops[at.op+1:k]) {
			return true, true
		}
		answered = answered || answers
	}
	return false, told
}

// joins reports whether a goroutine waits for a wait group behind an op.
func (p *program) joins(behind place, group int32) bool {
	ops := p.lists[behind.list].ops[behind.op+1:]
	return slices.ContainsFunc(ops[:min(len(ops), soon)], func(o op) bool { return o.kind == opJoin && o.arg == group })
}
