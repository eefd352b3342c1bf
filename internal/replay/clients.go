package replay

import (
	"cmp"
	"math"
	"slices"
)

// Clients of another process may share connections, as those of an HTTP client's pool do: a client that waits has none, and its next request takes
// one that is idle. How long a connection is idle is then not for how long a client waits between an answer and its next request, and where answers
// come sooner fewer connections are in use, with no more requests on each.

const (
	// mostClients bounds how many of them are tried to wait when the window begins.
	mostClients = 512
	// How many clients there are is known if eight tenths of their waits are within this part of the median, and of what they would be within
	// with fewer clients, or one more.
	alikeWaits, sharper = 0.3, 0.5
	// lastIdle is by how many standard errors more requests than by chance must take the connection that was idle last, for connections to be
	// shared.
	lastIdle = 4
)

// A traffic is the requests to a progress point, in the order in which they came, and their answers, in the order in which they were given.
type traffic struct {
	requests []incoming
	answers  []outgoing
	closed   bool // a connection was closed in the window
}

// An incoming request ends the wait of a connection that has been idle since the answer before, or the window began.
type incoming struct {
	since, came int64
	at          place // the wait
}

// An outgoing answer begins the wait of a connection, op -1 if that is not over when the window is.
type outgoing struct {
	at   int64
	wait place
}

// shareConnections returns the program with requests of a known number of clients on any connection. Where connections are shared, and the
// recording does not show by how many clients, it returns another program, with requests at the times at which they came: how many more come
// where answers come sooner is between that and as many more as there would be on each connection. Both are nil if no connections are shared.
func (p *program) shareConnections() (known, open *program) {
	for _, t := range p.traffics() {
		if len(t.answers) < leastTurns || len(t.requests) < leastTurns || p.op(t.requests[0].at).arrives {
			continue
		}
		if thinking, waits := t.clients(); thinking > 0 && !t.closed {
			if known == nil {
				known = p.rewritten()
			}
			known.anyConnection(t, thinking, waits)
		}
		if t.shared() {
			if open == nil {
				open = p.rewritten()
			}
			for _, x := range t.requests {
				open.op(x.at).arrives = true
			}
		}
	}
	return known, open
}

// ofClients returns the program with requests of clients in place of those of connections, if that meets the recording, else bounds.
func (p *program) ofClients(base outcome) (_ *program, _ outcome, bounds []alternative) {
	d := p.rec.End - p.rec.Start
	known, open := p.shareConnections()
	if known != nil {
		if o := simulate(known, change{}, d); known.misses(&o, d) <= MaxDeviation {
			return known, o, nil
		}
	}
	if open != nil {
		bounds = append(bounds, alternative{p: open, base: simulate(open, change{}, d)})
	}
	return p, base, bounds
}

// traffics returns those to each progress point.
func (p *program) traffics() []traffic {
	all := make([]traffic, len(p.points))
	for l := range p.lists {
		p.rec.rests()
		if p.lists[l].serves < 0 {
			p.trafficOf(int32(l), all)
		}
	}
	for i := range all {
		slices.SortFunc(all[i].requests, func(a, b incoming) int { return cmp.Compare(a.came, b.came) })
		slices.SortFunc(all[i].answers, func(a, b outgoing) int { return cmp.Compare(a.at, b.at) })
	}
	return all
}

// trafficOf adds what comes to one goroutine from outside, by the progress point that the spans of its work are.
func (p *program) trafficOf(list int32, all []traffic) {
	l := &p.lists[list]
	last, point, root := int32(-1), int32(-1), int32(-1) // the wait before, and what followed
	before := false                                      // that began with the answer to a request from before the window
	closed := false
	for k := range l.ops {
		o := &l.ops[k]
		switch {
		case o.kind == opOut && o.free && (o.reason == waitNetwork || begun(o) <= p.rec.Start):
			if point >= 0 {
				all[point].answers = append(all[point].answers, outgoing{begun(o), place{list, int32(k)}})
			}
			before = last < 0 && !l.born && begun(o) > p.rec.Start
			last, point, closed = int32(k), -1, false
		case o.kind == opOpen && last >= 0 && point < 0 && int32(k)-last < opensWithin && p.rec.spans[o.arg].root:
			if point, root = p.pointOf[o.arg], o.arg; point < 0 {
				continue
			}
			w, t := &l.ops[last], &all[point]
			t.requests = append(t.requests, incoming{begun(w), w.at, place{list, last}})
			if before {
				t.answers = append(t.answers, outgoing{begun(w), place{list, last}})
			}
		case o.kind == opClose && o.arg == root:
			closed = true
		}
	}
	if point >= 0 && closed {
		all[point].answers = append(all[point].answers, outgoing{l.ops[len(l.ops)-1].at, place{list, -1}})
		all[point].closed = all[point].closed || l.ended
	}
}

// begun returns when a wait began.
func begun(o *op) int64 { return o.at - o.d }

// clients returns how many clients wait when the window begins, and for how long one waits from each answer to its next request. That varies
// least for the right number, if clients wait for about the same time. It returns 0 if that is not known, or each has a connection.
func (t *traffic) clients() (thinking int, waits []int64) {
	after := make([]int64, len(t.answers))
	vary := func(thinking int) (spread, middle float64) {
		n := min(len(t.answers), len(t.requests)-thinking)
		for k := range n {
			if after[k] = t.requests[k+thinking].came - t.answers[k].at; after[k] < 0 { // before its answer
				return math.Inf(1), 0
			}
		}
		slices.Sort(after[:n])
		return float64(after[n*9/10] - after[n/10]), float64(after[n/2])
	}
	least, _ := vary(0)
	for thinking = 1; thinking < min(mostClients, len(t.requests)/4); thinking++ {
		now, middle := vary(thinking)
		if next, _ := vary(thinking + 1); now < sharper*min(least, next) && now < alikeWaits*middle {
			for k := range min(len(t.answers), len(t.requests)-thinking) {
				waits = append(waits, t.requests[k+thinking].came-t.answers[k].at)
			}
			return thinking, waits
		}
		least = min(least, now)
	}
	return 0, nil
}

// shared reports whether requests take the connection that was idle last more often than by chance.
func (t *traffic) shared() bool {
	idle := slices.Clone(t.requests)
	slices.SortStableFunc(idle, func(a, b incoming) int { return cmp.Compare(a.since, b.since) })
	var waiting []incoming // in the order in which they began
	begun := 0
	var last, expected, variance float64
	for _, x := range t.requests {
		for ; begun < len(idle) && idle[begun].since < x.came; begun++ {
			waiting = append(waiting, idle[begun])
		}
		n := slices.IndexFunc(waiting, func(y incoming) bool { return y.at == x.at })
		if n < 0 {
			continue
		}
		if k := float64(len(waiting)); k > 1 {
			expected += 1 / k
			variance += (1 - 1/k) / k
			if n == len(waiting)-1 {
				last++
			}
		}
		waiting = slices.Delete(waiting, n, n+1)
	}
	return variance > 0 && last > expected+lastIdle*math.Sqrt(variance)
}

// anyConnection has requests come to any connection, each so long after an answer.
func (p *program) anyConnection(t traffic, thinking int, waits []int64) {
	object := int32(len(p.objects))
	x := objectInfo{kind: objectChan, capacity: unlimited, inferred: true, site: p.siteOf(t.requests[0].at)}
	for _, r := range t.requests[:thinking] {
		x.comes = append(x.comes, r.came-p.rec.Start)
	}
	x.thinks = median(slices.Clone(waits), 0)
	p.objects = append(p.objects, x)
	for _, r := range t.requests {
		o := p.op(r.at)
		o.kind, o.arg, o.d = opServe, object, noAnswer
	}
	for k, a := range t.answers {
		d := x.thinks
		if k < len(waits) {
			d = waits[k]
		}
		l := &p.lists[a.wait.list]
		if a.wait.op >= 0 && p.op(a.wait).kind == opServe {
			p.op(a.wait).d = d
		} else if a.wait.op < 0 && l.to == 0 {
			l.ops = append(l.ops, op{kind: opServe, arg: object, d: d, at: a.at, late: -1, free: true, loose: true})
		}
	}
	for _, r := range t.requests {
		if l := &p.lists[r.at.list]; l.to == 0 {
			l.serveAgain()
		}
	}
}

// serveAgain has a connection begin anew with its first request behind its last answer.
func (l *list) serveAgain() {
	is := func(o op) bool { return o.kind == opServe }
	first, last := slices.IndexFunc(l.ops, is), len(l.ops)-1
	for last > first && !is(l.ops[last]) {
		last--
	}
	if last > first {
		l.from, l.to, l.rounds, l.visits = int32(first)+1, int32(last)+1, nil, true
	}
}

// noAnswer is for how long a client waits after an answer that was given before the window.
const noAnswer = -1

// serve has a connection give an answer, whose client comes again, and take a request, or reports that it must wait for one.
func (s *simulation) serve(b *object, i, proc int32, o *instruction) bool {
	switch {
	case o.d != noAnswer:
		s.comes(o.arg, o.d)
	case s.runners[i].laps > 0:
		s.comes(o.arg, s.p.objects[o.arg].thinks)
	}
	var done bool
	if s.runners[i].element, done = s.receive(b, proc); !done {
		b.others.pushFirst(i) // the connection that was idle last is taken first
	}
	return done
}

// comes has a request come after d.
func (s *simulation) comes(object int32, d int64) {
	s.deliveries = append(s.deliveries, delivery{object, 0})
	s.at(d, happenSent, int32(len(s.deliveries)-1))
}
