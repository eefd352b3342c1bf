package replay

import "math"

// Several goroutines may be at the same occasional work at a time since each of them found that it was not done yet (cache stampede). How many
// come in while it is under way depends on how long it takes, and on how often they come: faster work has fewer of them, faster requests more. The
// replay has those of the recording.

// A stampede is what of the rounds' time goes to such work that was begun while others were at it.
type stampede struct {
	region Region // none for waits outside of spans
	part   float64
}

// stampedes returns the occasional work that rounds have significantly more often while others are at it.
func (p *program) stampedes(work []occasional) (all []stampede) {
	for _, w := range work {
		if counts, _, _, _ := w.gaps(); w.share < leastUnclear || w.alone() || constant(counts, regular) {
			continue
		}
		joining, errors := w.attraction()
		if errors < unlikely {
			continue
		}
		s := stampede{part: w.share * joining}
		if w.region >= 0 {
			s.region = p.rec.regions[w.region]
		}
		all = append(all, s)
	}
	return all
}

// attraction returns which part of the work is done since another goroutine was at it when the round began: beyond what other rounds
// have, and by how many standard errors that is.
func (w *occasional) attraction() (joining, errors float64) {
	var rounds, having [2]float64 // while none is at it, and while one is
	var under []occasion
	next := 0
	for i := range w.rounds {
		r := &w.rounds[i]
		for ; next < len(w.occasions) && w.occasions[next].at <= r.at; next++ {
			under = append(under, w.occasions[next])
		}
		left, others := under[:0], 0
		for _, o := range under {
			if o.until > r.at {
				left = append(left, o)
				if o.list != r.owner {
					others = 1
				}
			}
		}
		under = left
		rounds[others]++
		if r.taken() {
			having[others]++
		}
	}
	part := (having[0] + having[1]) / (rounds[0] + rounds[1])
	variance := part * (1 - part) * (1/max(1, rounds[0]) + 1/max(1, rounds[1]))
	if rounds[0] == 0 || rounds[1] == 0 || variance == 0 {
		return 0, 0
	}
	more := having[1]/rounds[1] - having[0]/rounds[0]
	return more * rounds[1] / (having[0] + having[1]), more / math.Sqrt(variance)
}

// bounds returns by how much the reduction may be less, and more, for a faster region.
func (s *stampede) bounds(q question, reduction float64) (less, more float64) {
	if q.region == s.region && q.speedup > 0 {
		more = s.part * q.speedup
	}
	if reduction > 0 { // as many more come as there are more requests, and at most as many as take all that is gained
		less = min(reduction, s.part*reduction/(1-reduction))
	}
	return less, more
}
