package hdr

import (
	"math"
	"testing"

	"github.com/otelprof/otelprof/otelhdr"
	"github.com/otelprof/otelprof/otelhdr/hdrlog"
)

func TestNines(t *testing.T) {
	for percent, want := range map[float64]float64{0: 0, 90: 1, 99: 2, 99.9: 3} {
		if got := nines(percent); math.Abs(got-want) > 1e-9 {
			t.Errorf("nines(%v) = %v, want %v", percent, got, want)
		}
	}
	h, err := otelhdr.NewHistogram()
	if err != nil {
		t.Fatal(err)
	}
	for v := range uint64(1000) {
		h.Record(v)
	}
	points := curve(h.Snapshot(nil), 1)
	for i := 1; i < len(points); i++ {
		if points[i].nines < points[i-1].nines || math.IsInf(points[i].nines, 0) || math.IsNaN(points[i].nines) {
			t.Fatalf("point %d at %v follows %v", i, points[i], points[i-1])
		}
	}
}

// So many values that the percentile of the last one rounds to 100 end at some place, too: a plot
// has a tick for each nine up to there.
func TestCurveOfManyValues(t *testing.T) {
	s, err := fromBuckets([]otelhdr.Bucket{{Low: 7, High: 7, Count: 10_000_000_000_000_000}})
	if err != nil {
		t.Fatal(err)
	}
	points := curve(s, 1)
	if last := points[len(points)-1]; !(last.nines > 16 && last.nines < 17) {
		t.Errorf("the last value is at %v nines, want 16.3", last.nines)
	}
}

func TestMergeLayouts(t *testing.T) {
	var files []histogramFile
	for i, digits := range []int{2, 3, 1} {
		h, err := otelhdr.NewHistogram(otelhdr.WithSignificantDigits(digits))
		if err != nil {
			t.Fatal(err)
		}
		h.RecordN(uint64(1000*(i+1)), 5)
		files = append(files, histogramFile{intervals: []hdrlog.Interval{{Snapshot: h.Snapshot(nil)}}})
	}
	s, err := merge(files)
	if err != nil || s.Count() != 15 || s.Resolution() != 0.5/1024 || s.Min() != 1000 || s.Max() != 3000 {
		t.Errorf("merge = %v, %v, want 15 values with 3 digits", s.Summary(nil), err)
	}
	if want := files[2].intervals[0].Snapshot.RelativeError(); s.RelativeError() <= s.Resolution() || s.RelativeError() > want {
		t.Errorf("relative error = %v, want that of the coarsest file, above %v and at most %v", s.RelativeError(), s.Resolution(), want)
	}
}
