package trace

import (
	"cmp"
	"fmt"
	"slices"
)

// None is the number of nothing.
const None = -1

// A Pool holds what was inferred about an object, besides its operations.
type Pool struct {
	Unordered bool // any of those who wait is served next, as for a connection of database/sql
	Counted   bool // it is known how many elements there are when the window begins
	There     int32
}

// Waited returns where goroutines wait for locks and channels, most often first, as function:line:
// these are names for a [Question].
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
	names := make([]string, 0, len(waits))
	for name := range waits {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(waits[b], waits[a]), cmp.Compare(a, b)) })
	return names
}

// A Recording is what the goroutines of a program did in a window: when each ran, waited, for what,
// and which goroutine woke it. It is read from an execution trace by [Read], or built by a
// [Recorder].
type Recording struct {
	// Start and End of the window, ns on the recording's own clock.
	Start, End int64
	// Procs is GOMAXPROCS, the number of processors that ran goroutines at a time.
	Procs int
	// Traced is the number of trace events that were read.
	Traced int
	// Cut says that the trace was cut off or damaged before its end, and after how many
	// generations; nil if it was whole.
	Cut error

	Events    []Event
	Spans     []Span
	Sites     []Site
	Regions   []Region
	Points    []string
	Functions []Function
	IdleGC    map[int32]bool // goroutines that only collect garbage
	Conditions
	Count   int32 // goroutines
	Objects int32
	Told    bool           // the operations on these are inferred from a trace that does not show each
	Pools   map[int32]Pool // objects that are inferred from waits
	// Endless means that what condition variables count may become any number.
	Endless bool
	// Drippers are goroutines that end waits as timers do, see token_bucket.go.
	Drippers map[int32]bool
	// Excluded are regions whose spans have locks around them, see mutual_exclusion.go.
	Excluded map[int32]int32
	// Without has the rules that are left out, to see what they are worth; see [Recording.Uses].
	Without map[string]bool
	Rest    func() error // see ReadResting
	// Origin is the recording that this is a window of; nil if it is one of its own.
	Origin *Origin
}

// Rests leaves the processor to others, if it is time for that. Where no more is wanted it panics,
// which contain takes for the error.
func (r *Recording) Rests() {
	if r.Rest == nil {
		return
	}
	if err := r.Rest(); err != nil {
		panic(stopped{err})
	}
}

// RestsAt is rests in a loop over the events or steps, which take some 10 to 100 ns each.
func (r *Recording) RestsAt(i int) {
	if i%512 == 0 {
		r.Rests()
	}
}

// A Region is a piece of the program that may be made faster: the spans of one instrumentation
// scope and name, a region of runtime/trace, or a function.
type Region struct {
	Scope string `json:"scope"`
	Name  string `json:"span"`
}

// String returns the name.
func (r Region) String() string { return r.Name }

// RemoteParents returns the spans that are remote parents of others, by their IDs, -1 for those of
// other processes.
func (r *Recording) RemoteParents() map[uint64]int32 {
	parents := map[uint64]int32{}
	for i := range r.Spans {
		if id := r.Spans[i].Remote; id != 0 {
			parents[id] = -1
		}
	}
	if len(parents) == 0 {
		return nil
	}
	for i := range r.Spans {
		if _, ok := parents[r.Spans[i].id]; ok {
			parents[r.Spans[i].id] = int32(i)
		}
	}
	return parents
}

// Operated reports whether operations on locks and channels are in the recording.
func (r *Recording) Operated() bool {
	return slices.ContainsFunc(r.Events, func(e Event) bool { return e.Kind == EvOperate })
}
