package causal

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
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
				e := summarize(alike(rng, tt.n, tt.r))
				if e.lo <= 0 && 0 <= e.hi {
					hits++
				}
				width += (e.hi - e.lo) / trials
			}
			share := float64(hits) / trials
			t.Logf("covered %.1f %%, mean width %.2f", 100*share, width)
			// Three standard errors of the share below 90 %.
			if share < 0.9-3*math.Sqrt(0.9*0.1/trials) {
				t.Errorf("the interval holds the truth in %.1f %% of cells, want 90 %%", 100*share)
			}
			// Nor is it empty talk: at most twice as wide as that of the median of a normal
			// distribution which is known.
			if known := 2 * 1.96 * 1.2533 * math.Sqrt((1+tt.r)/(1-tt.r)/(1-tt.r*tt.r)/float64(tt.n)); width > 2*known {
				t.Errorf("mean width %.3f, want at most twice %.3f", width, known)
			}
		})
	}
}

func TestMedianIntervalIsRepeatable(t *testing.T) {
	values := alike(rand.New(rand.NewPCG(3, 3)), 60, 0.4)
	lo, hi := medianInterval(values)
	for range 3 {
		if l, h := medianInterval(slices.Clone(values)); l != lo || h != hi {
			t.Fatalf("medianInterval = %g, %g, and then %g, %g", lo, hi, l, h)
		}
	}
	if m := median(values); lo > m || m > hi || lo == hi {
		t.Errorf("medianInterval = %g, %g, want the median %g in between", lo, hi, m)
	}
}

func TestMedianIntervalOfEqualValues(t *testing.T) {
	values := slices.Repeat([]float64{0.25}, 40)
	if lo, hi := medianInterval(values); lo != 0.25 || hi != 0.25 {
		t.Errorf("medianInterval = %g, %g, want 0.25 twice", lo, hi)
	}
}

func TestDrawnMedian(t *testing.T) {
	values := []float64{30, 10, 20, 40}
	order := []int{1, 2, 0, 3}
	for _, tt := range []struct {
		drawn []int
		want  float64
	}{
		{[]int{1, 1, 1, 1}, 25},
		{[]int{0, 4, 0, 0}, 10},
		{[]int{0, 2, 0, 2}, 25},
		{[]int{0, 0, 3, 1}, 20},
		{[]int{0, 1, 0, 3}, 40},
	} {
		if got := drawnMedian(values, order, tt.drawn); got != tt.want {
			t.Errorf("drawnMedian(%v) = %g, want %g", tt.drawn, got, tt.want)
		}
	}
}

func TestDependence(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	last := 0.
	for _, r := range []float64{0, 0.3, 0.6, 0.8} {
		blocks, first := 0., 0.
		const trials = 50
		for range trials {
			d := dependenceOf(alike(rng, 300, r))
			blocks += float64(d.block) / trials
			first += d.first / trials
			if d.block < 1 || d.block > 75 || d.widen() < 1 {
				t.Fatalf("r = %g: dependence %+v widens by %g", r, d, d.widen())
			}
		}
		if math.Abs(first-r) > 0.06 {
			t.Errorf("r = %g is seen as %.2f", r, first)
		}
		if blocks < last || r == 0 && blocks > 2 {
			t.Errorf("r = %g: blocks of %.1f after %.1f, want them to grow from about 1", r, blocks, last)
		}
		last = blocks
	}
	if d := dependenceOf([]float64{1, 1, 1, 1}); d.block != 1 || d.first != 0 {
		t.Errorf("dependence of equal values: %+v", d)
	}
}

func BenchmarkSummarize(b *testing.B) {
	for _, n := range []int{10, 50, 300} {
		b.Run(fmt.Sprintf("samples=%d", n), func(b *testing.B) {
			values := alike(rand.New(rand.NewPCG(1, 1)), n, 0.3)
			b.ReportAllocs()
			for b.Loop() {
				summarize(values)
			}
		})
	}
}
