package main

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"sync"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/otelprof/otelprof/otelhdr"
)

// A histogramFigure compares two kinds of histogram at one operation. All have 3 significant
// digits.
type histogramFigure struct {
	name       string
	ours, peer histogramSide
	x          float64 // promised, at least; 0 promises nothing
}

// A histogramSide makes a histogram that already has all its buckets.
type histogramSide struct {
	name       string
	goroutines int
	waits      bool // goroutines wait for each other without using a processor
	// create returns an operation that is done n times. Each goroutine calls it itself.
	create func() func(n int)
}

func histogramFigures() []histogramFigure {
	return append([]histogramFigure{
		{"hdr_record_plain", side1("otelhdr", usual.plain), side1("hdrhistogram-go", usual.plainPeer), 2},
		{"hdr_record_plain_array", side1("otelhdr", usual.plain), side1("array-increment", array), 0},
		{"hdr_record_counter32", side1("otelhdr-counter32", usual.plain32), side1("hdrhistogram-go", usual.plainPeer), 0},
		{"hdr_record_concurrent", side1("otelhdr-concurrent", usual.concurrent), side1("hdrhistogram-go+mutex", usual.mutexPeer), 0},
		{"hdr_record_concurrent_2g", side2("otelhdr-concurrent", usual.concurrent), waiting(side2("hdrhistogram-go+mutex", usual.mutexPeer)), 8},
		{"hdr_record_concurrent_2g_prometheus", side2("otelhdr-concurrent", usual.concurrent), side2("prometheus-native", prometheusPeer), 20},
		{"hdr_recorder_2g", side2("otelhdr-recorder", usual.recorder), side1("otelhdr", usual.plain), 0.95},
		{"hdr_summary", side1("otelhdr", summary), side1("hdrhistogram-go", summaryPeer), 3},
		{"hdr_percentiles", side1("otelhdr", percentiles), side1("hdrhistogram-go", percentilesPeer), 1.5},
	}, rangeFigures()...)
}

func side1(name string, create func() func(n int)) histogramSide {
	return histogramSide{name: name, goroutines: 1, create: create}
}

func side2(name string, create func() func(n int)) histogramSide {
	return histogramSide{name: name, goroutines: 2, create: create}
}

func waiting(s histogramSide) histogramSide {
	s.waits = true
	return s
}

// samples are what is recorded: of many octaves, most of them large. Their number is a power of
// two.
var samples = sync.OnceValue(func() []uint64 {
	r := rand.New(rand.NewPCG(5, 6))
	values := make([]uint64, 1<<20)
	for i := range values {
		values[i] = uint64(math.Pow(r.Float64(), 3) * 7_716_549_600)
	}
	return values
})

// each returns an operation that calls record with the samples in turn.
func each(values []uint64, record func(uint64)) {
	for _, v := range values {
		record(v)
	}
}

// histogram returns one of ours that has all its buckets.
func (r valueRange) histogram(opts ...otelhdr.Option) *otelhdr.Histogram {
	h, err := otelhdr.NewHistogram(append(opts, r.options...)...)
	if err != nil {
		panic(err) // the options are valid
	}
	each(r.values(), h.Record)
	return h
}

// The loops below stand side by side because one loop with a function as its parameter would cost
// more than a record.

func plainOf(h *otelhdr.Histogram, values []uint64) func(n int) {
	return func(n int) {
		for i := range n {
			h.Record(values[i&(len(values)-1)])
		}
	}
}

func (r valueRange) plain() func(n int) { return plainOf(r.histogram(), r.values()) }

func (r valueRange) plain32() func(n int) {
	return plainOf(r.histogram(otelhdr.WithCounter32()), r.values())
}

func (r valueRange) peer() *hdrhistogram.Histogram {
	h := hdrhistogram.New(1, int64(r.highest), 3)
	each(r.values(), func(v uint64) { _ = h.RecordValue(int64(v)) }) // all are in range
	return h
}

func (r valueRange) plainPeer() func(n int) {
	h, values := r.peer(), r.values()
	return func(n int) {
		for i := range n {
			_ = h.RecordValue(int64(values[i&(len(values)-1)]))
		}
	}
}

// arrayScale is the scale that has 3 significant digits.
const arrayScale = 10

// array is the least that counting in buckets can cost: the index, and an increment.
func array() func(n int) {
	counts, values := make([]uint64, (65-arrayScale)<<arrayScale), samples()
	increment := func(n int) {
		for i := range n {
			v := values[i&(len(values)-1)]
			step := uint64(bits.Len64(v >> (arrayScale + 1)))
			counts[step<<arrayScale+v>>(step&63)]++
		}
	}
	increment(len(values))
	return increment
}

func (r valueRange) mutexPeer() func(n int) {
	h, values := r.peer(), r.values()
	var mu sync.Mutex
	return func(n int) {
		for i := range n {
			mu.Lock()
			_ = h.RecordValue(int64(values[i&(len(values)-1)]))
			mu.Unlock()
		}
	}
}

func (r valueRange) newConcurrent() *otelhdr.Concurrent {
	c, err := otelhdr.NewConcurrent(r.options...)
	if err != nil {
		panic(err) // the options are valid
	}
	return c
}

func (r valueRange) concurrent() func(n int) {
	c, values := r.newConcurrent(), r.values()
	each(values, c.Record)
	return func(n int) {
		for i := range n {
			c.Record(values[i&(len(values)-1)])
		}
	}
}

// recorder has a handle for each goroutine, which its buckets stay with.
func (r valueRange) recorder() func(n int) {
	c, values := r.newConcurrent(), r.values()
	return func(n int) {
		h := c.Recorder()
		defer h.Close()
		for i := range n {
			h.Record(values[i&(len(values)-1)])
		}
	}
}

// prometheusPeer has buckets of at most 0.54 %, the finest that Prometheus keeps.
func prometheusPeer() func(n int) {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "peers", NativeHistogramBucketFactor: 1.00271})
	values := samples()
	each(values, func(v uint64) { h.Observe(float64(v)) })
	return func(n int) {
		for i := range n {
			h.Observe(float64(values[i&(len(values)-1)]))
		}
	}
}

// ranks are those of a summary.
var ranks = []float64{0, 1, 5, 10, 25, 50, 75, 90, 92.5, 95, 97.5, 99, 99.9, 99.99, 99.999, 100}

// summary is 16 percentiles, count, extremes, mean and standard deviation.
func summary() func(n int) {
	s := usual.histogram().Snapshot(nil)
	m := s.Summary(nil)
	return func(n int) {
		for range n {
			s.Summary(m)
		}
	}
}

// summaryPeer is the same figures.
func summaryPeer() func(n int) {
	h := usual.peer()
	return func(n int) {
		for range n {
			h.ValueAtPercentilesSlice(ranks)
			h.TotalCount()
			h.Min()
			h.Max()
			h.Mean()
			h.StdDev()
		}
	}
}

// percentiles is the ranks alone.
func percentiles() func(n int) {
	s := usual.histogram().Snapshot(nil)
	dst := make([]uint64, len(ranks))
	return func(n int) {
		for range n {
			s.Percentiles(ranks, dst)
		}
	}
}

func percentilesPeer() func(n int) {
	h := usual.peer()
	return func(n int) {
		for range n {
			h.ValueAtPercentilesSlice(ranks)
		}
	}
}
