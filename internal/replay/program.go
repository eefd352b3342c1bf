package replay

// opKind is what a goroutine does next.
type opKind uint8

const (
	opRun   opKind = iota // compute for d, on a processor
	opOut                 // wait for d for something outside: a timer, the network, a system call
	opDue                 // wait until the next time of timetable arg; d is for how long in the recording
	opWait                // wait for token arg
	opWake                // give token arg
	opSpawn               // start list arg
	opVisit               // visit progress point arg
	opOpen                // span arg begins
	opClose               // span arg ends
	opLock                // of object arg, and so on
	opUnlock
	opWriteLock
	opWriteUnlock
	opReadLock
	opReadUnlock
	opAdd // d to a wait group
	opJoin
	opSend    // gives an element, after d
	opReceive // takes one
	opMeet    // wait until as many are there as the object has room for
	opChoose  // comes to a select statement, see choice
	opAwait   // marks a wait for condition variable arg, behind it
	opSignal  // marks a signal to condition variable arg
	opPace    // ask rate limiter arg
	opWrite   // marks that something is written to the network
	opGather  // wait until the goroutines that this one has started are over, except for a number of them
	opTicket  // take a number, see tickets.go
	opTurn    // wait until those with lower numbers have gone on
	opNext    // have the next number go on
	opAsk     // wait for the answer of a batcher, see batches.go
	opTake    // take those who wait for that
	opAnswer  // let the goroutines that were taken go on
	opOffer   // gives an element if there is room, as in a select with a default that found none
	opUse     // use what is in a store, or load it, see cache_refill.go
	opFill    // the store is loaded
	opServe   // the answer is there: its client comes again after d, to any goroutine that waits here; wait for one of them
)

// An op is one step of a list. Its set is the regions that are open while it lasts, see program.sets.
type op struct {
	d    int64
	at   int64 // when it was over in the recording
	arg  int32
	site int32
	// late is how long after it need not wait any more the goroutine ran, ns; -1 where the recording does not show how long
	// that takes when a processor is idle.
	late int32
	// segment is, of a send, where the work of the element is, and of a receive which element it got: see program.segments; 0
	// for none.
	segment int32
	// answers is, of a send, which element it answers that was received before; 0 for none. Of a receive it is the token that its
	// goroutine has waited for, from 1, until batches has looked at that.
	answers int32
	// nth is the number of an op that is done once, see simulation.passed, and of a select statement's channels, see program.told;
	// 0 for none.
	nth  int32
	set  uint16
	kind opKind
	// head is of a receive whose goroutine serves: it goes on with the work of the element that it gets.
	head bool
	// tries is of a send or a receive that is given up where it would have to wait.
	tries bool
	// drops is of a send that tries: nothing is sent where there is no room.
	drops bool
	// free means that behind the op no span is open and no lock is held: the list can begin anew here.
	free bool
	// loose means the same but that spans may be open.
	loose bool
	// arrives is of a wait for something outside that ends when it did, and not as long after it began; see loop.go.
	arrives bool
	// once means that the token comes only the first time round, never that it does not come at all.
	once, never bool
	// row is of a receive that select statements follow at once, as where a batch is made.
	row bool
	// called is of a wait for a timer that a goroutine ended which the timer had started: a context's deadline, say.
	called bool
	reason uint8 // of a wait
}

// A list is what one goroutine did, in order.
type list struct {
	ops    []op
	visits bool // progress points, and begins anew
	// serves is the object whose elements it works on; -1 for none.
	serves int32
	// station is where it works on those of others, too; 0 for none.
	station int32
	site    int32 // where it was created, 0 where that is not known
	born    bool  // in the window
	begins  beginning
	ended   bool
	gc      bool
	// gathered means that the goroutine that starts this one waits for its end.
	gathered bool
	// From is where the list goes on behind op to-1; to is 0 if it ends.
	from, to int32
	// rounds are the ops like op to-1, in order: behind each it does the same again.
	rounds  []int32
	spawned place   // by which op
	leaves  []int32 // channels that it leaves elements in, see findLeft
	created int64   // when
	// called means that a timer has started it, and set that others set the timer, see afterfunc.go.
	called, set bool
}

type place struct{ list, op int32 }

// has reports whether a list has an op of a kind.
func (l *list) has(kind opKind) bool {
	for k := range l.ops {
		if l.ops[k].kind == kind {
			return true
		}
	}
	return false
}

// drop takes ops out of a list: as slices.DeleteFunc, which copies each of them.
func (l *list) drop(gone func(o *op) bool) {
	kept := 0
	for k := range l.ops {
		if gone(&l.ops[k]) {
			continue
		}
		if kept < k {
			l.ops[kept] = l.ops[k]
		}
		kept++
	}
	l.ops = l.ops[:kept]
}

// A beginning is what a goroutine does when the window begins.
type beginning struct {
	state uint8
	at    int64 // when one that is runnable starts
	slice int64 // what one that runs has left of its slice, 0 where that is not known
}

// An objectKind is what an object is.
type objectKind uint8

const (
	objectNone objectKind = iota
	objectMutex
	objectRWMutex
	objectWaitGroup
	objectChan
	objectBarrier
	objectPace
	objectSequence
	objectBatch
	objectStore
)

// An object is a lock, a channel or the like, and its state when the window begins.
type objectInfo struct {
	kind     objectKind
	capacity int32
	held     bool  // by a writer
	readers  int32 // that hold it
	count    int32 // of a wait group, or elements
	owed     int32 // elements that are taken out of it at first
	pool
	site     int32 // where goroutines wait for it
	inferred bool  // from which goroutine woke which
	pace     pace
	elements []int32 // segments of those there at first
	comes    []int64 // when requests of clients come that wait at first, see clients.go
	thinks   int64   // for how long clients wait between an answer and the next request
	tickets  []int32 // of a sequence, in order: the tickets that are taken at first
	// lasts is for how long what is in a store is good, 0 where uses are counted, and since is when it was loaded.
	lasts, since int64
	growing      // of batches
}

// A program is a recording as lists that can be replayed.
type program struct {
	limited bool // what condition variables count is not known to have an end, see condition.countUnseen
	rec     *Recording
	lists   []list
	// inferred means that objects or waits were inferred from which goroutine woke which.
	inferred bool
	writes   bool // to the network
	tokens   int32
	objects  []objectInfo
	sets     [][]int32 // regions
	shares   [][]share // of functions, by set
	samples  []sampled
	// segments are where the work of elements begins. The first one is none.
	segments   []place
	answers    []place // by segment: the send that answers it, in list -1 if there is none
	points     []pointInfo
	tables     []timetable
	choices    []choice
	statements []statement
	cases      map[int32]bool // channels that select statements receive from
	errands    [][]errand     // by list
	letters    []letter       // in order of arrival
	told       [][]int32      // by select statement: the channels in its marks
	stations   []station      // that serve more than one channel; the first one is none
	// preferences are those among channels that one select statement receives from.
	preferences map[preference]bool
	asks        []int32 // by segment: the channel for the answer to its element, from 1; nil if there is none
	// byRule is where batches are waited for that are decided anew, and uneven where it is batches of which it is
	// not known how much longer larger ones take.
	byRule, uneven []int32
	fillings       []filling
	calls          map[int32]*calls  // by object: what timers call
	uncalledFor    map[int32]int64   // by list: how long it waited for what timers call, though it is not known what set these, ns
	lent           map[int32][]int32 // by store: the numbers of fillings that any goroutine can do
	visited        [][]int64         // by progress point, in the recording
	pointOf        []int32           // by span: the point that its end visits, -1 for none
	// Latencies from when a goroutine can run until it does, ns: when another processor takes it, when something outside
	// wakes it, and when a processor goes on with the next one.
	cross, outside, swap int64
	lags                 []int64 // those of cross at even parts of all, nil where these are too few
	tardy                int64   // how late timers are, ns
	slices               []int64 // how long goroutines were let run while others waited, in order; see time_slices.go
	// travelling means that work travels with requests, so that the lists cannot begin anew one by one: the replay is over when
	// the first of them is.
	travelling bool
	// patience is how long there may be no progress before a wait is broken, ns.
	patience int64
	onces    int32 // ops that are done once
	// schedules are of work per time, and marks are where in lists it begins and ends, in order; see periodic_work.go.
	schedules []schedule
	marks     map[int32][]workMark
	holds     map[int32]holdback // by span, see holding
	heldSets  map[int32]uint16   // by region
	settled   bool               // see settle
	ops       int                // all of them
	// Of the simulator: the executable, and the simulation whose memory the next one takes; nil until the program is simulated.
	compiled, spare any
}

// A pointInfo is a progress point: what is counted, or the spans of a region.
type pointInfo struct {
	name   string
	region int32 // -1 for none
}

// newProgram translates a recording, with locks and channels that are only inferred or without them.
func newProgram(rec *Recording, infer bool) *program {
	p := translate(rec)
	p.settle(infer)
	return p
}

// translate puts together what is recorded, which has to be settled.
func translate(rec *Recording) *program {
	b := newBuilder(rec)
	b.p.findPoints()
	for i := range rec.events {
		rec.restsAt(i)
		before := b.running
		b.event(&rec.events[i])
		b.full(before, rec.events[i].at)
	}
	b.finish()
	return b.p
}

// findPoints takes what the program counts itself, and the spans without a parent here, with the others of their regions if these are
// fewer. Where all regions of theirs have more others, as those of all calls of HTTP together, it takes the spans without a parent alone, of
// the region that has most.
func (p *program) findPoints() {
	for _, name := range p.rec.points {
		p.points = append(p.points, pointInfo{name, -1})
	}
	parents := p.rec.remoteParents()
	isRoot := func(s *span) bool { return s.root && (s.remote == 0 || parents[s.remote] < 0) }
	roots, all := make([]int, len(p.rec.regions)), make([]int, len(p.rec.regions))
	for i := range p.rec.spans {
		s := &p.rec.spans[i]
		all[s.region]++
		if isRoot(s) {
			roots[s.region]++
		}
	}
	most := int32(none)
	taken := false
	for r, n := range roots {
		taken = taken || n > 0 && 2*n > all[r]
		if n > 0 && (most < 0 || n > roots[most]) {
			most = int32(r)
		}
	}
	of := make([]int32, len(p.rec.regions))
	for r, n := range roots {
		of[r] = none
		if n > 0 && 2*n > all[r] || !taken && int32(r) == most {
			of[r] = int32(len(p.points))
			p.points = append(p.points, pointInfo{p.rec.regions[r].Name, int32(r)})
		}
	}
	p.pointOf = make([]int32, len(p.rec.spans))
	for i := range p.rec.spans {
		s := &p.rec.spans[i]
		p.pointOf[i] = of[s.region]
		if !taken && !isRoot(s) {
			p.pointOf[i] = none
		}
	}
}
