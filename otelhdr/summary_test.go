package otelhdr

import (
	"flag"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// beforeAndAfter returns the summaries of two distributions around 20,000, of which the first has
// values out of range.
func beforeAndAfter(t *testing.T) (before, after *Summary) {
	t.Helper()
	r := newRand()
	h := mustNew(t, WithRelativeError(0.01), WithRange(10_000, 30_000))
	for range 100_000 {
		h.Record(20_000 + uint64(500*r.Float64()+5000*math.Pow(r.Float64(), 2)))
	}
	h.Record(40_000)
	h.RecordN(5, 2)
	before = h.Summary(nil)
	h.Reset()
	for range 200_000 {
		h.Record(19_000 + uint64(250*r.Float64()+10_000*math.Pow(r.Float64(), 3)))
	}
	return before, h.Summary(nil)
}

func TestSummaryGolden(t *testing.T) {
	before, after := beforeAndAfter(t)
	checkGolden(t, "summary.md", before.Markdown("Before")+"\n"+after.Markdown(""))
	checkGolden(t, "diff.md", Diff{before, after}.Markdown("Cache switched on", "Before", "After"))
	checkGolden(t, "line.txt", string(before.AppendLine(nil, "checkout"))+"\n"+after.String()+"\n")
}

// TestSummaryMatchesSnapshot compares the one pass of Summary with what the snapshot says
// otherwise.
func TestSummaryMatchesSnapshot(t *testing.T) {
	for name, draw := range distributions() {
		for _, opts := range [][]Option{nil, {WithRelativeError(0.05)}, {WithRange(12_345, 1<<33)}, {WithEquivalent(EquivalentHigh)}} {
			h := mustNew(t, opts...)
			r := newRand()
			for range 5000 {
				h.Record(draw(r))
			}
			s := h.Snapshot(nil)
			m := s.Summary(nil)
			if m.Count != s.Count() || m.Underflow != s.Underflow() || m.Overflow != s.Overflow() || m.Min != s.Min() ||
				m.Max != s.Max() || m.Mean != s.Mean() || m.RelativeError != s.RelativeError() {
				t.Errorf("%s: Summary = %+v, want the figures of its snapshot", name, m)
			}
			if math.Abs(m.StdDev-s.StdDev()) > 1e-9*s.StdDev() {
				t.Errorf("%s: StdDev = %v, want %v", name, m.StdDev, s.StdDev())
			}
			ranks := make([]float64, len(m.Percentiles))
			got := make([]uint64, len(ranks))
			for i, p := range m.Percentiles {
				ranks[i], got[i] = p.Percent, p.Value
			}
			if want := s.Percentiles(ranks, nil); !slices.Equal(got, want) {
				t.Errorf("%s: percentiles = %v, want %v", name, got, want)
			}
			if diff := cmp.Diff(s.LocateAll(ranks, nil), m.Percentiles[:]); diff != "" {
				t.Errorf("%s: percentiles (-LocateAll +Summary):\n%s", name, diff)
			}
		}
	}
}

// TestStdDev compares the algebra over chunks with the definition.
func TestStdDev(t *testing.T) {
	for name, draw := range distributions() {
		for _, opts := range [][]Option{nil, {WithRelativeError(0.05)}, {WithRelativeError(0.0001)}, {WithRange(12_345, 1<<33)}} {
			h := mustNew(t, opts...)
			r := newRand()
			for range 5000 {
				h.RecordN(draw(r), 1+r.Uint64N(3))
			}
			h.RecordN(draw(r), 1<<50) // beyond momentsLimit
			s := h.Snapshot(nil)
			mean, squares := s.Mean(), 0.0
			for v, n := range s.values {
				d := float64(v) - mean
				squares += d * d * float64(n)
			}
			want := math.Sqrt(squares / float64(s.Count()))
			if got := s.StdDev(); math.Abs(got-want) > 1e-9*want+1e-12*mean {
				t.Errorf("%s: StdDev() = %v, want %v", name, got, want)
			}
		}
	}
}

func TestMoments(t *testing.T) {
	r := newRand()
	for range 100 {
		c := new(chunk)
		var n, first, second uint64
		for j := range c {
			if r.IntN(2) == 0 {
				c[j] = r.Uint64N(1 << 38)
			}
			n, first, second = n+c[j], first+c[j]*uint64(j), second+c[j]*uint64(j)*uint64(j)
		}
		if a, b, d := c.moments(); a != n || b != first || d != second || c.total() != n {
			t.Errorf("moments() = %d, %d, %d, total() = %d, want %d, %d, %d, %d", a, b, d, c.total(), n, first, second, n)
		}
	}
}

func TestSummaryRanks(t *testing.T) {
	r := newRand()
	counts := []uint64{1, 2, 3, 999, 1000, 100_000, 1_000_000, 1<<53 + 1, math.MaxUint64 - 1, math.MaxUint64}
	for range 500 {
		counts = append(counts, max(anyWidth(r), 1))
	}
	for _, count := range counts {
		for _, thousandths := range summaryRanks {
			// ceil(count × thousandths / 100000), at least 1
			want := new(big.Int).SetUint64(count)
			want.Mul(want, new(big.Int).SetUint64(thousandths)).Add(want, big.NewInt(99_999)).Div(want, big.NewInt(100_000))
			if got := rankOf(thousandths, count); got != max(want.Uint64(), 1) {
				t.Errorf("rankOf(%d, %d) = %d, want %d", thousandths, count, got, max(want.Uint64(), 1))
			}
		}
	}
}

func TestSummaryReuse(t *testing.T) {
	forEachKind(t, func(t *testing.T, create func(...Option) recorder) {
		h := create()
		for _, v := range latencies(1000) {
			h.Record(v)
		}
		type summer interface{ Summary(*Summary) *Summary }
		m := h.(summer).Summary(nil)
		line := make([]byte, 0, 256)
		if n := testing.AllocsPerRun(20, func() {
			h.Record(7)
			if h.(summer).Summary(m) != m {
				t.Fatal("Summary(dst) returned another summary")
			}
			line = m.AppendLine(line[:0], "name")
		}); n != 0 {
			t.Errorf("Summary and AppendLine allocate %v times, want 0", n)
		}
		if want := h.Snapshot(nil).Summary(nil); m.Count != want.Count || m.Percentiles != want.Percentiles {
			t.Errorf("a summary used again = %v, want %v", m, want)
		}
		h.Reset()
		if h.(summer).Summary(m); m.Count != 0 || m.StdDev != 0 || m.Percentiles[15] != (Percentile{Percent: 100}) {
			t.Errorf("of an empty histogram: %+v", m)
		}
	})
}

func TestSummaryPercentile(t *testing.T) {
	h := mustNew(t)
	h.Record(42)
	m := h.Summary(nil)
	if p, ok := m.Percentile(99.9); !ok || p.Value != 42 || p.Percent != 99.9 {
		t.Errorf("Percentile(99.9) = %v, %v, want 42, true", p, ok)
	}
	if p, ok := m.Percentile(98); ok || p != (Percentile{}) {
		t.Errorf("Percentile(98) = %v, %v, want none", p, ok)
	}
}

func TestDiffD(t *testing.T) {
	for _, tt := range []struct {
		name string
		a, b Summary
		want float64
	}{
		{"pooled", Summary{Count: 1000, Mean: 17_179_303.94, StdDev: 1_241_956.59}, Summary{Count: 1000, Mean: 8_927_461.38, StdDev: 438_585.23}, -8.86},
		{"weighted", Summary{Count: 1_000_000, Mean: 21_696.54, StdDev: 1_482.39}, Summary{Count: 2_000_000, Mean: 21_518.53, StdDev: 2_822.16}, -0.07},
		{"equal", Summary{Count: 5, Mean: 3}, Summary{Count: 5, Mean: 3}, 0},
		{"constants", Summary{Count: 5, Mean: 3}, Summary{Count: 5, Mean: 4}, math.Inf(1)},
		{"one side", Summary{Count: 5, Mean: 3}, Summary{}, math.NaN()},
		{"one each", Summary{Count: 1, Mean: 3}, Summary{Count: 1, Mean: 4}, math.NaN()},
	} {
		got := Diff{&tt.a, &tt.b}.D()
		if math.IsNaN(got) != math.IsNaN(tt.want) || math.Round(100*got)/100 != tt.want && !math.IsNaN(tt.want) {
			t.Errorf("%s: D() = %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestDiffChange(t *testing.T) {
	for _, tt := range []struct {
		x, y float64
		want string
	}{
		{0, 0, "0.0%"}, {0, 1, "n/a"}, {100, 101.5, "+1.5%"}, {100, 50, "-50.0%"}, {100, 100.01, "0.0%"}, {100, 99.99, "0.0%"}, {5, 0, "-100.0%"},
	} {
		if got := changeText(tt.x, tt.y); got != tt.want {
			t.Errorf("changeText(%v, %v) = %q, want %q", tt.x, tt.y, got, tt.want)
		}
	}
	empty := new(Summary)
	if got := (Diff{empty, empty}).Markdown("", "a", "b"); !strings.Contains(got, "|  n/a |") {
		t.Errorf("the D-value of nothing is not n/a:\n%s", got)
	}
}

func BenchmarkSummary(b *testing.B) {
	h := mustNew(b)
	r := newRand()
	for range 1_000_000 {
		h.Record(uint64(math.Pow(r.Float64(), 3) * 7_716_549_600))
	}
	s := h.Snapshot(nil)
	m := s.Summary(nil)
	b.ReportAllocs()
	for b.Loop() {
		s.Summary(m)
	}
}
