package causal

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/causal/internal/design"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/spans/schedule"
)

// What is owed is paid in delays that are long enough, none of which is too long, and adds up.
func TestOwed(t *testing.T) {
	o := owed{each: 30, least: 100, most: 150}
	var paid []int64
	for range 40 {
		if d := o.due(1); d > 0 {
			paid = append(paid, d)
			o.sum.Add(-20) // it took longer than it should
		}
	}
	sum := int64(0)
	for _, d := range paid {
		sum += d + 20
		if d < 100 || d > 150 {
			t.Errorf("a delay of %d: must be in [100, 150]", d)
		}
	}
	if sum > 40*30+20 || sum < 40*30-150 {
		t.Errorf("%d were paid of %d", sum, 40*30)
	}
	if long := (&owed{each: 30, least: 100, most: 150}); long.due(3) != 0 || long.due(3) != 150 || long.sum.Load() != 30 {
		t.Error("a span that takes three times as long owes three times as much")
	}
	if none := (&owed{least: 1, most: 10}); none.due(1) != 0 {
		t.Error("a delay although nothing is owed")
	}
}

func TestOwedConcurrentSafe(t *testing.T) {
	o := owed{each: 7, least: 100, most: 1000}
	var mu sync.Mutex
	var wg sync.WaitGroup
	sum := int64(0)
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				if d := o.due(1); d > 0 {
					mu.Lock()
					sum += d
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if left := o.sum.Load(); sum+left != 7*8*1000 || left >= 100 {
		t.Errorf("%d paid and %d left of %d", sum, left, 7*8*1000)
	}
}

// simulated returns arms of a program whose period is base, and longer by elasticity for what its region takes longer; windows scatter.
func simulated(rng *rand.Rand, rounds int, elasticity, scatter, drift float64) []step {
	const base, own, visits = 10e6, 4e6, 40
	var all []step
	for i := range rounds {
		arms := slowdownArms(1, design.SlowdownLevels, 0.4, func(arm) [][]float64 { return nil }, rng)
		for _, a := range arms {
			period := base * (1 + elasticity*a.speedup) * (1 + scatter*rng.NormFloat64()) * (1 + drift*float64(i))
			all = append(all, step{arm: a, time: period * visits, visits: visits, own: own, taken: own * a.speedup})
		}
	}
	return all
}

func TestElasticityOfTotals(t *testing.T) {
	for _, tt := range []struct{ elasticity, scatter, drift float64 }{{0.4, 0, 0}, {0.4, 0.02, 0}, {0, 0.02, 0}, {1, 0.02, 0.002}} {
		rng := rand.New(rand.NewPCG(1, 2))
		const tries = 100
		held := 0
		for range tries {
			c := contrasts(simulated(rng, 20, tt.elasticity, tt.scatter, tt.drift))
			for _, level := range design.SlowdownLevels {
				s := profile.NewSlope(level, level, elasticities(c[arm{level, 0}]))
				if s.Lo-1e-9 <= tt.elasticity && tt.elasticity <= s.Hi+1e-9 {
					held++
				}
			}
		}
		if held < 2*tries*92/100 {
			t.Errorf("%+v: %d of %d intervals hold the truth, want 92 %%", tt, held, 2*tries)
		}
	}
}

// A delay that was taken in placebos as well counts in neither.
func TestContrastsWithoutPlacebos(t *testing.T) {
	zero, slow := arm{0, 0}, arm{0.1, 0}
	all := []step{
		{arm: zero, time: 100, visits: 10, own: 4, taken: 1},
		{arm: slow, time: 110, visits: 10, own: 4, taken: 3},
		{arm: zero, time: 100, visits: 10, own: 4, taken: 1},
		{arm: slow}, // thrown away
	}
	got := contrasts(all)[slow]
	if len(got) != 1 || math.Abs(got[0].slower()-0.5) > 1e-9 || math.Abs(got[0].elasticity()-0.2) > 1e-9 {
		t.Errorf("%+v, want one that is slower by a half, and costs a fifth of that", got)
	}
}

// A region is measured until it is known, and then others have the time.
func TestSlowdownArmsEnd(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	known := func(a arm) [][]float64 {
		switch a.spared {
		case 0: // nothing
			return [][]float64{slices.Repeat([]float64{0, 0.001, -0.001}, 5)}
		case 1: // exact
			return [][]float64{slices.Repeat([]float64{0.5, 0.501, 0.499}, 5)}
		}
		return [][]float64{{0.5, 0.1, 0.9}}
	}
	arms := slowdownArms(3, design.SlowdownLevels, 0.1, known, rng)
	var delayed []arm
	for _, a := range arms {
		if a.speedup > 0 {
			delayed = append(delayed, a)
		}
		if a.spared != 2 {
			t.Errorf("%+v: only region 2 needs more", a)
		}
	}
	slices.SortFunc(delayed, func(a, b arm) int { return int(100 * (a.speedup - b.speedup)) })
	if diff := cmp.Diff([]arm{{0.1, 2}, {0.3, 2}}, delayed, cmp.AllowUnexported(arm{})); diff != "" {
		t.Errorf("arms with delay (-want +got):\n%s", diff)
	}
	if arms := slowdownArms(2, design.SlowdownLevels, 0.1, known, rng); arms != nil {
		t.Errorf("%+v although all is known", arms)
	}
}

func TestSplitOf(t *testing.T) {
	for name, tt := range map[string]struct {
		self  schedule.Split
		spans uint64
		want  split
	}{
		"nothing":  {schedule.Split{}, 0, split{own: 1, queued: 1}},
		"computes": {schedule.Split{Running: 9, Runnable: 3}, 1, split{own: 0.75, computing: 1}},
		"waits":    {schedule.Split{Running: 1, Blocked: map[schedule.Reason]time.Duration{"network": 2, "sleep": 1, "sync": 4}}, 200, split{own: 0.5, computing: 0.25, queued: 0.5, asking: 0.25, each: 0.02}},
		"queues":   {schedule.Split{Running: 2, Blocked: map[schedule.Reason]time.Duration{"sleep": 4, "cond": 2, "chan receive": 2}}, 1, split{own: 0.8, computing: 0.25, queued: 0.4}},
	} {
		if got := splitOf(tt.self, tt.spans); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}

// A recording separates what computes from what waits, and leaves out waits for locks.
func TestRecordWork(t *testing.T) {
	c := newCrowd(t)
	var held sync.Mutex
	c.repeat(1, func() {
		c.span(c.ctx, "computes", func(context.Context) { clock.Spin(clock.Now(), ms, func() bool { return true }) })
		time.Sleep(ms)
	})
	c.repeat(1, func() { c.work(c.ctx, "sleeps", 2*ms) })
	c.repeat(2, func() {
		c.span(c.ctx, "waits", func(context.Context) {
			held.Lock()
			defer held.Unlock()
			time.Sleep(2 * ms)
		})
	})
	all, err := recordWork(t.Context(), 300*ms)
	if err != nil {
		t.Fatal(err)
	}
	for name, holds := range map[string]func(split) bool{
		"computes": func(s split) bool { return s.computing > 0.8 },
		"sleeps":   func(s split) bool { return s.computing < 0.3 && s.own > 0.8 && (s.each == 0 || s.each > 1.5e6) },
		"waits":    func(s split) bool { return s.own > 0.3 && s.own < 0.8 },
	} {
		if s, known := all[profile.Region{Scope: "crowd", Name: name}]; !known || !holds(s) {
			t.Errorf("%s: %+v, known: %t", name, s, known)
		}
	}
}

// Spans that wait in a queue outside of the program are shorter while their callers are held; others are not.
func TestQueues(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	arms := func(absorbed float64) []contrast {
		var all []step
		for range 20 {
			for _, level := range []float64{0, 0.3, 0} {
				const own = 4e6
				taken := level * own
				all = append(all, step{arm: arm{level, 0}, time: 1e9, visits: 100, own: own, taken: taken, spans: 1, lasts: own - absorbed*taken + 1e4*rng.NormFloat64()})
			}
		}
		return contrasts(all)[arm{0.3, 0}]
	}
	for _, tt := range []struct {
		work     work
		absorbed float64
		want     bool
	}{
		{work{}, 0, false},
		{work{}, 0.03, false},
		{work{}, 0.5, true},
		{work{inside: true}, 0, true},
		{work{outside: true}, 0, false},
		{work{outside: true}, 0.9, true},
		{work{outside: true, behind: 0.9}, 0.9, false}, // it is a processor that they wait for
		{work{inside: true, behind: 0.9}, 0, true},
	} {
		if got := tt.work.queues(arms(tt.absorbed)); got != tt.want {
			t.Errorf("%+v whose spans absorb %v: queues %t, want %t", tt.work, tt.absorbed, got, tt.want)
		}
	}
	if !(work{outside: true}).queues(nil) || (work{}).queues(nil) {
		t.Error("before anything is measured, spans that wait for others may queue, and no others")
	}
}

func TestPartOfDelaysNearDeadlines(t *testing.T) {
	all := []experiment{
		{arm: arm{speedup: 0.1, spared: 1}, delays: 50, nearDeadlines: 20},
		{arm: arm{speedup: 0.3, spared: 1}, delays: 30},
		{arm: arm{spared: 1}, delays: 30, nearDeadlines: 9},
		{arm: arm{speedup: 0.1}, delays: 10},
	}
	for region, want := range []float64{0, 0.2, 0} {
		if got := expiring(all, region); got != want {
			t.Errorf("expiring of region %d = %v, want %v", region, got, want)
		}
	}
}
