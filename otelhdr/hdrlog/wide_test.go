package hdrlog_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/otelprof/otelprof/otelhdr"
	"github.com/otelprof/otelprof/otelhdr/hdrlog"
)

// decoded returns h as it comes out of its encoding, and again out of ours.
func decoded(t *testing.T, h *hdr.Histogram) (once, twice *otelhdr.Snapshot) {
	t.Helper()
	text, err := h.Encode(hdr.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	if once, err = hdrlog.Decode(string(text)); err != nil {
		t.Fatal(err)
	}
	again, err := hdrlog.Encode(once)
	if err != nil {
		t.Fatal(err)
	}
	if twice, err = hdrlog.Decode(again); err != nil {
		t.Fatal(err)
	}
	return once, twice
}

func TestWideBucketsKeepBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, lowest := range []int64{1, 20, 80, 1000, 1 << 14} {
		for digits := 1; digits <= 4; digits++ {
			h := hdr.New(lowest, 1<<40, digits)
			for range 500 {
				_ = h.RecordValue(lowest + rng.Int64N(1<<(4+rng.IntN(24))))
			}
			once, twice := decoded(t, h)
			for _, p := range []float64{1, 10, 25, 49.95, 50, 75, 90, 99, 99.9} {
				want := uint64(h.ValueAtQuantile(p))
				if a, b := once.Percentile(p), twice.Percentile(p); a != want || b != want {
					t.Errorf("lowest %d, %d digits: P%v %d, encoded again %d: want %d", lowest, digits, p, a, b, want)
				}
			}
		}
	}
}

func TestWideBucketsJudgement(t *testing.T) {
	of := func(v int64) *otelhdr.Snapshot {
		h := hdr.New(1000, 3600_000_000_000, 3)
		_ = h.RecordValues(v, 1000)
		s, _ := decoded(t, h)
		return s
	}
	for _, after := range []int64{1030, 600} {
		j, err := otelhdr.Judge{}.Values(of(1020), of(after))
		if err != nil {
			t.Fatal(err)
		}
		if truth := float64(after)/1020 - 1; j.Low > truth || j.High < truth || j.Verdict == otelhdr.Same {
			t.Errorf("1020 against %d: %v: want an interval that holds %+.3f", after, j, truth)
		}
	}
	if p := of(1020).Locate(50); p.Value != 1023 || p.Error != 511 {
		t.Errorf("P50 %d ± %d: want 1023 ± 511", p.Value, p.Error)
	}
}

func TestMergeMidpointsKeepsBounds(t *testing.T) {
	h := hdr.New(1000, 1<<40, 3)
	_ = h.RecordValues(1020, 1000)
	from, _ := decoded(t, h)
	fine, err := otelhdr.NewHistogram(otelhdr.WithSignificantDigits(4))
	if err != nil {
		t.Fatal(err)
	}
	s := fine.Snapshot(nil)
	if err := s.MergeMidpoints(from); err != nil {
		t.Fatal(err)
	}
	if b := s.Locate(50).Bucket; b.Low != 512 || b.High != 1023 || b.Count != 1000 {
		t.Errorf("P50 in %v: want 1000 in [512, 1023]", b)
	}
}

func TestReadPercentilesFirstLine(t *testing.T) {
	for _, test := range []struct {
		first string
		low   uint64
	}{{"0.0", 500}, {"0.01", 0}} {
		text := "500 " + test.first + " 10 1.0\n900 1.0 1000\n#[Buckets = 26, SubBuckets = 2048]\n"
		s, err := hdrlog.ReadPercentiles(strings.NewReader(text), 1)
		if err != nil {
			t.Fatal(err)
		}
		if b := s.Locate(0.5).Bucket; b.Low != test.low || b.High != 500 {
			t.Errorf("first line at %s: %v: want [%d, 500]", test.first, b, test.low)
		}
		if b := s.Locate(50).Bucket; b.Low != 501 || b.High != 900 {
			t.Errorf("between the lines: %v: want [501, 900]", b)
		}
	}
}
