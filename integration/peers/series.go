package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"regexp"

	"github.com/HdrHistogram/hdrhistogram-go"
	vm "github.com/VictoriaMetrics/metrics"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelprof/otelprof/otelhdr"
	"github.com/otelprof/otelprof/otelhdr/hdrmetric"
)

// A seriesFigure compares the memory of many series of latencies, each with its own set of
// attributes.
type seriesFigure struct {
	name   string
	ours   seriesSide
	peer   seriesSide
	series int
	values int // of each series
	most   int // bytes that we promise; 0 promises nothing
}

// A seriesSide makes series and returns what records into one of them, and what a collection does.
type seriesSide struct {
	name   string
	error  string // the greatest relative error of a value read back
	create func(series int) (record func(series int, seconds float64), collect func())
}

const seriesName = "otel_series_bytes"

// The error of ours is that in memory; as exported at scale 8 it is 0.135 % more.
var (
	hdrSeries  = seriesSide{"otelhdr", "0.1%", func(n int) (func(int, float64), func()) { return hdrSeriesOf(n) }}
	hdrSeries1 = seriesSide{"otelhdr-1%", "0.8%", func(n int) (func(int, float64), func()) {
		return hdrSeriesOf(n, otelhdr.WithRelativeError(0.01))
	}}
	sdkSeries        = seriesSide{"otel-sdk-exponential", "2.2%", sdkSeriesOf} // at scale 4, which is what these values lead to
	prometheusSeries = seriesSide{"prometheus-native", "0.14%", prometheusSeriesOf}
	vmSeries         = seriesSide{"victoriametrics", "6.4%", vmSeriesOf}
	digitsSeries     = seriesSide{"hdrhistogram-go", "0.05%", digitsSeriesOf}
)

func seriesFigures() []seriesFigure {
	const many, some = 200, 20
	return []seriesFigure{
		{seriesName, hdrSeries, sdkSeries, many, 10_000, 0},
		{seriesName + "_1e6", hdrSeries, sdkSeries, some, 1_000_000, 4 << 10},
		{seriesName + "_1pct", hdrSeries1, sdkSeries, many, 10_000, 1 << 10},
		{seriesName + "_1pct_1e6", hdrSeries1, sdkSeries, some, 1_000_000, 0},
		{seriesName + "_prometheus", hdrSeries, prometheusSeries, many, 10_000, 0},
		{seriesName + "_prometheus_1e6", hdrSeries, prometheusSeries, some, 1_000_000, 0},
		{seriesName + "_victoriametrics", hdrSeries1, vmSeries, many, 10_000, 0},
		{seriesName + "_hdrhistogram", hdrSeries, digitsSeries, many, 10_000, 0},
	}
}

// runSeries writes a line for each figure that matches.
func runSeries(w io.Writer, match *regexp.Regexp, part float64) error {
	for _, f := range seriesFigures() {
		if !match.MatchString(f.name) {
			continue
		}
		f.values = max(1, int(float64(f.values)*part))
		ours, peer := f.ours.bytes(f.series, f.values), f.peer.bytes(f.series, f.values)
		holds := "-"
		if f.most != 0 {
			holds = yes(ours <= int64(f.most))
		}
		if _, err := fmt.Fprintf(w, "ratio %s ours=%d peer=%d ours_name=%s peer_name=%s x=%.2f ours_error=%s peer_error=%s series=%d values=%d target=ours<=%d holds=%s\n",
			f.name, ours, peer, f.ours.name, f.peer.name, float64(peer)/float64(ours), f.ours.error, f.peer.error, f.series, f.values, f.most, holds); err != nil {
			return err
		}
	}
	return nil
}

// bytes returns what one series more takes on the heap.
func (s seriesSide) bytes(series, values int) int64 {
	one := s.held(1, values) // with all that the series share
	return (s.held(1+series, values) - one) / int64(series)
}

// held returns what the heap holds for series after the given number of values in each, log-normal
// around 1 ms, and two collections.
func (s seriesSide) held(series, values int) int64 {
	before := settledHeap()
	record, collect := s.create(series)
	r := rand.New(rand.NewPCG(3, 4))
	for range values {
		for i := range series {
			record(i, 0.001*math.Exp(0.6*r.NormFloat64()))
		}
	}
	collect()
	collect()
	held := settledHeap() - before
	collect() // and so it is all reachable until here
	return held
}

// settledHeap returns what the heap holds once pools are empty and cleanups have run.
func settledHeap() int64 {
	heapBytes()
	heapBytes()
	return heapBytes()
}

// otelSeries records through OpenTelemetry's API.
func otelSeries(series int, p metric.MeterProvider, reader sdkmetric.Reader) (func(int, float64), func()) {
	h, err := p.Meter("peers").Float64Histogram("http.server.request.duration", metric.WithUnit("s"))
	if err != nil {
		panic(err) // the name is valid
	}
	ctx := context.Background()
	options := make([][]metric.RecordOption, series)
	for i := range options {
		set := attribute.NewSet(append(requestAttributes(), attribute.Int("i", i))...)
		options[i] = []metric.RecordOption{metric.WithAttributeSet(set)}
	}
	return func(i int, v float64) { h.Record(ctx, v, options[i]...) }, func() {
		var collected metricdata.ResourceMetrics
		if err := reader.Collect(ctx, &collected); err != nil {
			panic(err) // a manual reader of a provider that runs
		}
	}
}

func hdrSeriesOf(series int, opts ...otelhdr.Option) (func(int, float64), func()) {
	producer := hdrmetric.NewProducer()
	reader := sdkmetric.NewManualReader(sdkmetric.WithProducer(producer))
	p := hdrmetric.WrapMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), producer, hdrmetric.WithHistogram(opts...))
	return otelSeries(series, p, reader)
}

func sdkSeriesOf(series int) (func(int, float64), func()) {
	reader := exponentialReader()
	return otelSeries(series, sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), reader)
}

// prometheusSeriesOf has buckets of at most 0.27 %, the finest that Prometheus keeps.
func prometheusSeriesOf(series int) (func(int, float64), func()) {
	registry := prometheus.NewRegistry()
	vec := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "http_server_request_duration_seconds", NativeHistogramBucketFactor: 1.00271,
	}, []string{"method", "route", "code", "i"})
	registry.MustRegister(vec)
	observers := make([]prometheus.Observer, series)
	for i := range observers {
		observers[i] = vec.WithLabelValues("GET", "/v1/items/{id}", "200", fmt.Sprint(i))
	}
	return func(i int, v float64) { observers[i].Observe(v) }, func() {
		if _, err := registry.Gather(); err != nil {
			panic(err) // what is registered is valid
		}
	}
}

func vmSeriesOf(series int) (func(int, float64), func()) {
	set := vm.NewSet()
	histograms := make([]*vm.Histogram, series)
	for i := range histograms {
		histograms[i] = set.NewHistogram(fmt.Sprintf(`http_server_request_duration_seconds{method="GET",route="/v1/items/{id}",code="200",i="%d"}`, i))
	}
	return func(i int, v float64) { histograms[i].Update(v) }, func() { set.WritePrometheus(io.Discard) }
}

// digitsSeriesOf has 3 significant digits, from 1 ns to 1 h.
func digitsSeriesOf(series int) (func(int, float64), func()) {
	histograms := make([]*hdrhistogram.Histogram, series)
	for i := range histograms {
		histograms[i] = hdrhistogram.New(1, 3_600_000_000_000, 3)
	}
	return func(i int, v float64) { _ = histograms[i].RecordValue(int64(v * 1e9)) }, func() { histograms[0].TotalCount() }
}
