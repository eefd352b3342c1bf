package ledger

// TurnsOut notes, just before [Frame.End] on the goroutine's own, that a span is of the region id
// after all, since it was renamed. The goroutine earns at t what it would have earned since the
// span began, but for waits for others and delays, and the ledgers that owe that pay it at once.
// The span must have been timed.
func (f *Frame) TurnsOut(s *Setting, t int64, id RegionID) {
	l := f.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if !f.used || l.gone.Load() || !s.about(id) || s.growth == nil {
		return
	}
	l.event(s, t)
	if l.setting != s || !f.timed || l.depth > 0 { // within the region it has earned all the time
		return
	}
	e := earned(s.speedup, max(0, t-f.start-(l.aside-f.aside)))
	l.credit += e
	s.growth.raise(f.base + e)
}
