package sim

// Waits that end at a time, not after a time. Work before such a wait only moves its beginning, so
// that faster work brings nothing there:
//
//	recorded             works 0..6, waits 6..10, works 10..16, ...
//	work takes half      works 0..3, waits 3..10, works 10..13, ...
//
// Requests of an open loop (opArrive) come at their times however soon the one before is answered.
// Turns of a ticker or of a loop that sleeps until its next turn (OpDue) are in a timetable. Other
// waits outside last as long as they did. TestTimetable holds the difference. Package infer finds
// which of them a wait is: a wait that is wrongly taken for one that ends at a time hides what its
// region would save.

// arrives returns how long a runner waits for what comes from outside, ns; below 0 where that has
// come already. In the next round of its list everything comes one round later.
func (s *Simulation) arrives(r *runner, o *instruction) int64 {
	a := s.x.arrivals[o.ref]
	return a.at + int64(r.laps)*a.lap - s.now
}

// due is for how long the next wait of a timetable is, ns; below 0 where its time has passed, as a
// ticker's channel then has a tick. Each wait takes the next time, whichever goroutine it is of. A
// region that is faster waits for less, as anything else in it takes less: the question is then
// about the interval itself, and the recorded wait is scaled.
//
// A ticker's channel has room for one tick, and drops the ones that come behind it (sendTime in
// time/sleep.go). A loop that sleeps makes up for its turns. TestTicksAreDropped has both.
func (s *Simulation) due(o *instruction) int64 {
	table, next := &s.P.Tables[o.arg], &s.waited[o.arg]
	n := *next
	*next++
	if s.factors[o.set] != 1 {
		return s.scaled(o.d, o.set)
	}
	for o.tries && table.At(*next) <= s.now {
		*next++
	}
	return table.At(n) - s.now
}

// shortened returns what is left of a wait for something outside, ns, of which a timer that is late
// does not get shorter. By ref ns, at most the whole wait, a timer was late: an idle program looks
// at timers in whole milliseconds, and does so for a shorter sleep, too. With 3.6 ms of which 0.5
// are late, half as long is 0.5 + 3.1/2 = 2.05 ms (TestTimersStayLate). Ref is 0 for waits that no
// timer ended.
func (s *Simulation) shortened(o *instruction) int64 {
	late := int64(o.ref)
	return late + s.scaled(o.d-late, o.set)
}
