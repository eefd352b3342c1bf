package offwake

import (
	"cmp"
	"slices"
	"time"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A Tail is what the slowest requests of one region did, and what all did: where these differ is
// why the slowest are slow. A request is a span without a local parent. Its parts are the states of
// the goroutine that serves it, so that they add up to its duration: what goroutines did that it
// waits for is in the waker of that wait.
type Tail struct {
	Region   trace.Region
	Requests int           // that began and ended within the recording, one at a time on a goroutine
	Time     time.Duration // of all
	Parts    []Part        // of all, summed up
	Slowest  []Request     // the slowest first
}

// A Request is one of the slowest.
type Request struct {
	Span  uint64
	Trace [16]byte
	Time  time.Duration
	Parts []Part
}

// A Part is what a goroutine did for so long in spans of one region: it ran, or waited.
type Part struct {
	Key
	For time.Duration
}

// mostSlowest is how many requests of a region a recording keeps with their parts: the slowest one
// in a hundred of 3,000.
const mostSlowest = 30

// A request is one that is open, or one of the slowest that have ended.
type request struct {
	span  int32
	time  int64
	parts []part
}

// A part is what a request did for so long, by the ID of what is alike.
type part struct {
	id     int32
	length int64
}

// A tail is what requests of one region did that have ended.
type tail struct {
	requests int
	time     int64
	sums     []int64    // by ID
	slowest  []*request // in no order
}

// enter begins a request where a root begins on a goroutine that serves none.
func (w *walk) enter(g *goroutine, e *trace.Event) {
	if g.request != trace.None || !w.r.Spans[e.Ref].Root {
		return
	}
	g.request, g.running = e.Ref, e.At
	w.on[e.Ref] = e.G
	one := &request{}
	if last := len(w.free) - 1; last >= 0 {
		one, w.free = w.free[last], w.free[:last]
	}
	one.span, one.parts = e.Ref, one.parts[:0]
	w.serving[e.Ref] = one
}

// leave ends the request that a span is, be it on another goroutine.
func (w *walk) leave(e *trace.Event) {
	if !w.r.Spans[e.Ref].Root {
		return
	}
	one := w.serving[e.Ref]
	if one == nil {
		return
	}
	g := &w.goroutines[w.on[e.Ref]]
	w.ran(g, e.At)
	if g.since != never && g.span != trace.None { // it still waits
		w.took(g, w.id(partKey{in: w.r.Spans[g.span].Region, by: trace.None, where: w.place(g), kind: g.kind}), e.At-max(g.since, w.begun[e.Ref]))
	}
	g.request, g.running = trace.None, never
	delete(w.serving, e.Ref)
	one.time = e.At - w.begun[e.Ref]
	region := w.r.Spans[e.Ref].Region
	if gone := trace.Entry(w.served, region).add(one, len(w.parts)); gone != nil {
		w.free = append(w.free, gone)
	}
}

// add adds a request, and returns one that is not among the slowest, if there is one.
func (t *tail) add(one *request, ids int) (gone *request) {
	t.requests++
	t.time += one.time
	if missing := ids - len(t.sums); missing > 0 {
		t.sums = append(t.sums, make([]int64, missing)...)
	}
	for _, p := range one.parts {
		t.sums[p.id] += p.length
	}
	if len(t.slowest) < mostSlowest {
		t.slowest = append(t.slowest, one)
		return nil
	}
	fastest := 0
	for i, s := range t.slowest {
		if s.time < t.slowest[fastest].time {
			fastest = i
		}
	}
	if one.time <= t.slowest[fastest].time {
		return one
	}
	gone, t.slowest[fastest] = t.slowest[fastest], one
	return gone
}

// took adds to the request that a goroutine serves, which has few kinds of parts.
func (w *walk) took(g *goroutine, id int32, length int64) {
	if g.request == trace.None || length <= 0 {
		return
	}
	one := w.serving[g.request]
	for i := range one.parts {
		if one.parts[i].id == id {
			one.parts[i].length += length
			return
		}
	}
	one.parts = append(one.parts, part{id, length})
}

// collecting reports whether garbage was collected in a goroutine's process for most of a time.
func (w *walk) collecting(g int32, from, to int64) bool {
	all := w.r.Marking // in order, and apart from each other
	if w.homes != nil {
		all = w.r.Processes[w.homes[g]].Marking
	}
	first, _ := slices.BinarySearchFunc(all, from+1, func(c trace.Interval, at int64) int { return cmp.Compare(c.To, at) })
	var overlap int64
	for _, c := range all[first:] {
		if c.From >= to {
			break
		}
		overlap += max(0, min(c.To, to)-max(c.From, from))
	}
	return 2*overlap >= to-from
}

// helped is for how long a goroutine did the collector's work.
func (w *walk) helped(g *goroutine, from, to int64) (sum int64) {
	for len(g.assists) > 0 && g.assists[0].To <= from {
		g.assists = g.assists[1:]
	}
	for _, a := range g.assists {
		if a.From >= to {
			break
		}
		sum += max(0, min(a.To, to)-max(a.From, from))
	}
	return min(sum, to-from)
}

// tails are what requests did, by region.
func (w *walk) tails() []Tail {
	var all []Tail
	for region, of := range w.served {
		t := Tail{Region: w.r.Regions[region], Requests: of.requests, Time: time.Duration(of.time)}
		for id, sum := range of.sums {
			if sum > 0 {
				t.Parts = append(t.Parts, Part{w.key(int32(id)), time.Duration(sum)})
			}
		}
		slices.SortFunc(of.slowest, func(a, b *request) int { return cmp.Or(cmp.Compare(b.time, a.time), cmp.Compare(a.span, b.span)) })
		for _, one := range of.slowest {
			span := w.r.Spans[one.span]
			r := Request{Span: span.ID, Trace: span.Trace, Time: time.Duration(one.time)}
			for _, p := range one.parts {
				r.Parts = append(r.Parts, Part{w.key(p.id), time.Duration(p.length)})
			}
			t.Slowest = append(t.Slowest, r)
		}
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b Tail) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Region.Name, b.Region.Name))
	})
	return all
}

func (w *walk) key(id int32) Key {
	part := w.parts[id]
	key := Key{In: w.r.Regions[part.in], Kind: part.kind, Where: w.names[part.where], ByPlace: w.names[part.byPlace]}
	if part.by != trace.None {
		key.By = w.r.Regions[part.by]
	}
	return key
}

// A Contrast is how the slowest requests of a region differ from the others, over recordings.
type Contrast struct {
	Region   trace.Region
	Requests int
	// Slowest is how many are the slowest: one in a hundred, five at least, and fewer where a
	// recording had more of them than it keeps. From is the shortest of them, Slow their mean, and
	// Typical that of the others.
	Slowest             int
	From, Slow, Typical time.Duration
	Rows                []ContrastRow // the largest difference first
	Examples            []Request     // the slowest
}

// A ContrastRow is the mean of a part in both.
type ContrastRow struct {
	Key
	Slow, Typical time.Duration
}

const (
	// fewestSlow is of how many requests the slowest are at least, and fewestRequests how many
	// there must be: of fewer the slowest are the others, too.
	fewestSlow     = 5
	fewestRequests = 50
	mostParts      = 12
	mostExamples   = 3
)

// A merged is what requests of one region did in several recordings.
type merged struct {
	Tail
	known time.Duration // of those that took as long all are among the slowest
}

func (m *merged) add(t *Tail) {
	m.Region = t.Region
	m.Requests += t.Requests
	m.Time += t.Time
	for _, p := range t.Parts {
		i := slices.IndexFunc(m.Parts, func(q Part) bool { return q.Key == p.Key })
		if i < 0 {
			i = len(m.Parts)
			m.Parts = append(m.Parts, Part{Key: p.Key})
		}
		m.Parts[i].For += p.For
	}
	m.Slowest = append(m.Slowest, t.Slowest...)
	if n := len(t.Slowest); n > 0 && n < t.Requests {
		m.known = max(m.known, slices.MinFunc(t.Slowest, byTime).Time)
	}
}

func byTime(a, b Request) int { return cmp.Compare(a.Time, b.Time) }

// Contrasts are those of regions in several recordings.
func Contrasts(recordings ...[]Tail) []Contrast {
	byRegion := map[trace.Region]*merged{}
	for _, tails := range recordings {
		for i := range tails {
			trace.Entry(byRegion, tails[i].Region).add(&tails[i])
		}
	}
	var all []Contrast
	for _, t := range byRegion {
		if t.Requests >= fewestRequests {
			all = append(all, t.contrast())
		}
	}
	slices.SortFunc(all, func(a, b Contrast) int {
		return cmp.Or(cmp.Compare(time.Duration(b.Requests)*b.Typical, time.Duration(a.Requests)*a.Typical), cmp.Compare(a.Region.Name, b.Region.Name))
	})
	return all
}

func (m *merged) contrast() Contrast {
	slices.SortStableFunc(m.Slowest, func(a, b Request) int { return byTime(b, a) })
	n := min(max(fewestSlow, m.Requests/100), len(m.Slowest))
	for m.Slowest[n-1].Time < m.known {
		n--
	}
	slow := m.Slowest[:n]
	c := Contrast{Region: m.Region, Requests: m.Requests, Slowest: n, From: slow[n-1].Time, Examples: slow[:min(n, mostExamples)]}
	ofSlow := map[Key]time.Duration{}
	var slowTime time.Duration
	for _, one := range slow {
		slowTime += one.Time
		for _, p := range one.Parts {
			ofSlow[p.Key] += p.For
		}
	}
	others := time.Duration(m.Requests - n)
	c.Slow, c.Typical = slowTime/time.Duration(n), (m.Time-slowTime)/others
	for _, p := range m.Parts {
		of := ofSlow[p.Key]
		c.Rows = append(c.Rows, ContrastRow{Key: p.Key, Slow: of / time.Duration(n), Typical: (p.For - of) / others})
	}
	slices.SortStableFunc(c.Rows, func(a, b ContrastRow) int { return cmp.Compare(b.Slow-b.Typical, a.Slow-a.Typical) })
	c.Rows = c.Rows[:min(len(c.Rows), mostParts)]
	return c
}
