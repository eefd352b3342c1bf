package causal

import (
	"bytes"
	"context"
	"errors"
	"runtime/trace"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace/noop"

	"github.com/otelprof/otelprof/causal/internal/record"
	"github.com/otelprof/otelprof/spans"
)

// counted is a study that counts.
type counted struct {
	windows chan *record.Window
	wait    bool // until ctx ends
}

func (c *counted) add(ctx context.Context, w *record.Window) error {
	if c.wait {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	c.windows <- w
	return nil
}

func (c *counted) addTo(p *Profile) {
	if len(c.windows) > 0 {
		p.Curves = append(p.Curves, newCurve(ModeReplay, RegionKey{Span: "op"}, "done", MetricThroughput, time.Second))
	}
}

func withStudy(s study) Option {
	return optionFunc(func(c config) config { c.newStudy = func() study { return s }; return c })
}

func recording(t *testing.T, opts ...Option) (*Controller, *counted) {
	t.Helper()
	s := &counted{windows: make(chan *record.Window, 10)}
	c, err := New(append(opts, withStudy(s))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, s
}

func TestRecord(t *testing.T) {
	c, s := recording(t)
	err := c.Record(t.Context(), MinWindow)
	if errors.Is(err, ErrTraced) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if w := <-s.windows; w.Length < MinWindow || w.Bytes() == 0 {
		t.Errorf("window of %v, %d bytes", w.Length, w.Bytes())
	}
	s.windows <- nil
	if p := c.Profile(); len(p.Curves) != 1 || p.Curves[0].Mode != ModeReplay || len(p.Notes) != 0 {
		t.Errorf("profile %+v, want one curve and no note that there was no plan", p)
	}
	if r := c.Status().Recording; r.On || r.Phase != "waiting" || r.Recordings != 1 || r.Last == nil || r.Last.Bytes == 0 {
		t.Errorf("status %+v, want one recording", r)
	}
}

func TestRecordRefused(t *testing.T) {
	c, s := recording(t)
	for _, d := range []time.Duration{0, MinWindow - 1, MaxWindow + 1} {
		if err := c.Record(t.Context(), d); !errors.Is(err, ErrRecording) {
			t.Errorf("Record(%v) = %v, want ErrRecording", d, err)
		}
	}
	var others bytes.Buffer
	if err := trace.Start(&others); err != nil {
		t.Skip(err)
	}
	err := c.Record(t.Context(), MinWindow)
	trace.Stop()
	if !errors.Is(err, ErrTraced) || !errors.Is(err, ErrRecording) {
		t.Errorf("Record while others trace = %v, want ErrTraced", err)
	}
	s.wait = true
	go func() { _ = c.Close() }()
	if err := c.Record(t.Context(), MaxWindow); !errors.Is(err, ErrRecording) {
		t.Errorf("Record while the controller is closed = %v, want ErrRecording", err)
	}
	if err := c.Record(t.Context(), MinWindow); !errors.Is(err, ErrRecording) {
		t.Errorf("Record after Close = %v, want ErrRecording", err)
	}
	t.Setenv(EnvReplay, "off")
	forbidden, _ := recording(t, WithReplay(true))
	if err := forbidden.Record(t.Context(), MinWindow); !errors.Is(err, ErrRecording) || forbidden.Status().Recording.On {
		t.Errorf("Record = %v although %s is off, want ErrRecording", err, EnvReplay)
	}
	t.Setenv(EnvReplay, "of")
	if _, err := New(); !errors.Is(err, ErrConfig) {
		t.Errorf("New = %v with a wrong %s, want ErrConfig", err, EnvReplay)
	}
}

// TestRecordsByItself takes the time that it really takes: 2 s from the first span, and 3 s of window.
func TestRecordsByItself(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 5 s")
	}
	t.Parallel()
	c, s := recording(t, WithReplay(true))
	for range 2 { // several providers, one hook
		tp := spans.Wrap(noop.NewTracerProvider(), spans.WithHook(c.Hook()))
		defer func() { _ = tp.Shutdown(context.Background()) }()
		_, span := tp.Tracer("scope").Start(t.Context(), "op")
		span.End()
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
