package schedule

import (
	"slices"
	"strings"

	"golang.org/x/exp/trace"
)

// A crew is the goroutines that one has started for one piece of its work: until the innermost of
// its open regions ends, it passes a progress point, or it ends itself.
//
// Where the starter takes the first answers alone (a quorum, hedged requests: Dean and Barroso, The
// Tail at Scale, 2013), the piece is over before the last of the crew are.
type crew struct {
	starter *goroutine
	piece   uint32  // of the starter
	within  *region // nil outside of all
	answers bool    // one of the crew has ended a wait of the starter at a channel
	// expired counts the waits of the starter in select statements that a timer has ended, attempt
	// is what it was when the last of the crew was started, and steps those of the starter at the
	// last.
	expired, attempt, steps uint32
}

// expire notes that a timer ends a wait of a goroutine in a select statement, where others of its
// crews have ended waits: one that is for the time alone gives up nothing.
func (a *analysis) expire(g *goroutine) {
	if g.starts != nil && g.class == forSelect && a.answered[g.site] {
		g.starts.expired++
		g.starts.steps = g.steps
	}
}

// join makes a goroutine that is started now one of the crew of its starter.
func (g *goroutine) join(starter *goroutine) {
	var within *region
	if open := starter.serves(); len(open) > 0 {
		within = open[len(open)-1]
	}
	c := starter.starts
	if c == nil || c.within != within || c.isOver() {
		c = &crew{starter: starter, piece: starter.pieces, within: within}
		starter.starts = c
	}
	g.crew, g.attempt, c.attempt = c, c.expired, c.expired
}

// isOver reports whether the piece of work is done; no crew has none.
func (c *crew) isOver() bool {
	return c != nil && (c.piece != c.starter.pieces || c.within != nil && c.within.ended)
}

// A line of the program waits: its callers may differ, and its program counters where it is
// inlined.
type line struct {
	function string
	number   uint64
}

func lineOf(s trace.Stack) line {
	for f := range s.Frames() {
		if !strings.HasPrefix(f.Func, "runtime.") {
			return line{f.Func, f.Line}
		}
	}
	return line{}
}

// answer notes that a goroutine ends a wait of another one.
func (a *analysis) answer(g, other *goroutine) {
	if g.crew == nil || g.crew.starter != other || !slices.Contains(forChannel, other.class) {
		return
	}
	g.crew.answers = true
	if other.class == forSelect {
		a.answered[other.site] = true
	}
	if g.timedOut != nil { // it was not: the starter went on to wait
		g.timedOut.TimedOut--
		g.timedOut = nil
	}
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

// timedOut reports whether a timer has ended the wait for a region: meanwhile its starter has gone
// on to other regions or pieces of its work, without an answer, or has started others for it. It is
// not known before the goroutine has had time to answer: see answer.
func (r *region) timedOut() bool {
	c := r.goroutine.crew
	if c == nil || r.late || r.answers || r.goroutine.attempt == c.expired || c.isOver() && c.answers {
		return false
	}
	return c.starter.steps != c.steps || r.goroutine.attempt < c.attempt
}
