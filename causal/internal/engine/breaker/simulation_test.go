package breaker

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/internal/testutil/thorough"
)

// byDefault are the rules of a plan that says nothing of them.
var byDefault = plan.Abort{P99Ratio: 1.2, ErrDelta: 0.005, Window: plan.Duration(10 * time.Second), MinSamples: 200}

// A service has durations of a log-normal distribution, in bursts if the load is.
type service struct {
	perSecond int
	bursts    float64 // how much slower each fifth second is
	rng       *rand.Rand
}

func (s service) duration(second int, slower float64) time.Duration {
	if s.bursts > 0 && second%5 == 0 {
		slower *= s.bursts
	}
	return time.Duration(slower * math.Exp(0.5*s.rng.NormFloat64()) * float64(10*time.Millisecond))
}

// simulate runs a plan of arms of 2 s, every other a placebo, with the default rules, and returns
// when the breaker opens, -1 if it does not. From the second rises on, what is delayed takes that
// much longer.
func (s service) simulate(t *testing.T, seconds, rises int, slower float64) int {
	t.Helper()
	b, err := New(byDefault)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	second := 0
	for ; second < 2 || !b.Baseline(now); second++ {
		for range s.perSecond {
			b.Observe(s.duration(second, 1), false)
		}
		now = now.Add(time.Second)
	}
	for at := range seconds {
		p, factor := Delayed, 1.
		if at/2%2 == 1 {
			p = Still
		} else if at >= rises {
			factor = slower
		}
		b.Enter(now, p)
		for range s.perSecond {
			b.Observe(s.duration(second+at, factor), false)
		}
		now = now.Add(time.Second)
		if b.Check(now) != "" {
			return at
		}
	}
	return -1
}

// TestBreakerHasNoFalseAlarms: with the default rules and no effect of delays, at most one plan of
// an hour in a hundred ends.
func TestBreakerHasNoFalseAlarms(t *testing.T) {
	const hour = 3600
	for _, s := range []service{{20, 0, nil}, {100, 0, nil}, {100, 1.5, nil}} {
		s.rng = rand.New(rand.NewPCG(uint64(s.perSecond), uint64(10*s.bursts)))
		plans := thorough.Of(10, 3)
		opened := 0
		for range plans {
			if s.simulate(t, hour/4, math.MaxInt, 1) >= 0 {
				opened++
			}
		}
		t.Logf("%d roots a second, bursts of %g: %d of %d plans of a quarter of an hour opened", s.perSecond, s.bursts, opened, plans)
		if opened > plans/10 {
			t.Errorf("%d roots a second, bursts of %g: %d of %d plans opened without a cause", s.perSecond, s.bursts, opened, plans)
		}
	}
}

// TestAlarmIsRarelyFalse: the test alone, over many more hours, at the share that is just allowed.
func TestAlarmIsRarelyFalse(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const share = 0.01
	hours := thorough.Of(300, 100)
	raised := 0
	for range hours {
		var a alarm
		for range 3600 {
			n := 100.
			k := poisson(rng, n*share)
			a.add(k, n)
			if a.raised(share) {
				raised++
				break
			}
			a.second(share)
		}
	}
	t.Logf("%d alarms in %d hours", raised, hours)
	if raised > hours/100 {
		t.Errorf("%d alarms in %d hours without a cause, want one in a hundred at most", raised, hours)
	}
}

// Where all fail without delays, too, there is nothing to see; there is when that is over.
func TestAlarmAfterAllFailed(t *testing.T) {
	var a alarm
	for range 10 {
		a.add(100, 100)
		if a.raised(1) {
			t.Fatal("raised where as many fail as may")
		}
		a.second(1)
	}
	for range 10 {
		a.add(50, 100)
		a.second(0.1)
	}
	if !a.raised(0.1) {
		t.Errorf("not raised where five times as many fail as may: stakes %v", a.stakes)
	}
}

func poisson(rng *rand.Rand, mean float64) (n float64) {
	for p := rng.ExpFloat64(); p < mean; p += rng.ExpFloat64() {
		n++
	}
	return n
}

// TestBreakerFindsARise: with a 99th percentile that rises by a half in what is delayed, the
// breaker opens within 10 s.
func TestBreakerFindsARise(t *testing.T) {
	for _, perSecond := range []int{500, 1000} {
		s := service{perSecond, 0, rand.New(rand.NewPCG(3, uint64(perSecond)))}
		const rises = 60
		plans := thorough.Of(40, 10)
		late, early, sum := 0, 0, 0
		for range plans {
			at := s.simulate(t, rises+60, rises, 1.5)
			switch {
			case at >= 0 && at < rises:
				early++
			case at < 0 || at > rises+10:
				late++
			default:
				sum += at - rises + 1
			}
		}
		t.Logf("%d roots a second: found after %.1f s in the mean, %d of %d late, %d early", perSecond, float64(sum)/float64(plans-late-early), late, plans, early)
		if late > plans/20 || early > 0 {
			t.Errorf("%d roots a second: %d of %d found later than 10 s, %d before there was a rise", perSecond, late, plans, early)
		}
	}
}

func TestAtMost(t *testing.T) {
	for _, tt := range []struct{ events, of, want float64 }{{0, 0, 1}, {0, 100, 0.0872}, {2, 200, 0.0617}, {20, 2000, 0.0193}, {100, 100, 1}} {
		if got := atMost(tt.events, tt.of); math.Abs(got-tt.want) > 0.002 {
			t.Errorf("atMost(%g, %g) = %.4f, want %.4f", tt.events, tt.of, got, tt.want)
		}
	}
}
