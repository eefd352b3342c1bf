package engine

import (
	"maps"
	"slices"
	"sync/atomic"

	"github.com/otelprof/otelprof/causal/internal/design"
	"github.com/otelprof/otelprof/causal/internal/engine/classes"
	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/glob"
	"github.com/otelprof/otelprof/internal/registry"
	"github.com/otelprof/otelprof/spans"
)

// A Verdict is what the plan has for a region.
type Verdict struct {
	Region   int   // index in Run.Regions, or NoRegion
	Progress []int // progress points that an end of it visits
	paths    []int // the number of its path to each of them
	Exempt   bool
}

// verdicts remember what the plan has for regions, MostVerdicts at most, so that patterns are not
// matched at each end. Each region has two places, which it may share with others: where both are
// taken, it takes the second one over. So any number of names takes 1 MiB, no lock, and at most
// what matching the patterns takes.
type verdicts [MostVerdicts]atomic.Pointer[judged]

// MostVerdicts is a power of two.
const MostVerdicts = 8192

type judged struct {
	names names
	Verdict
}

// names are those that a span is known by: the one that it was started with, and the last one. They
// are the same for most.
type names struct{ scope, first, last string }

func (n names) hash() uint64 {
	return registry.Mix(registry.String(n.last), registry.Mix(registry.String(n.first), registry.String(n.scope)))
}

// namesOf returns the names of a span. Of one that is open, the last is the one that all have ended
// with so far which were started alike; if that is not known, final is false.
func namesOf(r *spans.Span) (n names, final bool) {
	n = names{r.Scope().Name, r.StartName(), r.Name()}
	if n.first != n.last || r.Ended() {
		return n, true
	}
	last := classes.Of(r).Foreseen()
	if last == nil {
		return n, false
	}
	if last.ID != ledger.NoRegion {
		n.last = last.Key.Name
	}
	return n, true
}

// Verdict looks up what the plan has for a region, or decides it. It is known by both of its
// names.
func (run *Run) Verdict(r *spans.Span) Verdict {
	key, final := namesOf(r)
	if !final {
		return run.judge(key, false)
	}
	all := run.Verdicts.Load() // before the regions are looked at, see pickOnce
	hash := key.hash()
	first, second := &all[hash%MostVerdicts], &all[(hash>>32)%MostVerdicts]
	place := first
	if j := first.Load(); j != nil {
		if j.names == key {
			return j.Verdict
		}
		if j = second.Load(); j != nil && j.names == key {
			return j.Verdict
		}
		place = second
	}
	j := &judged{key, run.judge(key, true)}
	place.Store(j)
	return j.Verdict
}

// judge decides what the plan has for a region, which gets a number if it is to be examined, unless
// it may yet turn out to be another one. Where a pattern matches both of its names, it is meant by
// the last.
func (run *Run) judge(n names, final bool) Verdict {
	v := Verdict{Region: NoRegion}
	matches := func(pattern string) bool {
		return glob.Match(pattern, n.last) || n.first != n.last && glob.Match(pattern, n.first)
	}
	for i := range run.Plan.Progress {
		if matches(run.Plan.Progress[i].Span) {
			v.Progress = append(v.Progress, i)
			v.paths = append(v.paths, run.pathTo(i, n, final))
		}
	}
	v.Exempt = slices.ContainsFunc(run.exempt, matches)
	for _, key := range []profile.Region{{Scope: n.scope, Name: n.last}, {Scope: n.scope, Name: n.first}} {
		selected := slices.ContainsFunc(run.Plan.Regions, func(p plan.RegionPattern) bool { return p.Match(key.Scope, key.Name) })
		if i, ok := (*run.numbers.Load())[key]; ok { // also if it was picked
			v.Region = i
		} else if selected && final {
			v.Region = run.Number(key)
		}
		if v.Region != NoRegion {
			break
		}
	}
	return v
}

// pathTo returns the number of the path on which ends of spans with these names come to a progress
// point.
func (run *Run) pathTo(point int, n names, final bool) int {
	if !final {
		return 0 // it does not end
	}
	run.mu.Lock()
	defer run.mu.Unlock()
	return run.paths[point].Number(n.scope + "\x00" + n.first + "\x00" + n.last)
}

// Number returns the number of a region that a pattern selects, NoRegion if there are too many.
func (run *Run) Number(key profile.Region) int {
	known := *run.numbers.Load()
	if i, ok := known[key]; ok {
		return i
	}
	if len(known) == design.MaxRegions { // for good: no lock for every further name
		return NoRegion
	}
	run.mu.Lock()
	defer run.mu.Unlock()
	return run.enroll(key)
}

// enroll gives a region the next number, if it has none and there is one. The lock is held.
func (run *Run) enroll(key profile.Region) int {
	known := *run.numbers.Load()
	if i, ok := known[key]; ok {
		return i
	}
	if len(known) == design.MaxRegions {
		return NoRegion
	}
	grown := maps.Clone(known)
	grown[key] = len(run.Regions)
	run.Regions = append(run.Regions, key)
	run.numbers.Store(&grown)
	return grown[key]
}
