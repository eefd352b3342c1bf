package hdrlog

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/otelhdr"
)

// codecFile returns the path of a log that comes with the codec.
func codecFile(t testing.TB, name string) string {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/HdrHistogram/hdrhistogram-go").Output()
	if err != nil {
		testutil.Lacks(t, "GO", fmt.Sprint("needs the go command and the module cache: ", err))
	}
	return filepath.Join(strings.TrimSpace(string(dir)), "test", name)
}

// TestKnownLogs reads logs of all versions that other implementations have written, to the totals
// that those give. The intervals have 2 digits, but those totals come from adding them up with 3:
// each bucket as its smallest value.
func TestKnownLogs(t *testing.T) {
	for _, tt := range []struct {
		name                   string
		intervals              int
		count, p999, max       uint64
		first                  string
		tagged, untaggedCounts uint64
	}{
		{"jHiccup-2.0.7S.logV2.hlog", 62, 48761, 1745879039, 1796210687, "2015-09-09T15:24:39.601Z", 0, 48761},
		{"jHiccup-2.0.6.logV1.hlog", 88, 65964, 1829765119, 1888485375, "2015-08-06T13:26:30.418Z", 0, 65964},
		{"jHiccup-2.0.1.logV0.hlog", 81, 61256, 1510998015, 1569718271, "2015-08-06T14:06:01.341Z", 0, 61256},
		{"ycsb.logV1.hlog", 602, 300056, 1214463, 1546239, "2015-08-03T14:52:59.29Z", 0, 300056},
		{"tagged-Log.logV2.hlog", 42, 32290, 0, 0, "2015-09-09T15:24:39.601Z", 16145, 16145},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := os.Open(codecFile(t, tt.name))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			intervals, err := ReadAll(f)
			if err != nil {
				t.Fatal(err)
			}
			all, atLow := new(otelhdr.Snapshot), new(otelhdr.Snapshot)
			var tagged uint64
			for _, i := range intervals {
				if err := all.Merge(i.Snapshot); err != nil {
					t.Fatal(err)
				}
				if i.Tag == "A" {
					tagged += i.Snapshot.Count()
				}
				low, err := otelhdr.NewSnapshot(func(yield func(otelhdr.Bucket) bool) {
					for b := range i.Snapshot.Buckets() {
						if !yield(otelhdr.Bucket{Low: b.Low, High: b.Low, Count: b.Count}) {
							return
						}
					}
				}, otelhdr.WithSignificantDigits(3), otelhdr.WithEquivalent(otelhdr.EquivalentHigh))
				if err != nil {
					t.Fatal(err)
				}
				if err := atLow.Merge(low); err != nil {
					t.Fatal(err)
				}
				// The line states the maximum in thousandths of a millisecond; buckets are at least
				// 2^14 wide in some.
				top := float64(i.Snapshot.Max())
				if stated := i.Max * 1e6; stated > top+1000 || stated < top-max(top/64, 1<<14)-1000 {
					t.Errorf("maximum of %v: %v, the line says %v", i.Start, top, i.Max)
				}
			}
			if len(intervals) != tt.intervals || all.Count() != tt.count {
				t.Errorf("%d intervals, %d values, want %d, %d", len(intervals), all.Count(), tt.intervals, tt.count)
			}
			if tagged != tt.tagged || all.Count()-tagged != tt.untaggedCounts {
				t.Errorf("%d values with a tag, %d without, want %d, %d", tagged, all.Count()-tagged, tt.tagged, tt.untaggedCounts)
			}
			if tt.max != 0 && (atLow.Percentile(99.9) != tt.p999 || topOf(atLow) != tt.max) {
				t.Errorf("P99.9, maximum = %d, %d, want %d, %d", atLow.Percentile(99.9), topOf(atLow), tt.p999, tt.max)
			}
			if got := intervals[0].Start.Format(time.RFC3339Nano); got != tt.first {
				t.Errorf("the first interval starts at %s, want %s", got, tt.first)
			}
		})
	}
}

// topOf returns the greatest value of the last bucket.
func topOf(s *otelhdr.Snapshot) uint64 { return s.Locate(100).Bucket.High }

func values(n int) []uint64 {
	r := rand.New(rand.NewPCG(1, 2))
	list := make([]uint64, n)
	for i := range list {
		list[i] = r.Uint64() >> (1 + r.Uint64()%63)
	}
	return list
}

func snapshotOf(t testing.TB, list []uint64, opts ...otelhdr.Option) *otelhdr.Snapshot {
	t.Helper()
	h, err := otelhdr.NewHistogram(opts...)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range list {
		h.Record(v)
	}
	return h.Snapshot(nil)
}

// TestAgainstCodec records the same into both kinds of histogram: the same bytes come out, and the
// same figures.
func TestAgainstCodec(t *testing.T) {
	for digits := 1; digits <= 4; digits++ {
		list := values(3000)
		s := snapshotOf(t, list, otelhdr.WithSignificantDigits(digits), otelhdr.WithEquivalent(otelhdr.EquivalentHigh))
		h := hdr.New(1, max(int64(slices.Max(list)), 2), digits)
		for _, v := range list {
			if err := h.RecordValue(int64(v)); err != nil {
				t.Fatal(err)
			}
		}
		got, err := Encode(s)
		if err != nil {
			t.Fatal(err)
		}
		want, err := h.Encode(hdr.V2CompressedEncodingCookieBase)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%d digits: Encode = %.60s…, want %.60s…", digits, got, want)
		}
		back, err := Decode(got)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(slices.Collect(s.Buckets()), slices.Collect(back.Buckets())); diff != "" {
			t.Errorf("%d digits: decoded (-want +got):\n%s", digits, diff)
		}
		if back.Min() != uint64(h.Min()) || back.Max() != uint64(h.Max()) || math.Abs(back.Mean()-h.Mean()) > 1e-9*h.Mean() ||
			math.Abs(back.StdDev()-h.StdDev()) > 1e-3*h.StdDev() {
			t.Errorf("%d digits: min, max, mean, deviation = %d, %d, %v, %v, want %d, %d, %v, %v", digits,
				back.Min(), back.Max(), back.Mean(), back.StdDev(), h.Min(), h.Max(), h.Mean(), h.StdDev())
		}
		for _, p := range []float64{0, 1, 10, 50, 75, 90, 99, 99.9, 99.99, 100} {
			if got, want := back.Percentile(p), uint64(h.ValueAtPercentile(p)); got != want {
				t.Errorf("%d digits: Percentile(%v) = %d, want %d", digits, p, got, want)
			}
		}
	}
}

// TestEncodeOtherLayouts encodes what has no number of digits, and checks that nothing is lost and
// little moved.
func TestEncodeOtherLayouts(t *testing.T) {
	list := values(2000)
	for _, opts := range [][]otelhdr.Option{
		nil, {otelhdr.WithRelativeError(0.1)}, {otelhdr.WithRelativeError(0.01)}, {otelhdr.WithRange(1000, 1<<40)}, {otelhdr.WithCounter32()},
	} {
		s := snapshotOf(t, list, opts...)
		text, err := Encode(s)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(text)
		if err != nil {
			t.Fatal(err)
		}
		if back.Count() != s.Count() || back.RelativeError() > s.RelativeError() {
			t.Errorf("%d values at %g, want %d at no more than %g", back.Count(), back.RelativeError(), s.Count(), s.RelativeError())
		}
		for _, p := range []float64{1, 25, 50, 75, 99} {
			got, want := float64(back.Percentile(p)), float64(s.Percentile(p))
			if math.Abs(got-want) > 3*s.RelativeError()*want+1 {
				t.Errorf("Percentile(%v) = %v, want about %v", p, got, want)
			}
		}
	}
}

func TestEncodeErrors(t *testing.T) {
	if _, err := Encode(snapshotOf(t, []uint64{1 << 63})); !errors.Is(err, ErrValue) {
		t.Errorf("Encode of 2^63: %v, want an error that wraps ErrValue", err)
	}
	h, err := otelhdr.NewHistogram()
	if err != nil {
		t.Fatal(err)
	}
	h.RecordN(5, 1<<63)
	if _, err := Encode(h.Snapshot(nil)); !errors.Is(err, ErrValue) {
		t.Errorf("Encode of 2^63 values: %v, want an error that wraps ErrValue", err)
	}
	for _, s := range []*otelhdr.Snapshot{new(otelhdr.Snapshot), snapshotOf(t, nil)} {
		text, err := Encode(s)
		if err != nil {
			t.Fatalf("Encode of nothing: %v", err)
		}
		if back, err := Decode(text); err != nil || back.Count() != 0 {
			t.Errorf("Decode of nothing = %v, %v", back, err)
		}
	}
}

// TestDecodeLowest decodes histograms whose unit is not 1.
func TestDecodeLowest(t *testing.T) {
	for _, lowest := range []int64{2, 1000, 1 << 20} {
		h := hdr.New(lowest, 1<<50, 2)
		for _, v := range values(1000) {
			if err := h.RecordValue(int64(v % (1 << 50))); err != nil {
				t.Fatal(err)
			}
		}
		text, err := h.Encode(hdr.V2CompressedEncodingCookieBase)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Decode(string(text))
		if err != nil {
			t.Fatal(err)
		}
		if s.Count() != 1000 || s.Max() != uint64(h.Max()) || math.Abs(s.Mean()-h.Mean()) > 1e-9*h.Mean() {
			t.Errorf("lowest %d: count, max, mean = %d, %d, %v, want 1000, %d, %v", lowest, s.Count(), s.Max(), s.Mean(), h.Max(), h.Mean())
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	good, err := Encode(snapshotOf(t, values(50)))
	if err != nil {
		t.Fatal(err)
	}
	short := base64.StdEncoding.EncodeToString([]byte{0x1c, 0x84, 0x93, 0x22, 0, 0, 0, 99})
	for _, text := range []string{"", "HIST", "not base64!", "AAAAAAAAAAAA", good[:len(good)/2], good[:12], short} {
		if s, err := Decode(text); !errors.Is(err, ErrFormat) || s != nil {
			t.Errorf("Decode(%.20q) = %v, %v, want an error that wraps ErrFormat", text, s, err)
		}
	}
}

func TestWriterRoundTrip(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 678_901_000, time.UTC)
	var want []Interval
	for n, tag := range []string{"", "read", "", "write"} {
		want = append(want, Interval{
			Tag: tag, Start: start.Add(time.Duration(n) * time.Second), Length: 999 * time.Millisecond, Max: float64(n + 1),
			Snapshot: snapshotOf(t, values(50*n+1), otelhdr.WithSignificantDigits(3)),
		})
	}
	var out bytes.Buffer
	w := NewWriter(&out, start)
	if err := w.Comment("two\nlines"); err != nil {
		t.Fatal(err)
	}
	for _, i := range want {
		if err := w.Write(i); err != nil {
			t.Fatal(err)
		}
	}
	log := out.String()

	got, err := ReadAll(strings.NewReader(log))
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d intervals, %v, want %d:\n%s", len(got), err, len(want), log)
	}
	codec := hdr.NewHistogramLogReader(strings.NewReader(log))
	for n, i := range got {
		w := want[n]
		if i.Tag != w.Tag || !i.Start.Equal(w.Start) || i.Length != w.Length || i.Max != w.Max {
			t.Errorf("interval %d = %q %v +%v max %v, want %q %v +%v max %v", n, i.Tag, i.Start, i.Length, i.Max, w.Tag, w.Start, w.Length, w.Max)
		}
		if diff := cmp.Diff(slices.Collect(w.Snapshot.Buckets()), slices.Collect(i.Snapshot.Buckets())); diff != "" {
			t.Errorf("interval %d (-want +got):\n%s", n, diff)
		}
		h, err := codec.NextIntervalHistogram()
		if err != nil || h == nil || h.Tag() != w.Tag && w.Tag != "" || h.TotalCount() != int64(w.Snapshot.Count()) || h.StartTimeMs() != w.Start.UnixMilli() {
			t.Errorf("interval %d: the codec reads %v, %v", n, h, err)
		}
	}
	if err := w.Write(Interval{Tag: "a b", Snapshot: new(otelhdr.Snapshot)}); !errors.Is(err, ErrFormat) {
		t.Errorf("Write with a blank in the tag: %v, want an error that wraps ErrFormat", err)
	}
}

// A line that is too long is an error of that line, even where it is none of an interval.
func TestReaderBoundsLines(t *testing.T) {
	good, err := Encode(snapshotOf(t, []uint64{5}))
	if err != nil {
		t.Fatal(err)
	}
	r := NewReader(io.MultiReader(strings.NewReader("#"), io.LimitReader(endless{}, mostLine), strings.NewReader("\n0.3,1.0,3.0,"+good+"\n")))
	var line *LineError
	if _, err := r.Next(); !errors.As(err, &line) || line.Line != 1 || !errors.Is(err, ErrFormat) {
		t.Errorf("%v, want a LineError of line 1", err)
	}
	if i, err := r.Next(); err != nil || i.Length != time.Second {
		t.Errorf("the line after: %v, %v", i, err)
	}
	if _, err := ReadPercentiles(strings.NewReader("Value\n"+strings.Repeat("1", 1<<17)), 1); !errors.As(err, &line) || line.Line != 2 || !errors.Is(err, ErrFormat) {
		t.Errorf("percentiles: %v, want a LineError of line 2", err)
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'a'
	}
	return len(b), nil
}

// TestReaderErrors damages lines of a log: each is an error with its number, and the others are
// read.
func TestReaderErrors(t *testing.T) {
	good, err := Encode(snapshotOf(t, []uint64{5, 6, 7}))
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{
		"#[StartTime: 1438869961.225 (seconds since epoch), Thu Aug 06 07:06:01 PDT 2015]",
		"0.1,1.0,3.0," + good,
		"0.2,1.0,3.0," + good[:len(good)-9],
		"0.3,1.0",
		"x,1.0,3.0," + good,
		"0.5,1.0,3.0," + good,
		"0.6,1.0,x," + good,
		"0.7,1e300,3.0," + good,
		"0.7,1e10,3.0," + good,
		"Tag=A",
		"Tag=A,0.9,1.0,3.0," + good,
		"1.0,1.0,3.0,HISTFAAA", // cut off in the end
	}
	var read, failed []int
	n := 0
	for i, err := range NewReader(strings.NewReader(strings.Join(lines, "\r\n"))).All() {
		n++
		if err == nil {
			read = append(read, int(math.Round(10*float64(i.Start.UnixMilli()-1438869961225)/1000)))
			continue
		}
		var line *LineError
		if !errors.As(err, &line) || !errors.Is(err, ErrFormat) || !strings.HasPrefix(err.Error(), "line ") {
			t.Errorf("error = %v, want a LineError that wraps ErrFormat", err)
			continue
		}
		failed = append(failed, line.Line)
	}
	if diff := cmp.Diff([]int{1, 5, 9}, read); diff != "" {
		t.Errorf("tenths of seconds of what was read (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{3, 4, 5, 7, 8, 9, 10, 12}, failed); diff != "" {
		t.Errorf("lines with errors (-want +got):\n%s", diff)
	}
	kept, err := ReadAll(strings.NewReader(strings.Join(lines, "\n")))
	var line *LineError
	if len(kept) != 1 || !errors.As(err, &line) || line.Line != 3 {
		t.Errorf("ReadAll keeps %d intervals, %v, want 1 and an error in line 3", len(kept), err)
	}
}

func TestPercentilesRoundTrip(t *testing.T) {
	s := snapshotOf(t, values(5000), otelhdr.WithSignificantDigits(3))
	var out bytes.Buffer
	if err := WritePercentiles(&out, s, 5, 1000); err != nil {
		t.Fatal(err)
	}
	back, err := ReadPercentiles(bytes.NewReader(out.Bytes()), 1000)
	if err != nil {
		t.Fatal(err)
	}
	if back.Count() != s.Count() || back.Resolution() != s.Resolution() {
		t.Errorf("%d values at %g, want %d at %g", back.Count(), back.Resolution(), s.Count(), s.Resolution())
	}
	for _, p := range []float64{50, 75, 87.5, 100} { // which have a line
		if got, want := float64(back.Percentile(p)), float64(s.Percentile(p)); math.Abs(got-want) > 3*s.RelativeError()*want {
			t.Errorf("Percentile(%v) = %v, want about %v", p, got, want)
		}
	}
	for _, text := range []string{"1.0 0.5", "x 0.5 7", "-1 0.5 7", "1 0.5 -7", "1 0.5 7 2.0\n2 0.6 6 2.0"} {
		if s, err := ReadPercentiles(strings.NewReader(text), 1); !errors.Is(err, ErrFormat) || s != nil {
			t.Errorf("ReadPercentiles(%q) = %v, %v, want an error that wraps ErrFormat", text, s, err)
		}
	}
	if err := WritePercentiles(&out, s, 0, 1); !errors.Is(err, ErrFormat) {
		t.Errorf("WritePercentiles with 0 ticks: %v", err)
	}
	if _, err := ReadPercentiles(&out, 0); !errors.Is(err, ErrFormat) {
		t.Errorf("ReadPercentiles with scale 0: %v", err)
	}
}

// FuzzDecode checks that no text does any harm, and that what can be read survives being written.
func FuzzDecode(f *testing.F) {
	for _, digits := range []int{1, 2, 3} {
		text, err := Encode(snapshotOf(f, values(100), otelhdr.WithSignificantDigits(digits)))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add("HISTiQAAAGR42pNpmdzBwMDAxAAGfgoMDMxuBjsWQLgMTA+hDEY0mhVKc0BpdijNAqW50NSx4dDPhqafDYf5OlDaGEpLQmleNPs8oLQy1LoYVD5cPcydUH+PglEwCkbBKBgFowAZAABAZw")
	f.Add("HISTIgAAAE542pNpmazIwMBgxQABTBDKT4GBgdnNYMcCBvsPDDDACMQsQJKRgYOBlYEZCFmAkB3IB/HkGJQYJBi4gXIyDPGMTAxzGKQZ2EC6AJ7YBtg=")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Decode(text)
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatalf("Decode: %v, want an error that wraps ErrFormat", err)
			}
			return
		}
		again, err := Encode(s)
		if errors.Is(err, ErrValue) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(again)
		if err != nil || back.Count() != s.Count() {
			t.Fatalf("decoded again: %v", err)
		}
		wide := slices.Collect(back.Buckets())
		for b := range s.Buckets() { // those of no digits may be halves there
			if !slices.ContainsFunc(wide, func(w otelhdr.Bucket) bool { return w.Low <= b.Low && b.High <= w.High }) {
				t.Fatalf("bucket %v is in none of %v", b, wide)
			}
		}
	})
}

func FuzzReader(f *testing.F) {
	f.Add("#[StartTime: 1 (seconds)]\n1,2,3,HISTFAAAAEV42pNpmSzMwMCgyAABTBDKT4GBgdnNYMcCBvsPEBEJISEuATEZMQ4uASkhIR4nrxg9v2lMaxhvMekILGZkKmcCAEf2CsI=\n")
	f.Add("Tag=A,1,2,3,x\n\"a\n#\n\n,,,")
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Count(text, "\n") + 1
		n := 0
		for _, err := range NewReader(strings.NewReader(text)).All() {
			n++
			var line *LineError
			if err != nil && (!errors.As(err, &line) || line.Line < 1 || line.Line > lines) {
				t.Fatalf("error = %v in a text of %d lines", err, lines)
			}
		}
		if n > lines {
			t.Fatalf("%d intervals and errors in %d lines", n, lines)
		}
	})
}

// FuzzPercentiles checks that no distribution does any harm, and that what can be read survives
// being written.
func FuzzPercentiles(f *testing.F) {
	var text strings.Builder
	if err := WritePercentiles(&text, snapshotOf(f, values(100)), 5, 1); err != nil {
		f.Fatal(err)
	}
	f.Add(text.String(), 1.0)
	f.Add("0 0 700000000000000000\n5 1 700000000000000001", 1.0)
	f.Add("Value Percentile TotalCount 1/(1-Percentile)\n\n1.5 0.5 1 2\n9e15 1.0 18\n#[Buckets = 26, SubBuckets = 16]", 1e6)
	f.Fuzz(func(t *testing.T, text string, scale float64) {
		s, err := ReadPercentiles(strings.NewReader(text), scale)
		if err != nil {
			return
		}
		var again strings.Builder
		err = WritePercentiles(&again, s, 1, 1)
		if errors.Is(err, ErrValue) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		back, err := ReadPercentiles(strings.NewReader(again.String()), 1)
		if err != nil || back.Count() != s.Count() {
			t.Fatalf("read again: %v; %d values of %d", err, back.Count(), s.Count())
		}
	})
}
