package offwake

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

var (
	order = trace.Region{Scope: "shop", Name: "order"}
	stock = trace.Region{Scope: "shop", Name: "stock"}
)

// A script is a recording that is written by hand, with places that have stacks.
type script struct {
	*trace.Recorder
	t *testing.T
}

func newScript(t *testing.T, stacks ...[]string) script {
	b := trace.NewRecorder(0, 2)
	for i, stack := range stacks {
		site := trace.Site{}
		for _, f := range stack {
			site.Frames = append(site.Frames, trace.Frame{Func: f, Line: 7})
		}
		b.R.Sites[b.Place(int64(i+1))] = site
	}
	return script{b, t}
}

// wait has a goroutine wait for a reason at a place, and ready has another one end that at a place.
func (s script) wait(at, g int64, reason, place int32) {
	s.Add(trace.Event{Kind: trace.EvWait, At: at, G: s.Goroutine(g), By: trace.NoWaker, Arg: reason, Site: place})
}

func (s script) ready(at, g, by int64, place int32) {
	s.Add(trace.Event{Kind: trace.EvReady, At: at, G: s.Goroutine(g), By: s.Waker(by), Site: place})
}

func (s script) read(end int64) *Waits {
	s.t.Helper()
	r := s.Recording(end)
	for i := range r.Spans {
		r.Spans[i].ID, r.Spans[i].Trace = uint64(i+1), [16]byte{byte(i + 1)}
	}
	return Read(r)
}

func rowsOf(t *testing.T, w *Waits, region trace.Region) []Row {
	t.Helper()
	for _, r := range w.Regions {
		if r.Region == region {
			return r.Rows
		}
	}
	t.Fatalf("no region %v in %v", region, w.Regions)
	return nil
}

// A wait for a lock is of the span within, and of all above it; who released the lock is the span
// that held it last.
func TestLockIsReleasedBySpan(t *testing.T) {
	const ms = int64(time.Millisecond)
	s := newScript(t, []string{"sync.(*Mutex).Lock", "main.reserve"}, []string{"sync.(*Mutex).Unlock", "main.release"})
	s.Running(0, 1)
	s.Running(0, 2)
	s.Open(ms, 1, 11, 0, order)
	s.Open(ms, 2, 12, 0, order)
	s.Open(2*ms, 2, 13, 12, stock)
	s.wait(3*ms, 2, trace.WaitMutex, 1)
	s.ready(5*ms, 2, 1, 2)
	s.Start(6*ms, 2, 0)
	s.Close(7*ms, 2, 13)
	s.Close(8*ms, 1, 11)
	s.Close(9*ms, 2, 12)
	w := s.read(10 * ms)

	lock := Row{Key: Key{In: stock, By: order, Kind: Lock, Where: "main.reserve:7", ByPlace: "main.release:7"}, Count: 1, Total: 2 * time.Millisecond, Longest: 2 * time.Millisecond}
	processor := Row{Key: Key{In: stock, Kind: Processor}, Count: 1, Total: time.Millisecond, Longest: time.Millisecond}
	want := []Region{
		{Region: order, Spans: 2, Time: 15 * time.Millisecond, Rows: []Row{lock, processor}},
		{Region: stock, Spans: 1, Time: 5 * time.Millisecond, Rows: []Row{lock, processor}},
	}
	if diff := cmp.Diff(want, w.Regions); diff != "" {
		t.Errorf("regions (-want +got):\n%s", diff)
	}
	single := map[uint64][]Wait{3: {
		{Kind: Lock, Where: "main.reserve:7", At: time.Millisecond, For: 2 * time.Millisecond, Waker: Waker{Region: order, Span: 1, Trace: [16]byte{1}, Place: "main.release:7"}},
		{Kind: Processor, At: 3 * time.Millisecond, For: time.Millisecond},
	}}
	if diff := cmp.Diff(single, w.Spans); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

// A goroutine without a span has no wait. As waker it works for the span that it was
// created in, until that is over.
func TestGoroutineWorksForWhereItBegan(t *testing.T) {
	s := newScript(t, []string{"runtime.chanrecv1", "main.fetch"})
	s.Running(0, 1)
	s.Open(1000, 1, 11, 0, order)
	s.Open(1000, 1, 12, 11, stock)
	s.Create(2000, 2, 1)
	s.Start(2500, 2, 1)
	s.wait(3000, 2, trace.WaitReceive, 1)
	s.ready(4000, 2, 1, 0)
	s.Start(4000, 2, 1)
	s.wait(4000, 1, trace.WaitReceive, 1)
	s.ready(5000, 1, 2, 0)
	s.Start(5000, 1, 0)
	s.Close(6000, 1, 12)
	s.wait(6000, 1, trace.WaitReceive, 1)
	s.ready(9000, 1, 2, 0)
	w := s.read(10_000)
	late := Row{Key: Key{In: order, Kind: Receive, Where: "main.fetch:7"}, Count: 1, Total: 3000, Longest: 3000}
	early := Row{Key: Key{In: stock, By: stock, Kind: Receive, Where: "main.fetch:7"}, Count: 1, Total: 1000, Longest: 1000}
	if diff := cmp.Diff([]Row{late, early}, rowsOf(t, w, order)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if len(w.Spans) != 0 {
		t.Errorf("waits of 3 µs are kept: %v", w.Spans)
	}
}

// Who polled the network, or let a system call return, has given nothing.
func TestOutsideHasNoWaker(t *testing.T) {
	s := newScript(t, []string{"internal/poll.(*FD).Read", "net/http.(*persistConn).readLoop"})
	s.Running(0, 1)
	s.Running(0, 2)
	s.Open(1000, 1, 11, 0, order)
	s.Open(1000, 2, 12, 0, stock)
	s.wait(2000, 1, trace.WaitNetwork, 1)
	s.ready(5000, 1, 2, 0)
	s.Start(5000, 1, 0)
	s.Add(trace.Event{Kind: trace.EvSyscall, At: 6000, G: s.Goroutine(1), By: trace.NoWaker, Site: 1})
	s.Add(trace.Event{Kind: trace.EvReturn, At: 8000, G: s.Goroutine(1), By: trace.NoWaker})
	want := []Row{
		{Key: Key{In: order, Kind: Network, Where: "net/http.(*persistConn).readLoop:7"}, Count: 1, Total: 3000, Longest: 3000},
		{Key: Key{In: order, Kind: SystemCall, Where: "net/http.(*persistConn).readLoop:7"}, Count: 1, Total: 2000, Longest: 2000},
	}
	if diff := cmp.Diff(want, rowsOf(t, s.read(10_000), order)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// What began before the recording is not known to have been in a span.
func TestWaitFromBeforeIsLeftOut(t *testing.T) {
	s := newScript(t)
	s.Waiting(0, 1)
	s.Running(0, 2)
	s.Ready(3000, 1, 2)
	s.Start(3000, 1, 0)
	s.Open(4000, 1, 11, 0, order)
	s.Close(5000, 1, 11)
	if rows := rowsOf(t, s.read(10_000), order); len(rows) != 0 {
		t.Errorf("rows %v, want none", rows)
	}
}
