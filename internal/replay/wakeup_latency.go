package replay

// A processor that is idle sleeps, and one that a goroutine wakes up for another takes up to 100 µs to come back, more than a lock is held.
// Where a lock is held most of the time (lock convoy) each goroutine waits for that, each time: the program gets slower the faster
// goroutines come to the lock. How long it takes differs by machine and priority. The recording shows it, if there are wake-ups in it.

const (
	// rouseError is how long it may take at most, ns, by how much an answer may be wrong for each processor that is woken up less often than
	// in the recording; and leastRouse at least.
	rouseError = 100_000
	leastRouse = 5_000
	// mostRouse is how long it may take at most where the recording has too few: its upper quartile on virtual processors that other programs
	// use, too.
	mostRouse = 200_000
	// leastRoused is how often a recording must have it, to show how long it takes within a half.
	leastRoused = 30
	rouseSpread = 0.5
	// rouseMatters is which part of the time between visits it must take, for what it takes to matter.
	rouseMatters = 0.005
)

// lag returns how long the next processor takes to come back that a goroutine wakes up, where the recording has no example.
func (s *simulation) lag() int64 {
	d := s.p.cross
	if n := len(s.p.lags); n > 0 {
		d = s.p.lags[s.out.roused*lagStride%n]
	}
	if f := s.change.lag; f > 0 {
		return int64(f * float64(d))
	}
	return d
}

const (
	// lagsKept is how many of the times are kept, at even parts of all of them, and lagStride the way through these, for slow and fast ones to take turns.
	lagsKept  = 64
	lagStride = 39
)

// quantiles returns n times at even parts of the known ones, nil where these are too few. What is later than twice the usual time has
// another cause, such as another program, and is taken for that.
func (v *survival) quantiles(n int, usual int64) []int64 {
	if v.seen < leastRoused {
		return nil
	}
	all := make([]int64, n)
	i := 0
	for k := range all {
		for left := 1 - (float64(k)+0.5)/float64(n); i < len(v.at)-1 && v.shares[i] > left; {
			i++
		}
		if all[k] = v.at[i]; all[k] > 2*usual {
			all[k] = usual
		}
	}
	return all
}

// rousing returns by how many more processors goroutines woke up for each visit of a progress point than with nothing changed.
func (o *outcome) rousing(base *outcome, point int) float64 {
	rate := func(o *outcome) float64 { return float64(o.roused) / float64(max(1, len(o.visits[point]))) }
	return rate(o) - rate(base)
}

// lagging returns how long goroutines waited for that where the recording has no example, for each visit, ns.
func (o *outcome) lagging(point int) float64 {
	return float64(o.lagged) / float64(max(1, len(o.visits[point])))
}

// otherLags are changes that have processors come back sooner, and later.
func (p *program) otherLags() [2]float64 {
	fast, slow := 1-rouseSpread, 1+rouseSpread
	if len(p.lags) == 0 {
		fast, slow = min(fast, leastRouse/float64(p.cross)), max(slow, mostRouse/float64(p.cross))
	}
	return [2]float64{fast, slow}
}

// A variation holds the results of simulations that differ in what the recording does not show, such as when processors come back, where that matters.
type variation struct {
	base, changed outcome
}

// vary simulates a change as it may be besides: with processors that come back sooner or later, and beside other programs.
func (w *window) vary(p *program, c change, base, o *outcome, d int64) (all []variation, work int) {
	all, work = w.rouse(p, c, base, o, d)
	disturbed, more := w.disturb(p, c, base, o, d)
	return append(all, disturbed...), work + more
}

// rouse simulates a change with processors that come back sooner or later, and what is not changed, unless that is known.
func (w *window) rouse(p *program, c change, base, o *outcome, d int64) (all []variation, work int) {
	lags, longer := p.otherLags(), 1.0
	if len(p.lags) == 0 {
		longer = lags[1]
	}
	matters := false
	for i := range p.points {
		_, asked := w.checks[p.points[i].name]
		matters = matters || asked && longer*max(o.lagging(i), base.lagging(i)) > rouseMatters*period(base.visits[i], d)
	}
	if !matters {
		return nil, 0
	}
	if w.unhurried == nil {
		for _, f := range lags {
			w.unhurried = append(w.unhurried, simulate(p, change{lag: f}, d))
		}
	}
	for k, f := range lags {
		c.lag = f
		x := variation{w.unhurried[k], simulate(p, c, d)}
		all, work = append(all, x), work+x.changed.work
	}
	return all, work
}

// widen notes what variations say, of the program as it was and as it would have been.
func (w *window) widen(q question, base *outcome, all []variation, i int, d int64) {
	note := func(x *sample, reduction float64) {
		lower(&x.late, reduction)
		raise(&x.soon, reduction)
	}
	for k := range all {
		w.extend(q, base, &all[k].changed, i, d, note)
		w.extend(q, &all[k].base, &all[k].changed, i, d, note)
	}
}
