package otelprof

import (
	"errors"
	"strings"
	"testing"

	"github.com/otelprof/otelprof/internal/runtimemode/sched"
	"github.com/otelprof/otelprof/spans/schedule/schedtimes"
)

// Spans are timed where the scheduler keeps account, unless switched off; asking for it elsewhere
// is logged.
func TestSetupTimes(t *testing.T) {
	for _, tt := range []struct {
		env   string
		opts  []Option
		on    bool
		asked bool
	}{
		{"", nil, true, false},
		{"on", nil, true, true},
		{"GET *, price", nil, true, true},
		{"off", nil, false, false},
		{"", []Option{WithTimes(schedtimes.WithRegions("price"))}, true, true},
		{"off", []Option{WithTimes()}, false, false},
		{"on", []Option{WithoutTimes()}, false, false},
	} {
		t.Setenv(envTimes, tt.env)
		p, l := setup(t, tt.opts...)
		if got, want := p.Times() != nil, tt.on && sched.Present; got != want {
			t.Errorf("%s=%q, %d options: times %t, want %t", envTimes, tt.env, len(tt.opts), got, want)
		}
		said := strings.Contains(strings.Join(l.warnings(), ""), "otelprof: times: none in this program")
		if want := tt.asked && !sched.Present; said != want {
			t.Errorf("%s=%q, %d options: warnings %q, want one of it: %t", envTimes, tt.env, len(tt.opts), l.warnings(), want)
		}
		if p.Times() == nil {
			continue
		}
		spanOf(p, "price")
		if got := p.Times().Stats(); got.Timed != 1 {
			t.Errorf("%s=%q: Stats() = %+v, want one timed", envTimes, tt.env, got)
		}
	}
}

func TestSetupTimesBadValues(t *testing.T) {
	if _, err := Setup(t.Context(), WithoutGlobals(), WithTimes(schedtimes.WithRegions(""))); !errors.Is(err, schedtimes.ErrConfig) {
		t.Errorf("Setup = %v, want %v", err, schedtimes.ErrConfig)
	}
}
