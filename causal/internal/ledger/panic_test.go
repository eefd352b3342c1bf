package ledger

import "testing"

// A panic in this package, which the caller recovers, leaves no ledger locked: the application's
// goroutine would wait for it in its next span.
func TestPanicReleasesTheLock(t *testing.T) {
	s := half(t)
	for name, breaks := range map[string]func(l *Ledger, f, below *Frame){
		"end": func(l *Ledger, f, _ *Frame) {
			l.setting = nil
			f.End(nil, 2, false)
		},
		"end of a child": func(l *Ledger, _, below *Frame) {
			below.parent = &Frame{}
			below.End(s, 2, false)
		},
		"pay": func(_ *Ledger, _, below *Frame) {
			below.End(s, 2, false)
			below.ledger.parent = &Frame{}
			below.ledger.paidSince(s, 3)
		},
		"stamp": func(l *Ledger, _, _ *Frame) { l.Stamp(s, 2, nil) },
	} {
		l, other := New(), New()
		f := l.Begin(s, 0, 0, nil, false)
		below := other.Begin(s, 1, 0, f, false)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic, so that nothing is shown", name)
				}
			}()
			breaks(l, f, below)
		}()
		for _, l := range []*Ledger{l, other} {
			if !l.mu.TryLock() {
				t.Errorf("%s: the lock is held after a panic", name)
			}
		}
	}
}
