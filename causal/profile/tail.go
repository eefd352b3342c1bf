package profile

import (
	"cmp"
	"slices"
	"time"
)

// A Tail is how the slowest requests of a region differ from the others, in the last recordings. A
// request is a span without a local parent.
type Tail struct {
	Region   Region `json:"region"`
	Requests int    `json:"requests"`
	// Slowest is how many are the slowest: one in a hundred, five at least, and fewer where a
	// recording had more of them than it keeps. From is the shortest of them, Slow their mean, and
	// Typical that of the others.
	Slowest int           `json:"slowest"`
	From    time.Duration `json:"from_ns"`
	Slow    time.Duration `json:"slow_ns"`
	Typical time.Duration `json:"typical_ns"`
	// Parts are what the goroutine that serves the request did, the largest difference first, 12 at
	// most. All parts of a request add up to its duration.
	Parts []TailPart `json:"parts"`
	// Examples are the IDs of the spans of the slowest.
	Examples []string `json:"examples,omitempty"`
}

// A TailPart is the mean time that requests took for one thing: a wait, as in [Wait], or "running",
// or "garbage collection" for the collector's work, and for a processor that was missing meanwhile.
type TailPart struct {
	Kind    string        `json:"kind"`
	In      Region        `json:"in"`
	Where   string        `json:"where,omitempty"`
	By      Region        `json:"by,omitzero"`
	ByWhere string        `json:"by_where,omitempty"`
	Slow    time.Duration `json:"slow_ns"`
	Typical time.Duration `json:"typical_ns"`
}

// mergeTails takes for each region the tail of the most requests: the slowest of several are not
// known from their means.
func mergeTails(profiles []Profile) (all []Tail) {
	tails := allOf(profiles, func(p Profile) []Tail { return p.Tails })
	for _, same := range grouped(tails, func(t Tail) Region { return t.Region }) {
		all = append(all, slices.MaxFunc(same, func(a, b Tail) int { return cmp.Compare(a.Requests, b.Requests) }))
	}
	slices.SortStableFunc(all, func(a, b Tail) int {
		return cmp.Compare(time.Duration(b.Requests)*b.Typical, time.Duration(a.Requests)*a.Typical)
	})
	return all
}
