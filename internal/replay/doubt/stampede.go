package doubt

import (
	"math"

	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Several goroutines may be at the same occasional work at a time since each of them found that it
// was not done yet (cache stampede). How many come in while it is under way depends on how long it
// takes, and on how often they come: faster work has fewer of them, faster requests more. The
// replay has those of the recording.
//
//	a  |== load ==|            finds the cache empty
//	b     |== load ==|         finds it still empty: loads, too (thundering herd)
//	c                |use|     finds it full
//
// The sign of a stampede is attraction: requests that begin while others are at the work have it
// more often than requests that begin while none is. Work by chance, or each n-th time, has no such
// dependence, and a lock or singleflight around it has the opposite one. TestAttraction in package
// replay holds this against all three.
//
// Attraction may have other causes, as a time of day in which all requests have the work. So there
// is no other program, but a share of the time that faster work saves besides, or faster requests
// lose, see bounds in package replay and TestStampedesWiden.

// A Stampede is what of the rounds' time goes to such work that was begun while others were at it.
type Stampede struct {
	Region trace.Region // none for waits outside of spans
	Part   float64      // of 1
}

// Stampedes returns the occasional work that rounds have significantly more often while others are
// at it. Left out is what takes too little to matter, what one goroutine does at a time, and what
// is done each n-th time.
func Stampedes(p *model.Program, work []Occasional) (all []Stampede) {
	for _, w := range work {
		if counts, _, _, _ := w.gaps(); w.share < LeastUnclear || w.alone() || constant(counts, regular) {
			continue
		}
		joining, errors := w.Attraction()
		if errors < Unlikely {
			continue
		}
		s := Stampede{Part: w.share * joining}
		if w.Region >= 0 {
			s.Region = p.Rec.Regions[w.Region]
		}
		all = append(all, s)
	}
	return all
}

// Attraction returns which part of the work is done since another goroutine was at it when the
// round began: beyond what other rounds have, and by how many standard errors that is, below 0 for
// less. It is 0 if rounds of one kind are missing. It is a test of two proportions, with the
// variance of both together: of 1000 rounds beside others 300 have the work, of 1000 alone 100, so
// that 200 of 400 are for others, by 11 standard errors. Rounds and occasions are in order of time.
func (w *Occasional) Attraction() (joining, errors float64) {
	var rounds, having [2]float64 // while none is at it, and while one is
	var under []Occasion          // what is under way
	next := 0
	for i := range w.Rounds {
		r := &w.Rounds[i]
		for ; next < len(w.Occasions) && w.Occasions[next].At <= r.At; next++ {
			under = append(under, w.Occasions[next])
		}
		// The work is a round's own if its goroutine does it, as a refresh that goes on behind the
		// answer: that is no other.
		left, others := under[:0], 0
		for _, o := range under {
			if o.Until > r.At {
				left = append(left, o)
				if o.List != r.Owner {
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
	// Under the hypothesis that the work is by chance, both kinds of rounds have the same part.
	part := (having[0] + having[1]) / (rounds[0] + rounds[1])
	variance := part * (1 - part) * (1/max(1, rounds[0]) + 1/max(1, rounds[1]))
	if rounds[0] == 0 || rounds[1] == 0 || variance == 0 {
		return 0, 0
	}
	more := having[1]/rounds[1] - having[0]/rounds[0]
	return more * rounds[1] / (having[0] + having[1]), more / math.Sqrt(variance)
}
