package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// alike returns n values around zero each of which resembles the one before it by r.
func alike(rng *rand.Rand, n int, r float64) []float64 {
	values := make([]float64, n)
	v := rng.NormFloat64() / math.Sqrt(1-r*r)
	for i := range values {
		v = r*v + rng.NormFloat64()
		values[i] = v
	}
	return values
}

// The gate of the design: the 95 % interval holds the truth in at least 90 % of cells, also
// of samples that resemble each other.
func TestIntervalCoverage(t *testing.T) {
	const trials = 200
	for _, tt := range []struct {
		n int
		r float64
	}{{6, 0}, {10, 0}, {19, 0}, {20, 0}, {50, 0}, {300, 0}, {20, 0.3}, {50, 0.3}, {300, 0.3}, {100, 0.6}, {300, 0.8}} {
		t.Run(fmt.Sprintf("n=%d,r=%g", tt.n, tt.r), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, uint64(tt.n)))
			hits, width := 0, 0.
			for range trials {
				e := Summarize(alike(rng, tt.n, tt.r))
				if e.Lo <= 0 && 0 <= e.Hi {
					hits++
				}
				width += (e.Hi - e.Lo) / trials
			}
			share := float64(hits) / trials
			t.Logf("covered %.1f %%, mean width %.2f", 100*share, width)
			// Three standard errors of the share below 90 %.
			if share < 0.9-3*math.Sqrt(0.9*0.1/trials) {
				t.Errorf("the interval holds the truth in %.1f %% of cells, want 90 %%", 100*share)
			}
			// Nor is it empty talk: at most twice as wide as that of the mean of a normal
			// distribution which is known.
			if known := 2 * 1.96 * math.Sqrt((1+tt.r)/(1-tt.r)/(1-tt.r*tt.r)/float64(tt.n)); width > 2*known {
				t.Errorf("mean width %.3f, want at most twice %.3f", width, known)
			}
		})
	}
}

func TestCorrelation(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for _, r := range []float64{0, 0.3, 0.6, 0.8} {
		first := 0.
		const trials = 50
		for range trials {
			first += correlation(alike(rng, 300, r)) / trials
		}
		if math.Abs(first-r) > 0.06 {
			t.Errorf("r = %g is seen as %.2f", r, first)
		}
	}
	if r := correlation([]float64{1, 1, 1, 1}); r != 0 {
		t.Errorf("correlation of equal values: %v", r)
	}
}

func BenchmarkSummarize(b *testing.B) {
	for _, n := range []int{10, 50, 300} {
		b.Run(fmt.Sprintf("samples=%d", n), func(b *testing.B) {
			values := alike(rand.New(rand.NewPCG(1, 1)), n, 0.3)
			b.ReportAllocs()
			for b.Loop() {
				Summarize(values)
			}
		})
	}
}
