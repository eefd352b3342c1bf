package replay

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/otelprof/otelprof/internal/replay/hidden"
	"github.com/otelprof/otelprof/internal/replay/model"
)

// waits returns n handovers at random, in the order of their ends, of which many overlap, and their
// numbers.
func waits(random *rand.Rand, n int) ([]model.Handover, []int32) {
	all := make([]model.Handover, n)
	part := make([]int32, n)
	for i := range all {
		from := random.Int64N(int64(n))
		all[i] = model.Handover{From: from, At: from + 1 + random.Int64N(int64(n)), Taken: random.IntN(2) == 0}
		part[i] = int32(i)
	}
	slices.SortFunc(all, func(a, b model.Handover) int { return cmp.Compare(a.At, b.At) })
	return all, part
}

// TestInTurn holds the count against one that looks at all waits each time.
func TestInTurn(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		all, part := waits(random, 1+random.IntN(60))
		fair, judged := 0, 0
		for i, h := range all {
			same, first := 0, i
			for k, w := range all {
				if w.Taken != h.Taken || w.From >= h.At || k < i {
					continue
				}
				same++
				if w.From < all[first].From {
					first = k
				}
			}
			if same > 1 {
				judged++
				if all[first].From == h.From {
					fair++
				}
			}
		}
		gotFair, gotJudged := hidden.InTurn(all, part)
		// Of waits that began at once either may be the first.
		if gotJudged != judged || gotFair > fair || gotFair < fair-ties(all) {
			t.Fatalf("%d of %d in turn, want %d of %d: %v", gotFair, gotJudged, fair, judged, all)
		}
	}
}

func ties(all []model.Handover) (n int) {
	seen := map[int64]bool{}
	for _, h := range all {
		if seen[h.From] {
			n += 2
		}
		seen[h.From] = true
	}
	return n
}

// BenchmarkInTurn has tens of thousands wait at once.
func BenchmarkInTurn(b *testing.B) {
	all, part := waits(rand.New(rand.NewPCG(1, 2)), 50_000)
	b.ReportAllocs()
	for b.Loop() {
		hidden.InTurn(all, part)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(all)), "ns/handover")
}
