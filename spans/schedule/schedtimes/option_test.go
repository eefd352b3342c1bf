package schedtimes_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/otelprof/otelprof/internal/runtimemode/sched"
	"github.com/otelprof/otelprof/spans/schedule/schedtimes"
)

func TestNew(t *testing.T) {
	for _, tt := range []struct {
		patterns []string
		err      error
		want     string
	}{
		{nil, schedtimes.ErrConfig, `regions []: must be patterns`},
		{[]string{"GET *", ""}, schedtimes.ErrConfig, `regions ["GET *" ""]: must be patterns, none of them empty`},
		{[]string{"GET *"}, schedtimes.ErrNotSupported, `must be built by "otelprof build"`},
	} {
		h, err := schedtimes.NewHook(schedtimes.WithRegions(tt.patterns...))
		if sched.Present && errors.Is(tt.err, schedtimes.ErrNotSupported) {
			if h == nil || err != nil {
				t.Errorf("NewHook(%q) = %v, %v, want a hook", tt.patterns, h, err)
			}
			continue
		}
		if h != nil || !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("NewHook(%q) = %v, %v, want %v and %q", tt.patterns, h, err, tt.err, tt.want)
		}
	}
}
