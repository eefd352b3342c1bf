package replay

import (
	"math"
	"slices"
	"testing"

	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// TestWindowsLeftOut holds what a study says against how many of its windows can be simulated: of
// many that meet their recordings the others are left out, and else all count, with what they
// missed by added to the interval; so for regions, and for other builds.
func TestWindowsLeftOut(t *testing.T) {
	for name, tc := range map[string]struct {
		deviations []float64
		samples    int
		missed     bool // the last one
		withheld   Withheld
		doubt      Withheld
		deviation  float64
	}{
		"all met":              {[]float64{.01, -.01, .02, .01, 0}, 5, false, WithheldNone, WithheldNone, .01},
		"one":                  {[]float64{.01}, 1, false, WithheldWindows, WithheldNone, .01},
		"two":                  {[]float64{.01, .01}, 2, false, WithheldNone, WithheldNone, .01},
		"one of six missed":    {[]float64{.01, .01, .02, .01, .01, .2}, 5, true, WithheldNone, WithheldNone, .01},
		"few met":              {[]float64{.01, .2, .02, .01, .2, .01}, 6, false, WithheldNone, WithheldDeviation, .075},
		"as many missed":       {[]float64{.02, .02, .02, .02, .02, .2, .2, .2, .2, math.NaN()}, 5, true, WithheldNone, WithheldNone, .2},
		"more missed than not": {[]float64{.02, .02, .02, .02, .02, .2, .2, .2, .2, .2, .2}, 11, true, WithheldNone, WithheldDeviation, 1.3 / 11},
		"far off":              {[]float64{18, .6, math.NaN(), .01}, 1, false, WithheldDeviation, WithheldNone, 18}, // of another build
	} {
		for _, region := range []trace.Region{{Name: "work"}, {Scope: QuestionScope, Name: "a pool of 6"}} {
			t.Run(name+"/"+region.Name, func(t *testing.T) {
				s, err := NewStudy(StudyConfig{})
				if err != nil {
					t.Fatal(err)
				}
				q := question{ask: ask{region: region, speedup: 0.5}, point: "done", metric: Throughput}
				for _, d := range tc.deviations {
					s.windows = append(s.windows, &window{
						checks:  map[string]doubt.Check{"done": {Point: "done", Visits: 100, Period: 1e6, Deviation: d}},
						asked:   map[ask]bool{{region: region, speedup: 0.5}: true},
						effects: map[question]sample{q: {before: 1e6, after: 0.5e6, least: math.NaN(), most: math.NaN(), soon: math.NaN(), late: math.NaN(), visits: 100}},
					})
				}
				if got := s.Missed(); got != tc.missed {
					t.Errorf("the last one missed: %t, want %t", got, tc.missed)
				}
				a := s.Result().Answers[0]
				if tc.withheld == WithheldDeviation && region.Scope != QuestionScope { // bounds that need no replay
					if a.Withheld != WithheldNone || a.Doubt != WithheldDeviation || !a.Bounded || a.Lo != -doubt.ModelError || a.Hi != 0.5+doubt.ModelError {
						t.Errorf("%+v, want from 0 to all of the time", a)
					}
					return
				}
				if a.Withheld != tc.withheld || a.Doubt != tc.doubt || math.Abs(a.Deviation-tc.deviation) > 1e-9 || len(a.Samples) != tc.samples {
					t.Errorf("withheld %d, doubt %d, deviation %v of %d windows, want %d, %d, %v of %d",
						a.Withheld, a.Doubt, a.Deviation, len(a.Samples), tc.withheld, tc.doubt, tc.deviation, tc.samples)
				}
				if width := a.Hi - a.Lo; a.Withheld == WithheldNone && math.Abs(width-2*(doubt.ModelError+tc.deviation)) > 1e-9 {
					t.Errorf("interval %v wide, want twice %v and %v", width, doubt.ModelError, tc.deviation)
				}
			})
		}
	}
}

// TestShares bounds what regions save by how long their spans were open.
func TestShares(t *testing.T) {
	b := trace.NewRecorder(0, 1)
	b.Running(0, 1)
	b.Start(0, 1, 0)
	b.Running(0, 2)
	for i := range uint64(10) {
		at := int64(i) * 10 * ms
		b.Open(at, 1, 2*i+1, 0, trace.Region{Scope: "test", Name: "outer"})
		b.Open(at+ms, 1, 2*i+2, 2*i+1, trace.Region{Scope: "test", Name: "inner"})
		b.Open(at+2*ms, 2, 100+i, 0, trace.Region{Scope: "test", Name: "outer"}) // at the same time
		b.Close(at+3*ms, 2, 100+i)
		b.Close(at+4*ms, 1, 2*i+2)
		b.Close(at+8*ms, 1, 2*i+1)
		b.Visit(at+9*ms, 1, "done")
	}
	shares := sharesOfRegions(recorded(t, b, 100*ms))
	if got := shares[trace.Region{Scope: "test", Name: "inner"}]; math.Abs(got-0.3) > 1e-9 {
		t.Errorf("inner spans were open for %v of the time, want .3", got)
	}
	if got := shares[trace.Region{Scope: "test", Name: "outer"}]; math.Abs(got-0.8) > 1e-9 {
		t.Errorf("outer spans were open for %v of the time, want .8", got)
	}
}

// TestWindowsOfFewRecordings has the interval of windows that differ by their recordings come from
// these.
func TestWindowsOfFewRecordings(t *testing.T) {
	region := trace.Region{Name: "work"}
	q := question{ask: ask{region: region, speedup: 0.5}, point: "done", metric: Throughput}
	width := func(of func(i int) *trace.Origin, missed ...int) float64 {
		s, err := NewStudy(StudyConfig{})
		if err != nil {
			t.Fatal(err)
		}
		for i, after := range []float64{.50, .51, .52, .60, .61, .62} {
			deviation := 0.
			if slices.Contains(missed, i) {
				deviation = .031
			}
			s.windows = append(s.windows, &window{
				origin:  of(i),
				checks:  map[string]doubt.Check{"done": {Point: "done", Visits: 100, Period: 1e6, Deviation: deviation}},
				asked:   map[ask]bool{{region: region, speedup: 0.5}: true},
				effects: map[question]sample{q: {before: 1e6, after: after * 1e6, least: math.NaN(), most: math.NaN(), soon: math.NaN(), late: math.NaN(), visits: 100}},
			})
		}
		a := s.Result().Answers[0]
		return a.Hi - a.Lo
	}
	two := []*trace.Origin{new(trace.Origin), new(trace.Origin)}
	six := width(func(int) *trace.Origin { return nil })
	few := width(func(i int) *trace.Origin { return two[i/3] })
	if few < 5*six {
		t.Errorf("interval of two recordings %v wide, of six %v: want it several times as wide", few, six)
	}
	if missed := width(func(i int) *trace.Origin { return two[i/3] }, 1, 4); missed < few {
		t.Errorf("interval %v wide where a window of each recording misses it, else %v: want it as wide at least", missed, few)
	}
}

// A window that is far off was asked about slow-downs as well, other than that it missed.
func TestFarOffWindowsAreAsked(t *testing.T) {
	rec := loops(t, 40)
	s, err := NewStudy(StudyConfig{Speedups: []float64{0.5}})
	if err != nil {
		t.Fatal(err)
	}
	s.Hold([]float64{0.1}, rec.Regions)
	p := infer.NewProgram(rec, true)
	o := sim.Simulate(p, sim.Change{}, rec.End-rec.Start)
	w := &window{checks: map[string]doubt.Check{}, effects: map[question]sample{}, asked: map[ask]bool{}, harm: map[string]float64{}, regions: rec.Regions}
	s.leave(w, p, &o)
	if !w.asked[ask{rec.Regions[0], -0.1, true}] {
		t.Error("the slow-down was not asked")
	}
}

// A latency that grows may grow by any number of times.
func TestHullOfSlowerLatency(t *testing.T) {
	a := Answer{Metric: LatencyP90}
	if a.hull(-4, 2.8, 0); a.Lo > -2 { // 60 ms for 20
		t.Errorf("%+v, want -200 %% in it", a)
	}
}
