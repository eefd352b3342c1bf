package replay

import (
	"sync"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/sim"
)

// A placer has four places, of which goroutines take one or two, in the order in which they come.
type placer struct {
	mu      sync.Mutex
	free    int
	waiting []placing
}

type placing struct {
	n     int
	ready chan struct{}
}

func (p *placer) take(n int) {
	p.mu.Lock()
	if p.free >= n && len(p.waiting) == 0 {
		p.free -= n
		p.mu.Unlock()
		return
	}
	ready := make(chan struct{})
	p.waiting = append(p.waiting, placing{n, ready})
	p.mu.Unlock()
	<-ready
}

func (p *placer) give(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free += n
	for len(p.waiting) > 0 && p.waiting[0].n <= p.free {
		p.free -= p.waiting[0].n
		close(p.waiting[0].ready)
		p.waiting = p.waiting[1:]
	}
}

// TestFaithfulOrder does not fall back on the recorded order of waits, which is met in any case,
// where goroutines wait for long: no rule says for what they wait that take one place or two. It
// looks at a recording which the order meets better than what is inferred, as two of three are.
func TestFaithfulOrder(t *testing.T) {
	for range 20 {
		p, places := &stockProgram{}, &placer{free: 4}
		rec := p.recorded(t, func() {
			side(7, func(i int) {
				for n := range 30 {
					p.span("think", tenth*10)
					size := 1 + (n+i)%3/2
					places.take(size)
					p.span("use", tenth*20*time.Duration(size))
					places.give(size)
					mark.LogProgress("done")
				}
			})
		})
		missed := func(inferring bool) float64 {
			p := infer.Translate(rec)
			infer.Settle(p, inferring)
			if !inferring && orderedIn(p) <= mostOrdered {
				t.Fatalf("without what is inferred, %v of the window is waited in the recorded order: want more than %v, or nothing is refused", orderedIn(p), mostOrdered)
			}
			o := sim.Simulate(p, sim.Change{}, rec.End-rec.Start)
			return doubt.Misses(p, &o, rec.End-rec.Start)
		}
		if inferred := missed(true); inferred <= doubt.MaxDeviation || missed(false) >= inferred {
			continue
		}
		w := &window{}
		if r := readingOf(rec, w); !w.inferred {
			t.Errorf("%v of the window is waited in the recorded order, and nothing is inferred", orderedIn(r.p))
		}
		return
	}
	t.Error("no recording is met better by the recorded order")
}

// TestAllButOne has goroutines wait for places, which no object is like, and for a lock: the order
// of the places is kept, and that of the lock is decided anew. It looks at a recording that all
// objects together miss, and that is met without one of them.
func TestAllButOne(t *testing.T) {
	for range 20 {
		p, places := &stockProgram{}, &placer{free: 4}
		var lock sync.Mutex
		rec := p.recorded(t, func() {
			side(7, func(i int) {
				for n := range 30 {
					size := 1 + (n+i)%3/2
					places.take(size)
					p.span("use", tenth*20*time.Duration(size))
					places.give(size)
					lock.Lock()
					p.span("write", tenth*5)
					lock.Unlock()
					mark.LogProgress("done")
				}
			})
		})
		rec.Without = map[string]bool{ruleHidden: true}
		meets := func(leftOut int) bool {
			without := *rec
			without.LeftOut = leftOut
			p := infer.NewProgram(&without, true)
			o := sim.Simulate(p, sim.Change{}, rec.End-rec.Start)
			return doubt.Misses(p, &o, rec.End-rec.Start) <= doubt.MaxDeviation
		}
		if all := infer.NewProgram(rec, true); len(all.Shared) < 2 || meets(0) || !meets(1) && !meets(2) {
			continue
		}
		r := readingOf(rec, &window{})
		if left := r.p.Rec.LeftOut; left == 0 || !meets(left) {
			t.Errorf("object %d is left out, which misses the recording by %.3f, want one without which it is met", left, r.misses())
		}
		return
	}
	t.Error("no recording is missed by all objects together, and met without one")
}
