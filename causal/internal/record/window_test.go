package record

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime/trace"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	xtrace "golang.org/x/exp/trace"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/testutil"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func take(t *testing.T, d time.Duration, limit int) *Window {
	t.Helper()
	w, err := Take(t.Context(), d, limit)
	if errors.Is(err, ErrTraced) {
		testutil.Lacks(t, "TRACE", err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// progress returns how many visits of progress points stand in the window.
func progress(t *testing.T, w *Window) (n int) {
	t.Helper()
	events, err := xtrace.NewReader(w.Reader())
	if err != nil {
		t.Fatal(err)
	}
	for {
		e, err := events.ReadEvent()
		if errors.Is(err, io.EOF) {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind() == xtrace.EventLog {
			if m, ok := mark.Parse(e.Log().Category, e.Log().Message, 0); ok && m.Kind == mark.Progress {
				n++
			}
		}
	}
}

// work visits a progress point until the test calls the function that is returned.
func work(each time.Duration) (stop func()) {
	var wg sync.WaitGroup
	ended := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-ended:
				return
			default:
				if mark.Enabled() {
					mark.LogProgress("a name that makes it longer than it would be otherwise")
				}
				time.Sleep(each)
			}
		}
	})
	return func() { close(ended); wg.Wait() }
}

// Who reads a window knows how much it is, and makes room for its events once.
func TestReaderKnowsItsLength(t *testing.T) {
	defer work(time.Millisecond)()
	w := take(t, 100*time.Millisecond, MaxBytes)
	r, ok := w.Reader().(interface {
		io.Reader
		Len() int
	})
	if !ok || r.Len() != w.Bytes() {
		t.Fatalf("Reader = %T, want Len %d", w.Reader(), w.Bytes())
	}
	n, err := r.Read(make([]byte, 100))
	if got, want := r.Len(), w.Bytes()-n; err != nil || got != want {
		t.Errorf("Len = %d after %d bytes, want %d; %v", got, n, want, err)
	}
}

func TestTake(t *testing.T) {
	defer work(time.Millisecond)()
	begin := time.Now()
	w := take(t, 100*time.Millisecond, MaxBytes)
	if w.Length < 100*time.Millisecond || w.Length > time.Since(begin) || w.Begun.Before(begin) || w.Cut || w.Goroutines < 2 || w.Starting <= 0 || w.Stopping <= 0 {
		t.Errorf("window %+v, want one of 100 ms", w)
	}
	for d := w.Length; progress(t, w) < 2 && d < 10*time.Second; d *= 2 { // where the machine is busy
		w = take(t, d, MaxBytes)
	}
	if n := progress(t, w); n < 2 {
		t.Errorf("%d visits of the progress point in the window", n)
	}
	all, err := io.ReadAll(w.Reader())
	if err != nil || len(all) != w.Bytes() {
		t.Errorf("read %d bytes of %d, %v", len(all), w.Bytes(), err)
	}
}

func TestTakeIsCut(t *testing.T) {
	defer work(0)()
	w := take(t, time.Minute, 1<<20)
	if !w.Cut || w.Length >= time.Minute || w.Bytes() < 1<<20 {
		t.Errorf("%d bytes in %v, cut %t: want an early end after 1 MiB", w.Bytes(), w.Length, w.Cut)
	}
	if n := progress(t, w); n == 0 {
		t.Error("nothing can be read from a window that was cut")
	}
}

func TestTakeEndsWithContext(t *testing.T) {
	take(t, time.Millisecond, MaxBytes) // or skip
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if w, err := Take(ctx, time.Minute, MaxBytes); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Take = %+v, %v: want the context's error", w, err)
	}
	if trace.IsEnabled() {
		t.Error("the trace is still on")
	}
	turn <- struct{}{}
	defer func() { <-turn }()
	if w, err := Take(ctx, time.Minute, MaxBytes); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Take while another records = %+v, %v: want the context's error", w, err)
	}
}

// A counter counts the bytes that are written, by a goroutine of the runtime's.
type counter struct{ atomic.Int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.Add(int64(len(p)))
	return len(p), nil
}

// TestTakeWhileTraced records beside the trace of others, which goes on, as long as these have no flight recorder, too.
func TestTakeWhileTraced(t *testing.T) {
	var others counter
	if err := trace.Start(&others); err != nil {
		testutil.Lacks(t, "TRACE", err.Error())
	}
	defer trace.Stop()
	defer work(time.Millisecond)()
	w := take(t, 50*time.Millisecond, MaxBytes)
	if !w.Shared || w.Length < 50*time.Millisecond {
		t.Errorf("window %+v, want one of 50 ms that is shared", w)
	}
	if n := progress(t, w); n == 0 {
		t.Error("the window is empty")
	}
	flight := trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: time.Second})
	if err := flight.Start(); err != nil {
		t.Fatalf("the window's flight recorder is still on: %v", err)
	}
	defer flight.Stop()
	if w, err := Take(t.Context(), time.Millisecond, MaxBytes); !errors.Is(err, ErrTraced) {
		t.Errorf("Take = %+v, %v: want ErrTraced", w, err)
	}
	before := others.Load()
	trace.Stop()
	if !flight.Enabled() || others.Load() == before {
		t.Error("the trace of others has been ended")
	}
	if w := take(t, time.Millisecond, MaxBytes); w.Shared {
		t.Error("the window is shared though nothing but a flight recorder is on")
	}
}

// TestTakeBesideFlightRecorder has a flight recorder on before, which goes on as before.
func TestTakeBesideFlightRecorder(t *testing.T) {
	flight := trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: time.Second})
	if err := flight.Start(); err != nil {
		testutil.Lacks(t, "TRACE", err.Error())
	}
	defer flight.Stop()
	defer work(time.Millisecond)()
	if n := progress(t, take(t, 50*time.Millisecond, MaxBytes)); n == 0 {
		t.Error("the window is empty")
	}
	var kept bytes.Buffer
	if _, err := flight.WriteTo(&kept); err != nil || kept.Len() == 0 {
		t.Errorf("flight recorder: %d bytes, %v", kept.Len(), err)
	}
}

func TestBuffer(t *testing.T) {
	full := make(chan struct{})
	b := &buffer{limit: 2 * chunk, full: full}
	var want []byte
	for n := range byte(200) {
		part := bytes.Repeat([]byte{n}, 4097)
		_, _ = b.Write(part)
		want = append(want, part...)
		select {
		case <-full:
			if len(want) < b.limit {
				t.Fatalf("full after %d bytes", len(want))
			}
		default:
			if len(want) >= b.limit {
				t.Fatalf("not full after %d bytes", len(want))
			}
		}
	}
	got, err := io.ReadAll(b.reader())
	if err != nil || !bytes.Equal(got, want) || b.lost {
		t.Errorf("read %d bytes, %v, lost %t: want the %d that were written", len(got), err, b.lost, len(want))
	}
	_, _ = b.Write(make([]byte, b.reserve()+2*chunk))
	if !b.lost {
		t.Error("more than the limit and the reserve was taken")
	}
}

func TestThreadTime(t *testing.T) {
	begin := time.Now()
	stop := threadTime()
	for time.Since(begin) < 20*time.Millisecond { //nolint:revive // it computes
	}
	time.Sleep(20 * time.Millisecond)
	if cpu, passed := stop(), time.Since(begin); cpu <= 0 || cpu > passed {
		t.Errorf("%v of processor time in %v", cpu, passed)
	}
}
