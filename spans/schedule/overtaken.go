package schedule

import "slices"

// A crew is the goroutines that one has started for one piece of its work: until the innermost of
// its open regions ends, it passes a progress point, or it ends itself.
//
// Where the starter takes the first answers alone (a quorum, hedged requests: Dean and Barroso, The
// Tail at Scale, 2013), the piece is over before the last of the crew are.
type crew struct {
	starter *goroutine
	piece   uint64  // of the starter
	within  *region // nil outside of all
	answers bool    // one of the crew has ended a wait of the starter at a channel
}

// hired returns the crew that a goroutine which is started now belongs to.
func (g *goroutine) hired() *crew {
	var within *region
	if open := g.serves(); len(open) > 0 {
		within = open[len(open)-1]
	}
	if c := g.starts; c == nil || c.within != within || c.isOver() {
		g.starts = &crew{starter: g, piece: g.pieces, within: within}
	}
	return g.starts
}

// isOver reports whether the piece of work is done; no crew has none.
func (c *crew) isOver() bool {
	return c != nil && (c.piece != c.starter.pieces || c.within != nil && c.within.ended)
}

// answer notes that the goroutine ends a wait of another one.
func (g *goroutine) answer(other *goroutine) {
	if g.crew == nil || g.crew.starter != other || !slices.Contains(forChannel, other.class) {
		return
	}
	g.crew.answers = true
	for _, r := range g.open {
		r.answers = true
	}
}

// overtaken reports whether others have answered in a region's place: it has begun before the piece
// of work was done, and ends after that, without an answer of its own, as one that ends by defer
// has. Where none answers, nothing waits for the crew.
func (r *region) overtaken() bool {
	c := r.goroutine.crew
	return !r.late && !r.answers && c.isOver() && c.answers
}
