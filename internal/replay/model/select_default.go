package model

import (
	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A token bucket by a channel has a goroutine that puts in one element at a time where there is
// room (select with a default). Where there is none nothing is sent, and the goroutine goes on all
// the same. In a replay in which others take more of them there is room.

// A filler is a goroutine whose operations are such offers, to one channel.
type filler struct {
	object   int32 // the recording's number
	capacity int32
	sent     int
	refused  int
	other    bool // it does something else, too
}

// fillers returns those among the goroutines, by number.
func fillers(r *trace.Recording) map[int32]*filler {
	sent := make([]bool, r.Objects) // the channels of timers are not
	offers := false
	for i := range r.Events {
		r.RestsAt(i)
		if e := &r.Events[i]; e.Kind == trace.EvOperate && (e.What == mark.Send || e.What == mark.TrySend) {
			sent[e.Ref] = true
			offers = offers || e.What == mark.TrySend
		}
	}
	if !offers {
		return nil
	}
	of := make([]filler, r.Count)
	selects := make([]bool, r.Count) // goroutines in a select statement that waits
	for g := range of {
		of[g].object = trace.None
	}
	for i := range r.Events {
		r.RestsAt(i)
		e := &r.Events[i]
		switch e.Kind {
		case trace.EvOpen, trace.EvClose, trace.EvVisit:
			of[e.G].other = true
			continue
		case trace.EvOperate:
		default:
			continue
		}
		f := &of[e.G]
		switch {
		case e.What == mark.TrySend && (f.object == trace.None || f.object == e.Ref):
			f.object, f.capacity = e.Ref, e.Arg
			f.sent++
		case e.What == mark.Select && !selects[e.G]:
			f.refused++
		case (e.What == mark.Receive.Beginning() || e.What == mark.Receive) && !sent[e.Ref]:
		default:
			f.other = true
		}
		selects[e.G] = e.What == mark.Select.Beginning()
	}
	all := map[int32]*filler{}
	for g := range of {
		if f := &of[g]; !f.other && f.sent > 0 && f.refused > 0 {
			all[int32(g)] = f
		}
	}
	return all
}

// refused books an offer that found no room.
func (b *Builder) refused(g int32, f *filler, at int64) {
	i := b.objectOf(f.object)
	b.P.Objects[i].Kind = ObjectChan
	b.Levels[i].foundFull(f.capacity - b.Levels[i].Now)
	b.emit(g, Op{Kind: OpOffer, Arg: i, At: at, Late: -1})
}
