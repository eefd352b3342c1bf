package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestPolygamma(t *testing.T) {
	const euler = 0.5772156649015329
	for _, tt := range []struct{ got, want float64 }{
		{digamma(1), -euler},
		{digamma(0.5), -euler - 2*math.Ln2},
		{digamma(20), 2.970523992242149},
		{trigamma(1), math.Pi * math.Pi / 6},
		{trigamma(0.5), math.Pi * math.Pi / 2},
		{trigamma(20), 0.05127082293520305},
		{trigamma(trigammaInverse(1e-3)), 1e-3},
		{trigamma(trigammaInverse(0.1)), 0.1},
		{trigamma(trigammaInverse(50)), 50},
	} {
		if math.Abs(tt.got/tt.want-1) > 1e-8 {
			t.Errorf("%v, want %v", tt.got, tt.want)
		}
	}
}

// drawn returns variances as they are measured with so many degrees of freedom.
func drawn(rng *rand.Rand, truly []float64, freedom int) (measured, df []float64) {
	for _, v := range truly {
		sum := 0.
		for range freedom {
			x := rng.NormFloat64()
			sum += x * x
		}
		measured, df = append(measured, v*sum/float64(freedom)), append(df, float64(freedom))
	}
	return measured, df
}

// TestModerate: equal variances come out nearly equal, and such as differ by much as they are.
func TestModerate(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	equal, apart, raw := 0., 0., 0.
	const tries = 300
	for range tries {
		measured, df := drawn(rng, []float64{4, 4, 4, 4, 4, 4}, 9)
		for i, v := range Moderate(measured, df) {
			equal += math.Abs(math.Log(v/4)) / (6 * tries)
			raw += math.Abs(math.Log(measured[i]/4)) / (6 * tries)
		}
		measured, df = drawn(rng, []float64{1, 100, 1e4, 1e6}, 9)
		for i, v := range Moderate(measured, df) {
			apart += math.Abs(math.Log(v/measured[i])) / (4 * tries)
		}
	}
	if equal > 0.6*raw {
		t.Errorf("equal variances are off by %.2f, want at most six tenths of the %.2f that they are measured off by", equal, raw)
	}
	if apart > 0.15 {
		t.Errorf("variances that differ are moved by %.2f, want next to nothing", apart)
	}
}

func TestModerateOfFew(t *testing.T) {
	for _, tt := range [][2][]float64{
		{nil, nil},
		{{1, 5}, {9, 9}},
		{{1, 5, 0, 0}, {9, 9, 9, 9}},
		{{1, 5, 7}, {9, 9, 0}},
	} {
		for i, v := range Moderate(tt[0], tt[1]) {
			if v != tt[0][i] {
				t.Errorf("Moderate(%v, %v)[%d] = %v, want it as it is", tt[0], tt[1], i, v)
			}
		}
	}
}
