package saved

import (
	"cmp"
	"maps"
	"slices"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/pmuattrs"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/stacks"
)

// Data is what files hold together. It does not change, and any goroutine may read it.
type Data struct {
	// Files are the reports about the files that were read, in their order.
	Files []FileReport
	// Services are the services seen, by name.
	Services []string
	// Regions are ordered by self time, the longest first.
	Regions []spans.RegionStats
	// RelativeError bounds the error of the percentiles of Regions.
	RelativeError float64
	// Store has the sessions. It takes no others.
	Store spans.Store
	// Sessions is how many there are.
	Sessions int
	// Dropped counts what is missing: under StoreError the sessions that there was no room for,
	// under SessionFull the spans of sessions that were too long, under RegionsFull the spans of
	// too many regions. They are exact, but for sessions whose spans are scattered over files.
	Dropped spans.Dropped
	// Alone is the number of spans that came after their session had gone, or was full. Their self
	// time is taken to be that part of their time which it is of the others in their region, and
	// nothing where there are no others.
	Alone uint64
	// Counters are what was counted in the regions.
	Counters []pmuattrs.RegionCounters
	// Profile is the causal profile, merged if there are several; nil if there is none.
	Profile *profile.Profile
	// Stacks are the call stacks, merged if there are several profiles; nil if there are none.
	Stacks *stacks.Recording
}

// Data returns what all files hold. The Reader is used up.
func (r *Reader) Data() *Data {
	records := r.sessions.records()
	d := &Data{
		Files:    r.files,
		Services: slices.Sorted(maps.Keys(r.services)),
		Store:    newStore(records),
		Sessions: len(records),
		Dropped:  r.sessions.dropped,
		Stacks:   mergeRecordings(r.recordings),
	}
	all := r.regions.stats()
	d.Dropped.RegionsFull, d.Alone = r.regions.overflow, r.regions.alone
	several := len(d.Services) > 1
	measured, counters, err := r.metrics.byRegion()
	if err != nil {
		d.Files = append(d.Files, FileReport{File: "metrics", Problems: []*Problem{{File: "metrics", Err: err}}, Damaged: 1})
	}
	d.Counters = counters.regions(several)
	for key, m := range measured {
		stats, ok := m.stats(key)
		// Metrics count what the sampler left out, and files of them may begin later.
		if known := all[key]; ok && stats.Count >= known.Count {
			stats.Kind = known.Kind
			all[key] = stats
			d.RelativeError = max(d.RelativeError, stats.Durations.Resolution()+liveError+pointError(r.metrics.coarsest))
		}
	}
	for key, stats := range r.logs.stats() {
		all[key] = stats
		d.RelativeError = max(d.RelativeError, r.logs.err)
	}
	d.Regions = ordered(all, several)
	for i := range d.Regions {
		d.RelativeError = max(d.RelativeError, d.Regions[i].Durations.RelativeError())
	}
	if len(r.profiles) > 0 {
		p := profile.Merge(r.profiles...)
		d.Profile = &p
	}
	return d
}

// mergeRecordings puts profiles of several times or processes together: regions of one scope and
// name have one tree.
func mergeRecordings(all []*stacks.Recording) *stacks.Recording {
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	sum := &stacks.Recording{Start: all[0].Start, Hz: all[0].Hz, Origin: all[0].Origin}
	type place struct{ scope, name string }
	trees := map[place]int{}
	for _, r := range all {
		if r.Start.Before(sum.Start) {
			sum.Start = r.Start
		}
		sum.Duration += r.Duration
		sum.CPU += r.CPU
		sum.Lost += r.Lost
		if r.Origin != sum.Origin {
			sum.Origin = stacks.Origin{} // several processes
		}
		for _, region := range r.Regions {
			at := place{region.Scope.Name, region.Name}
			i, ok := trees[at]
			if !ok {
				i = len(sum.Regions)
				trees[at] = i
				region.Tree = region.Tree.Clone()
				if region.Number != 0 {
					region.Number = i + 1
				}
				sum.Regions = append(sum.Regions, region)
				continue
			}
			sum.Regions[i].Tree.Merge(region.Tree)
		}
	}
	slices.SortStableFunc(sum.Regions, func(a, b stacks.RegionTree) int {
		return cmp.Compare(b.Tree.Total().Nanos, a.Tree.Total().Nanos)
	})
	return sum
}
