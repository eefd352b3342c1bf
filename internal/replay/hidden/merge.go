package hidden

import (
	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// merged returns the events with marks put between them, in order, but for events that are
// replaced. A mark that would be within an operation of its goroutine that may wait comes behind
// that.
func merged(r *trace.Recording, marks []inserted, replaced []int32) []trace.Event {
	all := make([]trace.Event, 0, len(r.Events)+len(marks))
	within, later := map[int32]mark.Op{}, map[int32][]trace.Event{} // by goroutine: what it is in, and the marks that come behind it
	for i := range r.Events {
		r.RestsAt(i)
		for ; len(marks) > 0 && int(marks[0].before) <= i; marks = marks[1:] {
			if m := marks[0].event; within[m.G] != 0 {
				later[m.G] = append(later[m.G], m)
			} else {
				all = append(all, m)
			}
		}
		if len(replaced) > 0 && int(replaced[0]) == i {
			replaced = replaced[1:]
			continue
		}
		e := r.Events[i]
		all = append(all, e)
		switch in := within[e.G]; {
		case e.Kind != trace.EvOperate:
		case e.What.Begins():
			within[e.G] = e.What
		case in != 0 && (in == mark.Select.Beginning() || trace.Ends(in, e.What)):
			delete(within, e.G)
			for _, m := range later[e.G] {
				m.At = e.At
				all = append(all, m)
			}
			delete(later, e.G)
		}
	}
	for _, m := range marks {
		all = append(all, m.event)
	}
	return all
}
