package ledger

// leastDebt is not worth paying, ns: it is carried until it has grown.
const leastDebt = 20_000

// turns is how often Pay goes on, since the growth may go on while it pays.
const turns = 20

// Pay makes up for what the goroutine owes: it calls wait with a time, in ns, which waits
// about as long and returns how long it really was; zero if it will not, and then the debt is
// carried. Whoever is within the region does not pay, nor who holds a lock. Pay returns
// the time that it has paid.
//
// A wait that takes too long is prepayment: it counts against what is owed later.
func (l *Ledger) Pay(s *Setting, now func() int64, wait func(ns int64) int64) (paid int64) {
	if s.growth == nil {
		return 0
	}
	for range turns {
		t := now()
		debt := l.Debt(s, t)
		if debt < leastDebt {
			return paid
		}
		took := wait(debt)
		s.counts.owed.Add(debt)
		if took <= 0 {
			break
		}
		s.counts.paid.Add(took)
		paid += took
		l.mu.Lock()
		if l.setting == s {
			l.credit[0] += took
			l.last = t + took
		}
		l.mu.Unlock()
	}
	s.counts.carried.Add(1)
	return paid
}

// Debt returns what the goroutine must pay at t, ns; zero while it need not.
func (l *Ledger) Debt(s *Setting, t int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sync(s, t)
	if l.setting != s || s.growth == nil || l.held > 0 || l.open != 0 || l.waiting {
		return 0
	}
	return max(0, s.growth.At(t)-l.credit[0])
}
