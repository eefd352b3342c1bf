package replay

import (
	"math"
	"slices"
)

// A ticker, a rate limiter, or a loop that sleeps until its next turn is due ends waits at times of its own: a goroutine that comes earlier
// waits for longer. Such a wait takes no part of the time that something else saves.

// A timetable is when waits at one place end, since the window's beginning. In a replay the first wait there takes the first of
// these times, and so on; behind the last one they begin anew.
type timetable struct {
	times []int64
	span  int64 // from one round of them to the next
}

// at returns when the wait of a number ends.
func (t *timetable) at(n int) int64 {
	return t.times[n%len(t.times)] + int64(n/len(t.times))*t.span
}

// leastTimes is how many waits a timetable takes. With fewer, chance gives one.
const leastTimes = 50

// timetables finds the waits for timers that end at even intervals, independently of the work in between: of all goroutines that wait at
// a site, as for a ticker that they share, or else of each for itself.
func (p *program) timetables() {
	type waits struct {
		at     []place
		others int // that something else than a timer ended
	}
	sites := map[int32]*waits{}
	of := func(site int32) *waits {
		w := sites[site]
		if w == nil {
			w = &waits{}
			sites[site] = w
		}
		return w
	}
	var order []int32
	for l := range p.lists {
		for k := range p.lists[l].ops {
			switch o := &p.lists[l].ops[k]; {
			case o.site == 0:
			case o.kind == opOut && (o.reason == waitTimer || o.reason == waitReceive || o.reason == waitSelect):
				if sites[o.site] == nil {
					order = append(order, o.site)
				}
				w := of(o.site)
				w.at = append(w.at, place{int32(l), int32(k)})
			case o.kind == opWait || o.kind == opReceive || o.kind == opSend:
				of(o.site).others++
			}
		}
	}
	for _, site := range order {
		w := sites[site]
		if 20*w.others > len(w.at) { // a choice, which is not the timer's alone
			continue
		}
		if p.op(w.at[0]).reason != waitTimer && p.tabulate(w.at) {
			continue
		}
		for len(w.at) > 0 {
			n := slices.IndexFunc(w.at, func(at place) bool { return at.list != w.at[0].list })
			if n < 0 {
				n = len(w.at)
			}
			p.tabulate(w.at[:n])
			w.at = w.at[n:]
		}
	}
}

// tabulate makes a timetable of waits, if they have one.
func (p *program) tabulate(all []place) bool {
	if len(all) < leastTimes {
		return false
	}
	times, lengths := make([]int64, len(all)), make([]float64, len(all))
	for i, at := range all {
		o := p.op(at)
		times[i], lengths[i] = o.at-p.rec.Start, float64(o.d)
	}
	slices.Sort(times)
	interval, ok := even(times, lengths)
	if !ok {
		return false
	}
	n := len(times)
	table := timetable{times: times, span: times[n-1] - times[0] + max(1, int64(math.Round(interval)))}
	for _, at := range all {
		o := p.op(at)
		o.kind, o.arg = opDue, int32(len(p.tables))
	}
	p.tables = append(p.tables, table)
	return true
}

// even reports whether times are those of even intervals, some of which may be missing, and returns how long these are. What
// times are off by must not add up, as it does where each wait begins when the one before is over; and it must be less than what
// the lengths of the waits differ by, which is nothing where all wait for the same time.
func even(times []int64, lengths []float64) (interval float64, ok bool) {
	n := len(times)
	steps := make([]float64, n-1)
	for i := range steps {
		steps[i] = float64(times[i+1] - times[i])
	}
	interval = middle(slices.Clone(steps))
	if interval < shortestInterval {
		return 0, false
	}
	numbers, off := make([]float64, n), make([]float64, n)
	begin := 0.0
	for m := 16; ; m *= 2 { // the more of them, the more exactly the interval is known
		m = min(m, n)
		for i := range m {
			numbers[i] = math.Round((float64(times[i]-times[0]) - begin) / interval)
		}
		begin, interval = line(numbers[:m], times[:m])
		if m == n {
			break
		}
	}
	if !(interval >= shortestInterval) {
		return 0, false
	}
	for i := range off {
		off[i] = float64(times[i]-times[0]) - begin - interval*numbers[i]
	}
	changes := make([]float64, n-1)
	for i := range changes {
		changes[i] = math.Abs(off[i+1] - off[i])
	}
	jitter := spread(off)
	return interval, jitter <= interval/10 && jitter <= 1.5*middle(changes) && jitter < spread(lengths)
}

// shortestInterval of a timetable, ns: below, wake-ups are too late to find one.
const shortestInterval = 200_000

// line returns the line through times by their numbers, least squares: what it begins with, and how much it rises.
func line(numbers []float64, times []int64) (begin, rise float64) {
	var x, y, xx, xy float64
	n := float64(len(numbers))
	for i, v := range numbers {
		t := float64(times[i] - times[0])
		x, y, xx, xy = x+v, y+t, xx+v*v, xy+v*t
	}
	rise = (n*xy - x*y) / (n*xx - x*x)
	return (y - rise*x) / n, rise
}

// spread is the median absolute deviation from the median. It changes the order of all.
func spread(all []float64) float64 {
	m := middle(all)
	deviations := make([]float64, len(all))
	for i, v := range all {
		deviations[i] = math.Abs(v - m)
	}
	return middle(deviations)
}

// middle is the median. It changes the order of all.
func middle(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// due is for how long the next wait of a timetable is. A region that is faster waits for less, as anything else in it takes less.
func (s *simulation) due(o *instruction) int64 {
	n := s.waited[o.arg]
	s.waited[o.arg]++
	if s.factors[o.set] != 1 {
		return s.scaled(o.d, o.set)
	}
	return s.p.tables[o.arg].at(n) - s.now
}
