package replay

import (
	"cmp"
	"maps"
	"slices"
)

// A call of another process is a span's wait, though the goroutine that reads the connection is another one, as in net/http and gRPC: what
// has spans writes a request, or hands it over, and waits for the reader, which has no spans. The answer comes so long after the
// request, whenever the reader began to read.

// A result ends the wait of a goroutine for another one.
type result struct {
	at, begun int64 // the wait
	to        int32
	last      int64 // when the goroutine that ends it had last gone on after a wait of its own
}

// results returns what goroutines ended each other's waits with, by the one that did, in order of time.
func (r *Recording) results() [][]result {
	admits := make([]bool, len(r.sites))
	for i, s := range r.sites {
		admits[i] = classify(s)[admission]
	}
	all, begun, wentOn := make([][]result, r.count), make([]int64, r.count), make([]int64, r.count)
	for i := range r.events {
		r.restsAt(i)
		switch e := &r.events[i]; e.kind {
		case evWait:
			begun[e.g] = 0
			if e.arg != waitTimer && e.arg != waitNetwork && !admits[e.site] {
				begun[e.g] = e.at
			}
		case evReady:
			if e.by >= 0 && begun[e.g] > 0 {
				all[e.by] = append(all[e.by], result{e.at, begun[e.g], e.g, wentOn[e.by]})
			}
			begun[e.g], wentOn[e.g] = 0, e.at
		}
	}
	return all
}

// calls has the answers of other processes come as long after their requests as they did.
func (c *connector) calls() {
	type answer struct{ request, arrival place }
	results := c.p.rec.results()
	answers, all := map[int32][]answer{}, map[int32]int{} // by where readers read
	for l := range c.p.lists {
		if c.spanned[l] || c.p.lists[l].serves >= 0 {
			continue
		}
		for k := range c.p.lists[l].ops {
			o := &c.p.lists[l].ops[k]
			if o.kind != opOut || o.reason != waitNetwork || o.site == 0 || !o.free {
				continue
			}
			all[c.readers[o.site]]++
			if from, ok := c.asked(results[l], o); ok {
				answers[c.readers[o.site]] = append(answers[c.readers[o.site]], answer{from, place{int32(l), int32(k)}})
			}
		}
	}
	for _, reader := range slices.Sorted(maps.Keys(answers)) {
		told := answers[reader]
		if all[reader] < leastArrivals || float64(len(told)) < evidence*float64(all[reader]) {
			continue
		}
		for _, a := range told {
			c.join(a.request, a.arrival)
		}
	}
}

// asked returns the op before a goroutine with spans began to wait for what has come to a reader, which hands it over.
func (c *connector) asked(results []result, arrival *op) (place, bool) {
	n, _ := slices.BinarySearchFunc(results, arrival.at, func(r result, at int64) int { return cmp.Compare(r.at, at) })
	if n == len(results) || results[n].last != arrival.at || !c.spanned[results[n].to] {
		return place{}, false
	}
	l := &c.p.lists[results[n].to]
	last := l.firstAt(0, results[n].begun+1) - 1
	for k := last; k >= 0; k-- {
		switch l.ops[k].kind {
		case opWake, opSend, opWrite, opSpawn:
			return place{results[n].to, last}, true
		case opOpen:
			return place{}, false
		}
	}
	return place{}, false
}
