package causal

import (
	"maps"
	"slices"
	"time"
)

// pick returns the regions to examine: those seen so far that a pattern selects and, where the
// plan leaves the choice to us, those with the most self time since it began. That choice is
// made once, so that the numbers of the regions stay what they are.
func (run *run) pick() []RegionKey {
	if slices.ContainsFunc(run.plan.Regions, func(p RegionPattern) bool { return p.Auto > 0 }) {
		run.pickOnce()
	}
	return run.seen()
}

func (run *run) pickOnce() {
	run.mu.Lock()
	defer run.mu.Unlock()
	if run.picked {
		return
	}
	var candidates []candidate
	for c, now := range usages() {
		candidates = append(candidates, candidate{key: c.key, self: time.Duration(now.self - run.before[c].self), root: c.root.Load()})
	}
	known := maps.Clone(*run.verdicts.Load())
	for _, key := range pickRegions(run.plan.Regions, candidates) {
		run.picked = true
		if slices.Contains(run.regions, key) || len(run.regions) == maxRegions {
			continue
		}
		v, ok := known[key]
		if !ok {
			v = run.think(key)
		}
		v.region = len(run.regions)
		known[key] = v
		run.regions = append(run.regions, key)
	}
	run.verdicts.Store(&known)
}
