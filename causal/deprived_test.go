package causal

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/internal/record"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/naming/withheldcode"
)

// Experiments in which a quota or the host took processors give no numbers, be it in the arms with
// delay or in those without.
func TestDeprivedExperiments(t *testing.T) {
	throttled := record.Load{CPU: 800 * time.Millisecond, Throttled: 200 * time.Millisecond}
	asked := experiment.Arm{Speedup: 0.5}
	for name, tt := range map[string]struct {
		asked, without, other record.Load
		want                  profile.WithheldCode
	}{
		"no delay":      {without: throttled, want: withheldcode.Throttled},
		"delay":         {asked: throttled, want: withheldcode.Throttled},
		"another delay": {other: throttled},
		"stolen":        {asked: record.Load{CPU: 800 * time.Millisecond, Stolen: 200 * time.Millisecond}, want: withheldcode.Stolen},
	} {
		var experiments []experiment.Experiment
		for range 5 {
			for a, l := range map[experiment.Arm]record.Load{asked: tt.asked, {}: tt.without, {Speedup: 0.25}: tt.other} {
				experiments = append(experiments, experiment.Experiment{Arm: a, Machine: l, Ends: 100, Passages: make([]experiment.Passage, 1)})
			}
		}
		if got := experiment.EvidenceOf(experiments, asked, 0).Withheld(); got.Code != tt.want || tt.want != "" && (got.Part < 0.199 || got.Part > 0.201) {
			t.Errorf("%s: withheld() = %+v, want %q of 20 %%", name, got, tt.want)
		}
	}

	m := models()[0] // of mode dilation
	m.machine = throttled
	for _, c := range profileOf(t, 6, m).Curves {
		for _, e := range c.Effects {
			if e.Withheld.Code != withheldcode.Throttled {
				t.Errorf("dilation: withheld %+v, want %s", e.Withheld, withheldcode.Throttled)
			}
		}
	}
}

// What is taken makes the interval as much wider, and is said where it is more than the model may
// be wrong by.
func TestDeprivedALittle(t *testing.T) {
	number := profile.NewEffect(0.5, []float64{.1, .1, .1, .1, .1, .1}, nil)
	for _, tt := range []struct {
		name           string
		arms, placebo  record.Load
		margin         float64
		warnings, said int // of which said tell of a quota
	}{
		{"nothing", record.Load{CPU: time.Minute}, record.Load{CPU: time.Minute}, 0, 0, 0},
		{"a quota, with delay", record.Load{CPU: 95 * time.Second, Throttled: 5 * time.Second}, record.Load{CPU: time.Minute}, 0.05, 1, 1},
		{"a quota, without delay", record.Load{CPU: time.Minute}, record.Load{CPU: 95 * time.Second, Throttled: 5 * time.Second}, 0.05, 1, 1},
		{"the host more than a quota", record.Load{CPU: 94 * time.Second, Throttled: time.Second, Stolen: 6 * time.Second}, record.Load{}, 0.06, 1, 0},
		{"half a point", record.Load{CPU: 199 * time.Second, Throttled: time.Second}, record.Load{}, 0.005, 0, 0},
		{"as good as nothing", record.Load{CPU: time.Second, Throttled: 100 * time.Millisecond}, record.Load{}, 0, 0, 0},
	} {
		got := experiment.Evidence{Deprived: experiment.Deprived{Load: tt.arms}, Placebo: experiment.Deprived{Load: tt.placebo}}.Judge(number)
		said := 0
		for _, w := range got.Warnings {
			if strings.Contains(w, "a quota (cpu.max of the cgroup) took 5 %") {
				said++
			}
		}
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
		if !got.Known() || !near(got.Margin, tt.margin) || !near(number.Lo-got.Lo, tt.margin) || !near(got.Hi-number.Hi, tt.margin) || len(got.Warnings) != tt.warnings || said != tt.said {
			t.Errorf("%s: %+v, want a margin of %g and %d warnings", tt.name, got, tt.margin, tt.warnings)
		}
	}
}
