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
	Requests int           // that began and ended within the recording
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
	In, By         trace.Region
	Kind           Kind
	Where, ByPlace string
	For            time.Duration
}

// mostSlowest is how many requests of a region a recording keeps with their parts: the slowest one
// in a hundred of 3,000.
const mostSlowest = 30

// request is one that is open, or has ended.
type request struct {
	span  int32
	time  int64
	parts []part
}

type part struct {
	in, by         int32 // regions, -1 for none
	where, byPlace int32
	kind           Kind
	length         int64
}

// enter begins a request where a root begins on a goroutine that serves none.
func (w *walk) enter(g *goroutine, e *trace.Event) {
	if g.request != trace.None || !w.r.Spans[e.Ref].Root {
		return
	}
	g.request, g.running = e.Ref, e.At
	w.on[e.Ref] = e.G
	w.requests[e.Ref] = &request{span: e.Ref}
}

// leave ends the request that a span is, be it on another goroutine: then its own waits, or runs.
func (w *walk) leave(e *trace.Event) {
	one := w.requests[e.Ref]
	if one == nil {
		return
	}
	g := &w.goroutines[w.on[e.Ref]]
	w.ran(g, e.At)
	g.request, g.running = trace.None, never
	delete(w.requests, e.Ref)
	one.time = e.At - w.begun[e.Ref]
	w.ended = append(w.ended, one)
}

// took adds a part to the request that a goroutine serves.
func (w *walk) took(g *goroutine, wait spanWait) {
	if g.request == trace.None || wait.length <= 0 {
		return
	}
	one := w.requests[g.request]
	p := part{in: w.r.Spans[wait.span].Region, by: trace.None, where: wait.where, byPlace: wait.byPlace, kind: wait.kind, length: wait.length}
	if wait.by != trace.None {
		p.by = w.r.Spans[wait.by].Region
	}
	one.parts = addPart(one.parts, p)
}

// addPart adds to what is alike; requests have few kinds of parts.
func addPart(parts []part, p part) []part {
	for i := range parts {
		if q := &parts[i]; q.in == p.in && q.by == p.by && q.where == p.where && q.byPlace == p.byPlace && q.kind == p.kind {
			q.length += p.length
			return parts
		}
	}
	return append(parts, p)
}

// collecting reports whether garbage was collected for most of a time.
func (w *walk) collecting(from, to int64) bool {
	all := w.r.Marking
	for w.marking < len(all) && all[w.marking].To <= from-longestBefore {
		w.marking++
	}
	var overlap int64
	for _, c := range all[w.marking:] {
		if c.From >= to {
			break
		}
		overlap += max(0, min(c.To, to)-max(c.From, from))
	}
	return 2*overlap >= to-from
}

// longestBefore is how far back a wait may have begun that ends after others that began later.
const longestBefore = int64(10 * time.Second)

// helped is for how long a goroutine did the collector's work.
func (w *walk) helped(g *goroutine, from, to int64) (sum int64) {
	for len(g.assists) > 0 && g.assists[0].To <= from {
		g.assists = g.assists[1:]
	}
	for _, a := range g.assists {
		if a.From >= to {
			break
		}
		sum += min(a.To, to) - max(a.From, from)
	}
	return sum
}

// tails sums up what requests did, by region.
func (w *walk) tails() []Tail {
	byRegion := map[int32][]*request{}
	for _, one := range w.ended {
		region := w.r.Spans[one.span].Region
		byRegion[region] = append(byRegion[region], one)
	}
	var all []Tail
	for region, requests := range byRegion {
		slices.SortFunc(requests, func(a, b *request) int { return cmp.Or(cmp.Compare(b.time, a.time), cmp.Compare(a.span, b.span)) })
		t := Tail{Region: w.r.Regions[region], Requests: len(requests)}
		var sums []part
		for i, one := range requests {
			t.Time += time.Duration(one.time)
			for _, p := range one.parts {
				sums = addPart(sums, p)
			}
			if i < mostSlowest {
				span := w.r.Spans[one.span]
				t.Slowest = append(t.Slowest, Request{Span: span.ID, Trace: span.Trace, Time: time.Duration(one.time), Parts: w.named(one.parts)})
			}
		}
		t.Parts = w.named(sums)
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b Tail) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Region.Name, b.Region.Name))
	})
	return all
}

func (w *walk) named(parts []part) []Part {
	out := make([]Part, len(parts))
	for i, p := range parts {
		out[i] = Part{In: w.r.Regions[p.in], Kind: p.kind, Where: w.names[p.where], ByPlace: w.names[p.byPlace], For: time.Duration(p.length)}
		if p.by != trace.None {
			out[i].By = w.r.Regions[p.by]
		}
	}
	return out
}

// A Contrast is how the slowest requests of a region differ from the others, over recordings.
type Contrast struct {
	Region   trace.Region
	Requests int
	// Slowest is how many are the slowest: one in a hundred, five at least. From is the shortest of
	// them, Slow their mean, and Typical that of the others.
	Slowest             int
	From, Slow, Typical time.Duration
	Rows                []ContrastRow // the largest difference first
	Examples            []Request     // the slowest
}

// A ContrastRow is the mean of a part in both.
type ContrastRow struct {
	Part          // without For
	Slow, Typical time.Duration
}

const (
	// fewestSlow is of how many requests the slowest are at least, and fewestRequests how many there
	// must be: of fewer the slowest are the others, too.
	fewestSlow     = 5
	fewestRequests = 50
	mostParts      = 12
	mostExamples   = 3
)

// Contrasts are those of regions in several recordings.
func Contrasts(recordings ...[]Tail) []Contrast {
	byRegion := map[trace.Region]*Tail{}
	for _, tails := range recordings {
		for _, t := range tails {
			sum := byRegion[t.Region]
			if sum == nil {
				sum = &Tail{Region: t.Region}
				byRegion[t.Region] = sum
			}
			sum.Requests += t.Requests
			sum.Time += t.Time
			for _, p := range t.Parts {
				sum.Parts = addNamed(sum.Parts, p)
			}
			sum.Slowest = append(sum.Slowest, t.Slowest...)
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

func (t *Tail) contrast() Contrast {
	slices.SortStableFunc(t.Slowest, func(a, b Request) int { return cmp.Compare(b.Time, a.Time) })
	n := min(max(fewestSlow, t.Requests/100), len(t.Slowest))
	slow := t.Slowest[:n]
	c := Contrast{Region: t.Region, Requests: t.Requests, Slowest: n, From: slow[n-1].Time, Examples: slow[:min(n, mostExamples)]}
	var slowParts []Part
	var slowTime time.Duration
	for _, one := range slow {
		slowTime += one.Time
		for _, p := range one.Parts {
			slowParts = addNamed(slowParts, p)
		}
	}
	others := time.Duration(t.Requests - n)
	c.Slow, c.Typical = slowTime/time.Duration(n), (t.Time-slowTime)/others
	for _, p := range t.Parts {
		of := like(slowParts, p)
		row := ContrastRow{Part: p, Slow: of / time.Duration(n), Typical: (p.For - of) / others}
		row.For = 0
		c.Rows = append(c.Rows, row)
	}
	slices.SortStableFunc(c.Rows, func(a, b ContrastRow) int { return cmp.Compare(b.Slow-b.Typical, a.Slow-a.Typical) })
	c.Rows = c.Rows[:min(len(c.Rows), mostParts)]
	return c
}

func addNamed(parts []Part, p Part) []Part {
	for i := range parts {
		if parts[i].like(p) {
			parts[i].For += p.For
			return parts
		}
	}
	return append(parts, p)
}

func like(parts []Part, p Part) time.Duration {
	for _, q := range parts {
		if q.like(p) {
			return q.For
		}
	}
	return 0
}

func (p Part) like(q Part) bool {
	p.For, q.For = 0, 0
	return p == q
}
