package viewer

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/explain"
)

func (f *fakeExperiments) Timeline() causal.Timeline { return f.timeline }

func (f *fakeExperiments) CheckFrom(causal.Source, *plan.Plan) error { return f.refuse }

const checkPath = "/api/v1/causal/plan/check"

// A plan's effects are described in words, and nothing is done.
func TestCheckPlan(t *testing.T) {
	c, err := causal.NewController(causal.WithExperiments(plan.Limits{
		PerSpan: plan.Duration(time.Millisecond), PerTrace: plan.Duration(time.Second), Duty: 0.5, Total: plan.Duration(7 * time.Second),
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Shutdown(context.Background()) }()
	h := testHandler(t, c, WithToken(testToken)) // which it does not need
	type answer struct {
		Plan    *plan.Plan
		Limits  plan.Limits
		Lines   []explain.Line
		Cost    string
		Refused string
	}
	got := decode[answer](t, ask(t, h, "POST", checkPath, testPlan("p1")), 200)
	if got.Plan == nil || got.Plan.ID != "p1" || len(got.Lines) < 15 || got.Lines[0].Title != "plan" || got.Refused != "" {
		t.Errorf("answer %+v", got)
	}
	if !strings.HasPrefix(got.Cost, "delays at most 7s in total within ") {
		t.Errorf("cost %q", got.Cost)
	}
	checkEqual(t, "limits", got.Limits, plan.Limits{PerSpan: plan.Duration(time.Millisecond), PerTrace: plan.Duration(25 * time.Millisecond), Duty: 0.05, Total: plan.Duration(7 * time.Second)})
	for what, doc := range map[string]string{"": testPlan("p1"), "the plan is for service": strings.Replace(testPlan("p2"), `"mode"`, `"target":{"service":"other"},"mode"`, 1)} {
		if got := decode[answer](t, ask(t, h, "POST", checkPath, doc), 200); !strings.Contains(got.Refused, what) || (what == "") != (got.Refused == "") {
			t.Errorf("refused %q, want %q", got.Refused, what)
		}
	}
	decode[planJSON](t, ask(t, h, "PUT", "/api/v1/causal/plan", testPlan("p1"), bearer(testToken)), 200)
	if got := decode[answer](t, ask(t, h, "POST", checkPath, testPlan("p1")), 200); !strings.Contains(got.Refused, "generation 1: must be above 1") {
		t.Errorf("the same generation again: refused %q", got.Refused)
	}
	events := len(c.Status().Audit)
	errorOf(t, ask(t, h, "POST", checkPath, "nonsense"), 422)
	if s := c.Status(); s.State != causal.StateRunning || len(s.Audit) != events {
		t.Errorf("state %s after checks, %d events, want it running and %d", s.State, len(s.Audit), events)
	}
}

func TestCheckPlanProblems(t *testing.T) {
	e := &fakeExperiments{}
	h := testHandler(t, e)
	got := decode[problemsJSON](t, ask(t, h, "POST", checkPath, strings.Replace(testPlan("x"), `"mode"`, `"limits":{"duty":"150%"},"mode"`, 1)), 422)
	checkEqual(t, "problems", got.Problems, plan.Errors{{Line: 1, Field: "limits.duty", Text: "limits.duty 150%: must be in (0%, 100%]"}})
	if !strings.Contains(got.Error, "limits.duty 150%") {
		t.Errorf("error %q", got.Error)
	}
	checkEqual(t, "error", errorOf(t, ask(t, h, "POST", checkPath, strings.Repeat(" ", maxBodyBytes+1)), 413), "plan: must have at most 65536 bytes")
	errorOf(t, ask(t, h, "POST", checkPath, testPlan("x"), header("Sec-Fetch-Site", "cross-site")), 403)
	errorOf(t, ask(t, h, "POST", checkPath, testPlan("x"), host("evil.example")), 403)
	if a := ask(t, h, "GET", checkPath, ""); a.code != 405 || a.header.Get("Allow") != "POST" {
		t.Errorf("GET: %d, Allow %q", a.code, a.header.Get("Allow"))
	}
	checkEqual(t, "applied, rejected and stopped", len(e.applied)+len(e.rejected)+len(e.stopped), 0)
}

// As many experiments as there may be, with as many progress points and reasons as long as they
// get.
func TestTimelineIsBounded(t *testing.T) {
	name := strings.Repeat("a", 256)
	line := causal.Timeline{PlanID: "p1", Mode: profile.ModeOverlap, Started: testStart, Earlier: 7}
	for range 64 {
		line.Regions = append(line.Regions, profile.Region{Scope: name, Name: name})
	}
	values := make([]time.Duration, 16)
	for i := range values {
		line.Progress = append(line.Progress, plan.ProgressPoint{Span: name, Type: plan.TypeThroughput})
		values[i] = 23*time.Hour + 59*time.Minute + 59*time.Second + 999999999
	}
	for i := range 500 { // the most that a timeline has
		line.Experiments = append(line.Experiments, causal.Experiment{
			At: time.Hour, Settled: time.Minute, Took: 10 * time.Minute, Speedup: 0.25, Region: i % 64, Delay: time.Hour, Values: values,
			Rejected: "something else has happened: the experiments without delay before and after it differ too much",
		})
	}
	e := &fakeExperiments{timeline: line}
	a := ask(t, testHandler(t, e), "GET", "/api/v1/causal/experiments", "")
	got := decode[causal.Timeline](t, a, 200)
	checkEqual(t, "timeline", got, line)
	if len(a.body) > 512<<10 {
		t.Errorf("the answer has %d bytes, want at most 512 KiB", len(a.body))
	}
	t.Logf("%d bytes", len(a.body))
}
