package ledger

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	_ "github.com/otelprof/otelprof/internal/testutil/thorough" // -long
)

func TestMain(m *testing.M) {
	if err := flag.Set("rapid.nofailfile", "true"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// half returns a setting that supposes region 0 to take half of its time.
func half(tb testing.TB) *Setting {
	tb.Helper()
	return setting(tb, Hypothesis{Region: 0, Speedup: .5})
}

func setting(tb testing.TB, h Hypothesis) *Setting {
	tb.Helper()
	s, err := NewPaidSetting(h, 2)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// paid is like half, with another speed-up.
func paid(tb testing.TB, speedup float64) *Setting {
	tb.Helper()
	return setting(tb, Hypothesis{Region: 0, Speedup: speedup})
}

// alive is an event of the ledger's goroutine.
func alive(l *Ledger, s *Setting, t int64) { l.Stamp(s, t, new(Stamp)) }

// checkSaved compares what a ledger has saved.
func checkSaved(tb testing.TB, l *Ledger, s *Setting, t, want int64) {
	tb.Helper()
	if got := l.Saved(s, t); got != want {
		tb.Errorf("Saved(%d) = %d, want %d", t, got, want)
	}
}

// earn is a ledger that has earned so much by t in half, and does not go on earning.
func earn(tb testing.TB, s *Setting, t, credit int64) *Ledger {
	tb.Helper()
	l := New()
	f := l.Begin(s, t-2*credit, 0, nil, false)
	f.End(s, t, false)
	checkSaved(tb, l, s, t, credit)
	return l
}
