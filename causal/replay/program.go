package replay

// opKind is what a goroutine does next.
type opKind uint8

const (
	opRun   opKind = iota // compute for d, on a processor
	opOut                 // wait for d for something outside: a timer, the network, a system call
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
	opGather  // wait until the goroutines that this one has started are over
)

// An op is one step of a list. Its set is the regions that are open while it lasts, see program.sets.
type op struct {
	d    int64
	at   int64 // when it was over in the recording
	arg  int32
	site int32
	// late is how long after it need not wait any more the goroutine ran, ns; -1 where the recording does not tell how long
	// that takes when a processor is idle.
	late int32
	// segment is, of a send, where the work of the element is, and of a receive which element it got: see program.segments; 0
	// for none.
	segment int32
	// answers is, of a send, which element it answers that was received before; 0 for none.
	answers int32
	// nth is the number of an op that is done once, see simulation.passed.
	nth  int32
	set  uint16
	kind opKind
	// head tells of a receive that its goroutine serves: it goes on with the work of the element that it gets.
	head bool
	// tries tells of a send or a receive that it is given up where it would have to wait.
	tries bool
	// free tells that behind the op no span is open and no lock is held: the list can begin anew here.
	free bool
	// loose tells the same but that spans may be open.
	loose bool
	// timed tells of a receive that something outside has ended: a timer, unless others send there.
	timed bool
	// once tells that the token comes only the first time round, never that it does not come at all.
	once, never bool
	reason      uint8 // of a wait
}

// A list is what one goroutine did, in order.
type list struct {
	ops    []op
	visits bool // progress points, and begins anew
	// serves is the object whose elements it works on; -1 for none.
	serves int32
	site   int32 // where it was created, 0 where that is not known
	born   bool  // in the window
	begins beginning
	ended  bool
	gc     bool
	// gathered tells that the goroutine that starts this one waits for its end.
	gathered bool
	// From is where the list goes on behind op to-1; to is 0 if it ends.
	from, to int32
	spawned  place // by which op
	created  int64 // when
}

type place struct{ list, op int32 }

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
)

// An object is a lock, a channel or the like, and its state when the window begins.
type objectInfo struct {
	kind     objectKind
	capacity int32
	held     bool    // by a writer
	readers  int32   // that hold it
	count    int32   // of a wait group, or elements
	site     int32   // where goroutines wait for it
	inferred bool    // from who woke whom
	elements []int32 // segments of those there at first
}

// A program is a recording as lists that can be replayed.
type program struct {
	rec     *Recording
	lists   []list
	tokens  int32
	objects []objectInfo
	sets    [][]int32 // regions
	shares  [][]share // of functions, by set
	samples []sampled
	// segments are where the work of elements begins. The first one is none.
	segments []place
	answers  []place // by segment: the send that answers it, in list -1 if there is none
	points   []pointInfo
	visited  [][]int64 // by progress point, in the recording
	pointOf  []int32   // by region: the point that its spans' ends visit, -1 for none
	// Latencies from when a goroutine can run until it does, ns: when another processor takes it, when something outside
	// wakes it, and when a processor goes on with the next one.
	cross, outside, swap int64
	// travelling tells that work travels with requests, so that the lists cannot begin anew one by one: the replay is over when
	// the first of them is.
	travelling bool
	// patience is how long there may be no progress before a wait is broken, ns.
	patience int64
	onces    int32       // ops that are done once
	ops      int         // all of them
	spare    *simulation // whose memory the next one takes
}

// A pointInfo is a progress point: what is counted, or the spans of a region.
type pointInfo struct {
	name   string
	region int32 // -1 for none
}

// newProgram translates a recording, with locks and channels that are only inferred or without them.
func newProgram(rec *Recording, infer bool) *program {
	b := newBuilder(rec)
	b.p.findPoints()
	for i := range rec.events {
		b.event(&rec.events[i])
	}
	b.finish(infer)
	b.p.attribute()
	return b.p
}

// findPoints takes what the program counts itself, and the spans without a parent here.
func (p *program) findPoints() {
	for _, name := range p.rec.points {
		p.points = append(p.points, pointInfo{name, -1})
	}
	p.pointOf = make([]int32, len(p.rec.regions))
	for i := range p.pointOf {
		p.pointOf[i] = -1
	}
	here := map[uint64]bool{}
	for _, s := range p.rec.spans {
		if s.id != 0 {
			here[s.id] = true
		}
	}
	roots, all := make([]int, len(p.rec.regions)), make([]int, len(p.rec.regions))
	for _, s := range p.rec.spans {
		all[s.region]++
		if s.root && !here[s.remote] {
			roots[s.region]++
		}
	}
	for r, n := range roots {
		if n > 0 && 2*n > all[r] {
			p.pointOf[r] = int32(len(p.points))
			p.points = append(p.points, pointInfo{p.rec.regions[r].Name, int32(r)})
		}
	}
}
