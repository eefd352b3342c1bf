package known

import (
	"math"
	"testing"
)

// TestBranchesGoEitherWay checks the bits against a generator written down a second time.
func TestBranchesGoEitherWay(t *testing.T) {
	if BranchesInstructions == 0 {
		t.Skip("no known work for this architecture")
	}
	const n = 100_000
	for _, seed := range []uint64{1, 88172645463325252, math.MaxUint64} {
		var want uint64
		for x, i := seed, 0; i < n; i++ {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
			want += x >> 40 & 1
		}
		got := Branches(n, seed)
		if got != want {
			t.Errorf("seed %d: %d bits, want %d", seed, got, want)
		}
		if share := float64(got) / n; math.Abs(share-0.5) > 0.01 {
			t.Errorf("seed %d: the branch goes one way in %v of all rounds, want half", seed, share)
		}
	}
}

// TestWalkIsOneCycle checks that a walk comes by every line before it comes back.
func TestWalkIsOneCycle(t *testing.T) {
	const lines = 1000
	w := NewWalk(64 * lines)
	seen := map[uint32]bool{}
	for range lines {
		if w.at%lineWords != 0 || seen[w.at] {
			t.Fatalf("line %d again, or within a line, after %d of %d", w.at, len(seen), lines)
		}
		seen[w.at] = true
		w.Go(1)
	}
	if w.at != 0 {
		t.Errorf("at %d after a whole cycle, want 0", w.at)
	}
}

func BenchmarkAdds(b *testing.B) {
	for b.Loop() {
		Adds(1000)
	}
}

func BenchmarkBranches(b *testing.B) {
	for b.Loop() {
		Branches(1000, 1)
	}
}

func BenchmarkWalk(b *testing.B) {
	w := NewWalk(64 << 20)
	for b.Loop() {
		w.Go(1000)
	}
}
