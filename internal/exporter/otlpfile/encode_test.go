package otlpfile

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"       //nolint:depguard // to compare with, in this test only
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp" //nolint:depguard // to compare with, in this test only
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"   //nolint:depguard // to compare with, in this test only
	otellog "go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/log/logtest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/internal/testutil"
)

var attributes = []attribute.KeyValue{
	attribute.Bool("bool", true), attribute.Int64("int", math.MinInt64), attribute.Float64("float", -1.5),
	attribute.String("string", "line\nbreak \"quoted\" ünïcode \u2028"), attribute.String("empty", ""),
	attribute.BoolSlice("bools", []bool{true, false}), attribute.Int64Slice("ints", []int64{1, math.MaxInt64}),
	attribute.Float64Slice("floats", []float64{0, 1e300}), attribute.StringSlice("strings", []string{"a", ""}),
	{Key: "bytes", Value: attribute.ByteSliceValue([]byte{0, 255})},
	{Key: "values", Value: attribute.SliceValue(attribute.IntValue(1), attribute.StringValue("x"))},
	{Key: "map", Value: attribute.MapValue(attribute.Bool("in", true))},
	{Key: "nothing"},
}

func someSpans() []sdktrace.ReadOnlySpan {
	start := time.Unix(1_700_000_000, 123456789)
	state, _ := trace.ParseTraceState("vendor=1")
	id := func(n byte, remote bool) trace.SpanContext {
		return trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID{0xab, 15: n}, SpanID: trace.SpanID{0xcd, 7: n},
			TraceFlags: trace.FlagsSampled, Remote: remote, TraceState: state,
		})
	}
	res := resource.NewWithAttributes("https://schema/1", attribute.String("service.name", "shop"))
	scope := instrumentation.Scope{Name: "lib", Version: "v1", SchemaURL: "https://schema/2", Attributes: attribute.NewSet(attribute.Int("x", 1))}
	stubs := tracetest.SpanStubs{
		{
			Name: "all", SpanContext: id(1, false), Parent: id(2, true), SpanKind: trace.SpanKindServer, StartTime: start,
			EndTime: start.Add(time.Second), Attributes: attributes, Resource: res, InstrumentationScope: scope,
			Events: []sdktrace.Event{{Name: "event", Time: start.Add(1), Attributes: attributes, DroppedAttributeCount: 3}},
			Links:  []sdktrace.Link{{SpanContext: id(3, true).WithTraceState(trace.TraceState{}), Attributes: attributes, DroppedAttributeCount: 4}},
			Status: sdktrace.Status{Code: codes.Error, Description: "it broke"}, DroppedAttributes: 5, DroppedEvents: 6, DroppedLinks: 7,
		},
		{
			Name: "root", SpanContext: id(4, false), SpanKind: trace.SpanKindInternal, StartTime: start, Resource: res,
			InstrumentationScope: scope, Status: sdktrace.Status{Code: codes.Ok},
		},
		{Name: "another scope", SpanContext: id(5, false), SpanKind: trace.SpanKindClient, StartTime: start, Resource: res},
		{Name: "", SpanContext: id(6, false), SpanKind: trace.SpanKindProducer, StartTime: start, Resource: res},
		{Name: "consumer", SpanContext: id(7, false), SpanKind: trace.SpanKindConsumer, StartTime: start, Resource: res},
	}
	return stubs.Snapshots()
}

func someMetrics() *metricdata.ResourceMetrics {
	start, end := time.Unix(1_700_000_000, 1), time.Unix(1_700_000_060, 2)
	set := attribute.NewSet(attribute.String("k", "v"))
	traceID, spanID := []byte("0123456789abcdef"), []byte("01234567")
	ints := []metricdata.DataPoint[int64]{{Attributes: set, StartTime: start, Time: end, Value: -7, Exemplars: []metricdata.Exemplar[int64]{
		{FilteredAttributes: attributes[:3], Time: end, Value: 3, SpanID: spanID, TraceID: traceID}, {Time: end, Value: 4},
	}}}
	floats := []metricdata.DataPoint[float64]{
		{Time: end, Value: 0.1, Exemplars: []metricdata.Exemplar[float64]{{Time: end, Value: 3.5, SpanID: spanID, TraceID: traceID}}},
		{Attributes: set, Value: math.Inf(1)},
	}
	return &metricdata.ResourceMetrics{
		Resource: resource.NewWithAttributes("https://schema/1", attribute.String("service.name", "shop")),
		ScopeMetrics: []metricdata.ScopeMetrics{
			{
				Scope: instrumentation.Scope{Name: "lib", Version: "v1", SchemaURL: "https://schema/2", Attributes: set},
				Metrics: []metricdata.Metrics{
					{Name: "gauge.int", Description: "what", Unit: "By", Data: metricdata.Gauge[int64]{DataPoints: ints}},
					{Name: "gauge.float", Data: metricdata.Gauge[float64]{DataPoints: floats}},
					{Name: "sum.int", Data: metricdata.Sum[int64]{DataPoints: ints, Temporality: metricdata.DeltaTemporality, IsMonotonic: true}},
					{Name: "sum.float", Data: metricdata.Sum[float64]{DataPoints: floats, Temporality: metricdata.CumulativeTemporality}},
				},
			},
			{Scope: instrumentation.Scope{Name: "other"}, Metrics: []metricdata.Metrics{
				{Name: "hist.int", Data: metricdata.Histogram[int64]{
					Temporality: metricdata.CumulativeTemporality,
					DataPoints: []metricdata.HistogramDataPoint[int64]{{
						Attributes: set, StartTime: start, Time: end, Count: 3, Bounds: []float64{0, 5}, BucketCounts: []uint64{0, 1, 2},
						Min: metricdata.NewExtrema[int64](1), Max: metricdata.NewExtrema[int64](9), Sum: 16, Exemplars: ints[0].Exemplars,
					}},
				}},
				{Name: "hist.float", Data: metricdata.Histogram[float64]{
					Temporality: metricdata.DeltaTemporality,
					DataPoints:  []metricdata.HistogramDataPoint[float64]{{Count: 0, Sum: 0}},
				}},
				{Name: "exp.int", Data: metricdata.ExponentialHistogram[int64]{
					Temporality: metricdata.DeltaTemporality,
					DataPoints: []metricdata.ExponentialHistogramDataPoint[int64]{{
						Attributes: set, StartTime: start, Time: end, Count: math.MaxUint64, Sum: 8, Scale: -3, ZeroCount: 2,
						PositiveBucket: metricdata.ExponentialBucket{Offset: -4, Counts: []uint64{1, 0, 2}}, ZeroThreshold: 0.5, Exemplars: ints[0].Exemplars,
					}},
				}},
				{Name: "exp.float", Data: metricdata.ExponentialHistogram[float64]{
					Temporality: metricdata.CumulativeTemporality,
					DataPoints: []metricdata.ExponentialHistogramDataPoint[float64]{{
						Count: 5, Sum: -8.5, Scale: 20, Min: metricdata.NewExtrema(-4.0), Max: metricdata.NewExtrema(0.0),
						NegativeBucket: metricdata.ExponentialBucket{Offset: 7, Counts: []uint64{5}}, Exemplars: floats[0].Exemplars,
					}},
				}},
				{Name: "summary", Data: metricdata.Summary{DataPoints: []metricdata.SummaryDataPoint{{
					Attributes: set, StartTime: start, Time: end, Count: 2, Sum: 3.5,
					QuantileValues: []metricdata.QuantileValue{{Quantile: 0.5, Value: 1}, {Quantile: 1, Value: 2.5}},
				}}}},
			}},
		},
	}
}

// sent returns the bodies that an OTLP server gets while export runs.
func sent(t *testing.T, export func(url string)) [][]byte {
	t.Helper()
	var bodies [][]byte
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		bodies = append(bodies, body)
	}))
	defer s.Close()
	defer s.CloseClientConnections()
	export(s.URL)
	if len(bodies) != 1 {
		t.Fatalf("%d requests sent, want 1", len(bodies))
	}
	return bodies
}

func line(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(data), "\n"); n != 1 || data[len(data)-1] != '\n' {
		t.Fatalf("%s has %d newlines, want one at the end", path, n)
	}
	if !json.Valid(data) {
		t.Fatalf("%s is no JSON: %s", path, data)
	}
	return data
}

// What a file says is what the SDK's own exporter sends.
func TestSpansLikeTheSDK(t *testing.T) {
	body := sent(t, func(url string) {
		e, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(url))
		if err != nil {
			t.Fatal(err)
		}
		if err := e.ExportSpans(t.Context(), someSpans()); err != nil {
			t.Fatal(err)
		}
		_ = e.Shutdown(t.Context())
	})[0]
	want, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(body)
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	e, err := NewSpanExporter(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	export(t, e, someSpans())
	closed(t, e)
	data := line(t, filepath.Join(dir, "traces.jsonl"))
	got, err := (&ptrace.JSONUnmarshaler{DisallowUnknownFields: true}).UnmarshalTraces(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(asJSON(t, want), asJSON(t, got)); diff != "" {
		t.Errorf("spans (-SDK +file):\n%s", diff)
	}
	// The file format's rules: ids in hexadecimal, enums as numbers.
	for _, text := range []string{`{"resourceSpans":[`, `"traceId":"ab000000000000000000000000000001"`, `"spanId":"cd00000000000001"`, `"kind":2`, `"code":2`} {
		if !strings.Contains(string(data), text) {
			t.Errorf("the line does not contain %s: %s", text, data)
		}
	}
}

func TestMetricsLikeTheSDK(t *testing.T) {
	body := sent(t, func(url string) {
		e, err := otlpmetrichttp.New(t.Context(), otlpmetrichttp.WithEndpointURL(url))
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Export(t.Context(), someMetrics()); err != nil {
			t.Fatal(err)
		}
		_ = e.Shutdown(t.Context())
	})[0]
	want, err := (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics(body)
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	e, err := NewMetricExporter(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Export(t.Context(), someMetrics()); err != nil {
		t.Fatal(err)
	}
	if s := e.Stats(); s.Exported != 11 {
		t.Errorf("Stats = %+v, want 11 exported", s)
	}
	closed(t, e)
	data := line(t, filepath.Join(dir, "metrics.jsonl"))
	got, err := (&pmetric.JSONUnmarshaler{DisallowUnknownFields: true}).UnmarshalMetrics(data)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(fmt.Sprint(asJSON(t, want)), "zeroThreshold") { // the SDK's exporter leaves it out before v1.47
		withoutZeroThresholds(got)
	}
	if diff := cmp.Diff(asJSON(t, want), asJSON(t, got)); diff != "" {
		t.Errorf("metrics (-SDK +file):\n%s", diff)
	}
	for _, text := range []string{`{"resourceMetrics":[`, `"zeroThreshold":0.5`, `"aggregationTemporality":2`, `"traceId":"30313233343536373839616263646566"`} {
		if !strings.Contains(string(data), text) {
			t.Errorf("the line does not contain %s: %s", text, data)
		}
	}
}

func withoutZeroThresholds(m pmetric.Metrics) {
	for _, rm := range m.ResourceMetrics().All() {
		for _, sm := range rm.ScopeMetrics().All() {
			for _, metric := range sm.Metrics().All() {
				if metric.Type() != pmetric.MetricTypeExponentialHistogram {
					continue
				}
				for _, p := range metric.ExponentialHistogram().DataPoints().All() {
					p.SetZeroThreshold(0)
				}
			}
		}
	}
}

func someRecords() []sdklog.Record {
	at := time.Unix(1_700_000_000, 123456789)
	res := resource.NewWithAttributes("https://schema/1", attribute.String("service.name", "shop"))
	scope := &instrumentation.Scope{Name: "lib", Version: "v1", SchemaURL: "https://schema/2"}
	factories := []logtest.RecordFactory{
		{
			EventName: "causal.plan.started", Timestamp: at, ObservedTimestamp: at.Add(1), Severity: otellog.SeverityWarn, SeverityText: "WARN",
			Body: attribute.StringValue("plan started"), Attributes: attributes, TraceID: trace.TraceID{0xab, 15: 1}, SpanID: trace.SpanID{0xcd, 7: 1},
			TraceFlags: trace.FlagsSampled, Resource: res, InstrumentationScope: scope, DroppedAttributes: 3,
		},
		{Body: attribute.MapValue(attribute.Int("n", 1)), ObservedTimestamp: at, Resource: res, InstrumentationScope: scope},
		{ObservedTimestamp: at, Resource: res},
	}
	records := make([]sdklog.Record, len(factories))
	for i, f := range factories {
		records[i] = f.NewRecord()
	}
	return records
}

func TestLogsLikeTheSDK(t *testing.T) {
	body := sent(t, func(url string) {
		e, err := otlploghttp.New(t.Context(), otlploghttp.WithEndpointURL(url))
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Export(t.Context(), someRecords()); err != nil {
			t.Fatal(err)
		}
		_ = e.Shutdown(t.Context())
	})[0]
	want, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(body)
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	e, err := NewLogExporter(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Export(t.Context(), someRecords()); err != nil {
		t.Fatal(err)
	}
	if s := e.Stats(); s.Exported != 3 {
		t.Errorf("Stats = %+v, want 3 exported", s)
	}
	closed(t, e)
	data := line(t, filepath.Join(dir, "logs.jsonl"))
	got, err := (&plog.JSONUnmarshaler{DisallowUnknownFields: true}).UnmarshalLogs(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(asJSON(t, want), asJSON(t, got)); diff != "" {
		t.Errorf("log records (-SDK +file):\n%s", diff)
	}
	for _, text := range []string{`{"resourceLogs":[`, `"severityNumber":13`, `"eventName":"causal.plan.started"`} {
		if !strings.Contains(string(data), text) {
			t.Errorf("the line does not contain %s: %s", text, data)
		}
	}
}

// asJSON makes both sides comparable.
func asJSON(t *testing.T, v any) any {
	t.Helper()
	var data []byte
	var err error
	switch v := v.(type) {
	case ptrace.Traces:
		data, err = (&ptrace.JSONMarshaler{}).MarshalTraces(v)
	case plog.Logs:
		data, err = (&plog.JSONMarshaler{}).MarshalLogs(v)
	case pmetric.Metrics:
		data, err = (&pmetric.JSONMarshaler{}).MarshalMetrics(v)
	}
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return out
}

func TestInvalidUTF8CostsNoBatch(t *testing.T) {
	dir := t.TempDir()
	e, err := NewSpanExporter(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	export(t, e, tracetest.SpanStubs{{Name: "bad \xff name", Attributes: []attribute.KeyValue{attribute.String("k\xff", "\xc3\x28")}}}.Snapshots())
	closed(t, e)
	got, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(line(t, filepath.Join(dir, "traces.jsonl")))
	if err != nil {
		t.Fatal(err)
	}
	if name := got.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Name(); name != "bad \uFFFD name" {
		t.Errorf("name = %q, want the byte replaced", name)
	}
}

func TestMetricsWithoutOTLPWordsAreRefused(t *testing.T) {
	var l testutil.Log
	e, err := NewMetricExporter(Config{Dir: t.TempDir(), Logger: l.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	point := []metricdata.DataPoint[int64]{{Value: 1}}
	rm := &metricdata.ResourceMetrics{ScopeMetrics: []metricdata.ScopeMetrics{{Metrics: []metricdata.Metrics{
		{Name: "good", Data: metricdata.Gauge[int64]{DataPoints: point}},
		{Name: "timeless", Data: metricdata.Sum[int64]{DataPoints: point}},
		{Name: "shapeless"},
	}}}}
	for range 3 {
		if err := e.Export(context.Background(), rm); err != nil {
			t.Fatal(err)
		}
	}
	if s := e.Stats(); s.Exported != 3 || s.Rejected != 6 || s.Failed != 0 {
		t.Errorf("Stats = %+v, want 3 exported and 6 rejected", s)
	}
	if lines := l.Await(1); len(lines) != 1 || !strings.Contains(lines[0], "timeless") || !strings.Contains(lines[0], "shapeless") {
		t.Errorf("said %q, want one line that names both metrics", lines)
	}
	closed(t, e)
}
