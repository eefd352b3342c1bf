package otelprof

import (
	"errors"
	"strings"
	"testing"

	"github.com/otelprof/otelprof/internal/sched"
	"github.com/otelprof/otelprof/spans/schedtimes"
)

// Spans are timed where the scheduler keeps account, unless somebody says no; who asks for it elsewhere is told.
func TestSetupTimes(t *testing.T) {
	for _, tt := range []struct {
		env   string
		opts  []Option
		on    bool
		asked bool
	}{
		{"", nil, true, false},
		{"on", nil, true, true},
		{"GET *,price", nil, true, true},
		{"off", nil, false, false},
		{"", []Option{WithTimes(schedtimes.WithRegions("price"))}, true, true},
		{"off", []Option{WithTimes()}, false, false},
		{"on", []Option{WithoutTimes()}, false, false},
	} {
		t.Setenv(EnvTimes, tt.env)
		p, l := setup(t, tt.opts...)
		if got, want := p.Times() != nil, tt.on && sched.Present; got != want {
			t.Errorf("%s=%q, %d options: times %t, want %t", EnvTimes, tt.env, len(tt.opts), got, want)
		}
		said := strings.Contains(strings.Join(l.warnings(), ""), "otelprof: times: none in this program")
		if want := tt.asked && !sched.Present; said != want {
			t.Errorf("%s=%q, %d options: warnings %q, want one of it: %t", EnvTimes, tt.env, len(tt.opts), l.warnings(), want)
		}
		if p.Times() == nil {
			continue
		}
		spanOf(p, "price")
		if got := p.Times().Stats(); got.Timed != 1 {
			t.Errorf("%s=%q: Stats() = %+v, want one timed", EnvTimes, tt.env, got)
		}
	}
}

func TestSetupTimesBadValues(t *testing.T) {
	t.Setenv(EnvTimes, "price,")
	_, err := Setup(t.Context(), WithoutGlobals(), WithCounters())
	if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), `OTELPROF_TIMES "price,": must be on, off or patterns separated by commas`) {
		t.Errorf("Setup = %v, want %v that names the variable", err, ErrConfig)
	}
	t.Setenv(EnvTimes, "")
	if _, err := Setup(t.Context(), WithoutGlobals(), WithTimes(schedtimes.WithRegions(""))); !errors.Is(err, schedtimes.ErrConfig) {
		t.Errorf("Setup = %v, want %v", err, schedtimes.ErrConfig)
	}
}
