package infer

import (
	"math"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A request that goes through a socket within one process leaves two waits for the network, of
// which a trace shows no waker: the poller ends both. Left alone each would last as long as it did.
// A client whose server is faster would get its answer at the recorded time, and a server whose
// client is faster its request. Where spans carry a trace context the two ends have one trace, and
// that joins them:
//
//	client   open .... writes . waits .............................. goes on .... close
//	                     \ lag                                      / lag
//	server   waits ...... goes on . open .... works .... close . writes . waits
//
// Each arrow becomes a send behind an op, whose element takes the recorded lag on its way, and a
// receive in place of the wait. Goroutines that read connections are alike: each kind of them (one
// outermost function, such as conn.serve of net/http/server.go) is a pool of servers of one object,
// and of as many as it takes: a client that finds no connection idle opens another, and limits the
// number of these itself, before it sends, if at all.
// What a goroutine does behind its receive is the element's, so that a request in the replay need
// not go over the recorded connection; which one it takes is an accident.
//
// What is known is when spans were open, not when bytes were written. A request was sent behind the
// client's open, an answer behind the server's close or shortly before (flush). Waits of the same
// ends that belong to no span, such as for the rest of a body, take no time then: they would pace
// the connection by the recording. It is wrong if spans of both ends have one trace for another
// reason, such as a message queue of another process: then an element stands in for what the queue
// did, with its time as lag.

// connect joins what goes through the network within the process: a client's span and the server's
// span whose remote parent it is. The server's goroutine cannot have the request before the client
// has sent it, and the client not the answer before the server has. Each kind of goroutine that
// reads connections is a pool of servers, to which requests or answers are sent. Connections
// without spans at both ends follow (wire), and calls of other processes (calls). Behind it lists
// have no marks of writes.
func connect(p *model.Program) {
	parents := p.Rec.RemoteParents()
	if len(parents) == 0 && !p.Writes {
		return
	}
	c := &connector{
		p: p, opened: model.Nowhere(len(p.Rec.Spans)), closed: model.Nowhere(len(p.Rec.Spans)), wakers: p.Wakers(), spanned: p.Spanned(),
		pools: map[pool]int32{}, insert: map[int32][]insertion{}, inside: map[int32]bool{}, joined: map[listener]bool{},
		readers: trace.Numbered(p.Rec.Sites, trace.Site.Reader), homes: p.Rec.Homes(),
	}
	for at, o := range p.All() {
		switch o.Kind {
		case model.OpOpen:
			c.opened[o.Arg] = at
		case model.OpClose:
			c.closed[o.Arg] = at
		}
	}
	c.joinSpans(parents)
	// What spans show is better known than what times show, and comes first.
	if p.Rec.Uses(ruleSockets) {
		c.wire()
	}
	if p.Rec.Uses(ruleExternalCalls) {
		c.calls()
	}
	c.apply()
	// A mark of a write has done its duty. It stays as an op that takes no time.
	for _, o := range p.All() {
		if o.Kind == model.OpWrite {
			o.Kind, o.Site = model.OpRun, 0
		}
	}
}

// joinSpans joins each server's span with its parent, by the span ID that came with the request; -1
// is one of another process. A client's span that began before the window is not in a list.
func (c *connector) joinSpans(parents map[uint64]int32) {
	for i, s := range c.p.Rec.Spans {
		c.p.Rec.RestsAt(i)
		if s.Remote == 0 || parents[s.Remote] < 0 {
			continue
		}
		client := parents[s.Remote]
		// A handler that is called in place, on the goroutine of its client, has no network in
		// between.
		if c.opened[client].List < 0 || c.opened[i].List < 0 || c.opened[client].List == c.opened[i].List {
			continue
		}
		c.request(c.opened[client], c.opened[i])
		if c.closed[i].List >= 0 {
			c.answer(int(client), i)
		}
	}
	for _, at := range c.there {
		c.joinAt(at[0], at[1])
	}
}

// A connector joins the ends of connections. Until apply is called no op is put in: places are the
// ones of the lists as they are.
type connector struct {
	p              *model.Program
	opened, closed []model.Place // of spans, in list -1 if not in the window
	wakers         []model.Place // of tokens, in list -1 for none
	spanned        []bool        // lists in which spans begin
	// pools are objects by the function that the readers began with, insert is by list, in any
	// order.
	pools   map[pool]int32
	insert  map[int32][]insertion
	inside  map[int32]bool   // segments whose work begins with an op that is inserted
	there   [][2]model.Place // opens of clients and servers whose requests came before these waited
	readers []int32          // of sites: number of the place where connections are read
	joined  map[listener]bool
	homes   []int32 // the process of each list, nil for one
}

// A pool is goroutines of one process that began with one function.
type pool struct {
	process int32
	root    string
}

func poolOf(s trace.Site) pool { return pool{s.Process, s.Root()} }

// A listener is a goroutine's end of a connection: where it reads that.
type listener struct{ list, reader int32 }

// An insertion is an op to come behind another one, or, with -1, before the first one. The work of
// a segment may begin with it.
type insertion struct {
	behind  int32
	segment int32 // 0 for none
	o       model.Op
}

// flush is how long before the end of a server's span its answer may have left, ns: a handler may
// write its answer, and its client read it, before the middleware ends the span. With a larger one
// a wait that ended before is taken for the wait for the answer, with a smaller one answers are
// missed.
const flush = 50_000

// request joins the server's wait for a request with the client's span. Both are places of OpOpen.
// The wait is found going back from the server's open, cond.Within ops at most in each list: by one
// hand-over from a reader (a token), or to the goroutine that started this one, three goroutines at
// most. The wait must have ended behind the client's open. Without such a wait the bytes had come
// already, as with a second request in one read, or while the server was not done with the one
// before.
func (c *connector) request(client, server model.Place) {
	if at, ok := c.wait(server, c.p.Op(client).At); ok {
		c.join(client, at)
		return
	}
	c.there = append(c.there, [2]model.Place{client, server})
}

// wait returns where a server waited for a request that was sent at a time, ns.
func (c *connector) wait(at model.Place, sent int64) (model.Place, bool) {
	// net/http reads on the goroutine that serves; gRPC has a reader, which starts or wakes the one
	// that serves. Behind the wait of the reader there is no further hop.
	for hops := range 3 {
		l := &c.p.Lists[at.List]
		found := false
		for k := at.Op - 1; k >= max(0, at.Op-cond.Within); k-- {
			o := &l.Ops[k]
			// What is before a head is another request's.
			if o.Kind == model.OpReceive && o.Head {
				break
			}
			if (o.Kind == model.OpOut && o.Reason == trace.WaitNetwork) && o.At > sent {
				return model.Place{List: at.List, Op: k}, true
			}
			if o.Kind == model.OpWait && o.Reason != trace.WaitMutex && o.At > sent && hops == 0 && c.wakers[o.Arg].List >= 0 { // a reader hands it over
				at = c.wakers[o.Arg]
				found = true
				break
			}
		}
		if found {
			continue
		}
		if hops == 0 && l.Serves >= 0 || !l.Born || l.Spawned.List < 0 {
			break
		}
		at = l.Spawned // a goroutine for each request
	}
	return at, false
}

// joinAt has the server take the request before its span begins, without a wait. It needs to know
// the pool that the server is of, by a wait that was joined. Without one the server's span begins
// when its goroutine comes to it, by what else that waits for.
// What the goroutine starts just before the span is for this request, too, such as one that watches
// the connection. The segment begins with the receive that is put in, see inside.
func (c *connector) joinAt(client, server model.Place) {
	l := &c.p.Lists[server.List]
	if l.Serves < 0 {
		return
	}
	for k := server.Op - 1; k >= 0 && (l.Ops[k].Kind == model.OpRun || l.Ops[k].Kind == model.OpSpawn); k-- {
		if l.Ops[k].Kind == model.OpSpawn {
			server.Op = k
		}
	}
	o := l.Ops[server.Op]
	segment := c.p.AddSegment(model.Place{List: server.List, Op: server.Op - 1})
	c.inside[segment] = true
	c.insert[server.List] = append(c.insert[server.List], insertion{server.Op - 1, segment, model.Op{Kind: model.OpReceive, Arg: l.Serves, At: o.At, Head: true, Site: c.p.Objects[l.Serves].Site, Late: -1, Free: true}})
	from, lag := c.sent(client, o.At)
	c.insert[from.List] = append(c.insert[from.List], insertion{from.Op, 0, model.Op{Kind: model.OpSend, Arg: l.Serves, D: lag, At: c.p.Op(from).At, Segment: segment, Set: c.p.Op(from).Set}})
}

// sent returns behind which op something was sent that arrived at a time, and for how long it was
// on its way, ns, at least 0. From the op that is given it goes on over what computes and what
// writes, as far as that was over when it arrived: the later the send, the less of the lag is the
// sender's own time.
func (c *connector) sent(from model.Place, at int64) (model.Place, int64) {
	ops := c.p.Lists[from.List].Ops
	for int(from.Op)+1 < len(ops) && ops[from.Op+1].At <= at && (ops[from.Op+1].Kind == model.OpRun || ops[from.Op+1].Kind == model.OpWrite) {
		from.Op++
	}
	return from, max(0, at-ops[from.Op].At)
}

// answer joins the client's wait for an answer with the end of the server's span. The first wait on
// the client's goroutine that ended behind the server's close is the one, or, if another goroutine
// ended it, the wait for the network that this one had before (a reader). It does nothing where a
// channel or anything else let the client go on, nor behind the end of the client's span: a client
// that has gone on without an answer, as a producer does, waits for something else then.
func (c *connector) answer(client, server int) {
	from, opened, closed := c.opened[client], c.opened[server], c.closed[server]
	done, until := c.p.Op(closed).At-flush-c.slack(from.List, closed.List), int64(math.MaxInt64)
	if over := c.closed[client]; over.List >= 0 {
		until = c.p.Op(over).At + flush // another goroutine may have ended the span, and woken this one
	}
	l := &c.p.Lists[from.List]
	// FirstAt counts from the op behind the client's open.
	for k := from.Op + 1 + l.FirstAt(from.Op+1, done); int(k) < len(l.Ops) && l.Ops[k].At <= until; k++ {
		o := &l.Ops[k]
		switch {
		case o.Kind == model.OpOut && o.Reason == trace.WaitNetwork:
			c.join(c.before(opened, closed, o.At), model.Place{List: from.List, Op: k})
			return
		case o.Kind == model.OpReceive && !o.Head:
			return
		case o.Kind == model.OpWait:
			w := c.wakers[o.Arg]
			if w.List < 0 {
				return
			}
			r := &c.p.Lists[w.List]
			for j := w.Op - 1; j >= max(0, w.Op-cond.Within); j-- {
				q := &r.Ops[j]
				if q.Kind == model.OpReceive && q.Head {
					return
				}
				if q.Kind == model.OpOut && q.Reason == trace.WaitNetwork {
					// A reader that had the bytes before the server was done hands over something
					// else.
					if q.At >= done {
						c.join(c.before(opened, closed, q.At), model.Place{List: w.List, Op: j})
					}
					return
				}
			}
			return
		}
	}
}

// slack is by how much times of two lists may be off from each other, ns: by their processes'
// clocks.
func (c *connector) slack(a, b int32) int64 {
	if c.homes == nil || c.homes[a] == c.homes[b] {
		return 0
	}
	return c.p.Rec.ClockError()
}

// before returns the last op from one to another of the same list that was over at a time: the
// answer has left by then. A span that ends on another goroutine than it began on has its end
// alone.
func (c *connector) before(from, to model.Place, at int64) model.Place {
	if from.List != to.List {
		return to
	}
	l := &c.p.Lists[to.List]
	for to.Op > from.Op && l.Ops[to.Op].At > at {
		to.Op--
	}
	return to
}

// join has the wait at one place end when the op at the other is over, and as much later as it was.
// The wait becomes a receive with which work begins, its list one that serves the pool's object.
// The send is put in by apply, and has the regions of the op that it is behind: a faster region has
// a shorter lag, as it is part of its wait. To must be a wait for the network.
func (c *connector) join(from, to model.Place) {
	o := c.p.Op(to)
	l := &c.p.Lists[to.List]
	key := poolOf(c.p.Rec.Sites[o.Site])
	object, ok := c.pools[key]
	if !ok {
		object = int32(len(c.p.Objects))
		c.p.Objects = append(c.p.Objects, model.ObjectInfo{Kind: model.ObjectChan, Capacity: model.Unlimited, Inferred: true, Site: o.Site, Hires: to.List + 1})
		c.pools[key] = object
	}
	from, lag := c.sent(from, o.At)
	c.insert[from.List] = append(c.insert[from.List], insertion{from.Op, 0, model.Op{Kind: model.OpSend, Arg: object, D: lag, At: c.p.Op(from).At, Segment: c.p.AddSegment(to), Set: c.p.Op(from).Set}})
	c.joined[listener{to.List, c.readers[o.Site]}] = true
	o.Kind, o.Arg, o.D, o.Head = model.OpReceive, object, 0, true
	l.Serves = object
}

// apply puts the sends into the lists, and moves all places that are kept: of segments, and of the
// ops that started goroutines. Several behind one op stay in the order in which they were found. It
// takes n log n for n insertions, and copies the lists that have any.
func (c *connector) apply() {
	// The lists before: place k has as many insertions before it as moved has numbers below k.
	moved := map[int32][]int32{} // by list: the ops behind which one was inserted, in order
	for list, all := range c.insert {
		slices.SortStableFunc(all, func(a, b insertion) int { return int(a.behind - b.behind) })
		l := &c.p.Lists[list]
		ops := make([]model.Op, 0, len(l.Ops)+len(all))
		for k := -1; k < len(l.Ops); k++ {
			if k >= 0 {
				ops = append(ops, l.Ops[k])
			}
			for ; len(all) > 0 && int(all[0].behind) == k; all = all[1:] {
				// The number of the op that is put in is known only here.
				if x := all[0].segment; x > 0 {
					c.p.Segments[x].Op = int32(len(ops))
				}
				ops = append(ops, all[0].o)
				moved[list] = append(moved[list], int32(k))
			}
		}
		l.Ops = ops
	}
	shift := func(at *model.Place) {
		n, _ := slices.BinarySearch(moved[at.List], at.Op)
		at.Op += int32(n)
	}
	for i := 1; i < len(c.p.Segments); i++ {
		if !c.inside[int32(i)] {
			shift(&c.p.Segments[i])
		}
	}
	for i := range c.p.Lists {
		l := &c.p.Lists[i]
		if l.Born && l.Spawned.List >= 0 {
			shift(&l.Spawned)
		}
		if l.Serves < 0 {
			continue
		}
		for k := range l.Ops { // waits of the same connections that belong to no request
			if o := &l.Ops[k]; o.Kind == model.OpOut && o.Reason == trace.WaitNetwork && c.joined[listener{int32(i), c.readers[o.Site]}] {
				o.D = 0
			}
		}
	}
}
