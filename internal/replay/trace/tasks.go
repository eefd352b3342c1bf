package trace

import (
	"maps"
	"slices"

	"github.com/otelprof/otelprof/internal/mark"
)

// A program that uses the SDK of OpenTelemetry has each span twice in its trace: as a mark of
// package mark, and as a task of runtime/trace, which the SDK makes of each span while a trace is
// on. The end of a task is progress, as runtime/trace means it for units of work, but most spans
// are none: each query within a request would be progress of its own. Names are all that both have
// in common.

// DropTasks leaves out progress points that are tasks of runtime/trace with the name of a span:
// that of its region, or one that spans began with, which is the task's where a span is renamed.
// Whether such a span is progress shows in its parents. A task beside a region of runtime/trace of
// the same name stays: such a region is no progress by itself. Tasks has the numbers of points that
// are tasks' ends; points are numbered anew, and events changed in place. TestTasksOfSpans holds
// it.
func (r *Recording) DropTasks(tasks map[int32]bool, began map[string]bool) {
	spans := map[string]bool{}
	maps.Copy(spans, began)
	for i := range r.Spans {
		// A region of runtime/trace has neither an ID nor a parent, and is no root.
		if s := &r.Spans[i]; s.ID != 0 || s.Root || s.Parent >= 0 || s.Remote != 0 {
			spans[r.Regions[s.Region].Name] = true
		}
	}
	kept := make([]int32, len(r.Points)) // what becomes of each, -1 for nothing
	var points []string
	for i, name := range r.Points {
		kept[i] = -1
		if !tasks[int32(i)] || !spans[name] && !spans[mark.Cut(name)] {
			kept[i] = int32(len(points))
			points = append(points, name)
		}
	}
	if len(points) == len(r.Points) {
		return
	}
	r.Points = points
	r.Events = slices.DeleteFunc(r.Events, func(e Event) bool { return e.Kind == EvVisit && kept[e.Ref] < 0 })
	for e := range r.All() {
		if e.Kind == EvVisit {
			e.Ref = kept[e.Ref]
		}
	}
}
