package causal

import (
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal/internal/record"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/withheldcode"
)

// Experiments in which a quota or the host took processors give no numbers, be it in the arms with delay or in those without.
func TestDeprivedExperiments(t *testing.T) {
	throttled := record.Load{CPU: 800 * time.Millisecond, Throttled: 200 * time.Millisecond}
	asked := arm{speedup: 0.5}
	for name, tt := range map[string]struct {
		asked, without, other record.Load
		want                  profile.WithheldCode
	}{
		"no delay":      {without: throttled, want: withheldcode.Throttled},
		"delay":         {asked: throttled, want: withheldcode.Throttled},
		"another delay": {other: throttled},
		"stolen":        {asked: record.Load{CPU: 800 * time.Millisecond, Stolen: 200 * time.Millisecond}, want: withheldcode.Stolen},
	} {
		var experiments []experiment
		for range 5 {
			for a, l := range map[arm]record.Load{asked: tt.asked, {}: tt.without, {speedup: 0.25}: tt.other} {
				experiments = append(experiments, experiment{arm: a, machine: l, ends: 100, passages: make([]passage, 1)})
			}
		}
		if got := evidenceOf(experiments, asked, 0).withheld(); got.Code != tt.want || tt.want != "" && (got.Part < 0.199 || got.Part > 0.201) {
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
