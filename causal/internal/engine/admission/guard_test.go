package admission

import (
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
)

func newTestGuard(l plan.Limits, processors int, now time.Time) *Guard {
	return NewGuard(&plan.Plan{}, now.Add(time.Hour), l, processors, now)
}

func TestGuardExpires(t *testing.T) {
	now := time.Now()
	end := now.Add(time.Minute)
	for _, tt := range []struct {
		name       string
		wall, mono time.Time
		at         time.Time
		want       Rule
	}{
		{"before both", end, end, end.Add(-1), RuleNone},
		{"at both", end, end, end, ruleExpired},
		{"after both", end, end, end.Add(1), ruleExpired},
		// The wall clock was set forward: it is over by the plan's own word.
		{"wall only", end.Add(-time.Second), end, end.Add(-1), ruleExpired},
		// It was set back, or the process slept: it has had its time.
		{"monotonic only", end.Add(time.Hour), end, end.Add(1), ruleExpired},
		{"no monotonic reading", end, end, end.Round(0), ruleExpired},
	} {
		g := newTestGuard(wide, 1, now)
		g.expiresWall, g.expiresMono = tt.wall.Round(0), tt.mono
		if got := g.Expired(tt.at); got != tt.want {
			t.Errorf("%s: expired = %q, want %q", tt.name, ruleNames[got], ruleNames[tt.want])
		}
		if got := g.Reserve(tt.at, 1); got != tt.want {
			t.Errorf("%s: reserve = %q, want %q", tt.name, ruleNames[got], ruleNames[tt.want])
		}
	}
}

// A guard takes the plan's end for both clocks, in any time zone.
func TestGuardTakesPlansEnd(t *testing.T) {
	now := time.Now()
	ends := now.Add(time.Minute).In(time.FixedZone("", 3*3600)).Round(0)
	g := NewGuard(&plan.Plan{}, ends, wide, 1, now)
	if !g.expiresWall.Equal(ends) || !g.expiresMono.Round(0).Equal(ends) {
		t.Errorf("expires at %v and %v, want %v", g.expiresWall, g.expiresMono, ends)
	}
	if monotonic := func(t time.Time) bool { return strings.Contains(t.String(), "m=") }; monotonic(g.expiresWall) || !monotonic(g.expiresMono) {
		t.Error("want the one without a monotonic reading, the other with one")
	}
}

func TestGuardLease(t *testing.T) {
	now := time.Now()
	g := newTestGuard(wide, 1, now)
	at := func(d time.Duration, want Rule) {
		t.Helper()
		if got := g.Expired(now.Add(d)); got != want {
			t.Errorf("expired after %v = %q, want %q", d, ruleNames[got], ruleNames[want])
		}
	}
	at(50*time.Minute, RuleNone) // no lease, no end
	g.Renew(now, 6*time.Second)
	at(6*time.Second, RuleNone)
	at(6*time.Second+1, RuleLease)
	g.Renew(now.Add(5*time.Second), 6*time.Second)
	at(11*time.Second, RuleNone)
	at(11*time.Second+1, RuleLease)
	at(time.Hour, ruleExpired) // which comes first in what is reported
}

// One goroutine at a time: never more is spent than the budget and what the last delay
// took longer than it should.
func TestGuardTotalProperty(t *testing.T) {
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		now := time.Now()
		limits := plan.Limits{Duty: 1, Total: plan.Duration(1 + rng.Int64N(int64(time.Second)))}
		g := newTestGuard(limits, 1+rng.IntN(8), now)
		quantum := time.Duration(1 + rng.Int64N(int64(20*time.Millisecond)))
		var spent, reserved time.Duration
		for range 300 {
			now = now.Add(time.Duration(rng.Int64N(int64(50 * time.Millisecond))))
			want := time.Duration(1 + rng.Int64N(int64(quantum)))
			switch r := g.Reserve(now, want); r {
			case RuleNone:
				inserted := want
				switch rng.IntN(3) {
				case 0: // stopped early
					inserted = time.Duration(rng.Int64N(int64(want)))
				case 1: // overshot
					inserted += time.Duration(rng.Int64N(int64(quantum)))
				}
				g.Settle(now, want, inserted)
				spent += inserted
				reserved += want
			case RuleTotal:
				if spent+want <= time.Duration(limits.Total) {
					t.Fatalf("seed %d: refused %v of %v with %v spent", seed, want, limits.Total, spent)
				}
			case RuleDuty:
			default:
				t.Fatalf("seed %d: reserve = %q", seed, ruleNames[r])
			}
			if got := time.Duration(g.Spent.Load()); got != spent {
				t.Fatalf("seed %d: spent %v, want %v", seed, got, spent)
			}
			if spent > time.Duration(limits.Total)+quantum {
				t.Fatalf("seed %d: spent %v of %v, quantum %v", seed, spent, limits.Total, quantum)
			}
		}
	}
}

func TestGuardTotalConcurrentSafe(t *testing.T) {
	const quantum = 7 * time.Microsecond
	total := plan.Duration(10*time.Millisecond + 3)
	now := time.Now()
	g := newTestGuard(plan.Limits{Duty: 1, Total: total}, 64, now)
	var granted atomic.Int64
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 2000 {
				if g.Reserve(now, quantum) == RuleNone {
					if sum := granted.Add(int64(quantum)); sum > int64(total) {
						t.Errorf("%v granted, want at most %v", time.Duration(sum), total)
					}
					g.Settle(now, quantum, quantum)
				}
			}
		})
	}
	wait.Wait()
	if got, want := granted.Load(), int64(total)/int64(quantum)*int64(quantum); got != want {
		t.Errorf("%v granted, want %v", time.Duration(got), time.Duration(want))
	}
	if got := g.Spent.Load(); got != granted.Load() {
		t.Errorf("spent %v, want %v", time.Duration(got), time.Duration(granted.Load()))
	}
}

func TestTightenProperty(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 0))
	random := func() plan.Limits {
		return plan.Limits{PerSpan: plan.Duration(rng.Int64N(1e9)), PerTrace: plan.Duration(rng.Int64N(1e9)), Duty: plan.Percent(rng.Float64()), Total: plan.Duration(rng.Int64N(1e9))}
	}
	within := func(a, b plan.Limits) bool {
		return a.PerSpan <= b.PerSpan && a.PerTrace <= b.PerTrace && a.Duty <= b.Duty && a.Total <= b.Total
	}
	for range 1000 {
		plan, caps := random(), random()
		got := plan.Tighten(caps)
		if !within(got, plan) || !within(got, caps) {
			t.Fatalf("%+v.Tighten(%+v) = %+v is looser than one of them", plan, caps, got)
		}
		if diff := cmp.Diff(got, caps.Tighten(plan)); diff != "" {
			t.Fatalf("Tighten is not symmetric:\n%s", diff)
		}
		if got.Tighten(got) != got || plan.Tighten(plan) != plan {
			t.Fatalf("Tighten of a limit with itself changes it: %+v", got)
		}
	}
}

func TestRuleNames(t *testing.T) {
	seen := map[string]Rule{}
	for r := RuleNone + 1; r < numRules; r++ {
		if prev, ok := seen[ruleNames[r]]; ok || ruleNames[r] == "" {
			t.Errorf("rule %d is named %q, as is %d", r, ruleNames[r], prev)
		}
		seen[ruleNames[r]] = r
	}
	g := newTestGuard(wide, 1, time.Now())
	if got := g.Counts().ByName(); len(got) != 0 {
		t.Errorf("counts().byName() = %v before anything was withheld", got)
	}
	for r := RuleNone + 1; r < numRules; r++ {
		for range r {
			g.Withhold(r)
		}
	}
	want := map[string]uint64{
		"not_before": 1, "expired": 2, "allowed.life": 3, "lease": 4, "limits.total": 5, "limits.per_span": 6, "limits.per_trace": 7,
		"limits.duty": 8, "deadline": 9, "health_check": 10, "idle_connection": 11,
	}
	if diff := cmp.Diff(want, g.Counts().ByName()); diff != "" {
		t.Errorf("counts().byName() differs, -want +got:\n%s", diff)
	}
	if got := g.Counts().Distorting(); got != 45 {
		t.Errorf("counts().distorting() = %d, want 45: all but health checks and idle connections", got)
	}
}

// A delay whose goroutine was preempted behind its look at the clock counts from when it was
// granted.
func TestDutyOfPreemptedGoroutine(t *testing.T) {
	now := time.Now()
	limits := wide
	limits.PerSpan, limits.Duty = plan.Duration(10*time.Millisecond), 0.1
	g := newTestGuard(limits, 1, now.Add(-50*time.Minute))
	stale, window := now.Add(-time.Minute), now.Add(sched.DutyWindow)
	if r := g.Reserve(stale, 10*time.Millisecond); r != RuleNone {
		t.Fatalf("reserve = %q, want all of the duty", ruleNames[r])
	}
	if r := g.Reserve(window, 10*time.Millisecond); r != RuleDuty {
		t.Errorf("reserve = %q within the same window, want %q", ruleNames[r], ruleNames[RuleDuty])
	}
}
