package delivery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelprof/otelprof/internal/asynclog"
)

// newLogger returns a logger and the lines it has written.
func newLogger() (*slog.Logger, func() []string) {
	var buf bytes.Buffer
	h := slog.NewTextHandler(&buf, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	return slog.New(h), func() []string {
		text := strings.TrimSuffix(buf.String(), "\n")
		buf.Reset()
		if text == "" {
			return nil
		}
		return strings.Split(text, "\n")
	}
}

// toldBy waits for the monitor's goroutine that logs.
func toldBy(m *Monitor, lines func() []string) []string {
	m.messages.wait(context.Background())
	return lines()
}

func TestMonitorSaysOncePerCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logger, lines := newLogger()
		m := NewMonitor(Config{Name: "x", Unit: "spans", Logger: logger})
		ctx := t.Context()
		for port := range 50 {
			m.Observe(ctx, 2, fmt.Errorf("port %d refused", 1000+port))
			time.Sleep(time.Minute)
		}
		m.Observe(ctx, 2, errors.New("unauthorized"))
		m.Observe(ctx, 2, fmt.Errorf("port 1 refused"))
		want := []string{
			`level=WARN msg="x: 2 spans not delivered, more of this kind are only counted: port 1000 refused"`,
			`level=WARN msg="x: 2 spans not delivered, more of this kind are only counted: unauthorized"`,
		}
		if diff := cmp.Diff(want, toldBy(m, lines)); diff != "" {
			t.Errorf("lines during the outage (-want +got):\n%s", diff)
		}
		if got, want := m.Err().Error(), "x: 104 spans not delivered: port 1 refused"; got != want {
			t.Errorf("Err() = %q, want %q", got, want)
		}

		m.Observe(ctx, 7, nil)
		m.Observe(ctx, 7, nil)
		want = []string{`level=INFO msg="x: delivering again after 50m0s, 52 exports and 104 spans lost"`}
		if diff := cmp.Diff(want, toldBy(m, lines)); diff != "" {
			t.Errorf("lines after the outage (-want +got):\n%s", diff)
		}
		if err := m.Err(); err != nil {
			t.Errorf("Err() = %v after an export, want nil", err)
		}
		if diff := cmp.Diff(Stats{Name: "x", Exported: 14, Failed: 104, FailedExports: 52}, m.Stats()); diff != "" {
			t.Errorf("Stats (-want +got):\n%s", diff)
		}
	})
}

func TestMonitorFlappingIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logger, lines := newLogger()
		m := NewMonitor(Config{Name: "x", Unit: "spans", Logger: logger})
		said := 0
		for range 120 { // two minutes of up and down, a second each
			m.Observe(t.Context(), 1, errors.New("refused"))
			m.Observe(t.Context(), 1, nil)
			time.Sleep(time.Second)
		}
		if said = len(toldBy(m, lines)); said != 2 {
			t.Errorf("%d lines from a flapping endpoint, want 2: its first failure and return", said)
		}
		time.Sleep(asynclog.RepeatAfter)
		m.Observe(t.Context(), 1, errors.New("refused"))
		if said = len(toldBy(m, lines)); said != 1 {
			t.Errorf("%d lines from a failure %v later, want 1", said, asynclog.RepeatAfter)
		}
	})
}

func TestMonitorBoundsCauses(t *testing.T) {
	logger, lines := newLogger()
	m := NewMonitor(Config{Name: "x", Unit: "spans", Logger: logger, Cause: error.Error})
	for i := range 1000 {
		m.Observe(t.Context(), 1, fmt.Errorf("cause %d", i))
	}
	if got := len(toldBy(m, lines)); got > asynclog.MaxCauses+1 {
		t.Errorf("%d lines from 1000 causes, want at most %d", got, asynclog.MaxCauses+1)
	}
	for i := range 1000 {
		m.Observe(t.Context(), 1, nil)
		m.Observe(t.Context(), 1, fmt.Errorf("another cause %d", i))
	}
}

func TestMonitorRejected(t *testing.T) {
	logger, lines := newLogger()
	refused := errors.New("too old")
	m := NewMonitor(Config{
		Name: "x", Unit: "spans", Logger: logger,
		Rejected: func(err error) (int, bool) { return 3, errors.Is(err, refused) },
	})
	m.Observe(t.Context(), 1, errors.New("down"))
	_ = toldBy(m, lines)
	m.Observe(t.Context(), 10, refused)
	m.Observe(t.Context(), 2, refused)
	if got := len(toldBy(m, lines)); got != 2 {
		t.Errorf("%d lines, want 2: the end of the outage, the first refusal", got)
	}
	want := Stats{Name: "x", Exported: 7, Rejected: 5, Failed: 1, FailedExports: 1}
	if diff := cmp.Diff(want, m.Stats()); diff != "" {
		t.Errorf("Stats (-want +got):\n%s", diff)
	}
	if err := m.Err(); err != nil {
		t.Errorf("Err() = %v, want nil: what was sent has been answered", err)
	}
}

func TestMonitorCancelIsNoOutage(t *testing.T) {
	logger, lines := newLogger()
	m := NewMonitor(Config{Name: "x", Unit: "spans", Logger: logger})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m.Observe(ctx, 4, context.Canceled)
	if got := toldBy(m, lines); got != nil {
		t.Errorf("said %q about an export that was cancelled", got)
	}
	if diff := cmp.Diff(Stats{Name: "x", Failed: 4, FailedExports: 1}, m.Stats()); diff != "" {
		t.Errorf("Stats (-want +got):\n%s", diff)
	}
}

func TestDataPoints(t *testing.T) {
	metric := func(d metricdata.Aggregation) metricdata.Metrics { return metricdata.Metrics{Data: d} }
	rm := &metricdata.ResourceMetrics{ScopeMetrics: []metricdata.ScopeMetrics{{Metrics: []metricdata.Metrics{
		metric(metricdata.Gauge[int64]{DataPoints: make([]metricdata.DataPoint[int64], 1)}),
		metric(metricdata.Gauge[float64]{DataPoints: make([]metricdata.DataPoint[float64], 2)}),
		metric(metricdata.Sum[int64]{DataPoints: make([]metricdata.DataPoint[int64], 4)}),
		metric(metricdata.Sum[float64]{DataPoints: make([]metricdata.DataPoint[float64], 8)}),
	}}, {Metrics: []metricdata.Metrics{
		metric(metricdata.Histogram[int64]{DataPoints: make([]metricdata.HistogramDataPoint[int64], 16)}),
		metric(metricdata.Histogram[float64]{DataPoints: make([]metricdata.HistogramDataPoint[float64], 32)}),
		metric(metricdata.ExponentialHistogram[int64]{DataPoints: make([]metricdata.ExponentialHistogramDataPoint[int64], 64)}),
		metric(metricdata.ExponentialHistogram[float64]{DataPoints: make([]metricdata.ExponentialHistogramDataPoint[float64], 128)}),
		metric(metricdata.Summary{DataPoints: make([]metricdata.SummaryDataPoint, 256)}),
		metric(nil),
	}}}}
	if got := DataPoints(rm); got != 512 {
		t.Errorf("DataPoints = %d, want 512", got)
	}
}
