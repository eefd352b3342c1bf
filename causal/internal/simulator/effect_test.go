package simulator

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/otelprof/otelprof/causal/internal/ledger"
)

// compare returns how far experiments with delays are off at worst, signed, in points. Truth is nil
// if the formula is to be taken from runs in which the region is shorter.
func compare(t *testing.T, x *Experiment, truth func(s float64) float64) (worst float64) {
	t.Helper()
	for _, s := range speedups {
		h := ledger.Hypothesis{Region: Region, Speedup: s}
		shortened := x.Shortened(h)
		want := shortened
		if truth != nil {
			want = truth(s)
			if e := points(shortened - want); math.Abs(e) > gate/4. {
				t.Errorf("Shortened(%g) = %.2f %%, want %.2f %%: the program does not do what its formula says", s, points(shortened), points(want))
			}
		}
		overlap, setting, err := x.Overlap(h)
		if err != nil {
			t.Fatal(err)
		}
		worst = larger(worst, points(overlap-want))
		t.Logf("s = %.2f: %6.2f %% in truth, %6.2f overlap %+v", s, points(want), points(overlap), setting.Counts())
	}
	return worst
}

func (p *program) experiment(jitter float64) *Experiment {
	visits := int64(500)
	if jitter > 0 {
		visits = 2000
	}
	visits = max(500, visits/scale)
	c := Config{Seed: 1, Jitter: jitter, Pay: p.pay}
	return &Experiment{Program: p.run, Config: c, Warm: 100 * p.period, End: visits * p.period}
}

// TestTable holds predictions against the truth, and prints how far they are off.
func TestTable(t *testing.T) {
	exact, random := make([]float64, len(programs)), make([]float64, len(programs))
	t.Run("programs", func(t *testing.T) {
		for i, p := range programs {
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				exact[i] = compare(t, p.experiment(0), p.exact)
				check(t, "Overlap", exact[i], gate)
				random[i] = compare(t, p.experiment(.5), nil)
				check(t, "Overlap, jitter", random[i], scale*gate)
			})
		}
	})
	var b strings.Builder
	b.WriteString("Largest error, points:\n\n| program | overlap | overlap, ±50 % |\n|---|---|---|\n")
	for i, p := range programs {
		fmt.Fprintf(&b, "| %s | %.1f | %.1f |\n", p.name, tenths(exact[i]), tenths(random[i]))
	}
	t.Log(b.String())
}

func check(t *testing.T, what string, e, bound float64) {
	t.Helper()
	if !(math.Abs(e) <= bound) {
		t.Errorf("%s is off by %.2f points, want at most %g", what, e, bound)
	}
}

// tenths rounds, so that there is no -0.0.
func tenths(x float64) float64 { return math.Round(10*x)/10 + 0 }

func points(x float64) float64 { return 100 * x }

func larger(a, b float64) float64 {
	if math.Abs(b) > math.Abs(a) {
		return b
	}
	return a
}
