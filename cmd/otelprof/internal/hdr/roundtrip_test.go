package hdr

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/otelhdr"
	"github.com/otelprof/otelprof/otelhdr/hdrlog"
)

// readBack returns s written in a format and read again.
func readBack(t *testing.T, f format, s *otelhdr.Snapshot) (*otelhdr.Snapshot, error) {
	t.Helper()
	var out bytes.Buffer
	if err := f.write(&out, hdrlog.Interval{Snapshot: s}, 1); err != nil {
		return nil, err
	}
	in, found, err := detect(&out)
	if err != nil || found != f {
		t.Fatalf("detect = %v, %v, want %v", found, err, f)
	}
	if f != formatHlog {
		return readSnapshot(in, f, 1)
	}
	all, err := hdrlog.ReadAll(in)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d intervals, %v", len(all), err)
	}
	return all[0].Snapshot, nil
}

// TestWideRoundTrips writes histograms whose buckets are wider than their layout in each format and
// reads them again. What is known stays what it was or, of lines or coarser buckets, gets less; it
// never gets more.
func TestWideRoundTrips(t *testing.T) {
	lowest := func(values ...int64) *otelhdr.Snapshot {
		h := hdr.New(1000, 1<<40, 3)
		for i, v := range values {
			if err := h.RecordValues(v, int64(500*(i+1))); err != nil {
				t.Fatal(err)
			}
		}
		text, err := h.Encode(hdr.V2CompressedEncodingCookieBase)
		if err != nil {
			t.Fatal(err)
		}
		s, err := hdrlog.Decode(string(text))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	buckets := func(list ...otelhdr.Bucket) *otelhdr.Snapshot {
		s, err := fromBuckets(list)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	fine, err := otelhdr.NewHistogram(otelhdr.WithSignificantDigits(3), otelhdr.WithEquivalent(otelhdr.EquivalentHigh))
	if err != nil {
		t.Fatal(err)
	}
	for v := range uint64(900) {
		fine.Record(v)
	}
	mixed := fine.Snapshot(nil)
	if err := mixed.MergeMidpoints(lowest(1020, 5000)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		s    *otelhdr.Snapshot
		// The formats that keep all; of the others the formats that refuse.
		same, refuse []format
	}{
		{"lowest value 1000", lowest(1020, 1030, 2600, 70_000, 5_000_000), []format{formatHlog, formatBase64, formatCSV, formatJSON}, nil},
		{"one bucket", lowest(1020), []format{formatHlog, formatHgrm, formatBase64, formatCSV, formatJSON}, nil},
		{"from 0", lowest(20), []format{formatHlog, formatHgrm, formatBase64, formatCSV, formatJSON}, nil},
		{
			"irregular", buckets(otelhdr.Bucket{Low: 501, High: 900, Count: 700}, otelhdr.Bucket{Low: 1000, High: 4100, Count: 900}),
			[]format{formatCSV, formatJSON},
			[]format{formatHlog, formatBase64},
		},
		{"fine and wide", mixed, []format{formatCSV, formatJSON}, nil},
	} {
		for _, f := range formats {
			back, err := readBack(t, f, tt.s)
			if slices.Contains(tt.refuse, f) {
				if !errors.Is(err, hdrlog.ErrValue) {
					t.Errorf("%s as %s: %v, want an error that wraps ErrValue", tt.name, f, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s as %s: %v", tt.name, f, err)
				continue
			}
			before, after := tt.s.Summary(nil), back.Summary(nil)
			for i, p := range before.Percentiles {
				q := after.Percentiles[i]
				low, high := min(p.Bucket.Low, p.Value), max(p.Bucket.High, p.Value)
				if q.Value+q.Error < high || q.Value > low+q.Error || q.Rank != p.Rank {
					t.Errorf("%s as %s: P%v %d ± %d: want it to hold all of [%d, %d]", tt.name, f, p.Percent, q.Value, q.Error, low, high)
				}
			}
			if slices.Contains(tt.same, f) {
				type figures struct {
					Markdown  string
					Precision float64
				}
				want, got := figures{before.Markdown(""), before.RelativeError}, figures{after.Markdown(""), after.RelativeError}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s as %s (-want +got):\n%s", tt.name, f, diff)
				}
			}
			for _, percent := range []float64{1, 50, 99} {
				j, err := otelhdr.Judge{Percent: percent}.Values(tt.s, back)
				if err != nil || j.Verdict == otelhdr.Slower || j.Verdict == otelhdr.Faster {
					t.Errorf("%s as %s: %v, %v: want neither slower nor faster", tt.name, f, j, err)
				}
			}
		}
	}
}

// TestWidePrecision checks that the precision printed is that of the widest bucket, also through
// JSON.
func TestWidePrecision(t *testing.T) {
	s, err := fromBuckets([]otelhdr.Bucket{{Low: 512, High: 1023, Count: 10}, {Low: 5000, High: 5000, Count: 1}})
	if err != nil {
		t.Fatal(err)
	}
	back, err := readBack(t, formatJSON, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*otelhdr.Snapshot{s, back} {
		if text := s.Summary(nil).Markdown(""); !strings.Contains(text, "Precision: | 33.3333%") {
			t.Errorf("want a precision of 33.3333%%:\n%s", text)
		}
	}
	old, err := readJSON(strings.NewReader(`{"relative_error":0.0078125,"buckets":[{"low":1,"high":1,"count":2}]}`))
	if err != nil || old.Resolution() != 0.0078125 {
		t.Errorf("without a resolution: %v, %v, want 0.0078125", old.Resolution(), err)
	}
}
