package causal

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
)

// TestAllowedAreCaps: no plan has a mode, a speed-up or a life that the program does not allow.
func TestAllowedAreCaps(t *testing.T) {
	allowed := plan.Allowed{Modes: []profile.Mode{profile.ModeDilation}, Speedup: 25, Life: plan.Duration(10 * time.Second)}
	inBubble(t, func(t *testing.T) {
		c := newController(t, WithAllowed(allowed))
		for line, want := range map[string]string{
			"mode: overlap":          "mode overlap: the program allows [dilation] only",
			"grid: {speedups: [50]}": "grid.speedups [50]: must have one above 0 that is at most 25, the program's cap",
		} {
			lines := []string{line}
			if !strings.HasPrefix(line, "mode") {
				lines = append(lines, "mode: dilation")
			}
			p := mustParse(t, lines...)
			if err := c.Apply(p); !errors.Is(err, ErrDisabled) || !strings.Contains(err.Error(), want) {
				t.Errorf("Apply with %q = %v, want %q", line, err, want)
			}
		}
		for id, line := range map[string]string{"id: up": "grid: {speedups: [0, 10, 25, 50, 80]}", "id: down": "grid: {speedups: [80, 10, 25, 0]}"} {
			r := force(t, c, mustParse(t, id, idle, "mode: dilation", line))
			if diff := cmp.Diff([]float64{0.1, 0.25}, r.Speedups()); diff != "" {
				t.Errorf("%s: speed-ups differ, -want +got:\n%s", line, diff)
			}
			if len(r.Grid) != 3 {
				t.Errorf("%s: the run's grid is %v, want nothing above 25", line, r.Grid)
			}
		}
		time.Sleep(time.Duration(allowed.Life) - time.Millisecond)
		state(t, c, StateRunning, "")
		time.Sleep(200 * time.Millisecond)
		state(t, c, StateExpired, "the longest life that the program allows is over")
		if diff := cmp.Diff(allowed, c.Status().Allowed); diff != "" {
			t.Errorf("status: allowed differs, -want +got:\n%s", diff)
		}
	})
	bad := WithAllowed(plan.Allowed{Modes: []profile.Mode{"replay"}, Speedup: 81})
	for _, opts := range [][]Option{{WithExperiments(wide), bad}, {bad}} {
		_, err := NewController(opts...)
		for _, want := range []string{`allowed: modes "replay": must be "slowdown", "overlap" or "dilation"`, "allowed: speedup 81: must be in (0, 80]", "allowed: life 0s: must be in [1s, 1h0m0s]"} {
			if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
				t.Errorf("NewController of %d options = %v, want %q", len(opts), err, want)
			}
		}
	}
}

// A plan that waits for its time has its whole life before it.
func TestAllowedLifeBeginsWithThePlan(t *testing.T) {
	allowed, now := plan.DefaultAllowed(), time.Now()
	allowed.Life = plan.Duration(time.Minute)
	p := &plan.Plan{NotBefore: now.Add(time.Hour), ExpiresAt: now.Add(2 * time.Hour)}
	if got, want := allowed.Expires(p, now), now.Add(61*time.Minute); !got.Equal(want) {
		t.Errorf("expires at %v, want %v", got, want)
	}
	p.ExpiresAt = now.Add(time.Hour + time.Second)
	if got := allowed.Expires(p, now); !got.Equal(p.ExpiresAt) {
		t.Errorf("expires at %v, want the plan's %v", got, p.ExpiresAt)
	}
}
