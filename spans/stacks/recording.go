package stacks

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/otelprof/otelprof/spans"
)

// A Recording is what was sampled in some time, in this process or in another one: see
// [Profiler.Snapshot] and [Read]. It may be read by any number of goroutines.
type Recording struct {
	// Start is when sampling began, and Duration for how long samples were taken; pauses are
	// not in it.
	Start    time.Time
	Duration time.Duration
	// Hz is the rate of sampling.
	Hz int
	// CPU is the processor time of the process in that time, which the samples are scaled to; 0
	// if it is not known, in which case each sample stands for its period.
	CPU time.Duration
	// Lost is how many samples could not be kept.
	Lost int64
	// Origin is the process that was sampled.
	Origin Origin
	// Regions are ordered by their time, the longest first. One without a number has what was done
	// outside of all regions: garbage collection, for one.
	Regions []RegionTree
}

// A RegionTree is what was sampled in one region.
type RegionTree struct {
	spans.Region
	// Number is the region's label, and 0 for what has none.
	Number int
	Tree   *Tree
}

// Process returns the tree of all regions and what is outside of them.
func (r *Recording) Process() *Tree {
	t := NewTree()
	for _, region := range r.Regions {
		t.Merge(region.Tree)
	}
	return t
}

// Find returns the regions of a name, of which each scope may have one.
func (r *Recording) Find(name string) []RegionTree {
	var found []RegionTree
	for _, region := range r.Regions {
		if region.Number != 0 && region.Name == name {
			found = append(found, region)
		}
	}
	return found
}

// Tree returns the merged tree of all regions of a name, and whether there are any.
func (r *Recording) Tree(name string) (*Tree, bool) {
	t := NewTree()
	found := r.Find(name)
	for _, region := range found {
		t.Merge(region.Tree)
	}
	return t, len(found) > 0
}

// sort puts the regions in their order.
func (r *Recording) sort() {
	slices.SortFunc(r.Regions, func(a, b RegionTree) int {
		return cmp.Or(
			cmp.Compare(b.Tree.Total().Nanos, a.Tree.Total().Nanos),
			strings.Compare(a.Name, b.Name),
			strings.Compare(a.Scope.Name, b.Scope.Name),
			cmp.Compare(a.Number, b.Number),
		)
	})
}

// Snapshot returns what was sampled in the last d, in whole windows, or in all of the history if
// d is 0. It copies trees: some milliseconds, for which samples wait and the application does not.
func (p *Profiler) Snapshot(d time.Duration) *Recording {
	p.refresh()
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	windows := slices.Clone(p.history)
	if p.sampler.current != nil {
		windows = append(windows, p.sampler.current.until(now))
	}
	if d > 0 {
		windows = slices.DeleteFunc(windows, func(w *window) bool { return now.Sub(w.end) >= d })
	}
	return p.record(windows)
}

// refresh gets the latest samples, and shares them among requests at about the same time.
func (p *Profiler) refresh() {
	p.control.Lock()
	defer p.control.Unlock()
	if now := time.Now(); now.Sub(p.refreshed) >= time.Second && p.flush() {
		p.refreshed = now
	}
}

// record merges windows.
func (p *Profiler) record(windows []*window) *Recording {
	r := &Recording{Hz: p.config.hz, Origin: p.origin}
	trees, shares := map[int]*Tree{}, shares(windows)
	for i, w := range windows {
		if i == 0 {
			r.Start = w.begin
		}
		r.Duration += w.end.Sub(w.begin)
		r.CPU += w.cpu
		r.Lost += w.lost
		for number, tree := range w.trees {
			if trees[number] == nil {
				trees[number] = NewTree()
			}
			trees[number].merge(tree, sameFrame, w.scale(p.config.hz, shares[i]))
		}
	}
	for number, tree := range trees {
		region, _ := p.hook.labels.region(number)
		r.Regions = append(r.Regions, RegionTree{Region: region, Number: number, Tree: tree})
	}
	r.sort()
	return r
}

// Session returns the tree of a session that was asked for by [ContextWithSession], and whether
// it is kept. Each of its samples counts as its period.
func (p *Profiler) Session(id spans.SessionID) (*Tree, bool) {
	s := p.hook.sessions.byID(id)
	if s == nil {
		return nil, false
	}
	p.refresh()
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.tree == nil {
		return NewTree(), true
	}
	return s.tree.Clone(), true
}

// beginWindow and endWindow are called with the lock held.
func (p *Profiler) beginWindow() { p.sampler.current = newWindow() }

func (p *Profiler) endWindow() {
	w := p.sampler.current.until(time.Now())
	p.sampler.current = nil
	p.stats.Samples += w.samples
	p.stats.Lost += w.lost
	p.stats.CPU += w.cpu
	p.stats.Sampled += time.Duration(w.samples) * time.Second / time.Duration(p.config.hz)
	p.history = append(p.history, w)
	p.history = slices.DeleteFunc(p.history, func(old *window) bool { return w.end.Sub(old.begin) > p.config.history+p.config.window })
}
