package virtualtime

import (
	"math"
	"sync"
	"time"

	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/internal/goroutine"
	"github.com/otelprof/otelprof/spans"
)

// ledgers are those of goroutines, [MostLedgers] at most: 64 MiB if each has as many open
// spans as one may have, and 21 MiB otherwise. The zero value is ready for use.
type ledgers struct{ Shards [Shards]ledgerShard }

const (
	// Shards is a power of two: goroutines that come one after the other have different ones.
	Shards = 64
	// MostLedgers is how many goroutines are observed at once. What others do is not booked, and an
	// experiment with such goroutines does not count.
	MostLedgers = 32_768
	// dropCandidates are looked at where there is no room, to find one to drop. They are chosen at
	// random.
	dropCandidates = 8
)

const (
	// ForgetAfter is how long a ledger is kept between two experiments if its goroutine gives no
	// sign of life.
	ForgetAfter = 5 * time.Second
	// ForgetWithin is how long a ledger is kept in one experiment: a goroutine with a new ledger
	// owes all that the others have paid since the experiment began.
	ForgetWithin = time.Minute
	// ForgetOpen is how long a ledger is kept while a span is open: longer than any experiment.
	ForgetOpen = 11 * time.Minute
)

type ledgerShard struct {
	Mu sync.Mutex
	Of map[goroutine.ID]*ledger.Ledger
	_  [64 - 8 - 8]byte // a cache line
}

func (t *ledgers) shard(id goroutine.ID) *ledgerShard { return &t.Shards[id%Shards] }

// Of returns the ledger of a goroutine. The first time it is forked from the ledger of parent, if
// there is a parent. It is nil if there is no room for one.
func (t *ledgers) Of(id goroutine.ID, parent *ledger.Frame, s *ledger.Setting) *ledger.Ledger {
	shard := t.shard(id)
	shard.Mu.Lock()
	defer shard.Mu.Unlock()
	l := shard.Of[id]
	if l != nil {
		return l
	}
	if !shard.room(s) {
		return nil
	}
	var starter *ledger.Ledger
	if parent != nil {
		starter = parent.Ledger()
	}
	l = starter.Fork(s, clock.Now())
	shard.put(id, l)
	return l
}

// Adopt makes l the ledger of a goroutine that has just begun, if there is room.
func (t *ledgers) Adopt(id goroutine.ID, l *ledger.Ledger, s *ledger.Setting) {
	shard := t.shard(id)
	shard.Mu.Lock()
	defer shard.Mu.Unlock()
	if shard.room(s) {
		shard.put(id, l)
	}
}

func (shard *ledgerShard) put(id goroutine.ID, l *ledger.Ledger) {
	if shard.Of == nil {
		shard.Of = map[goroutine.ID]*ledger.Ledger{}
	}
	l.Owner = uint64(id)
	shard.Of[id] = l
}

// room reports whether there is room for a ledger, and makes some if it can: of some ledgers that
// which has been inactive for longest is dropped. If that was not long ago, its goroutine may go
// on, and then it owes what it has paid already: the setting counts that as lost.
func (shard *ledgerShard) room(s *ledger.Setting) bool {
	if len(shard.Of) < MostLedgers/Shards {
		return true
	}
	at := clock.Now()
	recent := at - int64(ForgetAfter)
	var drop goroutine.ID
	var found *ledger.Ledger
	oldest, seen := int64(math.MaxInt64), 0
	for id, l := range shard.Of {
		last, idle := l.Last()
		if (idle || last < recent) && last < oldest {
			drop, found, oldest = id, l, last
		}
		if seen++; seen == dropCandidates {
			break
		}
	}
	if found == nil {
		s.Lose()
		return false
	}
	if oldest >= recent {
		s.Lose()
	}
	shard.drop(drop, found, at)
	return true
}

func (shard *ledgerShard) drop(id goroutine.ID, l *ledger.Ledger, at int64) {
	delete(shard.Of, id)
	l.Abandon(at)
	l.Current.Store((*spans.Span)(nil))
}

// Forget removes the ledger of a goroutine that ends. While a span of it is open, which another one
// may end, it stays for a time, see sweep.
func (t *ledgers) Forget(id goroutine.ID) {
	shard := t.shard(id)
	shard.Mu.Lock()
	defer shard.Mu.Unlock()
	if l := shard.Of[id]; l != nil {
		if _, idle := l.Last(); idle {
			delete(shard.Of, id)
		}
	}
}

// Sweep removes the ledgers of goroutines that have been inactive for some time at a moment: most
// of them have ended. One that has not begins anew. Where a span is open, or a wait goes on, the
// time is that of whileOpen. Those that stay release settings that are over.
func (t *ledgers) Sweep(at int64, forIdle, whileOpen time.Duration) {
	for i := range t.Shards {
		t.Shards[i].sweep(at, forIdle, whileOpen)
	}
}

func (shard *ledgerShard) sweep(at int64, forIdle, whileOpen time.Duration) {
	shard.Mu.Lock()
	defer shard.Mu.Unlock()
	for id, l := range shard.Of {
		if last, idle := l.Last(); last < at-int64(whileOpen) || idle && last < at-int64(forIdle) {
			shard.drop(id, l, at)
			continue
		}
		l.Release(setting)
	}
}

// setting is the setting in force, nil for none.
func setting() *ledger.Setting {
	if o := Current.Load(); o != nil {
		return o.Setting
	}
	return nil
}

// Clear drops all ledgers: nothing is observed any more.
func (t *ledgers) Clear(at int64) {
	for i := range t.Shards {
		t.Shards[i].clear(at)
	}
}

func (shard *ledgerShard) clear(at int64) {
	shard.Mu.Lock()
	defer shard.Mu.Unlock() // also after a panic in a ledger: the goroutines of others come here, too
	all := shard.Of
	shard.Of = nil // a map keeps what it once took
	for id, l := range all {
		shard.drop(id, l, at)
	}
}
