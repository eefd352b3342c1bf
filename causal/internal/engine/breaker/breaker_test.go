package breaker

import (
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
	*Breaker
	t   *testing.T
	now time.Time
}

// newBreakerTest returns a breaker that knows 200 roots of 1 ms, of which 4 have failed.
func newBreakerTest(t *testing.T, a plan.Abort) *breakerTest {
	t.Helper()
	b, err := New(a)
	if err != nil {
		t.Fatal(err)
	}
	bt := &breakerTest{b, t, time.Now()}
	bt.roots(200, time.Millisecond, 4)
	if !b.Baseline(bt.now) {
		t.Fatal("baseline() = false with 200 samples, want true")
	}
	b.Enter(bt.now, Delayed)
	bt.closed("at first")
	return bt
}

func (b *breakerTest) roots(n int, d time.Duration, failed int) {
	for i := range n {
		b.Observe(d, i < failed)
	}
}

func (b *breakerTest) closed(when string) {
	b.t.Helper()
	if why := b.Check(b.now); why != "" {
		b.t.Fatalf("%s: the breaker opens: %s", when, why)
	}
}

func (b *breakerTest) pass(d time.Duration) { b.now = b.now.Add(d) }

// goOn lets seconds pass, each with so many roots alike, and returns why the breaker opens, and in
// which second.
func (b *breakerTest) goOn(seconds, n int, d time.Duration, failed int) (why string, second int) {
	for i := range seconds {
		b.roots(n, d, failed)
		b.pass(time.Second)
		if why := b.Check(b.now); why != "" {
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

// Where what the delays do goes on in the placebos, from the first one, it opens all the same:
// roots that take five times as long, or of which a fifth fails.
func TestBreakerOpensWherePlacebosAreAlike(t *testing.T) {
	for name, tt := range map[string]struct {
		takes  time.Duration
		failed int
	}{"slow": {5 * time.Millisecond, 4}, "failing": {time.Millisecond, 40}} {
		t.Run(name, func(t *testing.T) {
			b := newBreakerTest(t, rules())
			for range 15 { // a minute
				for _, p := range []Phase{Still, Delayed} {
					b.Enter(b.now, p)
					if why, _ := b.goOn(2, 200, tt.takes, tt.failed); why != "" {
						return
					}
				}
			}
			t.Error("it stays closed for a minute")
		})
	}
}

// TestBreakerLearnsInPlacebos: what slowly becomes normal in the arms without delay is the new
// base, up to twice the first.
func TestBreakerLearnsInPlacebos(t *testing.T) {
	b := newBreakerTest(t, rules())
	rush := func(d time.Duration, minutes int) (why string) {
		for range minutes * 15 {
			b.Enter(b.now, Still)
			if why, _ = b.goOn(2, 200, d, 4); why != "" {
				return why
			}
			b.Enter(b.now, Delayed)
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
	b, err := New(rules())
	if err != nil {
		t.Fatal(err)
	}
	for range 99 {
		b.Observe(time.Millisecond, false)
	}
	if b.Baseline(time.Now()) {
		t.Error("baseline() with 99 samples = true, want false")
	}
	b.Observe(-time.Millisecond, false)
	if !b.Baseline(time.Now()) {
		t.Error("baseline() with 100 samples = false, want true")
	}
}

// The status tells what is normal, what is seen now, and what opens the breaker.
func TestBreakerStatus(t *testing.T) {
	a := rules()
	b, err := New(a)
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		b.Observe(time.Millisecond, false)
	}
	b.Baseline(time.Now())
	want := Status{BaseRoots: 50, MinRoots: uint64(a.MinSamples), Window: a.Window}
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

// The breaker keeps as much however long its window is, and looks as far back as it should.
func TestBreakerReadingsAreBounded(t *testing.T) {
	a := rules()
	a.Window = plan.Duration(10 * time.Minute)
	b := newBreakerTest(t, a)
	for range 20_000 { // 33 minutes
		b.pass(leastPart)
		b.closed("all the time")
	}
	if got := len(b.window); got > windowParts+2 {
		t.Errorf("%d readings, want about %d", got, windowParts)
	}
	if back := b.now.Sub(b.window[0].at); back < 10*time.Minute || back > 10*time.Minute+31*time.Second {
		t.Errorf("it looks back %v, want 10m and a reading more at most", back)
	}
}

// What was recorded has no part in what is normal: the program was slower meanwhile.
func TestBreakerForgetsTheRecording(t *testing.T) {
	b, err := New(plan.Abort{P99Ratio: 2, ErrDelta: 1, Window: plan.Duration(time.Second), MinSamples: 10})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		b.Observe(time.Second, true)
	}
	b.Forget()
	if b.Baseline(time.Now()) {
		t.Error("there is a baseline of what was forgotten")
	}
	for range 10 {
		b.Observe(time.Millisecond, false)
	}
	if !b.Baseline(time.Now()) {
		t.Fatal("no baseline of ten roots")
	}
	if s := b.known(); s.BaseRoots != 10 || s.BaseP99 > 2*time.Millisecond || s.BaseFailed != 0 {
		t.Errorf("the baseline is %+v, want ten roots of 1ms without failures", s)
	}
}
