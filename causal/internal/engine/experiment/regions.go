package experiment

import (
	"cmp"
	"slices"
	"time"

	"github.com/otelprof/otelprof/causal/internal/design"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/glob"
)

// A Candidate is a region that has been seen.
type Candidate struct {
	Key  profile.Region
	Self time.Duration // time in which no child was open
	Root bool          // it has been a local root
}

// PickRegions returns the regions that a plan selects among those seen, at most MaxRegions, in
// the order of self time: those that match a pattern and, of a pattern with auto, as many
// more of its scope with the most self time. No root is taken automatically: all work is in it,
// so that speeding it up helps by definition.
func PickRegions(patterns []plan.RegionPattern, seen []Candidate) []profile.Region {
	ranked := slices.Clone(seen)
	slices.SortStableFunc(ranked, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(a.Key.Name, b.Key.Name), cmp.Compare(a.Key.Scope, b.Key.Scope))
	})
	picked := map[profile.Region]bool{}
	for _, c := range ranked {
		if slices.ContainsFunc(patterns, func(p plan.RegionPattern) bool { return p.Match(c.Key.Scope, c.Key.Name) }) {
			picked[c.Key] = true
		}
	}
	for _, p := range patterns {
		left := p.Auto
		for _, c := range ranked {
			if left > 0 && c.Self > 0 && !c.Root && !picked[c.Key] && (p.Scope == "" || glob.Match(p.Scope, c.Key.Scope)) {
				picked[c.Key] = true
				left--
			}
		}
	}
	var keys []profile.Region
	for _, c := range ranked {
		if picked[c.Key] && len(keys) < design.MaxRegions {
			picked[c.Key] = false // the same key twice
			keys = append(keys, c.Key)
		}
	}
	return keys
}
