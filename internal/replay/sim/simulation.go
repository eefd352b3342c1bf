package sim

import (
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
)

// A Change is what a simulation has otherwise than the recording.
type Change struct {
	// Factors are what is left of a region's time, by region; nil for all of it.
	Factors map[int32]float64
	Holds   map[int32]float64 // by which part of its own time goroutines are held behind spans of a region; see holding
	Procs   int               // 0 for those of the recording
	Pace    float64           // what is left of all time that goroutines compute; 0 for all of it
	Back    int64             // by how much longer processors take to come back that slept, ns
	Lag     float64           // by how much longer idle processors take to come back, where that is not recorded; 0 for no longer
}

// The states of a goroutine in a simulation.
const (
	asleep = iota // not started, or over
	ready
	onProc
	blocked
	away // outside
)

// A runner is a goroutine that follows a list.
type runner struct {
	list     int32 // that it began with
	pc       int32
	left     int64 // of the op that computes, -1 before it begins
	state    uint8
	granted  bool  // what it waits for has been given to it
	retrying bool  // for a lock, after a wait
	wakes    bool  // the lock that it spins for need not be given to another one, see spins
	spun     uint8 // how often it has looked at a lock
	asked    int64
	late     int64
	element  int32 // that it was given
	serving  int32 // the element that it works on, if that is a request, and the number of that request
	request  int32
	borrows  bool // it does another one's load, and comes back to home
	home     int32
	gathers  int32 // the goroutines that it waits for the end of, see simulation.gathered; 0 for none
	of       int32 // the same of the goroutine that waits for its end
	next     int32 // that waits for the same token, -1
	laps     int32 // how often its list has begun anew
	chooses  bool  // it is at a select statement, and waits
	until    int32 // it goes on elsewhere until it comes to this instruction, and then behind choice from; 0 if it does not
	from     int32
	attends  bool  // it waits for an element of a station
	got      int32 // the channel that ended that, none for a timer
	due      int64 // when it comes back from outside, or a timer ends its wait
	burst    int64 // when it came to the first select statement of several in a row
	spares   uint8 // whether what it does takes no time, see periodic_work.go
	batch    int32 // the object whose batch it works on, from 1, and how large that was in the recording; 0 for none
	size     int32
}

const (
	happenStep  = iota // the current runner of processor id goes on
	happenBack         // runner id comes back from outside
	happenAwake        // processor id looks for a goroutine
	happenSent         // the element of delivery id is there
)

// A Simulation replays a program.
type Simulation struct {
	P          *model.Program
	x          *executable
	code       []instruction
	Change     Change
	factors    []float64 // of each set of regions
	now, until int64
	n          uint32
	heap       heap
	procs      []processor
	queue      queue // runners that are ready, in order
	runners    []runner
	free       []int32 // runners that are over
	tokens     []token // by number
	objects    []object
	standIn    []int32 // by object: the one that is used in its place, itself but for channels of one request
	began      []int64 // of spans by their numbers, and 1 more; 0 before that
	started    []bool  // lists that come back to something, once they run
	Out        Outcome
	deliveries []delivery
	waited     []int       // by timetable: the waits that have taken a time
	took       []int32     // by the element that a receive got: the one it got here
	gathered   []gathering // the first is none
	requests   []request   // by element
	over       bool
	passed     []bool  // ops that can be done once, by number: have been
	slices     int     // that have begun
	duties     []duty  // by work per time
	rows       []int64 // by row of ops that compute: how long it takes, ns
	patience   int64   // when to break a wait, without progress until then
	limit      int     // of out.work
	random     uint64
}

// A delivery is an element on its way.
type delivery struct{ object, element int32 }

// What a simulation may do is bounded by how much is in the recording: it does that once if nothing
// is changed, and up to twenty times if all that takes time is faster by 95 %.
const (
	LeastWork = 1 << 20
	WorkPerOp = 40
	// maxRunners bounds the goroutines that there are at a time.
	maxRunners = 1 << 20
)

// MaxAtOnce bounds the ops that a goroutine does without time passing.
const MaxAtOnce = 100_000

// Reset makes a simulation new, in the memory that it has.
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
		heap:     s.heap[:0], queue: s.queue, runners: s.runners[:0], free: s.free[:0], deliveries: s.deliveries[:0],
		objects:  slices.Grow(s.objects[:0], len(p.Objects))[:len(p.Objects)],
		standIn:  slices.Grow(s.standIn[:0], len(p.Objects))[:len(p.Objects)],
		patience: p.Patience, limit: LeastWork + WorkPerOp*p.Ops,
	}
	s.queue.reset()
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
	for i, v := range p.Recorded() { // about as many
		s.Out.Visits[i] = make([]int64, 0, len(v)+len(v)/8)
		if p.Points[i].Region >= 0 {
			s.Out.Durations[i] = make([]int64, 0, len(v)+len(v)/8)
		}
	}
}

// setFactors sets what is left of the time of each set of regions.
func (s *Simulation) setFactors() {
	p, c := s.P, &s.Change
	for r, set := range p.HeldSets {
		s.factors[set] = c.Holds[r]
	}
	for i, set := range p.Sets {
		for _, r := range set {
			if f, ok := c.Factors[r]; ok {
				s.factors[i] = min(s.factors[i], f)
				if f > 1 {
					s.factors[i] = f
				}
			}
		}
		for _, x := range p.SharesOf(i) {
			if f, ok := c.Factors[x.Region]; ok {
				s.factors[i] *= 1 - (1-f)*x.Part
			}
		}
	}
}

// filled returns n times x, in the memory of v if that is enough.
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
