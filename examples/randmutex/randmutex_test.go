package main

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The point of the example: the source is small in the CPU profile and large in the causal one.
func TestSmallInOneAndLargeInTheOther(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 9 s")
	}
	got, err := program.Profile(t.Context(), 9*time.Second, false)
	if err != nil {
		t.Fatal(err)
	}
	share := got.CPU.Share(program.Function)
	e, reason := program.Predicted(got.Causal, 0.5)
	t.Logf("CPU %.1f %%, causal %.1f %% (%.1f .. %.1f) %s", 100*share, 100*e.Reduction, 100*e.Lo, 100*e.Hi, reason)
	if share > 0.2 {
		t.Errorf("CPU profile: %.0f %% in %s, want less than 20 %%", 100*share, program.Function)
	}
	if reason != "" || e.Reduction < 0.3 {
		t.Errorf("causal profile: 50 %% faster gives %.0f %% (%s), want more than 30 %%", 100*e.Reduction, reason)
	}
}

func TestOptimizedIsFaster(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 3 s")
	}
	g, err := program.Compare(t.Context(), 2, 700*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", g)
	if g.Speedup < 0.2 || g.Reduction < 0.15 {
		t.Errorf("%s is %.0f %% faster and requests %.0f %%, want 30 %% and more", program.Region, 100*g.Speedup, 100*g.Reduction)
	}
}
