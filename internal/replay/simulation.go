package replay

import "slices"

// A change is what a simulation has otherwise than the recording.
type change struct {
	// factors are what is left of a region's time, by region; nil for all of it.
	factors map[int32]float64
	holds   map[int32]float64 // by which part of its own time goroutines are held behind spans of a region; see holding
	procs   int               // 0 for those of the recording
	pace    float64           // what is left of all time that goroutines compute; 0 for all of it
	back    int64             // by how much longer processors take to come back that slept, ns
	lag     float64           // by how much longer idle processors take to come back, where that is not recorded; 0 for no longer
}

// An outcome is what a simulation came to.
type outcome struct {
	visits    [][]int64 // by progress point, when
	durations [][]int64 // by progress point, of its spans, ns
	ended     int64     // when the simulation ended
	stuck     bool      // nothing could go on any more
	steps     int
	work      int   // what that took: the ops that were done, and the times that one was come back to
	choices   int   // select statements that were come to
	late      int   // of these, were ended by timers
	second    int   // elements that were there and not taken, since others are taken first
	strayed   int   // of these, would have ended in a way of which the recording has no example
	untold    int   // of these, have a channel that is not known
	broken    int   // waits that were given up since nothing went on
	roused    int   // processors that a goroutine had to wake up for another one
	woken     int   // goroutines that had to wait
	asleep    int   // of these, found a processor that slept
	ran       int64 // how long goroutines computed, together, ns
	lagged    int64 // how long they took to come back, together, where the recording has no example, ns
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

// A simulation replays a program.
type simulation struct {
	p          *program
	x          *executable
	code       []instruction
	change     change
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
	out        outcome
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

// What a simulation may do is bounded by how much is in the recording: it does that once if nothing is changed, and up to twenty
// times if all that takes time is faster by 95 %.
const (
	leastWork = 1 << 20
	workPerOp = 40
	// maxRunners bounds the goroutines that there are at a time.
	maxRunners = 1 << 20
)

// maxAtOnce bounds the ops that a goroutine does without time passing.
const maxAtOnce = 100_000

// reset makes a simulation new, in the memory that it has.
func (s *simulation) reset(c change) {
	p := s.p
	compiled, ok := p.compiled.(*executable)
	if !ok {
		compiled = p.compile()
		p.compiled = compiled
	}
	procs := max(1, p.rec.Procs)
	if c.procs > 0 {
		procs = c.procs
	}
	*s = simulation{
		p: p, x: compiled, code: compiled.code, change: c, until: -1,
		factors:  filled(s.factors, len(p.sets), 1),
		procs:    filled(s.procs, procs, processor{current: -1, next: -1}),
		tokens:   zeros(s.tokens, int(p.tokens)),
		began:    zeros(s.began, int(compiled.visiting)),
		started:  zeros(s.started, len(p.lists)),
		passed:   zeros(s.passed, int(p.onces)),
		waited:   zeros(s.waited, len(p.tables)),
		took:     zeros(s.took, len(p.segments)),
		requests: zeros(s.requests, len(p.asks)),
		duties:   zeros(s.duties, len(p.schedules)),
		rows:     s.rows,
		gathered: append(s.gathered[:0], gathering{}),
		heap:     s.heap[:0], queue: s.queue, runners: s.runners[:0], free: s.free[:0], deliveries: s.deliveries[:0],
		objects:  slices.Grow(s.objects[:0], len(p.objects))[:len(p.objects)],
		standIn:  slices.Grow(s.standIn[:0], len(p.objects))[:len(p.objects)],
		patience: p.patience, limit: leastWork + workPerOp*p.ops,
	}
	s.queue.reset()
	for i := range p.objects {
		s.objects[i].begin(&p.objects[i])
		s.standIn[i] = int32(i)
	}
	s.setFactors()
	s.addUp()
	s.out.visits, s.out.durations = make([][]int64, len(p.points)), make([][]int64, len(p.points))
	for i, v := range p.recorded() { // about as many
		s.out.visits[i] = make([]int64, 0, len(v)+len(v)/8)
		if p.points[i].region >= 0 {
			s.out.durations[i] = make([]int64, 0, len(v)+len(v)/8)
		}
	}
}

// setFactors sets what is left of the time of each set of regions.
func (s *simulation) setFactors() {
	p, c := s.p, &s.change
	for r, set := range p.heldSets {
		s.factors[set] = c.holds[r]
	}
	for i, set := range p.sets {
		for _, r := range set {
			if f, ok := c.factors[r]; ok {
				s.factors[i] = min(s.factors[i], f)
				if f > 1 {
					s.factors[i] = f
				}
			}
		}
		for _, x := range p.sharesOf(i) {
			if f, ok := c.factors[x.region]; ok {
				s.factors[i] *= 1 - (1-f)*x.part
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
