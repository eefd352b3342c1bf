package record

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime/trace"
	"testing"
	"time"

	xtrace "golang.org/x/exp/trace"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/internal/traced/flight"
)

// taking records a window in the background, from when the function returns on.
func taking(t *testing.T, d time.Duration) (ended func() (*Window, error)) {
	t.Helper()
	var w *Window
	var err error
	over := make(chan struct{})
	go func() {
		defer close(over)
		w, err = Take(t.Context(), d, MaxBytes)
	}()
	for !trace.IsEnabled() {
		select {
		case <-over:
			testutil.Lacks(t, "TRACE", err.Error())
		case <-time.After(time.Millisecond):
		}
	}
	return func() (*Window, error) { <-over; return w, err }
}

// read returns how many marks and events a trace has, which must be whole, and its last message of
// another's.
func read(t *testing.T, from io.Reader) (marks, events int, last string) {
	t.Helper()
	r, err := xtrace.NewReader(from)
	if err != nil {
		t.Fatal(err)
	}
	for {
		e, err := r.ReadEvent()
		if errors.Is(err, io.EOF) {
			return marks, events, last
		}
		if err != nil {
			t.Fatal(err)
		}
		events++
		if e.Kind() == xtrace.EventLog {
			if _, ok := mark.Parse(e.Log().Category, e.Log().Message, 0); ok {
				marks++
			} else {
				last = e.Log().Message
			}
		}
	}
}

// TestTracesOfTheProgram has the program trace itself before, within, and after a window: no call
// fails, and its traces are whole.
func TestTracesOfTheProgram(t *testing.T) {
	defer work(time.Millisecond)()
	ended := taking(t, time.Second)
	for i := range 5 {
		var own bytes.Buffer
		if err := trace.Start(&own); err != nil {
			t.Fatalf("trace.Start %d within a window: %v", i, err)
		}
		trace.Log(context.Background(), "", "last")
		trace.Stop()
		if _, n, last := read(t, &own); n == 0 || last != "last" {
			t.Errorf("trace %d has %d events, the last log is %q", i, n, last)
		}
	}
	var own bytes.Buffer
	if err := trace.Start(&own); err != nil {
		t.Fatal(err)
	}
	w, err := ended()
	if err != nil {
		t.Fatal(err)
	}
	if n := progress(t, w); n == 0 {
		t.Error("the window has no visits")
	}
	if !trace.IsEnabled() {
		t.Fatal("the window has ended the program's trace")
	}
	trace.Stop()
	var between bytes.Buffer
	if err := trace.Start(&between); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	trace.Stop()
	if n, events, _ := read(t, &between); n != 0 || events == 0 {
		t.Errorf("%d marks among %d events of a trace between windows, want none", n, events)
	}
}

// TestStopWithoutStart has the program end a trace that it has not started, which Go takes for the
// window's, and begin one.
func TestStopWithoutStart(t *testing.T) {
	for _, again := range []bool{false, true} {
		ended := taking(t, 200*time.Millisecond)
		trace.Stop()
		var own bytes.Buffer
		if again {
			if err := trace.Start(&own); err != nil {
				t.Fatal(err)
			}
		}
		if w, err := ended(); !errors.Is(err, flight.ErrEnded) {
			t.Errorf("Take = %v, %v, want ErrEnded", w, err)
		}
		if again {
			trace.Log(context.Background(), "", "after the window")
			if !trace.IsEnabled() {
				t.Error("the window has ended the program's trace")
			}
			trace.Stop()
			if _, _, last := read(t, &own); last != "after the window" {
				t.Errorf("the program's trace ends with %q: it was cut", last)
			}
		}
		for err := errors.New(""); err != nil; time.Sleep(time.Millisecond) { // soon given back
			f := trace.NewFlightRecorder(trace.FlightRecorderConfig{})
			if err = f.Start(); err == nil {
				f.Stop()
			}
		}
	}
}

func TestTakeWhileTraced(t *testing.T) {
	var own bytes.Buffer
	if err := trace.Start(&own); err != nil {
		testutil.Lacks(t, "TRACE", err.Error())
	}
	defer work(time.Millisecond)()
	if w := taken(t, 50*time.Millisecond, MaxBytes); !w.Shared || progress(t, w) == 0 {
		t.Errorf("window %+v, want one that is shared, with visits", w)
	}
	trace.Log(context.Background(), "", "last")
	trace.Stop()
	if _, _, last := read(t, &own); last != "last" {
		t.Errorf("the program's trace ends with %q", last)
	}
}

// TestFlightRecorderOfTheProgram has one on before, which goes on, without marks.
func TestFlightRecorderOfTheProgram(t *testing.T) {
	own := trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: time.Minute})
	ended := taking(t, 100*time.Millisecond)
	if err := Between(t.Context(), own.Start); err != nil {
		t.Fatalf("a flight recorder that waits for the window: %v", err)
	}
	defer own.Stop()
	if _, err := ended(); err != nil {
		t.Error(err)
	}
	defer work(time.Millisecond)()
	if w, err := Take(t.Context(), 50*time.Millisecond, MaxBytes); !errors.Is(err, ErrTraced) {
		t.Errorf("Take = %+v, %v: want ErrTraced", w, err)
	}
	var other, kept bytes.Buffer
	if err := trace.Start(&other); err != nil {
		t.Errorf("trace.Start: %v", err)
	}
	trace.Stop()
	if _, err := own.WriteTo(&kept); err != nil {
		t.Fatal(err)
	}
	if n, events, _ := read(t, &kept); n != 0 || events == 0 {
		t.Errorf("%d marks among %d events of the program's flight recorder, want none", n, events)
	}
}

// TestTakeBesideSchedule reads a window from the flight recorder that is kept for the schedule,
// without what was before.
func TestTakeBesideSchedule(t *testing.T) {
	kept, err := flight.Start(10*time.Second, 8<<20)
	if err != nil {
		testutil.Lacks(t, "TRACE", err.Error())
	}
	flight.Keep(kept)
	defer func() { flight.Keep(nil); kept.Stop() }()
	trace.Log(context.Background(), "", "before the window")
	mark.LogProgress("before the window")
	w := taken(t, 50*time.Millisecond, MaxBytes)
	if n := progress(t, w); n != 0 {
		t.Errorf("%d visits from before the window", n)
	}
	stop := work(time.Millisecond)
	w = taken(t, 100*time.Millisecond, MaxBytes)
	stop()
	if n := progress(t, w); n == 0 || !w.Shared {
		t.Errorf("window %+v with %d visits, want some", w, n)
	}
	if _, err := kept.WriteTo(io.Discard); err != nil {
		t.Errorf("the schedule's recorder after windows: %v", err)
	}
}

func TestUntilLook(t *testing.T) {
	for _, c := range []struct {
		elapsed     time.Duration
		size, limit int
		want        time.Duration
	}{
		{50 * time.Millisecond, 0, 1000, 50 * time.Millisecond},
		{400 * time.Millisecond, 800, 1000, 100 * time.Millisecond},
		{time.Second, 999, 1000, leastLook},
		{3 * time.Second, 1, 1000, mostLook},
	} {
		if got := untilLook(c.elapsed, c.size, c.limit); got != c.want {
			t.Errorf("untilLook(%v, %d, %d) = %v, want %v", c.elapsed, c.size, c.limit, got, c.want)
		}
	}
}
