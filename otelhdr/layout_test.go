package otelhdr

import (
	"fmt"
	"math"
	"os/exec"
	"regexp"
	"testing"

	"github.com/otelprof/otelprof/internal/testutil"
)

func TestLayoutScale(t *testing.T) {
	for _, tt := range []struct {
		relativeError float64
		want          uint
	}{
		{0.1, 3},
		{0.0625, 3},
		{0.05, 4},
		{0.01, 6},
		{0.5 / 512, 9},
		{0.001, 9},
		{0.00099, 9},
		{0.000976, 10},
		{0.0001, 13},
		{1e-6, 19},
	} {
		l := newLayout(tt.relativeError, 0, math.MaxUint64)
		if l.scale != tt.want {
			t.Errorf("newLayout(%g).scale = %d, want %d", tt.relativeError, l.scale, tt.want)
		}
		if got := l.relativeError(); got > tt.relativeError {
			t.Errorf("newLayout(%g).relativeError() = %g, want no more than asked for", tt.relativeError, got)
		}
		if want := (65 - uint64(tt.want)) << tt.want; l.size != want || l.first != 0 {
			t.Errorf("newLayout(%g) stores [%d, +%d), want [0, +%d)", tt.relativeError, l.first, l.size, want)
		}
	}
}

func TestLayoutIndex(t *testing.T) {
	// Blocks of 8: 0-7 and 8-15 one by one, 16-31 by twos, 32-63 by fours.
	l := newLayout(0.1, 0, math.MaxUint64)
	for _, tt := range []struct{ v, index, low, mid, high uint64 }{
		{0, 0, 0, 0, 0},
		{7, 7, 7, 7, 7},
		{8, 8, 8, 8, 8},
		{15, 15, 15, 15, 15},
		{16, 16, 16, 17, 17},
		{17, 16, 16, 17, 17},
		{31, 23, 30, 31, 31},
		{32, 24, 32, 34, 35},
		{63, 31, 60, 62, 63},
		{1 << 63, 488, 1 << 63, 1<<63 + 1<<59, 1<<63 + 1<<60 - 1},
		{math.MaxUint64, 495, 15 << 60, 15<<60 + 1<<59, math.MaxUint64},
	} {
		i := l.index(tt.v)
		b := Bucket{Low: l.low(i), High: l.high(i)}
		if i != tt.index || b.Low != tt.low || b.Mid() != tt.mid || b.High != tt.high {
			t.Errorf("bucket of %d = #%d [%d, %d, %d], want #%d [%d, %d, %d]",
				tt.v, i, b.Low, b.Mid(), b.High, tt.index, tt.low, tt.mid, tt.high)
		}
	}
}

// checkBucket checks everything that the bucket at an index promises.
func checkBucket(t *testing.T, l *layout, i uint64) {
	t.Helper()
	low, high := l.low(i), l.high(i)
	b := Bucket{Low: low, High: high}
	if l.index(low) != i || l.index(high) != i || l.index(b.Mid()) != i || l.mid(i) != b.Mid() {
		t.Fatalf("scale %d: bucket %d [%d, %d, %d] has indexes [%d, %d, %d]",
			l.scale, i, low, b.Mid(), high, l.index(low), l.index(b.Mid()), l.index(high))
	}
	if low > 0 && l.index(low-1) != i-1 {
		t.Fatalf("scale %d: index(%d) = %d, want %d", l.scale, low-1, l.index(low-1), i-1)
	}
	if high < math.MaxUint64 && l.index(high+1) != i+1 {
		t.Fatalf("scale %d: index(%d) = %d, want %d", l.scale, high+1, l.index(high+1), i+1)
	}
	for _, v := range []uint64{low, high} {
		if !within(b.Mid(), v, l.relativeError()) {
			t.Fatalf("scale %d: %d stands for %d, off by more than %g", l.scale, b.Mid(), v, l.relativeError())
		}
	}
}

// TestLayoutProperties checks that the buckets of every scale cover uint64 without gap or overlap,
// in order, and keep the relative error: all buckets where they are few, both ends of every block
// and random ones elsewhere.
func TestLayoutProperties(t *testing.T) {
	r := newRand()
	for scale := uint(3); scale <= 19; scale++ {
		l := newLayout(0.5/float64(uint64(1)<<scale), 0, math.MaxUint64)
		if l.scale != scale {
			t.Fatalf("scale = %d, want %d", l.scale, scale)
		}
		if scale <= 10 {
			for i := range l.size {
				checkBucket(t, &l, i)
			}
		}
		for block := range l.size >> scale {
			checkBucket(t, &l, block<<scale)
			checkBucket(t, &l, block<<scale+1)
			checkBucket(t, &l, (block+1)<<scale-1)
		}
		for range 2000 {
			v := anyWidth(r)
			i := l.index(v)
			if v < l.low(i) || v > l.high(i) {
				t.Fatalf("scale %d: %d is in bucket %d, [%d, %d]", scale, v, i, l.low(i), l.high(i))
			}
			if w := anyWidth(r); (v < w && i > l.index(w)) || (v > w && i < l.index(w)) {
				t.Fatalf("scale %d: the indexes of %d and %d are out of order", scale, v, w)
			}
			checkBucket(t, &l, i)
		}
	}
}

func TestLayoutBounds(t *testing.T) {
	for _, tt := range []struct{ lowest, highest, wantLowest, wantHighest uint64 }{
		{0, math.MaxUint64, 0, math.MaxUint64},
		{0, 0, 0, 0},
		{10, 12, 10, 12},
		{33, 33, 32, 35},
		{100, 1000, 96, 1023},
		{math.MaxUint64, math.MaxUint64, 15 << 60, math.MaxUint64},
	} {
		l := newLayout(0.1, tt.lowest, tt.highest)
		lowest, highest := l.bounds()
		if lowest != tt.wantLowest || highest != tt.wantHighest {
			t.Errorf("range [%d, %d] is widened to [%d, %d], want [%d, %d]",
				tt.lowest, tt.highest, lowest, highest, tt.wantLowest, tt.wantHighest)
		}
	}
}

// TestRecordInlines holds the compiler to what the speed of Record rests on.
func TestRecordInlines(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the compiler")
	}
	if _, err := exec.LookPath("go"); err != nil {
		testutil.Lacks(t, "GO", fmt.Sprint("needs the go command: ", err))
	}
	out, err := exec.Command("go", "build", "-gcflags=-m", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, want := range []string{
		`can inline \(\*layout\)\.index`,
		`can inline \(\*stripeSet\)\.pick`,
		`can inline \(\*Concurrent\)\.Record\b`,
		`recorder\.go:\d+:\d+: inlining call to \(\*layout\)\.index`,
		`histogram\.go:\d+:\d+: inlining call to \(\*layout\)\.index`,
		`concurrent\.go:\d+:\d+: inlining call to \(\*layout\)\.index`,
		`concurrent\.go:\d+:\d+: inlining call to \(\*stripeSet\)\.pick`,
		`concurrent\.go:\d+:\d+: inlining call to page\.place`,
		`concurrent\.go:\d+:\d+: inlining call to page\.most`,
	} {
		if !regexp.MustCompile(want).Match(out) {
			t.Errorf("the compiler no longer says %q", want)
		}
	}
	// What lies on the way of a record, that is not of the OpenTelemetry instruments.
	core := regexp.MustCompile(`(?m)^\./(concurrent|histogram|layout|own|page|recorder|scope|solo|stripe|stripes)\w*\.go.*moved to heap.*$`)
	if heap := core.Find(out); heap != nil {
		t.Errorf("a local variable escapes: %s", heap)
	}
}

// FuzzLayout checks the bucket of any value under any layout: it holds the value, its bounds and
// middle lead back to it, and the one after it begins where it ends.
func FuzzLayout(f *testing.F) {
	f.Add(uint64(0), uint8(0))
	f.Add(uint64(math.MaxUint64), uint8(16))
	f.Add(uint64(1<<20-1), uint8(6))
	f.Fuzz(func(t *testing.T, v uint64, scale uint8) {
		l := newLayout(0.5/float64(uint64(1)<<(3+scale%17)), 0, math.MaxUint64)
		i := l.index(v)
		low, mid, high := l.low(i), l.mid(i), l.high(i)
		if low > v || v > high || mid < low || mid > high {
			t.Fatalf("scale %d: %d is in bucket [%d, %d, %d]", l.scale, v, low, mid, high)
		}
		if l.index(low) != i || l.index(mid) != i || l.index(high) != i {
			t.Fatalf("scale %d: bucket %d, [%d, %d, %d], has indexes %d, %d, %d", l.scale, i, low, mid, high, l.index(low), l.index(mid), l.index(high))
		}
		if high != math.MaxUint64 && l.low(i+1) != high+1 {
			t.Fatalf("scale %d: bucket %d begins at %d, want %d", l.scale, i+1, l.low(i+1), high+1)
		}
		if !within(mid, v, l.relativeError()) {
			t.Fatalf("scale %d: %d stands for %d, off by more than %g", l.scale, mid, v, l.relativeError())
		}
	})
}
