package main

import (
	"io"
	"strings"
	"testing"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/integration/accuracy/workloads"
	"github.com/otelprof/otelprof/integration/internal/answers"
)

func TestHoldTargets(t *testing.T) {
	at := func(predicted float64) cell {
		return cell{Mode: profile.ModeOverlap, Predicted: predicted, Lo: predicted - 1, Hi: predicted + 1, Actual: span{20, 19, 21}}
	}
	o := &options{types: workloads.CausalTypes}
	o.modes = []profile.Mode{profile.ModeOverlap}
	if err := o.holdTargets(io.Discard, []cell{at(20), at(20.5)}, nil); err != nil {
		t.Errorf("holdTargets = %v with errors of 0 and 0.5 points", err)
	}
	bad := []cell{at(20), at(30)}
	err := o.holdTargets(io.Discard, bad, nil)
	for _, want := range []string{"overlap coverage 0.50", "overlap mean_abs_error 5.00", "overlap worst 10.00"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("holdTargets = %v, want %q in it", err, want)
		}
	}
	if err := o.holdTargets(io.Discard, []cell{{Mode: profile.ModeOverlap, Withheld: "few windows"}}, nil); err == nil {
		t.Error("holdTargets = nil without a number")
	}
	if err := o.holdTargets(io.Discard, nil, nil); err == nil {
		t.Error("holdTargets = nil without a cell")
	}
	if err := o.holdTargets(io.Discard, []cell{at(20)}, []control{{"accuracy CONTROL name=withholds", true}}); err == nil || !strings.Contains(err.Error(), "name=withholds") {
		t.Errorf("holdTargets = %v, want the control that does not hold", err)
	}
	o.quick = true
	if err := o.holdTargets(io.Discard, bad, nil); err != nil {
		t.Errorf("holdTargets = %v of a quick run", err)
	}
}

// A region that is named by a coin counts neither if it is right nor if it is wrong, and ties are
// decided against us, in whatever order a map has them.
func TestRanked(t *testing.T) {
	at := func(program, region string, predicted, actual, may float64) cell {
		return cell{Workload: program, Region: region, Predicted: predicted, Actual: span{actual, actual - may, actual + may}}
	}
	if first, of := ranked([]cell{at("x", "a", 2, 6, 3), at("x", "b", 1, 4, 3), at("y", "a", 1, 6, 3), at("y", "b", 2, 4, 3)}); of != 0 {
		t.Errorf("a coin is right in %d of %d, want none", first, of)
	}
	for range 100 {
		if first, of := ranked([]cell{at("x", "a", 10, 20, 1), at("x", "b", 10, 5, 1)}); first != 0 || of != 1 {
			t.Fatalf("a tie is right in %d of %d, want 0 of 1", first, of)
		}
	}
}

// What is withheld is no number.
func TestNearNumbers(t *testing.T) {
	s := summarizeSlowed([]cell{{Mode: profile.ModeSlowdown, Speedup: 0.1, Withheld: "x"}, {Mode: profile.ModeSlowdown, Speedup: 0.1}, {Mode: profile.ModeSlowdown, Speedup: 0.1, Bounded: true}})
	if s.numbers.cells != 1 || s.near.cells != 3 {
		t.Errorf("%d numbers of %d, want 1 of 3", s.numbers.cells, s.near.cells)
	}
}

// Of latency, an interval holds what it and that of the actual value allow, and bounds alone are no
// numbers. Cells about latency have no part in what is said about throughput.
func TestSummarizeLatency(t *testing.T) {
	at := func(predicted, actual float64, bounded bool) cell {
		return cell{Mode: profile.ModeSlowdown, Metric: profile.MetricLatencyP99, Speedup: 0.1, Bounded: bounded, Predicted: predicted, Lo: predicted - 1, Hi: predicted + 1, Actual: span{actual, actual - 3, actual + 3}}
	}
	vague := at(10, 40, false)
	vague.Actual.Lo = 10
	cells := []cell{vague, at(10, 12, false), at(20, 30, true), {Mode: profile.ModeSlowdown, Metric: profile.MetricLatencyP50, Withheld: "x", Actual: span{9, 8, 10}}}
	s := summarizeLatency(profile.ModeSlowdown, cells)
	var out strings.Builder
	s.print(&out)
	if want := "accuracy SUMMARY mode=slowdown metric=latency cells=3 given=2/3 numbers=1 mean_abs_error=2.00 worst=2.00 coverage=0.50 median_width=2.00 unsure=1\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	if missed := s.missed(); len(missed) != 2 {
		t.Errorf("missed = %q, want given and coverage", missed)
	}
	if s := summarizeLatency(answers.ModeCombined, nil); s.missed() != nil {
		t.Errorf("missed = %q of nothing", s.missed())
	}
	if s := summarizeSlowed(cells); s.cells != 0 {
		t.Errorf("%d cells about throughput, want none", s.cells)
	}
}
