package ledger

// leastDebt is not worth paying, ns: it is carried until it has grown. Delays that are not much
// longer than the region's own time come in bunches if it is larger, which is as good as
// jitter. A goroutine whose waits cannot be so short carries more, see [Ledger.Pay].
const leastDebt = 5_000

// turns is how often Pay goes on, since the growth may go on while it pays.
const turns = 20

// Pay makes up for what the goroutine owes: it calls wait with a time, in ns, which waits
// about as long and returns how long it really was; zero if it will not, and then the debt is
// carried. A goroutine within the region does not pay. Pay returns
// the time that it has paid.
//
// A wait that takes too long is prepayment: it counts against what is owed later.
func (l *Ledger) Pay(s *Setting, now func() int64, wait func(ns int64) int64) (paid int64) {
	if l == nil || s.growth == nil {
		return 0
	}
	defer func() { l.paidSince(s, now()) }()
	s.counts.pays.Add(1)
	debt := int64(0)
	for range turns {
		t := now()
		if debt = l.Debt(s, t); debt < leastDebt {
			break
		}
		took := wait(debt)
		if took <= 0 {
			break
		}
		s.counts.owed.Add(debt)
		s.counts.paid.Add(took)
		paid += took
		l.book(s, took, t+took)
	}
	s.counts.left.Add(debt)
	return paid
}

// book credits a wait that was over at t.
func (l *Ledger) book(s *Setting, took, t int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.setting == s {
		l.credit += took
		l.aside += took
		l.last = t
	}
}

// Debt returns what the goroutine must pay at t, ns; zero while it need not.
func (l *Ledger) Debt(s *Setting, t int64) int64 {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sync(s, t)
	if l.setting != s || s.growth == nil || l.depth > 0 || l.waiting {
		return 0
	}
	if l.pending && l.children == 0 { // it has waited for the region itself
		l.joinChildren(t)
		l.last = t
	}
	return max(0, s.growth.At(t)-l.credit)
}
