package otelhdr

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A recorder is what both kinds of histogram have in common.
type recorder interface {
	Record(v uint64)
	RecordN(v, n uint64)
	Snapshot(dst *Snapshot) *Snapshot
	Reset()
	Count() uint64
	RelativeError() float64
	Range() (lowest, highest uint64)
	SizeBytes() int
}

// forEachKind runs f as a subtest for both kinds of histogram; create makes one of the kind.
func forEachKind(t *testing.T, f func(t *testing.T, create func(...Option) recorder)) {
	t.Helper()
	t.Run("Histogram", func(t *testing.T) {
		f(t, func(opts ...Option) recorder { return mustNew(t, opts...) })
	})
	t.Run("Concurrent", func(t *testing.T) {
		f(t, func(opts ...Option) recorder { return mustNewConcurrent(t, opts...) })
	})
}

func mustNew(tb testing.TB, opts ...Option) *Histogram {
	tb.Helper()
	h, err := NewHistogram(opts...)
	if err != nil {
		tb.Fatalf("NewHistogram: %v", err)
	}
	return h
}

func mustNewConcurrent(tb testing.TB, opts ...Option) *Concurrent {
	tb.Helper()
	c, err := NewConcurrent(opts...)
	if err != nil {
		tb.Fatalf("NewConcurrent: %v", err)
	}
	return c
}

func newRand() *rand.Rand { return rand.New(rand.NewPCG(3, 14159)) }

// anyWidth returns a random value whose number of bits is uniform in [0, 64].
func anyWidth(r *rand.Rand) uint64 { return r.Uint64() >> (r.Uint64() % 65) }

// latencies returns n log-normal values around 1e6, which spread over some five octaves.
func latencies(n int) []uint64 {
	r := newRand()
	values := make([]uint64, n)
	for i := range values {
		values[i] = uint64(1e6 * math.Exp(0.6*r.NormFloat64()))
	}
	return values
}

// within reports whether got differs from want by at most e × want, but for the rounding of the
// comparison itself.
func within(got, want uint64, e float64) bool {
	diff := got - want
	if got < want {
		diff = want - got
	}
	return float64(diff) <= e*float64(want)*(1+1e-12)
}
