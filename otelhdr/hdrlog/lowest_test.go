package hdrlog

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/internal/testutil/thorough"
	"github.com/otelprof/otelprof/otelhdr"
)

// wordsOf returns h as version 0 or 1 has it, with counters of 2, 4 or 8 bytes.
func wordsOf(t testing.TB, h *hdr.Histogram, version, word int) string {
	t.Helper()
	e := h.Export()
	var counts bytes.Buffer
	for _, n := range e.Counts {
		counts.Write(binary.BigEndian.AppendUint64(nil, uint64(n))[8-word:])
	}
	var plain, data bytes.Buffer
	write := func(to *bytes.Buffer, v any) {
		if err := binary.Write(to, binary.BigEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	cookie, compressed := uint32(cookieV0), uint32(cookieV0Compressed)
	if version == 1 {
		cookie, compressed = cookieV1, cookieV1Compressed
	}
	write(&plain, cookie|uint32(word)<<4)
	if version == 1 {
		write(&plain, []int32{int32(counts.Len()), 0, int32(e.SignificantFigures)})
		write(&plain, []int64{e.LowestTrackableValue, e.HighestTrackableValue})
		write(&plain, float64(1))
	} else {
		write(&plain, int32(e.SignificantFigures))
		write(&plain, []int64{e.LowestTrackableValue, e.HighestTrackableValue, h.TotalCount()})
	}
	plain.Write(counts.Bytes())
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	if _, err := w.Write(plain.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	write(&data, compressed|uint32(word)<<4)
	write(&data, int32(z.Len()))
	data.Write(z.Bytes())
	return base64.StdEncoding.EncodeToString(data.Bytes())
}

// TestLowestVersions reads histograms of random values, digits and lowest values in all versions:
// every figure is that of HdrHistogram, and a percentile and its error hold the value that was
// recorded.
func TestLowestVersions(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 11))
	thousandths := []uint64{100, 1_000, 5_000, 25_000, 50_000, 75_000, 90_000, 99_000, 99_900}
	rounds := thorough.Of(60, 6)
	for round := range rounds {
		lowest, digits := 1+rng.Int64N(1<<rng.IntN(20)), 1+round%5
		if round > 5 {
			digits = min(digits, 4) // 5 take time
		}
		h := hdr.New(lowest, 1<<30, digits)
		var list []uint64
		for range 1 + rng.IntN(400) {
			v := rng.Uint64() >> (34 + rng.IntN(30))
			list = append(list, v)
			if err := h.RecordValue(int64(v)); err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(list)
		v2, err := h.Encode(hdr.V2CompressedEncodingCookieBase)
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{
			"V0": wordsOf(t, h, 0, 8), "V1": wordsOf(t, h, 1, 4), "V1 of 2 bytes": wordsOf(t, h, 1, 2), "V2": string(v2),
		} {
			s, err := Decode(text)
			if err != nil {
				t.Fatalf("%s, lowest %d, %d digits: %v", name, lowest, digits, err)
			}
			if s.Count() != uint64(len(list)) || s.Min() != uint64(h.Min()) || s.Max() != uint64(h.Max()) {
				t.Errorf("%s, lowest %d, %d digits: count, min, max = %d, %d, %d, want %d, %d, %d", name, lowest, digits,
					s.Count(), s.Min(), s.Max(), len(list), h.Min(), h.Max())
			}
			for what, of := range map[string][2]float64{"mean": {s.Mean(), h.Mean()}, "deviation": {s.StdDev(), h.StdDev()}} {
				if got, want := of[0], of[1]; got < want*(1-1e-9)-1e-6 || got > want*(1+1e-9)+1e-6 {
					t.Errorf("%s, lowest %d, %d digits: %s %v, want %v", name, lowest, digits, what, got, want)
				}
			}
			for _, x := range thousandths {
				p, n := float64(x)/1000, uint64(len(list))
				l := s.Locate(p)
				// The rank is that of HdrHistogram for Java. The codec rounds it, so it is asked
				// for the rank as a percentile.
				want := uint64(h.ValueAtPercentile(100 * float64(l.Rank) / float64(n)))
				if rank := (x*n + 99_999) / 100_000; l.Rank != rank || l.Value != want {
					t.Errorf("%s, lowest %d, %d digits: P%v, rank %d, %d: want %d, %d", name, lowest, digits, p, l.Rank, l.Value, rank, want)
				}
				if v := list[l.Rank-1]; v > l.Value || l.Value-v > l.Error {
					t.Errorf("%s, lowest %d, %d digits: P%v = %d ± %d, want it to hold %d", name, lowest, digits, p, l.Value, l.Error, v)
				}
			}
		}
	}
}

// TestEncodeWide encodes buckets that are wider than their layout: in none that is narrower, or not
// at all.
func TestEncodeWide(t *testing.T) {
	for _, tt := range []struct {
		name    string
		buckets []otelhdr.Bucket
		want    []otelhdr.Bucket // nil for an error
	}{
		{"of a unit", []otelhdr.Bucket{{Low: 512, High: 1023, Count: 1}}, []otelhdr.Bucket{{Low: 512, High: 1023, Count: 1}}},
		{
			"beside finer ones",
			[]otelhdr.Bucket{{Low: 300, High: 300, Count: 1}, {Low: 512, High: 1023, Count: 2}},
			[]otelhdr.Bucket{{Low: 0, High: 511, Count: 1}, {Low: 512, High: 1023, Count: 2}},
		},
		{"within one", []otelhdr.Bucket{{Low: 600, High: 1000, Count: 1}}, []otelhdr.Bucket{{Low: 512, High: 1023, Count: 1}}},
		{"across", []otelhdr.Bucket{{Low: 501, High: 900, Count: 1}}, nil},
		{"all there is", []otelhdr.Bucket{{Low: 0, High: 1<<62 - 1, Count: 1}}, nil},
	} {
		s, err := otelhdr.NewSnapshot(slices.Values(tt.buckets), otelhdr.WithSignificantDigits(3))
		if err != nil {
			t.Fatal(err)
		}
		text, err := Encode(s)
		if tt.want == nil {
			if err == nil || !strings.Contains(err.Error(), "at most twice as wide") {
				t.Errorf("%s: Encode = %v, want an error", tt.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		back, err := Decode(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, slices.Collect(back.Buckets())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestPercentilesAsCodec compares what is written with what the codec writes, but for the line of
// ours, and for the decimals of percentiles, of which Java has 12 and the codec 6.
func TestPercentilesAsCodec(t *testing.T) {
	for digits := 1; digits <= 4; digits++ {
		h := hdr.New(1, 1<<40, digits)
		for _, v := range values(2000) {
			_ = h.RecordValue(int64(v >> 24))
		}
		h = hdr.Import(&hdr.Snapshot{
			LowestTrackableValue: 1, HighestTrackableValue: h.Max(), SignificantFigures: int64(digits), Counts: h.Export().Counts,
		})
		text, err := h.Encode(hdr.V2CompressedEncodingCookieBase)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Decode(string(text))
		if err != nil {
			t.Fatal(err)
		}
		var want, got bytes.Buffer
		if _, err := h.PercentilesPrint(&want, 5, 1000); err != nil {
			t.Fatal(err)
		}
		if err := WritePercentiles(&got, s, 5, 1000); err != nil {
			t.Fatal(err)
		}
		ours, _, ok := strings.Cut(got.String(), "#[Min ")
		ours = regexp.MustCompile(`\b[01]\.\d{12}\b`).ReplaceAllStringFunc(ours, func(fraction string) string {
			f, err := strconv.ParseFloat(fraction, 64)
			if err != nil {
				t.Error(err)
			}
			return fmt.Sprintf("%12f", f)
		})
		if diff := cmp.Diff(want.String(), ours); diff != "" || !ok {
			t.Errorf("%d digits: (-codec +ours):\n%s", digits, diff)
		}
	}
}

// TestPercentilesBelowAll: of ten million values no line but the last is at 1.
func TestPercentilesBelowAll(t *testing.T) {
	h, err := otelhdr.NewHistogram(otelhdr.WithSignificantDigits(3))
	if err != nil {
		t.Fatal(err)
	}
	h.RecordN(1, 10_000_000)
	h.Record(5000)
	var out strings.Builder
	if err := WritePercentiles(&out, h.Snapshot(nil), 5, 1); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), " 1.000000"); n != 1 {
		t.Errorf("%d lines at 1, want 1:\n%s", n, out.String())
	}
}

// TestPercentilesLowest reads distributions whose first line is a bucket of its own width.
func TestPercentilesLowest(t *testing.T) {
	for _, tt := range []struct {
		text string
		want uint64
	}{
		{"1023 0.0 10 1.0\n2047 1.0 20\n", 0}, // by others
		{"1023 0.0 10 1.0\n2047 1.0 20\n2559 1.0 30\n", 512},
		{"1023 0.0 10 1.0\n2046 1.0 20\n", 1023},
		{"1023 0.0 10 1.0\n2047 1.0 20\n#[Min = 512.000]\n", 512}, // by us
		{"1023 0.5 10 1.0\n2047 1.0 20\n#[Min = 700.000]\n", 700},
		{"1023 0.5 10 1.0\n2047 1.0 20\n", 0},
	} {
		s, err := ReadPercentiles(strings.NewReader(tt.text), 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Locate(1).Bucket.Low; got != tt.want {
			t.Errorf("ReadPercentiles(%q): first bucket from %d, want %d", tt.text, got, tt.want)
		}
	}
}
