package main

import (
	"strings"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/integration/internal/child"
	"github.com/otelprof/otelprof/internal/naming/withheldcode"
)

func TestParseFlags(t *testing.T) {
	if s, err := parseFlags(nil); err != nil || s.out != "docs/img/viewer.png" || s.all != "" || s.after >= s.limit {
		t.Errorf("no flags: %+v, %v", s, err)
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"views"}, `argument "views": unexpected`},
		{[]string{"-after", "5m"}, "-after 5m0s, -limit 4m0s: must be in [0, limit)"},
		{[]string{"-after", "-1s"}, "-after -1s, -limit 4m0s: must be in [0, limit)"},
	} {
		if _, err := parseFlags(tt.args); err == nil || err.Error() != tt.want {
			t.Errorf("%q: %v, want %s", tt.args, err, tt.want)
		}
	}
}

// The picture waits for both ways to an answer, and for the largest speed-up of each experiment.
func TestLacks(t *testing.T) {
	curve := func(mode profile.Mode, withheld profile.WithheldCode) profile.Curve {
		return profile.Curve{Mode: mode, Metric: profile.MetricThroughput, Effects: []profile.Effect{{Speedup: 0.25}, {Speedup: 0.5, Withheld: profile.Withheld{Code: withheld}}}}
	}
	latency := curve(profile.ModeReplay, "")
	latency.Metric = profile.MetricLatencyP50
	for _, tt := range []struct {
		curves []profile.Curve
		want   string
	}{
		{nil, "0 of 0 experiments"},
		{[]profile.Curve{curve(profile.ModeReplay, "")}, "0 of 0 experiments"},
		{[]profile.Curve{curve(profile.ModeSlowdown, ""), curve(profile.ModeSlowdown, withheldcode.Iterations), curve(profile.ModeReplay, "")}, "1 of 2 experiments"},
		{[]profile.Curve{curve(profile.ModeSlowdown, ""), latency}, "recordings"},
		{[]profile.Curve{curve(profile.ModeSlowdown, ""), curve(profile.ModeReplay, "")}, ""},
		{[]profile.Curve{curve(profile.ModeSlowdown, ""), curve(profile.ModeReplay, ""), curve(profile.ModeReplay, withheldcode.Iterations)}, ""},
	} {
		if got := lacks(profile.Profile{Curves: tt.curves}); got != tt.want {
			t.Errorf("%d curves: %q, want %q", len(tt.curves), got, tt.want)
		}
	}
}

// A shot has a name of its own, and shows a view of the page.
func TestShots(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range ofShop {
		if seen[s.name] || !strings.HasPrefix(s.hash, "#/") {
			t.Errorf("%+v: want another name, and a view", s)
		}
		seen[s.name] = true
	}
}

// Waiting ends, and says what is missing.
func TestMeasuredGivesUp(t *testing.T) {
	s := &shop{Child: &child.Child{Address: "http://127.0.0.1:0"}, started: time.Now()}
	if err := s.measured(t.Context(), 0, time.Millisecond); err == nil || !strings.Contains(err.Error(), `the profile lacks everything`) {
		t.Errorf("no answer: %v", err)
	}
}
