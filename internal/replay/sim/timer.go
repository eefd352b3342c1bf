package sim

// arrives returns how long a runner waits for what comes from outside.
func (s *Simulation) arrives(r *runner, o *instruction) int64 {
	a := s.x.arrivals[o.ref]
	return a.at + int64(r.laps)*a.lap - s.now
}

// due is for how long the next wait of a timetable is. A region that is faster waits for less, as
// anything else in it takes less.
func (s *Simulation) due(o *instruction) int64 {
	n := s.waited[o.arg]
	s.waited[o.arg]++
	if s.factors[o.set] != 1 {
		return s.scaled(o.d, o.set)
	}
	return s.P.Tables[o.arg].At(n) - s.now
}

// shortened returns what is left of a wait for something outside, of which a timer that is late
// does not get shorter.
func (s *Simulation) shortened(o *instruction) int64 {
	late := int64(o.ref)
	return late + s.scaled(o.d-late, o.set)
}
