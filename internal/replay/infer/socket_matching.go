package infer

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/otelprof/otelprof/internal/replay/hidden"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Not all that goes through the network within a process has spans at both ends: a client without
// instrumentation, the messages of a stream, a protocol of the program's own. The trace does not
// have which connection a goroutine writes to. But a goroutine that waits for the network goes on
// right after another one has written, and always after the one at the other end of the connection:
// what comes before it each time is its peer, and what comes before it by chance is not. Three
// patterns are looked for, the surest first, each among what the ones before have left:
//
//	apart      writer W ------> reader R    a connection of their own: W before each wait of R
//	exchanges  A writes, waits ............... A goes on    request and answer fit into each
//	           .... B goes on, works, writes ....           other, on any connection
//	kin        writes at one place before waits at one place, whichever goroutines these are
//
// Writes are few, and a busy process has one before any wait at all. So a kind of reader counts
// only if nine in ten of its waits have a write (wired), and, where goroutines are not the same
// each time, if waits have it sooner than other times have (chance). A client of another process
// that answers within 0.1 ms, beside much traffic within, could be taken for one of this process.
// TestWire has all patterns, and other processes.

const (
	// reach is how long after a write the network may wake its reader, ns. With a longer one more
	// writes come before a wait by chance, with a shorter one late wake-ups have none.
	reach = 500_000
	// leastArrivals is how many waits of a goroutine show which one ends them.
	leastArrivals = 20
	// wired is which part of the waits for the network of one kind of goroutines must be
	// attributed, for their other ends to be in the process.
	wired = 0.9
	// linked is which part of a goroutine's waits are attributed by spans where its others, such as
	// for the rest of an answer, belong to no request.
	linked = 0.1
	// prompt is how long before half of the waits of a kind ended the writes must have been that
	// ended them, ns: a client of another process may send its next request as soon as it has an
	// answer, and takes longer. chance is how often there may be such a write at other times.
	prompt, chance = 100_000, 0.2
	// mostly is before which part of a goroutine's waits its peer writes within reach, where that
	// is no coincidence: this is the probability, at most, that any writer came before as many
	// waits by chance. On a machine with few processors one wake-up in ten is later.
	mostly, coincidence = 0.8, 1e-6
	// handed is how long after it was woken a goroutine may write what it was woken for, ns.
	handed = 200_000
)

// A transfer is a write, or the end of a wait for the network.
type transfer struct {
	model.Place
	at    int64 // when it begins, or the wait ends
	other int32 // the transfer at the other end of the connection, -1 while that is not known
}

// A wiring holds which write ended which wait. Numbers of writes and arrivals are indices of these
// lists.
type wiring struct {
	c                *connector
	writes, arrivals []transfer // in order of time
	kinds            []int32    // of arrivals: waits at one place
	origins          []int32    // of writes: the place
	writers          []int32    // of writes: the goroutine
}

// wire joins waits for the network with the writes that ended them, where spans do not. It looks at
// each write within reach of each wait, so that it takes the more the denser they are.
func (c *connector) wire() {
	w := &wiring{c: c}
	w.collect()
	if len(w.writes) == 0 || len(w.arrivals) == 0 {
		return
	}
	w.apart()
	w.exchanges()
	w.kin()
	// A kind of reader is joined as a whole or not at all: what is left of it has other peers.
	told, all := w.told()
	for i := range w.arrivals {
		a := &w.arrivals[i]
		if k := w.kinds[i]; a.other >= 0 && all[k] >= leastArrivals && float64(told[k]) >= wired*float64(all[k]) {
			by := &w.writes[a.other]
			c.p.Letters = append(c.p.Letters, model.Letter{From: by.List, To: a.List, Written: by.at, At: a.at})
			c.deliver(c.giver(by.Place), a.Place)
		}
	}
}

// collect finds the writes, and the waits of goroutines whose requests spans do not show. Waits to
// write, or to connect, end when the other end reads or accepts, and are left out.
func (w *wiring) collect() {
	p := w.c.p
	sends := trace.BySite(p.Rec.Sites, trace.Site.Sends)
	for l := range p.Lists {
		waits, told := 0, 0
		first := len(w.arrivals)
		for k := range p.Lists[l].Ops {
			o := &p.Lists[l].Ops[k]
			at := transfer{model.Place{List: int32(l), Op: int32(k)}, o.At, -1}
			switch {
			case o.Kind == model.OpWrite:
				w.writes = append(w.writes, at)
			case o.Kind == model.OpOut && o.Reason == trace.WaitNetwork && o.Site != 0 && !sends[o.Site]:
				waits++
				w.arrivals = append(w.arrivals, at)
			case o.Kind == model.OpReceive && o.Head:
				told++
			}
		}
		if float64(told) >= linked*float64(told+waits) {
			w.arrivals = w.arrivals[:first]
		}
	}
	byTime := func(a, b transfer) int { return cmp.Compare(a.at, b.at) }
	slices.SortStableFunc(w.writes, byTime)
	slices.SortStableFunc(w.arrivals, byTime)
	for i := range w.arrivals {
		w.kinds = append(w.kinds, w.c.readers[p.SiteOf(w.arrivals[i].Place)])
	}
	for i := range w.writes {
		w.origins = append(w.origins, w.c.readers[p.SiteOf(w.writes[i].Place)])
		w.writers = append(w.writers, w.writes[i].List)
	}
}

// told counts by kind the waits of which it is known what ended them, and all waits.
func (w *wiring) told() (told, all map[int32]int) {
	told, all = map[int32]int{}, map[int32]int{}
	for i := range w.arrivals {
		all[w.kinds[i]]++
		if w.arrivals[i].other >= 0 {
			told[w.kinds[i]]++
		}
	}
	return told, all
}

// before calls f with the writes of other goroutines that may have ended a wait, the latest one
// first, until it returns false: writes that are not later, not before reach, and not known to have
// ended another.
func (w *wiring) before(a *transfer, f func(write int32) bool) {
	n, _ := slices.BinarySearchFunc(w.writes, a.at, func(x transfer, at int64) int {
		return cmp.Or(cmp.Compare(x.at, at), -1)
	})
	for n--; n >= 0 && w.writes[n].at >= a.at-reach; n-- {
		if x := &w.writes[n]; x.other < 0 && x.List != a.List && !f(int32(n)) {
			return
		}
	}
}

// apart finds goroutines whose waits another one ends all the time, as where each connection has
// its own to read and to write. Of writers that come before nearly all waits of a reader
// (hidden.Fairness), or before most of them and not by chance, the one with the smallest mean
// lag is its peer.
func (w *wiring) apart() {
	all := map[listener][]int32{} // the waits of a reader
	var readers []listener
	for i := range w.arrivals {
		reader := listener{w.arrivals[i].List, w.kinds[i]}
		if len(all[reader]) == 0 {
			readers = append(readers, reader)
		}
		all[reader] = append(all[reader], int32(i))
	}
	peers := map[listener]int32{}
	for _, r := range readers {
		// A message may take several writes. The latest of them is the lag.
		lags, writers := w.lags(all[r], w.writers, 0)
		elsewhere := w.elsewhere(all[r], w.writers)
		best, fewest, least := int32(trace.None), int64(0), int64(0)
		for _, by := range writers {
			n, lag := int64(len(lags[by])), int64(0)
			for _, d := range lags[by] {
				lag += d
			}
			// Means are compared by cross-multiplication, in whole ns.
			if best >= 0 && lag*fewest >= least*n {
				continue
			}
			m, told := float64(len(all[r])), float64(n)
			if m >= leastArrivals && told >= hidden.Fairness*m || told >= mostly*m && outlying(m, told, byChance(len(all[r]), elsewhere()[by], reach)) < coincidence/float64(len(writers)) {
				best, fewest, least = by, n, lag
			}
		}
		if best >= 0 {
			peers[r] = best
		}
	}
	w.joinPeers(peers)
}

// outlying bounds the probability that n or more of m trials succeed, each with probability p: the
// Chernoff bound for the binomial distribution (Hoeffding 1963). It is 1 for n below what is
// expected.
func outlying(m, n, p float64) float64 {
	x := n / m
	if x <= p {
		return 1
	}
	exponent := x * math.Log(x/p)
	if x < 1 {
		exponent += (1 - x) * math.Log((1-x)/(1-p))
	}
	return math.Exp(-m * exponent)
}

// joinPeers joins the waits of readers with the writes of their peers: each with the latest within
// reach, or else within the wait. Which goroutine the peer is is known by then, and it has written,
// however late that has been seen.
func (w *wiring) joinPeers(peers map[listener]int32) {
	of := map[int32][]int32{} // the writes of each writer, in order
	for i, by := range w.writers {
		of[by] = append(of[by], int32(i))
	}
	for i := range w.arrivals {
		a := &w.arrivals[i]
		by, known := peers[listener{a.List, w.kinds[i]}]
		if !known {
			continue
		}
		all := of[by]
		n, _ := slices.BinarySearchFunc(all, a.at, func(x int32, at int64) int {
			return cmp.Or(cmp.Compare(w.writes[x].at, at), -1)
		})
		for n--; n >= 0 && w.writes[all[n]].at >= a.at-max(reach, w.c.p.Op(a.Place).D); n-- {
			if w.writes[all[n]].other < 0 {
				w.tell(int32(i), all[n])
				break
			}
		}
	}
}

func (w *wiring) tell(arrival, write int32) {
	w.arrivals[arrival].other, w.writes[write].other = write, arrival
}

// A turnabout of a goroutine is the write before a wait and the wait (a call), or the wait and the
// write behind it (a turn).
type turnabout struct{ write, arrival int32 }

// exchanges finds goroutines that write a request and wait for the answer to it, on any connection,
// and goroutines that have waited for the request and write the answer: both ends must agree. Of
// all pairs that fit the one with the smallest lag on both ways together comes first, and takes its
// four transfers.
func (w *wiring) exchanges() {
	calls, turns := w.turnabouts()
	type match struct {
		call, turn int32
		lag        int64
	}
	var all []match
	for i, call := range calls {
		request, answered := &w.writes[call.write], &w.arrivals[call.arrival]
		// Turns are in the order of their waits: from the first that ended behind the request on.
		n, _ := slices.BinarySearchFunc(turns, request.at, func(t turnabout, at int64) int {
			return cmp.Or(cmp.Compare(w.arrivals[t.arrival].at, at), 1)
		})
		for ; n < len(turns); n++ {
			came, answer := &w.arrivals[turns[n].arrival], &w.writes[turns[n].write]
			if came.at > request.at+reach {
				break
			}
			if came.List != request.List && answer.at <= answered.at && answered.at <= answer.at+reach {
				all = append(all, match{int32(i), int32(n), came.at - request.at + answered.at - answer.at})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b match) int { return cmp.Compare(a.lag, b.lag) })
	for _, m := range all {
		call, turn := calls[m.call], turns[m.turn]
		if w.agrees(turn.arrival, call.write) && w.agrees(call.arrival, turn.write) {
			w.tell(turn.arrival, call.write)
			w.tell(call.arrival, turn.write)
		}
	}
}

// kin finds waits of one kind that writes of one kind end, whichever goroutines these are: a
// connection for each request has goroutines of its own, which wait and write once. Where a write
// comes before a wait ends as soon and as often at any other time, it is no evidence. The origin
// must come before nine in ten of the waits within reach, before half of them promptly, and be the
// soonest of such origins.
func (w *wiring) kin() {
	told, all := w.told()
	waits := map[int32][]int32{}
	for i := range w.arrivals {
		if k := w.kinds[i]; w.arrivals[i].other < 0 && all[k] >= leastArrivals && float64(told[k]) < wired*float64(all[k]) {
			waits[k] = append(waits[k], int32(i))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(waits)) {
		arrivals := waits[k]
		lags, _ := w.lags(arrivals, w.origins, 0)
		elsewhere := w.elsewhere(arrivals, w.origins)
		best, least := int32(trace.None), int64(reach)
		for _, origin := range slices.Sorted(maps.Keys(lags)) {
			all := lags[origin]
			slices.Sort(all)
			most := int(math.Ceil(wired*float64(len(arrivals)))) - 1
			if len(all) <= most || all[most] >= least {
				continue
			}
			if all[len(all)/2] <= prompt && byChance(len(arrivals), elsewhere()[origin], all[most]) <= chance {
				best, least = origin, all[most]
			}
		}
		if best < 0 {
			continue
		}
		for _, i := range arrivals {
			w.before(&w.arrivals[i], func(n int32) bool {
				if w.origins[n] != best {
					return true
				}
				w.tell(i, n)
				return false
			})
		}
	}
}

// lags returns how long before waits ended, or before times that are so much earlier, the latest
// write from each origin or writer (by) was, ns, for what wrote within reach, and these in the
// order in which they are met.
func (w *wiring) lags(arrivals, by []int32, earlier ...int64) (lags map[int32][]int64, met []int32) {
	lags = map[int32][]int64{}
	known := map[int32]bool{}
	for _, i := range arrivals {
		for _, sooner := range earlier {
			a := w.arrivals[i]
			a.at -= sooner
			clear(known)
			w.before(&a, func(n int32) bool {
				if from := by[n]; !known[from] {
					known[from] = true
					if lags[from] == nil {
						met = append(met, from)
					}
					lags[from] = append(lags[from], a.at-w.writes[n].at)
				}
				return true
			})
		}
	}
	return lags, met
}

// elsewhere returns the lags at other times, as by chance, which are looked for when they are asked
// for first.
func (w *wiring) elsewhere(arrivals, by []int32) func() map[int32][]int64 {
	return sync.OnceValue(func() map[int32][]int64 {
		lags, _ := w.lags(arrivals, by, otherTimes...)
		return lags
	})
}

// otherTimes are when writes are looked for that are there by chance: four times for each wait, 1.5
// to 4 ms before its end, ns. That is too early for what ended it, and no multiple of each other.
var otherTimes = []int64{3 * reach, 3*reach + reach*5/3, 3*reach + 2*reach*5/3, 3*reach + 3*reach*5/3}

// byChance returns before which part of the other times of so many waits there was a write as soon,
// of the lags of one origin or writer: above 0 by the rule of succession.
func byChance(waits int, lags []int64, within int64) float64 {
	n := 0
	for _, lag := range lags {
		if lag <= within {
			n++
		}
	}
	return float64(n+1) / float64(len(otherTimes)*waits+2)
}

// agrees reports whether a write may have ended a wait, by what is known of both: nothing, or just
// that.
func (w *wiring) agrees(arrival, write int32) bool {
	return w.arrivals[arrival].other < 0 && w.writes[write].other < 0 || w.arrivals[arrival].other == write
}

// turnabouts returns what goroutines wrote before they waited, and what they wrote when they had
// waited, in the order of the waits.
func (w *wiring) turnabouts() (calls, turns []turnabout) {
	type moment struct {
		model.Place
		n     int32
		write bool
	}
	var all []moment
	for i := range w.writes {
		all = append(all, moment{w.writes[i].Place, int32(i), true})
	}
	for i := range w.arrivals {
		all = append(all, moment{w.arrivals[i].Place, int32(i), false})
	}
	slices.SortFunc(all, func(a, b moment) int { return cmp.Or(cmp.Compare(a.List, b.List), cmp.Compare(a.Op, b.Op)) })
	for i := 1; i < len(all); i++ {
		a, b := all[i-1], all[i]
		switch {
		case a.List != b.List || a.write == b.write:
		case a.write:
			calls = append(calls, turnabout{a.n, b.n})
		default:
			turns = append(turns, turnabout{b.n, a.n})
		}
	}
	slices.SortFunc(turns, func(a, b turnabout) int { return cmp.Compare(a.arrival, b.arrival) })
	return calls, turns
}

// giver returns the origin of a write: the goroutine that writes, or the one that has woken it for
// that, if it does nothing else (writeLoop of net/http). Its wait must have ended less than handed
// before.
func (c *connector) giver(at model.Place) model.Place {
	l := &c.p.Lists[at.List]
	if c.spanned[at.List] {
		return at
	}
	for k := at.Op - 1; k >= 0 && l.Ops[at.Op].At-l.Ops[k].At <= handed; k-- {
		switch o := &l.Ops[k]; o.Kind {
		case model.OpRun, model.OpWake:
			continue
		case model.OpWait:
			if by := c.wakers[o.Arg]; by.List >= 0 {
				return by
			}
		}
		break
	}
	return at
}

// deliver has a wait for the network end when something has been written, and as much later as it
// did. Where a goroutine has nothing under way it takes what comes to any of its kind, else it
// waits for its own answer, by a token. Then the lag is in how late the goroutine is, which no
// region shortens.
func (c *connector) deliver(from, to model.Place) {
	o := c.p.Op(to)
	if o.Free && !c.once(to) {
		c.join(from, to)
		return
	}
	from, lag := c.sent(from, o.At)
	c.insert[from.List] = append(c.insert[from.List], insertion{from.Op, 0, model.Op{Kind: model.OpWake, Arg: c.p.Tokens, At: c.p.Op(from).At, Late: -1, Reason: trace.WaitNetwork, Set: c.p.Op(from).Set}})
	o.Kind, o.Arg = model.OpWait, c.p.Tokens
	c.wakers = append(c.wakers, model.Place{List: -1, Op: -1}) // an op that apply puts in
	o.Late = int32(min(int64(max(0, o.Late))+lag, 1<<30))
	c.p.Tokens++
}

// once reports whether a goroutine waits for nothing else at that place, as one of a connection for
// a single request.
func (c *connector) once(at model.Place) bool {
	l := &c.p.Lists[at.List]
	if !l.Born {
		return false
	}
	n, reader := 0, c.readers[c.p.Op(at).Site]
	for k := range l.Ops {
		o := &l.Ops[k]
		if (o.Kind == model.OpOut && o.Reason == trace.WaitNetwork || o.Kind == model.OpReceive && o.Head) && c.readers[o.Site] == reader {
			n++
		}
	}
	return n == 1
}
