package schedule

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	rtrace "runtime/trace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"golang.org/x/exp/trace"

	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/spans"
)

// newWaitScript is newScript for waits.
func newWaitScript(t *testing.T) *script {
	s := newScript(t)
	s.a.waits = &waitTimes{spent: map[wait]time.Duration{}, folded: map[regionKey]*region{}}
	return s
}

// waited returns the times by region, reason and link.
func waited(p *profile.Profile) map[string]int64 {
	out := map[string]int64{}
	for _, s := range p.Sample {
		key := strings.Join(s.Label[naming.NameLabel], "") + "/" + s.Label[naming.WaitLabel][0]
		if id := s.Label[naming.TraceIDLabel]; len(id) > 0 {
			key += " " + id[0] + " " + s.Label[naming.SpanIDLabel][0]
		}
		out[key] += s.Value[0]
	}
	return out
}

func TestOffCPU(t *testing.T) {
	s := newWaitScript(t)
	block := func(reason string, blocked, ready trace.Time) {
		s.state(trace.GoRunning, trace.GoWaiting, reason)
		s.at += blocked
		s.state(trace.GoWaiting, trace.GoRunnable, "")
		s.at += ready
		s.state(trace.GoRunnable, trace.GoRunning, "")
		s.at += 1000 // on the processor, which does not count
	}
	s.state(trace.GoUndetermined, trace.GoRunning, "")
	block("sync", 1, 1) // outside of all regions
	s.mark(1, "otelprof+1 0 a-000102030405060708090a0b0c0d0e0f 0 outer")
	block("sync", 10, 1)
	s.mark(1, "otelprof+2 1 b 0 inner")
	block("chan receive", 20, 2)
	s.state(trace.GoRunning, trace.GoSyscall, "")
	s.at += 3
	s.state(trace.GoSyscall, trace.GoRunning, "")
	s.assist(trace.EventRangeBegin)
	s.at += 500 // for the garbage collector, on the processor
	s.assist(trace.EventRangeEnd)
	s.mark(1, "otelprof-2")
	block("sync", 100, 0)
	s.mark(1, "otelprof-1 renamed")
	// A wait that has not ended with the trace, of a region that is open.
	s.mark(1, "otelprof+3 0 0 0 open")
	s.state(trace.GoRunning, trace.GoWaiting, "sleep")
	s.at += 7
	s.mark(2, "otelprof+4 0 0 0 last event")
	want := map[string]int64{
		"renamed/sync 000102030405060708090a0b0c0d0e0f 000000000000000a":     110,
		"renamed/runnable 000102030405060708090a0b0c0d0e0f 000000000000000a": 1,
		"inner/chan receive": 20, "inner/runnable": 2, "inner/syscall": 3,
		"open/sleep": 7,
	}
	p := s.a.offCPU()
	if diff := cmp.Diff(want, waited(p)); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
	if err := p.CheckValid(); err != nil {
		t.Error(err)
	}
	if p.DurationNanos != int64(s.at-1000) {
		t.Errorf("duration %d, want %d", p.DurationNanos, s.at-1000)
	}
}

// What another goroutine ends is over for the region then, though its goroutine waits on.
func TestRegionEndsWhileItsGoroutineWaits(t *testing.T) {
	s := newWaitScript(t)
	s.state(trace.GoUndetermined, trace.GoRunning, "")
	s.mark(1, "otelprof+1 0 0 0 outer")
	s.mark(1, "otelprof+2 0 0 0 moved")
	s.state(trace.GoRunning, trace.GoWaiting, "select")
	s.at += 5
	s.mark(2, "otelprof-2")
	s.at += 30
	s.state(trace.GoWaiting, trace.GoRunnable, "")
	s.state(trace.GoRunnable, trace.GoRunning, "")
	// How long a region was open whose memory is used again cannot be known.
	s.mark(1, "otelprof+7 0 0 0 lost")
	s.state(trace.GoRunning, trace.GoWaiting, "select")
	s.at += 9
	s.state(trace.GoWaiting, trace.GoRunnable, "")
	s.state(trace.GoRunnable, trace.GoRunning, "")
	s.mark(1, "otelprof+7 0 0 0 next")
	if diff := cmp.Diff(map[string]int64{"moved/select": 5, "outer/select": 30}, waited(s.a.offCPU())); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
}

// TestWaitsAreBounded: what does not fit is in no wrong place, and nothing is lost.
func TestWaitsAreBounded(t *testing.T) {
	s := newWaitScript(t)
	s.state(trace.GoUndetermined, trace.GoRunning, "")
	for i := range maxWaits + 1000 {
		s.mark(1, fmt.Sprintf("otelprof+1 0 %x-000102030405060708090a0b0c0d0e0f 0 region %d", i+1, i%3))
		s.state(trace.GoRunning, trace.GoWaiting, "sync")
		s.at++
		s.state(trace.GoWaiting, trace.GoRunnable, "")
		s.state(trace.GoRunnable, trace.GoRunning, "")
		s.mark(1, "otelprof-1")
	}
	p := s.a.offCPU()
	if n := len(p.Sample); n > maxWaits+3 {
		t.Errorf("%d samples, want %d at most", n, maxWaits+3)
	}
	sum := map[string]int64{}
	for _, s := range p.Sample {
		sum[s.Label[naming.NameLabel][0]] += s.Value[0]
	}
	total := int64(maxWaits + 1000)
	want := map[string]int64{"region 0": (total + 2) / 3, "region 1": (total + 1) / 3, "region 2": total / 3}
	if diff := cmp.Diff(want, sum); diff != "" {
		t.Errorf("sums (-want +got):\n%s", diff)
	}
}

// TestOffCPUOfAProgram holds a real profile against the report on the same trace, and looks for
// stacks, links and times.
func TestOffCPUOfAProgram(t *testing.T) {
	tp := spans.WrapTracerProvider(sdktrace.NewTracerProvider(), spans.WithMarks())
	defer tp.Shutdown(context.Background())
	tr := tp.Tracer("test")
	var recorded bytes.Buffer
	begin := time.Now()
	if err := rtrace.Start(&recorded); err != nil {
		testutil.Lacks(t, "TRACE", err.Error())
	}
	links := map[string]bool{}
	for range 3 {
		ctx, outer := tr.Start(t.Context(), "outer")
		time.Sleep(10 * time.Millisecond)
		_, inner := tr.Start(ctx, "inner")
		waitForLock(20 * time.Millisecond)
		inner.End()
		outer.End()
		links[inner.SpanContext().TraceID().String()+" "+inner.SpanContext().SpanID().String()] = true
	}
	rtrace.Stop()
	end := time.Now()
	trace := recorded.Bytes()
	report, err := Analyze(t.Context(), bytes.NewReader(trace))
	if err != nil {
		t.Fatal(err)
	}
	p, err := OffCPU(t.Context(), bytes.NewReader(trace))
	if err != nil {
		t.Fatal(err)
	}
	sum, stacked := map[string]time.Duration{}, map[string]bool{}
	for _, s := range p.Sample {
		name := s.Label[naming.NameLabel][0]
		sum[name] += time.Duration(s.Value[0])
		if name == "inner" && s.Label[naming.WaitLabel][0] == "sync" {
			for _, l := range s.Location {
				if strings.HasSuffix(l.Line[0].Function.Name, ".waitForLock") {
					stacked[s.Label[naming.TraceIDLabel][0]+" "+s.Label[naming.SpanIDLabel][0]] = true
				}
			}
		}
	}
	for _, name := range []string{"outer", "inner"} {
		region := regionOf(t, report, name)
		self := region.Self.Sum() - region.Self.Running
		if gc := region.Self.Blocked["gc"]; sum[name] > self || sum[name] < self-gc {
			t.Errorf("%s: %v in the profile, %v blocked or runnable by the report, of that %v for the garbage collector", name, sum[name], self, gc)
		}
	}
	if diff := cmp.Diff(links, stacked); diff != "" {
		t.Errorf("spans of waits at waitForLock (-want +got):\n%s", diff)
	}
	at := time.Unix(0, p.TimeNanos)
	if at.Before(begin.Add(-time.Second)) || at.After(end) || p.DurationNanos <= 0 {
		t.Errorf("profile of %v from %v on, want one between %v and %v", time.Duration(p.DurationNanos), at, begin, end)
	}
}

//go:noinline
func waitForLock(d time.Duration) {
	var mu sync.Mutex
	mu.Lock()
	time.AfterFunc(d, mu.Unlock)
	mu.Lock()
	mu.Unlock() //nolint:staticcheck // it is the wait for it that counts
}

func TestRecorderOffCPU(t *testing.T) {
	r, err := NewRecorder()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.OffCPU(t.Context()); !errors.Is(err, ErrNotRecording) {
		t.Errorf("OffCPU of a recorder that is off: %v, want ErrNotRecording", err)
	}
	r, tr := recording(t)
	_, span := tr.Start(t.Context(), "op")
	time.Sleep(5 * time.Millisecond)
	span.End()
	p, err := r.OffCPU(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := waited(p)["op/sleep"]; got < int64(5*time.Millisecond) {
		t.Errorf("op slept %v by the profile %v, want 5 ms at least", time.Duration(got), waited(p))
	}
	if s := r.Stats(); s.Snapshots != 1 || s.Failed != 0 {
		t.Errorf("Stats = %+v, want one snapshot", s)
	}
	if _, err := OffCPU(t.Context(), strings.NewReader("nonsense")); err == nil {
		t.Error("OffCPU of nonsense: no error")
	}
}
