package model

import (
	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A token bucket by a channel has a goroutine that puts in one element at a time where there is
// room (select with a default). Where there is none nothing is sent, and the goroutine goes on all
// the same. In a replay in which others take more of them there is room.
//
//	for range ticker.C {
//		select {
//		case tokens <- token{}:
//		default: // refused: the bucket is full
//		}
//	}
//
// A select statement with one case and a default is one call of selectnbsend (runtime/chan.go). Its
// marks show an element that was sent with the channel, and a refusal with none: mark.Select alone,
// which a receive that is refused, and a select statement without a case that sends, do not have.
// For which channel a refusal was follows if the goroutine offers to one channel only, and does
// nothing else that a refusal could be of. Such goroutines are looked for, with waits for timers in
// between. Without the rule the refused tokens of the recording would stay refused in a faster
// program, whose gain would then be too small. Goroutines that also have spans, visit progress
// points or use another object are left as they are. TestOffers holds the rule;
// doubt/token_bucket.go has it for programs without marks.

// A filler is a goroutine whose operations are such offers, to one channel.
type filler struct {
	object   int32 // the recording's number
	capacity int32
	sent     int  // offers that found room
	refused  int  // and that found none
	other    bool // it does something else, too
}

// fillers returns those among the goroutines, by number; nil if no operation is an offer. It goes
// through the events twice.
func fillers(r *trace.Recording) map[int32]*filler {
	sent, offers := sentTo(r)
	if !offers {
		return nil
	}
	// A refusal behind a select statement that has waited is that one's end, and no offer; so is an
	// element that was sent behind one. The types of package causal mark offers, too, where they
	// begin.
	const begun, waited = 1, 2
	of := make([]filler, r.Count)
	selects := make([]uint8, r.Count) // goroutines in a select statement
	for g := range of {
		of[g].object = trace.None
	}
	for e := range r.All() {
		switch e.Kind {
		case trace.EvOpen, trace.EvClose, trace.EvVisit:
			of[e.G].other = true
			continue
		case trace.EvWait:
			if selects[e.G] == begun {
				selects[e.G] = waited
			}
			continue
		case trace.EvOperate:
		default:
			continue
		}
		f, in := &of[e.G], selects[e.G]
		selects[e.G] = 0
		switch {
		case e.What == mark.Select.Beginning():
			selects[e.G] = begun
		case e.What == mark.TrySend && in != waited && (f.object == trace.None || f.object == e.Ref):
			f.object, f.capacity = e.Ref, e.Arg
			f.sent++
		case e.What == mark.Select && in != waited:
			f.refused++
		// A receive from a ticker's channel, to which no goroutine sends.
		case (e.What == mark.Receive.Beginning() || e.What == mark.Receive) && !sent[e.Ref]:
		default:
			f.other = true
		}
	}
	// One that was never refused needs no rule. One that was always refused shows no channel.
	all := map[int32]*filler{}
	for g := range of {
		if f := &of[g]; !f.other && f.sent > 0 && f.refused > 0 {
			all[int32(g)] = f
		}
	}
	return all
}

// sentTo returns to which objects goroutines send, the channels of timers are not among them, and
// whether any send is an offer.
func sentTo(r *trace.Recording) (sent []bool, offers bool) {
	sent = make([]bool, r.Objects)
	for e := range r.All() {
		if e.Kind == trace.EvOperate && (e.What == mark.Send || e.What == mark.TrySend) {
			sent[e.Ref] = true
			offers = offers || e.What == mark.TrySend
		}
	}
	return sent, offers
}

// refused books an offer that found no room. So the channel was full then, which shows how much it
// held when the window began.
func (b *Builder) refused(g int32, f *filler, at int64) {
	i := b.objectOf(f.object)
	b.P.Objects[i].Kind = ObjectChan
	b.Levels[i].foundFull(f.capacity - b.Levels[i].Now)
	b.emit(g, Op{Kind: OpOffer, Arg: i, At: at, Late: -1})
}
