package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
)

// TestPlans runs both plans of each mode on the small program, for too short a time to answer
// anything.
func TestPlans(t *testing.T) {
	for _, mode := range []profile.Mode{profile.ModeSlowdown, profile.ModeOverlap} {
		s := startSmall(t)
		var out bytes.Buffer
		l := lab{out: &out, options: options{mode: mode}}
		l.settings = settings{speedups: []float64{0.5}, pairs: 1, window: 100 * time.Millisecond, settle: 20 * time.Millisecond}
		l.planFor = 600 * time.Millisecond
		if err := l.tryPlans(t.Context(), small, stock, s); err != nil && !errors.Is(err, errClaim) {
			t.Fatal(err)
		}
		for _, want := range []string{
			"cost small mode=MODE build=go limits=wide throughput_before=", "cost small mode=MODE build=go limits=default throughput_before=",
			"accuracy small mode=MODE build=go limits=wide processes=1 region=query speedup=0.50 ",
			"accuracy small mode=MODE build=go limits=default processes=1 region=query speedup=0.50 ",
			"accuracy SUMMARY small mode=MODE build=go limits=default cells=1 ", "rank small mode=MODE build=go limits=default ",
		} {
			if want = strings.Replace(want, "MODE", string(mode), 1); !strings.Contains(out.String(), want) {
				t.Errorf("no line with %q in\n%s", want, out.String())
			}
		}
	}
}

func TestPlanText(t *testing.T) {
	s := &process{program: small}
	for limits, want := range map[string]plan.Limits{
		defaultLimits:  plan.DefaultLimits(),
		generousLimits: {PerSpan: plan.Duration(time.Second), PerTrace: plan.Duration(time.Minute), Duty: 1, Total: plan.Duration(time.Hour)},
	} {
		text, err := s.planText(profile.ModeSlowdown, limits, time.Minute, []float64{0.25, 0.5})
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Parse(text)
		if err != nil || p.Limits != want {
			t.Errorf("%s: limits %+v, %v, want %+v", limits, p, err, want)
		}
	}
}

func TestModeFlag(t *testing.T) {
	for _, args := range [][]string{{"-mode", "dilation"}, {"-plan", "1ms"}} {
		if _, err := parseFlags(args, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "must be") {
			t.Errorf("parseFlags(%q) = %v, want an error that says what must be", args, err)
		}
	}
}
