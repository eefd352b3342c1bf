package model

import (
	"slices"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A select statement takes the case that is ready first, or any of several that are ready at once,
// by chance (runtime/select.go: selectgo looks at the cases in a random order, then waits for all).
// So the replay decides anew how it ends, and goes on with what the goroutine did another time when
// the recorded one ended so: an element that comes before the timer has it do what it did for other
// elements.
//
// What the goroutine does next depends on the branch and on what it has gathered so far, and on
// nothing else, is the assumption. So choices are alike if they are of one statement, and have the
// same outcome, the same row of outcomes right before, the same set of regions and as many open
// spans. Where a replay ends a choice in a way that has no example it keeps the recorded end, and
// counts that: above sim.MostStrayed there are bounds alone. TestAnElementBeforeTheTimerIsTaken and
// TestAnEndWithoutAnExampleIsCounted hold both.

// A Choice is a select statement that a list comes to.
type Choice struct {
	List, Op, End int32   // where it begins, and the op that ended it
	Object        int32   // that it received from; none for a timer
	Statement     int32   // index, none if it is not known which one
	Cases         []int32 // channels that it may receive from
	Told          bool    // all of them are in its marks
	// Past is what the goroutine received, or waited for in vain, right before, the latest first,
	// at most MostPast ops: as many elements, and more, may be a batch.
	Past []int32
	// Key is the same as a text: r for an element, t for a timer, the latest first.
	Key string
	// Blind means that one of these was sent before the window: where an answer to it goes is not
	// known, so that the choice is no example for others.
	Blind bool
	// Open are the spans that are open, the outermost first: an example's spans begin when these
	// did.
	Open []int32
	// Untimed is after which time no timer had ended it in the recording, ns; 0 where one did. Its
	// timer is then set to that at least: it was later than the others of its statement.
	Untimed int64
	// Asks means that what comes by made is the answer to an element, see requests.go.
	Asks bool
	// Made is the channel that is made for this choice, and is used by no other before; none for no
	// such.
	Made int32
}

// A Statement is a select statement of one goroutine, by the stack.
type Statement struct {
	From, To int     // choices of its list, those of other statements among them
	Shared   []int32 // channels that it has received from several times
	Limit    int64   // after which a timer ends it, ns: the median; 0 if none did
	// Whole means that the limit is of a row of select statements, since the first of them, as
	// where a batch is gathered for so long. It is taken for that if these times scatter less.
	Whole bool
	// Decides means that the list can go on elsewhere: it begins anew, and its goroutine neither
	// waits for a token nor gives one that matters. Else the order that is kept there would
	// contradict the branch that is decided anew.
	Decides bool
	Like    map[OutcomeKey][]int32 // choices, in order; nil where it ends in one way only
}

// An OutcomeKey is a way in which a select statement ended, behind the same past, with the same
// regions open.
type OutcomeKey struct {
	past    string
	set     uint16
	open    int
	Outcome int32
}

// Fresh is the outcome of receiving from a channel that is used once, as one made for each request.
// All such channels are one outcome: their numbers differ, what they are for does not. It differs
// from trace.None, which is -1 and the outcome of a timer.
const Fresh = -2

// Closes returns the spans that end on a goroutine. Others that it begins are open on it for as
// long as is not known: one that hands requests on would have more of them from each to the next.
func (l *List) Closes() map[int32]bool {
	all := map[int32]bool{}
	for k := range l.Ops {
		if o := &l.Ops[k]; o.Kind == OpClose {
			all[o.Arg] = true
		}
	}
	return all
}

// GivesTo returns the objects that a goroutine sends to, and does not receive from: true for these,
// false for what it receives from. A case of a select statement on one of them sends.
func (l *List) GivesTo() map[int32]bool {
	to := map[int32]bool{}
	for _, kind := range []OpKind{OpSend, OpReceive} {
		for k := range l.Ops {
			if o := &l.Ops[k]; o.Kind == kind {
				to[o.Arg] = kind == OpSend
			}
		}
	}
	return to
}

// Later returns the channel that a goroutine receives from when its timer has ended, before
// anything else that it chooses; none for no such. A client that waits for its answer with a
// timeout, and then takes the answer all the same, shows by that which channel it waited for.
func (l *List) Later(end int) int32 {
	for k := end + 1; k < len(l.Ops) && l.Ops[k].Kind != OpChoose; k++ {
		if l.Ops[k].Kind == OpReceive {
			return l.Ops[k].Arg
		}
	}
	return trace.None
}

// MostPast is how many elements in a row are distinguished from more. A larger number separates
// larger batches, and leaves fewer examples of each size.
const MostPast = 16

// Outcome returns the channel that a choice received from, Fresh if others do not have it.
func (c *Choice) Outcome(p *Program, object int32) int32 {
	if object == trace.None || slices.Contains(p.Statements[c.Statement].Shared, object) {
		return object
	}
	return Fresh
}

// Own returns the channel that a choice may receive from and that is used once, as one made for
// each request; none if there is no such, or several.
func (c *Choice) Own(p *Program) int32 {
	own := int32(trace.None)
	for _, object := range c.Cases {
		if c.Outcome(p, object) != Fresh {
			continue
		}
		if own != trace.None {
			return trace.None
		}
		own = object
	}
	return own
}

// Like returns the key of choices that go on alike.
func (c *Choice) Like(p *Program, outcome int32) OutcomeKey {
	return OutcomeKey{c.Key, p.Lists[c.List].Ops[c.Op].Set, len(c.Open), outcome}
}
