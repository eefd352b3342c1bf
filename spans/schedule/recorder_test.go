package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"runtime/trace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace/noop"

	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/perf"
	"github.com/otelprof/otelprof/internal/traced/flight"
	"github.com/otelprof/otelprof/spans"
)

// recording returns a recorder that is on, and a tracer of scope "test" whose regions it follows.
func recording(t testing.TB, opts ...Option) (*Recorder, oteltrace.Tracer) {
	t.Helper()
	r, err := NewRecorder(opts...)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Shutdown(context.Background()) })
	return r, newTracer(t, r)
}

func newTracer(t testing.TB, r *Recorder) oteltrace.Tracer {
	t.Helper()
	tp := spans.WrapTracerProvider(noop.NewTracerProvider(), spans.WithHook(r.Hook()))
	t.Cleanup(func() { _ = tp.Shutdown(context.Background()) })
	return tp.Tracer("test")
}

// bounds are how long a region took at least and at most, by the clock.
type bounds struct{ inside, outside time.Duration }

// timed runs f in a region.
func timed(ctx context.Context, tr oteltrace.Tracer, name string, f func(ctx context.Context)) bounds {
	outside := time.Now()
	ctx, span := tr.Start(ctx, name)
	inside := time.Now()
	f(ctx)
	b := bounds{inside: time.Since(inside)}
	span.End()
	b.outside = time.Since(outside)
	return b
}

func snapshot(t testing.TB, r *Recorder) *Report {
	t.Helper()
	report, err := r.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func regionOf(t testing.TB, report *Report, name string) Region {
	t.Helper()
	region, ok := report.Region("test", name)
	if !ok {
		t.Fatalf("report has no region %q: %+v", name, report)
	}
	return region
}

// near fails unless the time is within the bounds, give or take 5 %.
func near(t *testing.T, what string, got time.Duration, want bounds) {
	t.Helper()
	t.Logf("%s: %v, by the clock %v to %v", what, got, want.inside, want.outside)
	if got < want.inside*95/100 || got > want.outside*105/100 {
		t.Errorf("%s: %v, want %v to %v, give or take 5 %%", what, got, want.inside, want.outside)
	}
}

// spun keeps this thread busy for so much CPU time, and returns what it used.
func spun(d time.Duration) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var u perf.Usage
	_ = perf.ThreadUsage(&u)
	for begin := u.CPU; ; {
		if _ = perf.ThreadUsage(&u); u.CPU-begin >= d {
			return u.CPU - begin
		}
	}
}

// TestSplitIsRight has each wait in a region of its own. A busy machine makes a goroutine wait for
// its turn after it; that is Runnable, and so the sum is what the clock says, and the wait is what
// it is known to have been at least.
func TestSplitIsRight(t *testing.T) {
	r, tr := recording(t)
	const wait = 150 * time.Millisecond
	// later does something after the wait, on another goroutine.
	later := func(do func()) {
		go func() { time.Sleep(wait); do() }()
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	waits := []struct {
		reason Reason
		do     func()
	}{
		{"sleep", func() { time.Sleep(wait) }},
		{"sync", func() {
			var mu sync.Mutex
			mu.Lock()
			later(mu.Unlock)
			mu.Lock()
			mu.Unlock() //nolint:staticcheck // it is the wait for it that counts
		}},
		{"cond", func() {
			var mu sync.Mutex
			c := sync.NewCond(&mu)
			mu.Lock()
			later(func() { mu.Lock(); c.Signal(); mu.Unlock() })
			c.Wait()
			mu.Unlock()
		}},
		{"chan receive", func() {
			c := make(chan int)
			later(func() { close(c) })
			<-c
		}},
		{"chan send", func() {
			c := make(chan int)
			later(func() { <-c })
			c <- 1
		}},
		{"select", func() {
			c, d := make(chan int), make(chan int)
			later(func() { close(c) })
			select {
			case <-c:
			case <-d:
			}
		}},
		{"network", func() {
			later(func() {
				if c, err := net.Dial("tcp", listener.Addr().String()); err == nil {
					c.Close()
				}
			})
			if c, err := listener.Accept(); err == nil {
				c.Close()
			}
		}},
	}
	took := map[Reason]bounds{}
	for _, w := range waits {
		took[w.reason] = timed(t.Context(), tr, string(w.reason), func(context.Context) { w.do() })
	}
	var used time.Duration
	spinning := timed(t.Context(), tr, "spin", func(context.Context) { used = spun(wait) })

	report := snapshot(t, r)
	t.Logf("window %v, %d bytes, %d events", report.Window, report.Bytes, report.Events)
	for _, w := range waits {
		region := regionOf(t, report, string(w.reason))
		near(t, string(w.reason)+" in all", region.Total.Sum(), took[w.reason])
		blocked := region.Total.Blocked[w.reason]
		near(t, string(w.reason), blocked+region.Total.Runnable+region.Total.Running, took[w.reason])
		if blocked < wait*95/100 {
			t.Errorf("blocked %v by %s, want %v at least", blocked, w.reason, wait)
		}
		if diff := cmp.Diff(region.Total, region.Self); diff != "" || region.Count != 1 {
			t.Errorf("%s: %d regions, want 1; Self differs from Total (-total +self):\n%s", w.reason, region.Count, diff)
		}
	}
	spin := regionOf(t, report, "spin").Total
	near(t, "spin in all", spin.Sum(), spinning)
	// A thread that the system has taken off its CPU runs all the same, as far as the scheduler
	// knows.
	if spin.Running < used*95/100 || spin.Running > spinning.outside*105/100 {
		t.Errorf("running %v, want between %v of CPU time and %v by the clock", spin.Running, used, spinning.outside)
	}
}

func TestSelfIsWithoutWhatIsAbove(t *testing.T) {
	r, tr := recording(t)
	const wait = 50 * time.Millisecond
	var inner bounds
	outer := timed(t.Context(), tr, "outer", func(ctx context.Context) {
		time.Sleep(wait)
		inner = timed(ctx, tr, "inner", func(ctx context.Context) {
			time.Sleep(wait)
			var elsewhere sync.WaitGroup
			elsewhere.Go(func() { timed(ctx, tr, "elsewhere", func(context.Context) { time.Sleep(wait) }) })
			elsewhere.Wait()
		})
		time.Sleep(wait)
	})
	report := snapshot(t, r)
	near(t, "outer, total", regionOf(t, report, "outer").Total.Sum(), outer)
	near(t, "outer, self", regionOf(t, report, "outer").Self.Sum(), bounds{outer.inside - inner.outside, outer.outside - inner.inside})
	near(t, "inner, total", regionOf(t, report, "inner").Total.Sum(), inner)
	near(t, "inner, self", regionOf(t, report, "inner").Self.Sum(), inner)
	// The wait for the other goroutine is the inner region's own.
	if got := regionOf(t, report, "inner").Self.Blocked["sync"]; got < wait*95/100 {
		t.Errorf("inner is blocked %v by %s, want %v at least", got, "sync", wait)
	}
	if got := regionOf(t, report, "elsewhere").Self.Blocked["sleep"]; got < wait*95/100 {
		t.Errorf("elsewhere is blocked %v by %s, want %v at least", got, "sleep", wait)
	}
}

// What goroutines do that a region has started is the region's: its waits for them are its own
// time, and others wait for it where these hold something.
func TestHelped(t *testing.T) {
	r, tr := recording(t)
	const wait = 50 * time.Millisecond
	var lock sync.Mutex
	var all sync.WaitGroup
	lock.Lock()
	all.Go(func() {
		timed(t.Context(), tr, "waits", func(context.Context) {
			time.Sleep(2 * wait)
			lock.Lock()
			lock.Unlock() //nolint:staticcheck // what matters is the wait
		})
	})
	timed(t.Context(), tr, "starts", func(context.Context) {
		var helpers sync.WaitGroup
		helpers.Go(func() {
			lock.Lock() // for one wait
			var below sync.WaitGroup
			below.Go(func() { time.Sleep(2 * wait) })
			below.Wait()
			lock.Unlock()
		})
		time.Sleep(wait)
		lock.Unlock()
		helpers.Wait()
	})
	all.Wait()
	report := snapshot(t, r)
	near(t, "helped", regionOf(t, report, "starts").Helped, bounds{2 * wait, 2*wait + wait/2})
	if got := regionOf(t, report, "starts").Awaited; got < wait/2 {
		t.Errorf("starts was awaited for %v, want %v at least", got, wait/2)
	}
	if got := regionOf(t, report, "waits"); got.Helped != 0 || got.Served > 2*wait {
		t.Errorf("waits was helped for %v and served for %v, want 0, and %v at most", got.Helped, got.Served, 2*wait)
	}
}

// What workers do that have no regions may be that of the region that waits for them, directly or
// by another goroutine.
func TestServed(t *testing.T) {
	r, tr := recording(t)
	const wait = 50 * time.Millisecond
	jobs := make(chan *sync.WaitGroup)
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for job := range jobs {
				time.Sleep(wait)
				job.Done()
			}
		})
	}
	gather := func() {
		var parts sync.WaitGroup
		parts.Add(2)
		jobs <- &parts
		jobs <- &parts
		parts.Wait()
	}
	timed(t.Context(), tr, "directly", func(context.Context) { gather() })
	timed(t.Context(), tr, "by another", func(context.Context) {
		var all sync.WaitGroup
		all.Go(gather)
		all.Wait()
	})
	close(jobs)
	workers.Wait()
	report := snapshot(t, r)
	for _, name := range []string{"directly", "by another"} {
		got := regionOf(t, report, name)
		near(t, name, got.Served, bounds{wait * 95 / 100, wait * 3 / 2})
		if got.Helped > wait/10 {
			t.Errorf("%s was helped for %v, want next to nothing", name, got.Helped)
		}
	}
}

// Who gives back a place before a region ends has been waited for since it began, unless by a
// goroutine that waits for work.
func TestAwaited(t *testing.T) {
	r, tr := recording(t)
	const wait = 50 * time.Millisecond
	place, work := make(chan int, 1), make(chan int)
	place <- 1
	var all sync.WaitGroup
	all.Go(func() { <-work })
	time.Sleep(wait) // for work, which the region was not there to give
	timed(t.Context(), tr, "holds", func(ctx context.Context) {
		all.Go(func() { timed(ctx, tr, "waits", func(context.Context) { place <- 2 }) })
		time.Sleep(wait)
		work <- 1
		<-place
		time.Sleep(wait)
	})
	timed(t.Context(), tr, "after", func(context.Context) { time.Sleep(wait) })
	<-place
	all.Wait()
	report := snapshot(t, r)
	if got := regionOf(t, report, "holds").Awaited; got < wait/2 || got > regionOf(t, report, "holds").Total.Sum()-wait {
		t.Errorf("others waited %v for what is given back after %v", got, wait)
	}
	for _, name := range []string{"waits", "after"} {
		if got := regionOf(t, report, name).Awaited; got != 0 {
			t.Errorf("others waited %v for %q, which gives nothing", got, name)
		}
	}
}

// What a timer calls holds a lock as any other goroutine does.
func TestAwaitedOfTimers(t *testing.T) {
	r, tr := recording(t)
	const wait = 50 * time.Millisecond
	var mu sync.Mutex
	var all sync.WaitGroup
	held := make(chan int)
	all.Add(1)
	time.AfterFunc(time.Millisecond, func() {
		defer all.Done()
		timed(context.Background(), tr, "called", func(context.Context) {
			mu.Lock()
			close(held)
			time.Sleep(2 * wait)
			mu.Unlock()
		})
	})
	<-held
	timed(t.Context(), tr, "waits", func(context.Context) {
		mu.Lock()
		mu.Unlock() //nolint:staticcheck // what is waited for is the lock alone
	})
	all.Wait()
	if got := regionOf(t, snapshot(t, r), "called").Awaited; got < wait {
		t.Errorf("others waited %v for the lock of what a timer calls, want more than %v", got, wait)
	}
}

func TestRegionsOutsideTheSums(t *testing.T) {
	r, err := NewRecorder()
	if err != nil {
		t.Fatal(err)
	}
	tr := newTracer(t, r)
	_, partial := tr.Start(t.Context(), "partial")
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Shutdown(context.Background()) })
	partial.End()
	_, open := tr.Start(t.Context(), "open")
	defer open.End()
	_, moved := tr.Start(t.Context(), "moved")
	var other sync.WaitGroup
	other.Go(func() { moved.End() })
	other.Wait()
	// Not in the order of a stack.
	ctx, first := tr.Start(t.Context(), "first")
	_, second := tr.Start(ctx, "second")
	first.End()
	second.End()
	report := snapshot(t, r)
	if report.Partial != 1 || report.Open != 1 || report.Moved != 1 {
		t.Errorf("partial %d, open %d, moved %d: want 1 of each", report.Partial, report.Open, report.Moved)
	}
	if len(report.Regions) != 2 || regionOf(t, report, "first").Count != 1 || regionOf(t, report, "second").Count != 1 {
		t.Errorf("regions %+v, want first and second", report.Regions)
	}
}

// A session that was slow as the recorder was switched off has no report of what came later.
func TestNoReportOfTheLastRecording(t *testing.T) {
	r, err := NewRecorder(WithThreshold(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	r.slow.triggers <- Trigger{Name: "stale"}
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	if n := r.Stats().Suppressed; n != 1 || len(r.slow.triggers) != 0 {
		t.Errorf("%d sessions suppressed, want 1, and %d wait", n, len(r.slow.triggers))
	}
	if err := r.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if s := r.Slow(); s != nil {
		t.Errorf("report on %+v", s.Trigger)
	}
}

func TestSlowSessionsAreReported(t *testing.T) {
	r, tr := recording(t, WithThreshold(20*time.Millisecond))
	timed(t.Context(), tr, "quick", func(context.Context) {})
	if r.Slow() != nil {
		t.Error("a report on a quick session")
	}
	slow := func() {
		timed(t.Context(), tr, "slow", func(ctx context.Context) {
			timed(ctx, tr, "step", func(context.Context) { time.Sleep(25 * time.Millisecond) })
		})
	}
	slow()
	for deadline := time.Now().Add(30 * time.Second); r.Slow() == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no report: %+v", r.Stats())
		}
	}
	report := r.Slow()
	if report.Trigger.Name != "slow" || report.Trigger.Scope != "test" || report.Trigger.Duration < 25*time.Millisecond {
		t.Errorf("trigger %+v, want the session slow of 25ms", report.Trigger)
	}
	if got := regionOf(t, report, "step").Total.Blocked["sleep"]; got < 20*time.Millisecond {
		t.Errorf("step slept %v, want 25ms", got)
	}
	slow()
	if diff := cmp.Diff(Stats{Snapshots: 1, SlowSessions: 2, Suppressed: 1}, r.Stats()); diff != "" {
		t.Errorf("Stats (-want +got):\n%s", diff)
	}
}

func TestReportIsJSON(t *testing.T) {
	r, tr := recording(t)
	timed(t.Context(), tr, "sleep", func(context.Context) { time.Sleep(time.Millisecond) })
	text, err := json.Marshal(snapshot(t, r))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"scope":"test"`, `"name":"sleep"`, `"running_ns":`, `"runnable_ns":`, `"blocked_ns":{"sleep":`, `"self":{`, `"partial":0`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("JSON lacks %s: %s", want, text)
		}
	}
}

func TestRecorderOff(t *testing.T) {
	r, err := NewRecorder()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Snapshot(t.Context()); !errors.Is(err, ErrNotRecording) {
		t.Errorf("Snapshot before Start = %v, want ErrNotRecording", err)
	}
	r.Shutdown(context.Background())
	for range 2 {
		if err := r.Start(); err != nil {
			t.Fatal(err)
		}
		if err := r.Start(); err != nil {
			t.Errorf("second Start: %v", err)
		}
		r.Shutdown(context.Background())
		r.Shutdown(context.Background())
	}
	if r.Recording() {
		t.Error("Recording = true after Stop")
	}
}

func TestOneFlightRecorder(t *testing.T) {
	other := trace.NewFlightRecorder(trace.FlightRecorderConfig{})
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Stop()
	r, err := NewRecorder()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(); err == nil || !strings.Contains(err.Error(), "schedule: start:") {
		t.Errorf("Start beside another flight recorder = %v, want an error that says so", err)
	}
	r.Shutdown(context.Background())
}

func TestSnapshotEnds(t *testing.T) {
	r, tr := recording(t)
	timed(t.Context(), tr, "region", func(context.Context) {})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Snapshot(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Snapshot of a context that has ended = %v, want context.Canceled", err)
	}
	if s := r.Stats(); s.Snapshots != 0 {
		t.Errorf("Stats = %+v, want no snapshot", s)
	}
}

func TestLimitedBuffer(t *testing.T) {
	b := limitedBuffer{limit: 10}
	if _, err := b.Write(make([]byte, 10)); err != nil {
		t.Errorf("Write of 10 bytes: %v", err)
	}
	if _, err := b.Write(make([]byte, 1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("Write of 11 bytes = %v, want ErrTooLarge", err)
	}
}

func TestRecorderConcurrentSafe(t *testing.T) {
	r, tr := recording(t, WithThreshold(time.Nanosecond))
	var users sync.WaitGroup
	for i := range 4 {
		users.Go(func() {
			for range 200 {
				timed(context.Background(), tr, fmt.Sprintf("region %d", i), func(ctx context.Context) {
					timed(ctx, tr, "below", func(context.Context) { runtime.Gosched() })
				})
			}
		})
	}
	users.Go(func() {
		for range 3 {
			if _, err := r.Snapshot(context.Background()); err != nil && !errors.Is(err, ErrNotRecording) {
				t.Errorf("Snapshot: %v", err)
			}
		}
	})
	users.Go(func() {
		for range 3 {
			r.Shutdown(context.Background())
			if err := r.Start(); err != nil {
				t.Errorf("Start: %v", err)
			}
		}
	})
	users.Wait()
}

func TestOptionsMustBeInRange(t *testing.T) {
	for _, o := range []Option{WithWindow(time.Millisecond), WithWindow(time.Hour), WithMaxBytes(1), WithMaxBytes(1 << 30), WithThreshold(-1)} {
		if r, err := NewRecorder(nil, o); r != nil || !errors.Is(err, ErrConfig) {
			t.Errorf("New = %v, %v: want an error that wraps ErrConfig", r, err)
		}
	}
}

// TestOwnTracesBeside has the program trace itself beside the recorder, and stop what it has not
// started.
func TestOwnTracesBeside(t *testing.T) {
	r, tr := recording(t)
	if err := trace.Start(io.Discard); err != nil {
		t.Fatal(err)
	}
	trace.Stop()
	timed(t.Context(), tr, "region", func(context.Context) {})
	if s := snapshot(t, r); len(s.Regions) != 1 {
		t.Errorf("regions %+v after a trace of the program's, want one", s.Regions)
	}
	trace.Stop()
	if err := trace.Start(io.Discard); err != nil {
		t.Fatal(err)
	}
	defer trace.Stop()
	if _, err := r.Snapshot(t.Context()); !errors.Is(err, flight.ErrEnded) {
		t.Errorf("Snapshot after a Stop without a Start = %v, want ErrEnded", err)
	}
	if err := r.Shutdown(t.Context()); err != nil || !trace.IsEnabled() {
		t.Errorf("Shutdown = %v, the program's trace is on: %t", err, trace.IsEnabled())
	}
	if mark.Enabled() {
		t.Error("marks are written after Shutdown")
	}
}
