package doubt

import (
	"slices"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/hidden"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A goroutine may offer work where there is room and do something else where there is none (load
// shedding: select with a default). Which it does time decides: the sooner goroutines come, the
// more of them are refused. A stock trace has only offers that let a receiver go on. But where
// goroutines come from what is before such offers, go on with what is never behind one, and do so
// only while no receiver waits, they have been refused.
//
// A landmark is an event that shows where a goroutine is: an end or a beginning of a span, a visit,
// a wait to receive, its end. Between two of them it has offered something, or not:
//
//	think ends | jobs <- job  | wait for the answer   60 times, an offer that let a worker go on
//	think ends | ?            | fallback begins       40 times, no worker waited then: refused
//
// Had a worker waited in 20 of these 40, the fallback would have another reason.
//
// Each ? is what chansend in Go's runtime/chan.go returns without a trace of it: false where the
// buffer is full, or true where it has room and no receiver waits. The second looks alike but goes
// on as the other offers do. TestRefused in package replay has offers that are refused and given
// up, work that each third request does not have, and offers that are not waited for.
//
// Offers are known by runtime.selectnbsend, a select statement of one send and a default. Those of
// several cases and a default, and TryLock, are not seen. Whether a receiver waits is looked up at
// the landmark behind the offer: where that comes late, one may wait again by then, and the refusal
// is missed.
//
// A recording with all operations has the offers that were taken, whether a receiver waited or not,
// and refusals: the end of a select statement that waited for nothing and has no channel. What was
// refused there may have been a receive, as of a context that is looked at, so that a detour is a
// way with a refusal and without an offer. Who waits behind a refusal waits for room, mostly, and
// when there is some the replay decides. TestRefusedOffersWithMarks has all of these.

// An offering is a place where something is offered, behind a landmark.
type offering struct {
	site   int32  // of the program, by number; below 0 for an object of marks
	behind uint64 // see walk
}

// ways are the landmarks that goroutines came to from an offering's.
type ways struct {
	offered map[uint64]int     // with an offer that let a receiver go on
	others  map[uint64]*detour // without
}

// A detour is one without such an offer.
type detour struct {
	all, idle int            // idle is how often a receiver waited then
	by        map[int32]bool // goroutines
}

// A shedder finds offers that are refused.
type shedder struct {
	p         *model.Program
	of        []int32 // places in the program, by site
	all       map[offering]*ways
	from      map[uint64][]offering     // by landmark: what is offered behind it
	receivers map[int32]map[int32]int32 // by where something is offered: goroutines, and where they wait for it
	refusals  []bool                    // by goroutine: it was refused something since its last landmark
	waits     []int32                   // by goroutine: where it waits for another one, none if it does not
}

// Refused returns, by progress point, whether goroutines that visit it are refused often enough for
// answers about it to be wrong; nil if no offers are seen. It goes twice through the events: where
// something is offered is known only once they have been gone through.
func Refused(p *model.Program) map[string]bool {
	s := &shedder{p: p, of: cond.UsedAt(p), all: map[offering]*ways{}, from: map[uint64][]offering{}, receivers: map[int32]map[int32]int32{}}
	s.walk(func(_ int32, behind, ahead uint64, offers []int32) {
		for _, site := range offers {
			at := offering{site, behind}
			if s.all[at] == nil {
				s.all[at] = &ways{map[uint64]int{}, map[uint64]*detour{}}
				s.from[behind] = append(s.from[behind], at)
			}
			s.all[at].offered[ahead]++
		}
	})
	if len(s.all) == 0 {
		return nil
	}
	s.walk(func(g int32, behind, ahead uint64, offers []int32) {
		for _, at := range s.from[behind] {
			if !slices.Contains(offers, at.site) {
				s.detour(at, g, ahead)
			}
		}
	})
	visited := make([]bool, len(p.Points))
	for _, w := range s.all {
		for g := range w.refused() {
			cond.Visits(p, g, visited)
		}
	}
	names := map[string]bool{}
	for point, is := range visited {
		if is {
			names[p.Points[point].Name] = true
		}
	}
	return names
}

// walk calls f for each landmark that a goroutine comes to, with the one before and where it has
// offered something in between. A landmark is a kind of event, in the upper half, and which: a
// region, a progress point or a place. Offers are valid until f returns. While f is called, waits
// has what all goroutines wait for at that time.
func (s *shedder) walk(f func(g int32, behind, ahead uint64, offers []int32)) {
	rec := s.p.Rec
	last, offers := make([]uint64, rec.Count), make([][]int32, rec.Count)
	s.waits = slices.Repeat([]int32{trace.None}, int(rec.Count))
	s.refusals = make([]bool, rec.Count)
	for e := range rec.All() {
		ref := int32(0)
		switch e.Kind {
		case trace.EvOpen, trace.EvClose:
			ref = rec.Spans[e.Ref].Region
		case trace.EvVisit:
			ref = e.Ref
		case trace.EvEnd:
		case trace.EvWait:
			if e.Arg != trace.WaitReceive && e.Arg != trace.WaitSelect {
				continue
			}
			ref = s.of[e.Site]
			s.waits[e.G] = ref
		case trace.EvReady:
			if site := s.waits[e.G]; site >= 0 && e.By >= 0 && rec.Sites[e.Site].Offers() {
				// An offer is the waker's, and shows who receives what is offered there.
				at := s.of[e.Site]
				if s.receivers[at] == nil {
					s.receivers[at] = map[int32]int32{}
				}
				s.receivers[at][e.G] = site
				offers[e.By] = append(offers[e.By], at)
			}
			s.waits[e.G] = trace.None
			continue
		case trace.EvOperate:
			switch e.What {
			case mark.TrySend: // an object in place of a place
				offers[e.G] = append(offers[e.G], -1-e.Ref)
			case mark.Select:
				s.refusals[e.G] = true
			}
			continue
		default:
			continue
		}
		landmark := uint64(e.Kind)<<32 | uint64(uint32(ref))
		if last[e.G] != 0 {
			f(e.G, last[e.G], landmark, offers[e.G])
		}
		last[e.G], offers[e.G], s.refusals[e.G] = landmark, offers[e.G][:0], false
	}
}

// detour notes a way without an offer, and whether any receiver of what is offered there waits now.
// One that waits would have taken the offer, so that there was none: it was not refused.
func (s *shedder) detour(at offering, g int32, ahead uint64) {
	if s.p.Rec.Operated() && (!s.refusals[g] || ahead>>32 == uint64(trace.EvWait)) {
		return
	}
	d := s.all[at].others[ahead]
	if d == nil {
		d = &detour{by: map[int32]bool{}}
		s.all[at].others[ahead] = d
	}
	d.all++
	d.by[g] = true
	for receiver, site := range s.receivers[at.site] {
		if s.waits[receiver] == site {
			d.idle++
			break
		}
	}
}

// refused returns the goroutines whose offers are refused. If offers had nothing to do with where
// goroutines go, each landmark would be behind as large a part of the offers as of all ways. A
// landmark is of refused offers if that part is above sim.MostStrayed, if at least half as many
// offers as an inference takes would be due there, if at most a twentieth of these are, and if a
// receiver waited in at most a twentieth of the detours.
//
// Of 60 offers and 40 detours to a fallback, 0.4 * 60 = 24 would be due before the fallback. If
// there is at most one, the fallback is what is done instead.
func (w *ways) refused() map[int32]bool {
	offered, others := 0, 0
	for _, n := range w.offered {
		offered += n
	}
	for _, d := range w.others {
		others += d.all
	}
	all := map[int32]bool{}
	for ahead, d := range w.others {
		part := float64(d.all) / float64(offered+others)
		due := part * float64(offered) // if offers had nothing to do with it
		if part > sim.MostStrayed && due >= hidden.LeastHandovers/2 && float64(w.offered[ahead]) <= (1-hidden.Fairness)*due && float64(d.idle) <= (1-hidden.Fairness)*float64(d.all) {
			for g := range d.by {
				all[g] = true
			}
		}
	}
	return all
}
