package causal

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"runtime/trace"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace/noop"

	"github.com/otelprof/otelprof/causal/internal/record"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/internal/testutil/thorough"
	"github.com/otelprof/otelprof/spans"
)

// counted is a study that counts.
type counted struct {
	windows chan *record.Window
	wait    bool // until ctx ends
	misses  bool
	keptWaits
}

func (c *counted) enough() bool { return false }
func (c *counted) missed() bool { return c.misses }

func (c *counted) add(ctx context.Context, w *record.Window) error {
	if c.wait {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	c.windows <- w
	return nil
}

func (c *counted) addTo(p *profile.Profile) {
	if len(c.windows) > 0 {
		p.Curves = append(p.Curves, profile.Curve{Mode: profile.ModeReplay, Region: profile.Region{Name: "op"}, Progress: "done", Metric: profile.MetricThroughput, BasePeriod: time.Second})
	}
}

func withStudy(s study) Option {
	return optionFunc(func(c config) config { c.newStudy = func(slowed) study { return s }; return c })
}

func recording(t *testing.T, opts ...Option) (*Controller, *counted) {
	t.Helper()
	s := &counted{windows: make(chan *record.Window, 10)}
	c, err := NewController(append(opts, withStudy(s))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Shutdown(context.Background()) })
	return c, s
}

func TestRecord(t *testing.T) {
	c, s := recording(t)
	err := c.Record(t.Context(), MinWindow)
	if errors.Is(err, ErrTraced) {
		testutil.Lacks(t, "TRACE", err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	if w := <-s.windows; w.Length < MinWindow || w.Bytes() == 0 {
		t.Errorf("window of %v, %d bytes", w.Length, w.Bytes())
	}
	s.windows <- nil
	if p := c.Profile(); len(p.Curves) != 1 || p.Curves[0].Mode != profile.ModeReplay || len(p.Notes) != 0 {
		t.Errorf("profile %+v, want one curve and no note that there was no plan", p)
	}
	if r := c.Status().Recording; r.On || r.Phase != "waiting" || r.Recordings != 1 || r.Last == nil || r.Last.Bytes == 0 {
		t.Errorf("status %+v, want one recording", r)
	}
}

// TestRecordTrace hands a trace out, which is not analysed.
func TestRecordTrace(t *testing.T) {
	c, s := recording(t)
	got, err := c.RecordTrace(t.Context(), MinWindow, true)
	if errors.Is(err, ErrTraced) {
		testutil.Lacks(t, "TRACE", err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(got)
	if err != nil || len(text) != got.Bytes || !bytes.HasPrefix(text, []byte("go 1.")) {
		t.Errorf("trace of %d bytes, %v, begins with %.16q, want %d bytes of a trace", len(text), err, text, got.Bytes)
	}
	if runtime.GOOS == "linux" && got.Machine.CPU <= 0 {
		t.Errorf("machine %+v, want processor time", got.Machine)
	}
	if len(s.windows) != 0 || len(c.Profile().Curves) != 0 {
		t.Error("the trace was analysed")
	}
	if r := c.Status().Recording; r.Phase != "waiting" || r.Recordings != 0 {
		t.Errorf("status %+v, want that of before", r)
	}
	if _, err := c.RecordTrace(t.Context(), MaxWindow+1, false); !errors.Is(err, ErrRecording) {
		t.Errorf("too long: %v, want ErrRecording", err)
	}
	if err := c.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.RecordTrace(t.Context(), MinWindow, false); !errors.Is(err, ErrRecording) {
		t.Errorf("when the program has ended: %v, want ErrRecording", err)
	}
}

// TestRecordOnceMore records a program that the simulation does not meet.
func TestRecordOnceMore(t *testing.T) {
	c, s := recording(t)
	s.misses = true
	err := c.Record(t.Context(), MinWindow)
	if errors.Is(err, ErrTraced) {
		testutil.Lacks(t, "TRACE", err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.windows); n != 2 {
		t.Errorf("%d windows recorded, want a second one since the first is of no use, and no third", n)
	}
}

func TestRecordRefused(t *testing.T) {
	c, s := recording(t)
	for _, d := range []time.Duration{0, MinWindow - 1, MaxWindow + 1} {
		if err := c.Record(t.Context(), d); !errors.Is(err, ErrRecording) {
			t.Errorf("Record(%v) = %v, want ErrRecording", d, err)
		}
	}
	flight := trace.NewFlightRecorder(trace.FlightRecorderConfig{})
	if err := StartFlightRecorder(t.Context(), flight); err != nil {
		testutil.Lacks(t, "TRACE", err.Error())
	}
	if why := c.keepAway(); !strings.Contains(why, "runtime/trace") {
		t.Errorf("keepAway = %q, want that the program is being traced", why)
	}
	err := c.Record(t.Context(), MinWindow)
	if flight.Stop(); !errors.Is(err, ErrTraced) || !errors.Is(err, ErrRecording) {
		t.Errorf("Record beside a flight recorder = %v, want ErrTraced", err)
	}
	var own bytes.Buffer
	if err := trace.Start(&own); err != nil {
		testutil.Lacks(t, "TRACE", err.Error())
	}
	if err := c.Record(t.Context(), MinWindow); err != nil || !c.Status().Recording.Last.Shared {
		t.Errorf("Record beside a trace = %v, last %+v, want one that is shared", err, c.Status().Recording.Last)
	}
	trace.Stop()
	s.wait = true
	go func() { _ = c.Shutdown(context.Background()) }()
	if err := c.Record(t.Context(), MaxWindow); !errors.Is(err, ErrRecording) {
		t.Errorf("Record while the controller is closed = %v, want ErrRecording", err)
	}
	if err := c.Record(t.Context(), MinWindow); !errors.Is(err, ErrRecording) {
		t.Errorf("Record after Shutdown = %v, want ErrRecording", err)
	}
	t.Setenv(naming.EnvReplay, "off")
	forbidden, _ := recording(t, WithReplay())
	if err := forbidden.Record(t.Context(), MinWindow); !errors.Is(err, ErrRecording) || forbidden.Status().Recording.On {
		t.Errorf("Record = %v although %s is off, want ErrRecording", err, naming.EnvReplay)
	}
	t.Setenv(naming.EnvReplay, "of")
	mistyped, _ := recording(t, WithReplay())
	if err := mistyped.Record(t.Context(), MinWindow); !errors.Is(err, ErrRecording) {
		t.Errorf("Record = %v although %s is no switch that is known, want ErrRecording", err, naming.EnvReplay)
	}
}

// TestKeptAwayByARecording says what keeps the next one away, which is not the program's own trace.
func TestKeptAwayByARecording(t *testing.T) {
	c, _ := recording(t)
	var why string
	if err := record.Between(t.Context(), func() error { why = c.keepAway(); return nil }); err != nil {
		t.Fatal(err)
	}
	if why != "another recording is being made" {
		t.Errorf("keepAway = %q", why)
	}
}

// TestRecordsByItself waits until a window is due, and with -long takes the time that it really
// takes: 2 s from the first span, and 3 s of window. When windows come is tested in package record.
func TestRecordsByItself(t *testing.T) {
	c, s := recording(t, WithReplay())
	began := time.Now()
	for range 2 { // several providers, one hook
		tp := spans.WrapTracerProvider(noop.NewTracerProvider(), spans.WithHook(c.Hook()))
		defer func() { _ = tp.Shutdown(context.Background()) }()
		_, span := tp.Tracer("scope").Start(t.Context(), "op")
		span.End()
	}
	for due := false; !due; time.Sleep(ms) {
		next := c.Status().Recording.Next.Sub(began)
		if due = next > 0; due && (next < 1900*ms || next > 12*time.Second) || time.Since(began) > 10*time.Second {
			t.Fatalf("the next window is due %v after the first span, want 2s", next)
		}
	}
	if !*thorough.Rounds {
		return
	}
	select {
	case w := <-s.windows:
		if w.Length < time.Second {
			t.Errorf("window of %v", w.Length)
		}
	case <-time.After(30 * time.Second):
		if r := c.Status().Recording; r.Failed == 0 || r.Reason != ErrTraced.Error() {
			t.Errorf("no window within 30 s of the first span: %+v", r)
		}
	}
}
