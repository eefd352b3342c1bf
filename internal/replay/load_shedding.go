package replay

import "slices"

// A goroutine may offer work where there is room and do something else where there is none (load shedding: select with a default). Which it does
// time decides: the sooner goroutines come, the more of them are refused. A stock trace has only offers that let a receiver go on. But where
// goroutines come from what is before such offers, go on with what is never behind one, and do so only while no receiver waits, they have been refused.

// An offering is a place where something is offered, behind a landmark.
type offering struct {
	site   int32
	behind uint64
}

// ways are the landmarks that goroutines came to from an offering's.
type ways struct {
	offered map[uint64]int // with an offer that let a receiver go on
	others  map[uint64]*detour
}

// A detour is one without such an offer.
type detour struct {
	all, idle int            // idle is how often a receiver waited then
	by        map[int32]bool // goroutines
}

// A shedder finds offers that are refused.
type shedder struct {
	p         *program
	of        []int32
	all       map[offering]*ways
	from      map[uint64][]offering
	receivers map[int32]map[int32]int32 // by where something is offered: goroutines, and where they wait for it
	waits     []int32                   // by goroutine: where it waits for another one, none if it does not
}

// refused returns, by progress point, whether goroutines that visit it are refused often enough for answers about it to be wrong.
func (p *program) refused() map[string]bool {
	s := &shedder{p: p, of: p.usedAt(), all: map[offering]*ways{}, from: map[uint64][]offering{}, receivers: map[int32]map[int32]int32{}}
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
	visited := make([]bool, len(p.points))
	for _, w := range s.all {
		for g := range w.refused() {
			p.visits(g, visited)
		}
	}
	names := map[string]bool{}
	for point, is := range visited {
		if is {
			names[p.points[point].name] = true
		}
	}
	return names
}

// walk calls f for each landmark that a goroutine comes to, with the one before and where it has offered something in between.
func (s *shedder) walk(f func(g int32, behind, ahead uint64, offers []int32)) {
	rec := s.p.rec
	last, offers := make([]uint64, rec.count), make([][]int32, rec.count)
	s.waits = slices.Repeat([]int32{none}, int(rec.count))
	for i := range rec.events {
		rec.restsAt(i)
		e := &rec.events[i]
		ref := int32(0)
		switch e.kind {
		case evOpen, evClose:
			ref = rec.spans[e.ref].region
		case evVisit:
			ref = e.ref
		case evEnd:
		case evWait:
			if e.arg != waitReceive && e.arg != waitSelect {
				continue
			}
			ref = s.of[e.site]
			s.waits[e.g] = ref
		case evReady:
			if site := s.waits[e.g]; site >= 0 && e.by >= 0 && rec.sites[e.site].offers() {
				at := s.of[e.site]
				if s.receivers[at] == nil {
					s.receivers[at] = map[int32]int32{}
				}
				s.receivers[at][e.g] = site
				offers[e.by] = append(offers[e.by], at)
			}
			s.waits[e.g] = none
			continue
		default:
			continue
		}
		mark := uint64(e.kind)<<32 | uint64(uint32(ref))
		if last[e.g] != 0 {
			f(e.g, last[e.g], mark, offers[e.g])
		}
		last[e.g], offers[e.g] = mark, offers[e.g][:0]
	}
}

// offers reports whether something is sent there by a select statement with a default.
func (s Site) offers() bool {
	return slices.ContainsFunc(s.Frames[:min(3, len(s.Frames))], func(f Frame) bool { return f.Func == "runtime.selectnbsend" })
}

func (s *shedder) detour(at offering, g int32, ahead uint64) {
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

// refused returns the goroutines whose offers are refused.
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
		if part > mostStrayed && due >= leastHandovers/2 && float64(w.offered[ahead]) <= (1-fairness)*due && float64(d.idle) <= (1-fairness)*float64(d.all) {
			for g := range d.by {
				all[g] = true
			}
		}
	}
	return all
}
