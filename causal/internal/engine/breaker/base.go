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

	// How much more often slow roots come together than by chance.
	seconds, excess float64
}

const (
	// generation is how long one is at least, grown of how many roots.
	generation = 5 * time.Minute
	grown      = 2000
	// mostDrift is by how much the base may rise above the first: the delays themselves could be
	// what makes the program slower, also in the arms without.
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

// saw books a second without delay in which so many of all roots were slow.
func (b *base) saw(slow, roots, share float64) {
	if variance := roots * share * (1 - share); variance > 0 {
		b.seconds++
		b.excess += (slow - roots*share) * (slow - roots*share) / variance
	}
}

// clumping is how many roots count as one, since what is slow comes together: 1 if it does not.
func (b *base) clumping() float64 {
	return math.Max(1, (trusted+b.excess)/(trusted+b.seconds))
}
