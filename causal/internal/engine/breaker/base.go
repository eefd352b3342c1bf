package breaker

import (
	"math"
	"time"

	"github.com/otelprof/otelprof/otelhdr"
)

// A base is what is normal for local roots: what was seen before anything was delayed and since, in
// the arms without delay, in two generations, of which the older is forgotten when the younger is
// grown.
type base struct {
	older, younger reading
	all            reading   // both together
	since          time.Time // the younger began
	first          time.Duration
	mostFailed     float64 // the share that it may rise to

	// How much more often slow roots come together than by chance: of the seconds without delay,
	// the sums of roots, of slow ones, and of their squares for each root.
	seconds, roots, slow, squares float64
}

const (
	// generation is how long one is at least, grown of how many roots.
	generation = 5 * time.Minute
	grown      = 2000
	// mostDrift is by how much the base may rise above the first: the delays themselves could be
	// what makes the program slower, or fail, also in the arms without.
	mostDrift = 2
	// trusted is for how many seconds roots are taken for independent before it shows whether they
	// are.
	trusted = 5
)

// learn adds what was seen while nothing was delayed.
func (b *base) learn(now time.Time, r reading) {
	if r.durations.Count() == 0 {
		return
	}
	if b.younger.durations != nil && now.Sub(b.since) > generation && b.younger.durations.Count() >= grown {
		b.older, b.younger = b.younger, reading{}
	}
	if b.younger.durations == nil {
		b.younger, b.since = r, now
	} else {
		b.younger = b.younger.with(r)
	}
	if b.all = b.younger; b.older.durations != nil {
		b.all = b.older.with(b.younger)
	}
	if b.first == 0 {
		b.first = b.p99()
		b.mostFailed = max(mostDrift*b.all.failedShare(), atMost(float64(b.all.failed), float64(b.all.durations.Count())))
	}
}

func (r reading) with(other reading) reading {
	sum := new(otelhdr.Snapshot)
	for _, d := range []*otelhdr.Snapshot{r.durations, other.durations} {
		if sum.Merge(d) != nil {
			return other // of another layout, which no breaker changes
		}
	}
	return reading{durations: sum, failed: r.failed + other.failed}
}

func (b *base) p99() time.Duration {
	p99 := time.Duration(b.all.durations.Percentile(99))
	if b.first > 0 {
		p99 = min(p99, mostDrift*b.first)
	}
	return p99
}

// failedShare is that of roots that fail.
func (b *base) failedShare() float64 { return min(b.all.failedShare(), b.mostFailed) }

// saw books a second without delay in which so many of all roots were slow.
func (b *base) saw(slow, roots float64) {
	if roots > 0 {
		b.seconds++
		b.roots, b.slow, b.squares = b.roots+roots, b.slow+slow, b.squares+slow*slow/roots
	}
}

// clumping is how many roots count as one, since what is slow comes together: 1 if it does not. It
// is the dispersion of the seconds' shares about their mean (Pearson's chi-squared by its degrees
// of freedom), and not about slowShare: where all are slow, also without delay, none of that is
// chance.
func (b *base) clumping() float64 {
	if b.roots == 0 {
		return 1
	}
	mean := b.slow / b.roots
	p := max(mean, slowShare)
	if p >= 1 {
		return 1
	}
	excess := (b.squares - mean*b.slow) / (p * (1 - p))
	return math.Max(1, (trusted+excess)/(trusted+b.seconds))
}
