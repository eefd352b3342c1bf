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
//
// Two clients (a, b) think for 5 ms after an answer. Each request takes the connection that became
// idle last, as queueForIdleConn in net/http/transport.go has it (times in ms):
//
//	connection 1  |a 0..2|   idle for 6   |b 8..10|
//	connection 2   |b 1..3|  idle for 4  |a 7..9|
//
// N clients in a closed loop, each with a response time R and a think time Z, make N / (R + Z)
// requests in a unit of time: the interactive response time law of Denning and Buzen's operational
// analysis. The replay of connections has their idle times in the place of Z. So requests are taken
// off the connections. Where the number of clients is known, they are a closed loop over any of the
// connections. Where it is not, the truth is between an open loop, in which a faster answer brings
// no request, and a closed loop on each connection, in which it brings too many. Schroeder, Wierman
// and Harchol-Balter, Open Versus Closed: A Cautionary Tale, NSDI 2006, show how far both differ.
//
// TestClientsOfSharedConnections in package replay has 8 and 40 clients that think for about the
// same time, which are found, and 8 that do not, which are bounded. TestConnectionsOfTheirOwn has a
// connection for each client, which are left alone. Pools that hand out the connection that was
// idle longest are not taken for shared.

const (
	// mostClients bounds how many of them are tried to wait when the window begins. Each try sorts
	// the answers of the window.
	mostClients = 512
	// How many clients there are is known if eight tenths of their waits are within this part of
	// the median, and of what they would be within with fewer clients, or one more. Larger, and
	// waits that scatter have a number that is there by chance; smaller, and timers that are late
	// hide the right one.
	alikeWaits, sharper = 0.3, 0.5
	// lastIdle is by how many standard errors more requests than by chance must take the connection
	// that was idle last, for connections to be shared.
	lastIdle = 4
)

// A Traffic is the requests to a progress point, in the order in which they came, and their
// answers, in the order in which they were given.
type Traffic struct {
	Requests []Incoming // in order of Came
	Answers  []Outgoing // in order of At
	closed   bool       // a connection was closed in the window: its client may have gone, too
}

// An Incoming request ends the wait of a connection that has been idle since the answer before, or
// the window began.
type Incoming struct {
	Since, Came int64       // when the wait began and ended, on the recording's clock, ns
	At          model.Place // the wait
}

// An Outgoing answer begins the wait of a connection, op -1 if that is not over when the window is.
type Outgoing struct {
	At   int64       // on the recording's clock, ns
	Wait model.Place // for the next request on the same connection
}

// ShareConnections returns the program with requests of a known number of clients on any
// connection. Where connections are shared, and the recording does not show by how many clients, it
// returns another program, with requests at the times at which they came: how many more come where
// answers come sooner is between that and as many more as there would be on each connection. Both
// are nil if no connections are shared. Copies of p are returned; p is not changed.
func ShareConnections(p *model.Program) (known, open *model.Program) {
	for _, t := range traffics(p) {
		// Requests that arrive as an open loop are known to depend on no answer.
		if len(t.Answers) < infer.LeastTurns || len(t.Requests) < infer.LeastTurns || p.Op(t.Requests[0].At).Arrives {
			continue
		}
		if thinking, waits := t.Clients(p.Rec); thinking > 0 && !t.closed {
			if known == nil {
				known = p.Rewritten()
			}
			anyConnection(known, t, thinking, waits)
		}
		if t.Shared(p.Rec) {
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
// meets the recording, else p and bounds. Base is the replay of p with nothing changed; what is
// returned is that of the returned program.
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

// traffics returns those to each progress point. A goroutine that serves elements of a channel has
// no connection of its own.
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
// its work are. A goroutine that reads a connection has this cycle, as that of net/http's server:
//
//	wait for the network, with no span open | root span opens ... closes | wait for the network
//	                      request: its end                        answer: its beginning
//
// A wait that no root span follows within a few ops is none of a request, as one for the rest of a
// body, and the next wait takes its place.
func trafficOf(p *model.Program, list int32, all []Traffic) {
	l := &p.Lists[list]
	last, point, root := int32(-1), int32(-1), int32(-1) // the wait before, and what followed
	before := false                                      // that began with the answer to a request from before the window
	closed := false
	for k := range l.Ops {
		o := &l.Ops[k]
		switch {
		case o.Kind == model.OpOut && o.Free && (o.Reason == trace.WaitNetwork || begun(o) <= p.Rec.Start):
			// What came before this wait was a request: the wait begins with its answer.
			if point >= 0 {
				all[point].Answers = append(all[point].Answers, Outgoing{begun(o), model.Place{List: list, Op: int32(k)}})
			}
			before = last < 0 && !l.Born && begun(o) > p.Rec.Start
			last, point, closed = int32(k), -1, false
		case o.Kind == model.OpOpen && last >= 0 && point < 0 && int32(k)-last < infer.OpensWithin && p.Rec.Spans[o.Arg].Root:
			if point, root = p.PointOf[o.Arg], o.Arg; point < 0 {
				continue
			}
			// The span shows of which progress point the wait before was. If the window began while
			// a request was worked on, that wait began with the answer to it, which is an answer to
			// the same point: a connection has requests of one kind, or is taken to.
			w, t := &l.Ops[last], &all[point]
			t.Requests = append(t.Requests, Incoming{begun(w), w.At, model.Place{List: list, Op: last}})
			if before {
				t.Answers = append(t.Answers, Outgoing{begun(w), model.Place{List: list, Op: last}})
			}
		case o.Kind == model.OpClose && o.Arg == root:
			closed = true
		}
	}
	// The last answer of the window has no wait behind it, where the connection was closed, or the
	// window is over before the goroutine waits.
	if point >= 0 && closed {
		all[point].Answers = append(all[point].Answers, Outgoing{l.Ops[len(l.Ops)-1].At, model.Place{List: list, Op: -1}})
		all[point].closed = all[point].closed || l.Ended
	}
}

// begun returns when a wait began.
func begun(o *model.Op) int64 { return o.At - o.D }

// Clients returns how many clients wait when the window begins, and for how long one waits from
// each answer to its next request, ns, by answer. That varies least for the right number, if
// clients wait for about the same time. It returns 0 if that is not known, or each has a
// connection.
//
// Clients that think for the same time come back in the order in which they were answered. If two
// of them think when the window begins, the first two requests are theirs, and the third one
// follows the first answer:
//
//	answers           A1    A2    A3
//	requests  R1  R2     R3    R4    R5     2 thinking: R3-A1, R4-A2, R5-A3 are alike
//	                                        1 thinking: R2-A1 is below 0, which cannot be
//
// One client too many makes each wait longer by the time to the next request, which scatters. So
// what is looked for is a number with much less scatter than both of its neighbours, by the width
// of the middle eight tenths. Where all clients are being served when the window begins, the number
// is 0, which is not looked for. Each number that is tried takes a sort of the answers, and a rest.
func (t *Traffic) Clients(rec *trace.Recording) (thinking int, waits []int64) {
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
	// Each number is held against the best of all smaller ones, and against the next one.
	least, _ := vary(0)
	now, middle := vary(1)
	for thinking = 1; thinking < min(mostClients, len(t.Requests)/4); thinking++ {
		rec.Rests()
		next, later := vary(thinking + 1)
		if now < sharper*min(least, next) && now < alikeWaits*middle {
			for k := range min(len(t.Answers), len(t.Requests)-thinking) {
				waits = append(waits, t.Requests[k+thinking].Came-t.Answers[k].At)
			}
			return thinking, waits
		}
		least, now, middle = min(least, now), next, later
	}
	return 0, nil
}

// Shared reports whether requests take the connection that was idle last more often than by chance.
//
// A pool keeps idle connections as a stack. If each client had its own connection instead, which of
// k idle ones the next request comes on would not depend on which was idle last: that one has a
// chance of 1/k, if clients are alike. The number of such requests has a mean of the sum of 1/k and
// a variance of the sum of 1/k (1 - 1/k), and is compared with them as a normal variable. It takes
// n times the connections that are idle at a time.
func (t *Traffic) Shared(rec *trace.Recording) bool {
	idle := slices.Clone(t.Requests)
	slices.SortStableFunc(idle, func(a, b Incoming) int { return cmp.Compare(a.Since, b.Since) })
	var waiting []Incoming // the connections that are idle now, in the order in which that began
	begun := 0
	var last, expected, variance float64
	for i, x := range t.Requests {
		rec.RestsAt(i)
		for ; begun < len(idle) && idle[begun].Since < x.Came; begun++ {
			waiting = append(waiting, idle[begun])
		}
		n := slices.IndexFunc(waiting, func(y Incoming) bool { return y.At == x.At })
		if n < 0 {
			continue
		}
		if k := float64(len(waiting)); k > 1 { // with one idle connection there is no choice
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

// anyConnection has requests come to any connection, each so long after an answer. It changes p. A
// channel stands for the clients: an answer puts a request in it after the client's think time, and
// connections take requests out of it, the one that was idle last first, see serve in package sim.
func anyConnection(p *model.Program, t Traffic, thinking int, waits []int64) {
	object := int32(len(p.Objects))
	x := model.ObjectInfo{Kind: model.ObjectChan, Capacity: model.Unlimited, Inferred: true, Site: p.SiteOf(t.Requests[0].At)}
	// Clients that think when the window begins come as they came. All others are in the window
	// with a request, and come back when that is answered.
	for _, r := range t.Requests[:thinking] {
		x.Comes = append(x.Comes, r.Came-p.Rec.Start)
	}
	x.Thinks = infer.Median(slices.Clone(waits), 0)
	p.Objects = append(p.Objects, x)
	// A wait for a request has no think time yet: it gets that of the answer with which it begins,
	// below, and keeps NoAnswer if it was under way when the window began.
	for _, r := range t.Requests {
		o := p.Op(r.At)
		o.Kind, o.Arg, o.D = model.OpServe, object, model.NoAnswer
	}
	// Answers for which the window has no next request are followed by the median wait.
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
	// A connection's list may end early in a faster program, and begins anew behind its last
	// answer.
	for _, r := range t.Requests {
		if l := &p.Lists[r.At.List]; l.To == 0 {
			l.ServeAgain()
		}
	}
}
