package replay

import (
	"slices"
	"time"
)

// A goroutine that works on whatever has come (adaptive batching) lets several others go on at once, now more and now fewer. How many that
// are is decided by time: the sooner they come, the more are in a batch, and the fewer batches there are. Where batches do not follow a rule
// (see batches.go) the replay has those of the recording.

const (
	// atOnce is how long after one goroutine the next must be let go on, to be of the same batch, ns.
	atOnce = int64(100 * time.Microsecond)
	// batch is how many goroutines are one, and leastBatches which part of the times that a goroutine lets others go on must be.
	batch        = 3
	leastBatches = 0.1
	// often is which part of the batches must have the same size, for that size to be a limit.
	often = 0.05
)

// A waker follows a goroutine that lets others go on.
type waker struct {
	last  int64
	sizes map[int32]int         // of what is let go on now, by where it waited
	all   map[int32]map[int]int // how often each size occurred, by where they waited
}

func (w *waker) end() {
	if len(w.sizes) == 0 {
		return
	}
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
	p       *program
	of      []int32                  // places in the program, by site
	waits   []batchWait              // by goroutine: the last one
	visits  [][]int32                // by goroutine: the progress points that it visits
	wakers  []*waker                 // by goroutine
	waiting map[int32]map[int32]bool // goroutines by where they wait for a batch
}

// batched returns the names of the progress points of goroutines that wait for batches whose size is decided by time.
func (p *program) batched() map[string]bool {
	n := p.rec.count
	b := batching{
		p: p, of: p.usedAt(), waits: make([]batchWait, n), visits: make([][]int32, n), wakers: make([]*waker, n),
		waiting: map[int32]map[int32]bool{},
	}
	for i := range p.rec.events {
		p.rec.restsAt(i)
		e := &p.rec.events[i]
		b.follow(e)
		if e.kind == evReady {
			b.wake(e)
		} else if w := b.wakers[e.g]; w != nil && e.kind != evOperate {
			w.end()
		}
	}
	return b.names()
}

// follow notes the waits and visits of a goroutine.
func (b *batching) follow(e *event) {
	switch e.kind {
	case evWait:
		b.waits[e.g] = batchWait{b.of[e.site], e.arg}
	case evVisit:
		b.visit(e.g, e.ref)
	case evClose:
		if point := b.p.pointOf[e.ref]; point >= 0 {
			b.visit(e.g, point)
		}
	}
}

// visit notes a progress point of a goroutine, once.
func (b *batching) visit(g, point int32) {
	if !slices.Contains(b.visits[g], point) {
		b.visits[g] = append(b.visits[g], point)
	}
}

// wake counts a goroutine into the batch that its waker lets go on.
func (b *batching) wake(e *event) {
	x := b.waits[e.g]
	if e.by < 0 || x.site == 0 || x.reason != waitReceive && x.reason != waitSelect {
		return
	}
	w := b.wakers[e.by]
	if w == nil {
		w = &waker{sizes: map[int32]int{}, all: map[int32]map[int]int{}}
		b.wakers[e.by] = w
	}
	if e.at-w.last > atOnce {
		w.end()
	}
	w.last = e.at
	w.sizes[x.site]++
	if b.waiting[x.site] == nil {
		b.waiting[x.site] = map[int32]bool{}
	}
	b.waiting[x.site][e.g] = true
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
			if slices.Contains(b.p.byRule, site) || !decidedByTime(sizes, slices.Contains(b.p.uneven, site)) {
				continue
			}
			for g := range b.waiting[site] {
				for _, point := range b.visits[g] {
					names[b.p.points[point].name] = true
				}
			}
		}
	}
	return names
}

// decidedByTime reports whether batches, by their sizes how often there were some, have now more elements and now fewer, and not mostly as
// many as they may, or not always if their size is known to be decided so.
func decidedByTime(sizes map[int]int, known bool) bool {
	all, large, most := 0, 0, 0
	for size, n := range sizes {
		all += n
		if size >= batch {
			large += n
		}
		most = max(most, n)
	}
	largest := 0
	for size, n := range sizes {
		if float64(n) >= often*float64(all) {
			largest = max(largest, size)
		}
	}
	if known {
		return float64(sizes[largest]) < (1-often)*float64(all)
	}
	return all >= leastRounds && float64(large) >= leastBatches*float64(all) && sizes[largest] < most
}
