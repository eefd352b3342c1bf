package otelprof

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/stacks"
)

// wrap is Wrap of a provider of the SDK, without globals.
func wrap(t *testing.T, opts ...Option) (*Profiler, *tracetest.InMemoryExporter, *testutil.Log) {
	t.Helper()
	exporter, said := tracetest.NewInMemoryExporter(), &testutil.Log{}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter), sdktrace.WithResource(resource.NewSchemaless(semconv.ServiceName("shop"))))
	p, err := Wrap(provider, append([]Option{WithLogger(said.Logger()), WithoutGlobals()}, opts...)...)
	if err != nil {
		t.Fatalf("Wrap: %v", err)
	}
	t.Cleanup(func() { _ = p.Shutdown(within(t, 5*time.Second)) })
	return p, exporter, said
}

// The provider exports as before, the page has its service and regions, a reader of the program's
// has their metrics, and nothing goes to the endpoint that the environment names.
func TestWrap(t *testing.T) {
	r := newReceiver(t)
	dir := t.TempDir()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.URL)
	t.Setenv(envViewer, "127.0.0.1:0")
	p, exporter, said := wrap(t, WithDataDir(dir))
	spanOf(p, "checkout")

	reader := sdkmetric.NewManualReader(sdkmetric.WithProducer(p.Producer(metricdata.CumulativeTemporality)))
	defer sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Shutdown(t.Context())
	var collected metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &collected); err != nil {
		t.Errorf("Collect: %v", err)
	}
	var metrics []string
	for _, s := range collected.ScopeMetrics {
		for _, m := range s.Metrics {
			metrics = append(metrics, m.Name)
		}
	}
	if !slices.Contains(metrics, "otelprof.region.duration") {
		t.Errorf("metrics %q, want otelprof.region.duration", metrics)
	}
	if _, page := get(t, http.MethodGet, p.ViewerURL()+"api/v1/regions", nil); !strings.Contains(page, `"checkout"`) || p.service != "shop" {
		t.Errorf("service %q and regions %s, want shop and checkout", p.service, page)
	}
	if n := len(exporter.GetSpans()); n != 1 {
		t.Errorf("%d spans came to the provider's exporter, want 1", n)
	}
	if err := p.Shutdown(within(t, 10*time.Second)); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if traces, err := os.ReadFile(filepath.Join(dir, "traces.jsonl")); err != nil || !strings.Contains(string(traces), "checkout") {
		t.Errorf("traces.jsonl: %v, %d bytes, want the span", err, len(traces))
	}
	if len(r.spans)+len(r.metrics)+len(r.logs) != 0 {
		t.Errorf("the endpoint got %q %q %q, want nothing", r.spans, r.metrics, r.logs)
	}
	if text := said.String(); strings.Contains(text, "level=WARN") {
		t.Errorf("logged:\n%s", text)
	}
}

func TestWrapBadValues(t *testing.T) {
	wrapped := spans.WrapTracerProvider(noop.NewTracerProvider())
	defer wrapped.Shutdown(t.Context())
	for name, provider := range map[string]trace.TracerProvider{
		"nil": nil, "nil pointer": (*sdktrace.TracerProvider)(nil), "wrapped": wrapped,
	} {
		p, err := Wrap(provider, WithoutGlobals())
		if err == nil {
			_ = p.Shutdown(t.Context())
		}
		if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "provider") {
			t.Errorf("Wrap(%s) = %v, want an error about the provider", name, err)
		}
	}
}

// What Wrap refuses is left as it was.
func TestFailedWrapLeavesTheProvider(t *testing.T) {
	tp := sdktrace.NewTracerProvider()
	if _, err := Wrap(tp, WithoutGlobals(), WithDataDir(t.TempDir()), WithViewer("0.0.0.0:8080")); err == nil {
		t.Fatal("no error")
	}
	if _, s := tp.Tracer("test").Start(t.Context(), "a"); !s.IsRecording() {
		t.Error("the program's provider was shut down")
	}
	counted := &countedProvider{TracerProvider: tp}
	if _, err := Wrap(counted, WithoutGlobals(), WithDataDir(t.TempDir()), WithStacks(stacks.WithRate(1000))); err == nil {
		t.Fatal("no error")
	}
	if counted.added == 0 || counted.added != counted.removed {
		t.Errorf("%d processors were added to the provider, and %d removed", counted.added, counted.removed)
	}
}

// countedProvider is a provider around the SDK's that counts its processors.
type countedProvider struct {
	*sdktrace.TracerProvider
	added, removed int
}

func (p *countedProvider) RegisterSpanProcessor(sp sdktrace.SpanProcessor) {
	p.added++
	p.TracerProvider.RegisterSpanProcessor(sp)
}

func (p *countedProvider) UnregisterSpanProcessor(sp sdktrace.SpanProcessor) {
	p.removed++
	p.TracerProvider.UnregisterSpanProcessor(sp)
}

// A provider whose exporter hangs at the end keeps no file from its last spans.
func TestWrapBehindAHangingExporter(t *testing.T) {
	dir, tp := t.TempDir(), sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(hanging{}))
	p, err := Wrap(tp, WithDataDir(dir), WithoutGlobals())
	if err != nil {
		t.Fatal(err)
	}
	spanOf(p, "last")
	_ = p.Shutdown(within(t, 300*time.Millisecond))
	if text, err := os.ReadFile(filepath.Join(dir, "traces.jsonl")); err != nil || !strings.Contains(string(text), "last") {
		t.Errorf("traces.jsonl: %v, %q, want the last span", err, text)
	}
}

// hanging is a processor that ends with its context.
type hanging struct{}

func (hanging) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (hanging) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (hanging) ForceFlush(context.Context) error                { return nil }

func (hanging) Shutdown(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// A resource of another schema than the SDK's own is the provider's, and no warning; nothing says
// that spans are measured where the SDK is off.
func TestWrapSaysNothingUntrue(t *testing.T) {
	var said testutil.Log
	older := resource.NewWithAttributes("https://opentelemetry.io/schemas/1.26.0", semconv.ServiceName("shop"))
	p, err := Wrap(sdktrace.NewTracerProvider(sdktrace.WithResource(older)), WithLogger(said.Logger()), WithoutGlobals())
	if err != nil {
		t.Fatal(err)
	}
	_ = p.Shutdown(t.Context())
	t.Setenv("OTEL_SDK_DISABLED", "true")
	if p, err = Wrap(sdktrace.NewTracerProvider(), WithLogger(said.Logger()), WithoutGlobals()); err != nil {
		t.Fatal(err)
	}
	_ = p.Shutdown(t.Context())
	if text := said.String(); strings.Contains(text, "level=WARN") || strings.Count(text, "spans are measured") != 1 {
		t.Errorf("logged:\n%s", text)
	}
}

// Any provider can be wrapped, the names of the resource are the program's to give then.
func TestWrapForeignProvider(t *testing.T) {
	var said testutil.Log
	p, err := Wrap(foreign{noop.NewTracerProvider()}, WithServiceName("cart"), WithDataDir(t.TempDir()), WithoutGlobals(), WithLogger(said.Logger()))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Shutdown(t.Context())
	spanOf(p, "checkout")
	if regions := p.TracerProvider().Regions(); len(regions) != 1 || p.service != "cart" {
		t.Errorf("regions %v of service %q, want one of cart", regions, p.service)
	}
	if !strings.Contains(said.String(), "takes no span processors") {
		t.Errorf("logged %q, want that traces are not written", said.String())
	}
}

// A foreign provider is not the SDK's.
type foreign struct{ trace.TracerProvider }

// What keeps spans from being measured is logged once, with the provider that stands in the way.
func TestWrapBypassed(t *testing.T) {
	const late, displaced = "older than the wrapper", "global TracerProvider is another"
	for name, tt := range map[string]struct {
		after func()
		want  string // "" for nothing
	}{
		"measured":  {after: func() { endSpans(otel.Tracer("test")) }},
		"no spans":  {after: func() {}},
		"displaced": {after: func() { otel.SetTracerProvider(noop.NewTracerProvider()) }, want: displaced},
		"late":      {after: func() {}, want: late},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				defer otel.SetTracerProvider(otel.GetTracerProvider())
				var said testutil.Log
				provider := sdktrace.NewTracerProvider()
				before := provider.Tracer("before")
				p, err := Wrap(provider, WithLogger(said.Logger()), WithoutReplay())
				if err != nil {
					t.Fatal(err)
				}
				defer p.Shutdown(context.Background())
				if tt.after(); tt.want == late {
					endSpans(before)
				}
				time.Sleep(watched + time.Second)
				time.Sleep(watched + time.Second)
				var warnings []string
				for _, line := range said.Lines() {
					if strings.Contains(line, "level=WARN") {
						warnings = append(warnings, line)
					}
				}
				switch {
				case tt.want == "" && len(warnings) != 0, tt.want != "" && (len(warnings) != 1 || !strings.Contains(warnings[0], tt.want)):
					t.Errorf("logged %q, want %q", warnings, tt.want)
				}
			})
		})
	}
}

// A provider around the SDK's keeps its processors when it has been looked for spans that pass by.
func TestWrapLeavesTheProcessors(t *testing.T) {
	for name, around := range map[string]func(*sdktrace.TracerProvider) trace.TracerProvider{
		"SDK":    func(tp *sdktrace.TracerProvider) trace.TracerProvider { return tp },
		"around": func(tp *sdktrace.TracerProvider) trace.TracerProvider { return &countedProvider{TracerProvider: tp} },
	} {
		synctest.Test(t, func(t *testing.T) {
			exporter := tracetest.NewInMemoryExporter()
			tp := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
			var said testutil.Log
			p, err := Wrap(around(tp), WithoutGlobals(), WithoutReplay(), WithLogger(said.Logger()))
			if err != nil {
				t.Fatal(err)
			}
			defer p.Shutdown(context.Background())
			time.Sleep(watched + time.Second)
			spanOf(p, "late")
			if n := len(exporter.GetSpans()); n != 1 {
				t.Errorf("%s: %d spans exported after %v, want 1", name, n, watched)
			}
		})
	}
}

func endSpans(tracer trace.Tracer) {
	for range 100 {
		_, s := tracer.Start(context.Background(), "checkout")
		s.End()
	}
}
