package replay

import "github.com/otelprof/otelprof/internal/mark"

// A token bucket by a channel has a goroutine that puts in one element at a time where there is room (select with a default). Where there is none
// nothing is sent, and the goroutine goes on all the same. In a replay in which others take more of them there is room.

// A filler is a goroutine whose operations are such offers, to one channel.
type filler struct {
	object   int32 // the recording's number
	capacity int32
	sent     int
	refused  int
	other    bool // it does something else, too
}

// fillers returns those among the goroutines, by number.
func (r *Recording) fillers() map[int32]*filler {
	sent := make([]bool, r.objects) // the channels of timers are not
	offers := false
	for i := range r.events {
		r.restsAt(i)
		if e := &r.events[i]; e.kind == evOperate && (e.what == mark.Send || e.what == mark.TrySend) {
			sent[e.ref] = true
			offers = offers || e.what == mark.TrySend
		}
	}
	if !offers {
		return nil
	}
	of := make([]filler, r.count)
	selects := make([]bool, r.count) // goroutines in a select statement that waits
	for g := range of {
		of[g].object = none
	}
	for i := range r.events {
		r.restsAt(i)
		e := &r.events[i]
		switch e.kind {
		case evOpen, evClose, evVisit:
			of[e.g].other = true
			continue
		case evOperate:
		default:
			continue
		}
		f := &of[e.g]
		switch {
		case e.what == mark.TrySend && (f.object == none || f.object == e.ref):
			f.object, f.capacity = e.ref, e.arg
			f.sent++
		case e.what == mark.Select && !selects[e.g]:
			f.refused++
		case (e.what == mark.Receive.Beginning() || e.what == mark.Receive) && !sent[e.ref]:
		default:
			f.other = true
		}
		selects[e.g] = e.what == mark.Select.Beginning()
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
func (b *builder) refused(g int32, f *filler, at int64) {
	i := b.objectOf(f.object)
	b.p.objects[i].kind = objectChan
	b.levels[i].foundFull(f.capacity - b.levels[i].now)
	b.emit(g, op{kind: opOffer, arg: i, at: at, late: -1})
}
