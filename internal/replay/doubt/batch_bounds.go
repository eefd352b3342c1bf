package doubt

import (
	"slices"

	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Batching by time (adaptive batching, group commit): a goroutine takes whatever has come, works on
// it and answers all of it at once. The size of a batch is then the number of requests that came
// during the batch before. A recording has the sizes, and the replay repeats them, though faster
// requests come in larger batches:
//
//	commit   |== 3 ==|==== 4 ====|== 2 ==|     as recorded
//	commit   |==== 5 ====|== 4 ==|             requests sooner, fewer commits
//
// A batch is seen from its end: one goroutine lets at least model.Batch others go on that waited at
// one place, within model.AtOnce of each other. Time decides its size if sizes scatter, and do not
// pile up at the largest, which would be a limit of the program's own. Where package cond has found
// the rule of the batches they are decided anew, and there is no doubt. Else bounds alone are left
// of answers about the goroutines that wait for them. TestBatched in package replay holds this
// against a writer that takes whatever there is, one that takes three, and one that takes one.
//
// Only waits to receive are looked at. Goroutines that wait for a condition variable or a WaitGroup
// are the matter of other rules. A batch that a goroutine of its own answers is missed: sizes are
// counted for each goroutine that answers, and that one has a single batch.

// A waker follows a goroutine that lets others go on.
type waker struct {
	last  int64                 // when it let the last one go on
	sizes map[int32]int         // of what is let go on now, by where it waited
	all   map[int32]map[int]int // how often each size occurred, by where they waited
}

// end books the batch that is let go on now, a size for each place.
func (w *waker) end() {
	for site, n := range w.sizes {
		if w.all[site] == nil {
			w.all[site] = map[int]int{}
		}
		w.all[site][n]++
	}
	clear(w.sizes)
}

// A batchWait is what a goroutine waits for: where, and why.
type batchWait struct{ site, reason int32 }

// A batching follows goroutines that wait for batches, and their wakers.
type batching struct {
	p       *model.Program
	of      []int32                  // places in the program, by site
	waits   []batchWait              // by goroutine: the last one
	visits  [][]int32                // by goroutine: the progress points that it visits
	wakers  []*waker                 // by goroutine
	waiting map[int32]map[int32]bool // goroutines by where they wait for a batch
}

// Batched returns the names of the progress points of goroutines that wait for batches whose size
// is decided by time. It goes once through the events.
func Batched(p *model.Program) map[string]bool {
	n := p.Rec.Count
	b := batching{
		p: p, of: cond.UsedAt(p), waits: make([]batchWait, n), visits: make([][]int32, n), wakers: make([]*waker, n),
		waiting: map[int32]map[int32]bool{},
	}
	for e := range p.Rec.All() {
		b.follow(e)
		// A batch is over once its waker does anything else, such as to end a span, to wait, or to
		// reach a progress point. Marks of operations are no end: a recording of each operation has
		// one between two answers.
		if e.Kind == trace.EvReady {
			b.wake(e)
		} else if w := b.wakers[e.G]; w != nil && e.Kind != trace.EvOperate {
			w.end()
		}
	}
	return b.names()
}

// follow notes the waits and visits of a goroutine.
func (b *batching) follow(e *trace.Event) {
	if e.Kind == trace.EvWait {
		b.waits[e.G] = batchWait{b.of[e.Site], e.Arg}
	}
	if point := b.p.VisitAt(e); point >= 0 && !slices.Contains(b.visits[e.G], point) {
		b.visits[e.G] = append(b.visits[e.G], point)
	}
}

// wake counts a goroutine into the batch that its waker lets go on.
func (b *batching) wake(e *trace.Event) {
	x := b.waits[e.G]
	if e.By < 0 || x.site == 0 || x.reason != trace.WaitReceive && x.reason != trace.WaitSelect {
		return
	}
	// The waker's maps are made late: most goroutines of a large program never let another one go
	// on.
	w := b.wakers[e.By]
	if w == nil {
		w = &waker{sizes: map[int32]int{}, all: map[int32]map[int]int{}}
		b.wakers[e.By] = w
	}
	if e.At-w.last > model.AtOnce {
		w.end()
	}
	w.last = e.At
	w.sizes[x.site]++
	if b.waiting[x.site] == nil {
		b.waiting[x.site] = map[int32]bool{}
	}
	b.waiting[x.site][e.G] = true
}

// names returns the progress points of goroutines in batches whose size is decided by time.
func (b *batching) names() map[string]bool {
	names := map[string]bool{}
	for _, w := range b.wakers {
		if w == nil {
			continue
		}
		w.end()
		for site, sizes := range w.all {
			// Batches that follow a rule are decided anew in the replay. Uneven ones follow a rule
			// but for how long they take, so that their sizes are known to be decided by time.
			if slices.Contains(b.p.ByRule, site) || !decidedByTime(sizes, slices.Contains(b.p.Uneven, site)) {
				continue
			}
			for g := range b.waiting[site] {
				for _, point := range b.visits[g] {
					names[b.p.Points[point].Name] = true
				}
			}
		}
	}
	return names
}

// decidedByTime reports whether batches have now more elements and now fewer, and not mostly as
// many as they may. Sizes has how many batches there were of each size. Known means that their size
// is decided by time for sure: then all that matters is whether they are always full.
//
//	size 1: 10, 2: 10, 3: 12, 4: 8     time: 4 is the largest, and not the most frequent
//	size 1: 2, 8: 30                   a limit of 8: faster requests fill batches as before
//
// The largest size is the largest that model.Often of the batches have. A burst that is larger once
// or twice shows no limit.
func decidedByTime(sizes map[int]int, known bool) bool {
	all, large, most := 0, 0, 0
	for size, n := range sizes {
		all += n
		if size >= model.Batch {
			large += n
		}
		most = max(most, n)
	}
	largest := 0
	for size, n := range sizes {
		if float64(n) >= model.Often*float64(all) {
			largest = max(largest, size)
		}
	}
	if known {
		return float64(sizes[largest]) < (1-model.Often)*float64(all)
	}
	return all >= cond.LeastRounds && float64(large) >= model.LeastBatches*float64(all) && sizes[largest] < most
}
