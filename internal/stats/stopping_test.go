package stats

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
		want   Need
	}{
		{"nothing", nil, NeedsMore},
		{"too few", noisy(LeastToJudge-1, 1e-6), NeedsMore},
		{"quiet", noisy(LeastToJudge, 0.002), Settled},
		{"noisy", noisy(10, 0.05), NeedsMore},
		{"noisy, after a while", noisy(150, 0.05), Settled},
		{"hopeless, soon", noisy(12, 1), NeedsMore}, // a deviation of few samples may be chance
		{"hopeless", noisy(sequenceAt, 1), Futile},
		{"all the same", []float64{.1, .1, .1, .1, .1, .1, .1, .1}, Settled},
	} {
		if got := NeedOf(tt.values); got != tt.want {
			t.Errorf("%s: NeedOf = %d, want %d", tt.name, got, tt.want)
		}
	}
}

// What lies far out keeps a cell open: it may come in bursts.
func TestNeedMindsBursts(t *testing.T) {
	values := []float64{.1, .101, .099, .1, .102, .098, .1, .101, .099, .1, .1, .3}
	if got := NeedOf(values); got != NeedsMore {
		t.Errorf("NeedOf = %d, want that it needs more", got)
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
		for n := 1; n <= MostSamples; n++ {
			v := rng.NormFloat64()
			values = append(values, v)
			sum += v
			if n < LeastToJudge || n%10 != 0 {
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
