package causal

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/causal/plan"
)

// rules are those of the tests: ten seconds, a hundred samples.
func rules() plan.Abort {
	return plan.Abort{P99Ratio: 2, ErrDelta: 0.05, Window: plan.Duration(10 * time.Second), MinSamples: 100}
}

type breakerTest struct {
	*breaker
	t   *testing.T
	now time.Time
}

// newBreakerTest returns a breaker that knows 200 roots of 1 ms, of which 4 have failed.
func newBreakerTest(t *testing.T, a plan.Abort) *breakerTest {
	t.Helper()
	b, err := newBreaker(a)
	if err != nil {
		t.Fatal(err)
	}
	bt := &breakerTest{b, t, time.Now()}
	bt.roots(200, time.Millisecond, 4)
	if !b.baseline(bt.now) {
		t.Fatal("baseline() = false with 200 samples, want true")
	}
	b.enter(bt.now, phaseDelayed)
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

func (b *breakerTest) pass(d time.Duration) { b.now = b.now.Add(d) }

// goOn lets seconds pass, each with so many roots alike, and returns why the breaker opens, and in which second.
func (b *breakerTest) goOn(seconds, n int, d time.Duration, failed int) (why string, second int) {
	for i := range seconds {
		b.roots(n, d, failed)
		b.pass(time.Second)
		if why := b.check(b.now); why != "" {
			return why, i + 1
		}
	}
	return "", seconds
}

func (b *breakerTest) wantOpen(want, why string) {
	b.t.Helper()
	if !strings.HasSuffix(why, want) {
		b.t.Errorf("check() = %q, want it to end with %q", why, want)
	}
}

func TestBreakerP99Ratio(t *testing.T) {
	b := newBreakerTest(t, rules())
	if why, _ := b.goOn(20, 200, 1950*time.Microsecond, 4); why != "" {
		t.Errorf("at 1.95 times the breaker opens: %s", why)
	}
	why, after := newBreakerTest(t, rules()).goOn(20, 200, 3*time.Millisecond, 4)
	b.wantOpen(", 3.0 times the 1ms without delays: must be at most abort.p99_ratio 2 times", why)
	if after > 4 {
		t.Errorf("it opens after %d s, want 4 at most", after)
	}
}

// TestBreakerMindsNoBadMoment: one second in which all is slow is no cause.
func TestBreakerMindsNoBadMoment(t *testing.T) {
	b := newBreakerTest(t, rules())
	for i := range 30 {
		slow := time.Millisecond
		if i%5 == 0 {
			slow = time.Second
		}
		if why, _ := b.goOn(1, 200, slow, 4); why != "" {
			t.Fatalf("after %d s: %s", i, why)
		}
	}
}

func TestBreakerP99(t *testing.T) {
	a := rules()
	a.P99 = plan.Duration(1500 * time.Microsecond)
	b := newBreakerTest(t, a)
	if why, _ := b.goOn(20, 200, 1450*time.Microsecond, 4); why != "" {
		t.Errorf("below: %s", why)
	}
	why, _ := b.goOn(20, 200, 1600*time.Microsecond, 4)
	b.wantOpen(": must be at most abort.p99 1.5ms", why)
}

func TestBreakerErrors(t *testing.T) {
	b := newBreakerTest(t, rules()) // of 2 % errors
	if why, _ := b.goOn(60, 200, time.Millisecond, 13); why != "" {
		t.Errorf("at 6.5 %%, 4.5 points more: %s", why)
	}
	why, _ := newBreakerTest(t, rules()).goOn(20, 200, time.Millisecond, 40)
	b.wantOpen("20.00% of root spans fail, 18.00 points more than without delays: must be at most abort.err_delta 5%", why)
}

func TestBreakerMinSamples(t *testing.T) {
	if why, _ := newBreakerTest(t, rules()).goOn(20, 9, time.Hour, 9); why != "" {
		t.Errorf("with 90 roots in 10 s, of 100: %s", why)
	}
	if why, _ := newBreakerTest(t, rules()).goOn(20, 11, time.Hour, 11); why == "" {
		t.Error("with 110 roots in 10 s it stays closed")
	}
}

// TestBreakerLearnsInPlacebos: what slowly becomes normal in the arms without delay is the new base, up to twice the first.
func TestBreakerLearnsInPlacebos(t *testing.T) {
	b := newBreakerTest(t, rules())
	rush := func(d time.Duration, minutes int) (why string) {
		for range minutes * 15 {
			b.enter(b.now, phaseStill)
			if why, _ = b.goOn(2, 200, d, 4); why != "" {
				return why
			}
			b.enter(b.now, phaseDelayed)
			if why, _ = b.goOn(2, 200, d, 4); why != "" {
				return why
			}
		}
		return ""
	}
	for _, d := range []time.Duration{1100, 1300, 1500, 1700, 1900} {
		if why := rush(d*time.Microsecond, 12); why != "" {
			t.Fatalf("at %v: %s", d*time.Microsecond, why)
		}
		if got := b.base.p99(); got < d*time.Microsecond*98/100 || got > d*time.Microsecond*102/100 {
			t.Errorf("base %v after minutes at %v", got, d*time.Microsecond)
		}
	}
	if why := rush(5*time.Millisecond, 12); !strings.Contains(why, "abort.p99_ratio") {
		t.Errorf("five times as slow as at first, also without delay: %q, want that it opens", why)
	}
}

// The window holds one reading for each check, not all there ever were.
func TestBreakerWindowIsBounded(t *testing.T) {
	b := newBreakerTest(t, rules())
	for range 5000 {
		b.pass(100 * time.Millisecond)
		b.roots(1, time.Millisecond, 0)
		b.closed("in normal life")
		if n := len(b.window); n > windowParts+2 {
			t.Fatalf("the window holds %d readings", n)
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
		if n := len(b.window); n > windowParts+2 {
			t.Fatalf("the window holds %d readings", n)
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
	if b.baseline(time.Now()) {
		t.Error("baseline() with 99 samples = true, want false")
	}
	b.observe(-time.Millisecond, false)
	if !b.baseline(time.Now()) {
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
	b.baseline(time.Now())
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
	a.P99 = plan.Duration(1050 * time.Microsecond)
	if got := newBreakerTest(t, a).seen.Load().MostP99; got != 1050*time.Microsecond {
		t.Errorf("most p99 with abort.p99 = %v, want that", got)
	}
}

// TestBreakerRulesAreCaps: no plan can loosen the rules of the program, and so none can switch the breaker off.
func TestBreakerRulesAreCaps(t *testing.T) {
	caps := plan.Abort{P99Ratio: 1.5, P99: plan.Duration(time.Second), ErrDelta: 0.02, Window: plan.Duration(20 * time.Second), MinSamples: 500}
	for _, tt := range []struct {
		line string
		want plan.Abort
	}{
		{"abort: {p99_ratio: 1000, p99: 1h, err_delta: 100%, window: 10m, min_samples: 1000000}", caps},
		{"abort: {p99_ratio: 1000, p99: 0s, err_delta: 100%, window: 10m, min_samples: 1000000}", caps},
		{
			"abort: {p99_ratio: 1.1, p99: 100ms, err_delta: 1%, window: 5s, min_samples: 50}",
			plan.Abort{P99Ratio: 1.1, P99: plan.Duration(100 * time.Millisecond), ErrDelta: 0.01, Window: plan.Duration(5 * time.Second), MinSamples: 50},
		},
	} {
		c := newController(t, WithBreaker(caps))
		r := force(t, c, mustParse(t, idle, tt.line))
		if diff := cmp.Diff(tt.want, r.breaker.rules); diff != "" {
			t.Errorf("%s: rules differ, -want +got:\n%s", tt.line, diff)
		}
	}
	if got := (plan.Abort{P99: plan.Duration(time.Second)}).Tighten(plan.Abort{}).P99; got != plan.Duration(time.Second) {
		t.Errorf("a plan's own p99 without a cap = %v, want it", got)
	}
	if _, err := NewController(WithExperiments(wide), WithBreaker(plan.Abort{})); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "breaker: p99_ratio 0: must be in (1, 1000]") {
		t.Errorf("New with empty caps = %v", err)
	}
}
