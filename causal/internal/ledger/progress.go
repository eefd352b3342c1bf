package ledger

import (
	"math"
	"slices"
	"sync"
)

// maxLines bounds the memory that a setting takes for counting visits.
const maxLines = 8192

// Visits are what has passed a progress point until now.
type Visits struct {
	Count uint64
	// Time is when the last visit was, and Virtual when that would have been, by hypothesis.
	Time    int64
	Virtual [Width]int64
}

// visits are those of one line of work. A goroutine that visits a progress point again is a line of
// its own. Those that do it once, such as one that is started for each item, are one line with the
// goroutine that started all of them, directly or not. Lines that know nothing of each other
// have a rate each, and the program's is the sum.
type visits struct {
	mu     sync.Mutex
	next   *visits
	points []Visits
}

// Visit tells that a unit of work is done at t, at a progress point of the setting.
func (l *Ledger) Visit(s *Setting, t int64, point int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.event(s, t)
	if l.setting != s {
		return // it has been replaced meanwhile
	}
	var v *visits
	if again := uint64(1) << (point % 64); l.family == l || l.visited&again != 0 {
		v = l.line()
	} else {
		l.visited |= again
	}
	if v == nil && l.family != l {
		// Locks are taken from a ledger to its family and to a line, never back.
		v = l.family.lineIn(s, t)
	}
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
		p.Virtual[k] = max(p.Virtual[k], t-l.credit[k])
	}
}

// lineIn returns the ledger's line in a setting, if that is the one in force.
func (l *Ledger) lineIn(s *Setting, t int64) *visits {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sync(s, t)
	if l.setting != s {
		return nil
	}
	return l.line()
}

// line returns the ledger's line, nil if there are too many.
func (l *Ledger) line() *visits {
	if l.visits != nil {
		return l.visits
	}
	s := l.setting
	if s.lines.Add(1) > maxLines {
		s.lines.Add(-1)
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

// Progress is what all lines of work have passed until a moment. It does not change any more.
type Progress struct {
	n     int
	lines [][]Visits // by progress point
}

// Progress returns what has passed until now.
func (s *Setting) Progress() Progress {
	var all []*visits
	for v := s.visits.Load(); v != nil; v = v.next {
		all = append(all, v)
	}
	slices.Reverse(all) // lines come at the end only
	p := Progress{n: s.n, lines: make([][]Visits, len(all))}
	for i, v := range all {
		v.mu.Lock()
		p.lines[i] = slices.Clone(v.points)
		v.mu.Unlock()
	}
	return p
}

// Since returns how many visits a progress point had after an earlier Progress of the same
// setting and, by hypothesis, by which part the time between two of them would be shorter:
// 1 - period(virtual)/period(real), negative if it would be longer. A line whose first visit is
// later than earlier is not in it, since it is not known when its work began.
//
// Within a line the virtual rate is to the real one as the real time between its first and
// its last visit is to the virtual one. Lines do not wait for each other, or else the stamps would
// have made their times the same; so their rates add up.
func (p Progress) Since(earlier Progress, point int) (count uint64, reduction [Width]float64) {
	var virtual [Width]float64
	for i := range earlier.lines {
		was, is := &earlier.lines[i][point], &p.lines[i][point]
		n := is.Count - was.Count
		actual := float64(is.Time - was.Time)
		if was.Count == 0 || actual <= 0 {
			continue
		}
		count += n
		for k := range p.n {
			// What takes no time at all has no rate; a thousandth of the real time stands for it.
			took := max(float64(is.Virtual[k]-was.Virtual[k]), actual/1000)
			virtual[k] += float64(n) * actual / took
		}
	}
	for k := range p.n {
		if virtual[k] > 0 {
			reduction[k] = 1 - float64(count)/virtual[k]
		}
	}
	return count, reduction
}
