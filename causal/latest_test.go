package causal

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/clock/rest"
	"github.com/otelprof/otelprof/internal/replay"
	"github.com/otelprof/otelprof/internal/replay/trace"
	"github.com/otelprof/otelprof/internal/testutil"
)

// manyAnswers is a study with so many cells.
type manyAnswers struct{ cells int }

func (s manyAnswers) result() replay.Result {
	r := replay.Result{Windows: 20}
	metrics := []replay.Metric{replay.Throughput, replay.LatencyP50, replay.LatencyP90, replay.LatencyP99}
	for i := range s.cells {
		a := replay.Answer{
			Region: trace.Region{Scope: "many", Name: fmt.Sprint("region ", i/20)}, Point: "GET /", Metric: metrics[i/5%4],
			Speedup: []float64{0.1, 0.25, 0.5, 0.75, 0.95}[i%5], Windows: 20, Base: 1e6, Reduction: rand.Float64(), StdErr: 0.01,
		}
		a.Lo, a.Hi = a.Reduction-0.02, a.Reduction+0.02
		for range 20 {
			a.Samples = append(a.Samples, a.Reduction+rand.NormFloat64()/100)
		}
		r.Answers = append(r.Answers, a)
	}
	return r
}

func withAnswers(cells int) Option {
	return optionFunc(func(c config) config {
		result := manyAnswers{cells}.result()
		c.newStudy = func(slowed) study { return &replayed{result: result} }
		return c
	})
}

// Metric readers get what was computed last, and what is newer once it has been computed; it is
// computed once.
func TestLatest(t *testing.T) {
	c := newController(t, withAnswers(200))
	if !testutil.Eventually(func() bool { return len(c.Latest().Curves) > 0 }) {
		t.Fatal("no curves")
	}
	p := c.Latest()
	if &p.Curves[0] != &c.Latest().Curves[0] {
		t.Error("computed twice, though nothing has changed")
	}
	own := c.Profile()
	own.Curves[0].Effects[0].Reduction = -7
	own.Curves[0].Verdict = "changed"
	if got := c.Latest().Curves[0]; got.Verdict == "changed" || got.Effects[0].Reduction == -7 {
		t.Error("what the caller of Profile does to it is seen by others")
	}
	if err := c.Apply(mustParse(t, idle)); err != nil {
		t.Fatal(err)
	}
	if got := c.Profile(); got.PlanID != "plan-1" {
		t.Errorf("Profile().PlanID = %q, want that of the plan in force", got.PlanID)
	}
	c.StopPlan("enough")
	if err := c.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := c.Latest(); got.PlanID != "plan-1" || got.Ended.IsZero() {
		t.Errorf("after Shutdown the latest profile is of plan %q and ended at %v, want the last one's", got.PlanID, got.Ended)
	}
}

// Nobody waits for the first numbers where metric readers collect, so their recordings are a minute
// apart.
func TestRecordingsForExports(t *testing.T) {
	c, _ := recording(t, WithReplay())
	if err := c.Record(t.Context(), MinWindow); err != nil {
		t.Fatal(err)
	}
	_, span := newProvider(t, c).Tracer("").Start(t.Context(), "op")
	span.End()
	next := func() time.Duration { return time.Until(c.Status().Recording.Next) }
	if !testutil.Eventually(func() bool { return next() > time.Minute }) {
		t.Errorf("without a reader: the next recording in %v, want it 5 minutes after the last", next())
	}
	c.Latest()
	if !testutil.Eventually(func() bool { return next() <= time.Minute }) {
		t.Errorf("read by a metric reader: the next recording in %v, want it a minute after the last", next())
	}
	if got := next(); got < 30*time.Second {
		t.Errorf("read by a metric reader: the next recording in %v, want it a minute after the last", got)
	}
	c.Profile()
	if !testutil.Eventually(func() bool { return next() < 10*time.Second }) {
		t.Errorf("looked at: the next recording in %v, want it at once", next())
	}
}

// A profile of thousands of numbers takes tens of milliseconds, in which the processor is offered
// to others.
func TestComputingRests(t *testing.T) {
	c := newController(t, withAnswers(2048))
	rests := 0
	if p := c.compute(func() { rests++ }); len(p.Curves) < 100 || rests < 3*len(p.Curves) {
		t.Errorf("%d rests for %d curves, want three for each, 100 curves at least", rests, len(p.Curves))
	}
}

// What one metric collection costs, by how many cells there are.
func BenchmarkCollection(b *testing.B) {
	for _, cells := range []int{2048, 19_200} {
		b.Run(fmt.Sprintf("cells=%d", cells), func(b *testing.B) {
			c := newController(b, withAnswers(cells))
			p := profile.NewProducer(c.Latest)
			c.current(rest.NewWorker(b.Context()))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Produce(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("cells=%d/computed", cells), func(b *testing.B) {
			c := newController(b, withAnswers(cells))
			for b.Loop() {
				c.compute(func() {})
			}
		})
	}
}
