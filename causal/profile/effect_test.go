package profile

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/otelprof/otelprof/internal/naming/withheldcode"
	"github.com/otelprof/otelprof/internal/stats"
)

func TestEffect(t *testing.T) {
	want := Effect{Speedup: 0.25, Samples: 2, Withheld: Withheld{Code: withheldcode.Iterations, Count: 2, Need: 5}, Reductions: []float64{0.1, 0.1}}
	if diff := cmp.Diff(want, NewEffect(0.25, []float64{0.1, 0.1}, nil)); diff != "" {
		t.Errorf("effect of two values differs, -want +got:\n%s", diff)
	}
	want = Effect{Speedup: 0.25, Samples: 6, Reduction: 0.2, Lo: 0.2 - stats.ModelError, Hi: 0.2 + stats.ModelError, ThroughputGain: 0.25, Reductions: []float64{.2, .2, .2, .2, .2, .2}}
	if diff := cmp.Diff(want, NewEffect(0.25, []float64{.2, .2, .2, .2, .2, .2}, nil), cmpopts.EquateApprox(0, 1e-6)); diff != "" {
		t.Errorf("effect of six values differs, -want +got:\n%s", diff)
	}
}

func TestWider(t *testing.T) {
	e := NewEffect(0.25, []float64{.2, .2, .2, .2, .2, .2}, nil)
	got := e.Wider(0.03).Wider(0.05).Wider(0.04)
	want := e
	want.Margin, want.Lo, want.Hi = 0.05, e.Lo-0.05, e.Hi+0.05
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("the widest counts, -want +got:\n%s", diff)
	}
	if got := mergeEffects(0.25, []Effect{got, e}); got.Margin != 0.05 || got.Hi-got.Lo < 0.1 {
		t.Errorf("merged with one that has no margin: %+v, want the margin", got)
	}
	withheld := e.Withhold(Withheld{Code: withheldcode.Throttled})
	if diff := cmp.Diff(withheld, withheld.Wider(0.05)); diff != "" {
		t.Errorf("without a number, -want +got:\n%s", diff)
	}
}

func TestGain(t *testing.T) {
	for _, tt := range []struct{ reduction, want float64 }{
		{0, 0}, {0.2, 0.25}, {0.5, 1}, {-1, -0.5}, {0.99, 99}, {1, 99}, {7, 99},
	} {
		if got := stats.Gain(tt.reduction); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("Gain(%g) = %g, want %g", tt.reduction, got, tt.want)
		}
	}
}

// A margin is a part, whatever speaks against an effect: a profile is read only with such.
func TestWiderByMoreThanAll(t *testing.T) {
	if e := (Effect{Reduction: 0.1, Lo: 0, Hi: 0.2}).Wider(2.5); e.Margin != 1 || e.Lo != -1 || e.Hi != 1 {
		t.Errorf("Wider(2.5) = %+v, want a margin of 1", e)
	}
}
