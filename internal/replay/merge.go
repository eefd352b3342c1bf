package replay

import "github.com/otelprof/otelprof/internal/mark"

// merged returns the events with marks put between them, in order, but for events that are replaced. A mark that would be within an operation
// of its goroutine that may wait comes behind that.
func (r *Recording) merged(marks []inserted, replaced []int32) []event {
	all := make([]event, 0, len(r.events)+len(marks))
	within, later := map[int32]mark.Op{}, map[int32][]event{} // by goroutine: what it is in, and the marks that come behind it
	for i := range r.events {
		r.restsAt(i)
		for ; len(marks) > 0 && int(marks[0].before) <= i; marks = marks[1:] {
			if m := marks[0].event; within[m.g] != 0 {
				later[m.g] = append(later[m.g], m)
			} else {
				all = append(all, m)
			}
		}
		if len(replaced) > 0 && int(replaced[0]) == i {
			replaced = replaced[1:]
			continue
		}
		e := r.events[i]
		all = append(all, e)
		switch in := within[e.g]; {
		case e.kind != evOperate:
		case e.what.Begins():
			within[e.g] = e.what
		case in != 0 && (in == mark.Select.Beginning() || ends(in, e.what)):
			delete(within, e.g)
			for _, m := range later[e.g] {
				m.at = e.at
				all = append(all, m)
			}
			delete(later, e.g)
		}
	}
	for _, m := range marks {
		all = append(all, m.event)
	}
	return all
}
