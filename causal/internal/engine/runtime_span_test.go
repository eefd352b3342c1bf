package engine

import (
	"strings"
	"testing"

	"github.com/otelprof/otelprof/causal/internal/engine/classes"
	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/internal/engine/virtualtime"
	"github.com/otelprof/otelprof/causal/profile"
)

// A goroutine whose span of a short deadline ends on another one pays nothing until the next
// experiment: what is in force then is spoiled.
func TestSparedGoroutines(t *testing.T) {
	s := &Scheduled{region: classes.Intern(profile.Region{Name: "spared"})}
	Live.Scheduled.Store(s)
	defer Live.Scheduled.Store(nil)
	calls := 0
	e := &scheduledSpan{in: s, owner: virtualtime.Owner(), exempt: func() { calls++ }}
	e.payAgain()
	done := make(chan struct{})
	for _, e := range []*scheduledSpan{e, {in: s}} {
		go func() {
			defer func() { done <- struct{}{} }()
			e.payAgain()
		}()
		<-done
	}
	if n := s.spared.Load(); calls != 2 || n != 1 {
		t.Errorf("%d exemptions have ended, %d on another goroutine: want two, and one", calls, n)
	}
	var x experiment.Experiment
	s.Look(&x)
	if !strings.HasPrefix(x.Spoiled, "delays of 1 goroutines") {
		t.Errorf("spoiled %q, want it to be by the goroutine", x.Spoiled)
	}
}
