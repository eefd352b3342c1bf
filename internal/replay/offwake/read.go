package offwake

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

const (
	// mostRows is how many rows a region has.
	mostRows = 40
	// mostWaits is how many single waits are kept of a recording, and leastWait the shortest: what
	// is shorter than a goroutine's switch between two threads explains no slow request.
	mostWaits = 5000
	leastWait = 20 * time.Microsecond
)

// Read finds the waits of a recording.
func Read(r *trace.Recording) *Waits {
	w := newWalk(r)
	for e := range r.All() {
		w.event(e)
	}
	return &Waits{Regions: w.regions(), Spans: w.longest(), Tails: w.tails()}
}

// A goroutine is where one is in its states.
type goroutine struct {
	open  []int32 // spans that began on it, the innermost last; some may have ended elsewhere
	base  int32   // the span that it was created in, None for none
	span  int32   // the innermost span when the wait began
	since int64   // when that was, never for not waiting, or since before the recording
	kind  Kind
	site  int32

	request int32 // the root that is open on it, None for none
	running int64 // since when it runs within that, never for not running
	assists []trace.Interval
	lock    *handover // its last lock that it waited for; nil for none
}

// never is the time of what has not been.
const never = -1

// A class is what the stack of a wait shows.
type class struct{ runtime, joins, excludes bool }

// A walk is the state of a pass over a recording.
type walk struct {
	r          *trace.Recording
	goroutines []goroutine
	homes      []int32 // by goroutine, the process; nil for one
	begun      []int64 // by span
	ended      []int64 // by span, never while it is open
	places     []int32 // by site, the index into names: of locks and channels
	askers     []int32 // likewise, of what comes from outside of the program
	names      []string
	classes    []class // by site
	ids        map[partKey]int32
	parts      []partKey     // by ID
	sums       [][]regionSum // by ID, of the regions that the spans are in
	running    []int32       // by region, the ID of its running, -1 for none yet
	waits      []spanWait

	on      []int32 // by span, the goroutine on which a request runs
	serving map[int32]*request
	free    []*request
	served  map[int32]*tail // by region
}

// A partKey is what waits have in common that are summed up. Regions are -1 for none.
type partKey struct {
	in, by         int32
	where, byPlace int32
	kind           Kind
}

type regionSum struct {
	region, count  int32
	total, longest int64
}

type spanWait struct {
	span, by       int32
	where, byPlace int32
	kind           Kind
	at, length     int64
}

func newWalk(r *trace.Recording) *walk {
	w := &walk{
		r: r, homes: r.Homes(), goroutines: slices.Repeat([]goroutine{{base: trace.None, span: trace.None, since: never, request: trace.None, running: never}}, int(r.Count)),
		begun: slices.Repeat([]int64{never}, len(r.Spans)), ended: slices.Repeat([]int64{never}, len(r.Spans)),
		places: make([]int32, len(r.Sites)), askers: make([]int32, len(r.Sites)), classes: make([]class, len(r.Sites)), names: []string{""}, ids: map[partKey]int32{},
		running: slices.Repeat([]int32{trace.None}, len(r.Regions)), on: make([]int32, len(r.Spans)), serving: map[int32]*request{}, served: map[int32]*tail{},
	}
	for _, a := range r.Assists {
		g := &w.goroutines[a.G]
		g.assists = append(g.assists, a.Interval)
	}
	byName := map[string]int32{"": 0}
	nameOf := func(f trace.Frame, ok bool) int32 {
		if !ok {
			return 0
		}
		return trace.Intern(byName, &w.names, fmt.Sprintf("%s:%d", f.Func, f.Line))
	}
	for i, site := range r.Sites {
		w.classes[i] = class{runtime: trace.Classify(site)[trace.OfRuntime], joins: site.Joins(), excludes: site.Excludes()}
		w.places[i], w.askers[i] = nameOf(site.Caller()), nameOf(site.Outside(askedBy))
	}
	return w
}

// event takes the next event. A state that a goroutine had before the recording is not known to
// have begun.
func (w *walk) event(e *trace.Event) {
	g := &w.goroutines[e.G]
	switch e.Kind {
	case trace.EvCreate:
		g.base = trace.None
		if e.By >= 0 {
			g.base = w.within(&w.goroutines[e.By])
		}
		w.begin(g, e, Processor)
	case trace.EvOpen:
		w.ran(g, e.At)
		w.begun[e.Ref] = e.At
		g.open = append(g.open, e.Ref)
		w.enter(g, e)
	case trace.EvClose:
		w.ran(g, e.At)
		w.leave(e)
		w.ended[e.Ref] = e.At
	case trace.EvWait:
		w.begin(g, e, w.kindOf(e))
	case trace.EvSyscall:
		w.begin(g, e, SystemCall)
	case trace.EvYield:
		w.begin(g, e, Processor)
	case trace.EvReady:
		w.end(g, e)
		w.begin(g, e, Processor)
	case trace.EvStart, trace.EvReturn:
		w.end(g, e)
	case trace.EvEnd:
		w.ran(g, e.At)
		g.running = never
		w.end(g, e)
	}
}

func (w *walk) begin(g *goroutine, e *trace.Event, kind Kind) {
	w.ran(g, e.At)
	g.running = never
	g.since, g.kind, g.site, g.span = e.At, kind, e.Site, w.innermost(g)
	if kind == Processor {
		g.site = 0
	}
}

// end books the wait that is over, if it began within the recording and in a span.
func (w *walk) end(g *goroutine, e *trace.Event) {
	since := g.since
	g.since = never
	if (e.Kind == trace.EvStart || e.Kind == trace.EvReturn) && g.request != trace.None {
		g.running = e.At
	}
	if since != never && g.kind == Lock && e.Kind == trace.EvReady && e.By >= 0 { // also where it has no span: it ends another one's hold
		by := &w.goroutines[e.By]
		g.lock = &handover{at: e.At, by: w.within(by), place: w.places[e.Site], waited: w.places[g.site], before: by.lock.shortened()}
		if before := g.lock.before; before != nil {
			g.lock.depth = before.depth + 1
		}
	}
	if since == never || g.span == trace.None || e.At <= since {
		return
	}
	wait := spanWait{span: g.span, by: trace.None, where: w.place(g), kind: g.kind, at: since - w.begun[g.span], length: e.At - since}
	if !g.kind.outside() && e.Kind == trace.EvReady && e.By >= 0 {
		wait.by, wait.byPlace = w.within(&w.goroutines[e.By]), w.places[e.Site]
		if g.kind == Lock {
			wait.by, wait.byPlace = w.holder(g.lock, since)
		}
	}
	if (wait.kind == Processor || wait.kind == Runtime) && w.collecting(e.G, since, e.At) {
		wait = spanWait{span: wait.span, by: trace.None, kind: GC, at: wait.at, length: wait.length}
	}
	w.took(g, w.book(wait), wait.length)
}

// outside reports whether what is waited for comes from outside of the program.
func (k Kind) outside() bool { return k == SystemCall || k == Network || k == Sleep }

// place is where a goroutine waits.
func (w *walk) place(g *goroutine) int32 {
	if g.kind.outside() {
		return w.askers[g.site]
	}
	return w.places[g.site]
}

// ran books the time that a goroutine ran since it was asked last.
func (w *walk) ran(g *goroutine, at int64) {
	if g.running == never {
		return
	}
	if span := w.innermost(g); span != trace.None && g.request != trace.None && at > g.running {
		in, helped := w.r.Spans[span].Region, w.helped(g, g.running, at)
		if w.running[in] == trace.None {
			w.running[in] = w.id(partKey{in: in, by: trace.None, kind: Running})
		}
		w.took(g, w.running[in], at-g.running-helped)
		if helped > 0 {
			w.took(g, w.id(partKey{in: in, by: trace.None, kind: GC}), helped)
		}
	}
	g.running = at
}

// book adds a wait to the sums of all regions that it is in, and returns the ID of its kind.
func (w *walk) book(wait spanWait) int32 {
	if wait.length >= int64(leastWait) && w.r.Spans[wait.span].ID != 0 {
		if len(w.waits) == 4*mostWaits {
			w.keepLongest()
		}
		w.waits = append(w.waits, wait)
	}
	key := partKey{in: w.r.Spans[wait.span].Region, by: trace.None, where: wait.where, byPlace: wait.byPlace, kind: wait.kind}
	if wait.by != trace.None {
		key.by = w.r.Spans[wait.by].Region
	}
	id := w.id(key)
	for s := wait.span; s != trace.None; s = w.r.Spans[s].Parent {
		if !w.isBelow(s, wait.span) {
			w.add(id, w.r.Spans[s].Region, wait.length)
		}
	}
	return id
}

// isBelow reports whether a span has another one of its own region below it on the way to an inner
// one: then that is counted already.
func (w *walk) isBelow(s, inner int32) bool {
	for ; inner != s; inner = w.r.Spans[inner].Parent {
		if w.r.Spans[inner].Region == w.r.Spans[s].Region {
			return true
		}
	}
	return false
}

func (w *walk) id(key partKey) int32 {
	id, known := w.ids[key]
	if !known {
		id = int32(len(w.parts))
		w.ids[key] = id
		w.parts, w.sums = append(w.parts, key), append(w.sums, nil)
	}
	return id
}

func (w *walk) add(id, region int32, length int64) {
	of := w.sums[id]
	i := slices.IndexFunc(of, func(s regionSum) bool { return s.region == region })
	if i < 0 {
		i = len(of)
		w.sums[id] = append(of, regionSum{region: region})
		of = w.sums[id]
	}
	of[i].count++
	of[i].total += length
	of[i].longest = max(of[i].longest, length)
}

// innermost is the innermost span that is open on a goroutine, None for none.
func (w *walk) innermost(g *goroutine) int32 {
	for len(g.open) > 0 {
		last := g.open[len(g.open)-1]
		if w.ended[last] == never {
			return last
		}
		g.open = g.open[:len(g.open)-1]
	}
	return trace.None
}

// within is the span that a goroutine works for: the innermost, or the one that it was created in.
func (w *walk) within(g *goroutine) int32 {
	if s := w.innermost(g); s != trace.None {
		return s
	}
	if g.base != trace.None && w.ended[g.base] == never {
		return g.base
	}
	return trace.None
}

// askedBy are prefixes of functions by which the kernel or a peer is asked for something.
var askedBy = []string{"runtime.", "syscall.", "internal/", "net.", "os.", "io.", "bufio.", "crypto/tls.", "time.", "golang.org/x/sys/"}

func (w *walk) kindOf(e *trace.Event) Kind {
	stack := w.classes[e.Site]
	switch {
	case stack.runtime:
		return Runtime
	case e.Arg == trace.WaitMutex && stack.joins:
		return Group
	case e.Arg == trace.WaitMutex:
		return Lock
	case e.Arg == trace.WaitSend:
		return Send
	case e.Arg == trace.WaitReceive:
		return Receive
	case e.Arg == trace.WaitSelect:
		return Select
	case e.Arg == trace.WaitNetwork:
		return Network
	case e.Arg == trace.WaitTimer:
		return Sleep
	case stack.excludes:
		return Condition
	}
	return Other
}

// regions sums the rows up.
func (w *walk) regions() []Region {
	all := make([]Region, len(w.r.Regions))
	for i := range all {
		all[i].Region = w.r.Regions[i]
	}
	for s, begun := range w.begun {
		if begun == never {
			continue
		}
		end := w.ended[s]
		if end == never {
			end = w.r.End
		}
		region := &all[w.r.Spans[s].Region]
		region.Spans++
		region.Time += time.Duration(end - begun)
	}
	for id, sums := range w.sums {
		key := w.key(int32(id))
		for _, s := range sums {
			all[s.region].Rows = append(all[s.region].Rows, Row{Key: key, Count: int(s.count), Total: time.Duration(s.total), Longest: time.Duration(s.longest)})
		}
	}
	all = slices.DeleteFunc(all, func(r Region) bool { return r.Spans == 0 })
	for i := range all {
		rows := all[i].Rows
		slices.SortFunc(rows, func(a, b Row) int {
			return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Where, b.Where), cmp.Compare(a.In.Name, b.In.Name), cmp.Compare(a.By.Name, b.By.Name), cmp.Compare(a.ByPlace, b.ByPlace))
		})
		all[i].Rows = rows[:min(len(rows), mostRows)]
	}
	slices.SortFunc(all, func(a, b Region) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Region.Scope, b.Region.Scope), cmp.Compare(a.Region.Name, b.Region.Name))
	})
	return all
}

// keepLongest forgets the shorter ones of too many waits.
func (w *walk) keepLongest() {
	if len(w.waits) > mostWaits {
		slices.SortFunc(w.waits, func(a, b spanWait) int { return cmp.Compare(b.length, a.length) })
		w.waits = w.waits[:mostWaits]
	}
}

// longest are the longest single waits, by span.
func (w *walk) longest() map[uint64][]Wait {
	w.keepLongest()
	spans := map[uint64][]Wait{}
	for _, wait := range w.waits {
		one := Wait{Kind: wait.kind, Where: w.names[wait.where], At: time.Duration(wait.at), For: time.Duration(wait.length), Waker: Waker{Place: w.names[wait.byPlace]}}
		if wait.by != trace.None {
			by := w.r.Spans[wait.by]
			one.Region, one.Span, one.Trace = w.r.Regions[by.Region], by.ID, by.Trace
		}
		id := w.r.Spans[wait.span].ID
		spans[id] = append(spans[id], one)
	}
	for list := range maps.Values(spans) {
		slices.SortFunc(list, func(a, b Wait) int { return cmp.Compare(a.At, b.At) })
	}
	return spans
}
