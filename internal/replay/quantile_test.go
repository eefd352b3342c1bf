package replay

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

// What selection finds is what stands there in order, be there few, many that are equal, or all in
// order already.
func TestNth(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		v := make([]int64, 1+r.IntN(40))
		for i := range v {
			v[i] = r.Int64N(1 + int64(r.IntN(30)))
		}
		if r.IntN(4) == 0 {
			slices.Sort(v)
		}
		sorted := slices.Clone(v)
		slices.Sort(sorted)
		k := r.IntN(len(v))
		whole := slices.Clone(v)
		if got := trace.Nth(v, k); got != sorted[k] {
			t.Fatalf("nth(%v, %d) = %d, want %d", whole, k, got, sorted[k])
		}
		if slices.Sort(v); !slices.Equal(v, sorted) {
			t.Fatalf("nth has made %v of %v", v, whole)
		}
	}
}
