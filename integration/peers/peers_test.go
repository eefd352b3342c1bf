package main

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/otelprof/otelprof/internal/testutil/thorough"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestQuantile(t *testing.T) {
	for _, tc := range []struct {
		v    []float64
		q    float64
		want float64
	}{
		{[]float64{7}, 0.5, 7},
		{[]float64{3, 1, 2}, 0.5, 2},
		{[]float64{4, 1, 3, 2}, 0.5, 2.5},
		{[]float64{5, 4, 3, 2, 1}, 0.25, 2},
		{[]float64{5, 4, 3, 2, 1}, 0, 1},
		{[]float64{5, 4, 3, 2, 1}, 1, 5},
	} {
		if got := quantile(tc.v, tc.q); got != tc.want {
			t.Errorf("quantile(%v, %v) = %v, want %v", tc.v, tc.q, got, tc.want)
		}
	}
	if got := quantile(nil, 0.5); !math.IsNaN(got) {
		t.Errorf("quantile(nil, 0.5) = %v, want NaN", got)
	}
}

func TestTargetHolds(t *testing.T) {
	good := result{delta: cost{ns: 300, allocs: 2.2, bytes: 250}, x: 2.5}
	for _, tc := range []struct {
		name   string
		target target
		change func(*result)
		want   string
	}{
		{"all kept", target{deltaNs: 400, deltaAllocs: 2, deltaBytes: 300, x: 2}, func(*result) {}, "yes"},
		{"too slow", target{deltaNs: 250}, func(*result) {}, "no"},
		{"too many allocations", target{deltaAllocs: 1}, func(*result) {}, "no"},
		{"too many bytes", target{deltaBytes: 200}, func(*result) {}, "no"},
		{"not cheap enough", target{x: 3}, func(*result) {}, "no"},
		{"sessions lost", target{x: 2}, func(r *result) { r.dropped = 0.02 }, "no"},
		{"nothing promised", target{}, func(*result) {}, "-"},
	} {
		r := good
		tc.change(&r)
		if got := tc.target.holds(r); got != tc.want {
			t.Errorf("%s: %v holds %q, want %q", tc.name, tc.target, got, tc.want)
		}
	}
}

// TestEveryFigureRuns measures too briefly for the numbers to mean anything; without -long, some
// figures.
func TestEveryFigureRuns(t *testing.T) {
	var out bytes.Buffer
	only := ""
	some := raced || !*thorough.Rounds
	if some {
		only = "^(span|root|hdr|otel)_"
	}
	if err := run(&out, 2, time.Millisecond, only, ""); err != nil {
		t.Fatal(err)
	}
	if some {
		if n := strings.Count(out.String(), "ratio span_"); n == 0 || strings.Contains(out.String(), "NaN") {
			t.Errorf("%d figures of spans:\n%s", n, &out)
		}
		return
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	sizes := 0
	for _, g := range growths {
		sizes += len(g.sizes)
	}
	if want := 1 + len(figures()) + len(histogramFigures()) + len(seriesFigures()) + len(conversionErrors) + 2*len(runtimeFigures) + 4 + 1 + 4 + sizes + len(scales); len(lines) != want {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), want, out.String())
	}
	for i, f := range figures() {
		line := lines[i+1]
		if !strings.HasPrefix(line, "ratio "+f.name+" ours=") || strings.Contains(line, "NaN") {
			t.Errorf("line %q, want one of figure %s without NaN", line, f.name)
		}
	}
}

func TestFiguresShareTracesEvenly(t *testing.T) {
	for _, f := range figures() {
		if !f.records && (f.perTrace < 1 || batch%f.perTrace != 0) {
			t.Errorf("%s: %d spans a trace, want a divisor of %d", f.name, f.perTrace, batch)
		}
	}
}
