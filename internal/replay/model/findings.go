package model

import (
	"time"
)

// This file has what other packages find in a program and package sim reads, one paragraph for each
// finding. The rules that find them, and what they take for granted, are in the packages that it
// names.

// A timer calls a function in a goroutine of its own (time.AfterFunc), and the trace does not show
// what set it. Where requests are gathered for some time to be dealt with together, the first of
// them does: each goroutine begins a fixed time after the first wait that it ends. Found by package
// cond, afterfunc.go.

// Calls are those of one function, in order of time. The first who waits for the one that is due
// sets the timer for it.
type Calls struct {
	Lists  []int32 // what the timer calls, one list each time
	Delays []int64 // from the first wait to the beginning of that list, ns
}

// Work by goroutines that have no spans is a span's where a goroutine in the span waits for it:
// where a pool's workers, or goroutines that the span has started, do what it is for, or a server
// within the process that has no spans. A region that is faster has that done faster, too. What is
// only handed over, such as a line to be logged, is not the span's. Found by package infer,
// attribution.go; TestErrands holds it.

// An Errand is what a goroutine without spans did from one time to another, ns on the recording's
// clock, for the spans of a set. Those of a list are in order of time.
type Errand struct {
	From, To int64
	Set      uint16
}

// A Letter is what one goroutine gives to another one, by a connection or a channel.
type Letter struct {
	From, To    int32
	Written, At int64   // when it left, and when it has come
	Spans       []int32 // that were open when it was written
}

// A goroutine that works on whatever has come (adaptive batching) lets several others go on at
// once, now more and now fewer. How many that are is decided by time: the sooner they come, the
// more are in a batch, and the fewer batches there are. Where batches do not follow a rule (see
// batches.go) the replay has those of the recording.

// What is a batch.
const (
	// AtOnce is how long after one goroutine the next must be let go on, to be of the same batch,
	// ns. It is also what a goroutine may compute before it wakes others without that being work
	// for them. A larger one takes work on single requests for the answers of a batch; a smaller
	// one cuts a batch in two where the machine is slow.
	AtOnce = int64(100 * time.Microsecond)
	// LeastBatches is which part of the times that a goroutine lets others go on must be batches.
	LeastBatches = 0.1
)

// A Growth is how long something takes in a round, ns: so long, and so long for each request of the
// batch, which is a straight line by least squares (package cond, batch_cost.go). TestResized holds
// the bounds of a line that the recording does not show.
type Growth struct{ Fixed, Each float64 }

// Factor is by how much longer that takes in a batch of now requests than in one of then, which is
// above 0. What has no slope is as long in each, known or not.
func (g Growth) Factor(then, now float64) float64 {
	if g.Each == 0 {
		return 1
	}
	return (g.Fixed + g.Each*now) / (g.Fixed + g.Each*then)
}

// Growths are those of a batcher's rounds.
type Growths struct {
	Computing Growth
	Outside   []Growth // by set of regions; behind its end nothing grows
}

// GrowsAs has what is outside in ops of a set, which had another one when it was measured, grow as
// it did there.
func (p *Program) GrowsAs(set, before uint16) {
	for i := range p.Objects {
		o := &p.Objects[i]
		for _, g := range []*Growths{o.Growths, o.Least, o.Most} {
			if g == nil || int(before) >= len(g.Outside) {
				continue
			}
			for len(g.Outside) <= int(set) {
				g.Outside = append(g.Outside, Growth{})
			}
			if g.Outside[set] == (Growth{}) {
				g.Outside[set] = g.Outside[before]
			}
		}
	}
}

// A Growing holds how tasks get longer with their sizes, and the least and the most that may be;
// nil for not, and where that is known.
type Growing struct{ Growths, Least, Most *Growths }

// NoAnswer is for how long a client waits after an answer that was given before the window: its
// next request is not one of the replay's, see OpServe.
const NoAnswer = -1

// A sampled is where a goroutine was while it computed: one sample of a CPU profile.
type sampled struct {
	G    int32
	Set  uint16 // of regions that were open
	Site int32
}

// A Share is which part of the time of some ops a function takes: of the samples of a CPU profile
// in these ops the part that has the function on the stack. All ops of a set have the same shares,
// so that a function which is hot in a few of them is spread over all. TestFunction holds the sum.
type Share struct {
	Region int32   // that stands for the function
	Part   float64 // in [0, 1]
}

// SharesOf returns the shares that functions have in a set; nil where none was asked about, or the
// set is newer than the shares.
func (p *Program) SharesOf(set int) []Share {
	if set < len(p.Shares) {
		return p.Shares[set]
	}
	return nil
}

// What experiments of slow-downs do is simulated, too, to be held against what they measure: each
// goroutine that ends a span of a region is held behind it for a part of the span's own time, by
// computing and by waiting as the region itself does. That may cost less than a region that is
// slower, where spans have given back what others wait for, and more, where they wait for a
// processor. TestHold has a span within a lock, and one behind it.

// A Holdback is behind a span for a part of the span's own time: the factor of a set for its
// region, which is 0 unless a change sets it.
type Holdback struct {
	Set uint16
	Own
}

// Own is what a span takes itself, ns: computing, and waiting.
type Own struct{ Run, Out int64 }

// HoldBehind returns the holdback behind an op, if there is one.
func (p *Program) HoldBehind(o *Op) (Holdback, bool) {
	if o.Kind != OpClose || p.Holds == nil {
		return Holdback{}, false
	}
	h, ok := p.Holds[o.Arg]
	return h, ok
}

// In the simulation of work per time, a goroutine that comes to it before it is due takes no time
// for it: what it would do has been done not long ago. What lets others go on is done all the same.
// A cache that is loaded again each second is work per time: requests that are twice as fast do not
// load it twice as often. Found by package doubt, periodic_work.go; TestPerTime holds it.

// A Schedule is when work per time was done. Where one had to begin it while others were at it, all
// of these are one bout.
type Schedule struct {
	// Begins are of bouts, or of all work where only its rate counts, ns since the window's
	// beginning.
	Begins []int64
	// Rests are from the end of one bout to the beginning of the next; nil where only the rate
	// counts.
	Rests   []int64
	Longest int64 // that the work took, ns
	Mean    int64 // from one of the begins to the next, ns, at least 1
	Slack   int64 // before it is due it may be done so long, ns: a replay is not quite the same
}

// A WorkMark is where work per time begins, before an op, or ends, behind it.
type WorkMark struct {
	Op       int32
	Schedule int32
	Ends     bool
	Joins    bool // it begins when others are at it
}

// Whether a runner takes time for what it does.
const (
	Spends = iota
	Spares
	SparesAll // it was started by one that spared
)

// A rate limiter (token bucket) lets one goroutine go on each interval, and some more after a
// pause. One that comes too early waits for a timer, but for how long depends on those before: in a
// faster program for longer. A recording has the waits; goroutines that did not have to wait are
// inferred from what they did before and behind, as a piece of code that asks a limiter asks it
// each time. A limiter is taken for one if it would have had just the same goroutines wait, for as
// long as they did. Found by package infer, rate_limiter.go; TestPaces and
// TestOrdinarySleepsAreNoPace hold it.

// A Pace is a rate limiter.
type Pace struct {
	Interval int64 // ns for each token, above 0
	Burst    int32 // how many go on at once after a pause, at least 1
	Next     int64 // when the next one goes on, since the window's beginning; past if several can
}

// Ask returns until when a goroutine that asks at a time has to wait: at, if it need not. It takes
// a token, so that it must be called once for each request, in order of time. It is the virtual
// scheduling form of a token bucket (generic cell rate algorithm, ITU-T I.371), in which what comes
// too early waits, as in a reservation, and is not refused. With an interval of 4 ms and a burst of
// 2, both tokens there:
//
//	at      0   0   0   9
//	until   0   0   4   9   one token came at 8, the one before was taken at 4
func (x *Pace) Ask(at int64) (until int64) {
	x.Next = max(x.Next, at-int64(x.Burst-1)*x.Interval)
	until = max(at, x.Next)
	x.Next += x.Interval
	return until
}

// Agreeing is which part of the sections a rule must be right about: of sections that waited, of
// sections that did not, and of sections that waited when they went on. The rest may disagree, as
// where a mark stands a little before or behind what it marks. It is one number for all rules, so
// that none is tuned to one program: 19 of 20, as docs/design/0007-replay.md has it.
const Agreeing = 0.95

// A select statement takes any of the cases that are ready. A goroutine that looks at one channel
// first, and comes to the select statement only if it is empty, takes that one's elements before
// all others. A recording does not show channels that were found empty; it does show which elements
// were there when another one was taken. Found by package infer, select_priority.go.

// A Preference is a channel whose elements goroutines take before those of another one.
type Preference struct{ First, Second int32 }

// A Station is where goroutines serve that take elements of more than one channel, by a select
// statement or by looking at one of them first. Which channel the next element is of is decided
// anew, as is which element.
type Station struct{ Objects []int32 }

// A ticker, a rate limiter, or a loop that sleeps until its next turn is due ends waits at times of
// its own: a goroutine that comes earlier waits for longer. Such a wait takes no part of the time
// that something else saves.

// A Timetable is when waits at one place end, since the window's beginning. In a replay the first
// wait there takes the first of these times, and so on; behind the last one they begin anew. Times
// at even intervals are taken for one (package infer, ticker.go; TestTimetable): a loop that sleeps
// for a fixed time has intervals as uneven as its work.
type Timetable struct {
	Times []int64 // ns, in order, at least one
	Span  int64   // from one round of them to the next, ns
}

// At returns when the wait of a number ends.
func (t *Timetable) At(n int) int64 {
	return t.Times[n%len(t.Times)] + int64(n/len(t.Times))*t.Span
}

// AtFirst is the ticket of a list that has it when the window begins. Tickets that are taken later
// are the runners', from 0; trace.None, -1, is no ticket. So these are below both.
func AtFirst(list int32) int32 { return -2 - list }
