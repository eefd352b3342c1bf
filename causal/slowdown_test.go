package causal

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/clock"
)

// A recording separates what computes from what waits, and leaves out waits for locks.
func TestRecordWork(t *testing.T) {
	c := newCrowd(t)
	var held sync.Mutex
	c.repeat(1, func() {
		c.span(c.ctx, "computes", func(context.Context) { clock.Spin(clock.Now(), ms, func() bool { return true }) })
		time.Sleep(ms)
	})
	c.repeat(1, func() { c.work(c.ctx, "sleeps", 2*ms) })
	c.repeat(2, func() {
		c.span(c.ctx, "waits", func(context.Context) {
			held.Lock()
			defer held.Unlock()
			time.Sleep(2 * ms)
		})
	})
	all, err := engine.RecordWork(t.Context(), 300*ms)
	if err != nil {
		t.Fatal(err)
	}
	for name, holds := range map[string]func(engine.Split) bool{
		"computes": func(s engine.Split) bool { return s.Computing > 0.8 },
		"sleeps":   func(s engine.Split) bool { return s.Computing < 0.3 && s.Own > 0.8 && (s.Each == 0 || s.Each > 1.5e6) },
		"waits":    func(s engine.Split) bool { return s.Own > 0.3 && s.Own < 0.8 },
	} {
		if s, known := all[profile.Region{Scope: "crowd", Name: name}]; !known || !holds(s) {
			t.Errorf("%s: %+v, known: %t", name, s, known)
		}
	}
}
