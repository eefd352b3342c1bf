package spans

import (
	"cmp"
	"container/list"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelprof/otelprof/internal/registry"
)

// defaultRingBytes is the size of the store that WrapTracerProvider makes.
const defaultRingBytes = 16 << 20

// worstPerName is how many of the slowest sessions of each name a Ring keeps.
const worstPerName = 8

// A Ring keeps finished sessions in memory, chosen by tail sampling, never more than its size in
// bytes, as [SessionRecord.SizeBytes] has them: recent ones in half of it, the slowest of each name
// in a quarter, and a uniform sample of all since the start in the last quarter, of at most
// [mostUniform]. So a rare slow request is still there when many fast ones came after it, and there
// is something ordinary to compare it with.
//
// Of the recent ones it wants at most [recentRate] a second, by a token bucket of
// [recentBurst]; at higher rates they follow each other too fast to be looked at, and making
// records of all of them would cost the application more than measuring them. Sessions with
// errors have a rate of their own.
//
// All methods may be called by any goroutine. Append takes about a microsecond.
type Ring struct {
	mu      sync.Mutex
	recent  recentSessions
	worst   worstSessions
	uniform uniformSessions
	paces   [2]pace // of sessions without and with errors

	gate *ringGate

	// Wants' decision on the session that Append brings next.
	asRecent bool
	draw     uint64
}

var _ Chooser = (*Ring)(nil)

const (
	recentRate  = 100
	recentBurst = 1000
)

// NewRing returns an empty ring of that many bytes. A session larger than a quarter of
// it may find no place.
func NewRing(sizeBytes int) *Ring {
	gate := newRingGate()
	return &Ring{
		gate:    gate,
		recent:  recentSessions{budget: budget{limit: sizeBytes / 2}, order: list.New(), byID: map[SessionID]*list.Element{}},
		worst:   worstSessions{budget: budget{limit: sizeBytes / 4}, byName: map[string]*worstName{}, gate: gate},
		uniform: uniformSessions{budget: budget{limit: sizeBytes / 4}, below: math.MaxUint64},
		paces:   [2]pace{{left: recentBurst}, {left: recentBurst}},
		draw:    rand.Uint64(), asRecent: true,
	}
}

// Wants implements [Chooser].
func (r *Ring) Wants(name string, duration time.Duration, errors int) bool {
	return r.wants(rand.Uint64(), name, duration, errors)
}

// wants is Wants for a session that has drawn its number already.
func (r *Ring) wants(draw uint64, name string, duration time.Duration, errors int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.draw = draw
	p := &r.paces[min(errors, 1)]
	r.asRecent = p.take(time.Now())
	r.gate.setReady(errors, p)
	if r.asRecent || r.worst.wants(name, duration) || r.uniform.wants(r.draw) {
		return true
	}
	r.worst.publish(name)
	return false
}

// Append implements [Store]. It returns an error for a session that is too large for all parts that
// want it.
func (r *Ring) Append(s *SessionRecord) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	limit, part := r.recent.limit, "half"
	if s.Revision == 0 && !r.asRecent {
		limit, part = r.worst.limit, "a quarter"
	}
	if s.SizeBytes() > limit {
		return fmt.Errorf("spans: session %q of %d bytes: must be at most %d bytes, %s of the ring", s.Name, s.SizeBytes(), limit, part)
	}
	if s.Revision > 0 { // what is not kept any more does not come back
		r.recent.replace(s)
		r.worst.replace(s)
		r.uniform.replace(s)
		r.gate.below.Store(r.uniform.below)
		return nil
	}
	if r.asRecent {
		r.recent.add(s)
	}
	r.worst.add(s)
	r.uniform.add(s, r.draw)
	r.gate.below.Store(r.uniform.below)
	r.asRecent, r.draw = true, rand.Uint64() // for callers that append without asking
	return nil
}

// Session implements [Store].
func (r *Ring) Session(id SessionID) (*SessionRecord, bool) {
	for _, s := range r.all() {
		if s.ID == id {
			return s, true
		}
	}
	return nil, false
}

// Sessions implements [Store].
func (r *Ring) Sessions(q Query) []*SessionRecord {
	all := slices.DeleteFunc(r.all(), func(s *SessionRecord) bool { return !q.matches(s) })
	slices.SortFunc(all, q.compare)
	if q.Limit > 0 && len(all) > q.Limit {
		all = all[:q.Limit]
	}
	return all
}

// SizeBytes is about how much memory the sessions hold. One that is kept for two reasons is
// counted twice.
func (r *Ring) SizeBytes() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.recent.used + r.worst.used + r.uniform.used
}

// all returns each session once, in no order.
func (r *Ring) all() []*SessionRecord {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := make(map[SessionID]bool, r.recent.order.Len()+len(r.uniform.heap))
	var all []*SessionRecord
	add := func(s *SessionRecord) {
		if !seen[s.ID] {
			seen[s.ID] = true
			all = append(all, s)
		}
	}
	for e := r.recent.order.Front(); e != nil; e = e.Next() {
		add(e.Value.(*SessionRecord))
	}
	for _, name := range r.worst.byName {
		for _, s := range name.sessions {
			add(s)
		}
	}
	for _, s := range r.uniform.heap {
		add(s.record)
	}
	return all
}

func (q Query) matches(s *SessionRecord) bool {
	return (q.Name == "" || q.Name == s.Name) && s.Duration >= q.MinDuration && (!q.ErrorsOnly || s.Errors > 0)
}

func (q Query) compare(a, b *SessionRecord) int {
	if q.Worst {
		return cmp.Or(cmp.Compare(b.Duration, a.Duration), b.Start.Compare(a.Start))
	}
	return cmp.Or(b.Start.Compare(a.Start), slices.Compare(a.ID[:], b.ID[:]))
}

// ringGate is what a [Ring] publishes of its wishes, so that the goroutine which ends a session
// knows, without a lock, that the ring would not want it: then the session does not go to the
// worker. At high rates that are nearly all.
//
// The ring writes while it holds its lock, and a goroutine that ends a session only in takes. Each
// word by itself excludes one reason to want a session, so a reader needs no consistent view of all
// of them: what it reads was true at the moment when it read it, and a session ends at no exact
// moment. A gate that is open excludes nothing.
type ringGate struct {
	ready [2]atomic.Int64 // on the line of now: when a session without and with errors is wanted as a recent one
	below atomic.Uint64   // of a session's draw: from here on it is not wanted for the sample
	// slow has, by name, the longest duration that is not wanted among the slowest, in ns; wantsAll
	// for none.
	slow *registry.Registry[string, atomic.Int64]
}

const (
	wantsAll = math.MinInt64 // less than any duration, and before any time
	// gateNames is how many names have a word of their own. The gate is open for all others.
	gateNames = 4096
)

func newRingGate() *ringGate {
	g := &ringGate{slow: registry.New(gateNames, registry.String, newSlow)}
	for i := range g.ready {
		g.ready[i].Store(wantsAll)
	}
	g.below.Store(math.MaxUint64)
	return g
}

func newSlow(int) *atomic.Int64 {
	slow := new(atomic.Int64)
	slow.Store(wantsAll)
	return slow
}

// closed reports whether the ring certainly does not want a session that ends at a time, or now if
// that is 0. Slow is the word of its name, nil if there is none.
func (g *ringGate) closed(slow *atomic.Int64, draw uint64, duration time.Duration, errors int, at int64) bool {
	if slow == nil || int64(duration) > slow.Load() || draw < g.below.Load() {
		return false
	}
	if at == 0 {
		at = now()
	}
	return !g.takes(&g.ready[min(errors, 1)], at)
}

// takes reports whether the ring may want a session that ends at a time as a recent one. Of
// sessions that end before it has looked at the first, which is milliseconds later, it would want
// no other, so that one closes the gate behind it, for as long as the next one has to wait at
// least. The ring sets the exact time when it has looked.
func (g *ringGate) takes(ready *atomic.Int64, at int64) bool {
	for {
		from := ready.Load()
		switch {
		case at < from:
			return false
		case from == wantsAll || ready.CompareAndSwap(from, at+int64(time.Second/recentRate)):
			return true
		}
	}
}

// slowOf returns the word of the name of a root, nil if there is none. The region remembers it: it
// has one provider, which has one store.
func (g *ringGate) slowOf(root *Span) *atomic.Int64 {
	stats := root.lastStats()
	if slow := stats.slow.Load(); slow != nil {
		return slow
	}
	slow := g.slow.Get(root.Name())
	if slow != nil && stats.overflow == nil {
		stats.slow.Store(slow)
	}
	return slow
}

// setSlow publishes from which duration on sessions of a name are wanted among the slowest.
func (g *ringGate) setSlow(name string, longest int64) {
	slow := g.slow.Get(name)
	if slow == nil {
		slow = g.slow.Add(name, newSlow)
	}
	if slow != g.slow.Other() {
		slow.Store(longest)
	}
}

// setReady publishes when the next session is wanted as a recent one.
func (g *ringGate) setReady(errors int, p *pace) {
	ready := int64(wantsAll)
	if p.left < 1 {
		ready = sinceEpoch(p.last) + int64((1-p.left)/recentRate*float64(time.Second))
	}
	g.ready[min(errors, 1)].Store(ready)
}
