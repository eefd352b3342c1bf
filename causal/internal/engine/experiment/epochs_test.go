package experiment

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/causal/internal/design"
	"github.com/otelprof/otelprof/causal/plan"
)

// byClock is a plan of so many regions.
func byClock(regions int, duty float64) *plan.Plan {
	return &plan.Plan{
		Seed: 7, Regions: make([]plan.RegionPattern, regions), Grid: plan.Grid{Speedups: []float64{0, 10, 50}, ZeroWeight: 0.4},
		Limits: plan.Limits{Duty: plan.Percent(duty)}, Timing: plan.Timing{Epoch: plan.Duration(2 * time.Second)},
	}
}

// All processes do the same in an epoch, in whichever order they ask, and none waits for another.
func TestEpochsAreTheSameEverywhere(t *testing.T) {
	one, other := NewEpochs(byClock(3, 0.05)), NewEpochs(byClock(3, 0.05))
	at := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	first := one.Number(at)
	if got := one.Begins(first); at.Sub(got) < 0 || at.Sub(got) >= 2*time.Second {
		t.Errorf("the epoch of %v begins %v", at, got)
	}
	done := map[Arm]int{}
	lost, epochs := 0.0, 100*(one.arms+one.rest)
	first -= first % (one.arms + one.rest)
	for n := first + epochs - 1; n >= first; n-- {
		other.Arm(n)
	}
	for n := first; n < first+epochs; n++ {
		a, ok := one.Arm(n)
		b, same := other.Arm(n)
		if ok != same || a != b {
			t.Fatalf("epoch %d: %v %v, and %v %v", n, a, ok, b, same)
		}
		if next := one.Next(n); ok != (next == n) || next < n {
			t.Fatalf("epoch %d: the next with something to do is %d", n, next)
		}
		if !ok {
			continue
		}
		done[a]++
		lost += a.Speedup / (1 + a.Speedup)
		beside := false
		for d := int64(-2); d <= 2; d++ {
			x, ok := one.Arm(n + d)
			beside = beside || ok && x.Speedup == 0
		}
		if !beside {
			t.Errorf("epoch %d has no placebo near", n)
		}
	}
	for _, level := range design.SlowdownLevels {
		for region := range 3 {
			if got := done[Arm{level, region}]; got != 100 {
				t.Errorf("region %d at %v: %d epochs of 100 rounds, want 100", region, level, got)
			}
		}
	}
	if most := design.LossOfDuty * 0.05; lost/float64(epochs) > most {
		t.Errorf("%.3f of the throughput is lost, want at most %.3f", lost/float64(epochs), most)
	}
}

func TestEpochsBeforeTheFirst(t *testing.T) {
	e := NewEpochs(byClock(1, 1))
	var got []int64
	for n := int64(-7); n < 7; n++ {
		if _, ok := e.Arm(n); !ok {
			t.Errorf("epoch %d rests, with a duty of all", n)
		}
		got = append(got, e.Round(n))
	}
	if diff := cmp.Diff([]int64{-3, -2, -2, -2, -1, -1, -1, 0, 0, 0, 1, 1, 1, 2}, got); diff != "" {
		t.Errorf("rounds (-want +got):\n%s", diff)
	}
	if n := e.Number(time.Unix(-1, 0)); n != -1 {
		t.Errorf("a second before 1970 is in epoch %d", n)
	}
}

// However little a plan may cost, the next epoch is to come.
func TestEpochsOfTinyDuty(t *testing.T) {
	now := time.Now()
	for _, duty := range []float64{1e-10, 1e-20, 1e-300} {
		e := NewEpochs(byClock(1, duty))
		if n := e.Next(e.Number(now)); e.Begins(n).Before(now) && e.Number(now) != n {
			t.Errorf("duty %g: the next epoch begins %v", duty, e.Begins(n))
		}
	}
}

// Whatever two processes count in an epoch lies within what a third does there, where clocks are
// 250 ms apart.
func TestEpochsAreCountedInside(t *testing.T) {
	e := NewEpochs(byClock(1, 1))
	for _, settling := range []time.Duration{0, 50 * time.Millisecond, time.Minute} {
		from, to := e.Counted(10, settling)
		if from.Sub(e.Begins(10)) < 250*time.Millisecond || e.Begins(11).Sub(to) < 250*time.Millisecond || to.Sub(from) < 700*time.Millisecond {
			t.Errorf("settling %v: from %v to %v of 2 s", settling, from.Sub(e.Begins(10)), to.Sub(e.Begins(10)))
		}
		if rest := from.Sub(e.Begins(10)) - 250*time.Millisecond; rest != min(settling, MostSettling(e.length)) {
			t.Errorf("it settles for %v of %v, and is said to for %v at most", rest, settling, MostSettling(e.length))
		}
	}
}
