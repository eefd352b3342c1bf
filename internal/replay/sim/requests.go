package sim

import (
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Clients of another process form a closed loop: each waits for its answer, thinks, and sends the
// next request. With n clients that think for z ns, and answers after r ns, the throughput is
// n/(r+z), the response-time law of Denning and Buzen's operational analysis. Where clients share
// connections (an HTTP client's pool) the next request may come over any that is idle, and one is
// idle for longer the more of them there are. So the idle times of the recording do not show z, and
// cannot be kept: what is kept is z. Package doubt finds that, and n, in its clients.go.
// TestClientsOfSharedConnections holds answers of 8 and of 40 clients within 2 points.

// serve has a connection give an answer, whose client comes again d ns later, and take a request,
// or reports that it must wait for one. The first time round there may be no answer (NoAnswer), to
// a request from before the window; in later rounds there is, and its client takes the usual time.
func (s *Simulation) serve(b *object, i, proc int32, o *instruction) bool {
	switch {
	case o.d != model.NoAnswer:
		s.comes(o.arg, o.d)
	case s.runners[i].laps > 0:
		s.comes(o.arg, s.P.Objects[o.arg].Thinks)
	}
	var done bool
	if s.runners[i].element, done = s.receive(b, proc); !done {
		// As by net/http (Transport.queueForIdleConn) and database/sql (DB.conn).
		b.others.pushFirst(i) // the connection that was idle last is taken first
	}
	return done
}

// comes has a request come after d ns. It has no work of its own (element 0): the work behind the
// wait of the connection that takes it is in that connection's list.
func (s *Simulation) comes(object int32, d int64) {
	s.deliveries = append(s.deliveries, delivery{object, 0})
	s.at(d, happenSent, int32(len(s.deliveries)-1))
}

// A client of a server makes a channel for the answer, and may have gone on without it. In a replay
// the same request may be made again while the server still works on it, as an example of what is
// done when no answer comes in time: then its answer must not be taken for that of the new one. In
// ms, with a client that waits for 5 at most and a server that takes 9:
//
//	client  asks (made 1) 0..5, goes on without, asks again (made 2) 6..11
//	server  works (begun 1) 0..9, answers: 1 is less than 2, so that the answer is left out
//
// In the program each request has a channel of its own, and the late answer stays in one that
// nothing receives from. In the replay both are one object, made new for each request.

// FindRequests finds the elements whose answer goes to a channel that is made for the select
// statement behind them: the last element that the goroutine has sent before it to a goroutine that
// serves. It sets p.Asks anew, nil where there are none, and Choice.Asks. Choices and segments must
// have their final places.
func FindRequests(p *model.Program) {
	p.Asks = nil
	for i := range p.Choices {
		c := &p.Choices[i]
		if c.Made == trace.None {
			continue
		}
		l := &p.Lists[c.List]
		for k := c.Op - 1; k >= 0 && l.Ops[k].Kind != model.OpChoose; k-- {
			if o := &l.Ops[k]; o.Kind == model.OpSend && o.Segment > 0 && p.Op(p.Segments[o.Segment]).Head {
				if p.Asks == nil {
					p.Asks = make([]int32, len(p.Segments))
				}
				p.Asks[o.Segment], c.Asks = c.Made+1, true
				break
			}
		}
	}
}

// A request is how often one has been made, and how often work on it has begun. As work on requests
// begins in the order in which they are made, the nth work is on the nth request.
type request struct{ made, begun int32 }

// asked returns the channel for the answer to an element, none if none is known.
func asked(p *model.Program, element int32) int32 {
	if p.Asks == nil {
		return trace.None
	}
	return p.Asks[element] - 1
}

// request notes that a request is made, with a channel of its own for the answer, which is empty.
// Nothing is noted for other elements, nor for element 0.
func (s *Simulation) request(element int32) {
	if made := asked(s.P, element); made != trace.None {
		s.requests[element].made++
		s.makeNew(made)
	}
}

// makeNew makes a channel new, unless a goroutine waits there, which it would leave for ever.
func (s *Simulation) makeNew(channel int32) {
	s.standIn[channel] = channel
	if b := &s.objects[channel]; b.queue.len() == 0 && b.others.len() == 0 {
		b.begin(&s.P.Objects[channel])
	}
}

// works notes that a runner begins to work on an element, and is done with the one before.
func (s *Simulation) works(r *runner, element int32) {
	r.serving = 0
	if asked(s.P, element) != trace.None {
		s.requests[element].begun++
		r.serving, r.request = element, s.requests[element].begun
	}
}

// outdated reports whether a runner sends to a channel the answer to a request that has been made
// again since.
func (s *Simulation) outdated(r *runner, object int32) bool {
	return r.serving > 0 && asked(s.P, r.serving) == object && r.request < s.requests[r.serving].made
}
