package replay

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/hidden"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// severalPrograms use several locks at one place.
var severalPrograms = map[string]struct {
	locks int32
	check func(rec *trace.Recording, want int64) error
	run   func(p *stockProgram)
}{
	"any of two": {2, excludes, func(p *stockProgram) {
		var locks [2]sync.Mutex
		side(6, func(i int) {
			for n := range 60 {
				p.span("outside", tenth)
				mu := &locks[(n*(i+1)+n/3)%2]
				mu.Lock()
				p.ops.Add(1)
				p.span("inside", tenth*time.Duration(2+(n+i)%3))
				mu.Unlock()
				mark.LogProgress("done")
			}
		})
	}},
	"two of three at a time": {3, ordered, func(p *stockProgram) {
		var locks [3]sync.Mutex
		side(5, func(i int) {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			for n := range 60 {
				p.span("outside", tenth*time.Duration(1+n%3))
				a, b := random.IntN(3), random.IntN(2)
				if b >= a {
					b++
				}
				first, second := &locks[min(a, b)], &locks[max(a, b)]
				first.Lock()
				second.Lock()
				p.ops.Add(2)
				p.span("inside", 2*tenth)
				second.Unlock()
				first.Unlock()
				mark.LogProgress("done")
			}
		})
	}},
}

// TestSeveral identifies which operations are on the same lock, though several are used at one
// place.
func TestSeveral(t *testing.T) {
	for name, tc := range severalPrograms {
		t.Run(name, func(t *testing.T) {
			tried(t, func() error {
				p := &stockProgram{}
				rec := p.recorded(t, func() { tc.run(p) })
				told := hidden.Completed(rec)
				if told == nil || told.Several <= 0 {
					return errors.New("the operations are not told")
				}
				fewest, most := told.Likely.Objects, told.Likely.Objects
				for _, other := range told.Others {
					fewest, most = min(fewest, other.Objects), max(most, other.Objects)
				}
				if fewest > tc.locks || most < tc.locks {
					return fmt.Errorf("told %d locks, %d to %d, want %d", told.Likely.Objects, fewest, most, tc.locks)
				}
				for _, r := range append(told.Others, told.Likely) {
					if err := tc.check(r, p.ops.Load()); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

// excludes is an error unless each lock is taken and given back by one goroutine after another,
// about so often.
func excludes(rec *trace.Recording, want int64) error {
	holder := map[int32]int32{}
	taken, wrong := 0, 0
	for _, e := range rec.Events {
		if e.Kind != trace.EvOperate {
			continue
		}
		g, held := holder[e.Ref]
		switch e.What {
		case 'l':
			taken++
			if held {
				wrong++
			}
			holder[e.Ref] = e.G
		case 'u':
			if !held || g != e.G {
				wrong++
			}
			delete(holder, e.Ref)
		}
	}
	if n := float64(taken); n < 0.95*float64(want) || n > 1.05*float64(want) {
		return fmt.Errorf("told %v acquisitions, want %d", n, want)
	}
	if float64(wrong) > 0.05*float64(taken) {
		return fmt.Errorf("of %d acquisitions and releases %d are of a lock that another goroutine has", 2*taken, wrong)
	}
	return nil
}

// ordered is an error unless each goroutine that takes several locks takes them in one order, about
// so often.
func ordered(rec *trace.Recording, want int64) error {
	held := map[int32][]int32{}
	taken, wrong := 0, 0
	for _, e := range rec.Events {
		if e.Kind != trace.EvOperate {
			continue
		}
		mine := held[e.G]
		switch e.What {
		case 'l':
			taken++
			if n := len(mine); n > 0 && mine[n-1] >= e.Ref {
				wrong++
			}
			held[e.G] = append(mine, e.Ref)
		case 'u':
			held[e.G] = slices.DeleteFunc(mine, func(lock int32) bool { return lock == e.Ref })
		}
	}
	if n := float64(taken); n < 0.95*float64(want) || n > 1.05*float64(want) {
		return fmt.Errorf("told %v acquisitions, want %d", n, want)
	}
	if float64(wrong) > 0.05*float64(taken) {
		return fmt.Errorf("%d of %d acquisitions are in another order than the others", wrong, taken)
	}
	return nil
}

// TestSeveralCount finds how many locks there are from how often goroutines waited.
func TestSeveralCount(t *testing.T) {
	for locks := int32(2); locks <= 16; locks *= 2 {
		random := rand.New(rand.NewPCG(1, uint64(locks)))
		d := dealing(random, locks, 6, 4000)
		d.Count()
		if d.Fewest > locks || d.Most < locks {
			t.Errorf("%d to %d locks, want %d", d.Fewest, d.Most, locks)
		}
		if d.Likely < d.Fewest || d.Likely > d.Most {
			t.Errorf("%d locks, want %d to %d", d.Likely, d.Fewest, d.Most)
		}
		d.Assign(d.Likely)
		until := map[int32]int32{}
		for i := range d.Successions { // which are in the order of their beginnings
			s := &d.Successions[i]
			if s.Lock < 0 || s.Lock >= d.Likely || until[s.Lock] > s.From {
				t.Fatalf("lock %d of %d is taken at %d, want one that is free by then", s.Lock, d.Likely, s.From)
			}
			until[s.Lock] = s.To
		}
	}
}

// dealing is a deal of goroutines of which each has one of some locks at times. Each succession is
// one hold or, if another goroutine waited, two.
func dealing(random *rand.Rand, locks int32, goroutines, times int32) *hidden.Deal {
	d := &hidden.Deal{}
	held := map[int32]int32{}    // the hold of each lock
	has := map[int32]int32{}     // the lock of each goroutine
	current := map[int32]int32{} // the succession of each lock
	for k := range times {
		d.Incidents = append(d.Incidents, hidden.Incident{})
		g := random.Int32N(goroutines)
		if lock, ok := has[g]; ok {
			d.Holds[held[lock]].To = k
			d.Successions[current[lock]].To = k
			delete(has, g)
			delete(held, lock)
			continue
		}
		lock := random.Int32N(locks)
		h := hidden.Hold{G: g, Asked: k, From: k, To: times, Outer: -1}
		if i, ok := held[lock]; ok { // it waits, and has it at once
			d.Holds[i].To = k
			delete(has, d.Holds[i].G)
			h.Waited = true
		} else {
			current[lock] = int32(len(d.Successions))
			d.Successions = append(d.Successions, hidden.Succession{From: k, To: times})
		}
		held[lock], has[g] = int32(len(d.Holds)), lock
		d.Of = append(d.Of, current[lock])
		d.Holds = append(d.Holds, h)
	}
	return d
}
