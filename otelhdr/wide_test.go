package otelhdr

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// imported returns a snapshot of buckets.
func imported(t testing.TB, buckets []Bucket, opts ...Option) *Snapshot {
	t.Helper()
	s, err := NewSnapshot(slices.Values(buckets), opts...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRelativeErrorOfWideBuckets(t *testing.T) {
	for _, tt := range []struct {
		buckets []Bucket
		want    float64
	}{
		{nil, 0.5 / 512},
		{[]Bucket{{Low: 512, High: 1023}}, 0.5 / 512}, // without values
		{[]Bucket{{Low: 700, High: 700, Count: 1}}, 0.5 / 512},
		{[]Bucket{{Low: 512, High: 1023, Count: 1}, {Low: 1e6, High: 1e6, Count: 9}}, 1.0 / 3},
		{[]Bucket{{Low: 0, High: 511, Count: 1}}, 1},
	} {
		s := imported(t, tt.buckets)
		if got := s.RelativeError(); math.Abs(got-tt.want) > 1e-9 || s.Summary(nil).RelativeError != got || s.Resolution() != 0.5/512 {
			t.Errorf("%v: relative error, resolution = %v, %v, want %v, %v", tt.buckets, got, s.Resolution(), tt.want, 0.5/512)
		}
	}
	wide := imported(t, []Bucket{{Low: 512, High: 1023, Count: 1}})
	if err := wide.Subtract(wide); err != nil || wide.RelativeError() != wide.Resolution() {
		t.Errorf("with no values left: %v, %v, want %v", wide.RelativeError(), err, wide.Resolution())
	}
}

// TestWideBucketsHoldValues puts values into buckets of random bounds that overlap, and in part
// reach into the range or out of it, by import or by merges: each percentile, its error, its bounds
// for a judgement and the relative error hold the value.
func TestWideBucketsHoldValues(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for round := range 300 {
		e := []Equivalent{EquivalentLow, EquivalentMid, EquivalentHigh}[round%3]
		opts := []Option{WithRelativeError([]float64{0.1, 0.01, 0.001}[r.IntN(3)]), WithEquivalent(e)}
		ranged := round%4 == 0
		if ranged {
			opts = append(opts, WithRange(500, 5000))
		}
		s := imported(t, nil, opts...)
		var values []uint64
		for range 1 + r.IntN(4) {
			var buckets []Bucket
			for range 1 + r.IntN(10) {
				low := r.Uint64N(10_000)
				b := Bucket{Low: low, High: low + r.Uint64N(1+r.Uint64N(1<<r.IntN(14))), Count: 1 + r.Uint64N(5)}
				buckets = append(buckets, b)
				for range b.Count {
					values = append(values, b.Low+r.Uint64N(b.High-b.Low+1))
				}
			}
			from := imported(t, buckets, WithRelativeError([]float64{0.1, 0.001}[r.IntN(2)]), WithEquivalent(e))
			if err := s.MergeMidpoints(from); err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(values)
		var before uint64
		for i, v := range values {
			rank, p := uint64(i+1), 100*(float64(i)+0.5)/float64(len(values))
			l, b := s.Locate(p), s.boundsOf(rank)
			if l.Rank != rank || l.Value != s.Percentile(p) || distance(v, l.Value) > l.Error || l.Value < before {
				t.Fatalf("round %d: P%v = %+v after %d, want it to hold %d of rank %d", round, p, l, before, v, rank)
			}
			if v < b.Low || v > b.High || v < l.Bucket.Low || v > l.Bucket.High {
				t.Fatalf("round %d: bounds of rank %d = %v, %v: want them to hold %d", round, rank, b, l.Bucket, v)
			}
			mid := float64(l.Bucket.Mid())
			if !ranged && math.Abs(mid-float64(v)) > s.RelativeError()*mid {
				t.Fatalf("round %d: %d in %v: relative error %v", round, v, l.Bucket, s.RelativeError())
			}
			before = l.Value
		}
		var last Percentile
		for p := range s.BucketPercentiles() {
			if v := values[p.Rank-1]; distance(v, p.Value) > p.Error || p.Value < last.Value {
				t.Fatalf("round %d: bucket percentile %+v after %+v, want it to hold %d", round, p, last, v)
			}
			last = p
		}
		if v := values[len(values)-1]; last.Rank != s.Count() || v > s.Max() || values[0] < s.Min() {
			t.Fatalf("round %d: extremes %d, %d of %d, %d", round, s.Min(), s.Max(), values[0], v)
		}
	}
}

// TestWideBucketsMiddles checks that what is exported and corrected, and the deviation, have values
// within their buckets.
func TestWideBucketsMiddles(t *testing.T) {
	// The slot of 16 and 17 stands for 17 otherwise.
	s := imported(t, []Bucket{{Low: 15, High: 16, Count: 1}, {Low: 100, High: 300, Count: 2}}, WithRelativeError(0.1))
	var got [][2]uint64
	s.values(func(v, n uint64) bool {
		got = append(got, [2]uint64{v, n})
		return true
	})
	if diff := cmp.Diff([][2]uint64{{16, 1}, {200, 2}}, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	square := func(d float64) float64 { return d * d }
	want := math.Sqrt((square(16-416.0/3) + 2*square(200-416.0/3)) / 3)
	if s.Mean() != 416.0/3 || math.Abs(s.StdDev()-want) > 1e-9 || math.Abs(s.Summary(nil).StdDev-want) > 1e-9 {
		t.Errorf("mean, deviation = %v, %v, want %v, %v", s.Mean(), s.StdDev(), 416.0/3, want)
	}
	// 34 less 17 is in the slot of the first.
	s = imported(t, []Bucket{{Low: 15, High: 16, Count: 1}, {Low: 34, High: 34, Count: 1}}, WithRelativeError(0.1))
	c, err := s.Corrected(17, nil)
	if err != nil {
		t.Fatal(err)
	}
	if b := c.Locate(50).Bucket; b.Low != 15 || b.High != 17 || b.Count != 2 {
		t.Errorf("corrected: %v: want 2 from 15 to 17", b)
	}
}

// The memory of a snapshot has the bounds that it keeps.
func TestWideSizeBytes(t *testing.T) {
	var narrow, wide []Bucket
	for i := range uint64(100) {
		narrow = append(narrow, Bucket{Low: 1000 * i, High: 1000 * i, Count: 1})
		wide = append(wide, Bucket{Low: 1000 * i, High: 1000*i + 999, Count: 1})
	}
	digits := WithSignificantDigits(5)
	if got, least := imported(t, wide, digits).SizeBytes(), imported(t, narrow, digits).SizeBytes()+100*32; got < least {
		t.Errorf("SizeBytes() = %d with 100 wide buckets, want at least %d", got, least)
	}
}
