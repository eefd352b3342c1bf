package replay

import (
	"sync"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/hidden"
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
		if q, _, _ := faithful(rec, hidden.Completed(rec), w); !w.inferred {
			t.Errorf("%v of the window is waited in the recorded order, and nothing is inferred", orderedIn(q))
		}
		return
	}
	t.Error("no recording is met better by the recorded order")
}
