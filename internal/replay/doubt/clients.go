package doubt

import (
	"cmp"
	"math"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Clients of another process may share connections, as those of an HTTP client's pool do: a client
// that waits has none, and its next request takes one that is idle. How long a connection is idle
// is then not for how long a client waits between an answer and its next request, and where answers
// come sooner fewer connections are in use, with no more requests on each.

const (
	// mostClients bounds how many of them are tried to wait when the window begins.
	mostClients = 512
	// How many clients there are is known if eight tenths of their waits are within this part of
	// the median, and of what they would be within with fewer clients, or one more.
	alikeWaits, sharper = 0.3, 0.5
	// lastIdle is by how many standard errors more requests than by chance must take the connection
	// that was idle last, for connections to be shared.
	lastIdle = 4
)

// A Traffic is the requests to a progress point, in the order in which they came, and their
// answers, in the order in which they were given.
type Traffic struct {
	Requests []Incoming
	Answers  []Outgoing
	closed   bool // a connection was closed in the window
}

// An Incoming request ends the wait of a connection that has been idle since the answer before, or
// the window began.
type Incoming struct {
	Since, Came int64
	At          model.Place // the wait
}

// An Outgoing answer begins the wait of a connection, op -1 if that is not over when the window is.
type Outgoing struct {
	At   int64
	Wait model.Place
}

// ShareConnections returns the program with requests of a known number of clients on any
// connection. Where connections are shared, and the recording does not show by how many clients, it
// returns another program, with requests at the times at which they came: how many more come where
// answers come sooner is between that and as many more as there would be on each connection. Both
// are nil if no connections are shared.
func ShareConnections(p *model.Program) (known, open *model.Program) {
	for _, t := range traffics(p) {
		if len(t.Answers) < infer.LeastTurns || len(t.Requests) < infer.LeastTurns || p.Op(t.Requests[0].At).Arrives {
			continue
		}
		if thinking, waits := t.Clients(); thinking > 0 && !t.closed {
			if known == nil {
				known = p.Rewritten()
			}
			anyConnection(known, t, thinking, waits)
		}
		if t.Shared() {
			if open == nil {
				open = p.Rewritten()
			}
			for _, x := range t.Requests {
				open.Op(x.At).Arrives = true
			}
		}
	}
	return known, open
}

// OfClients returns the program with requests of clients in place of those of connections, if that
// meets the recording, else bounds.
func OfClients(p *model.Program, base sim.Outcome) (_ *model.Program, _ sim.Outcome, bounds []Alternative) {
	d := p.Rec.End - p.Rec.Start
	known, open := ShareConnections(p)
	if known != nil {
		if o := sim.Simulate(known, sim.Change{}, d); Misses(known, &o, d) <= MaxDeviation {
			return known, o, nil
		}
	}
	if open != nil {
		bounds = append(bounds, Alternative{P: open, Base: sim.Simulate(open, sim.Change{}, d)})
	}
	return p, base, bounds
}

// traffics returns those to each progress point.
func traffics(p *model.Program) []Traffic {
	all := make([]Traffic, len(p.Points))
	for l := range p.Lists {
		p.Rec.Rests()
		if p.Lists[l].Serves < 0 {
			trafficOf(p, int32(l), all)
		}
	}
	for i := range all {
		slices.SortFunc(all[i].Requests, func(a, b Incoming) int { return cmp.Compare(a.Came, b.Came) })
		slices.SortFunc(all[i].Answers, func(a, b Outgoing) int { return cmp.Compare(a.At, b.At) })
	}
	return all
}

// trafficOf adds what comes to one goroutine from outside, by the progress point that the spans of
// its work are.
func trafficOf(p *model.Program, list int32, all []Traffic) {
	l := &p.Lists[list]
	last, point, root := int32(-1), int32(-1), int32(-1) // the wait before, and what followed
	before := false                                      // that began with the answer to a request from before the window
	closed := false
	for k := range l.Ops {
		o := &l.Ops[k]
		switch {
		case o.Kind == model.OpOut && o.Free && (o.Reason == trace.WaitNetwork || begun(o) <= p.Rec.Start):
			if point >= 0 {
				all[point].Answers = append(all[point].Answers, Outgoing{begun(o), model.Place{List: list, Op: int32(k)}})
			}
			before = last < 0 && !l.Born && begun(o) > p.Rec.Start
			last, point, closed = int32(k), -1, false
		case o.Kind == model.OpOpen && last >= 0 && point < 0 && int32(k)-last < infer.OpensWithin && p.Rec.Spans[o.Arg].Root:
			if point, root = p.PointOf[o.Arg], o.Arg; point < 0 {
				continue
			}
			w, t := &l.Ops[last], &all[point]
			t.Requests = append(t.Requests, Incoming{begun(w), w.At, model.Place{List: list, Op: last}})
			if before {
				t.Answers = append(t.Answers, Outgoing{begun(w), model.Place{List: list, Op: last}})
			}
		case o.Kind == model.OpClose && o.Arg == root:
			closed = true
		}
	}
	if point >= 0 && closed {
		all[point].Answers = append(all[point].Answers, Outgoing{l.Ops[len(l.Ops)-1].At, model.Place{List: list, Op: -1}})
		all[point].closed = all[point].closed || l.Ended
	}
}

// begun returns when a wait began.
func begun(o *model.Op) int64 { return o.At - o.D }

// Clients returns how many clients wait when the window begins, and for how long one waits from
// each answer to its next request. That varies least for the right number, if clients wait for
// about the same time. It returns 0 if that is not known, or each has a connection.
func (t *Traffic) Clients() (thinking int, waits []int64) {
	after := make([]int64, len(t.Answers))
	vary := func(thinking int) (spread, middle float64) {
		n := min(len(t.Answers), len(t.Requests)-thinking)
		for k := range n {
			if after[k] = t.Requests[k+thinking].Came - t.Answers[k].At; after[k] < 0 { // before its answer
				return math.Inf(1), 0
			}
		}
		slices.Sort(after[:n])
		return float64(after[n*9/10] - after[n/10]), float64(after[n/2])
	}
	least, _ := vary(0)
	for thinking = 1; thinking < min(mostClients, len(t.Requests)/4); thinking++ {
		now, middle := vary(thinking)
		if next, _ := vary(thinking + 1); now < sharper*min(least, next) && now < alikeWaits*middle {
			for k := range min(len(t.Answers), len(t.Requests)-thinking) {
				waits = append(waits, t.Requests[k+thinking].Came-t.Answers[k].At)
			}
			return thinking, waits
		}
		least = min(least, now)
	}
	return 0, nil
}

// Shared reports whether requests take the connection that was idle last more often than by chance.
func (t *Traffic) Shared() bool {
	idle := slices.Clone(t.Requests)
	slices.SortStableFunc(idle, func(a, b Incoming) int { return cmp.Compare(a.Since, b.Since) })
	var waiting []Incoming // in the order in which they began
	begun := 0
	var last, expected, variance float64
	for _, x := range t.Requests {
		for ; begun < len(idle) && idle[begun].Since < x.Came; begun++ {
			waiting = append(waiting, idle[begun])
		}
		n := slices.IndexFunc(waiting, func(y Incoming) bool { return y.At == x.At })
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
func anyConnection(p *model.Program, t Traffic, thinking int, waits []int64) {
	object := int32(len(p.Objects))
	x := model.ObjectInfo{Kind: model.ObjectChan, Capacity: model.Unlimited, Inferred: true, Site: p.SiteOf(t.Requests[0].At)}
	for _, r := range t.Requests[:thinking] {
		x.Comes = append(x.Comes, r.Came-p.Rec.Start)
	}
	x.Thinks = infer.Median(slices.Clone(waits), 0)
	p.Objects = append(p.Objects, x)
	for _, r := range t.Requests {
		o := p.Op(r.At)
		o.Kind, o.Arg, o.D = model.OpServe, object, model.NoAnswer
	}
	for k, a := range t.Answers {
		d := x.Thinks
		if k < len(waits) {
			d = waits[k]
		}
		l := &p.Lists[a.Wait.List]
		if a.Wait.Op >= 0 && p.Op(a.Wait).Kind == model.OpServe {
			p.Op(a.Wait).D = d
		} else if a.Wait.Op < 0 && l.To == 0 {
			l.Ops = append(l.Ops, model.Op{Kind: model.OpServe, Arg: object, D: d, At: a.At, Late: -1, Free: true, Loose: true})
		}
	}
	for _, r := range t.Requests {
		if l := &p.Lists[r.At.List]; l.To == 0 {
			l.ServeAgain()
		}
	}
}
