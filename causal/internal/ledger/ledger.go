package ledger

import (
	"sync"
	"sync/atomic"
)

// A Ledger is the account of one goroutine. Make one with [New] or [Ledger.Fork]. It takes 704
// bytes, and 1.5 KiB at most with many spans open. A nil Ledger books nothing: it stands for a
// goroutine for which there was no room.
type Ledger struct {
	// Owner and Current are for the ledger's creator; the package does not look at them. Owner does
	// not change once other goroutines have the ledger.
	Owner   uint64
	Current atomic.Value

	mu      sync.Mutex
	setting *Setting
	credit  int64 // L, settled at since while the region is open
	depth   int32 // how often the region is open
	since   int64
	last    int64 // the goroutine's last event
	waiting bool
	gone    atomic.Bool // given up, see [Ledger.Abandon]

	// What children on other goroutines have left, see children.go.
	children int32
	pending  bool
	left     Stamp

	frames [inlineFrames]Frame
	spare  []*Frame // further ones
	oldest int      // in spare: the next one to be given up

	// See growth.go.
	base  int64
	slot  int
	grown int64 // growth when the wait began
	aside int64 // time that no region can have saved: waits for others, and delays
	// Of the span that has ended last, if that is on another goroutine.
	parent     *Frame
	parentTurn uint32
}

// inlineFrames is the number of open spans that need no memory of their own.
const inlineFrames = 6

// New returns the ledger of a goroutine that none of the others has started.
func New() *Ledger {
	l := &Ledger{slot: noSlot, setting: nothing}
	for i := range l.frames {
		l.frames[i].ledger = l // and never changes, so that others may ask
	}
	return l
}

// Fork returns the ledger of a goroutine that is first seen at t. It has the virtual time of l,
// which has started it; a nil Ledger has none.
func (l *Ledger) Fork(s *Setting, t int64) *Ledger {
	child := New()
	child.last = t // else it were the one that has been inactive for longest
	if l == nil || l.gone.Load() {
		return child
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sync(s, t)
	child.setting, child.credit = l.setting, l.creditAt(t)
	return child
}

// sync starts anew if s is a later setting than the ledger's. A goroutine that read the
// setting before it changed goes on in the new one. A nil setting is the one the ledger has.
func (l *Ledger) sync(s *Setting, t int64) {
	if l.setting == s || s == nil || l.setting.serial > s.serial || l.gone.Load() {
		return
	}
	l.suspend(t)
	l.setting = s
	l.credit, l.depth = 0, 0
	if s.growth != nil {
		l.grown = s.growth.At(t) // should it be waiting
	}
	l.pending = false
	l.last, l.base = t, 0
	for f := range l.inUse() {
		f.inside, f.timed = s.about(f.id), false
		l.enter(f.inside, t)
	}
	l.grow(t)
}

// event is called first for every event of the goroutine. It leaves the ledger settled at t.
func (l *Ledger) event(s *Setting, t int64) {
	l.sync(s, t)
	if l.pending && l.children == 0 {
		l.joinChildren(t)
	}
	l.settle(t)
	l.last = t
}

// settle books what the open region has earned until t. It does not while the goroutine waits, nor
// once the ledger has been given up.
func (l *Ledger) settle(t int64) {
	d, s := t-l.since, l.setting
	if l.waiting || l.depth == 0 || d <= 0 || s.growth == nil {
		return
	}
	l.since = t
	l.credit += earned(s.speedup, d)
	l.base += earned(s.speedup, d)
	s.growth.raise(l.base)
}

// earned is the credit for d ns in the region, to the nearest: there may be many that are short.
func earned(speedup float64, d int64) int64 { return int64(speedup*float64(d) + .5) }

// creditAt is what the credit would be if it were settled at t. Others ask for it; the goroutine's
// own events alone settle, since only they tell what it does.
func (l *Ledger) creditAt(t int64) int64 {
	if l.waiting || l.depth == 0 {
		return l.credit
	}
	return l.credit + earned(l.setting.speedup, max(0, t-l.since))
}

// enter opens the region if a span is inside; one that is open twice earns once.
func (l *Ledger) enter(inside bool, t int64) {
	if !inside {
		return
	}
	if l.depth++; l.depth == 1 {
		l.since = t
	}
}

func (l *Ledger) exit(inside bool) {
	if inside {
		l.depth--
	}
}

// Saved returns what the goroutine has saved and paid at t since the setting began: its virtual
// time is t less that.
func (l *Ledger) Saved(s *Setting, t int64) int64 {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.setting != s {
		return 0
	}
	return l.creditAt(t)
}

// Last returns when the goroutine last had an event, and whether it can be
// forgotten: no span of it is open, and it does not wait.
func (l *Ledger) Last() (t int64, idle bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range l.inUse() {
		return l.last, false
	}
	return l.last, !l.waiting
}

// Abandon gives the ledger up: its goroutine has ended, most likely, with spans that it has not
// ended. What is reported to it from now on is not booked, and it keeps nothing in memory. The
// spans may still be ended, and may have children. Should the region be open, that is counted as
// lost.
func (l *Ledger) Abandon(t int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone.Load() {
		return
	}
	if l.depth > 0 {
		l.setting.Lose()
	}
	l.suspend(t)
	l.gone.Store(true)
	l.setting = nothing
	l.depth, l.credit, l.children, l.pending, l.waiting = 0, 0, 0, false, false
	l.parent = nil
	for f := range l.inUse() {
		f.inside, f.timed, f.parent, f.children = false, false, nil, 0
	}
}

// Release lets go of a setting other than that in force, which is over. The ledger is as one that
// comes to its next setting. inForce is called while the ledger is locked: its setting, if it has
// begun one meanwhile, was in force before.
func (l *Ledger) Release(inForce func() *Setting) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.setting == nothing || l.setting == inForce() {
		return
	}
	l.suspend(l.last)
	l.setting, l.credit, l.depth, l.pending = nothing, 0, 0, false
	for f := range l.inUse() {
		f.inside, f.timed = false, false
	}
}

// Gone reports whether the ledger has been given up.
func (l *Ledger) Gone() bool { return l.gone.Load() }

// within reports whether a span of the region is open on a ledger that has been given up.
func (l *Ledger) within(s *Setting) bool {
	for f := range l.inUse() {
		if s.about(f.id) {
			return true
		}
	}
	return false
}
