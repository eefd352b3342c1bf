package causal

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/causal/internal/plantest"
	"github.com/otelprof/otelprof/causal/internal/record"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/spans"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func mustParse(t testing.TB, lines ...string) *plan.Plan {
	t.Helper()
	p, err := plan.Parse(plantest.Document(lines...))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// wide are caps that no test reaches.
var wide = plan.Limits{PerSpan: plan.Duration(time.Second), PerTrace: plan.Duration(time.Minute), Duty: 1, Total: plan.Duration(24 * time.Hour)}

// deaf are caps that leave the breaker to the plan.
var deaf = plan.Abort{P99Ratio: 1000, ErrDelta: 1, Window: plan.Duration(10 * time.Minute), MinSamples: 1e6}

// alone is a machine that takes nothing away.
var alone = optionFunc(func(c config) config {
	c.Loads = func() func() record.Load { return func() record.Load { return record.Load{} } }
	return c
})

// wideLimits are the same as a line of a plan.
const wideLimits = "limits: {per_span: 1s, per_trace: 1m, duty: 100%, total: 24h}"

// calm is the line of a plan whose breaker needs no root spans to begin with, and does
// not open.
const calm = "abort: {p99_ratio: 1000, err_delta: 100%, min_samples: 1}"

func newController(t testing.TB, opts ...Option) *Controller {
	t.Helper()
	c, err := NewController(append([]Option{WithExperiments(wide), WithBreaker(deaf), alone}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Shutdown(context.Background()); err != nil {
			t.Errorf("Shutdown() = %v", err)
		}
	})
	return c
}

func newProvider(t testing.TB, c *Controller, opts ...spans.Option) *spans.TracerProvider {
	t.Helper()
	tp := spans.WrapTracerProvider(nil, append([]spans.Option{spans.WithHook(c.Hook())}, opts...)...)
	t.Cleanup(func() {
		if err := tp.Shutdown(context.Background()); err != nil {
			t.Errorf("Shutdown() = %v", err)
		}
	})
	return tp
}

// inBubble runs f in a bubble whose clock stands an hour ahead of the real one: regions have
// their time line from the start of the process, and cannot lie before it.
func inBubble(t *testing.T, f func(*testing.T)) {
	t.Helper()
	outside := time.Now()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(outside.Add(time.Hour)))
		f(t)
	})
}

// sleepily stands for spin in a bubble, where time passes only while all sleep.
func sleepily(_ int64, d time.Duration, valid func() bool) time.Duration {
	if !valid() {
		return 0
	}
	time.Sleep(d)
	return d
}

// force applies a plan and gets its run ready for a bubble: delays sleep. No span may end
// meanwhile.
func force(t testing.TB, c *Controller, p *plan.Plan) *engine.Run {
	t.Helper()
	if err := c.Apply(p); err != nil {
		t.Fatal(err)
	}
	r := c.run.Load()
	if r == nil {
		t.Fatalf("Apply(%q) leaves no run: %s", p.ID, c.Status().Reason)
	}
	r.Spin = sleepily
	return r
}

// dilate puts one dilation in force, for tests that have no use for a whole schedule. The
// plan must be one that does not get to its first experiment.
func dilate(run *engine.Run, factor float64, spared int) {
	run.Put(&engine.Dilation{Run: run, Factor: factor, Spared: spared})
}

// idle is the line of a plan that has no experiment before a minute is over.
const idle = "timing: {warmup: 1m}"

// brief is the line of a plan that ends soon enough for the shortest experiments.
func brief() string {
	return "expires_at: " + time.Now().Add(10*time.Minute).UTC().Format(time.RFC3339)
}

// recorder is a slog.Handler that keeps records as text.
type recorder struct {
	mu    sync.Mutex
	lines []string
}

func (r *recorder) Enabled(context.Context, slog.Level) bool { return true }
func (r *recorder) WithAttrs([]slog.Attr) slog.Handler       { return r }
func (r *recorder) WithGroup(string) slog.Handler            { return r }

func (r *recorder) Handle(_ context.Context, rec slog.Record) error {
	line := rec.Level.String() + " " + rec.Message
	rec.Attrs(func(a slog.Attr) bool {
		line += fmt.Sprintf(" %s=%v", a.Key, a.Value)
		return true
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line)
	return nil
}

// take returns the records since the last call.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := r.lines
	r.lines = nil
	return lines
}

// startedAgo makes a span that has taken d already.
func startedAgo(d time.Duration) trace.SpanStartOption {
	return trace.WithTimestamp(time.Now().Add(-d))
}
