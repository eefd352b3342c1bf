package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
)

// simulated are pairs of runs on a machine that disturbs both of a pair alike by up to 20 %, and
// each by itself by noise. The new version of a region takes so much longer.
func simulated(seed uint64, pairs int, noise float64, slower map[string]float64) (all duets) {
	r := rand.New(rand.NewPCG(seed, 2))
	regions := []string{"a", "b", "c", "d", "e"}
	run := func(disturbed float64, slower map[string]float64) sample {
		s := sample{}
		for _, name := range regions {
			s[cell{"shop", name, "mean"}] = 1e5 * disturbed * (1 + slower[name]) * (1 + noise*r.NormFloat64())
			s[cell{"shop", name, "p50"}] = 9e4 * disturbed * (1 + slower[name]) * (1 + noise*r.NormFloat64())
			s[cell{"shop", name, "rate"}] = 1e6 * disturbed * (1 + noise*r.NormFloat64())
		}
		return s
	}
	for range pairs {
		disturbed := 1 + 0.2*r.Float64()
		all.both = append(all.both, duet{run(disturbed, nil), run(disturbed, slower)})
		disturbed = 1 + 0.2*r.Float64()
		all.same = append(all.same, duet{run(disturbed, nil), run(disturbed, nil)})
	}
	return all
}

// Of two equal versions hardly any check fails, and a region that is 3 % slower is found, and no
// other.
func TestJudge(t *testing.T) {
	const checks = 200
	falseAlarms, found, blamed := 0, 0, 0
	for seed := range uint64(checks) {
		if r := judge(simulated(seed, usualPairs, 0.02, nil), nil); r.status() == exitFailed {
			falseAlarms++
		}
		r := judge(simulated(seed, usualPairs, 0.02, map[string]float64{"c": 0.03}), nil)
		for _, f := range r.Failed {
			if f.Row.Region != "c" {
				blamed++
			}
		}
		if r.status() == exitFailed {
			found++
		}
	}
	t.Logf("of %d checks: %d false alarms, %d found what is 3 %% slower, %d others blamed", checks, falseAlarms, found, blamed)
	if most := 3; falseAlarms > most || blamed > most || found < checks*95/100 { // of which one is to be expected
		t.Errorf("%d false alarms, %d of %d found, %d others blamed", falseAlarms, found, checks, blamed)
	}
}

// The distribution is Wilcoxon's: of three values the sums 0 to 6 have 1, 1, 1, 2, 1, 1, 1 of 8
// ways.
func TestSignedRank(t *testing.T) {
	for _, tt := range []struct {
		n           int
		probability float64
		want        int
	}{{3, 0.124, -1}, {3, 0.125, 0}, {3, 0.5, 2}, {3, 0.625, 3}, {10, 0.025, 8}, {20, 0.025, 52}, {50, 0.005, 373}} { // the last three as in printed tables
		if got := signedRankQuantile(tt.n, tt.probability); got != tt.want {
			t.Errorf("signedRankQuantile(%d, %g) = %d, want %d", tt.n, tt.probability, got, tt.want)
		}
	}
	center, lo, hi := hodgesLehmann([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 1000}, 0.9)
	if center < 5 || center > 7 || lo < 1 || hi > 600 || lo > center || hi < center {
		t.Errorf("center %g (%g .. %g): one value of ten moves it", center, lo, hi)
	}
	if _, lo, hi := hodgesLehmann([]float64{1, 2, 3}, 0.95); !math.IsInf(lo, -1) || !math.IsInf(hi, 1) {
		t.Errorf("three values have the interval %g .. %g at 95 %%", lo, hi)
	}
}

// A condition fails where the whole interval is beyond its limit, and is not clear where a part is.
func TestRules(t *testing.T) {
	runs := simulated(1, usualPairs, 0.003, map[string]float64{"b": 0.05})
	for text, want := range map[string]int{
		"mean of b > +3 %":   exitFailed,
		"mean of b > +10 %":  0,
		"mean of b > 5%":     exitUnclear,
		"p50 of ? > +2.5 %":  exitFailed,
		"mean of a > +2 %":   0,
		"rate of a < -3 %":   0,
		"p99.9 of a > +1 %":  exitUnclear, // too few spans
		"mean of zzz > +1 %": exitUnclear,
	} {
		r, err := parseRule(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := judge(runs, []rule{r}); got.status() != want {
			t.Errorf("%q: status %d, want %d: %v", text, got.status(), want, got.outcome())
		}
	}
	for _, text := range []string{"", "mean of a", "p98 of a > 1 %", "mean of a > x %", "mean a > 1 %", "mean of  > 1 %"} {
		if r, err := parseRule(text); err == nil {
			t.Errorf("%q is the condition %+v, want an error", text, r)
		}
	}
	if got := judge(duets{}, nil); got.status() != exitUnclear {
		t.Errorf("nothing measured: status %d, want %d", got.status(), exitUnclear)
	}
}

// A pattern makes as many comparisons as it has regions, and all of them hold together.
func TestRulesOfManyRegions(t *testing.T) {
	width := func(text string) float64 {
		r, err := parseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		row := judge(simulated(1, usualPairs, 0.02, nil), []rule{r}).Rows[0]
		return row.Hi - row.Lo
	}
	if one, five := width("mean of a > 0 %"), width("mean of * > 0 %"); !(five > one) {
		t.Errorf("the interval of one of five comparisons is %v wide, that of one alone %v", five, one)
	}
}

// What follows a package are the arguments of both programs.
func TestArguments(t *testing.T) {
	for text, want := range map[string]string{
		"./cmd/bench": "./cmd/bench []", "./cmd/server -- -listen :1": "./cmd/server [-listen :1]", "./cmd/server x": "./cmd/server [x]",
		"-base a -new b -- -listen :1":      " [-listen :1]",
		"-base a x -new b -- -listen -- :1": " [x -listen -- :1]",
	} {
		var got string
		c := &command.Command{Name: "check", Run: func(c *command.Call) error {
			o := options{call: c, pairs: usualPairs, each: time.Second, format: "text"}
			c.StringVar(&o.base, "base", "", "")
			c.StringVar(&o.new, "new", "", "")
			if err := c.ParseArgs(0, -1); err != nil {
				return err
			}
			_, err := o.check()
			got = fmt.Sprint(o.pkg, " ", o.args)
			return err
		}}
		if err := c.Execute(nil, strings.Fields(text), nil, io.Discard, io.Discard); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
}

// So few pairs cannot tell any of many rows from chance: what seems slower is not clear, and no
// failure.
func TestFewPairs(t *testing.T) {
	slower := map[string]float64{"c": 0.5}
	for pairs, want := range map[int]int{leastPairs: exitUnclear, usualPairs: exitFailed} {
		r := judge(simulated(1, pairs, 0.003, slower), nil)
		if got := r.status(); got != want || len(r.Failed)+len(r.Unclear) != 2 {
			t.Errorf("%d pairs: status %d, want %d, of the mean and the median of one region: %v", pairs, got, want, r.outcome())
		}
	}
}

// The rate is spans in a second: fewer where each takes longer.
func TestRate(t *testing.T) {
	var runs duets
	for range usualPairs {
		pair := duet{sample{cell{"", "a", "rate"}: 1e6}, sample{cell{"", "a", "rate"}: 1.25e6}}
		runs.both = append(runs.both, pair)
		runs.same = append(runs.same, duet{pair.first, pair.first})
	}
	row := judge(runs, nil).Rows[0]
	if row.Base != 1000 || row.New != 800 || math.Abs(row.Change+0.2) > 1e-9 || row.Verdict != "slower" || row.Lo > row.Hi {
		t.Errorf("row %+v, want 1000 and 800 a second", row)
	}
}

func TestWrite(t *testing.T) {
	r := judge(simulated(3, usualPairs, 0.003, map[string]float64{"b": 0.05}), nil)
	r.What, r.Pairs, r.EachNs = "base one, new two", usualPairs, 2e9
	for format, want := range map[string][]string{
		"text":     {"base one, new two; 40 pairs, both at once, 2s each", "b       mean    ", "FAIL: mean of b is slower: +"},
		"markdown": {"| `b` | mean | ", "- FAIL: mean of b is slower: +"},
		"json":     {`"failed": [`, `"verdict": "slower"`},
	} {
		var out bytes.Buffer
		if err := formats[format](&out, r); err != nil {
			t.Fatal(err)
		}
		for _, text := range want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%s: has no %q:\n%s", format, text, &out)
			}
		}
		if format == "json" {
			var again report
			if err := json.Unmarshal(out.Bytes(), &again); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(r, again); diff != "" {
				t.Errorf("JSON (-want +got):\n%s", diff)
			}
		}
	}
	dir := t.TempDir()
	if err := writeBench(dir, simulated(3, 6, 0.003, nil)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"base.txt", "new.txt"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if n := strings.Count(string(text), "BenchmarkRegion/a/mean 1 "); err != nil || n != 6 {
			t.Errorf("%s: %d lines of a, %v; want 6:\n%s", name, n, err, text)
		}
	}
}

func FuzzRule(f *testing.F) {
	for _, text := range []string{"p99 of POST /orders > +5 %", "rate of x < -3%", "mean of * > 1.5 %", "mean of  of > 1 %"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseRule(text)
		if err == nil && (r.metric == "" || r.region == "" || math.IsNaN(r.limit) || math.IsInf(r.limit, 0)) {
			t.Errorf("%q: %+v", text, r)
		}
	})
}
