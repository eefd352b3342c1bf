package ledger

import "testing"

// What comes in force between a sweep's look and its release stays.
func TestReleaseKeepsWhatIsInForce(t *testing.T) {
	old, s, l := half(t), half(t), New()
	l.Begin(old, 0, 0, nil, false)
	l.Release(func() *Setting { return s })
	if l.setting != nothing {
		t.Error("a setting that is over is kept")
	}
	f := l.Begin(s, 10, 0, nil, false)
	l.Release(func() *Setting { return s })
	f.End(s, 30, false)
	if got := l.Saved(s, 30); got != 10 {
		t.Errorf("saved %d ns in 20 of a region twice as fast, want 10", got)
	}
}
