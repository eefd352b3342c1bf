package ledger

import (
	"math"
	"sync"
)

// maxFamilies bounds the memory that a setting takes for counting visits.
const maxFamilies = 8192

// Visits are what has passed a progress point until now.
type Visits struct {
	Count uint64
	// Time is when the last visit was, and Virtual when that would have been, by hypothesis.
	Time    int64
	Virtual [Width]int64
}

// visits are those of one family of goroutines: the first one and all that it has started,
// directly or not. What they do is one line of work; lines that know nothing of each other
// have a rate each, and the program's is the sum.
type visits struct {
	mu     sync.Mutex
	next   *visits
	points []Visits
}

// Visit tells that a unit of work is done at t, at the progress point.
func (l *Ledger) Visit(s *Setting, t int64, point int) {
	l.mu.Lock()
	l.event(s, t)
	s, credit, family := l.setting, l.credit, l.family
	l.mu.Unlock()

	v := family.visitsIn(s, t)
	if v == nil {
		s.counts.crowded.Add(1)
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	p := &v.points[point]
	p.Count++
	p.Time = max(p.Time, t)
	for k := range s.n {
		// Of goroutines side by side the one that is furthest tells how far the work is.
		p.Virtual[k] = max(p.Virtual[k], t-credit[k])
	}
}

// visitsIn returns the family's visits in a setting, nil if there are too many families.
func (l *Ledger) visitsIn(s *Setting, t int64) *visits {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sync(s, t)
	if l.visits != nil || l.setting != s {
		return l.visits
	}
	if s.families.Add(1) > maxFamilies {
		s.families.Add(-1)
		return nil
	}
	v := &visits{points: make([]Visits, len(s.latencies))}
	for i := range v.points {
		for k := range v.points[i].Virtual {
			v.points[i].Virtual[k] = math.MinInt64
		}
	}
	l.visits = v
	for {
		v.next = s.visits.Load()
		if s.visits.CompareAndSwap(v.next, v) {
			return v
		}
	}
}

// Visits calls yield with the visits of each family, by progress point, valid during the
// call. From one call to the next families are added at the end only.
func (s *Setting) Visits(yield func(family int, points []Visits)) {
	var all []*visits
	for v := s.visits.Load(); v != nil; v = v.next {
		all = append(all, v)
	}
	for i := range all {
		v := all[len(all)-1-i]
		v.mu.Lock()
		yield(i, v.points)
		v.mu.Unlock()
	}
}
