package ledger

import (
	"iter"
	"math/bits"
	"sync"
)

// A Ledger is the account of one goroutine. Make one with [New] or [Ledger.Fork].
type Ledger struct {
	// Owner and Current are for whoever made the ledger; the package does not look at them.
	Owner   uint64
	Current any

	mu      sync.Mutex
	setting *Setting
	credit  [Width]int64 // L, settled at since for regions that are open
	open    set
	depth   [Width]int32 // how often each region is open
	since   [Width]int64
	last    int64 // the goroutine's last event
	waiting bool

	// What children on other goroutines have left, see children.go.
	children int32
	pending  bool
	left     Stamp

	frames [inlineFrames]Frame
	spare  []*Frame // further ones

	// See progress.go: the ledger of the goroutine that started all of its family, the ledger's
	// own line of work, and the points that it has visited, modulo 64.
	family  *Ledger
	visits  *visits
	visited uint64

	// Where delays are paid, see growth.go.
	base  int64
	slot  int
	grown int64 // growth when the wait began
	// Of the span that has ended last, if that is on another goroutine.
	parent     *Frame
	parentTurn uint32
}

// inlineFrames is the number of open spans that need no memory of their own.
const inlineFrames = 6

// New returns the ledger of a goroutine that none of the others has started.
func New() *Ledger {
	l := &Ledger{slot: noSlot}
	l.family = l
	for i := range l.frames {
		l.frames[i].ledger = l // and never changes, so that others may ask
	}
	return l
}

// Fork returns the ledger of a goroutine that is started by this one at t. It has the same
// virtual time.
func (l *Ledger) Fork(s *Setting, t int64) *Ledger {
	child := New()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sync(s, t)
	child.setting, child.credit, child.family, child.last = l.setting, l.creditAt(t), l.family, t
	return child
}

// sync starts anew if s is a later setting than the ledger's. A goroutine that read the
// setting before it changed goes on in the new one. A nil setting is the one the ledger has.
func (l *Ledger) sync(s *Setting, t int64) {
	if l.setting == s || s == nil || l.setting != nil && l.setting.serial > s.serial {
		return
	}
	l.suspend(t)
	l.setting = s
	l.credit = [Width]int64{}
	l.depth = [Width]int32{}
	l.open = 0
	if s.growth != nil {
		l.grown = s.growth.At(t) // should it be waiting
	}
	l.pending, l.visits, l.visited = false, nil, 0
	l.last, l.base = t, 0
	for f := range l.inUse() {
		f.regions, f.timed = s.regions(f.id), false
		l.enter(f.regions, t)
	}
	l.grow(t)
}

// event is what every sign of life of the goroutine begins with. It leaves the ledger settled at t.
func (l *Ledger) event(s *Setting, t int64) {
	l.sync(s, t)
	if l.pending && l.children == 0 {
		l.joinChildren(t)
	}
	l.settle(t)
	l.last = t
}

// settle books what open regions have earned until t. They do not while the goroutine waits.
func (l *Ledger) settle(t int64) {
	if l.waiting {
		return
	}
	s := l.setting
	for r := range l.open.all() {
		d := t - l.since[r]
		if d <= 0 {
			continue
		}
		l.since[r] = t
		for k := s.from[r]; k < s.to[r]; k++ {
			l.credit[k] += earned(s.speedups[k], d)
		}
		if s.growth != nil {
			l.base += earned(s.speedups[0], d)
			s.growth.raise(l.base)
		}
	}
}

// earned is the credit for d ns in a region, to the nearest: there may be many that are short.
func earned(speedup float64, d int64) int64 { return int64(speedup*float64(d) + .5) }

// creditAt is what the credit would be if it were settled at t. Others ask for it; the goroutine's own
// events alone settle, since only they tell what it does.
func (l *Ledger) creditAt(t int64) [Width]int64 {
	s, credit := l.setting, l.credit
	if l.waiting {
		return credit
	}
	for r := range l.open.all() {
		for k := s.from[r]; k < s.to[r]; k++ {
			credit[k] += earned(s.speedups[k], max(0, t-l.since[r]))
		}
	}
	return credit
}

// enter opens regions; one that is open twice earns once.
func (l *Ledger) enter(regions set, t int64) {
	for r := range regions.all() {
		if l.depth[r]++; l.depth[r] == 1 {
			l.open |= 1 << r
			l.since[r] = t
		}
	}
}

func (l *Ledger) exit(regions set) {
	for r := range regions.all() {
		if l.depth[r]--; l.depth[r] == 0 {
			l.open &^= 1 << r
		}
	}
}

// all yields the members.
func (m set) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for ; m != 0; m &= m - 1 {
			if !yield(bits.TrailingZeros16(uint16(m))) {
				return
			}
		}
	}
}

// Saved returns, by hypothesis, what the goroutine has saved at t since the setting began:
// its virtual time is t less that.
func (l *Ledger) Saved(s *Setting, t int64) [Width]int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.setting != s {
		return [Width]int64{}
	}
	return l.creditAt(t)
}

// Last returns when the goroutine last gave a sign of life, and whether it can be
// forgotten: no span of it is open, and it does not wait.
func (l *Ledger) Last() (t int64, idle bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range l.inUse() {
		return l.last, false
	}
	return l.last, !l.waiting
}
