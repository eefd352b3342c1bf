package causal

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/causal/profile"
)

// clockPlan is a plan by the clock: stock delays, and shop counts.
func clockPlan(target string) []string {
	return []string{
		"mode: slowdown", "target: " + target, "regions: [{scope: stock, span: query}]", "progress: [{span: order, type: throughput}]",
		`timing: {warmup: "100ms", epoch: "2s", cooloff: "10ms"}`, wideLimits, calm,
	}
}

// late has a controller's wall clock go wrong by d, and know what the region does.
func late(d time.Duration) Option {
	return optionFunc(func(c config) config {
		c.Work = func(context.Context, time.Duration) (engine.Workload, error) {
			return engine.Workload{{Scope: "stock", Name: "query"}: {Own: 1}}, nil
		}
		c.Wall = func(t time.Time) time.Time { return t.Add(d).Round(0) }
		return c
	})
}

// A region of one service is delayed while another one counts, by clocks that are a quarter of a
// second apart. Each alone has no answer; together they have.
func TestEpochsAcrossServices(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		stock := newController(t, unloaded, process("stock", "prod", "s1"), late(0))
		shop := newController(t, unloaded, process("shop", "prod", "f1"), late(-240*time.Millisecond))
		query, order := newProvider(t, stock).Tracer("stock"), newProvider(t, shop).Tracer("shop")
		for _, c := range []*Controller{stock, shop} {
			if err := c.Apply(mustParse(t, clockPlan("{service: stock, watch: [shop, bank]}")...)); err != nil {
				t.Fatal(err)
			}
			r := c.run.Load()
			r.Sleep, r.Compute = sleepily, sleepily
			if only := c == shop; r.CountsOnly != only {
				t.Errorf("%s: counts only: %v, want %v", c.service, r.CountsOnly, only)
			}
		}
		for began := time.Now(); time.Since(began) < 3*time.Minute; {
			_, o := order.Start(context.Background(), "order")
			time.Sleep(6 * ms)
			_, q := query.Start(context.Background(), "query")
			time.Sleep(4 * ms)
			q.End()
			o.End()
		}
		if spent := shop.Status().Spent; spent != 0 {
			t.Errorf("the shop, which counts, was delayed by %v", spent)
		}
		for _, c := range []*Controller{stock, shop} {
			p := c.Profile()
			for _, x := range p.Curves {
				for _, e := range x.Effects {
					if e.Known() {
						t.Errorf("%s alone: %+v, want no answer", c.service, e)
					}
				}
			}
			if len(p.Epochs) < 80 {
				t.Errorf("%s: %d epochs of 2 s in three minutes", c.service, len(p.Epochs))
			}
		}
		counted := shop.Profile()
		for i := range counted.Epochs { // in a process of its own it had no queries
			counted.Epochs[i].Own = 0
		}
		merged := profile.Merge(stock.Profile(), counted)
		if len(merged.Curves) != 1 || len(merged.Curves[0].Slopes) != 2 {
			t.Fatalf("curves %+v, want one with two levels", merged.Curves)
		}
		curve := merged.Curves[0]
		for _, s := range curve.Slopes {
			if s.Elasticity < 0.39 || s.Elasticity > 0.41 || s.Taken < 0.9*s.Level || s.Taken > 1.1*s.Level {
				t.Errorf("level %g: elasticity %.3f, taken %.3f, want 0.4 and the level", s.Level, s.Elasticity, s.Taken)
			}
		}
		if leverage, _, _ := curve.Leverage(); leverage < 0.97 || leverage > 1.03 {
			t.Errorf("leverage %.3f, want 1", leverage)
		}
		if e := curve.Effects[0]; !e.Known() || e.Lo > 0.04 || e.Hi < 0.04 || e.Hi > 0.06 {
			t.Errorf("%+v, want 4 %% for 10 %%", e)
		}
	})
}

// Of a plan by the clock for a part of the instances, the others count.
func TestEpochsTargets(t *testing.T) {
	for name, tt := range map[string]struct {
		target, service, id, ignored string
		counts                       bool
	}{
		"the target":       {"{service: stock, watch: [shop]}", "stock", "1", "", false},
		"watched":          {"{service: stock, watch: [shop]}", "shop", "1", "", true},
		"another":          {"{service: stock, watch: [shop]}", "bank", "1", `for service "stock"`, false},
		"all":              {"{}", "bank", "1", "", false},
		"of the instances": {"{service: stock, instances: {percent: 0.001}}", "stock", "1", "", true},
		"without an id":    {"{service: stock, instances: {percent: 50}}", "stock", "", "", true},
	} {
		c := newController(t, unloaded, process(tt.service, "prod", tt.id), late(0))
		if err := c.Apply(mustParse(t, clockPlan(tt.target)...)); err != nil {
			t.Fatal(err)
		}
		r := c.run.Load()
		if reason := c.Status().Reason; tt.ignored != "" && (r != nil || !strings.Contains(reason, tt.ignored)) {
			t.Errorf("%s: %q, want %q", name, reason, tt.ignored)
		}
		if tt.ignored == "" && (r == nil || r.CountsOnly != tt.counts) {
			t.Errorf("%s: run %v, want one that counts only: %v", name, r != nil, tt.counts)
		}
		c.StopPlan("tested")
	}
}
