package pmuattrs

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/internal/perf"
	"github.com/otelprof/otelprof/internal/perf/perftest"
	"github.com/otelprof/otelprof/internal/testutil"
)

// lock locks the test to its thread.
func lock(t testing.TB) {
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
}

// mustOpen opens a group on the test's thread. What is lacking is named PERF if all events
// are the kernel's, else PMU.
func mustOpen(t testing.TB, lacking string, events ...Event) *Group {
	t.Helper()
	lock(t)
	g, err := Open(events...)
	if errors.Is(err, ErrPermission) || errors.Is(err, ErrNotSupported) {
		testutil.Lacks(t, lacking, err.Error())
	}
	if err != nil {
		t.Fatalf("Open(%v) = %v", events, err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

func mustRead(t testing.TB, c Counters) (r Reading) {
	t.Helper()
	if err := c.Read(&r); err != nil {
		t.Fatalf("Read: %v", err)
	}
	return r
}

// burn takes CPU time.
func burn(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
		perftest.Spin(1000)
	}
}

func TestGroup(t *testing.T) {
	g := mustOpen(t, "PERF", TaskClock, PageFaults)
	before := mustRead(t, g)
	burn(5 * time.Millisecond)
	after := mustRead(t, g)
	d, err := after.Since(before)
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := d.Count(TaskClock); !ok || n < int64(100*time.Microsecond) || n > int64(10*time.Second) {
		t.Errorf("task clock = %v, %t in 5 ms", time.Duration(n), ok)
	}
	if d.Running <= 0 || d.Running != d.Enabled {
		t.Errorf("Running, Enabled = %v, %v, want them equal and more than 0", d.Running, d.Enabled)
	}
	if diff := cmp.Diff([]Event{TaskClock, PageFaults}, g.Events(), cmp.AllowUnexported(Event{})); diff != "" || g.Source() != SourceHardware {
		t.Errorf("Source = %s, Events (-want +got):\n%s", g.Source(), diff)
	}
	if g.UserSpace() {
		t.Error("UserSpace() = true for events of the kernel")
	}
}

func TestGroupsAreNotMixed(t *testing.T) {
	one, two := mustOpen(t, "PERF", TaskClock), mustOpen(t, "PERF", TaskClock)
	before, after := mustRead(t, one), mustRead(t, two)
	if _, err := after.Since(before); !errors.Is(err, errUnrelated) {
		t.Errorf("Since of two groups = %v, want errUnrelated", err)
	}
}

func TestGroupClosed(t *testing.T) {
	g := mustOpen(t, "PERF", TaskClock)
	before := mustRead(t, g)
	for range 2 {
		if err := g.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	}
	after := before
	if err := g.Read(&after); !errors.Is(err, ErrClosed) {
		t.Errorf("Read of a closed group = %v, want ErrClosed", err)
	}
	if _, err := after.Since(before); !errors.Is(err, errUnrelated) {
		t.Errorf("Since after a Read that has failed = %v, want errUnrelated", err)
	}
}

func TestOpenErrors(t *testing.T) {
	lock(t)
	for _, test := range []struct {
		events []Event
		want   error
		says   string
	}{
		{nil, perf.ErrGroupTooLarge, "0 events"},
		{[]Event{rawEvent(1), rawEvent(2), rawEvent(3), rawEvent(4), rawEvent(5), rawEvent(6), rawEvent(7), rawEvent(8), rawEvent(9)}, perf.ErrGroupTooLarge, "9 events"},
		{[]Event{Cycles, {}}, ErrEvent, "number 2 of 2"},
		{[]Event{Cycles, CPUTime}, ErrEvent, "cpu_time: no counter"},
		{[]Event{Cycles, Instructions, Cycles.WithKernel()}, ErrEvent, "cycles:uk: must not be given twice"},
	} {
		if g, err := Open(test.events...); g != nil || !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("Open(%v) = %v, %v, want %v that says %q", test.events, g, err, test.want, test.says)
		}
	}
}

func TestOpenWithoutPMU(t *testing.T) {
	lock(t)
	g, err := Open(Instructions)
	if err == nil {
		g.Close()
		t.Skip("there is a PMU")
	}
	var refused *Error
	if !errors.As(err, &refused) || !strings.HasPrefix(err.Error(), "pmuattrs: open instructions: ") {
		t.Errorf("Open(Instructions) = %v, want an *Error", err)
	}
}

// TestOpenBest takes what there is.
func TestOpenBest(t *testing.T) {
	lock(t)
	c, reason := OpenBest(Instructions, Cycles)
	if c == nil {
		t.Fatalf("OpenBest = nil, %v", reason)
	}
	defer c.Close()
	if (c.Source() == SourceHardware) != (reason == nil) {
		t.Errorf("OpenBest = counters from %s, %v", c.Source(), reason)
	}
	before := mustRead(t, c)
	burn(time.Millisecond)
	after := mustRead(t, c)
	d, err := after.Since(before)
	if err != nil {
		t.Fatal(err)
	}
	if d.Source() != c.Source() {
		t.Errorf("Source of the deltas %s, of the counters %s", d.Source(), c.Source())
	}
	n := 0
	for e, count := range d.All() {
		if e != c.Events()[n] || count < 0 {
			t.Errorf("event %d is %v, %d, want %v", n, e, count, c.Events()[n])
		}
		n++
	}
	if n != len(c.Events()) {
		t.Errorf("%d events in the deltas, want %d", n, len(c.Events()))
	}
}

// TestOpenBestLeavesOut has an event that no machine has.
func TestOpenBestLeavesOut(t *testing.T) {
	mustOpen(t, "PMU", Instructions)
	c, reason := OpenBest(Instructions, cached("l1i.writes", "{write}", 1, write, access), Cycles)
	if c == nil || c.Source() != SourceHardware || !errors.Is(reason, ErrNoEvent) || !strings.Contains(fmt.Sprint(reason), "l1i.writes") {
		t.Fatalf("OpenBest = %v, %v, want counters, and ErrNoEvent for l1i.writes", c, reason)
	}
	defer c.Close()
	if diff := cmp.Diff([]Event{Instructions, Cycles}, c.Events(), cmp.AllowUnexported(Event{})); diff != "" {
		t.Errorf("Events (-want +got):\n%s", diff)
	}
}

// TestGroupWithPMU counts a loop of known length.
func TestGroupWithPMU(t *testing.T) {
	g := mustOpen(t, "PMU", Cycles, Instructions)
	const rounds, want = 1_000_000, 1_000_000 * perftest.SpinInstructions
	before := mustRead(t, g)
	perftest.Spin(rounds)
	after := mustRead(t, g)
	d, err := after.Since(before)
	if err != nil {
		t.Fatal(err)
	}
	n, _ := d.Count(Instructions)
	ipc, ok := d.IPC()
	t.Logf("%d instructions, %v per cycle, in user space: %t", n, ipc, g.UserSpace())
	if n < want || n > want+want/10 || !ok || ipc <= 0 || ipc > 100 {
		t.Errorf("%d instructions, IPC %v, %t, want %d and at most a tenth more, for signals, and some", n, ipc, ok, want)
	}
}

func TestUsage(t *testing.T) {
	lock(t)
	u, err := openUsage()
	if err != nil {
		t.Fatal(err)
	}
	before := mustRead(t, u)
	burn(5 * time.Millisecond)
	for range 20 { // of which some are long enough for the thread to be put to sleep
		time.Sleep(time.Millisecond)
	}
	after := mustRead(t, u)
	d, err := after.Since(before)
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := d.Count(CPUTime); !ok || n < int64(100*time.Microsecond) || n > int64(10*time.Second) {
		t.Errorf("CPU time = %v, %t in 5 ms", time.Duration(n), ok)
	}
	if n, ok := d.Count(voluntarySwitches); !ok || n < 1 {
		t.Errorf("voluntary switches = %d, %t after a sleep, want some", n, ok)
	}
	if len(u.Events()) > maxEvents || u.Source() != SourceUsage || d.Source() != SourceUsage || d.Enabled != 0 {
		t.Errorf("%d events from %s, %s, enabled %v", len(u.Events()), u.Source(), d.Source(), d.Enabled)
	}
	if err := u.Close(); err != nil {
		t.Errorf("Close() = %v", err)
	}
	other := make(chan Reading)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var r Reading
		_ = u.Read(&r) // if it fails it is unrelated all the same
		other <- r
	}()
	if _, err := (<-other).Since(before); !errors.Is(err, errUnrelated) {
		t.Errorf("Since of two threads = %v, want errUnrelated", err)
	}
}

func TestReadAllocs(t *testing.T) {
	g := mustOpen(t, "PERF", TaskClock, PageFaults)
	u, err := openUsage()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []Counters{g, u} {
		var r Reading
		if n := testing.AllocsPerRun(100, func() {
			if err := c.Read(&r); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("Read from %s allocates %v times, want 0", c.Source(), n)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	g := mustOpen(b, "PERF", TaskClock, PageFaults)
	u, err := openUsage()
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []Counters{g, u} {
		b.Run("source="+string(c.Source()), func(b *testing.B) {
			lock(b)
			g := c
			if c.Source() == SourceHardware { // a benchmark has its own thread
				g = mustOpen(b, "PERF", TaskClock, PageFaults)
			}
			var r Reading
			b.ReportAllocs()
			for b.Loop() {
				if err := g.Read(&r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
