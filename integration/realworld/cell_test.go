package main

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/integration/internal/answers"
	"github.com/otelprof/otelprof/internal/naming/withheldcode"
)

func TestJudge(t *testing.T) {
	p := program{name: "p", progress: "root", regions: []region{{span: "SQL SELECT", delay: "d"}, {span: "GetDriver", delay: "e"}}}
	curve := func(span, progress string, metric profile.Metric) profile.Curve {
		return profile.Curve{
			Mode: profile.ModeReplay, Region: profile.Region{Name: span}, Progress: progress, Metric: metric,
			Effects: []profile.Effect{{Speedup: 0.25, Reduction: 0.24, Lo: 0.22, Hi: 0.26}, {Speedup: 0.5, Withheld: profile.Withheld{Code: withheldcode.Other, Text: "too few"}}},
		}
	}
	prof := profile.Profile{Curves: []profile.Curve{
		curve("SQL SELECT", "another", profile.MetricThroughput), curve("SQL SELECT", "root", profile.MetricLatencyP50),
		curve("SQL SELECT", "root", profile.MetricThroughput),
	}}
	prof.Curves[0].Effects[0].Reduction = 1
	actual := map[question][]float64{
		{p.regions[0], 0.25}: {24, 26, 25}, {p.regions[0], 0.5}: {30},
		{p.regions[1], 0.25}: {0, 1}, {p.regions[1], 0.5}: {-1},
	}
	cells := judge(p, stock, profile.ModeReplay, prof, actual, []float64{0.25, 0.5})
	var lines []string
	for _, c := range cells {
		lines = append(lines, c.line())
	}
	lines = append(lines, summary(p.name, stock, cells))
	want := []string{
		`accuracy p mode=replay build=go processes=1 region="SQL SELECT" speedup=0.25 predicted=24.00 lo=22.00 hi=26.00 actual=25.00 error=-1.00`,
		`accuracy p mode=replay build=go processes=1 region="SQL SELECT" speedup=0.50 withheld="too few" actual=30.00`,
		`accuracy p mode=replay build=go processes=1 region=GetDriver speedup=0.25 withheld="the profile has no such curve" actual=0.50`,
		`accuracy p mode=replay build=go processes=1 region=GetDriver speedup=0.50 withheld="the profile has no such curve" actual=-1.00`,
		`accuracy SUMMARY p mode=replay build=go cells=4 withheld=3 mean_abs_error=1.00 worst=1.00 coverage=1.00`,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("lines differ, -want +got:\n%s", diff)
	}
}

func TestRank(t *testing.T) {
	of := func(span string, predicted, actual float64, withheld string) cell {
		return cell{program: "p", mode: answers.ModeCombined, build: stock, limits: defaultLimits, question: question{region{span: span}, 0.5}, predicted: predicted, actual: actual, withheld: withheld}
	}
	for _, tt := range []struct {
		cells []cell
		want  string
	}{
		{[]cell{of("a", 4, 10, ""), of("b", 9, 20, "")}, "first=b actual=20.00 best=b actual=20.00 holds=yes"},
		{[]cell{of("a", 4, 20, ""), of("b", 9, 10, "")}, "first=b actual=10.00 best=a actual=20.00 holds=no"},
		{[]cell{of("a", 4, 20, ""), of("b", 9, 19.5, "")}, "first=b actual=19.50 best=a actual=20.00 holds=yes"},
		{[]cell{of("a", -4, 20, ""), of("b", 0, 10, "why")}, "first=a actual=20.00 best=a actual=20.00 holds=yes"},
		{[]cell{of("a", 0, 20, "why")}, "withheld=all best=a actual=20.00 holds=no"},
	} {
		if got, want := rank(tt.cells), "rank p mode=combined build=go limits=default "+tt.want; got != want {
			t.Errorf("rank = %s\nwant   %s", got, want)
		}
	}
}

func TestClaims(t *testing.T) {
	at := func(mode profile.Mode, lo, hi, actualLo, actualHi float64) cell {
		return cell{mode: mode, lo: lo, hi: hi, predicted: (lo + hi) / 2, actual: (actualLo + actualHi) / 2, actualLo: actualLo, actualHi: actualHi}
	}
	for _, tt := range []struct {
		cell  cell
		holds bool
	}{
		{at(profile.ModeSlowdown, 0, 10, 9, 12), true},
		{at(profile.ModeSlowdown, 0, 10, 11, 12), false},
		{at(profile.ModeSlowdown, 5, 10, 1, 2), true},
		{at(answers.ModeCombined, 5, 10, 12, 14), true},
		{at(answers.ModeCombined, 5, 10, 14, 15), false},
		{at(answers.ModeCombined, 5, 10, 1, 1.5), false},
		{at(profile.ModeOverlap, 5, 10, 14, 15), false},
		{at(profile.ModeOverlap, 5, 10, 8, 9), true},
		{cell{mode: answers.ModeCombined, withheld: "why", actualLo: 20}, true},
		{at(profile.ModeReplay, 0, 20, 12, 14), true},
		{at(profile.ModeReplay, 0, 10, 11, 12), false},
		{cell{mode: profile.ModeReplay, build: byTheTool, lo: 0, hi: 20, predicted: 10, actualLo: 14, actualHi: 16}, false},
		{cell{mode: profile.ModeReplay, build: stock, lo: 0, hi: 20, predicted: 10, actualLo: 14, actualHi: 16}, true},
		{cell{mode: profile.ModeReplay, withheld: "why", actualLo: 6}, false},
		{cell{mode: profile.ModeReplay, withheld: "why", actualLo: 1, actualHi: 9}, true},
	} {
		if err := tt.cell.claims(); (err == nil) != tt.holds {
			t.Errorf("%+v: %v, want that it holds: %v", tt.cell, err, tt.holds)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, tc := range []struct {
		values              []float64
		middle, least, most float64
	}{
		{[]float64{3}, 3, 3, 3},
		{[]float64{5, 1, 3, 2}, 2.5, 1, 5},
	} {
		if middle, least, most := median(tc.values); middle != tc.middle || least != tc.least || most != tc.most {
			t.Errorf("median(%v) = %v, %v, %v; want %v, %v, %v", tc.values, middle, least, most, tc.middle, tc.least, tc.most)
		}
	}
	if middle, _, _ := median(nil); !math.IsNaN(middle) {
		t.Errorf("median of nothing = %v, want NaN", middle)
	}
}
