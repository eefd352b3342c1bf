package record

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime/trace"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	xtrace "golang.org/x/exp/trace"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/testutil"
	_ "github.com/otelprof/otelprof/internal/testutil/thorough" // -long
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func taken(t *testing.T, d time.Duration, limit int) *Window {
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
	w := taken(t, 100*time.Millisecond, MaxBytes)
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
	w := taken(t, 100*time.Millisecond, MaxBytes)
	if w.Length < 100*time.Millisecond || w.Length > time.Since(begin) || w.Begun.Before(begin) || w.Cut || w.Goroutines < 2 || w.Starting <= 0 || w.Stopping <= 0 {
		t.Errorf("window %+v, want one of 100 ms", w)
	}
	for d := w.Length; progress(t, w) < 2 && d < 10*time.Second; d *= 2 { // where the machine is busy
		w = taken(t, d, MaxBytes)
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
	defer work(50 * time.Microsecond)()
	var w *Window
	for try := 0; w == nil; try++ { // a machine that is busy looks too late, now and then
		var err error
		if w, err = Take(t.Context(), time.Minute, 1<<18); err != nil && try == 10 {
			t.Fatal(err)
		}
	}
	if !w.Cut || w.Length >= time.Minute || w.Bytes() < 1<<18 {
		t.Errorf("%d bytes in %v, cut %t: want an early end after 256 KiB", w.Bytes(), w.Length, w.Cut)
	}
	if n := progress(t, w); n == 0 {
		t.Error("nothing can be read from a window that was cut")
	}
}

func TestTakeEndsWithContext(t *testing.T) {
	taken(t, time.Millisecond, MaxBytes) // or skip
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

func TestBuffer(t *testing.T) {
	b := &buffer{limit: 2*chunk + 4097}
	var want []byte
	for n := byte(0); len(want) < 2*chunk; n++ {
		part := bytes.Repeat([]byte{n}, 4097)
		if _, err := b.Write(part); err != nil {
			t.Fatal(err)
		}
		want = append(want, part...)
	}
	if _, err := b.Write(make([]byte, 4097)); err == nil {
		t.Error("more than the limit was taken")
	}
	got, err := io.ReadAll(b.reader())
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("read %d bytes, %v: want the %d that were written", len(got), err, len(want))
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
