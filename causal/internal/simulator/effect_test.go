package simulator

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/otelprof/otelprof/causal/internal/ledger"
)

// speedups are carried by virtual time, all at once. Of paying, and of the region really being
// shorter, there is a run for each of a few.
var speedups = []float64{.1, .2, .25, .3, .4, .5, .6, .7, .75, .8, .9, 1}

func hypotheses(region ledger.RegionID) []ledger.Hypothesis {
	var all []ledger.Hypothesis
	for _, s := range speedups {
		all = append(all, ledger.Hypothesis{Region: region, Speedup: s})
	}
	return all
}

// predictions are how far they are off at worst, signed, in points.
type predictions struct{ virtual, overlap float64 }

// compare returns how far the predictions for a program are off. Truth is nil if the formula
// is to be taken from runs in which the region is shorter.
func compare(t *testing.T, x *Experiment, truth func(s float64) float64) (worst predictions) {
	t.Helper()
	virtual, _, err := x.Virtual(hypotheses(Region))
	if err != nil {
		t.Fatal(err)
	}
	for k, s := range speedups {
		h := ledger.Hypothesis{Region: Region, Speedup: s}
		want := math.NaN()
		if truth != nil {
			want = truth(s)
		}
		if few[s] {
			shortened := x.Shortened(h)
			if truth == nil {
				want = shortened
			} else if e := points(shortened - want); math.Abs(e) > gate/4. {
				t.Errorf("Shortened(%g) = %.2f %%, want %.2f %%: the program does not do what its formula says", s, points(shortened), points(want))
			}
			overlap, setting, err := x.Overlap(h)
			if err != nil {
				t.Fatal(err)
			}
			worst.overlap = larger(worst.overlap, points(overlap-want))
			t.Logf("s = %.2f: %6.2f %% in truth, %6.2f virtual, %6.2f overlap %+v", s, points(want), points(virtual[k]), points(overlap), setting.Counts())
		}
		if !math.IsNaN(want) {
			worst.virtual = larger(worst.virtual, points(virtual[k]-want))
		}
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

// TestTable holds both predictions against the truth, and prints how far they are off.
func TestTable(t *testing.T) {
	exact, random := make([]predictions, len(programs)), make([]predictions, len(programs))
	t.Run("programs", func(t *testing.T) {
		for i, p := range programs {
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				exact[i] = compare(t, p.experiment(0), p.exact)
				check(t, "Virtual", exact[i].virtual, gate)
				check(t, "Overlap", exact[i].overlap, gate)
				random[i] = compare(t, p.experiment(.5), nil)
				check(t, "Virtual, jitter", random[i].virtual, scale*p.order)
				check(t, "Overlap, jitter", random[i].overlap, scale*gate)
			})
		}
	})
	var b strings.Builder
	b.WriteString("Largest error, points:\n\n| program | virtual | overlap | virtual, ±50 % | overlap, ±50 % |\n|---|---|---|---|---|\n")
	for i, p := range programs {
		fmt.Fprintf(&b, "| %s | %.1f | %.1f | %.1f | %.1f |\n", p.name, tenths(exact[i].virtual), tenths(exact[i].overlap), tenths(random[i].virtual), tenths(random[i].overlap))
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
