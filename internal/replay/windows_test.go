package replay

import (
	"math"
	"testing"
)

// TestWindowsLeftOut holds what a study says against how many of its windows can be simulated.
func TestWindowsLeftOut(t *testing.T) {
	for name, tc := range map[string]struct {
		deviations []float64
		enough     bool
		missed     bool // the last one
		withheld   Withheld
		deviation  float64
	}{
		"all met":              {[]float64{.01, -.01, .02, .01, 0}, true, false, WithheldNone, .01},
		"four":                 {[]float64{.01, .01, .02, .01}, false, false, WithheldWindows, 0},
		"one of six missed":    {[]float64{.01, .01, .02, .01, .01, .2}, true, true, WithheldNone, .01},
		"too few met":          {[]float64{.01, .2, .02, .01, .2, .01}, false, false, WithheldDeviation, 0},
		"as many missed":       {[]float64{.02, .02, .02, .02, .02, .2, .2, .2, .2, math.NaN()}, true, true, WithheldNone, .2},
		"more missed than not": {[]float64{.02, .02, .02, .02, .02, .2, .2, .2, .2, .2, .2}, true, true, WithheldDeviation, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := NewStudy(StudyConfig{})
			if err != nil {
				t.Fatal(err)
			}
			region := Region{Name: "work"}
			q := question{region, 0.5, "done", Throughput}
			for _, d := range tc.deviations {
				s.windows = append(s.windows, &window{
					checks:  map[string]Check{"done": {Point: "done", Visits: 100, Period: 1e6, Deviation: d}},
					asked:   map[ask]bool{{region, 0.5}: true},
					effects: map[question]sample{q: {before: 1e6, after: 0.5e6, least: math.NaN(), most: math.NaN(), visits: 100}},
				})
			}
			r := s.Result()
			if got := r.Enough(); got != tc.enough {
				t.Errorf("enough: %t, want %t", got, tc.enough)
			}
			if got := s.Missed(); got != tc.missed {
				t.Errorf("the last one missed: %t, want %t", got, tc.missed)
			}
			if a := r.Answers[0]; a.Withheld != tc.withheld || a.Deviation != tc.deviation {
				t.Errorf("withheld %d with deviation %v, want %d with %v", a.Withheld, a.Deviation, tc.withheld, tc.deviation)
			}
		})
	}
}

// TestWindowsOfFewRecordings has the interval of windows that differ by their recordings come from these.
func TestWindowsOfFewRecordings(t *testing.T) {
	region := Region{Name: "work"}
	q := question{region, 0.5, "done", Throughput}
	width := func(of func(i int) *origin) float64 {
		s, err := NewStudy(StudyConfig{})
		if err != nil {
			t.Fatal(err)
		}
		for i, after := range []float64{.50, .51, .52, .60, .61, .62} {
			s.windows = append(s.windows, &window{
				origin:  of(i),
				checks:  map[string]Check{"done": {Point: "done", Visits: 100, Period: 1e6}},
				asked:   map[ask]bool{{region, 0.5}: true},
				effects: map[question]sample{q: {before: 1e6, after: after * 1e6, least: math.NaN(), most: math.NaN(), soon: math.NaN(), late: math.NaN(), visits: 100}},
			})
		}
		a := s.Result().Answers[0]
		return a.Hi - a.Lo
	}
	two := []*origin{new(origin), new(origin)}
	six := width(func(int) *origin { return nil })
	if few := width(func(i int) *origin { return two[i/3] }); few < 5*six {
		t.Errorf("interval of two recordings %v wide, of six %v: want it several times as wide", few, six)
	}
}
