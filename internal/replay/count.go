package replay

import (
	"cmp"
	"slices"
)

// Regions returns the regions that were seen, in no order that matters.
func (r *Recording) Regions() []Region { return slices.Clone(r.regions) }

// Points returns the progress points: what the program counts itself, and the regions whose spans are work that came from
// outside, since they have no parent in the recording.
func (r *Recording) Points() []string { return r.visited(0) }

// Answerable returns the names of the progress points that have visits enough for an answer.
func (r *Recording) Answerable() []string { return r.visited(LeastVisits * LeastWindows) }

// visited returns the names of the progress points that have as many visits.
func (r *Recording) visited(least int) []string {
	p := program{rec: r}
	p.findPoints()
	var names []string
	for i, v := range p.recorded() {
		if len(v) >= least {
			names = append(names, p.points[i].name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Visits returns how often the progress point is visited that is visited most.
func (r *Recording) Visits() (most int) {
	p := program{rec: r}
	p.findPoints()
	for _, v := range p.recorded() {
		most = max(most, len(v))
	}
	return most
}

// Count makes a progress point of what has a name, unless there is one: each end of a span or region of that name, or else of
// a goroutine that began with the function of that name, or else each wait of the function itself. It returns the number of
// visits.
func (r *Recording) Count(name string) int {
	if slices.Contains(r.Points(), name) {
		return r.visitsOf(name)
	}
	roots := r.roots()
	ways := []func(e *event) bool{
		func(e *event) bool { return e.kind == evClose && r.regions[r.spans[e.ref].region].Name == name },
		func(e *event) bool { return e.kind == evEnd && roots[e.g] == name },
		func(e *event) bool {
			if e.kind != evWait {
				return false
			}
			f, ok := r.sites[e.site].user()
			return ok && f.Func == name
		},
	}
	for _, is := range ways {
		if n := r.insert(name, is); n > 0 {
			return n
		}
	}
	return 0
}

// insert puts a visit before each event of a kind.
func (r *Recording) insert(name string, is func(e *event) bool) (n int) {
	for i := range r.events {
		if is(&r.events[i]) {
			n++
		}
	}
	if n == 0 {
		return 0
	}
	point := int32(len(r.points))
	r.points = append(slices.Clone(r.points), name)
	events := make([]event, 0, len(r.events)+n)
	for i := range r.events {
		e := &r.events[i]
		if is(e) {
			events = append(events, event{kind: evVisit, at: e.at, g: e.g, by: noWaker, ref: point})
		}
		events = append(events, *e)
	}
	r.events = events
	return n
}

func (r *Recording) visitsOf(point string) (n int) {
	p := program{rec: r}
	p.findPoints()
	for i, v := range p.recorded() {
		if p.points[i].name == point {
			n += len(v)
		}
	}
	return n
}

// roots returns the functions that goroutines began with, by goroutine; "" where that is not known.
func (r *Recording) roots() []string {
	roots := make([]string, r.count)
	for i := range r.events {
		switch e := &r.events[i]; e.kind {
		case evCreate:
			roots[e.g] = r.sites[e.site].root()
		case evWait:
			if roots[e.g] == "" {
				roots[e.g] = r.sites[e.site].root()
			}
		}
	}
	return roots
}

// Countable returns names that [Recording.Count] takes and that would have visits enough for an answer, the most first: regions, and functions that
// goroutines begin and end with.
func (r *Recording) Countable() []string {
	visits := map[string]int{}
	roots := r.roots()
	for i := range r.events {
		switch e := &r.events[i]; e.kind {
		case evClose:
			visits[r.regions[r.spans[e.ref].region].Name]++
		case evEnd:
			if f := roots[e.g]; f != "" {
				visits[f]++
			}
		}
	}
	names := make([]string, 0, len(visits))
	for name, n := range visits {
		if n >= LeastVisits*LeastWindows {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(visits[b], visits[a]), cmp.Compare(a, b)) })
	return names
}
