package causal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/internal/plantest"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/internal/naming"
)

func process(service, env, id string) Option {
	return WithResource(resource.NewSchemaless(
		attribute.String("service.name", service),
		attribute.String("deployment.environment.name", env),
		attribute.String("service.instance.id", id),
	))
}

// state fails the test unless the controller is in this state for this reason.
func state(t *testing.T, c *Controller, want State, reason string) {
	t.Helper()
	if s := c.Status(); s.State != want || s.Reason != reason {
		t.Errorf("Status() = %s, %q, want %s, %q", s.State, s.Reason, want, reason)
	}
}

func TestOptIn(t *testing.T) {
	for _, tt := range []struct {
		name string
		env  string
		opts []Option
		want bool
	}{
		{"by default", "", nil, false},
		{"the environment does not opt in", "on", nil, false},
		{"the program does", "", []Option{WithExperiments(wide)}, true},
		{"both do", "on", []Option{WithExperiments(wide)}, true},
		{"the environment wins", "off", []Option{WithExperiments(wide)}, false},
		{"in capitals", "OFF", []Option{WithExperiments(wide)}, false},
		{"as in other programs", "false", []Option{WithExperiments(wide)}, false},
		{"as a number", "0", []Option{WithExperiments(wide)}, false},
		{"with a typo", "of", []Option{WithExperiments(wide)}, false},
		{"in other words", "TRUE", []Option{WithExperiments(wide)}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv(naming.EnvExperiments, tt.env)
			c, err := NewController(tt.opts...)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Shutdown(context.Background()) }()
			state(t, c, StateIdle, "")
			err = c.Apply(mustParse(t, idle))
			s := c.Status()
			if s.Enabled != tt.want || (err == nil) != tt.want || !tt.want && !errors.Is(err, ErrDisabled) {
				t.Errorf("Apply = %v, Status().Enabled = %t, want enabled: %t", err, s.Enabled, tt.want)
			}
			if tt.want {
				state(t, c, StateRunning, "")
				return
			}
			state(t, c, StateIdle, "")
			want := "causal: experiments are off: the program must opt in, by OTELPROF_EXPERIMENTS=on (otelprof.Setup, Wrap) or WithExperiments; off forbids it"
			if s.LastError != want || c.run.Load() != nil {
				t.Errorf("Status().LastError = %q, want %q", s.LastError, want)
			}
		})
	}
}

func TestNewRefusesOptions(t *testing.T) {
	for _, tt := range []struct {
		env  string
		caps *plan.Limits
		want string
	}{
		{"", &plan.Limits{PerSpan: wide.PerSpan, PerTrace: wide.PerTrace, Duty: 0.05}, `causal: configuration: limits: total 0s: must be in [1µs, 24h0m0s]`},
		{"1", &plan.Limits{PerSpan: wide.PerSpan, PerTrace: wide.PerTrace, Duty: 2, Total: wide.Total}, "causal: configuration: limits: duty 200%: must be in (0%, 100%]"},
		{"", &plan.Limits{PerSpan: wide.PerSpan, PerTrace: wide.PerTrace, Duty: plan.Percent(math.NaN()), Total: wide.Total}, "causal: configuration: limits: duty NaN%: must be in (0%, 100%]"},
	} {
		t.Run(tt.want, func(t *testing.T) {
			t.Setenv(naming.EnvExperiments, tt.env)
			var opts []Option
			if tt.caps != nil {
				opts = append(opts, WithExperiments(*tt.caps))
			}
			c, err := NewController(opts...)
			if c != nil || !errors.Is(err, ErrConfig) || err.Error() != tt.want {
				t.Errorf("New = %v, %v, want %s", c, err, tt.want)
			}
		})
	}
	c, err := NewController(WithExperiments(plan.DefaultLimits()), WithLogger(nil))
	if err != nil {
		t.Fatalf("NewController(WithLogger(nil)) = %v, want none", err)
	}
	if err := c.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestTarget(t *testing.T) {
	for _, tt := range []struct {
		target string
		opts   []Option
		want   string // why not
	}{
		{"{}", nil, ""},
		{"{service: shop}", nil, `the plan is for service "shop", this is ""`},
		{"{service: shop}", []Option{process("shop", "prod", "1")}, ""},
		{"{service: shop}", []Option{process("bank", "prod", "1")}, `the plan is for service "shop", this is "bank"`},
		{"{env: prod}", []Option{process("shop", "prod", "1")}, ""},
		{"{env: prod}", []Option{process("shop", "test", "1")}, `the plan is for environment "prod", this is "test"`},
		{"{service: shop, env: prod, instances: {percent: 100}}", []Option{process("shop", "prod", "1")}, ""},
		{"{instances: {percent: 1e-9}}", []Option{process("shop", "prod", "1")}, "the plan is for 1e-09% of the instances, this one is not among them"},
		// Without an ID there is no telling the instances apart.
		{"{instances: {percent: 99.999999}}", nil, "the plan is for 99.999999% of the instances, this one has no service.instance.id"},
		{"{instances: {percent: 100}}", nil, ""},
	} {
		c := newController(t, tt.opts...)
		if err := c.Apply(mustParse(t, idle, "target: "+tt.target)); err != nil {
			t.Errorf("Apply with target %s = %v", tt.target, err)
		}
		want := StateRunning
		if tt.want != "" {
			want = StateIdle
		}
		state(t, c, want, tt.want)
	}
}

// A plan for others ends the one before all the same, and has spent nothing.
func TestPlanForOthersReplaces(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t, wide, nil)
		dilate(b.run, 1, experiment.SparesNone)
		b.want("by the first plan", b.span(context.Background(), "a", time.Millisecond), time.Millisecond)
		if err := b.c.Apply(mustParse(t, "id: other", "target: {service: bank}")); err != nil {
			t.Fatal(err)
		}
		b.want("by none", b.span(context.Background(), "a", time.Millisecond), 0)
		s := b.c.Status()
		if s.State != StateIdle || s.Plan.ID != "other" || s.Spent != 0 || s.Limits != wide {
			t.Errorf("Status() = %+v, want idle with the other plan, nothing spent and the caps", s)
		}
	})
}

// The IDs of a service's instances are often alike: they must not all fall on one side.
func TestShareIsUniform(t *testing.T) {
	ids := map[string]func(i int) string{
		"numbers":     func(i int) string { return fmt.Sprint(i) },
		"pods":        func(i int) string { return fmt.Sprintf("shop-%d", i) },
		"long prefix": func(i int) string { return fmt.Sprintf("shop-7d4b9c6f5d-eu-central-1-%04d", i) },
		"addresses":   func(i int) string { return fmt.Sprintf("10.0.%d.%d:8080", i/256, i%256) },
	}
	for name, id := range ids {
		for _, n := range []int{20, 2000} {
			for plan := range 20 {
				const bins = 4
				var count [bins]int
				for i := range n {
					s := share(fmt.Sprint("plan-", plan), id(i))
					if s < 0 || s >= 100 {
						t.Fatalf("share = %g, want it in [0, 100)", s)
					}
					if s != share(fmt.Sprint("plan-", plan), id(i)) {
						t.Fatal("share differs from call to call")
					}
					count[int(s*bins/100)]++
				}
				// Six standard deviations of a binomial of a quarter.
				mean := float64(n) / bins
				for _, got := range count {
					if math.Abs(float64(got)-mean) > 6*math.Sqrt(mean*0.75) {
						t.Errorf("%s: of %d instances %v fall into the quarters under plan %d", name, n, count, plan)
						break
					}
				}
			}
		}
	}
	if share("a", "bc") == share("ab", "c") {
		t.Error("share takes plan and instance as one text")
	}
}

func TestGeneration(t *testing.T) {
	c := newController(t)
	apply := func(id string, generation int, want error) {
		t.Helper()
		if err := c.Apply(mustParse(t, idle, "id: "+id, fmt.Sprint("generation: ", generation))); !errors.Is(err, want) {
			t.Errorf("Apply of generation %d = %v, want %v", generation, err, want)
		}
	}
	apply("a", 5, nil)
	state(t, c, StateRunning, "")
	apply("b", 5, ErrGeneration)
	state(t, c, StateStopped, "the next plan was rejected")
	if got, want := c.Status().LastError, "causal: stale plan: generation 5: must be above 5, the last one seen"; got != want {
		t.Errorf("Status().LastError = %q, want %q", got, want)
	}
	apply("c", 4, ErrGeneration)
	apply("d", 6, nil)
	apply("e", 0, nil) // its source counts changes
	apply("f", 6, ErrGeneration)
	apply("g", 7, nil)
	if got := c.Status().LastError; got != "" {
		t.Errorf("Status().LastError = %q after a good plan, want none", got)
	}
}

// The highest generation of one moment is below that of the next, so no plan has all after it
// refused.
func TestThereIsAHigherGeneration(t *testing.T) {
	c := newController(t)
	for _, id := range []string{"a", "b", "c"} {
		highest := time.Now().Add(plan.MaxLife).UnixNano()
		if err := c.Apply(mustParse(t, "id: "+id, fmt.Sprintf("generation: %d", highest))); err != nil {
			t.Errorf("Apply of generation %d = %v", highest, err)
		}
		time.Sleep(time.Millisecond)
	}
}

// Generations are counted for this service and environment: of a plan for other instances, but not
// of one for others.
func TestGenerationOfPlansForOthers(t *testing.T) {
	for target, want := range map[string]error{
		"target: {service: bank}":                                           nil,
		"target: {service: shop, env: staging}":                             nil,
		"target: {service: shop, env: production, instances: {percent: 1}}": ErrGeneration,
	} {
		c := newController(t, process("shop", "production", ""))
		if err := c.Apply(mustParse(t, "generation: 1700000000000000000", target)); err != nil {
			t.Fatal(err)
		}
		if err := c.Apply(mustParse(t, "id: b", "generation: 7")); !errors.Is(err, want) {
			t.Errorf("Apply of generation 7 after a plan with %s = %v, want %v", target, err, want)
		}
		if err := c.Apply(mustParse(t, "generation: 3", target)); want == nil && err != nil {
			t.Errorf("Apply of generation 3 with %s = %v, want none", target, err)
		}
	}
}

// A plan for another environment ends the plan of its own source, in whose place it is, and no
// other.
func TestPlanOfAnotherEnvironmentLeavesOthersRunning(t *testing.T) {
	c := newController(t, process("shop", "production", "1"))
	if err := c.ApplyFrom(Source{Name: "server"}, mustParse(t, idle, "id: ours", "generation: 7")); err != nil {
		t.Fatal(err)
	}
	foreign := mustParse(t, "id: theirs", "generation: 9", "target: {service: shop, env: staging}")
	if err := c.ApplyFrom(Source{Name: "file"}, foreign); err != nil {
		t.Fatal(err)
	}
	state(t, c, StateRunning, "")
	if err := c.ApplyFrom(Source{Name: "server"}, foreign); err != nil {
		t.Fatal(err)
	}
	if s := c.Status(); s.State != StateIdle {
		t.Errorf("Status() = %s, want idle: its own source replaced it", s.State)
	}
}

func TestSamePlanAgain(t *testing.T) {
	log := &recorder{}
	c := newController(t, WithLogger(slog.New(log)))
	doc := plantest.Document(idle, "generation: 3")
	apply := func(a Source) error {
		p, err := plan.Parse(doc)
		if err != nil {
			t.Fatal(err)
		}
		return c.ApplyFrom(a, p)
	}
	if err := apply(Source{Name: "api"}); err != nil {
		t.Fatal(err)
	}
	first := c.run.Load()
	c.audit.wait(time.Minute)
	log.take()
	if err := apply(Source{Name: "api"}); err != nil || c.run.Load() != first {
		t.Errorf("the same plan again = %v, or it starts anew", err)
	}
	c.audit.wait(time.Minute)
	if lines := log.take(); len(lines) != 0 {
		t.Errorf("the same plan again is logged: %q", lines)
	}
	if err := apply(Source{Name: "file"}); err != nil || c.run.Load() != first {
		t.Errorf("the same plan from elsewhere = %v, or it starts anew", err)
	}
	c.audit.wait(time.Minute)
	if lines := log.take(); len(lines) != 2 {
		t.Errorf("the same plan from elsewhere is logged as %q, want received and ignored", lines)
	}
	// Once it has ended it is not in force any more.
	c.StopPlan("test")
	if err := apply(Source{Name: "api"}); !errors.Is(err, ErrGeneration) {
		t.Errorf("the same plan after its end = %v, want %v", err, ErrGeneration)
	}
}

func TestApplyRefusesWhatHasExpiredSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newController(t)
		p := mustParse(t)
		time.Sleep(30 * time.Minute)
		if err := c.Apply(p); !errors.Is(err, plan.ErrInvalid) || !strings.Contains(err.Error(), "must be in the future") {
			t.Errorf("Apply after expires_at = %v, want %v", err, plan.ErrInvalid)
		}
		state(t, c, StateIdle, "")
	})
}

func TestReject(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t, wide, nil)
		dilate(b.run, 1, experiment.SparesNone)
		b.want("before", b.span(context.Background(), "a", time.Millisecond), time.Millisecond)
		b.c.Reject(Source{Name: "another"}, errors.New("not a plan"))
		b.want("after", b.span(context.Background(), "a", time.Millisecond), 0)
		state(t, b.c, StateStopped, "the next plan was rejected")
		if got := b.c.Status().LastError; got != "not a plan" {
			t.Errorf("Status().LastError = %q", got)
		}
		synctest.Wait()
		state(t, b.c, StateStopped, "the next plan was rejected")
		// Without a plan in force the state stays what it was.
		b.c.Reject(Source{Name: "another"}, errors.New("nor this"))
		state(t, b.c, StateStopped, "the next plan was rejected")
	})
}

func TestStopFrom(t *testing.T) {
	c := newController(t)
	if err := c.ApplyFrom(Source{Name: "one"}, mustParse(t, idle)); err != nil {
		t.Fatal(err)
	}
	c.StopPlanFrom(Source{Name: "two"}, "not mine")
	state(t, c, StateRunning, "")
	c.StopPlanFrom(Source{Name: "one"}, "mine")
	state(t, c, StateStopped, "mine")
	c.StopPlanFrom(Source{Name: "one"}, "again")
	state(t, c, StateStopped, "mine")
	c.StopPlan("and again")
	state(t, c, StateStopped, "mine")
}

func TestLease(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := newController(t)
		file := Source{Name: "file", Lease: 6 * time.Second}
		if err := c.ApplyFrom(file, mustParse(t, idle, "restart: true")); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			time.Sleep(5 * time.Second)
			c.Renew(file)
		}
		time.Sleep(5 * time.Second)
		state(t, c, StateRunning, "")
		c.Renew(Source{Name: "another", Lease: time.Hour}) // another source cannot renew
		time.Sleep(1200 * time.Millisecond)
		state(t, c, StateStopped, "the plan's source has not answered for the time of three polls")
		c.Renew(file) // too late
		state(t, c, StateStopped, "the plan's source has not answered for the time of three polls")
	})
}

// Between two looks at the clock, it is each single delay that asks for the lease.
func TestLeaseIsAskedForEachDelay(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t, wide, nil)
		dilate(b.run, 1, experiment.SparesNone)
		b.run.Guard.Renew(time.Now(), 10*time.Millisecond)
		b.want("within", b.span(context.Background(), "a", 5*time.Millisecond), 5*time.Millisecond)
		b.want("after", b.span(context.Background(), "a", time.Millisecond), 0)
		synctest.Wait()
		state(t, b.c, StateStopped, "the plan's source has not answered for the time of three polls")
		b.withheld(map[string]uint64{"lease": 1})
	})
}

func TestLifeOfAPlan(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := newController(t)
		state(t, c, StateIdle, "")
		began := time.Now()
		if err := c.Apply(mustParse(t,
			"not_before: "+began.Add(time.Minute).UTC().Format(time.RFC3339Nano),
			"expires_at: "+began.Add(10*time.Minute).UTC().Format(time.RFC3339Nano),
			calm,
		)); err != nil {
			t.Fatal(err)
		}
		says := func(want string) {
			t.Helper()
			synctest.Wait()
			if got := c.Status().Experiment; got != want {
				t.Errorf("Status().Experiment = %q, want %q", got, want)
			}
		}
		says("waiting for not_before")
		state(t, c, StateWaiting, "")
		time.Sleep(59 * time.Second)
		says("waiting for not_before")
		state(t, c, StateWaiting, "")
		time.Sleep(time.Second + time.Millisecond)
		says("warming up")
		state(t, c, StateRunning, "")
		time.Sleep(2 * time.Second)
		says("waiting for 1 root spans, to know what is normal before anything is delayed")
		tp := newProvider(t, c)
		_, s := tp.Tracer("t").Start(context.Background(), "job")
		s.End()
		time.Sleep(200 * time.Millisecond)
		if got := c.Status().Experiment; got == "" || strings.HasPrefix(got, "waiting") {
			t.Errorf("Status().Experiment = %q, want an experiment", got)
		}
		time.Sleep(time.Until(began.Add(10*time.Minute + engine.Tick)))
		synctest.Wait()
		state(t, c, StateExpired, "expires_at is over")
		says("")
		if p := c.Profile(); p.PlanID != "plan-1" || p.Ended.Sub(p.Started).Round(time.Second) != 10*time.Minute {
			t.Errorf("Profile() is of plan %q, from %v to %v", p.PlanID, p.Started, p.Ended)
		}
		if text, err := json.Marshal(c.Status()); err != nil || !strings.Contains(string(text), `"state":"expired"`) || !strings.Contains(string(text), `"reason":"expires_at is over"`) {
			t.Errorf("Marshal(Status()) = %s, %v", text, err)
		}
	})
}

// Nothing is delayed before not_before, even if spans end by then.
func TestNotBefore(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := newController(t)
		from := time.Now().Add(20 * time.Second)
		b := &bench{t, c, newProvider(t, c).Tracer("bench"), nil}
		b.run = force(t, c, mustParse(t, "not_before: "+from.UTC().Format(time.RFC3339Nano), "timing: {warmup: 0s}", wideLimits, calm))
		var early, late time.Duration
		for time.Now().Before(from.Add(time.Minute)) {
			d := b.span(context.Background(), "a", 10*time.Millisecond)
			if time.Now().Add(-d).Before(from) { // when it had ended
				early += d
			} else {
				late += d
			}
		}
		if early != 0 || late == 0 {
			t.Errorf("delayed by %v before not_before and %v after, want none and some", early, late)
		}
	})
}

// Check says what Apply would, and changes nothing.
func TestCheck(t *testing.T) {
	off, err := NewController()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = off.Shutdown(context.Background()) }()
	if err := off.Check(mustParse(t)); !errors.Is(err, ErrDisabled) {
		t.Errorf("Check() without the opt-in = %v, want %v", err, ErrDisabled)
	}
	c := newController(t)
	for i, tt := range []struct {
		lines string
		want  error
	}{
		{"generation: 7", nil},
		{"target: {service: other}", plan.ErrInvalid},
	} {
		if err := c.Check(mustParse(t, tt.lines)); !errors.Is(err, tt.want) {
			t.Errorf("%d: Check() = %v, want %v", i, err, tt.want)
		}
	}
	if s := c.Status(); s.State != StateIdle || s.Plan != nil || len(s.Audit) != 0 {
		t.Errorf("after Check: %s, plan %v, %d events; want nothing to have changed", s.State, s.Plan, len(s.Audit))
	}
	if err := c.Apply(mustParse(t, "generation: 7")); err != nil {
		t.Fatal(err)
	}
	if err := c.Check(mustParse(t, "generation: 7")); !errors.Is(err, ErrGeneration) {
		t.Errorf("Check() of the same generation = %v, want %v", err, ErrGeneration)
	}
	c.StopPlan("the test is over")
}
