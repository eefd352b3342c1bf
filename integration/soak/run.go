package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/otelprof/otelprof"
	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
)

// caps are those of the program: the plans' own limits are tighter.
var caps = plan.Limits{
	PerSpan: plan.Duration(20 * time.Millisecond), PerTrace: plan.Duration(100 * time.Millisecond),
	Duty: 0.5, Total: plan.Duration(time.Minute),
}

// over is what the service prints when it has no more plans: clients leave before it closes.
const over = "# plans are over"

// serve is the service's process: it prints where it listens, has plans run for a time, prints what
// became of the claims, and reports whether all hold.
func serve(d time.Duration, seed uint64, out io.Writer) (held bool, err error) {
	ctx := context.Background()
	prof, err := otelprof.Setup(ctx, otelprof.WithExperiments(caps))
	if err != nil {
		return false, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		_ = prof.Shutdown(ctx) // the Collector stalls
	}()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {})) // as do its errors
	w := &watch{controller: prof.Causal()}
	s := &service{books: newBooks(w.late), lock: newLock(sched.Present)}
	end, err := s.listen()
	if err != nil {
		return false, err
	}
	fmt.Fprintln(out, s.url)
	memory := &memory{}
	began := time.Now()
	rng := rand.New(rand.NewPCG(seed, 0))
	for n := 0; time.Since(began) < d; n++ {
		plan, life, err := randomPlan(rng, n)
		if err == nil {
			s.books.begins(plan)
			err = w.begin(plan)
		}
		if err != nil {
			return false, errors.Join(err, end())
		}
		if rng.IntN(4) == 0 {
			life /= 2 // and is stopped
		}
		w.until(time.Now().Add(life))
		w.end()
		if time.Since(began) > d/4 {
			memory.look()
		}
	}
	fmt.Fprintln(out, over)
	time.Sleep(300 * time.Millisecond) // clients leave
	if err := end(); err != nil {
		return false, err
	}
	time.Sleep(200 * time.Millisecond) // streams end
	return report(out, s.books, w, memory), nil
}

// mode is how delays are handed over in this process.
func mode() string {
	if sched.Present {
		return "runtime"
	}
	return "library"
}

func report(out io.Writer, b *books, w *watch, m *memory) (held bool) {
	held = true
	claim := func(name string, ok bool, format string, args ...any) {
		held = held && ok
		fmt.Fprintf(out, "soak mode=%s claim=%s ok=%t %s\n", mode(), name, ok, fmt.Sprintf(format, args...))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	seen := func(name string, c tally, least int) {
		claim(name, c.broken == 0 && c.seen >= least, "seen=%d broken=%d worst=%v of=%v", c.seen, c.broken, c.worst, c.of)
	}
	seen("per_trace", b.requests, 100)
	seen("streams", b.streams, 1)
	seen("health", b.health, 10)
	if sched.Present {
		seen("idle", b.idle, 100)
	}
	seen("duty", w.duty, 1)
	seen("total", w.total, 1)
	claim("memory", m.flat(), "%s", m)
	claim("work", w.spent > 0 && w.experiments > 0, "plans=%d experiments=%d thrown_away=%d delay=%v too_long_by=%v", w.plans, w.experiments, w.rejected, w.spent.Round(time.Millisecond), w.late().sum().Round(time.Microsecond))
	return held
}

// A watch has plans run and looks at what they spend.
type watch struct {
	controller *causal.Controller

	mu      sync.Mutex
	earlier time.Duration // late, of plans that have ended

	plan *plan.Plan

	duty, total tally
	spent       time.Duration
	plans       int
	experiments int
	rejected    int

	samples []sample // of the plan in force
	past    time.Duration
	latest  time.Duration
}

// A sample is what had been spent at some moment between two times, and by how much delays had been
// too long at these.
type sample struct {
	before, after         int64
	spent                 time.Duration
	lateBefore, lateAfter time.Duration
}

// late is by how much all delays until now were longer than they were to be.
func (w *watch) late() lateness {
	w.mu.Lock()
	defer w.mu.Unlock()
	late := lateness{sched.Late(), w.earlier}
	if w.plan != nil && !w.scheduled() {
		late.controlled += w.controller.Status().Late
	}
	return late
}

// scheduled reports whether the scheduler makes the delays of the plan in force.
func (w *watch) scheduled() bool { return sched.Present && w.plan.Mode == profile.ModeOverlap }

func (w *watch) begin(p *plan.Plan) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.plan != nil && !w.scheduled() {
		w.earlier += w.controller.Status().Late
	}
	w.plan, w.samples, w.past, w.latest = p, nil, 0, 0
	w.plans++
	return w.controller.Apply(p)
}

func (w *watch) until(end time.Time) {
	defer sched.Exempt()()
	for time.Now().Before(end) {
		w.look()
		time.Sleep(5 * time.Millisecond)
	}
}

// look takes a sample. The scheduler counts for each experiment anew, and at once; the controller a
// few milliseconds later.
func (w *watch) look() {
	before, late := clock.Now(), w.late().sum()
	var spent time.Duration
	if w.scheduled() {
		now := sched.Read().Spent
		if now < w.latest/2 { // a little less is what a delay was too short by
			w.past += w.latest
		}
		w.latest = now
		spent = w.past + now
	} else {
		spent = w.controller.Status().Spent
	}
	w.samples = append(w.samples, sample{before, clock.Now(), spent, late, w.late().sum()})
}

// end holds the plan against its limits.
func (w *watch) end() {
	w.look()
	w.controller.StopPlan("the next one")
	status, profile := w.controller.Status(), w.controller.Profile()
	w.spent += status.Spent
	w.experiments += profile.Experiments
	w.rejected += profile.Rejected
	w.total.see(status.Spent, time.Duration(status.Limits.Total)+status.Late)
	most := time.Duration(float64(status.Limits.Duty) * float64(runtime.GOMAXPROCS(0)) * float64(sched.DutyWindow))
	first := 0
	for _, last := range w.samples {
		for time.Duration(last.after-w.samples[first].before) > sched.DutyWindow {
			first++
		}
		w.duty.see(last.spent-w.samples[first].spent, most+last.lateAfter-w.samples[first].lateBefore)
	}
}
