package causal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/internal/engine/requests"
	"github.com/otelprof/otelprof/causal/internal/record"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/naming/withheldcode"
	replaytrace "github.com/otelprof/otelprof/internal/replay/trace"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/spans"
)

// checkFutile checks that a plan has ended for a reason, by which all numbers are withheld, without
// any delay.
func checkFutile(t *testing.T, c *Controller, why profile.WithheldCode) {
	t.Helper()
	s := c.Status()
	if s.State != StateWithheld {
		t.Errorf("the plan is %s for %q, want withheld", s.State, s.Reason)
	}
	if want := []AuditKind{AuditReceived, AuditStarted, AuditKind(StateWithheld)}; !slices.Equal(kindsOf(s.Audit), want) {
		t.Errorf("the audit has %q, want %q", kindsOf(s.Audit), want)
	}
	p := c.Profile()
	if s.Spent != 0 || p.Experiments != 0 || p.Delay != 0 {
		t.Errorf("%d experiments and %v of delay, want none", p.Experiments, s.Spent)
	}
	if len(p.Curves) != 1 || len(p.Curves[0].Effects) != 2 {
		t.Fatalf("curves: %+v, want one of two speed-ups; notes %q", p.Curves, p.Notes)
	}
	for _, e := range p.Curves[0].Effects {
		if e.Withheld.Code != why || e.Withheld.String() != s.Reason {
			t.Errorf("at %g withheld as %q, want %q; the plan ended for %q", e.Speedup, e.Withheld.Code, why, s.Reason)
		}
	}
	if len(p.Notes) == 0 || !strings.HasPrefix(p.Notes[0], "the experiments have ended, withheld: ") {
		t.Errorf("notes %q, want first that the experiments have ended", p.Notes)
	}
}

// A plan whose warm-up shows waits of unknown cause ends before it delays anything, unless it sets
// force: then its numbers are withheld. One whose warm-up could not be recorded goes on, and says
// so.
func TestWaitsThatNothingTellsOfWithhold(t *testing.T) {
	if sched.Present {
		testutil.Lacks(t, "GO_BUILD", "the scheduler sees all waits in a program of otelprof build")
	}
	for _, tt := range []struct {
		name          string
		run           func(*testing.T, *crowd)
		force         bool
		err           error
		ends, refuses bool
	}{
		{name: "channel", run: plainPipeline, ends: true},
		{name: "channel, by force", run: plainPipeline, force: true, refuses: true},
		{name: "Chan", run: toldPipeline},
		{name: "channel that cannot be recorded", run: plainPipeline, err: record.ErrTraced},
	} {
		t.Run(tt.name, func(t *testing.T) {
			recorded := make(chan error, 1)
			c := newController(t, optionFunc(func(c config) config {
				record := c.Waits
				c.Waits = func(ctx context.Context, d time.Duration) (w replaytrace.Waits, err error) {
					defer func() { recorded <- err }()
					if tt.err != nil {
						return w, tt.err
					}
					return record(ctx, d)
				}
				return c
			}))
			tt.run(t, newCrowd(t, spans.WithHook(c.Hook())))
			if err := c.Apply(mustParse(t, "mode: overlap", `regions: [{span: produce}]`, "progress: [{span: item, type: throughput}]",
				"grid: {speedups: [25, 50]}", "timing: {warmup: 240ms, experiment: 20ms, cooloff: 0s, min_progress: 1}", fmt.Sprintf("force: %t", tt.force), wideLimits, calm)); err != nil {
				t.Fatal(err)
			}
			if err := <-recorded; tt.err == nil && errors.Is(err, record.ErrTraced) {
				testutil.Lacks(t, "TRACE", err.Error())
			}
			const why = withheldcode.UnknownWaits
			var p profile.Profile
			tells := func() bool { // a program that gets few processors has few spans in an experiment
				return p.Experiments >= 8 && len(p.Curves) == 1 && !slices.ContainsFunc(p.Curves[0].Effects, func(e profile.Effect) bool { return e.Withheld.Code == withheldcode.FewSpans })
			}
			for until := time.Now().Add(20 * time.Second); !tells() && c.Status().State == StateRunning && time.Now().Before(until); time.Sleep(20 * ms) {
				p = c.Profile()
			}
			if tt.ends {
				checkFutile(t, c, why)
				return
			}
			if len(p.Curves) != 1 || len(p.Curves[0].Effects) != 2 {
				t.Fatalf("%d experiments give no curve: %v", p.Experiments, p.Notes)
			}
			for _, e := range p.Curves[0].Effects {
				if (e.Withheld.Code == why) != tt.refuses {
					t.Errorf("withheld as %q, want for waits: %t", e.Withheld.Code, tt.refuses)
				}
			}
			if got := strings.Contains(fmt.Sprint(p.Notes), "the warm-up could not be recorded"); got != (tt.err != nil) {
				t.Errorf("the notes say that the warm-up could not be recorded: %t; %q", got, p.Notes)
			}
		})
	}
}

// serveRequests serves requests, one after the other, of which each calls the process itself, or
// some other one, so many times, and takes some time besides.
func serveRequests(ctx context.Context, tr trace.Tracer, calls int, itself bool, besides time.Duration) {
	for ctx.Err() == nil {
		ctx, root := tr.Start(ctx, "root", trace.WithNewRoot())
		for range calls {
			_, call := tr.Start(ctx, "call", trace.WithSpanKind(trace.SpanKindClient))
			if itself {
				_, answer := tr.Start(arrived(call), "answer", trace.WithSpanKind(trace.SpanKindServer))
				time.Sleep(ms)
				answer.End()
			} else {
				time.Sleep(ms)
			}
			call.End()
		}
		time.Sleep(besides)
		root.End()
	}
}

// A plan for a process that calls itself ends when the warm-up has shown it, or the first
// experiments where that begins later.
func TestCallsOfItselfEndAPlan(t *testing.T) {
	for _, tt := range []struct {
		name   string
		calls  int
		itself bool
		force  bool
		later  time.Duration // calls begin
		ends   bool
	}{
		{name: "calls itself", calls: 2, itself: true, ends: true},
		{name: "calls itself, by force", calls: 2, itself: true, force: true},
		{name: "calls others", calls: 2},
		{name: "calls itself when the experiments have begun", calls: 2, itself: true, later: 3 * time.Second, ends: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				c := newController(t, unloaded)
				tr := newSDKTracer(t, c)
				run := force(t, c, mustParse(t, "mode: overlap", "regions: [{span: call}]", "grid: {speedups: [25, 50]}", "timing: {warmup: 1s, experiment: 500ms, cooloff: 0s}",
					fmt.Sprintf("force: %t", tt.force), wideLimits, calm))
				run.Sleep = sleepily
				ctx, stop := context.WithCancel(t.Context())
				var served sync.WaitGroup
				for i := range 2 {
					besides := time.Duration(7+6*i) * ms // or both would always be in the region together
					served.Go(func() {
						if tt.later > 0 {
							first, cancel := context.WithTimeout(ctx, tt.later)
							serveRequests(first, tr, tt.calls, false, besides)
							cancel()
						}
						serveRequests(ctx, tr, tt.calls, tt.itself, besides)
					})
				}
				time.Sleep(20 * time.Second)
				switch {
				case tt.ends && tt.later == 0:
					checkFutile(t, c, withheldcode.CallsItself)
				case tt.ends:
					if s := c.Status(); s.State != StateWithheld {
						t.Errorf("the plan is %s for %q, want withheld", s.State, s.Reason)
					}
					p := c.Profile()
					for _, e := range p.Curves[0].Effects {
						if e.Withheld.Code != withheldcode.CallsItself {
							t.Errorf("at %g: withheld as %q", e.Speedup, e.Withheld.Code)
						}
					}
				default:
					if s := c.Status(); s.State != StateRunning || s.Spent == 0 {
						t.Errorf("the plan is %s for %q, and has spent %v, want it to run", s.State, s.Reason, s.Spent)
					}
				}
				stop()
				served.Wait()
				c.StopPlan("enough")
			})
		})
	}
}

// Few calls of itself, for the visits that there are, are no reason to end.
func TestFewCallsOfItselfEndNoPlan(t *testing.T) {
	for _, tt := range []struct {
		calls, visits uint64
		ends          bool
	}{{0, 0, false}, {100, 0, false}, {9, 9, false}, {10, 9, true}, {19, 1000, false}, {20, 1000, true}} {
		run := &engine.Run{Plan: &plan.Plan{}, Progress: make([]experiment.VisitCounter, 2), Answered: requests.Answered.Load() - tt.calls}
		run.Progress[1].Last.Count = tt.visits
		if calls, _ := run.OwnCalls(); (calls > 0) != tt.ends {
			t.Errorf("%d calls for %d visits: surely too many is %t, want %t", tt.calls, tt.visits, calls > 0, tt.ends)
		}
	}
}
