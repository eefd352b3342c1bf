package fleet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/stats"
)

// promMatrix writes how series rose as Prometheus does.
func promMatrix(list []promSeries) string {
	type line struct {
		Metric map[string]string `json:"metric"`
		Values [][2]any          `json:"values"`
	}
	lines := make([]line, len(list))
	for i, s := range list {
		lines[i].Metric = s.labels
		for _, v := range s.values {
			lines[i].Values = append(lines[i].Values, [2]any{v.at, fmt.Sprint(v.value)})
		}
	}
	text, err := json.Marshal(map[string]any{"status": "success", "data": map[string]any{"resultType": "matrix", "result": lines}})
	if err != nil {
		panic(err) // plain values
	}
	return string(text)
}

// slowed are the counters of one instance in which each ms taken from price costs leverage, by
// steps of 10 s; anew is the step before which the instance has started again. A checkout takes
// base, of which price is 5 ms.
func slowed(rng *rand.Rand, name string, base, leverage float64, steps, anew int) (rising []promSeries) {
	const visits, own = 100, 0.005
	for _, level := range []float64{0, 0.1, 0.3} {
		cell := []string{"job", "shop", promInstance, name, promMode, "slowdown", promPlan, "p", promPoint, "checkout", promSpeedup, fmt.Sprint(level), promRegion, "price", promScope, "shop"}
		all := []promSeries{promLine(promProgress, 0, cell...), promLine(promEffective, 0, cell...), promLine(promDelay, 0, cell...), promLine(promOwn, 0, cell...)}
		for step := range steps {
			if step == anew {
				for i := range all {
					all[i].value = 0
				}
			}
			held := 0.0001 + level*own // a placebo sleeps, too
			period := base*(1+0.005*rng.NormFloat64()) + leverage*held
			for i, rise := range []float64{visits, visits * period, visits * held, visits * own} {
				all[i].value += rise
				all[i].values = append(all[i].values, promValue{float64(1000 + 10*step), all[i].value})
			}
		}
		rising = append(rising, all...)
	}
	return rising
}

// What each ms is worth follows from the counters of a fleet, whatever its instances have computed.
func TestPrometheusSlopes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, tt := range []struct {
		instances, steps, anew int
		known                  bool
	}{
		{2, 20, -1, true},
		{1, 20, 12, true},
		{3, 3, -1, true},
		{1, 3, -1, false},
	} {
		const leverage = 2.5
		f := &fakePrometheus{times: []promSeries{promLine("", 1, promPlan, "p")}}
		for i := range tt.instances {
			f.rising = append(f.rising, slowed(rng, fmt.Sprint(i), 0.020*float64(i+1), leverage, tt.steps, tt.anew)...)
		}
		f.series = f.rising
		p, errout := profileFrom(t, f, Prometheus{})
		if errout != "" {
			t.Fatal(errout)
		}
		if len(p.Curves) != 1 {
			t.Fatalf("%+v: %d curves", tt, len(p.Curves))
		}
		got, stdErr, known := p.Curves[0].Leverage()
		if known != tt.known {
			t.Fatalf("%+v: known %v", tt, known)
		}
		if known && (math.Abs(got-leverage) > 4*stdErr || stdErr > leverage/4 || stdErr == 0) {
			t.Errorf("%+v: leverage %.2f ±%.2f, want %g", tt, got, stdErr, leverage)
		}
		if own := p.Curves[0].Own; own != 5*time.Millisecond {
			t.Errorf("%+v: own time %v, want 5ms", tt, own)
		}
	}
}

// A Prometheus is asked about so many instances at once as one answer has room for, of the plan
// alone, and what no question is about is said.
func TestPrometheusIsAskedByPages(t *testing.T) {
	size := func(name string, n float64) promSeries { return promLine("", n, promInstance, name) }
	f := &fakePrometheus{
		times: []promSeries{promLine("", 1, promPlan, "p.1")},
		sizes: []promSeries{size("d", pageSeries+1), size("b:1", 3000), size("a.x", 1000), size("c", 1), size("e", pageSeries), size("f", pageSeries), size("g", pageSeries), size("h", 0)},
	}
	f.rising = slowed(rand.New(rand.NewPCG(7, 8)), "c", 0.020, 1, 20, -1)
	for _, one := range f.rising {
		one.labels[promPlan] = "p.1"
	}
	f.series = f.rising
	p, errout := profileFrom(t, f, Prometheus{})
	if errout != "" {
		t.Fatal(errout)
	}
	var asked []string
	for _, q := range f.queries {
		if _, of, ok := strings.Cut(q, `,instance=~`); ok {
			asked = append(asked, strings.TrimSuffix(of, "}[1h:10s]"))
			if !strings.Contains(q, `,otelprof_causal_plan_hash=~"|p\\.1",`) {
				t.Errorf("query %s: want it to be about the plan", q)
			}
		}
	}
	if diff := cmp.Diff([]string{`"a\\.x|b:1"`, `"c"`, `"e"`, `"f"`, `"h"`}, asked); diff != "" {
		t.Errorf("instances that are asked about (-want +got):\n%s", diff)
	}
	if notes := strings.Join(p.Notes, "\n"); !strings.Contains(notes, "how the counters of 2 instances rose is left out, beyond 4000 series of one and 16000 in all: d, g;") {
		t.Errorf("notes %q", notes)
	}
}

// Whether spans of a region wait inside is what the instance says that has them. Where none does,
// an answer is a bound.
func TestPrometheusWaits(t *testing.T) {
	for _, tt := range []struct {
		name    string
		waits   map[string]float64
		bounded bool
	}{
		{"not known", nil, true},
		{"no", map[string]float64{"inside": 0, "awaited": 0, "processor": 0}, false},
		{"inside", map[string]float64{"inside": 1, "awaited": 0, "processor": 0}, true},
	} {
		f := &fakePrometheus{times: []promSeries{promLine("", 1, promPlan, "p")}}
		f.rising = slowed(rand.New(rand.NewPCG(5, 6)), "a", 0.020, 1, 20, -1)
		f.series = slices.Clone(f.rising)
		for kind, part := range tt.waits {
			f.series = append(f.series, promLine(promWaits, part, "job", "shop", promInstance, "a", promMode, "slowdown", promPlan, "p", promWait, kind, promRegion, "price", promScope, "shop"))
		}
		p, errout := profileFrom(t, f, Prometheus{})
		if errout != "" {
			t.Fatal(errout)
		}
		if e := p.Curves[0].Effects[0]; e.Speedup != profile.Near || e.Bounded != tt.bounded || p.Curves[0].Inside != tt.bounded {
			t.Errorf("%s: %+v, want bounded %v", tt.name, e, tt.bounded)
		}
	}
}

// Where a part of the delays was left out near deadlines, as many calls may succeed that fail: that
// is in an answer from counters as in one of a process.
func TestPrometheusDeadlines(t *testing.T) {
	hi := func(near float64) float64 {
		f := &fakePrometheus{times: []promSeries{promLine("", 1, promPlan, "p")}}
		f.rising = slowed(rand.New(rand.NewPCG(5, 6)), "a", 0.020, 1, 20, -1)
		f.series = append(slices.Clone(f.rising), promLine(promWaits, near, "job", "shop", promInstance, "a", promMode, "slowdown", promPlan, "p", promWait, "deadlines", promRegion, "price", promScope, "shop"))
		p, errout := profileFrom(t, f, Prometheus{})
		if errout != "" {
			t.Fatal(errout)
		}
		return p.Curves[0].Effects[0].Hi
	}
	if none, half := hi(0), hi(0.5); half < none+0.5*(1-none) || half > none+0.6*(1-none) {
		t.Errorf("half of the delays left out: at most %.4f in place of %.4f, want half of the rest more, and what is hidden", half, none)
	}
}

func TestPrometheusSlopesArePrinted(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	f := &fakePrometheus{rising: slowed(rng, "a", 0.020, 2, 20, -1), times: []promSeries{promLine("", 1, promPlan, "p")}}
	f.series = f.rising
	p, errout := profileFrom(t, f, Prometheus{})
	if errout != "" {
		t.Fatal(errout)
	}
	var out bytes.Buffer
	if err := p.WriteTable(&out); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "each ms taken from price takes 2 ms (±0.") {
		t.Errorf("want what each ms is worth:\n%s", text)
	}
}

// A region that hardly ran has no slope, and one that no placebo is of has none either.
func TestSlopesOfLittle(t *testing.T) {
	rising := func(visits ...float64) history {
		h := history{}
		for i, v := range visits {
			h[float64(i)] = &counts{visits: v, effective: v, delay: v / 1e9, own: v}
		}
		return h
	}
	for name, histories := range map[string]map[float64]history{
		"no placebo": {0.1: rising(10, 20, 30)},
		"no visit":   {0: rising(0, 0, 0), 0.1: rising(10, 20, 30)},
		"no arm":     {0: rising(10, 20, 30)},
	} {
		var c profile.Curve
		slopesOf(map[string]map[float64]history{"a": histories}).setOn(&c, nil)
		if len(c.Slopes) != 0 || len(c.Effects) == 0 || c.Effects[0].Known() {
			t.Errorf("%s: slopes %+v, effects %+v", name, c.Slopes, c.Effects)
		}
	}
	held := func(delay float64) history {
		return history{1: {visits: 10, effective: 1, delay: delay, own: 1}, 2: {visits: 20, effective: 2 + delay, delay: delay, own: 2}}
	}
	if s := slopesOf(map[string]map[float64]history{"a": {0: held(0), 0.1: held(0)}}); len(s.found) != 0 {
		t.Errorf("nothing taken: %+v", s.found)
	}
}

// A region that is slower by a tenth has a fifth less of its own time for each visit, as work goes
// elsewhere; of two instances, each against its own placebos.
func TestRerouted(t *testing.T) {
	all, _ := total([]block{
		{0, 0, stretch{slowed: counts{visits: 200, delay: 8, own: 80}, placed: counts{visits: 100, own: 50}}},
		{0, 1, stretch{slowed: counts{visits: 100, delay: 16, own: 160}, placed: counts{visits: 100, own: 200}}},
	})
	if got := all.Rerouted(); math.Abs(got+2) > 1e-9 {
		t.Errorf("%v, want -2", got)
	}
	if got := (stats.Contrast{}).Rerouted(); got != 0 {
		t.Errorf("%v of nothing", got)
	}
}
