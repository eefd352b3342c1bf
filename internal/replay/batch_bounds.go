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

// batched returns the names of the progress points of goroutines that wait for batches whose size is decided by time.
func (p *program) batched() map[string]bool {
	rec := p.rec
	type wait struct {
		site, reason int32
	}
	waits, visits := make([]wait, rec.count), make([][]int32, rec.count)
	visit := func(g, point int32) {
		if !slices.Contains(visits[g], point) {
			visits[g] = append(visits[g], point)
		}
	}
	of := p.usedAt()
	wakers := make([]*waker, rec.count)
	waiting := map[int32]map[int32]bool{} // goroutines by where they wait for a batch
	for i := range rec.events {
		rec.restsAt(i)
		e := &rec.events[i]
		switch e.kind {
		case evWait:
			waits[e.g] = wait{of[e.site], e.arg}
		case evVisit:
			visit(e.g, e.ref)
		case evClose:
			if point := p.pointOf[e.ref]; point >= 0 {
				visit(e.g, point)
			}
		}
		if e.kind != evReady {
			if w := wakers[e.g]; w != nil && e.kind != evOperate {
				w.end()
			}
			continue
		}
		x := waits[e.g]
		if e.by < 0 || x.site == 0 || x.reason != waitReceive && x.reason != waitSelect {
			continue
		}
		w := wakers[e.by]
		if w == nil {
			w = &waker{sizes: map[int32]int{}, all: map[int32]map[int]int{}}
			wakers[e.by] = w
		}
		if e.at-w.last > atOnce {
			w.end()
		}
		w.last = e.at
		w.sizes[x.site]++
		if waiting[x.site] == nil {
			waiting[x.site] = map[int32]bool{}
		}
		waiting[x.site][e.g] = true
	}
	names := map[string]bool{}
	for _, w := range wakers {
		if w == nil {
			continue
		}
		w.end()
		for site, sizes := range w.all {
			if slices.Contains(p.byRule, site) || !decidedByTime(sizes, slices.Contains(p.uneven, site)) {
				continue
			}
			for g := range waiting[site] {
				for _, point := range visits[g] {
					names[p.points[point].name] = true
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
