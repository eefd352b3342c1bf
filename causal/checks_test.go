package causal

import (
	"testing"
	"time"
)

func TestEvidence(t *testing.T) {
	good := evidence{
		visits: 900, ends: 900, elapsed: time.Minute, growth: 10 * time.Second,
		owed: 8 * time.Second, paid: 8 * time.Second, residual: 50 * time.Millisecond,
		attributed: 20 * time.Second, unattributed: 100 * time.Millisecond,
		saturated: 0.1, null: []float64{.01, -.01, .005, -.005, 0, .002},
	}
	biased := []float64{.05, .051, .049, .05, .052, .048}
	for _, tt := range []struct {
		name   string
		change func(*evidence)
		want   string
	}{
		{"nothing is known", func(v *evidence) { *v = evidence{} }, ""},
		{"all is well", func(*evidence) {}, ""},
		{"saturated", func(v *evidence) { v.saturated = 0.63 }, "processors were short for 63 % of the time, and who waits for one is seen by no span: measure at less load, or build with otelprof build"},
		{"not delivered", func(v *evidence) { v.paid = 5 * time.Second }, "only 62 % of the delays could be inserted: the rules that withheld them say which limit to raise"},
		{"residual", func(v *evidence) { v.residual = 180 * time.Millisecond }, "1.8 % of the delays were still owed at the end, more than 1 %: ask for smaller speed-ups, or raise limits.per_span"},
		{"unattributed", func(v *evidence) { v.unattributed = 20 * time.Second }, "it is not known what ended 50 % of the waiting: use causal.Mutex and the like, or causal.Blocked"},
		{"unattributed, but little", func(v *evidence) { v.unattributed, v.attributed = 500*time.Millisecond, 0 }, ""},
		{"A/A", func(v *evidence) { v.null = biased }, "self-check failed: two runs without any delay differ by 5.0 % (4.8 .. 5.2): measure while the load is steady, or longer by timing.experiment"},
		{"too few to check", func(v *evidence) { v.null = biased[:4] }, ""},
	} {
		v := good
		tt.change(&v)
		if got := v.reason(); got != tt.want {
			t.Errorf("%s: reason() = %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestJudge(t *testing.T) {
	number := effectOf(0.5, []float64{.1, .1, .1, .1, .1, .1}, nil)
	few := effectOf(0.5, []float64{.1}, nil)
	v := evidence{visits: 12, ends: 3, elapsed: 10 * time.Second, owed: 10 * time.Millisecond, paid: 10 * time.Millisecond, rejected: 2}
	if got := v.judge(number); got.Withheld != "" || len(got.Warnings) != 1 || got.Warnings[0] != "2 experiments thrown away" {
		t.Errorf("judge of a number: %+v", got)
	}
	want := "1 iteration measured, 5 are needed (12 visits of the progress point in 10s, 3 spans of the region, 10ms of 10ms delay inserted, 2 experiments thrown away)"
	if got := v.judge(few); got.Withheld != want || len(got.Reductions) != 1 {
		t.Errorf("judge of too few = %q, want %q", got.Withheld, want)
	}
	v.paid = 0
	got := v.judge(number)
	if got.Withheld != "only 0 % of the delays could be inserted: the rules that withheld them say which limit to raise" || got.Reduction != 0 || got.Reductions != nil || got.Samples != 6 {
		t.Errorf("judge of a number that fails a check: %+v", got)
	}
}
