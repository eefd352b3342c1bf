package otlp

import (
	"context"
	"errors"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/otelprof/otelprof/internal/exporter/delivery"
	"github.com/otelprof/otelprof/internal/testutil"
)

type keptMetrics struct {
	sdkmetric.Exporter
	rm *metricdata.ResourceMetrics
}

func (k *keptMetrics) Export(_ context.Context, rm *metricdata.ResourceMetrics) error {
	k.rm = rm
	return nil
}

func TestInvalidUTF8(t *testing.T) {
	bad := attribute.StringSlice("k\xe9", []string{"a", "v\xe9"})
	const want = "k\uFFFD"
	res := resource.NewSchemaless(bad)
	spans := tracetest.NewInMemoryExporter()
	span := tracetest.SpanStub{Name: "k\xe9", Attributes: []attribute.KeyValue{bad}, Events: []sdktrace.Event{{Name: "k\xe9"}}, Resource: res}
	if err := (utf8Spans{SpanExporter: spans}).ExportSpans(t.Context(), []sdktrace.ReadOnlySpan{span.Snapshot()}); err != nil {
		t.Fatal(err)
	}
	got := spans.GetSpans()[0]
	if got.Name != want || got.Attributes[0].Key != want || got.Events[0].Name != want || got.Resource.Attributes()[0].Key != want {
		t.Errorf("span %+v, want %q", got, want)
	}
	if v := got.Attributes[0].Value.AsStringSlice(); v[1] != "v\uFFFD" {
		t.Errorf("value %q", v)
	}
	kept := &keptMetrics{}
	data := metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{{Attributes: attribute.NewSet(bad), Value: 7}}}
	rm := &metricdata.ResourceMetrics{Resource: res, ScopeMetrics: []metricdata.ScopeMetrics{{Metrics: []metricdata.Metrics{{Name: "k\xe9", Data: data}}}}}
	if err := (utf8Metrics{Exporter: kept}).Export(t.Context(), rm); err != nil {
		t.Fatal(err)
	}
	m := kept.rm.ScopeMetrics[0].Metrics[0]
	p := m.Data.(metricdata.Gauge[int64]).DataPoints[0]
	if m.Name != want || p.Attributes.ToSlice()[0].Key != want || p.Value != 7 || kept.rm.Resource.Attributes()[0].Key != want {
		t.Errorf("metrics %+v, want %q", kept.rm, want)
	}
	if !data.DataPoints[0].Attributes.HasValue("k\xe9") {
		t.Error("the caller's data were changed")
	}
}

// smallSpans refuses more than one span.
type smallSpans struct{ sdktrace.SpanExporter }

func (smallSpans) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	if len(spans) > 1 {
		return errors.New("request body too large: exceeded 64 bytes")
	}
	return nil
}

// An item that is exported at the third try was repaired once.
func TestRepairedOnce(t *testing.T) {
	var l testutil.Log
	m := newMonitor("traces", "spans", Pipeline{}, l.Logger())
	e := delivery.WrapSpans(utf8Spans{smallSpans{}, pipe{nil, m}}, m)
	spans := tracetest.SpanStubs{{Name: "a\xe9"}, {Name: "b"}, {Name: "c"}, {Name: "d"}}.Snapshots()
	_ = e.ExportSpans(t.Context(), spans)
	if s := e.Stats(); s.Repaired != 1 || s.Exported != 4 {
		t.Errorf("%+v, want 4 exported, and one of them repaired", s)
	}
}
