package replay

import "slices"

// dropTasks leaves out progress points that are tasks of runtime/trace with the name of a marked span: the SDK of OpenTelemetry
// makes one of each span while a trace is on. Whether such a span is progress shows in its parents.
func (r *Recording) dropTasks(tasks map[int32]bool) {
	spans := map[string]bool{}
	for _, region := range r.regions {
		spans[region.Name] = true
	}
	kept := make([]int32, len(r.points)) // what becomes of each, -1 for nothing
	var points []string
	for i, name := range r.points {
		kept[i] = -1
		if !tasks[int32(i)] || !spans[name] {
			kept[i] = int32(len(points))
			points = append(points, name)
		}
	}
	if len(points) == len(r.points) {
		return
	}
	r.points = points
	r.events = slices.DeleteFunc(r.events, func(e event) bool { return e.kind == evVisit && kept[e.ref] < 0 })
	for i := range r.events {
		r.restsAt(i)
		if e := &r.events[i]; e.kind == evVisit {
			e.ref = kept[e.ref]
		}
	}
}
