package model

import (
	"slices"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A select statement takes the case that is ready first, or any of several that are ready at once.
// So the replay decides anew how it ends, and goes on with what the goroutine did the next time
// that the recorded one ended so: an element that comes before the timer has it do what it did for
// other elements.

// A Choice is a select statement that a list comes to.
type Choice struct {
	List, Op, End int32 // where it begins, and the op that ended it
	Object        int32 // that it received from; none for a timer
	Statement     int32
	Cases         []int32 // channels that it may receive from
	Told          bool    // all of them are in its marks
	// Past is what the goroutine received, or waited for in vain, right before: as many elements,
	// and more, may be a batch.
	Past []int32 // ops
	Key  string
	// Blind means that one of these was sent before the window: where an answer to it goes is not
	// known.
	Blind bool
	Open  []int32 // spans
	// Untimed is after which time no timer had ended it in the recording; 0 where one did.
	Untimed int64
	// Asks means that what comes by made is the answer to an element, see requests.go.
	Asks bool
	// Made is the channel that is made for this choice, and is used by no other before; none for no
	// such.
	Made int32
}

// A Statement is a select statement of one goroutine, by the stack.
type Statement struct {
	From, To int     // choices of its list
	Shared   []int32 // channels that it has received from several times
	Timer    bool
	Limit    int64 // after which a timer ends it, ns
	// Whole means that the limit is of a row of select statements, since the first of them.
	Whole   bool
	Decides bool                   // the list can go on elsewhere
	Like    map[OutcomeKey][]int32 // choices, in order
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
const Fresh = -2

// GivesTo returns the objects that a goroutine sends to, and does not receive from.
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
// anything else that it chooses; none for no such.
func (l *List) Later(end int) int32 {
	for k := end + 1; k < len(l.Ops) && l.Ops[k].Kind != OpChoose; k++ {
		if l.Ops[k].Kind == OpReceive {
			return l.Ops[k].Arg
		}
	}
	return trace.None
}

// MostPast is how many elements in a row are distinguished from more.
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
