package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"runtime"
	"sync"
	"time"

	"github.com/otelprof/otelprof/otelhdr"
)

// runHistograms writes a line for each figure that matches.
func runHistograms(w io.Writer, match *regexp.Regexp, rounds int, arm time.Duration) error {
	for _, f := range histogramFigures() {
		if !match.MatchString(f.name) {
			continue
		}
		line, err := f.measure(rounds, arm)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	for _, e := range conversionErrors {
		if !match.MatchString(conversionName) {
			continue
		}
		line, err := conversionLine(e)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// measure runs both sides in turn, rounds times, each for about arm, and returns the line.
func (f histogramFigure) measure(rounds int, arm time.Duration) (string, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(f.ours.goroutines, f.peer.goroutines)))
	samples() // which belong to neither side
	for _, r := range valueRanges {
		r.values()
	}
	clock := f.clock()
	ours, err := f.ours.start(arm, clock)
	if err != nil {
		return "", err
	}
	peer, err := f.peer.start(arm, clock)
	if err != nil {
		return "", err
	}
	var o, p, x []float64
	if err := inTurn(rounds, ours, peer, (*running).run, func(a, b float64) {
		o, p, x = append(o, a), append(p, b), append(x, b/a)
	}); err != nil {
		return "", err
	}
	holds := "-"
	if f.x != 0 {
		holds = yes(quantile(x, 0.5) >= f.x)
	}
	return fmt.Sprintf("ratio %s ours=%.2f peer=%.2f ours_name=%s peer_name=%s x=%.2f x_lo=%.2f x_hi=%.2f ours_bytes=%d peer_bytes=%d"+
		" goroutines=%d peer_goroutines=%d clock=%s target=%v holds=%s",
		f.name, quantile(o, 0.5), quantile(p, 0.5), f.ours.name, f.peer.name, quantile(x, 0.5), quantile(x, 0.25), quantile(x, 0.75),
		ours.bytes, peer.bytes, f.ours.goroutines, f.peer.goroutines, clock, target{x: f.x}, holds), nil
}

// clock names what is measured: the time that the process had a processor for, which leaves out
// what other programs took, or, where goroutines may wait, the time that passed.
func (f histogramFigure) clock() string {
	if f.ours.waits || f.peer.waits {
		return "wall"
	}
	return "cpu"
}

// A running is a side with its histogram.
type running struct {
	op         func(int)
	goroutines int
	clock      string
	n          int   // operations of a goroutine in a round
	bytes      int64 // on the heap
}

// start makes a side and finds out how many operations take about arm, which warms it up too.
func (s histogramSide) start(arm time.Duration, clock string) (*running, error) {
	before := settledHeap()
	r := &running{op: s.create(), goroutines: s.goroutines, clock: clock, n: 1}
	for {
		ns, err := r.run()
		if err != nil {
			return nil, err
		}
		if took := ns * float64(r.n); took >= float64(arm)/4 {
			r.n = max(1, int(float64(r.n)*float64(arm)/took))
			break
		}
		r.n *= 2
	}
	r.bytes = settledHeap() - before
	return r, nil
}

// heapBytes returns what the heap holds that can be reached.
func heapBytes() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// run returns the nanoseconds that an operation took a goroutine.
func (r *running) run() (float64, error) {
	began, err := readClocks()
	if err != nil {
		return 0, err
	}
	if r.goroutines == 1 {
		r.op(r.n)
	} else {
		var wg sync.WaitGroup
		for range r.goroutines {
			wg.Go(func() { r.op(r.n) })
		}
		wg.Wait()
	}
	ended, err := readClocks()
	took := (ended.cpu - began.cpu) / time.Duration(r.goroutines)
	if r.clock == "wall" {
		took = ended.wall.Sub(began.wall)
	}
	return float64(took.Nanoseconds()) / float64(r.n), err
}

const conversionName = "hdr_conversion_error"

// conversionErrors are the relative errors that histograms are asked for.
var conversionErrors = []float64{0.001, 0.01, 0.05}

// conversionScale is the finest that Prometheus keeps.
const conversionScale = 8

// conversionLine returns the worst relative error of values that went through a histogram and then
// through an exponential one, beside the bound that [otelhdr.Snapshot.Exponential] gives.
func conversionLine(asked float64) (string, error) {
	h, err := otelhdr.NewHistogram(otelhdr.WithRelativeError(asked))
	if err != nil {
		return "", err
	}
	base := math.Exp2(math.Exp2(-conversionScale))
	worst, s := 0.0, new(otelhdr.Snapshot)
	r := rand.New(rand.NewPCG(7, 8))
	check := func(v uint64) {
		// With others far on either side, v is not an extreme, which would be exact.
		h.Reset()
		h.Record(1)
		h.Record(v)
		h.Record(math.MaxUint64)
		s = h.Snapshot(s)
		point := s.Exponential(conversionScale, 1).PositiveBucket
		for i := 1; i < len(point.Counts)-1; i++ {
			if point.Counts[i] != 0 {
				lower := math.Pow(base, float64(point.Offset)+float64(i))
				worst = max(worst, math.Abs(2*base/(base+1)*lower-float64(v))/float64(v))
			}
		}
	}
	for range 2000 {
		v := max(r.Uint64()>>(1+r.Uint64N(50)), 4)
		h.Reset()
		h.Record(v)
		b := h.Snapshot(nil).Locate(50).Bucket
		check(v)
		check(b.Low) // the values furthest from the middle
		check(b.High)
	}
	bound := h.RelativeError() + (base-1)/(base+1)
	holds := yes(worst <= bound*(1+h.RelativeError())) // the bound is to first order
	buckets, size := exportSize(h)
	return fmt.Sprintf("error %s asked=%g layout=%.6f scale=%d worst=%.6f target=worst<=%.6f holds=%s export_buckets=%d export_bytes=%d",
		conversionName, asked, h.RelativeError(), conversionScale, worst, bound, holds, buckets, size), nil
}

// exportSize returns how many buckets an exponential histogram of the samples has, and their bytes
// in OTLP, where counts are packed varints.
func exportSize(h *otelhdr.Histogram) (buckets, bytes int) {
	h.Reset()
	for _, v := range samples() {
		h.Record(v)
	}
	counts := h.Snapshot(nil).Exponential(conversionScale, time.Nanosecond.Seconds()).PositiveBucket.Counts
	var packed []byte
	for _, n := range counts {
		packed = binary.AppendUvarint(packed, n)
	}
	return len(counts), len(packed)
}
