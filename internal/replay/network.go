package replay

import (
	"cmp"
	"slices"
)

// connect joins what goes through the network within the process: a client's span and the server's span whose remote parent
// it is. The server's goroutine cannot have the request before the client has sent it, and the client not the answer before
// the server has. Each kind of goroutine that reads connections is a pool of servers, to which requests or answers are sent.
func (p *program) connect() {
	parents := p.rec.remoteParents()
	if len(parents) == 0 && !p.writes {
		return
	}
	c := &connector{p: p, opened: make([]place, len(p.rec.spans)), closed: make([]place, len(p.rec.spans)), pools: map[string]int32{}, insert: map[int32][]insertion{}, inside: map[int32]bool{}}
	for i := range c.opened {
		c.opened[i], c.closed[i] = place{-1, -1}, place{-1, -1}
	}
	c.readers, c.joined = numbered(p.rec.sites, Site.reader), map[listener]bool{}
	c.wakers, c.spanned = slices.Repeat([]place{{-1, -1}}, int(p.tokens)), make([]bool, len(p.lists))
	for l := range p.lists {
		for k := range p.lists[l].ops {
			p.rec.restsAt(k)
			switch o := &p.lists[l].ops[k]; o.kind {
			case opOpen:
				c.spanned[l] = true
				c.opened[o.arg] = place{int32(l), int32(k)}
			case opClose:
				c.closed[o.arg] = place{int32(l), int32(k)}
			case opWake:
				c.wakers[o.arg] = place{int32(l), int32(k)}
			}
		}
	}
	for i, s := range p.rec.spans {
		p.rec.restsAt(i)
		if s.remote == 0 || parents[s.remote] < 0 {
			continue
		}
		client := parents[s.remote]
		if c.opened[client].list < 0 || c.opened[i].list < 0 {
			continue
		}
		c.request(c.opened[client], c.opened[i])
		if c.closed[i].list >= 0 {
			c.answer(c.opened[client], c.opened[i], c.closed[i])
		}
	}
	c.wire()
	c.calls()
	c.apply()
	for l := range p.lists {
		for k := range p.lists[l].ops {
			p.rec.restsAt(k)
			if o := &p.lists[l].ops[k]; o.kind == opWrite {
				o.kind, o.site = opRun, 0
			}
		}
	}
}

// A connector joins the ends of connections.
type connector struct {
	p              *program
	opened, closed []place // of spans
	wakers         []place // of tokens
	spanned        []bool  // lists in which spans begin
	pools          map[string]int32
	insert         map[int32][]insertion
	inside         map[int32]bool // segments whose work begins with an op that is inserted
	readers        []int32        // of sites: where connections are read
	joined         map[listener]bool
}

// A listener is a goroutine's end of a connection: where it reads that.
type listener struct{ list, reader int32 }

// An insertion is an op to come behind another one, or, with -1, before the first one. The work of a segment may begin with it.
type insertion struct {
	behind  int32
	segment int32 // 0 for none
	o       op
}

// within is how far back from a span its request is looked for, in ops.
const within = 60

// flush is how long before the end of a server's span its answer may have left, ns.
const flush = 50_000

// request joins the server's wait for a request with the client's span.
func (c *connector) request(client, server place) {
	sent := c.op(client).at
	at := server
	for hops := range 3 {
		l := &c.p.lists[at.list]
		found := false
		for k := at.op - 1; k >= max(0, at.op-within); k-- {
			o := &l.ops[k]
			if o.kind == opReceive && o.head {
				break
			}
			if (o.kind == opOut && o.reason == waitNetwork) && o.at > sent {
				c.join(client, place{at.list, k})
				return
			}
			if o.kind == opWait && o.reason != waitMutex && o.at > sent && hops == 0 && c.wakers[o.arg].list >= 0 { // a reader hands it over
				at = c.wakers[o.arg]
				found = true
				break
			}
		}
		if found {
			continue
		}
		if hops == 0 && (l.serves >= 0 || !l.born || l.spawned.list < 0) {
			c.joinAt(client, server) // it was there already
			return
		}
		if !l.born || l.spawned.list < 0 {
			return
		}
		at = l.spawned // a goroutine for each request
	}
}

// joinAt has the server take the request before its span begins, without a wait.
func (c *connector) joinAt(client, server place) {
	l := &c.p.lists[server.list]
	if l.serves < 0 {
		return
	}
	o := l.ops[server.op]
	c.p.segments = append(c.p.segments, place{server.list, server.op - 1})
	segment := int32(len(c.p.segments) - 1)
	c.inside[segment] = true
	c.insert[server.list] = append(c.insert[server.list], insertion{server.op - 1, segment, op{kind: opReceive, arg: l.serves, at: o.at, head: true, site: c.p.objects[l.serves].site, late: -1, free: true}})
	from, lag := c.sent(client, o.at)
	c.insert[from.list] = append(c.insert[from.list], insertion{from.op, 0, op{kind: opSend, arg: l.serves, d: lag, at: c.op(from).at, segment: segment, set: c.op(from).set}})
}

// sent returns behind which op something was sent that arrived at a time, and for how long it was on its way.
func (c *connector) sent(from place, at int64) (place, int64) {
	ops := c.p.lists[from.list].ops
	for int(from.op)+1 < len(ops) && ops[from.op+1].at <= at && (ops[from.op+1].kind == opRun || ops[from.op+1].kind == opWrite) {
		from.op++
	}
	return from, max(0, at-ops[from.op].at)
}

// firstAt returns how far behind an op the first one is that was over at a time or later.
func (l *list) firstAt(from int32, at int64) int32 {
	n, _ := slices.BinarySearchFunc(l.ops[from:], at, func(o op, at int64) int { return cmp.Compare(o.at, at) })
	return int32(n)
}

// answer joins the client's wait for an answer with the end of the server's span.
func (c *connector) answer(client, opened, closed place) {
	done := c.op(closed).at
	l := &c.p.lists[client.list]
	for k := client.op + 1 + l.firstAt(client.op+1, done-flush); int(k) < len(l.ops); k++ {
		o := &l.ops[k]
		switch {
		case o.kind == opOut && o.reason == waitNetwork:
			c.join(c.before(opened, closed, o.at), place{client.list, k})
			return
		case o.kind == opWait || o.kind == opReceive && !o.head:
			if o.kind == opReceive {
				return
			}
			w := c.wakers[o.arg]
			if w.list < 0 {
				return
			}
			r := &c.p.lists[w.list]
			for j := w.op - 1; j >= max(0, w.op-within); j-- {
				q := &r.ops[j]
				if q.kind == opReceive && q.head {
					return
				}
				if q.kind == opOut && q.reason == waitNetwork {
					if q.at >= done-flush {
						c.join(c.before(opened, closed, q.at), place{w.list, j})
					}
					return
				}
			}
			return
		}
	}
}

// before returns the last op from one to another of the same list that was over at a time.
func (c *connector) before(from, to place, at int64) place {
	if from.list != to.list {
		return to
	}
	l := &c.p.lists[to.list]
	for to.op > from.op && l.ops[to.op].at > at {
		to.op--
	}
	return to
}

func (c *connector) op(at place) *op { return &c.p.lists[at.list].ops[at.op] }

// join has the wait at one place end when the op at the other is over, and as much later as it was.
func (c *connector) join(from, to place) {
	o := c.op(to)
	l := &c.p.lists[to.list]
	key := c.p.rec.sites[o.site].root()
	object, ok := c.pools[key]
	if !ok {
		object = int32(len(c.p.objects))
		c.p.objects = append(c.p.objects, objectInfo{kind: objectChan, capacity: unlimited, inferred: true, site: o.site})
		c.pools[key] = object
	}
	from, lag := c.sent(from, o.at)
	end := c.p.lists[from.list].ops
	c.p.segments = append(c.p.segments, to)
	c.insert[from.list] = append(c.insert[from.list], insertion{from.op, 0, op{kind: opSend, arg: object, d: lag, at: end[from.op].at, segment: int32(len(c.p.segments) - 1), set: end[from.op].set}})
	c.joined[listener{to.list, c.readers[o.site]}] = true
	o.kind, o.arg, o.d, o.head = opReceive, object, 0, true
	l.serves = object
}

// apply puts the sends into the lists.
func (c *connector) apply() {
	moved := map[int32][]int32{} // by list: the ops behind which one was inserted
	for list, all := range c.insert {
		slices.SortStableFunc(all, func(a, b insertion) int { return int(a.behind - b.behind) })
		l := &c.p.lists[list]
		ops := make([]op, 0, len(l.ops)+len(all))
		for k := -1; k < len(l.ops); k++ {
			if k >= 0 {
				ops = append(ops, l.ops[k])
			}
			for ; len(all) > 0 && int(all[0].behind) == k; all = all[1:] {
				if x := all[0].segment; x > 0 {
					c.p.segments[x].op = int32(len(ops))
				}
				ops = append(ops, all[0].o)
				moved[list] = append(moved[list], int32(k))
			}
		}
		l.ops = ops
	}
	shift := func(at *place) {
		n, _ := slices.BinarySearch(moved[at.list], at.op)
		at.op += int32(n)
	}
	for i := 1; i < len(c.p.segments); i++ {
		if !c.inside[int32(i)] {
			shift(&c.p.segments[i])
		}
	}
	for i := range c.p.lists {
		l := &c.p.lists[i]
		if l.born && l.spawned.list >= 0 {
			shift(&l.spawned)
		}
		if l.serves < 0 {
			continue
		}
		for k := range l.ops { // waits of the same connections that belong to no request
			if o := &l.ops[k]; o.kind == opOut && o.reason == waitNetwork && c.joined[listener{int32(i), c.readers[o.site]}] {
				o.d = 0
			}
		}
	}
}
