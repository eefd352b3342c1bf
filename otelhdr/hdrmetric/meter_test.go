package hdrmetric_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/otelprof/otelprof/otelhdr"
	"github.com/otelprof/otelprof/otelhdr/hdrmetric"
)

// TestEqualsSDK compares all there is of small whole numbers, which both sides count exactly when
// the scale is the same.
func TestEqualsSDK(t *testing.T) {
	for _, temporality := range []metricdata.Temporality{metricdata.CumulativeTemporality, metricdata.DeltaTemporality} {
		producer := hdrmetric.NewProducer(hdrmetric.WithTemporality(temporality), hdrmetric.WithScale(5))
		reader := sdkmetric.NewManualReader(
			sdkmetric.WithTemporalitySelector(func(sdkmetric.InstrumentKind) metricdata.Temporality { return temporality }),
			sdkmetric.WithAggregationSelector(func(sdkmetric.InstrumentKind) sdkmetric.Aggregation {
				return sdkmetric.AggregationBase2ExponentialHistogram{MaxSize: 1000, MaxScale: 5}
			}),
			sdkmetric.WithProducer(producer))
		base := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
		for _, p := range []metric.MeterProvider{base, hdrmetric.WrapMeterProvider(base, producer)} {
			h, err := p.Meter("m").Int64Histogram("h", metric.WithUnit("By"), metric.WithDescription("d"))
			if err != nil {
				t.Fatal(err)
			}
			for v := range int64(1000) {
				h.Record(t.Context(), 3*v%1000-10, metric.WithAttributes(attribute.Int64("a", v%2)))
			}
		}
		var rm metricdata.ResourceMetrics
		if err := reader.Collect(t.Context(), &rm); err != nil {
			t.Fatal(err)
		}
		if len(rm.ScopeMetrics) != 2 {
			t.Fatalf("%d scopes, want the SDK's and ours", len(rm.ScopeMetrics))
		}
		metricdatatest.AssertEqual(t, rm.ScopeMetrics[0], rm.ScopeMetrics[1], metricdatatest.IgnoreTimestamp())
	}
}

func TestWrapHandsOthersThrough(t *testing.T) {
	base := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	p := hdrmetric.WrapMeterProvider(base, hdrmetric.NewProducer())
	if p.Unwrap() != metric.MeterProvider(base) {
		t.Errorf("Unwrap = %v, want the wrapped provider", p.Unwrap())
	}
	of := func(m metric.Meter) []any {
		c, err1 := m.Int64Counter("c")
		u, err2 := m.Float64UpDownCounter("u")
		g, err3 := m.Int64Gauge("g")
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		return []any{c, u, g}
	}
	for i, want := range of(base.Meter("m")) {
		if got := of(p.Meter("m"))[i]; got != want {
			t.Errorf("instrument %d is a %T, want that of the wrapped provider", i, got)
		}
	}
	if p.Meter("m") != p.Meter("m") {
		t.Errorf("two meters of the same scope, want one")
	}
	if err := errors.Join(p.ForceFlush(t.Context()), p.Shutdown(t.Context())); err != nil {
		t.Errorf("ForceFlush and Shutdown: %v", err)
	}
	if err := base.Shutdown(t.Context()); !errors.Is(err, sdkmetric.ErrReaderShutdown) {
		t.Errorf("Shutdown of the wrapped provider: %v, want that it was shut down", err)
	}
}

func TestWrapWithoutProducers(t *testing.T) {
	base := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	if got, want := hdrmetric.WrapMeterProvider(base).Meter("m"), base.Meter("m"); got != want {
		t.Errorf("Meter is a %T, want that of the wrapped provider", got)
	}
	p := hdrmetric.WrapMeterProvider(nil)
	h, err := p.Meter("m").Float64Histogram("h")
	if err != nil {
		t.Fatal(err)
	}
	h.Record(t.Context(), 1)
	if err := errors.Join(p.ForceFlush(t.Context()), p.Shutdown(t.Context())); err != nil {
		t.Error(err)
	}
}

// globalsAreSet is true after TestGlobal: OpenTelemetry's globals delegate to the first provider
// that is set, once.
var globalsAreSet bool

// TestGlobal uses an instrument that was made before there was a provider.
func TestGlobal(t *testing.T) {
	if globalsAreSet {
		t.Skip("runs once in a process")
	}
	globalsAreSet = true
	h, err := otel.Meter("m").Float64Histogram("h", metric.WithUnit("s"))
	if err != nil {
		t.Fatal(err)
	}
	reader, p := newReader(t)
	otel.SetMeterProvider(p)
	defer otel.SetMeterProvider(noop.NewMeterProvider())
	h.Record(t.Context(), 2)
	if got := onlyPoint[float64](t, reader); got.Count != 1 || got.Sum != 2 {
		t.Errorf("Count, Sum = %d, %v, want 1, 2", got.Count, got.Sum)
	}
}

func TestInstrumentNames(t *testing.T) {
	_, ours := newReader(t)
	sdk := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	for _, name := range []string{
		"", "a", "A", "a.b_c-d/e", "1a", "_a", ".a", "a b", "a\n", "é", "aé", "a9", strings.Repeat("a", 255), strings.Repeat("a", 256), "a%",
	} {
		_, want := sdk.Meter("m").Float64Histogram(name)
		h, got := ours.Meter("m").Float64Histogram(name)
		_, gotInt := ours.Meter("m").Int64Histogram(name)
		if errors.Is(want, sdkmetric.ErrInstrumentName) != errors.Is(got, sdkmetric.ErrInstrumentName) || (got == nil) != (gotInt == nil) {
			t.Errorf("%q: %v and %v, want as the SDK: %v", name, got, gotInt, want)
		}
		h.Record(t.Context(), 1) // it works all the same
	}
	for _, bounds := range [][]float64{{2, 1}, {1, 1}, {1, math.NaN()}, {math.NaN()}} {
		h, err := ours.Meter("m").Float64Histogram("bounds", metric.WithExplicitBucketBoundaries(bounds...))
		if !errors.Is(err, otelhdr.ErrConfig) || h == nil {
			t.Errorf("boundaries %v: %v, %v, want an instrument and an error", bounds, h, err)
		}
	}
}

func TestInstrumentIdentity(t *testing.T) {
	handled := muteHandler(t)
	_, p := newReader(t)
	m := p.Meter("m")
	first, _ := m.Float64Histogram("latency", metric.WithUnit("s"))
	for range 3 {
		if again, _ := p.Meter("m").Float64Histogram("latency", metric.WithUnit("s")); again != first {
			t.Errorf("the same instrument asked for again is another")
		}
	}
	if errs := handled.all(); len(errs) != 0 {
		t.Errorf("reported %v, want nothing", errs)
	}
	for range 2 { // reported the first time only
		_, _ = m.Float64Histogram("Latency", metric.WithUnit("s"))
		_, _ = m.Float64Histogram("latency", metric.WithUnit("ms"))
		_, _ = m.Float64Histogram("latency", metric.WithUnit("s"), metric.WithDescription("d"))
		_, _ = m.Int64Histogram("latency", metric.WithUnit("s"))
	}
	errs := handled.all()
	if len(errs) != 4 {
		t.Errorf("reported %v, want 4 conflicts", errs)
	}
	for _, err := range errs {
		if !strings.Contains(err.Error(), `"latency" (float64, unit "s"`) {
			t.Errorf("reported %v, want the first of the name in it", err)
		}
	}
}

// Those of go.opentelemetry.io/otel/metric/x, which has them since v0.69.0; integration/compat
// holds them together.
type (
	float64Binder interface {
		Bind(attrs ...attribute.KeyValue) metric.Float64Histogram
	}
	int64Binder interface {
		Bind(attrs ...attribute.KeyValue) metric.Int64Histogram
	}
)

func TestEnabled(t *testing.T) {
	producer := hdrmetric.NewProducer()
	p := hdrmetric.WrapMeterProvider(nil, producer, hdrmetric.WithView(sdkmetric.NewView(
		sdkmetric.Instrument{Name: "dropped"}, sdkmetric.Stream{Aggregation: sdkmetric.AggregationDrop{}})))
	for name, want := range map[string]bool{"dropped": false, "kept": true} {
		f, err1 := p.Meter("m").Float64Histogram(name)
		n, err2 := p.Meter("m").Int64Histogram(name + ".n")
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		bound := f.(float64Binder).Bind(attribute.Int("a", 1))
		if f.Enabled(t.Context()) != want || bound.Enabled(t.Context()) != want || !n.Enabled(t.Context()) {
			t.Errorf("%s: Enabled = %v, bound %v, want %v", name, f.Enabled(t.Context()), bound.Enabled(t.Context()), want)
		}
		f.Record(t.Context(), 1)
		bound.Record(t.Context(), 1)
	}
}

func TestBind(t *testing.T) {
	reader, p := newReader(t)
	h, err := p.Meter("m").Int64Histogram("h")
	if err != nil {
		t.Fatal(err)
	}
	attributes := []attribute.KeyValue{attribute.Int("b", 1), attribute.Int("a", 1), attribute.Int("b", 2)}
	bound := h.(int64Binder).Bind(attributes...)
	if want := attribute.Int("b", 1); attributes[0] != want {
		t.Errorf("Bind has changed its argument to %v", attributes)
	}
	if points := sortedPoints[int64](t, reader); len(points) != 0 {
		t.Errorf("%d points before the first record, want none", len(points))
	}
	h.Record(t.Context(), 1, metric.WithAttributes(attribute.Int("a", 1), attribute.Int("b", 2)))
	bound.Record(t.Context(), 2)
	bound.Record(t.Context(), -3)
	bound.Record(t.Context(), 4, metric.WithAttributes(attribute.Int("a", 9)))
	points := sortedPoints[int64](t, reader)
	if len(points) != 2 {
		t.Fatalf("%d points, want 2", len(points))
	}
	for i, want := range []struct {
		set string
		n   uint64
		sum int64
	}{{"{a=1,b=2}", 3, 0}, {"{a=9,b=2}", 1, 4}} {
		if p := points[i]; encode(p.Attributes) != want.set || p.Count != want.n || p.Sum != want.sum {
			t.Errorf("point %s, %d, %d, want %+v", encode(p.Attributes), p.Count, p.Sum, want)
		}
	}
}

// TestBindStreams binds an instrument that views make two streams of.
func TestBindStreams(t *testing.T) {
	producer := hdrmetric.NewProducer()
	p := hdrmetric.WrapMeterProvider(nil, producer, hdrmetric.WithView(
		sdkmetric.NewView(sdkmetric.Instrument{Name: "*"}, sdkmetric.Stream{}),
		func(i sdkmetric.Instrument) (sdkmetric.Stream, bool) {
			return sdkmetric.Stream{Name: i.Name + ".2"}, true
		}))
	f, err1 := p.Meter("m").Float64Histogram("f")
	n, err2 := p.Meter("m").Int64Histogram("n")
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	f.(float64Binder).Bind(attribute.Int("a", 1)).Record(t.Context(), 1)
	bound := n.(int64Binder).Bind(attribute.Int("a", 1))
	bound.Record(t.Context(), 1)
	scopes, err := producer.Produce(t.Context())
	if err != nil || len(scopes) != 1 {
		t.Fatalf("Produce = %v, %v", scopes, err)
	}
	var got []string
	for _, m := range scopes[0].Metrics {
		got = append(got, m.Name)
	}
	if diff := gocmp.Diff([]string{"f", "f.2", "n", "n.2"}, got); diff != "" || !bound.Enabled(t.Context()) {
		t.Errorf("metrics, want (-) and got (+):\n%s", diff)
	}
}

func TestStartTimes(t *testing.T) {
	for _, perSeries := range []bool{false, true} {
		t.Setenv("OTEL_GO_X_PER_SERIES_START_TIMESTAMPS", fmt.Sprint(perSeries))
		cumulative, delta := hdrmetric.NewProducer(), hdrmetric.NewProducer(hdrmetric.WithTemporality(metricdata.DeltaTemporality))
		p := hdrmetric.WrapMeterProvider(nil, cumulative, delta)
		h, err := p.Meter("m").Float64Histogram("h")
		if err != nil {
			t.Fatal(err)
		}
		made := time.Now()
		time.Sleep(time.Millisecond)
		var starts, ends [2][]time.Time
		for range 3 {
			h.Record(t.Context(), 1)
			for i, producer := range []*hdrmetric.Producer{cumulative, delta} {
				scopes, err := producer.Produce(t.Context())
				if err != nil || len(scopes) != 1 {
					t.Fatalf("Produce = %v, %v", scopes, err)
				}
				point := scopes[0].Metrics[0].Data.(metricdata.ExponentialHistogram[float64]).DataPoints[0]
				starts[i], ends[i] = append(starts[i], point.StartTime), append(ends[i], point.Time)
			}
		}
		if late := starts[0][0].After(made); late != perSeries {
			t.Errorf("cumulative point starts after the instrument: %v, want %v", late, perSeries)
		}
		for i := 1; i < 3; i++ {
			if starts[0][i] != starts[0][0] {
				t.Errorf("cumulative points start at %v, want always the same", starts[0])
			}
			if starts[1][i] != ends[1][i-1] || !starts[1][i].Before(ends[1][i]) {
				t.Errorf("delta point from %v to %v, want from %v", starts[1][i], ends[1][i], ends[1][i-1])
			}
		}
	}
}

func TestIrregular(t *testing.T) {
	reader, p := newReader(t)
	h, err := p.Meter("m").Float64Histogram("h", metric.WithUnit("s"))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300, -1e300, 1e10, -5, 1e-12} {
		h.Record(t.Context(), v)
	}
	if notFinite, tooLarge := p.Irregular(); notFinite != 3 || tooLarge != 2 {
		t.Errorf("Irregular = %d, %d, want 3, 2", notFinite, tooLarge)
	}
	point := onlyPoint[float64](t, reader)
	if low, _ := point.Min.Value(); point.Count != 5 || point.ZeroCount != 1 || low > -1e10 || low < -2e10 {
		t.Errorf("Count, ZeroCount, Min = %d, %d, %v, want 5, 1 and the end of the range", point.Count, point.ZeroCount, low)
	}
	if p.SizeBytes() < 1000 {
		t.Errorf("SizeBytes = %d", p.SizeBytes())
	}
}

func TestResolution(t *testing.T) {
	for _, tt := range []struct {
		unit string
		v    float64 // the smallest above 0 that the documentation promises
	}{
		{"s", 1e-9},
		{"ms", 1e-6},
		{"us", 1e-3},
		{"µs", 1e-3},
		{"ns", 1e-3},
		{"min", 1e-9 / 60},
		{"h", 1e-9 / 3600},
		{"d", 1e-9 / 86_400},
		{"By", 1e-3},
		{"1", 1e-9},
		{"", 1e-9},
		{"Cel", 1e-6},
		{"furlong", 0.5},
	} {
		producer := hdrmetric.NewProducer()
		reader := sdkmetric.NewManualReader(sdkmetric.WithProducer(producer))
		p := hdrmetric.WrapMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), producer, hdrmetric.WithResolution("furlong", 2))
		h, err := p.Meter("m").Float64Histogram("h", metric.WithUnit(tt.unit))
		if err != nil {
			t.Fatal(err)
		}
		h.Record(t.Context(), tt.v)
		h.Record(t.Context(), tt.v*0.49)
		h.Record(t.Context(), tt.v*2.6)
		point := onlyPoint[float64](t, reader)
		low, _ := point.Min.Value()
		high, _ := point.Max.Value()
		if low != 0 || math.Abs(high-3*tt.v) > 1e-9*tt.v || point.ZeroCount != 1 || math.Abs(point.Sum-4*tt.v) > 1e-9*tt.v {
			t.Errorf("unit %q: Min, Max, Sum = %v, %v, %v, want 0, %v, %v", tt.unit, low, high, point.Sum, 3*tt.v, 4*tt.v)
		}
	}
}

func TestMeterOptionsRejected(t *testing.T) {
	used := hdrmetric.NewProducer()
	for name, f := range map[string]func(){
		"scale":           func() { hdrmetric.NewProducer(hdrmetric.WithScale(21)) },
		"coarse scale":    func() { hdrmetric.NewProducer(hdrmetric.WithScale(-11)) },
		"temporality":     func() { hdrmetric.NewProducer(hdrmetric.WithTemporality(0)) },
		"bounds":          func() { hdrmetric.NewProducer(hdrmetric.WithExplicitBuckets(1, 1)) },
		"histogram":       func() { hdrmetric.WrapMeterProvider(nil, hdrmetric.WithHistogram(otelhdr.WithRelativeError(2))) },
		"exemplar filter": func() { hdrmetric.WrapMeterProvider(nil, hdrmetric.WithExemplarFilter(nil)) },
		"resolution":      func() { hdrmetric.WrapMeterProvider(nil, hdrmetric.WithResolution("s", 0)) },
		"used twice":      func() { hdrmetric.WrapMeterProvider(nil, used, used) },
		"limit": func() {
			t.Setenv("OTEL_GO_X_CARDINALITY_LIMIT", "many")
			hdrmetric.WrapMeterProvider(nil)
			t.Setenv("OTEL_GO_X_CARDINALITY_LIMIT", "")
		},
	} {
		handled := muteHandler(t)
		f()
		if errs := handled.all(); len(errs) != 1 || !errors.Is(errs[0], otelhdr.ErrConfig) {
			t.Errorf("%s: reported %v, want one error about the configuration", name, errs)
		}
	}
	handled := muteHandler(t)
	var none *hdrmetric.Producer
	p := hdrmetric.WrapMeterProvider(nil, none, nil, hdrmetric.WithView(nil), hdrmetric.NewProducer(nil))
	if _, err := p.Meter("m").Int64Histogram("h"); err != nil || len(handled.all()) != 0 {
		t.Errorf("nil options: %v, %v, want that they are left out", err, handled.all())
	}
	if scopes, err := hdrmetric.NewProducer().Produce(context.Background()); err != nil || scopes != nil {
		t.Errorf("Produce without a provider = %v, %v, want nothing", scopes, err)
	}
}

func TestCardinalityLimitFromEnvironment(t *testing.T) {
	t.Setenv("OTEL_GO_X_CARDINALITY_LIMIT", "3")
	reader, p := newReader(t)
	h, err := p.Meter("m").Int64Histogram("h")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		h.Record(t.Context(), 1, metric.WithAttributes(attribute.Int("i", i)))
	}
	var got []string
	for _, p := range sortedPoints[int64](t, reader) {
		got = append(got, fmt.Sprintf("%s %d", encode(p.Attributes), p.Count))
	}
	if diff := gocmp.Diff([]string{"{i=0} 1", "{i=1} 1", "{otel.metric.overflow=true} 8"}, got); diff != "" {
		t.Errorf("points, want (-) and got (+):\n%s", diff)
	}
}

func TestInstrumentRecordAllocs(t *testing.T) {
	_, p := newReader(t)
	f, err1 := p.Meter("m").Float64Histogram("f", metric.WithUnit("s"))
	n, err2 := p.Meter("m").Int64Histogram("n")
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	opts := []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(requestAttributes()...))}
	bound := f.(float64Binder).Bind(requestAttributes()...)
	for name, record := range map[string]func(){
		"none":  func() { f.Record(ctx, 0.5); n.Record(ctx, 5) },
		"set":   func() { f.Record(ctx, 0.5, opts...); n.Record(ctx, 5, opts...) },
		"bound": func() { bound.Record(ctx, 0.5) },
	} {
		record()
		if allocs := testing.AllocsPerRun(100, record); allocs != 0 {
			t.Errorf("%s: %v allocations, want 0", name, allocs)
		}
	}
}
