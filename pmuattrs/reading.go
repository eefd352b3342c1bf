package pmuattrs

import (
	"fmt"
	"math"
	"time"

	"github.com/otelprof/otelprof/internal/perf"
)

// A Reading is what counters showed at one moment. It is of use only together with another
// one of the same counters, see [Reading.Since]. It has no pointers and can be kept anywhere,
// about 120 bytes.
type Reading struct {
	values perf.Values
	of     identity
}

// identity is the counters that a reading is of; the zero identity is none.
type identity struct {
	opened uint64 // the number of the group
	thread int32  // the thread, if there is no group
	set    uint32
}

// maxRate is more than what any CPU counts, in events per nanosecond of running: 1e11 a second.
const maxRate = 100

// Since returns what was counted after earlier. It does not guess: if anything speaks against the
// numbers there are none, and the error has the reason: the readings are not of the same counters
// of the same thread, a count has gone down, or up faster than any CPU, or, by [ErrMultiplexed],
// others had the counters meanwhile. About 20 ns; allocates nothing unless it fails.
func (r Reading) Since(earlier Reading) (Deltas, error) {
	if r.of != earlier.of || r.of == (identity{}) {
		return Deltas{}, fmt.Errorf("pmuattrs: %w", errUnrelated)
	}
	set := setOf(r.of.set)
	enabled, running := int64(r.values.Enabled-earlier.values.Enabled), int64(r.values.Running-earlier.values.Running)
	switch {
	case enabled < 0 || running < 0:
		return Deltas{}, fmt.Errorf("pmuattrs: time %d ns, of it with counters %d ns: %w", enabled, running, errImplausible)
	case running < enabled:
		return Deltas{}, fmt.Errorf("pmuattrs: %d of %d ns with counters: %w", running, enabled, ErrMultiplexed)
	}
	// Times that are not exact are too short to judge by. What is left to find then are
	// counts whose width was mistaken, of which the narrowest that is common has 48 bits.
	most := int64(1) << 47
	if r.values.Exact && running < math.MaxInt64/maxRate {
		most = maxRate * running
	}
	d := Deltas{Enabled: time.Duration(enabled), Running: time.Duration(running), set: set}
	for i, e := range set.events {
		n := int64(r.values.Counts[i] - earlier.values.Counts[i])
		if n < 0 || n > most {
			return Deltas{}, fmt.Errorf("pmuattrs: %s %+d in %d ns: %w", e, n, running, errImplausible)
		}
		d.counts[i] = n
	}
	return d, nil
}
