package replay

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// TestAttraction distinguishes work that goroutines begin since others are at it from work by
// chance.
func TestAttraction(t *testing.T) {
	for name, tt := range map[string]struct {
		alone, beside float64 // how often a round has the work, while no other is at it, and while one is
		want          bool
	}{
		"by chance":               {0.3, 0.3, false},
		"what others are at, too": {0.1, 0.5, true},
		"what others do already":  {0.4, 0.05, false},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			var w doubt.Occasional
			next := make([]int64, 6)
			for i := range next {
				next[i] = int64(i)
			}
			for range 3000 {
				owner := int32(0)
				for i, at := range next {
					if at < next[owner] {
						owner = int32(i)
					}
				}
				at, part := next[owner], tt.alone
				if slices.ContainsFunc(w.Occasions, func(o doubt.Occasion) bool { return o.List != owner && o.At <= at && o.Until > at }) {
					part = tt.beside
				}
				r := doubt.Round{At: at, Until: at + 3*ms + random.Int64N(2*ms), Owner: owner}
				if random.Float64() < part {
					r.Took, r.Until = 6*ms, r.Until+6*ms
					w.Occasions = append(w.Occasions, doubt.Occasion{Place: model.Place{List: owner, Op: 0}, Last: 0, At: at, Until: at + 6*ms})
				}
				w.Rounds = append(w.Rounds, r)
				next[owner] = r.Until
			}
			slices.SortStableFunc(w.Rounds, func(a, b doubt.Round) int { return cmp.Compare(a.At, b.At) })
			joining, errors := w.Attraction()
			if got := errors >= doubt.Unlikely; got != tt.want {
				t.Errorf("begun since others are at it: %t, by %.1f standard errors, want %t", got, errors, tt.want)
			}
			if tt.want && (joining < 0.3 || joining > 0.9) {
				t.Errorf("%.2f of the work is begun since others are at it, want most of it, but not all", joining)
			}
		})
	}
}

// TestStampedesWiden: faster work has at most all of those who come in less, and faster requests
// more, up to what is gained.
func TestStampedesWiden(t *testing.T) {
	load, use := trace.Region{Name: "load"}, trace.Region{Name: "use"}
	s := doubt.Stampede{Region: load, Part: 0.2}
	for _, tt := range []struct {
		changed               Speedup
		reduction, less, more float64
	}{
		{Speedup{load, 0.5}, 0, 0, 0.1},
		{Speedup{use, 0.5}, 0.5, 0.2, 0},
		{Speedup{use, 0.9}, 0.9, 0.9, 0},
		{Speedup{use, 0.1}, -0.1, 0, 0},
		{Speedup{load, -1}, -0.1, 0.4, 0}, // twice as many join, each for twice as long
	} {
		if less, more := bounds(&s, []Speedup{{use, 0}, tt.changed}, tt.reduction); less != tt.less || more != tt.more {
			t.Errorf("%s %g faster, %g: %g less and %g more, want %g and %g", tt.changed.Region, tt.changed.By, tt.reduction, less, more, tt.less, tt.more)
		}
	}
}
