package replay

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/hidden"
	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A stockQueue has room for three things, by a lock and two condition variables.
type stockQueue struct {
	mu                         sync.Mutex
	notFull, notEmpty          *sync.Cond
	items                      int
	sections, waits, signalled atomic.Int64
}

func newStockQueue() *stockQueue {
	q := &stockQueue{}
	q.notFull, q.notEmpty = sync.NewCond(&q.mu), sync.NewCond(&q.mu)
	return q
}

func (q *stockQueue) change(by, unless int, wait, signal *sync.Cond) {
	q.mu.Lock()
	q.sections.Add(1)
	for q.items == unless {
		q.waits.Add(1)
		wait.Wait()
	}
	q.items += by
	q.signalled.Add(1)
	signal.Signal()
	q.mu.Unlock()
}

// queued is a recording of two producers and two consumers, which take longer, by spans of 2 and of
// 6 to 8 ms.
func queued(t *testing.T) (*stockQueue, *trace.Recording) {
	t.Helper()
	p, q := &stockProgram{}, newStockQueue()
	rec := p.recorded(t, func() {
		side(4, func(i int) {
			for n := range 60 {
				if i < 2 {
					p.span("produce", tenth*20)
					q.change(1, 3, q.notFull, q.notEmpty)
				} else {
					q.change(-1, 0, q.notEmpty, q.notFull)
					p.span("consume", tenth*60+tenth*10*time.Duration((n+i)%3))
					mark.LogProgress("done")
				}
			}
		})
	})
	return q, rec
}

// TestUnseenConditions infers when goroutines had the lock of condition variables, and the signals
// that ended no wait.
func TestUnseenConditions(t *testing.T) {
	tried(t, func() error {
		q, rec := queued(t)
		told := hidden.Completed(rec)
		if told == nil {
			return errors.New("nothing is told")
		}
		counts := map[mark.Op]int64{}
		for _, e := range told.Likely.Events {
			if e.Kind == trace.EvOperate {
				counts[e.What]++
			}
		}
		locked := q.sections.Load() + q.waits.Load()
		for what, want := range map[mark.Op]int64{mark.Lock: locked, mark.Unlock: locked, mark.Await: q.waits.Load()} {
			if got := counts[what]; float64(got) < 0.9*float64(want) || float64(got) > 1.1*float64(want) {
				return fmt.Errorf("told %d of operation %c, want %d: %v", got, what, want, counts)
			}
		}
		if got, want := counts[mark.Signal], q.signalled.Load(); got > want || got < want/3 { // those of one side at least
			return fmt.Errorf("told %d signals, want up to %d: %v", got, want, counts)
		}
		return nil
	})
}

// TestUnseenConditionsLimit has consumers that become faster wait for producers, though none of
// them had to in the recording.
func TestUnseenConditionsLimit(t *testing.T) {
	tried(t, func() error {
		_, rec := queued(t)
		told := hidden.Completed(rec)
		if told == nil {
			return errors.New("nothing is told")
		}
		endless := *told.Likely
		endless.Endless = true
		consume := int32(slices.Index(rec.Regions, trace.Region{Scope: "shop", Name: "consume"}))
		var periods [2]float64
		for i, r := range []*trace.Recording{told.Likely, &endless} {
			p := infer.NewProgram(r, true)
			if !p.Limited {
				return errors.New("the queue has no limit")
			}
			o := sim.Simulate(p, sim.Change{Factors: map[int32]float64{consume: 0.05}}, r.End-r.Start)
			done := slices.IndexFunc(p.Points, func(x model.PointInfo) bool { return x.Name == "done" })
			periods[i] = doubt.Period(o.Visits[done], 0)
		}
		if !(periods[0] > periods[1]) {
			return fmt.Errorf("%v ns for each where consumers wait, %v where they do not, want more", periods[0], periods[1])
		}
		return nil
	})
}
