package hdrmetric_test

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/x"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelprof/otelprof/otelhdr/hdrmetric"
)

// A program uses a provider as an application would. When it calls collect, all readers do.
type program func(p metric.MeterProvider, collect func()) error

// A setting holds for both the SDK and ours.
type setting struct {
	views []sdkmetric.View
	limit int // 0 for the default
}

// point is what must be the same of a data point, or nearly so.
type point struct {
	Temporality        string
	Count, Zero        uint64
	Positive, Negative uint64 // counts of all buckets
	Sum                approximate
	Min, Max           extreme
	Exemplars          []string
}

// approximate is equal to what differs by the rounding of values to nanoseconds and of sums.
type approximate float64

// Equal implements what go-cmp asks for.
func (a approximate) Equal(b approximate) bool {
	return math.Abs(float64(a-b)) <= 1e-9+1e-12*math.Abs(float64(a))
}

// An extreme is equal to what is within a bucket of the HDR histogram, unless it is to be exact:
// those of deltas are not.
type extreme struct {
	value float64
	exact bool
}

// Equal implements what go-cmp asks for.
func (a extreme) Equal(b extreme) bool {
	const bucket = 2 * 0.5 / 512
	return a.value == b.value || !a.exact && math.Abs(a.value-b.value) <= bucket*math.Abs(a.value)
}

var temporalities = []metricdata.Temporality{
	metricdata.CumulativeTemporality, metricdata.DeltaTemporality, metricdata.CumulativeTemporality, metricdata.DeltaTemporality,
}

// play runs f on an SDK with four readers and returns what they have collected, by reader and
// collection. Histograms are the SDK's exponential ones, or ours.
func play(t *testing.T, s setting, ours bool, f program) [][]map[string]point {
	t.Helper()
	options := []sdkmetric.Option{sdkmetric.WithView(s.views...)}
	wrapping := []hdrmetric.MeterProviderOption{hdrmetric.WithView(s.views...)}
	if s.limit != 0 {
		options = append(options, sdkmetric.WithCardinalityLimit(s.limit))
		wrapping = append(wrapping, hdrmetric.WithCardinalityLimit(s.limit))
	}
	var readers []*sdkmetric.ManualReader
	for _, temporality := range temporalities {
		producer := hdrmetric.NewProducer(hdrmetric.WithTemporality(temporality))
		wrapping = append(wrapping, producer)
		r := sdkmetric.NewManualReader(
			sdkmetric.WithTemporalitySelector(func(sdkmetric.InstrumentKind) metricdata.Temporality { return temporality }),
			sdkmetric.WithAggregationSelector(func(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
				if k == sdkmetric.InstrumentKindHistogram {
					return sdkmetric.AggregationBase2ExponentialHistogram{MaxSize: 160, MaxScale: 20}
				}
				return sdkmetric.DefaultAggregationSelector(k)
			}),
			sdkmetric.WithProducer(producer),
		)
		readers = append(readers, r)
		options = append(options, sdkmetric.WithReader(r))
	}
	var provider metric.MeterProvider = sdkmetric.NewMeterProvider(options...)
	if ours {
		provider = hdrmetric.WrapMeterProvider(provider, wrapping...)
	}
	all := make([][]map[string]point, len(readers))
	collect := func() {
		for i, r := range readers {
			var rm metricdata.ResourceMetrics
			if err := r.Collect(t.Context(), &rm); err != nil {
				t.Error(err)
			}
			all[i] = append(all[i], flatten(t, rm))
		}
	}
	if err := f(provider, collect); err != nil {
		t.Error(err)
	}
	collect()
	return all
}

// flatten returns the points under all that identifies them.
func flatten(t *testing.T, rm metricdata.ResourceMetrics) map[string]point {
	t.Helper()
	points := map[string]point{}
	for _, sm := range rm.ScopeMetrics {
		scope := fmt.Sprintf("%s@%s %s %s", sm.Scope.Name, sm.Scope.Version, sm.Scope.SchemaURL, encode(sm.Scope.Attributes))
		for _, m := range sm.Metrics {
			at := fmt.Sprintf("%s: %s (%s) %q %T ", scope, m.Name, m.Unit, m.Description, m.Data)
			switch data := m.Data.(type) {
			case metricdata.ExponentialHistogram[float64]:
				addPoints(points, at, data)
			case metricdata.ExponentialHistogram[int64]:
				addPoints(points, at, data)
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					points[at+encode(p.Attributes)] = point{Sum: approximate(p.Value)}
				}
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					points[at+encode(p.Attributes)] = point{Sum: approximate(p.Value)}
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					points[at+encode(p.Attributes)] = point{Count: p.Count, Sum: approximate(p.Sum)}
				}
			default:
				t.Errorf("%s: unexpected data", at)
			}
		}
	}
	return points
}

func addPoints[N int64 | float64](to map[string]point, at string, h metricdata.ExponentialHistogram[N]) {
	for _, p := range h.DataPoints {
		low, _ := p.Min.Value()
		high, _ := p.Max.Value()
		q := point{
			Temporality: h.Temporality.String(),
			Count:       p.Count,
			Zero:        p.ZeroCount,
			Sum:         approximate(p.Sum),
			Min:         extreme{float64(low), h.Temporality == metricdata.CumulativeTemporality},
			Max:         extreme{float64(high), h.Temporality == metricdata.CumulativeTemporality},
		}
		for _, n := range p.PositiveBucket.Counts {
			q.Positive += n
		}
		for _, n := range p.NegativeBucket.Counts {
			q.Negative += n
		}
		for _, e := range p.Exemplars {
			q.Exemplars = append(q.Exemplars, fmt.Sprintf("%v %s %s %v", e.Value, hex.EncodeToString(e.TraceID), hex.EncodeToString(e.SpanID), e.FilteredAttributes))
		}
		slices.Sort(q.Exemplars)
		to[at+encode(p.Attributes)] = q
	}
}

func encode(s attribute.Set) string { return "{" + s.Encoded(attribute.DefaultEncoder()) + "}" }

// compare plays f on the SDK and on ours.
func compare(t *testing.T, s setting, f program) {
	t.Helper()
	want, got := play(t, s, false, f), play(t, s, true, f)
	for i, temporality := range temporalities {
		if diff := gocmp.Diff(want[i], got[i]); diff != "" {
			t.Errorf("reader %d, %v, SDK (-) and ours (+):\n%s", i, temporality, diff)
		}
	}
	points := 0
	for _, collected := range want[0] {
		points += len(collected)
	}
	if points == 0 {
		t.Errorf("the SDK has collected nothing")
	}
}

func TestConformsPlain(t *testing.T) {
	compare(t, setting{}, func(p metric.MeterProvider, collect func()) error {
		ctx := t.Context()
		m := p.Meter("shop", metric.WithInstrumentationVersion("1.2"), metric.WithSchemaURL("https://example.com/1"),
			metric.WithInstrumentationAttributes(attribute.String("team", "a")))
		f, err := m.Float64Histogram("http.server.request.duration", metric.WithUnit("s"), metric.WithDescription("how long"))
		if err != nil {
			return err
		}
		n, err := p.Meter("other").Int64Histogram("size", metric.WithUnit("By"), metric.WithExplicitBucketBoundaries(1, 2))
		if err != nil {
			return err
		}
		c, err := m.Int64Counter("requests")
		if err != nil {
			return err
		}
		g, err := m.Float64ObservableGauge("load")
		if err != nil {
			return err
		}
		_, err = m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
			o.ObserveFloat64(g, 0.5)
			return nil
		}, g)
		if err != nil {
			return err
		}
		collect() // nothing recorded
		r := rand.New(rand.NewPCG(1, 2))
		set := metric.WithAttributeSet(attribute.NewSet(requestAttributes()...))
		for range 3 {
			for i := range 500 {
				v := float64(r.IntN(5_000_000)) / 1e6
				f.Record(ctx, v)
				f.Record(ctx, v, set)
				f.Record(ctx, v, metric.WithAttributes(requestAttributes()...))
				f.Record(ctx, v, metric.WithAttributes(attribute.Int("i", i%7), attribute.Int("i", i%3)))
				f.Record(ctx, v, set, metric.WithAttributes(attribute.String("http.route", "/other")))
				n.Record(ctx, r.Int64N(1<<40))
				n.Record(ctx, int64(i), set)
				c.Add(ctx, 1)
			}
			collect()
		}
		f.Record(ctx, 1, set)
		collect() // one series only
		return nil
	})
}

func TestConformsValues(t *testing.T) {
	compare(t, setting{}, func(p metric.MeterProvider, collect func()) error {
		ctx := t.Context()
		f, err := p.Meter("m").Float64Histogram("f", metric.WithUnit("ms"))
		if err != nil {
			return err
		}
		n, err := p.Meter("m").Int64Histogram("n")
		if err != nil {
			return err
		}
		for _, v := range []float64{0, math.Copysign(0, -1), 1, -1, -2.5, 0.25, 1e9, math.NaN(), math.Inf(1), math.Inf(-1)} {
			f.Record(ctx, v)
		}
		for _, v := range []int64{0, 1, -1, -70, 1 << 62} { // of MaxInt64 the SDK makes a negative sum before v1.47
			n.Record(ctx, v)
			n.Record(ctx, -v, metric.WithAttributes(attribute.Bool("opposite", true)))
		}
		n.Record(ctx, math.MinInt64, metric.WithAttributes(attribute.Bool("least", true)))
		collect()
		f.Record(ctx, -3)
		n.Record(ctx, -3)
		return nil
	})
}

func TestConformsIdentity(t *testing.T) {
	muteHandler(t)
	compare(t, setting{}, func(p metric.MeterProvider, _ func()) error {
		ctx := t.Context()
		for i, name := range []string{"latency", "latency", "Latency", "LATENCY"} {
			h, err := p.Meter("m").Float64Histogram(name, metric.WithUnit("s"))
			if err != nil {
				return err
			}
			h.Record(ctx, float64(i))
		}
		// Others of the same name.
		h, err := p.Meter("m").Float64Histogram("latency", metric.WithUnit("s"), metric.WithDescription("other"))
		if err != nil {
			return err
		}
		h.Record(ctx, 10)
		n, err := p.Meter("m").Int64Histogram("latency", metric.WithUnit("s"))
		if err != nil {
			return err
		}
		n.Record(ctx, 20)
		h, err = p.Meter("m", metric.WithInstrumentationVersion("2")).Float64Histogram("latency", metric.WithUnit("s"))
		if err != nil {
			return err
		}
		h.Record(ctx, 30)
		h, _ = p.Meter("m").Float64Histogram("1 is not a letter")
		h.Record(ctx, 40)
		return nil
	})
}

func TestConformsViews(t *testing.T) {
	onlyRoute := attribute.NewAllowKeysFilter("http.route")
	for name, views := range map[string][]sdkmetric.View{
		"rename": {sdkmetric.NewView(sdkmetric.Instrument{Name: "a"}, sdkmetric.Stream{Name: "renamed", Description: "d", Unit: "x"})},
		"drop":   {sdkmetric.NewView(sdkmetric.Instrument{Name: "a"}, sdkmetric.Stream{Aggregation: sdkmetric.AggregationDrop{}})},
		"filter": {sdkmetric.NewView(sdkmetric.Instrument{Name: "*"}, sdkmetric.Stream{AttributeFilter: onlyRoute})},
		"filter all": {sdkmetric.NewView(sdkmetric.Instrument{Name: "*"},
			sdkmetric.Stream{AttributeFilter: func(attribute.KeyValue) bool { return false }})},
		"two streams": {
			sdkmetric.NewView(sdkmetric.Instrument{Name: "a"}, sdkmetric.Stream{Name: "first", AttributeFilter: onlyRoute}),
			sdkmetric.NewView(sdkmetric.Instrument{Kind: sdkmetric.InstrumentKindHistogram}, sdkmetric.Stream{}),
			sdkmetric.NewView(sdkmetric.Instrument{Name: "a"}, sdkmetric.Stream{}), // as the second
		},
		"joined": {sdkmetric.NewView(sdkmetric.Instrument{Kind: sdkmetric.InstrumentKindHistogram, Unit: "s"}, sdkmetric.Stream{Name: "joined"})},
		"not ours": {sdkmetric.NewView(sdkmetric.Instrument{Name: "a"},
			sdkmetric.Stream{Aggregation: sdkmetric.AggregationExplicitBucketHistogram{Boundaries: []float64{1, 2}}})},
		"no extremes": {sdkmetric.NewView(sdkmetric.Instrument{Name: "a"},
			sdkmetric.Stream{Aggregation: sdkmetric.AggregationBase2ExponentialHistogram{MaxSize: 160, MaxScale: 3, NoMinMax: true}})},
		"by scope": {func(i sdkmetric.Instrument) (sdkmetric.Stream, bool) {
			return sdkmetric.Stream{Name: i.Scope.Name + "." + i.Name, Unit: i.Unit}, i.Kind == sdkmetric.InstrumentKindHistogram
		}},
	} {
		t.Run(name, func(t *testing.T) {
			compare(t, setting{views: views}, func(p metric.MeterProvider, collect func()) error {
				ctx := t.Context()
				c, err := p.Meter("m").Int64Counter("c")
				if err != nil {
					return err
				}
				c.Add(ctx, 1, metric.WithAttributes(requestAttributes()...))
				for range 2 {
					for _, name := range []string{"a", "b"} {
						h, err := p.Meter("m").Float64Histogram(name, metric.WithUnit("s"))
						if err != nil {
							return err
						}
						for i := range 10 {
							h.Record(ctx, float64(i), metric.WithAttributes(append(requestAttributes(), attribute.Int("i", i))...))
							h.Record(ctx, float64(i))
						}
					}
					collect()
				}
				return nil
			})
		})
	}
}

func TestConformsCardinality(t *testing.T) {
	for _, limit := range []int{-1, 1, 2, 5, 11, 100} {
		t.Run(fmt.Sprintf("limit=%d", limit), func(t *testing.T) {
			compare(t, setting{limit: limit}, func(p metric.MeterProvider, _ func()) error {
				h, err := p.Meter("m").Float64Histogram("h", metric.WithUnit("s"))
				if err != nil {
					return err
				}
				for range 3 {
					for i := range 10 {
						h.Record(t.Context(), float64(i), metric.WithAttributes(attribute.Int("i", i)))
					}
					h.Record(t.Context(), 7)
				}
				return nil
			})
		})
	}
}

func TestConformsAttributes(t *testing.T) {
	nested := func(v int) attribute.KeyValue {
		return attribute.Slice("m", attribute.MapValue(attribute.Int("k", 0), attribute.Int("k", v), attribute.Int("l", 1)))
	}
	compare(t, setting{}, func(p metric.MeterProvider, _ func()) error {
		ctx := t.Context()
		h, err := p.Meter("m", metric.WithInstrumentationAttributes(nested(3))).Float64Histogram("h")
		if err != nil {
			return err
		}
		for range 2 {
			h.Record(ctx, 1, metric.WithAttributes(nested(1)))
			h.Record(ctx, 1, metric.WithAttributes(nested(2)))
			h.Record(ctx, 1, metric.WithAttributes(attribute.Slice("m", attribute.MapValue(attribute.Int("k", 1), attribute.Int("l", 1)))))
			h.Record(ctx, 1, x.WithUnsafeAttributes(attribute.Int("b", 2), attribute.Int("a", 1), attribute.Int("b", 3)))
			h.Record(ctx, 1, x.WithUnsafeAttributes(attribute.Int("b", 2)), metric.WithAttributes(attribute.Int("b", 4)))
			h.Record(ctx, 1, metric.WithAttributes())
			h.Record(ctx, 1, metric.WithAttributeSet(attribute.Set{}))
			option := metric.WithAttributeSet(*attribute.EmptySet())
			option.(x.Settable[attribute.Set]).Set(attribute.NewSet(attribute.Int("set", 1)))
			h.Record(ctx, 1, option)
			option.(x.Settable[attribute.Set]).Set(attribute.NewSet(attribute.Int("set", 2)))
			h.Record(ctx, 1, option)
		}
		d, err := p.Meter("m").Int64Histogram("d", x.WithDefaultAttributes("http.route"))
		if err != nil {
			return err
		}
		d.Record(ctx, 1, metric.WithAttributes(requestAttributes()...))
		e, err := p.Meter("m").Int64Histogram("e", x.WithDefaultAttributes())
		if err != nil {
			return err
		}
		e.Record(ctx, 1, metric.WithAttributes(requestAttributes()...))
		return nil
	})
}

// TestConformsConcurrently records from several goroutines while all readers collect, and compares
// what deltas add up to and what cumulative readers end with.
func TestConformsConcurrently(t *testing.T) {
	const goroutines, records = 6, 2000
	sums := func(ours bool) []map[string]point {
		collected := play(t, setting{}, ours, func(p metric.MeterProvider, collect func()) error {
			f, err := p.Meter("m").Float64Histogram("f", metric.WithUnit("s"))
			if err != nil {
				return err
			}
			n, err := p.Meter("m").Int64Histogram("n")
			if err != nil {
				return err
			}
			var writers sync.WaitGroup
			for g := range goroutines {
				writers.Go(func() {
					for i := range records {
						set := metric.WithAttributes(attribute.Int("i", i%20))
						f.Record(t.Context(), float64(g*i)/1000, set)
						n.Record(t.Context(), int64(i-g), set)
						f.Record(t.Context(), 0.5)
					}
				})
			}
			for range 5 {
				collect()
			}
			writers.Wait()
			return nil
		})
		totals := make([]map[string]point, len(collected))
		for i, c := range collected {
			totals[i] = c[len(c)-1]
			if temporalities[i] == metricdata.DeltaTemporality {
				totals[i] = added(c)
			}
		}
		return totals
	}
	want, got := sums(false), sums(true)
	for i, temporality := range temporalities {
		if diff := gocmp.Diff(want[i], got[i]); diff != "" {
			t.Errorf("reader %d, %v, SDK (-) and ours (+):\n%s", i, temporality, diff)
		}
	}
}

// added returns the sum of deltas.
func added(collected []map[string]point) map[string]point {
	total := map[string]point{}
	for _, points := range collected {
		for at, p := range points {
			q, ok := total[at]
			if !ok {
				total[at] = p
				continue
			}
			p.Count += q.Count
			p.Zero += q.Zero
			p.Positive += q.Positive
			p.Negative += q.Negative
			p.Sum += q.Sum
			p.Min.value, p.Max.value = min(p.Min.value, q.Min.value), max(p.Max.value, q.Max.value)
			total[at] = p
		}
	}
	return total
}

// TestQuantiles checks the error bound that docs/metrics.md states, at every scale that keeps it.
func TestQuantiles(t *testing.T) {
	const hdr = 0.5 / 512
	for _, scale := range []int32{0, 3, 8, 10} {
		reader, provider := newReader(t, hdrmetric.WithScale(scale))
		h, err := provider.Meter("m").Float64Histogram("h", metric.WithUnit("s"))
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(3, 4))
		values := make([]float64, 20_000)
		for i := range values {
			values[i] = 0.01 * math.Exp(0.7*r.NormFloat64())
			h.Record(t.Context(), values[i])
		}
		slices.Sort(values)
		p := onlyPoint[float64](t, reader)
		if p.Scale != scale {
			t.Errorf("Scale = %d, want %d", p.Scale, scale)
		}
		base := math.Exp2(math.Exp2(-float64(scale)))
		bound := (1+hdr)*(1+(base-1)/(base+1)) - 1
		for _, q := range []float64{0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1} {
			want := values[max(int(math.Ceil(q*float64(len(values)))), 1)-1]
			got := quantileOf(p, q)
			if math.Abs(got-want) > bound*want+0.5e-9 {
				t.Errorf("scale %d: quantile %v = %v, want %v within %v", scale, q, got, want, bound)
			}
		}
	}
}

// quantileOf returns what a reader of an exponential histogram of positive values takes for a
// quantile.
func quantileOf[N int64 | float64](p metricdata.ExponentialHistogramDataPoint[N], q float64) float64 {
	rank := max(uint64(math.Ceil(q*float64(p.Count))), 1)
	base := math.Exp2(math.Exp2(-float64(p.Scale)))
	for i, n := range p.PositiveBucket.Counts {
		if rank <= n {
			return 2 * base / (base + 1) * math.Pow(base, float64(int(p.PositiveBucket.Offset)+i))
		}
		rank -= n
	}
	return math.NaN()
}

// sortedPoints returns the points of the only metric that reader collects, by attributes.
func sortedPoints[N int64 | float64](t *testing.T, reader sdkmetric.Reader) []metricdata.ExponentialHistogramDataPoint[N] {
	t.Helper()
	var rm metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &rm); err != nil {
		t.Fatal(err)
	}
	if len(rm.ScopeMetrics) == 0 {
		return nil
	}
	if len(rm.ScopeMetrics) != 1 || len(rm.ScopeMetrics[0].Metrics) != 1 {
		t.Fatalf("%d scopes, want a single metric", len(rm.ScopeMetrics))
	}
	h, ok := rm.ScopeMetrics[0].Metrics[0].Data.(metricdata.ExponentialHistogram[N])
	if !ok {
		t.Fatalf("%T, want an exponential histogram", rm.ScopeMetrics[0].Metrics[0].Data)
	}
	slices.SortFunc(h.DataPoints, func(a, b metricdata.ExponentialHistogramDataPoint[N]) int {
		return cmp.Compare(encode(a.Attributes), encode(b.Attributes))
	})
	return h.DataPoints
}

// onlyPoint returns the only point that reader collects.
func onlyPoint[N int64 | float64](t *testing.T, reader sdkmetric.Reader) metricdata.ExponentialHistogramDataPoint[N] {
	t.Helper()
	points := sortedPoints[N](t, reader)
	if len(points) != 1 {
		t.Fatalf("%d points, want 1", len(points))
	}
	return points[0]
}

// newReader returns a provider and its only reader, whose producer has the options.
func newReader(t *testing.T, opts ...hdrmetric.ProducerOption) (*sdkmetric.ManualReader, *hdrmetric.MeterProvider) {
	t.Helper()
	producer := hdrmetric.NewProducer(opts...)
	reader := sdkmetric.NewManualReader(sdkmetric.WithProducer(producer))
	return reader, hdrmetric.WrapMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), producer)
}
