package otelhdr

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

func TestQuantileRanks(t *testing.T) {
	for _, tt := range []struct {
		n         uint64
		p, tail   float64
		low, high uint64
	}{
		{7, 0.5, 0.005, 0, 8},  // 2^-7 is more than the tail
		{8, 0.5, 0.005, 1, 8},  // 2^-8 is not
		{10, 0.5, 0.05, 2, 9},  // P(B <= 1) = 11/1024, P(B <= 2) = 56/1024
		{20, 0.5, 0.05, 6, 15}, // tables of the sign test: 5 is critical, one-sided at 5 %
		{100, 0.99, 0.05, 97, 101},
		{0, 0.5, 0.05, 0, 1},
	} {
		if low, high := quantileRanks(tt.n, tt.p, tt.tail); low != tt.low || high != tt.high {
			t.Errorf("quantileRanks(%d, %v, %v) = %d, %d; want %d, %d", tt.n, tt.p, tt.tail, low, high, tt.low, tt.high)
		}
	}
}

// TestQuantileRanksOfMany holds the normal approximation against the sum that it stands for.
func TestQuantileRanksOfMany(t *testing.T) {
	for _, p := range []float64{0.001, 0.1, 0.5, 0.9, 0.999} {
		n := uint64(1.05 * manyRanks / (p * (1 - p)))
		for _, tail := range []float64{1e-6, 0.0025, 0.1} {
			low := lowerRank(n, p, tail)
			var below float64
			mean, deviation := float64(n)*p, math.Sqrt(float64(n)*p*(1-p))
			for k := math.Floor(mean - 12*deviation); k <= float64(low)-1; k++ {
				below += binomial(float64(n), k, p)
			}
			if below > tail || below < tail/2 {
				t.Errorf("lowerRank(%d, %v, %v) = %d, which has %v below", n, p, tail, low, below)
			}
		}
	}
}

// samples returns a snapshot of n values.
func samples(t *testing.T, n int, draw func() float64) *Snapshot {
	t.Helper()
	h := mustNew(t)
	for range n {
		h.Record(uint64(draw()))
	}
	return h.Snapshot(nil)
}

// TestJudgeIsSeldomWrong draws many pairs of samples with a known change: intervals have to hold
// it, whatever the distribution.
func TestJudgeIsSeldomWrong(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	shapes := map[string]func() float64{
		"log-normal": func() float64 { return 1e6 * math.Exp(random.NormFloat64()) },
		"Pareto":     func() float64 { return 1e6 * math.Pow(random.Float64(), -2) }, // without a mean
		"two peaks":  func() float64 { return 1e6 * (1 + 9*float64(random.IntN(3)/2) + 0.1*random.Float64()) },
	}
	for name, draw := range shapes {
		for _, percent := range []float64{50, 90} {
			const rounds, change = 400, 0.1
			wrong := 0
			for range rounds {
				j, err := Judge{Percent: percent, Confidence: 0.95}.Values(samples(t, 200, draw), samples(t, 300, func() float64 { return (1 + change) * draw() }))
				if err != nil {
					t.Fatal(err)
				}
				if change < j.Low || change > j.High {
					wrong++
				}
			}
			if wrong > rounds/20 {
				t.Errorf("%s, P%v: %d of %d intervals do not hold the change, want at most %d", name, percent, wrong, rounds, rounds/20)
			}
		}
	}
}

func TestJudgeVerdicts(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	around := func(middle float64) func() float64 {
		return func() float64 { return middle * math.Exp(0.1*random.NormFloat64()) }
	}
	base := samples(t, 20_000, around(1e6))
	for _, tt := range []struct {
		name      string
		after     *Snapshot
		margin    float64
		want      Verdict
		notSlower bool
	}{
		{"a tenth less", samples(t, 20_000, around(0.9e6)), 0.01, Faster, true},
		{"a tenth more", samples(t, 20_000, around(1.1e6)), 0.01, Slower, false},
		{"a tenth more within a margin", samples(t, 20_000, around(1.1e6)), 0.2, Same, true},
		{"the same again", samples(t, 20_000, around(1e6)), 0.02, Same, true},
		{"no margin", samples(t, 20_000, around(1e6)), 0, Undecided, false},
		{"too few", samples(t, 5, around(0.5e6)), 0.01, Undecided, false},
		{"none", new(Snapshot), 0.01, Undecided, false},
	} {
		j, err := Judge{Margin: tt.margin}.Values(base, tt.after)
		if err != nil || j.Verdict != tt.want || j.NotSlower() != tt.notSlower {
			t.Errorf("%s: %v, not slower %t, %v; want %s, %t", tt.name, j, j.NotSlower(), err, tt.want, tt.notSlower)
		}
	}
}

// TestJudgeZero checks that values of 0, of which there is no percentage, decide nothing.
func TestJudgeZero(t *testing.T) {
	zero, some := samples(t, 100, func() float64 { return 0 }), samples(t, 100, func() float64 { return 5 })
	for name, sides := range map[string][2]*Snapshot{"zero before": {zero, some}, "zero twice": {zero, zero}} {
		if j, err := (Judge{}).Values(sides[0], sides[1]); err != nil || j.Verdict != Undecided || !math.IsNaN(j.Change) {
			t.Errorf("%s: %v, %v; want undecided without a change", name, j, err)
		}
	}
	if j, err := (Judge{}).Values(some, zero); err != nil || j.Verdict != Faster {
		t.Errorf("zero after: %v, %v; want faster", j, err)
	}
}

// TestJudgeRuns has runs that are disturbed as a whole, so that the values of one depend on each
// other: values taken for independent would show a change that there is not.
func TestJudgeRuns(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	runs := func(n int) (each []*Snapshot) {
		for range n {
			disturbed := 1e6 * math.Exp(0.2*random.NormFloat64())
			each = append(each, samples(t, 500, func() float64 { return disturbed * (1 + 0.01*random.Float64()) }))
		}
		return each
	}
	const rounds = 100
	wrong := 0
	for range rounds {
		j, err := Judge{}.Runs(runs(12), runs(12))
		if err != nil {
			t.Fatal(err)
		}
		if j.Verdict != Undecided {
			wrong++
		}
	}
	if wrong > 3 {
		t.Errorf("%d of %d comparisons of the same show a change", wrong, rounds)
	}
	if j, err := (Judge{}).Runs(runs(8), runs(100)); err != nil || j.Verdict != Undecided || !math.IsInf(j.High, 1) {
		t.Errorf("eight runs: %v, %v; want no bound", j, err)
	}
	if j, err := (Judge{}).Runs(append(runs(2), new(Snapshot)), runs(1)); err != nil || j.Before != 2 {
		t.Errorf("a run without values: %v, %v; want 2 runs", j, err)
	}
}

func TestJudgePairs(t *testing.T) {
	var before, after []uint64
	for i := range uint64(8) {
		before, after = append(before, 1000*i+1000), append(after, 800*i+800)
	}
	j, err := Judge{}.Pairs(before, after)
	if err != nil || j.Verdict != Faster || math.Abs(j.Change+0.2) > 1e-9 {
		t.Errorf("eight pairs: %v, %v; want 20 %% faster", j, err)
	}
	if want := "faster: median -20.0% [-20.0%, -20.0%] at 99% confidence, from 8 pairs"; j.String() != want {
		t.Errorf("text %q, want %q", j, want)
	}
	if j, err := (Judge{}).Pairs(before[:7], after[:7]); err != nil || j.Verdict != Undecided {
		t.Errorf("seven pairs: %v, %v; want undecided", j, err)
	}
	if _, err := (Judge{}).Pairs(before, nil); !errors.Is(err, ErrConfig) {
		t.Errorf("no pairs: %v, want ErrConfig", err)
	}
}

func TestJudgeRejects(t *testing.T) {
	for _, j := range []Judge{{Percent: 100}, {Percent: -1}, {Percent: math.NaN()}, {Confidence: 1}, {Confidence: 0.2}, {Margin: -0.1}, {Margin: 1}, {Margin: math.NaN()}} {
		if _, err := j.Values(new(Snapshot), new(Snapshot)); !errors.Is(err, ErrConfig) {
			t.Errorf("%+v: %v, want ErrConfig", j, err)
		}
	}
}

func BenchmarkJudgeValues(b *testing.B) {
	h := mustNew(b)
	random := rand.New(rand.NewPCG(7, 8))
	for range 100_000 {
		h.Record(uint64(1e6 * math.Exp(random.NormFloat64())))
	}
	s := h.Snapshot(nil)
	for b.Loop() {
		if _, err := (Judge{}).Values(s, s); err != nil {
			b.Fatal(err)
		}
	}
}
