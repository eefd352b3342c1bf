package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/otelprof/otelprof/otelhdr"
)

// A valueRange is a range that histograms are made for, and values of all of it. All have 3
// significant digits.
type valueRange struct {
	name    string
	highest uint64
	values  func() []uint64
}

func newValueRange(name string, highest uint64) valueRange {
	return valueRange{name: name, highest: highest, values: sync.OnceValue(func() []uint64 {
		r := rand.New(rand.NewPCG(7, 9))
		values := make([]uint64, 1<<18)
		for i := range values {
			values[i] = min(uint64(math.Pow(r.Float64(), 3)*float64(highest)), highest)
		}
		return values
	})}
}

// The ranges of the table in docs/histograms.md. The peer's values are signed, so the last one ends
// at half of uint64.
var valueRanges = []valueRange{
	newValueRange("30000", 30_000),
	newValueRange("1e9", 1_000_000_000),
	newValueRange("full", math.MaxInt64),
}

// rangeFigures are one record, of values of each range, by 1, 2 and 4 goroutines, in processor
// time. The time that the peer's goroutines wait for the mutex is left out.
func rangeFigures() []histogramFigure {
	var list []histogramFigure
	for _, r := range valueRanges {
		list = append(list, histogramFigure{
			name: fmt.Sprintf("hdr_range_%s_plain", r.name),
			ours: side1("otelhdr", r.plain), peer: side1("hdrhistogram-go", r.plainPeer),
		})
		for _, goroutines := range []int{1, 2, 4} {
			side := func(name string, create func() (func(int), func())) histogramSide {
				return histogramSide{name: name, goroutines: goroutines, create: create}
			}
			peer := side("hdrhistogram-go+mutex", r.mutexPeer)
			list = append(list,
				histogramFigure{
					name: fmt.Sprintf("hdr_range_%s_concurrent_%dg", r.name, goroutines),
					ours: side("otelhdr-concurrent", r.concurrent), peer: peer,
				},
				histogramFigure{
					name: fmt.Sprintf("hdr_range_%s_recorder_%dg", r.name, goroutines),
					ours: side("otelhdr-recorder", r.recorder), peer: peer,
				})
		}
	}
	return list
}

func (r valueRange) options() []otelhdr.Option {
	return []otelhdr.Option{otelhdr.WithSignificantDigits(3), otelhdr.WithRange(0, r.highest)}
}

func (r valueRange) plain() (op func(int), keep func()) {
	h, err := otelhdr.NewHistogram(r.options()...)
	if err != nil {
		panic(err) // the options are valid
	}
	values := r.values()
	each(values, h.Record)
	return func(n int) {
		for i := range n {
			h.Record(values[i&(len(values)-1)])
		}
	}, func() { h.Count() }
}

func (r valueRange) newPeer() *hdrhistogram.Histogram {
	h := hdrhistogram.New(1, int64(r.highest), 3)
	each(r.values(), func(v uint64) { _ = h.RecordValue(int64(v)) }) // all are in range
	return h
}

func (r valueRange) plainPeer() (op func(int), keep func()) {
	h, values := r.newPeer(), r.values()
	return func(n int) {
		for i := range n {
			_ = h.RecordValue(int64(values[i&(len(values)-1)]))
		}
	}, func() { h.TotalCount() }
}

func (r valueRange) mutexPeer() (op func(int), keep func()) {
	h, values := r.newPeer(), r.values()
	var mu sync.Mutex
	return func(n int) {
		for i := range n {
			mu.Lock()
			_ = h.RecordValue(int64(values[i&(len(values)-1)]))
			mu.Unlock()
		}
	}, func() { h.TotalCount() }
}

func (r valueRange) newConcurrent() *otelhdr.Concurrent {
	c, err := otelhdr.NewConcurrent(r.options()...)
	if err != nil {
		panic(err) // the options are valid
	}
	return c
}

func (r valueRange) concurrent() (op func(int), keep func()) {
	c, values := r.newConcurrent(), r.values()
	each(values, c.Record)
	return func(n int) {
		for i := range n {
			c.Record(values[i&(len(values)-1)])
		}
	}, func() { c.Count() }
}

func (r valueRange) recorder() (op func(int), keep func()) {
	c, values := r.newConcurrent(), r.values()
	return func(n int) {
		h := c.Recorder()
		defer h.Close()
		for i := range n {
			h.Record(values[i&(len(values)-1)])
		}
	}, func() { c.Count() }
}
