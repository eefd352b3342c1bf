package causal

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/causal/internal/engine/admission"
	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/internal/engine/virtualtime"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/internal/goroutine"
	"github.com/otelprof/otelprof/internal/testutil"
)

// What limits.duty allows follows the number of processors.
func TestDutyWhileGOMAXPROCSChanges(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	inBubble(t, func(t *testing.T) {
		caps := wide
		caps.Duty, caps.PerSpan = 0.05, plan.Duration(20*time.Millisecond) // of four processors: 20 ms in each 100
		b := newBench(t, caps, nil)
		dilate(b.run, 1, experiment.SparesNone)
		b.want("of four processors", b.span(context.Background(), "a", 19*time.Millisecond), 19*time.Millisecond)
		runtime.GOMAXPROCS(1)
		time.Sleep(10 * time.Second)
		b.want("too much for one", b.span(context.Background(), "a", 6*time.Millisecond), 0)
		b.want("of one", b.span(context.Background(), "a", 4*time.Millisecond), 4*time.Millisecond)
		runtime.GOMAXPROCS(4)
		time.Sleep(10 * time.Second)
		b.want("of four again", b.span(context.Background(), "a", 19*time.Millisecond), 19*time.Millisecond)
	})
}

// indebt puts an overlap in force and a region that has taken d of four fifths less, which every
// goroutine else owes. The plan must be one that does not get to its first experiment.
func indebt(t *testing.T, b *bench, d time.Duration) {
	t.Helper()
	_, s := b.tr.Start(context.Background(), "region")
	s.End()
	b.run.Begin(experiment.Arm{Speedup: 0.8, Spared: 0})
	_, s = b.tr.Start(context.Background(), "region")
	time.Sleep(d)
	s.End()
}

// newLiveBench applies a plan of mode overlap in real time that inserts nothing by itself.
func newLiveBench(t *testing.T) *bench {
	t.Helper()
	if !goroutine.Known() {
		testutil.Lacks(t, "GOROUTINES", "goroutines cannot be told apart in this build, which mode overlap needs")
	}
	c := newController(t, unloaded)
	b := &bench{t, c, newProvider(t, c).Tracer("bench"), nil}
	if err := c.Apply(mustParse(t, idle, wideLimits, "mode: overlap", "regions: [{span: region}]")); err != nil {
		t.Fatal(err)
	}
	b.run = c.run.Load()
	b.run.Guard.Duty = admission.NewDuty(1e6, time.Second, time.Now())
	return b
}

// A goroutine that owes more than a limit allows pays up to the limit.
func TestOverlapPaysUpToTheLimit(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		caps := wide
		caps.PerSpan = plan.Duration(5 * ms)
		b := newBench(t, caps, []Option{unloaded}, "mode: overlap", "regions: [{span: region}]")
		b.run.Sleep = sleepily
		indebt(t, b, 50*ms) // all others owe 40 ms
		elsewhere(func() {
			b.want("the first span", b.span(context.Background(), "other", ms), 5*ms)
			b.want("the second", b.span(context.Background(), "other", ms), 5*ms)
			b.want("a health check", b.span(context.Background(), "GET /healthz", ms), 0)
			ctx, cancel := context.WithTimeout(context.Background(), 10*ms)
			defer cancel()
			b.want("with a deadline", b.span(ctx, "other", ms), 0)
		})
		if got := b.c.Status().Spent; got != 10*ms {
			t.Errorf("Status().Spent = %v, want 10ms", got)
		}
	})
}

// What is inserted ends with the call, and not when the run's own goroutine gets to know.
func TestEndIsAtOnce(t *testing.T) {
	for _, mode := range []string{"dilation", "overlap"} {
		r, err := engine.NewRun(mustParse(t, "mode: "+mode), engine.Settings{Caps: wide, Allowed: plan.DefaultAllowed()}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		r.Cancel = func(error) {}
		r.Regions = []profile.Region{{Name: "region"}}
		r.Begin(experiment.Arm{Speedup: 0.5})
		if r.Influence.Load() == nil {
			t.Errorf("%s: nothing is in force", mode)
		}
		r.End(admission.RuleTotal)
		if r.Influence.Load() != nil || virtualtime.Current.Load() != nil {
			t.Errorf("%s: it is still in force", mode)
		}
	}
}

// A sleep in the kernel cannot be woken up; it is a chain of short ones instead.
func TestStopEndsSleepsInFlight(t *testing.T) {
	const sleepers = 8
	b := newLiveBench(t)
	s := newStopping(sleepers)
	b.run.Sleep = s.waiting(clock.Sleep)
	indebt(t, b, 700*time.Millisecond)
	var ended sync.WaitGroup
	for range sleepers {
		ended.Go(func() {
			_, s := b.tr.Start(context.Background(), "other")
			s.End()
		})
	}
	s.stops(t, b.c, sleepers, 500*time.Millisecond, &ended)
}

// Ten thousand goroutines owe something when the plan is stopped: none pays any more, and their
// ledgers go.
func TestTenThousandGoroutines(t *testing.T) {
	const n = 10_000
	virtualtime.Books.Clear(clock.Now())
	before := knownLedgers()
	b := newLiveBench(t)
	indebt(t, b, 5*time.Millisecond)
	var open, ended sync.WaitGroup
	leave := make(chan struct{})
	for range n {
		open.Add(1)
		ended.Go(func() {
			_, s := b.tr.Start(context.Background(), "other")
			open.Done()
			<-leave
			s.End()
		})
	}
	open.Wait()
	if got := knownLedgers(); got < n {
		t.Errorf("%d ledgers with %d spans open, want one for each goroutine", got, n)
	}
	close(leave)
	v := b.run.InForce().(*engine.Overlap)
	for v.Payers.Load() == 0 && v.Inserted.Load() == 0 {
		time.Sleep(100 * time.Microsecond)
	}
	b.c.StopPlan("enough")
	ended.Wait()
	inserted := v.Inserted.Load()
	t.Logf("%d of %d had paid when the plan was stopped", inserted, n)
	for range n {
		ended.Go(func() {
			_, s := b.tr.Start(context.Background(), "other")
			s.End()
		})
	}
	ended.Wait()
	if got := v.Inserted.Load(); got != inserted {
		t.Errorf("%d delays after StopPlan", got-inserted)
	}
	b.c.wait.Wait()
	virtualtime.Books.Clear(clock.Now())
	if got := knownLedgers(); got > before+100 {
		t.Errorf("%d ledgers when all goroutines have ended, want them gone: there were %d", got, before)
	}
}

// In an hour of experiments goroutines come and go: theirs do not add up.
func TestLedgersAreForgottenWhileAPlanRuns(t *testing.T) {
	for timing, most := range map[string]int{
		"timing: {warmup: 0s}": 150, // those of the last seconds
		"timing: {warmup: 0s, experiment: 5m, max_experiment: 10m}": 700, // those of the last minute
	} {
		inBubble(t, func(t *testing.T) {
			c := newController(t, unloaded)
			tr := newProvider(t, c).Tracer("t")
			r := force(t, c, mustParse(t, "mode: overlap", "regions: [{span: a}]", "progress: [{span: a, type: throughput}]", timing, wideLimits, calm))
			r.Sleep = sleepily
			virtualtime.Books.Clear(clock.Now())
			before := knownLedgers()
			got := 0
			for range 2500 { // four minutes
				got = max(got, knownLedgers()-before)
				elsewhere(func() {
					_, s := tr.Start(context.Background(), "a")
					time.Sleep(100 * ms)
					s.End()
				})
			}
			if got > most {
				t.Errorf("%s: %d ledgers after 2500 goroutines, one at a time: want at most %d", timing, got, most)
			}
		})
	}
}
