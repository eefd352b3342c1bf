package causal

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestNeed(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	noisy := func(n int, deviation float64) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = 0.3 + deviation*rng.NormFloat64()
		}
		return values
	}
	for _, tt := range []struct {
		name   string
		values []float64
		want   need
	}{
		{"nothing", nil, needsMore},
		{"too few", noisy(leastToJudge-1, 1e-6), needsMore},
		{"quiet", noisy(leastToJudge, 0.002), settled},
		{"noisy", noisy(10, 0.05), needsMore},
		{"noisy, after a while", noisy(150, 0.05), settled},
		{"hopeless", noisy(12, 1), futile},
		{"all the same", []float64{.1, .1, .1, .1, .1, .1, .1, .1}, settled},
	} {
		if got := needOf(tt.values); got != tt.want {
			t.Errorf("%s: needOf = %d, want %d", tt.name, got, tt.want)
		}
	}
}

// An outlier does not keep a cell from being settled.
func TestNeedMindsNoOutlier(t *testing.T) {
	values := []float64{.1, .101, .099, .1, .102, .098, .1, .101, .099, .1, .1, 7}
	if got := needOf(values); got != settled {
		t.Errorf("needOf = %d, want settled", got)
	}
}

// The sequence holds the truth at all times at once, which is what makes it right to look
// again and again.
func TestSequenceHoldsAtAllTimes(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	const trials = 60
	missed, missedByInterval := 0, 0
	for range trials {
		var values []float64
		sum := 0.
		left, leftInterval := false, false
		for n := 1; n <= mostSamples; n++ {
			v := rng.NormFloat64()
			values = append(values, v)
			sum += v
			if n < leastToJudge || n%10 != 0 {
				continue
			}
			half := newSequence(values).halfWidth(n)
			left = left || sum/float64(n) > half || sum/float64(n) < -half
			usual := 1.96 * newSequence(values).deviation / math.Sqrt(float64(n))
			leftInterval = leftInterval || sum/float64(n) > usual || sum/float64(n) < -usual
		}
		if left {
			missed++
		}
		if leftInterval {
			missedByInterval++
		}
	}
	t.Logf("of %d: the sequence misses the truth at some time in %d, an interval for one time in %d", trials, missed, missedByInterval)
	if missed > trials/10 {
		t.Errorf("the sequence misses the truth in %d of %d, want at most a tenth", missed, trials)
	}
}
