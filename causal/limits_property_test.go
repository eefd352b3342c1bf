package causal

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	"pgregory.net/rapid"

	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/causal/internal/engine/admission"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
	"github.com/otelprof/otelprof/internal/testutil/thorough"
	"github.com/otelprof/otelprof/spans"
)

// A trial is a plan, and a program whose clock, source and operator do as they like meanwhile.
type trial struct {
	mode                     profile.Mode
	opens, life              time.Duration // since the plan was applied
	warmup, experiment       time.Duration
	limits, caps             plan.Limits
	lease, renewed           time.Duration // zero for none; how long it is renewed
	stepAt, step             time.Duration // of the wall clock
	stopAt                   time.Duration
	workers, fanOut          int
	work, between, overshoot time.Duration
	timeout                  time.Duration // of the workers' contexts, zero for none
	recorded                 bool
}

func drawTrial(t *rapid.T) trial {
	duration := func(name string, lo, hi time.Duration) time.Duration {
		return time.Duration(rapid.Int64Range(int64(lo), int64(hi)).Draw(t, name))
	}
	limits := func(name string) plan.Limits {
		return plan.Limits{
			PerSpan:  plan.Duration(duration(name+".per_span", 500*time.Microsecond, 10*ms)),
			PerTrace: plan.Duration(duration(name+".per_trace", ms, 25*ms)),
			Duty:     plan.Percent(rapid.Float64Range(0.01, 1).Draw(t, name+".duty")),
			Total:    plan.Duration(duration(name+".total", 5*ms, 500*ms)),
		}
	}
	some := func(name string, d time.Duration) time.Duration { // a quarter of them has it
		if rapid.SampledFrom([]bool{false, true, false, false}).Draw(t, name) {
			return d
		}
		return 0
	}
	return trial{
		mode:  rapid.SampledFrom([]profile.Mode{profile.ModeSlowdown, profile.ModeOverlap, profile.ModeDilation}).Draw(t, "mode"),
		opens: some("waits", duration("opens", 0, 100*ms)), life: duration("life", 100*ms, 400*ms),
		warmup: duration("warmup", 0, 20*ms), experiment: duration("experiment", 10*ms, 80*ms),
		limits: limits("plan"), caps: limits("caps"),
		lease: some("has a lease", duration("lease", 10*ms, 200*ms)), renewed: duration("renewed", 0, 300*ms),
		stepAt: duration("step at", 0, 400*ms), step: some("steps", duration("step", -500*ms, 500*ms)),
		stopAt:  duration("stop at", 100*ms, 500*ms),
		workers: rapid.IntRange(1, 3).Draw(t, "workers"), fanOut: rapid.IntRange(0, 4).Draw(t, "fan-out"),
		work: duration("work", 200*time.Microsecond, 3*ms), between: duration("between", 2*ms, 8*ms),
		overshoot: duration("overshoot", 0, 100*time.Microsecond),
		timeout:   some("has a deadline", duration("timeout", 5*ms, 40*ms)),
		recorded:  rapid.Bool().Draw(t, "recorded"),
	}
}

// An onlooker sees every delay from outside.
type onlooker struct {
	trial
	began     time.Time
	mu        sync.Mutex
	inserted  []insertion
	stopped   time.Time // when StopPlan returned
	lastRenew time.Time
	broken    []error
}

type insertion struct {
	start, end time.Time
	want       time.Duration
}

func (w *onlooker) that(ok bool, format string, args ...any) {
	if ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = append(w.broken, fmt.Errorf(format, args...))
}

// wall is the wall clock that is set once.
func (w *onlooker) wall(t time.Time) time.Time {
	if t.Sub(w.began) >= w.stepAt {
		t = t.Add(w.step)
	}
	return t.Round(0)
}

// wait is how delays pass: a little late, and with a look at valid every millisecond.
func (w *onlooker) wait(_ int64, d time.Duration, valid func() bool) time.Duration {
	began := time.Now()
	for left := d + w.overshoot; left > 0 && valid(); left = d + w.overshoot - time.Since(began) {
		time.Sleep(min(left, ms))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if end := time.Now(); end.After(began) {
		w.inserted = append(w.inserted, insertion{began, end, d})
	}
	return time.Since(began)
}

// held is what an end of a span or an Unlock took in which nothing but delays takes time.
func (w *onlooker) held(ctx context.Context, what string, d time.Duration) time.Duration {
	limit := min(w.limits.PerSpan, w.caps.PerSpan)
	w.that(d <= time.Duration(limit)+quantum*w.overshoot, "%s is held up for %v: limits.per_span is %v", what, d, limit)
	if deadline, ok := ctx.Deadline(); ok && d > 0 {
		w.that(time.Now().Before(deadline.Add(w.overshoot)), "%s is held up for %v until after its deadline", what, d)
	}
	return d
}

// quantum is how many delays of one span there may be, each too long by the overshoot.
const quantum = 20

// request is a trace: a root, children side by side, and a lock that they share.
func (w *onlooker) request(tr trace.Tracer, lock *bubbleLock) {
	ctx := context.Background()
	if w.timeout > 0 {
		timed, cancel := context.WithTimeout(ctx, w.timeout)
		defer cancel()
		ctx = timed
	}
	var mu sync.Mutex
	total := time.Duration(0)
	end := func(name string, s trace.Span) {
		before := time.Now()
		s.End()
		d := w.held(ctx, name, time.Since(before))
		mu.Lock()
		total += d
		mu.Unlock()
	}
	rooted, root := tr.Start(ctx, "root")
	var children sync.WaitGroup
	for i := range w.fanOut {
		children.Go(func() {
			_, s := tr.Start(rooted, "child")
			time.Sleep(w.work / time.Duration(1+i%2))
			end("child", s)
		})
	}
	_, s := tr.Start(rooted, "step")
	lock.Lock()
	time.Sleep(w.work / 4)
	before := time.Now()
	lock.Unlock()
	d := w.held(ctx, "Unlock", time.Since(before))
	end("step", s)
	children.Wait()
	end("root", root)
	limit := min(w.limits.PerTrace, w.caps.PerTrace)
	w.that(total+d <= time.Duration(limit)+time.Duration(quantum*(w.fanOut+3))*w.overshoot, "a trace is delayed by %v: limits.per_trace is %v", total+d, limit)

	_, probe := tr.Start(ctx, "GET /healthz")
	time.Sleep(100 * time.Microsecond)
	before = time.Now()
	probe.End()
	w.that(time.Since(before) == 0, "a health check is delayed by %v", time.Since(before))
}

// try carries the trial out and returns what it breaks.
func (w *onlooker) try(t *testing.T) error {
	c := newController(t, WithExperiments(w.caps), unloaded, optionFunc(func(c config) config { c.Wall = w.wall; return c }))
	tp := newProvider(t, c, spans.WithSessionFilter(func(context.Context, string) bool { return w.recorded }))
	w.began = time.Now()
	opens, expires := w.began.Add(w.opens), w.began.Add(w.opens+w.life)
	format := func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
	p := mustParse(t, "mode: "+string(w.mode), "not_before: "+format(opens), "expires_at: "+format(expires),
		`regions: [{span: child}, {span: step}]`, "grid: {speedups: [0, 50, 80], zero_weight: 0.2}", calm,
		fmt.Sprintf("timing: {warmup: %v, experiment: %v, cooloff: 0s, min_progress: 1}", w.warmup, w.experiment))
	p.Limits = w.limits
	source := Source{Name: "test", Lease: w.lease}
	c.StopPlanFrom(source, "there is none yet")
	if err := c.ApplyFrom(source, p); err != nil {
		return err
	}
	r := c.run.Load()
	r.Spin, r.Compute, r.Sleep = w.wait, w.wait, w.wait // no span has ended yet

	var wg sync.WaitGroup
	lock := newBubbleLock()
	end := w.began.Add(min(w.opens+w.life, w.stopAt) + 20*ms)
	for range w.workers {
		wg.Go(func() {
			for time.Now().Before(end) {
				w.request(tp.Tracer("t"), lock)
				time.Sleep(w.between)
			}
		})
	}
	wg.Go(func() {
		for w.lastRenew = w.began; w.lease > 0 && time.Since(w.began) < w.renewed; {
			c.Renew(source)
			w.lastRenew = time.Now()
			time.Sleep(w.lease / 3)
		}
	})
	time.Sleep(w.stopAt)
	c.StopPlan("enough")
	w.stopped = time.Now()
	wg.Wait()
	w.check(c.Status(), opens, expires)
	return errors.Join(w.broken...)
}

func (w *onlooker) check(s Status, opens, expires time.Time) {
	total := time.Duration(0)
	for _, i := range w.inserted {
		total += i.end.Sub(i.start)
		at := func(t time.Time) time.Duration { return t.Sub(w.began) }
		w.that(!i.start.Before(opens) && !w.wall(i.start).Before(opens), "a delay begins after %v, before the window", at(i.start))
		w.that(i.start.Before(expires) && w.wall(i.start).Before(expires), "a delay begins after %v, behind the window", at(i.start))
		// The clock is looked at every 100 ms, and valid every millisecond.
		w.that(!i.end.After(expires.Add(engine.Tick+ms)), "a delay ends %v after the window", i.end.Sub(expires))
		w.that(!i.start.After(w.stopped), "a delay begins after StopPlan")
		w.that(!i.end.After(w.stopped.Add(ms)) || w.stopped.Before(i.start), "a delay ends %v after StopPlan", i.end.Sub(w.stopped))
		if w.lease > 0 {
			w.that(!i.start.After(w.lastRenew.Add(w.lease)), "a delay begins after %v, and the lease ended after %v", at(i.start), at(w.lastRenew.Add(w.lease)))
		}
	}
	if limit := time.Duration(min(w.limits.Total, w.caps.Total)); total > limit+time.Duration(w.workers*(w.fanOut+2))*w.overshoot {
		w.that(false, "%v inserted: limits.total is %v", total, limit)
	}
	w.that(s.Spent == total, "Status().Spent = %v, want %v", s.Spent, total)
	w.checkDuty()
}

// checkDuty takes 100 ms from the beginning of each delay on: they have no more than limits.duty of
// it.
func (w *onlooker) checkDuty() {
	slices.SortFunc(w.inserted, func(a, b insertion) int { return a.start.Compare(b.start) })
	most := admission.PerWindow(admission.DutyRate(min(w.limits.Duty, w.caps.Duty), runtime.GOMAXPROCS(0)))
	for i, first := range w.inserted {
		sum, ends := time.Duration(0), first.start.Add(sched.DutyWindow)
		for _, d := range w.inserted[i:] {
			if !d.start.Before(ends) {
				break
			}
			sum += min(d.want, ends.Sub(d.start))
		}
		if sum > most {
			w.that(false, "%v in 100 ms: limits.duty allows %v", sum, most)
			return
		}
	}
}

// For any plan and any events meanwhile: no limit is exceeded by more than a wait is too long by,
// and no delay begins outside of the window, the lease, or after StopPlan.
func TestRandomPlansKeepTheirLimits(t *testing.T) {
	setFlag(t, "rapid.checks", strconv.Itoa(thorough.Of(1000, 120)))
	setFlag(t, "rapid.nofailfile", "true")
	delayed := map[profile.Mode]int{}
	rapid.Check(t, func(rt *rapid.T) {
		w := &onlooker{trial: drawTrial(rt)}
		var err error
		inBubble(t, func(t *testing.T) { err = w.try(t) })
		if err != nil {
			rt.Fatalf("%+v\n%v", w.trial, err)
		}
		if len(w.inserted) > 0 {
			delayed[w.mode]++
		}
	})
	t.Logf("plans that delayed something: %v", delayed)
	if testing.Short() { // a fifth of the plans, by which a mode may have none
		return
	}
	for _, mode := range []profile.Mode{profile.ModeSlowdown, profile.ModeOverlap, profile.ModeDilation} {
		if delayed[mode] == 0 {
			t.Errorf("no plan of mode %s delayed anything, so none was tried", mode)
		}
	}
}

func setFlag(t *testing.T, name, value string) {
	t.Helper()
	before := flag.Lookup(name).Value.String()
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = flag.Set(name, before) })
}
