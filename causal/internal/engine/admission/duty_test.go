package admission

import (
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/runtimemode/sched"
	"github.com/otelprof/otelprof/internal/testutil/thorough"
)

// For any demand, no 100 ms have more delay than they may, and with enough demand nearly that.
func TestDutyWindowProperty(t *testing.T) {
	type delay struct{ begins, ends time.Duration }
	for seed := range uint64(thorough.Of(300, 60)) {
		rng := rand.New(rand.NewPCG(seed, 1))
		rate := []float64{0.05, 0.1, 1, 3.2}[rng.IntN(4)]
		longest := time.Duration(1 + rng.Int64N(int64(20*time.Millisecond)))
		most := PerWindow(rate)
		now := time.Now()
		d := NewDuty(rate, longest, now)
		var (
			at, sum time.Duration
			all     []delay
		)
		for at < 3*time.Second {
			at += time.Duration(rng.Int64N(int64(3 * time.Millisecond)))
			if want := time.Duration(1 + rng.Int64N(int64(longest))); d.take(now.Add(at), want) {
				all = append(all, delay{at, at + want})
				sum += want
			}
		}
		for i, first := range all {
			for _, begins := range []time.Duration{first.begins, first.ends - sched.DutyWindow} {
				within, ends := time.Duration(0), begins+sched.DutyWindow
				for _, d := range all[max(0, i-400):min(len(all), i+400)] {
					within += max(0, min(d.ends, ends)-max(d.begins, begins))
				}
				if within > most {
					t.Fatalf("seed %d: %v of delay in 100 ms from %v on, want at most %v", seed, within, begins, most)
				}
			}
		}
		if most > 4*longest && sum < time.Duration(0.3*rate*float64(at)) && sum < time.Duration(len(all))*longest/4 {
			t.Errorf("seed %d: %v granted in %v at a rate of %g", seed, sum, at, rate)
		}
	}
}

func TestDutyRefills(t *testing.T) {
	now := time.Now()
	d := NewDuty(0.1, 5*time.Millisecond, now)
	for i, tt := range []struct {
		at, delay time.Duration
		want      bool
	}{
		{0, 10*time.Millisecond + 1, false},
		{0, 5 * time.Millisecond, true},
		{50 * time.Millisecond, 5 * time.Millisecond, true},
		{99 * time.Millisecond, 1, false},
		{105 * time.Millisecond, 1, false}, // the first may have ended in these 100 ms
		{121 * time.Millisecond, 5 * time.Millisecond, true},
		{time.Hour, 10 * time.Millisecond, true}, // never more
		{time.Hour, 1, false},
	} {
		if got := d.take(now.Add(tt.at), tt.delay); got != tt.want {
			t.Errorf("%d: take(%v, %v) = %t, want %t", i, tt.at, tt.delay, got, tt.want)
		}
	}
	d.add(now.Add(2*time.Hour), 9*time.Millisecond)
	if d.take(now.Add(2*time.Hour), 2*time.Millisecond) {
		t.Error("what a delay was too long by is forgotten")
	}
	d.refill(0.2)
	if !d.take(now.Add(2*time.Hour), 2*time.Millisecond) {
		t.Error("with two processors there is room")
	}
}

// A limit of 100 % is none, a plan may ask for a very low one, and that must not come out as a high
// one.
func TestDutyExtremes(t *testing.T) {
	now := time.Now()
	unlimited := NewDuty(DutyRate(1, 2), time.Minute, now)
	for range 2 {
		if !unlimited.take(now, time.Hour) {
			t.Error("100 %: refused")
		}
	}
	if got := PerWindow(DutyRate(1, 2)); got < time.Hour {
		t.Errorf("100 %%: %v in 100 ms", got)
	}
	for _, rate := range []float64{1e-8, 1e-10, 1e-13, 1e-20, 1e-300, math.SmallestNonzeroFloat64} {
		d := NewDuty(rate, time.Second, now)
		for i := range 3 {
			if delay := 500 * time.Millisecond; d.take(now.Add(time.Duration(i)*time.Minute), delay) {
				t.Errorf("rate %g: %v was granted", rate, delay)
			}
		}
	}
}

func TestDutyConcurrentSafe(t *testing.T) {
	now := time.Now()
	d := NewDuty(5, time.Millisecond, now)
	var granted atomic.Int64
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 1000 {
				if d.take(now, time.Millisecond) {
					granted.Add(1)
				}
			}
		})
	}
	wait.Wait()
	if got := granted.Load(); got != 500 {
		t.Errorf("%d ms granted of 500", got)
	}
}
