package profile

import (
	"cmp"
	"slices"
	"time"
)

// RegionWaits are what the spans of one region waited for in the last recordings, those below them
// included, and who ended each wait. Waits at the same time add up to more than Time.
type RegionWaits struct {
	Region Region `json:"region"`
	// Spans is the number of spans, and Time how long they took within the recordings.
	Spans int           `json:"spans"`
	Time  time.Duration `json:"time_ns"`
	// Waits are sums of those that are alike, the longest first, 40 at most.
	Waits []Wait `json:"waits"`
}

// A Wait is a sum of waits that are alike.
type Wait struct {
	// Kind is what was waited for: "lock", "wait group", "condition", "channel send",
	// "channel receive", "select", "network", "sleep", "system call", "processor",
	// "garbage collection", "runtime" or "other".
	Kind string `json:"kind"`
	// In is the region of the spans that waited, and Where the place in the program, as
	// function:line, "" where that is not known.
	In    Region `json:"in"`
	Where string `json:"where,omitempty"`
	// By is the region of the spans that ended the waits, or held a lock for most of them, and
	// ByWhere the place at which they did. Both are zero for what comes from outside of the
	// program.
	By      Region `json:"by,omitzero"`
	ByWhere string `json:"by_where,omitempty"`
	// Count is the number of waits, Total how long they were together.
	Count   int           `json:"count"`
	Total   time.Duration `json:"total_ns"`
	Longest time.Duration `json:"longest_ns"`
}

// mostWaits is how many rows a region has.
const mostWaits = 40

// like is what waits have in common that are summed up.
func (w Wait) like() Wait {
	w.Count, w.Total, w.Longest = 0, 0, 0
	return w
}

// MergeWaits sums the waits of several recordings up.
func MergeWaits(all ...[]RegionWaits) (merged []RegionWaits) {
	for _, same := range grouped(slices.Concat(all...), func(r RegionWaits) Region { return r.Region }) {
		sum := RegionWaits{Region: same[0].Region}
		var waits []Wait
		for _, r := range same {
			sum.Spans += r.Spans
			sum.Time += r.Time
			waits = append(waits, r.Waits...)
		}
		for _, alike := range grouped(waits, Wait.like) {
			row := alike[0].like()
			for _, w := range alike {
				row.Count += w.Count
				row.Total += w.Total
				row.Longest = max(row.Longest, w.Longest)
			}
			sum.Waits = append(sum.Waits, row)
		}
		slices.SortFunc(sum.Waits, compareWaits)
		sum.Waits = sum.Waits[:min(len(sum.Waits), mostWaits)]
		merged = append(merged, sum)
	}
	slices.SortFunc(merged, func(a, b RegionWaits) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Region.Scope, b.Region.Scope), cmp.Compare(a.Region.Name, b.Region.Name))
	})
	return merged
}

// compareWaits has the longest first, and others in an order that is the same each time.
func compareWaits(a, b Wait) int {
	return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Where, b.Where),
		cmp.Compare(a.In.Name, b.In.Name), cmp.Compare(a.By.Name, b.By.Name), cmp.Compare(a.ByWhere, b.ByWhere), cmp.Compare(a.In.Scope, b.In.Scope), cmp.Compare(a.By.Scope, b.By.Scope))
}
