package replay

import (
	"cmp"
	"maps"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A progress point is what a program is for: an answer about throughput is about the time between
// two of its visits. Coz (Curtsinger and Berger, 2015) has the program mark them. A recording has
// those marks, if there are any, and the ends of spans that are requests. Where it has neither, a
// name makes one: of a span, of a function that goroutines run, or of one that waits.

// Points returns the progress points: what the program counts itself, and the regions whose spans
// are work that came from outside, since they have no parent in the recording. Names are in order,
// each once.
func Points(r *trace.Recording) []string { return visited(r, 0) }

// Answerable returns the names of the progress points that have visits enough for an answer, if the
// recording is cut into as many windows as that takes: 10 in each of 5.
func Answerable(r *trace.Recording) []string { return visited(r, doubt.LeastVisits*doubt.LeastWindows) }

// visited returns the names of the progress points that have as many visits, in order. Points and
// visits do not depend on a translation, so that a program without lists has them.
func visited(r *trace.Recording, least int) []string {
	p := model.Program{Rec: r}
	p.FindPoints()
	var names []string
	for i, v := range p.Recorded() {
		if len(v) >= least {
			names = append(names, p.Points[i].Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Visits returns how often the progress point is visited that is visited most, 0 without any.
func Visits(r *trace.Recording) (most int) {
	p := model.Program{Rec: r}
	p.FindPoints()
	for _, v := range p.Recorded() {
		most = max(most, len(v))
	}
	return most
}

const (
	// usualParts are as many windows as give a number soon, and leave others where one of them
	// cannot be simulated; mostParts leave room for other recordings in a [Study], by which these
	// differ. Each window should have leastVisits.
	usualParts, mostParts = 3, 8
	leastVisits           = 100
	// mostEvents are as many as a window should have: its programs take some 460 bytes for each.
	mostEvents = 100_000
)

// Parts is into how many windows a recording should be cut, see [trace.Recording.Windows]: 3, or as
// many as have 100,000 events each, 8 at most, so that the memory of an analysis is mostly that of
// the recording itself; fewer where visits are few.
func Parts(r *trace.Recording) int {
	return max(1, min(max(usualParts, r.Traced/mostEvents), mostParts, Visits(r)/leastVisits))
}

// Count makes a progress point of what has a name, unless there is one: each end of a span or
// region of that name, or else of a goroutine that began with the function of that name, or else
// each wait of the function itself. It returns the number of visits, 0 for a name that nothing has,
// and changes the recording in place.
func Count(r *trace.Recording, name string) int {
	if slices.Contains(Points(r), name) {
		return visitsOf(r, name)
	}
	// From what ends a unit of work for sure to what only recurs with it: the first way that finds
	// any visit is taken, and not mixed with others.
	roots := roots(r)
	ways := []func(e *trace.Event) bool{
		func(e *trace.Event) bool {
			return e.Kind == trace.EvClose && r.Regions[r.Spans[e.Ref].Region].Name == name
		},
		func(e *trace.Event) bool { return e.Kind == trace.EvEnd && roots[e.G] == name },
		func(e *trace.Event) bool {
			if e.Kind != trace.EvWait {
				return false
			}
			f, ok := r.Sites[e.Site].User()
			return ok && f.Func == name
		},
	}
	for _, is := range ways {
		if n := insert(r, name, is); n > 0 {
			return n
		}
	}
	return 0
}

// insert puts a visit of a new progress point before each event of a kind, at the same time: behind
// the end of a goroutine there is nothing to put it on. It returns how many there are, and leaves
// the recording as it is if there are none. Events are copied, since windows may share them.
func insert(r *trace.Recording, name string, is func(e *trace.Event) bool) (n int) {
	for i := range r.Events {
		if is(&r.Events[i]) {
			n++
		}
	}
	if n == 0 {
		return 0
	}
	point := int32(len(r.Points))
	r.Points = append(slices.Clone(r.Points), name)
	events := make([]trace.Event, 0, len(r.Events)+n)
	for i := range r.Events {
		e := &r.Events[i]
		if is(e) {
			events = append(events, trace.Event{Kind: trace.EvVisit, At: e.At, G: e.G, By: trace.NoWaker, Ref: point})
		}
		events = append(events, *e)
	}
	r.Events = events
	return n
}

// visitsOf returns the number of visits of a progress point, of all points with that name together.
func visitsOf(r *trace.Recording, point string) (n int) {
	p := model.Program{Rec: r}
	p.FindPoints()
	for i, v := range p.Recorded() {
		if p.Points[i].Name == point {
			n += len(v)
		}
	}
	return n
}

// roots returns the functions that goroutines began with, by goroutine; "" where that is not known.
// The outermost frame of any stack has it: of the creation, in a trace of package runtime/trace the
// stack at which the new goroutine begins, or of the first wait where that was before the window.
func roots(r *trace.Recording) []string {
	roots := make([]string, r.Count)
	for i := range r.Events {
		switch e := &r.Events[i]; e.Kind {
		case trace.EvCreate:
			roots[e.G] = r.Sites[e.Site].Root()
		case trace.EvWait:
			if roots[e.G] == "" {
				roots[e.G] = r.Sites[e.Site].Root()
			}
		}
	}
	return roots
}

// Countable returns names that [Count] takes and that would have visits enough for an answer, the
// most first: regions, and functions that goroutines begin and end with.
func Countable(r *trace.Recording) []string {
	visits := map[string]int{}
	roots := roots(r)
	for i := range r.Events {
		switch e := &r.Events[i]; e.Kind {
		case trace.EvClose:
			visits[r.Regions[r.Spans[e.Ref].Region].Name]++
		case trace.EvEnd:
			if f := roots[e.G]; f != "" {
				visits[f]++
			}
		}
	}
	maps.DeleteFunc(visits, func(_ string, n int) bool { return n < doubt.LeastVisits*doubt.LeastWindows })
	return slices.SortedFunc(maps.Keys(visits), func(a, b string) int { return cmp.Or(cmp.Compare(visits[b], visits[a]), cmp.Compare(a, b)) })
}
