package trace

import (
	"slices"
)

// DropTasks leaves out progress points that are tasks of runtime/trace with the name of a marked
// span: the SDK of OpenTelemetry makes one of each span while a trace is on. Whether such a span is
// progress shows in its parents.
func (r *Recording) DropTasks(tasks map[int32]bool) {
	spans := map[string]bool{}
	for _, region := range r.Regions {
		spans[region.Name] = true
	}
	kept := make([]int32, len(r.Points)) // what becomes of each, -1 for nothing
	var points []string
	for i, name := range r.Points {
		kept[i] = -1
		if !tasks[int32(i)] || !spans[name] {
			kept[i] = int32(len(points))
			points = append(points, name)
		}
	}
	if len(points) == len(r.Points) {
		return
	}
	r.Points = points
	r.Events = slices.DeleteFunc(r.Events, func(e Event) bool { return e.Kind == EvVisit && kept[e.Ref] < 0 })
	for i := range r.Events {
		r.RestsAt(i)
		if e := &r.Events[i]; e.Kind == EvVisit {
			e.Ref = kept[e.Ref]
		}
	}
}
