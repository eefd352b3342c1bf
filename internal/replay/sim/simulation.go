package sim

import (
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
)

// A Change is what a simulation has otherwise than the recording. The zero Change has nothing: its
// simulation is the self-check, to be held against the recording. Regions are numbers in
// trace.Recording.Regions.
type Change struct {
	// Factors are what is left of a region's time, computing and waiting outside, by region: 0.5
	// for half of it, 2 for a region that is slower, 0 for none. Nil, or without a region, all is
	// left.
	Factors map[int32]float64
	// Holds are by which part of its own time goroutines are held behind each span of a region, by
	// region: 0.1 for a tenth. They count in programs with Program.Holds alone, see holding in the
	// parent package.
	Holds map[int32]float64
	Procs int     // processors (GOMAXPROCS); 0 for those of the recording
	Pace  float64 // what is left of all time that goroutines compute; 0 for all of it
	Back  int64   // by how much longer processors take to come back that slept, ns
	// Lag is by which factor idle processors take longer to come back, where that is not recorded,
	// above 0; 0 for as long. See OtherLags.
	Lag float64
}

// The states of a goroutine in a simulation. A runner that is ready is in the run queue or next on
// a processor; one that is blocked is in the queue of an object or of a token, and one that is away
// has a happening that brings it back.
const (
	asleep = iota // not started, or over
	ready
	onProc
	blocked
	away // outside
)

// A runner is a goroutine that follows a list: a program counter, and what it waits for. It may go
// on in other lists, with the work of an element, or as another choice ended. Several runners may
// follow one list, where that is started again before it is over; what is kept by op or by element,
// such as Simulation.took, is then shared between them.
type runner struct {
	list     int32 // that it began with
	pc       int32 // the instruction that it is at
	left     int64 // of the op that computes, ns, -1 before it begins
	state    uint8
	granted  bool  // what it waits for has been given to it
	retrying bool  // for a lock or a batch, after a wait: it looks again
	owns     bool  // the Mutex within an RWMutex has been handed to it, see writeLock
	wakes    bool  // the lock that it spins for need not be given to another one, see spins
	spun     uint8 // how often it has looked at a lock
	asked    int64 // when it first came to the lock that it waits for
	// Late is how late it runs behind its wait where a processor has to wake up for it, ns, as in
	// the recording; -1 where that does not show. Ready uses it once.
	late    int64
	element int32 // that it was given
	// Serving is the element that it works on, if that is a request, and request which one of all
	// that have been made with that element; 0 for none.
	serving int32
	request int32
	// Gathers is the gathering of goroutines whose end it waits for, in Simulation.gathered; 0 for
	// none.
	gathers int32
	of      int32 // the same of the goroutine that waits for its end
	next    int32 // that waits for the same token, -1
	laps    int32 // how often its list has begun anew
	chooses bool  // it is at a select statement, and waits
	// Until is where it stops to go on elsewhere, an instruction: there it goes on behind choice
	// from. It is 0 while it follows its own list.
	until   int32
	from    int32
	attends bool  // it waits for an element of a station
	got     int32 // the channel that ended that, none for a timer
	due     int64 // when it comes back from outside, or a timer ends its wait
	burst   int64 // when it came to the first select statement of several in a row
	spares  uint8 // whether what it does takes no time, see periodic_work.go
	// Batch is the object whose batch it works on, from 1, and size how many requests that was for
	// in the recording; batch is 0 for none.
	batch int32
	size  int32
}

// The kinds of happenings. There is room for four, see happening.
const (
	happenStep  = iota // the current runner of processor id goes on
	happenBack         // runner id comes back from outside
	happenAwake        // processor id looks for a goroutine
	happenSent         // the element of delivery id is there
)

// A Simulation replays a program. Simulate makes one, and keeps it for the memory that it has.
// Exported are what tests in the parent package set to ask for slices and lags. What is kept by
// object, element, span or op is kept for all runners: the last one that was there counts.
type Simulation struct {
	P       *model.Program
	x       *executable
	code    []instruction // of x
	Change  Change
	factors []float64 // of each set of regions
	// Now is the time, and until when the simulation ends, ns since the window began; until is -1
	// before that has begun.
	now, until int64
	n          uint32 // how many happenings have been planned
	heap       heap
	procs      []processor
	processes  []process
	runners    []runner
	free       []int32 // runners that are over
	tokens     []token // by number
	objects    []object
	// StandIn is by object the one that is used in its place: itself, but for channels of one
	// request.
	standIn    []int32
	began      []int64 // when spans began, by their numbers, and 1 more; 0 before that
	started    []bool  // lists that come back to something, once they run
	Out        Outcome
	deliveries []delivery
	waited     []int       // by timetable: the waits that have taken a time
	took       []int32     // by the element that a receive got: the one it got here
	gathered   []gathering // the first is none
	requests   []request   // by element
	over       bool        // a list has ended the replay, see opOver
	yields     bool        // the runner gives its processor up behind its op, see unlock
	passed     []bool      // ops that can be done once, by number: have been
	slices     int         // that have begun
	duties     []duty      // by work per time
	rows       []int64     // by row of ops that compute: how long it takes, ns
	patience   int64       // when to break a wait, without progress until then
	limit      int         // of Out.Work
	random     uint64      // see draw
}

// A delivery is an element on its way to an object. It keeps its place in the list when it is
// there.
type delivery struct{ object, element int32 }

// What a simulation may do is bounded by how much is in the recording: it does that once if nothing
// is changed, and up to twenty times if all that takes time is faster by 95 %. Damaged recordings,
// and rules that are wrong, make programs that never end: TestWorkIsBounded has goroutines that
// start each other for ever. A simulation that comes to the bound is stuck, and gives no answer.
const (
	// LeastWork and WorkPerOp are how much Outcome.Work is allowed: so much, and so much for each
	// op of the program. An op takes up to two units, for its step and its happening, so that 40
	// allows twenty times all of it.
	LeastWork = 1 << 20
	WorkPerOp = 40
	// maxRunners bounds the goroutines that there are at a time. It must stay below 1<<30, which is
	// the room for their numbers in a happening.
	maxRunners = 1 << 20
)

// MaxAtOnce bounds the ops that a goroutine does without time passing: more are a loop in which
// nothing takes time, as where a change leaves none, and its goroutine is given up. It is far above
// the ops of any one request.
const MaxAtOnce = 100_000

// Reset makes a simulation new, in the memory that it has, as a study simulates each question anew:
// TestSimulationsAlike allows 40 allocations for each. It compiles the program the first time; its
// ops must not change from then on, see Rewritten in package model. Only the outcome is new memory,
// as it is the caller's. A field that is not named here is zero, except in objects, which begin
// sets, and rows, which addUp does.
func (s *Simulation) Reset(c Change) {
	p := s.P
	compiled, ok := p.Compiled.(*executable)
	if !ok {
		compiled = compile(p)
		p.Compiled = compiled
	}
	procs := max(1, p.Rec.Procs)
	if c.Procs > 0 {
		procs = c.Procs
	}
	*s = Simulation{
		P: p, x: compiled, code: compiled.code, Change: c, until: -1,
		factors:  filled(s.factors, len(p.Sets), 1),
		procs:    filled(s.procs, procs, processor{current: -1, next: -1}),
		tokens:   zeros(s.tokens, int(p.Tokens)),
		began:    zeros(s.began, int(compiled.visiting)),
		started:  zeros(s.started, len(p.Lists)),
		passed:   zeros(s.passed, int(p.Onces)),
		waited:   zeros(s.waited, len(p.Tables)),
		took:     zeros(s.took, len(p.Segments)),
		requests: zeros(s.requests, len(p.Asks)),
		duties:   zeros(s.duties, len(p.Schedules)),
		rows:     s.rows,
		gathered: append(s.gathered[:0], gathering{}),
		heap:     s.heap[:0], processes: s.processes, runners: s.runners[:0], free: s.free[:0], deliveries: s.deliveries[:0],
		objects:  slices.Grow(s.objects[:0], len(p.Objects))[:len(p.Objects)],
		standIn:  slices.Grow(s.standIn[:0], len(p.Objects))[:len(p.Objects)],
		patience: p.Patience, limit: LeastWork + WorkPerOp*p.Ops,
	}
	s.setProcesses(procs)
	for i := range p.Objects {
		s.objects[i].begin(&p.Objects[i])
		s.standIn[i] = int32(i)
	}
	s.setFactors()
	s.addUp()
	if p.Holds != nil {
		s.Out.Held = make([]int, len(p.Sets))
	}
	s.Out.Visits, s.Out.Durations = make([][]int64, len(p.Points)), make([][]int64, len(p.Points))
	// A faster program has more visits; append finds room for these.
	for i, v := range p.Recorded() { // about as many
		s.Out.Visits[i] = make([]int64, 0, len(v)+len(v)/8)
		if p.Points[i].Region >= 0 {
			s.Out.Durations[i] = make([]int64, 0, len(v)+len(v)/8)
		}
	}
}

// setFactors sets what is left of the time of each set of regions, which are the ones whose spans
// are open while an op lasts. It is the time of the innermost span, and of no span around it: a
// region is its own time, as slow-downs take it and as a release changes it. A function has a part
// of an op's time, by the samples of the CPU profile, and only that part is faster (Amdahl's law):
// half of 0.4 of it leaves 0.8. The sets of holds are theirs alone, and 0 unless the change holds
// their regions.
func (s *Simulation) setFactors() {
	p, c := s.P, &s.Change
	for r, set := range p.HeldSets {
		s.factors[set] = c.Holds[r]
	}
	for i, set := range p.Sets {
		if len(set) > 0 {
			if f, ok := c.Factors[set[0]]; ok {
				s.factors[i] = f
			}
		}
		for _, x := range p.SharesOf(i) {
			if f, ok := c.Factors[x.Region]; ok {
				s.factors[i] *= 1 - (1-f)*x.Part
			}
		}
	}
}

// filled returns n times x, in the memory of v if that is enough. What was in v is lost.
func filled[T any](v []T, n int, x T) []T {
	v = slices.Grow(v[:0], n)[:n]
	for i := range v {
		v[i] = x
	}
	return v
}

// zeros is filled with the zero value, some times faster.
func zeros[T any](v []T, n int) []T {
	v = slices.Grow(v[:0], n)[:n]
	clear(v)
	return v
}
