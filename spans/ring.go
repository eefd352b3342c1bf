package spans

import (
	"cmp"
	"container/list"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
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
