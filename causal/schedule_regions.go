package causal

import (
	"cmp"
	"slices"
	"time"

	"github.com/otelprof/otelprof/causal/internal/design"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/glob"
)

// A candidate is a region that has been seen.
type candidate struct {
	key  profile.Region
	self time.Duration // time in which no child was open
	root bool          // it has been a local root
}

// pickRegions returns the regions that a plan selects among those seen, at most MaxRegions, in
// the order of self time: those that match a pattern and, of a pattern with auto, as many
// more of its scope with the most self time. No root is taken automatically: all work is in it,
// so that speeding it up helps by definition.
func pickRegions(patterns []plan.RegionPattern, seen []candidate) []profile.Region {
	ranked := slices.Clone(seen)
	slices.SortStableFunc(ranked, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.self, a.self), cmp.Compare(a.key.Name, b.key.Name), cmp.Compare(a.key.Scope, b.key.Scope))
	})
	picked := map[profile.Region]bool{}
	for _, c := range ranked {
		if slices.ContainsFunc(patterns, func(p plan.RegionPattern) bool { return p.Match(c.key.Scope, c.key.Name) }) {
			picked[c.key] = true
		}
	}
	for _, p := range patterns {
		left := p.Auto
		for _, c := range ranked {
			if left > 0 && c.self > 0 && !c.root && !picked[c.key] && (p.Scope == "" || glob.Match(p.Scope, c.key.Scope)) {
				picked[c.key] = true
				left--
			}
		}
	}
	var keys []profile.Region
	for _, c := range ranked {
		if picked[c.key] && len(keys) < design.MaxRegions {
			picked[c.key] = false // the same key twice
			keys = append(keys, c.key)
		}
	}
	return keys
}
