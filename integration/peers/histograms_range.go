package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/otelprof/otelprof/otelhdr"
)

// A valueRange is a range that histograms are made for, and values of all of it. All have 3
// significant digits.
type valueRange struct {
	name    string
	highest uint64
	options []otelhdr.Option // ours
	values  func() []uint64  // their number is a power of two
}

// usual is without a bound.
var usual = valueRange{highest: math.MaxInt64, options: []otelhdr.Option{otelhdr.WithSignificantDigits(3)}, values: samples}

func newValueRange(name string, highest uint64) valueRange {
	options := []otelhdr.Option{otelhdr.WithSignificantDigits(3), otelhdr.WithRange(0, highest)}
	return valueRange{name: name, highest: highest, options: options, values: sync.OnceValue(func() []uint64 {
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
			side := func(name string, create func() func(n int)) histogramSide {
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
