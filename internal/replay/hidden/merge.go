package hidden

import (
	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// The inferred marks become events like the ones that a program built with otelprof writes, so that
// all that reads recordings treats both alike. The one rule of such marks to be kept is that an
// operation which may wait has a beginning and an end, and what the goroutine does in between
// belongs to it (package mark). An inferred mark between the two would be lost:
//
//	recorded    Receive begins   ......   Receive
//	inferred                     Unlock             is put behind the Receive, at its time

// merged returns the events with marks put between them, in order, but for events that are
// replaced. A mark that would be within an operation of its goroutine that may wait comes behind
// that. Marks must be in order of the events that they come before, replaced in ascending order.
// Times do not decrease if those of the marks lie between those of their neighbours. It takes the
// sum of all lengths.
func merged(r *trace.Recording, marks []inserted, replaced []int32) []trace.Event {
	all := make([]trace.Event, 0, len(r.Events)+len(marks))
	// By goroutine: the operation that it is in, and the marks that come behind it.
	within, later := map[int32]mark.Op{}, map[int32][]trace.Event{}
	for i := range r.Events {
		r.RestsAt(i)
		// What comes before this event, unless its goroutine is within an operation.
		for ; len(marks) > 0 && int(marks[0].before) <= i; marks = marks[1:] {
			if m := marks[0].event; within[m.G] != 0 {
				later[m.G] = append(later[m.G], m)
			} else {
				all = append(all, m)
			}
		}
		// An event that is replaced neither begins nor ends an operation.
		if len(replaced) > 0 && int(replaced[0]) == i {
			replaced = replaced[1:]
			continue
		}
		// Follow what the goroutine is in. A select that took a case without marks has no end of
		// its own: the next operation shows that it is over.
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
