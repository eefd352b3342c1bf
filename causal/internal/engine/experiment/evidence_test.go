package experiment

import (
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/causal/internal/record"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/naming/withheldcode"
)

func TestEvidence(t *testing.T) {
	good := Evidence{
		Visits: 900, Ends: 900, Elapsed: time.Minute, Growth: 10 * time.Second,
		owed: 8 * time.Second, paid: 8 * time.Second, residual: 50 * time.Millisecond,
		attributed: 20 * time.Second, unattributed: 100 * time.Millisecond,
		saturated: 0.1, Check: SelfCheck{intervals: 20, missed: 1},
	}
	for _, tt := range []struct {
		name   string
		change func(*Evidence)
		want   profile.Withheld
	}{
		{"nothing is known", func(v *Evidence) { *v = Evidence{} }, profile.Withheld{}},
		{"all is well", func(*Evidence) {}, profile.Withheld{}},
		{"saturated", func(v *Evidence) { v.saturated = 0.63 }, profile.Withheld{Code: withheldcode.Saturated, Part: 0.63}},
		{"throttled", func(v *Evidence) {
			v.Deprived = Deprived{record.Load{CPU: 7 * time.Second, Throttled: 3 * time.Second}}
		}, profile.Withheld{Code: withheldcode.Throttled, Part: 0.3}},
		{"throttled without delay", func(v *Evidence) {
			v.Placebo = Deprived{record.Load{CPU: 7 * time.Second, Throttled: 3 * time.Second}}
		}, profile.Withheld{Code: withheldcode.Throttled, Part: 0.3}},
		{"throttled a little", func(v *Evidence) { v.Deprived = Deprived{record.Load{CPU: 9 * time.Second, Throttled: time.Second}} }, profile.Withheld{}},
		{"stolen", func(v *Evidence) {
			v.Deprived = Deprived{record.Load{CPU: time.Second, Others: 5 * time.Second, Stolen: 2 * time.Second}}
		}, profile.Withheld{Code: withheldcode.Stolen, Part: 0.25}},
		{"stolen, but few steps of the clock", func(v *Evidence) {
			v.Deprived = Deprived{record.Load{CPU: 100 * time.Millisecond, Stolen: 100 * time.Millisecond}}
		}, profile.Withheld{}},
		{"not delivered", func(v *Evidence) { v.paid = 5 * time.Second }, profile.Withheld{Code: withheldcode.NotInserted, Part: 0.625}},
		{"residual", func(v *Evidence) { v.residual = 180 * time.Millisecond }, profile.Withheld{Code: withheldcode.Owed, Part: 0.018}},
		{"unattributed", func(v *Evidence) { v.unattributed = 20 * time.Second }, profile.Withheld{Code: withheldcode.Unattributed, Part: 0.5}},
		{"unattributed, but little", func(v *Evidence) { v.unattributed, v.attributed = 500*time.Millisecond, 0 }, profile.Withheld{}},
		{"waits before spans", func(v *Evidence) { v.arrivals, v.unpaid = 900, 10 }, profile.Withheld{Code: withheldcode.WaitsBefore, Count: 10, Of: 900}},
		{"few waits before spans", func(v *Evidence) { v.arrivals, v.unpaid = 900, 9 }, profile.Withheld{}},
		{"A/A", func(v *Evidence) { v.Check.missed = 5 }, profile.Withheld{Code: withheldcode.SelfCheck, Count: 5, Of: 20}},
		{"too few to check", func(v *Evidence) { v.Check = SelfCheck{intervals: 1, missed: 1} }, profile.Withheld{}},
	} {
		v := good
		tt.change(&v)
		if got := v.Withheld(); got != tt.want {
			t.Errorf("%s: withheld() = %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestJudge(t *testing.T) {
	number := profile.NewEffect(0.5, []float64{.1, .1, .1, .1, .1, .1}, nil)
	few := profile.NewEffect(0.5, []float64{.1}, nil)
	v := Evidence{Visits: 12, Ends: 3, Elapsed: 10 * time.Second, owed: 10 * time.Millisecond, paid: 10 * time.Millisecond, rejected: 2}
	if got := v.Judge(number); !got.Known() || len(got.Warnings) != 1 || got.Warnings[0] != "2 experiments thrown away" {
		t.Errorf("judge of a number: %+v", got)
	}
	want := profile.Withheld{
		Code: withheldcode.Iterations, Count: 1, Need: 5,
		Measured: profile.Measured{Visits: 12, Elapsed: 10 * time.Second, Spans: 3, Inserted: 10 * time.Millisecond, Owed: 10 * time.Millisecond, Rejected: 2},
	}
	if got := v.Judge(few); got.Withheld != want || len(got.Reductions) != 1 {
		t.Errorf("judge of too few = %+v, want %+v", got.Withheld, want)
	}
	v.paid = 0
	got := v.Judge(number)
	if got.Withheld != (profile.Withheld{Code: withheldcode.NotInserted}) || got.Reduction != 0 || got.Reductions != nil || got.Samples != 6 {
		t.Errorf("judge of a number that fails a check: %+v", got)
	}
}

// An experiment that was thrown away says nothing of the others, whose numbers it is not in; where
// there are no others, it says why.
func TestEvidenceLeavesOutWhatWasThrownAway(t *testing.T) {
	asked := Arm{Speedup: 0.5}
	of := func(paid int64, spoiled string) Experiment {
		return Experiment{Arm: asked, Ends: 100, Passages: []Passage{{Visits: 10}}, Counts: ledger.Counts{Owed: 100, Paid: paid}, Spoiled: spoiled}
	}
	bad := of(10, "90 of 100 delays withheld")
	for _, tt := range []struct {
		experiments    []Experiment
		visits         uint64
		rejected, arms int
		why            profile.WithheldCode
	}{
		{[]Experiment{of(100, ""), bad, of(100, "")}, 20, 1, 2, ""},
		{[]Experiment{bad}, 10, 1, 1, withheldcode.NotInserted},
	} {
		v := EvidenceOf(tt.experiments, asked, 0)
		if v.Visits != tt.visits || v.rejected != tt.rejected || v.Arms != tt.arms || v.Withheld().Code != tt.why {
			t.Errorf("of %d experiments: %d visits, %d of %d thrown away, withheld %q; want %+v", len(tt.experiments), v.Visits, v.rejected, v.Arms, v.Withheld().Code, tt)
		}
	}
}

// Unreported waits for locks are compared with what requests took, which run side by side, and not
// with the clock alone.
func TestWaitsAreHeldAgainstTheTimeOfRequests(t *testing.T) {
	for _, tt := range []struct {
		name                                  string
		locks, attributed, took, rooted, want time.Duration
	}{
		{"half of a second, one request", 500 * ms, 0, time.Second, time.Second, 500 * ms},
		{"what is told of is taken off", 500 * ms, 100 * ms, time.Second, time.Second, 400 * ms},
		{"mostly told of", 500 * ms, 300 * ms, time.Second, time.Second, 0},
		{"less than a tenth", 90 * ms, 0, time.Second, time.Second, 0},
		{"no request has ended", 110 * ms, 0, time.Second, 0, 110 * ms},
		{"500 requests, 0.02 % of their time", 7 * time.Second, 0, time.Minute, 500 * time.Minute, 0},
		{"500 requests, 2 % of their time", 600 * time.Second, 0, time.Minute, 500 * time.Minute, 600 * time.Second},
	} {
		if got := untold(tt.locks, tt.attributed, tt.took, tt.rooted); got != tt.want {
			t.Errorf("%s: %v are untold, want %v", tt.name, got, tt.want)
		}
	}
	v := Evidence{Visits: 900, Ends: 900, Elapsed: time.Minute, attributed: time.Second, unattributed: 7 * time.Second}
	if v.Withheld().Code == "" {
		t.Error("7 of 8 s of waiting in a minute are untold, and the number is given")
	}
	if v.rooted = 500 * time.Minute; v.Withheld().Code != "" {
		t.Errorf("7 s of 500 requests that took a minute each withhold the number: %s", v.Withheld())
	}
}
