package otelprof

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelprof/otelprof/causal/remote"
	"github.com/otelprof/otelprof/internal/clock/ending"
	"github.com/otelprof/otelprof/otelhdr/hdrmetric"
	"github.com/otelprof/otelprof/spans"
)

// Where any part hangs, Shutdown ends within its context and 100 ms, names it, and has ended all
// others. The exports have time left whatever hangs before them.
func TestShutdownWithEachPartHung(t *testing.T) {
	names := []string{"all"}
	for _, stage := range (&Profiler{}).stages() {
		for _, part := range stage {
			names = append(names, part.name)
		}
	}
	for _, hung := range names {
		t.Run(hung, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				var mu sync.Mutex
				var ended []string
				stages := (&Profiler{}).stages()
				for _, stage := range stages {
					for i, name := range stage {
						stage[i].end = func(ctx context.Context) error {
							if exports := []string{"traces", "batches of traces", "metrics", "logs"}; slices.Contains(exports, name.name) && ctx.Err() != nil {
								t.Errorf("%s: no time is left: %v", name.name, ctx.Err())
							}
							if hung == name.name || hung == "all" {
								<-release
								return nil
							}
							time.Sleep(time.Millisecond)
							mu.Lock()
							defer mu.Unlock()
							ended = append(ended, name.name)
							return nil
						}
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				start := time.Now()
				err := end(ctx, stages)
				if took := time.Since(start); took > time.Second+100*time.Millisecond {
					t.Errorf("Shutdown took %v with a context of 1 s, want at most 100 ms more", took)
				}
				for _, name := range names[1:] {
					said := err != nil && strings.Contains(err.Error(), "shutdown: "+name+": not ended")
					if is := hung == name || hung == "all"; said != is || slices.Contains(ended, name) == is {
						t.Errorf("%s: hung %v, ended %q, error %v", name, is, ended, err)
					}
				}
				close(release)
				synctest.Wait()
			})
		})
	}
}

// A context that has ended leaves time for what ends at once.
func TestShutdownAfterItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		release := make(chan struct{})
		at := 0
		stages := [][]part{{{"quick", func(context.Context) error { at++; return nil }}, {"hung", func(context.Context) error { <-release; return nil }}}}
		start := time.Now()
		if err := end(ctx, stages); !errors.Is(err, context.DeadlineExceeded) || at != 1 || time.Since(start) > 100*time.Millisecond {
			t.Errorf("end = %v after %v, quick ended %d times", err, time.Since(start), at)
		}
		close(release)
	})
}

// A deadline that has passed, or has as good as passed, leaves that time too.
func TestShutdownAfterItsDeadline(t *testing.T) {
	for _, left := range []time.Duration{-time.Second, 0, time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), left)
			defer cancel()
			quick := []part{{"quick", func(context.Context) error { time.Sleep(ending.Grace / 2); return nil }}}
			for range 20 { // of two that are ready, select takes either
				if err := end(ctx, [][]part{quick, quick, quick, quick}); err != nil {
					t.Errorf("%v left: end = %v", left, err)
				}
			}
		})
	}
}

// A hungStore takes nothing until it is released.
type hungStore struct {
	spans.Store
	release chan struct{}
}

func (s hungStore) Append(r *spans.SessionRecord) error { <-s.release; return s.Store.Append(r) }

// What the surroundings let hang does not keep the real parts.
func TestShutdownWithHungSurroundings(t *testing.T) {
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer server.Close()
	defer close(hang)
	for name, tt := range map[string]struct {
		env  map[string]string
		opts func() []Option
	}{
		"token of the plan server": {nil, func() []Option {
			return []Option{WithPlanURL("http://127.0.0.1:1/v1/plan", remote.WithToken(func(context.Context) (string, error) { <-hang; return "", nil }))}
		}},
		"plan server":     {map[string]string{envPlanURL: server.URL}, nil},
		"Collector":       {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL}, nil},
		"logger":          {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, func() []Option { return []Option{WithLogger(slog.New(hungHandler{hang}))} }},
		"store of spans":  {nil, func() []Option { return []Option{WithStore(hungStore{spans.NewRing(1 << 20), hang})} }},
		"viewer's client": {nil, func() []Option { return []Option{WithViewer("127.0.0.1:0")} }},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range tt.env {
				t.Setenv(k, v)
			}
			var opts []Option
			if tt.opts != nil {
				opts = tt.opts()
			}
			p, err := Setup(t.Context(), append(opts, WithoutGlobals())...)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				spanOf(p, "work")
			}
			if url := p.ViewerURL(); url != "" { // a client that never ends its request
				conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/"))
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if _, err := io.WriteString(conn, "POST /api/v1/causal/plan/check HTTP/1.1\r\nHost: "+conn.RemoteAddr().String()+"\r\nContent-Length: 100\r\n\r\n{"); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(20 * time.Millisecond) // the token is asked for
			done := make(chan struct{})
			go func() { defer close(done); _ = p.Shutdown(within(t, 300*time.Millisecond)) }()
			select {
			case <-done:
			case <-time.After(20 * time.Second): // a machine may be slow; what hangs, hangs for ever
				t.Fatal("Shutdown with a context of 300 ms has not returned after 20 s")
			}
		})
	}
}

// Shutdown lets an export of metrics that is under way end: its deltas are nowhere else.
func TestShutdownWhileMetricsAreExported(t *testing.T) {
	exporting := make(chan struct{})
	var first sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		first.Do(func() {
			close(exporting)
			time.Sleep(100 * time.Millisecond)
		})
	}))
	defer server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "delta")
	t.Setenv("OTEL_TRACES_EXPORTER", "none")
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "10")
	p, _ := setup(t)
	spanOf(p, "work")
	<-exporting
	if err := p.Shutdown(within(t, 20*time.Second)); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	for _, s := range p.Exports() {
		if s.Exported != s.Ended() {
			t.Errorf("%+v: want all exported", s)
		}
	}
}

// hungMetrics is an exporter to a folder on a server that is gone.
type hungMetrics struct {
	sdkmetric.Exporter
	hang chan struct{}
}

func (h hungMetrics) Export(context.Context, *metricdata.ResourceMetrics) error { <-h.hang; return nil }

// A folder that hangs does not keep metrics and logs from the endpoint.
func TestShutdownBesideAHungFolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		kept := &keptMetrics{}
		p := &Profiler{}
		options := []sdkmetric.Option{}
		for _, e := range []sdkmetric.Exporter{hungMetrics{kept, hang}, kept} {
			r := sdkmetric.NewPeriodicReader(e)
			p.readers, options = append(p.readers, r), append(options, sdkmetric.WithReader(r))
		}
		p.meters = hdrmetric.WrapMeterProvider(sdkmetric.NewMeterProvider(options...))
		n, err := p.meters.Meter("test").Int64Counter("n")
		if err != nil {
			t.Fatal(err)
		}
		n.Add(t.Context(), 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		over := make(chan error, 1)
		go func() { over <- p.shutMetrics(ctx) }()
		time.Sleep(500 * time.Millisecond)
		if kept.exports.Load() == 0 || kept.late.Load() != 0 {
			t.Errorf("%d exports beside a folder that hangs, %d without time", kept.exports.Load(), kept.late.Load())
		}
		close(hang)
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
}

// keptMetrics counts exports, and those whose context had ended.
type keptMetrics struct{ exports, late atomic.Int32 }

func (*keptMetrics) Temporality(k sdkmetric.InstrumentKind) metricdata.Temporality {
	return sdkmetric.DefaultTemporalitySelector(k)
}

func (*keptMetrics) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}

func (k *keptMetrics) Export(ctx context.Context, _ *metricdata.ResourceMetrics) error {
	k.exports.Add(1)
	if ctx.Err() != nil {
		k.late.Add(1)
	}
	return nil
}

func (*keptMetrics) ForceFlush(context.Context) error { return nil }
func (*keptMetrics) Shutdown(context.Context) error   { return nil }

type hungHandler struct{ hang chan struct{} }

func (hungHandler) Enabled(context.Context, slog.Level) bool          { return true }
func (h hungHandler) WithAttrs([]slog.Attr) slog.Handler              { return h }
func (h hungHandler) WithGroup(string) slog.Handler                   { return h }
func (h hungHandler) Handle(ctx context.Context, r slog.Record) error { <-h.hang; return nil }
