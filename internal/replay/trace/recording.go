package trace

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
)

// None is the number of nothing: of no goroutine, object, list or site.
const None = -1

// A Pool holds what was inferred about an object, besides its operations.
type Pool struct {
	// Unordered has any of the waiting goroutines served next, as for a connection of database/sql;
	// else the one that has waited longest is.
	Unordered bool
	// Counted is true if There is known: how many elements there are when the window begins.
	Counted bool
	There   int32
}

// Waited returns where goroutines wait for locks and channels, most often first, as function:line:
// these are names for a Question of package replay. Waits for a WaitGroup have the reason of locks
// but are none, and those without a stack (from before the trace) have no name. TestWaited holds
// it.
func (r *Recording) Waited() []string {
	waits := map[string]int{}
	for i := range r.Events {
		e := &r.Events[i]
		if e.Kind != EvWait || e.Arg < WaitMutex || e.Arg > WaitSelect {
			continue
		}
		if f, ok := r.Sites[e.Site].Caller(); ok && (e.Arg != WaitMutex || r.Sites[e.Site].Locks()) {
			waits[fmt.Sprintf("%s:%d", f.Func, f.Line)]++
		}
	}
	// Equally frequent ones are in the order of the alphabet, so that two runs print the same.
	return slices.SortedFunc(maps.Keys(waits), func(a, b string) int { return cmp.Or(cmp.Compare(waits[b], waits[a]), cmp.Compare(a, b)) })
}

// A Recording is what the goroutines of a program did in a window: when each ran, waited, for what,
// and which goroutine woke it. It is read from an execution trace by [Read], or built by a
// [Recorder].
//
// Several recordings may share what their slices and maps hold: windows of one, and the variants
// that inference makes of one by copying the struct. So those are replaced, never changed in place,
// once a recording has been read.
type Recording struct {
	// Start and End of the window, ns on the recording's own clock.
	Start, End int64
	// Procs is GOMAXPROCS, the number of processors that ran goroutines at a time: that of all
	// processes together, where there are several, see [Join].
	Procs     int
	Processes []Process // whose recordings were joined, nil for one
	// Traced is the number of trace events that were read; of a window, how many of its recording's
	// events are in it.
	Traced int
	// Cut is why the recording ends early: the trace was cut off or damaged, after how many
	// generations. It is nil if the trace was whole.
	Cut error

	Events    []Event    // in the order of time, see package trace
	Spans     []Span     // in the order in which they begin
	Sites     []Site     // the first one is the one that is not known
	Regions   []Region   // without two that are equal
	Points    []string   // names of progress points that the program visits itself
	Functions []Function // regions that call stacks show, none unless asked for
	Conditions
	Collections
	Count   int32 // of goroutines: their numbers are below that
	Objects int32 // of objects: their numbers are below that
	// Told is that the operations on objects are inferred, from a trace that does not show each.
	// Then an object may be missing, and rules that need all operations do without.
	Told  bool
	Pools map[int32]Pool // objects that are inferred from waits, by number
	// Endless means that what condition variables count may become any number. It is set for a
	// variant of the recording whose replay bounds the answer from above.
	Endless bool
	// LeftOut is the number of the object that is not inferred from waits, in the order in which
	// package infer finds them, from 1; 0 for none. It is set where with that object the replay
	// misses the recording.
	LeftOut int
	// Drippers are goroutines that put tokens into a bucket: they end waits as timers do, at times
	// that a faster program does not change. See token_bucket.go in package doubt.
	Drippers map[int32]bool
	// Excluded has the number of the lock around spans of a region, by the region's number; nil for
	// none. See mutual_exclusion.go in packages hidden and model.
	Excluded map[int32]int32
	// Without has the rules that are left out, to see what they are worth; see [Recording.Uses]. It
	// is nil but for make ablation and tests.
	Without map[string]bool
	Rest    func() error // see ReadResting; nil for no rest
	// Origin is the recording that this is a window of; nil if it is one of its own.
	Origin *Origin
	common *common // of the windows of one recording, nil for a recording of its own
}

// Rests leaves the processor to others, if it is time for that. Where no more is wanted it panics,
// which [Catch] takes for the error: each exported function above must be within one, or within
// [Contain]. It belongs into each loop that may take longer than 50 µs.
func (r *Recording) Rests() {
	if r.Rest == nil {
		return
	}
	if err := r.Rest(); err != nil {
		panic(stopped{err})
	}
}

// RestsAt is Rests in a loop over the events or steps, i from 0, which take some 10 to 100 ns each:
// it rests at each 512th, after 5 to 50 µs. TestAnalysisRests counts these.
func (r *Recording) RestsAt(i int) {
	if i%512 == 0 {
		r.Rests()
	}
}

// All yields the events in order, and rests in between, see [Recording.RestsAt]. An event may be
// changed when it is there.
func (r *Recording) All() iter.Seq[*Event] {
	return func(yield func(*Event) bool) {
		for i := range r.Events {
			r.RestsAt(i)
			if !yield(&r.Events[i]) {
				return
			}
		}
	}
}

// A Region is a piece of the program that may be made faster: the spans of one instrumentation
// scope and name, a region of runtime/trace (without a scope), or a function ([FunctionScope]).
type Region struct {
	Scope string `json:"scope"`
	Name  string `json:"span"`
}

// String returns the name.
func (r Region) String() string { return r.Name }

// Operated reports whether operations on locks and channels are in the recording: marks of package
// causal's types or of otelprof build, or what package hidden has inferred. Else it is a stock
// trace that shows nothing but waits. One mark is enough, also where the program has other locks
// that it does not mark. The time is linear where there are none.
func (r *Recording) Operated() bool {
	return slices.ContainsFunc(r.Events, func(e Event) bool { return e.Kind == EvOperate })
}

// WithoutOperations returns the recording as that of a stock program, which marks no operations.
func (r *Recording) WithoutOperations() *Recording {
	c := *r
	c.Events = make([]Event, 0, len(r.Events))
	for e := range r.All() {
		if e.Kind != EvOperate {
			c.Events = append(c.Events, *e)
		}
	}
	c.Objects, c.Pools = 0, nil
	return &c
}
