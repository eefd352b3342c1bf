package causal

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// rules are those of the tests: ten seconds, a hundred samples.
func rules() Abort {
	return Abort{P99Ratio: 2, ErrDelta: 0.05, Window: Duration(10 * time.Second), MinSamples: 100}
}

type breakerTest struct {
	*breaker
	t   *testing.T
	now time.Time
}

// newBreakerTest returns a breaker that knows 200 roots of 1 ms, of which 4 have failed.
func newBreakerTest(t *testing.T, a Abort) *breakerTest {
	t.Helper()
	b, err := newBreaker(a)
	if err != nil {
		t.Fatal(err)
	}
	bt := &breakerTest{b, t, time.Now()}
	bt.roots(200, time.Millisecond, 4)
	if !b.baseline() {
		t.Fatal("baseline() = false with 200 samples, want true")
	}
	bt.closed("at first")
	return bt
}

func (b *breakerTest) roots(n int, d time.Duration, failed int) {
	for i := range n {
		b.observe(d, i < failed)
	}
}

func (b *breakerTest) closed(when string) {
	b.t.Helper()
	if why := b.check(b.now); why != "" {
		b.t.Fatalf("%s: the breaker opens: %s", when, why)
	}
}

func (b *breakerTest) opens(want string) {
	b.t.Helper()
	if got := b.check(b.now); !strings.HasSuffix(got, want) {
		b.t.Errorf("check() = %q, want it to end with %q", got, want)
	}
}

func (b *breakerTest) pass(d time.Duration) { b.now = b.now.Add(d) }

func TestBreakerP99Ratio(t *testing.T) {
	b := newBreakerTest(t, rules())
	b.pass(time.Second)
	b.roots(200, 1950*time.Microsecond, 0)
	b.closed("at 1.95 times")
	b.roots(200, 3*time.Millisecond, 0)
	b.opens(", 3.0 times the 1ms without delays: must be at most abort.p99_ratio 2 times")
}

// A percentile is not moved by fewer than one in a hundred.
func TestBreakerIgnoresRareOutliers(t *testing.T) {
	b := newBreakerTest(t, rules())
	b.roots(1000, time.Millisecond, 0)
	b.roots(9, time.Second, 0)
	b.closed("with 9 slow ones of 1009")
	b.roots(3, time.Second, 0)
	if why := b.check(b.now); !strings.Contains(why, "abort.p99_ratio") {
		t.Errorf("check() = %q with 12 slow ones of 1012, want it to open by abort.p99_ratio", why)
	}
}

func TestBreakerP99(t *testing.T) {
	a := rules()
	a.P99 = Duration(1500 * time.Microsecond)
	b := newBreakerTest(t, a)
	b.roots(200, 1450*time.Microsecond, 0)
	b.closed("below")
	b.roots(200, 1600*time.Microsecond, 0)
	b.opens(": must be at most abort.p99 1.5ms")
}

func TestBreakerErrors(t *testing.T) {
	b := newBreakerTest(t, rules()) // of 2 % errors
	b.roots(100, time.Millisecond, 7)
	b.closed("at 7 %, 5 points more")
	b.roots(100, time.Millisecond, 8)
	b.opens("7.50% of root spans fail, 5.50 points more than without delays: must be at most abort.err_delta 5%")
}

func TestBreakerMinSamples(t *testing.T) {
	b := newBreakerTest(t, rules())
	b.roots(99, time.Hour, 99)
	b.closed("with 99 samples of 100")
	b.roots(1, time.Hour, 1)
	if why := b.check(b.now); why == "" {
		t.Error("check() with 100 samples = \"\", want it to open")
	}
}

func TestBreakerWindowSlides(t *testing.T) {
	for _, tt := range []struct {
		after time.Duration
		opens bool
	}{{9900 * time.Millisecond, true}, {10100 * time.Millisecond, false}} {
		b := newBreakerTest(t, rules())
		b.pass(100 * time.Millisecond)
		b.roots(50, time.Second, 50) // too few for a verdict
		b.closed("with 50 samples")
		for passed := time.Duration(0); passed < tt.after; passed += 100 * time.Millisecond {
			b.pass(100 * time.Millisecond)
			b.closed("while nothing happens")
		}
		b.roots(100, time.Millisecond, 2)
		if why := b.check(b.now); (why != "") != tt.opens {
			t.Errorf("check() %v after 50 slow roots = %q, want open: %t", tt.after, why, tt.opens)
		}
	}
}

// The window holds one reading for each check, not all there ever were.
func TestBreakerWindowIsBounded(t *testing.T) {
	b := newBreakerTest(t, rules())
	for range 5000 {
		b.pass(100 * time.Millisecond)
		b.roots(1, time.Millisecond, 0)
		b.closed("in normal life")
		if n := len(b.window); n > 102 {
			t.Fatalf("the window of 10 s holds %d readings that are 100 ms apart", n)
		}
	}
}

// Checks come as often as experiments are short; the window must not grow with them.
func TestBreakerWindowIsBoundedForShortExperiments(t *testing.T) {
	b := newBreakerTest(t, rules())
	rng := rand.New(rand.NewPCG(1, 0))
	for range 20000 {
		b.pass(time.Duration(rng.Int64N(int64(10 * time.Millisecond))))
		b.roots(1, time.Millisecond, 0)
		b.closed("in normal life")
		if n := len(b.window); n > 110 {
			t.Fatalf("the window of 10 s holds %d readings, want about 100", n)
		}
	}
}

func TestBreakerBaseline(t *testing.T) {
	b, err := newBreaker(rules())
	if err != nil {
		t.Fatal(err)
	}
	for range 99 {
		b.observe(time.Millisecond, false)
	}
	if b.baseline() {
		t.Error("baseline() with 99 samples = true, want false")
	}
	b.observe(-time.Millisecond, false)
	if !b.baseline() {
		t.Error("baseline() with 100 samples = false, want true")
	}
}

// The status tells what is normal, what is seen now, and what opens the breaker.
func TestBreakerStatus(t *testing.T) {
	a := rules()
	b, err := newBreaker(a)
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		b.observe(time.Millisecond, false)
	}
	b.baseline()
	want := BreakerStatus{BaseRoots: 50, MinRoots: uint64(a.MinSamples), Window: a.Window}
	if diff := cmp.Diff(want, *b.seen.Load()); diff != "" {
		t.Errorf("status before the baseline differs, -want +got:\n%s", diff)
	}
	bt := newBreakerTest(t, a) // 200 roots of 1 ms, of which 4 have failed
	bt.roots(300, 1100*time.Microsecond, 7)
	bt.pass(time.Second)
	bt.closed("with little more")
	s := *bt.seen.Load()
	within := func(what string, got, want float64) {
		t.Helper()
		if got < 0.98*want || got > 1.02*want {
			t.Errorf("%s = %g, want %g within 2 %%", what, got, want)
		}
	}
	within("base p99", float64(s.BaseP99), 1e6)
	within("p99", float64(s.P99), 1.1e6)
	within("most p99", float64(s.MostP99), a.P99Ratio*1e6)
	within("base failed", s.BaseFailed, 0.02)
	within("failed", s.Failed, 7./300)
	within("most failed", s.MostFailed, 0.02+float64(a.ErrDelta))
	if s.BaseRoots != 200 || s.Roots != 300 {
		t.Errorf("%d roots before and %d now, want 200 and 300", s.BaseRoots, s.Roots)
	}
	a.P99 = Duration(1050 * time.Microsecond)
	if got := newBreakerTest(t, a).seen.Load().MostP99; got != 1050*time.Microsecond {
		t.Errorf("most p99 with abort.p99 = %v, want that", got)
	}
}
