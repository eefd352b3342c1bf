package replay

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/hidden"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// TestUnseenBehindTimer: a goroutine that takes a lock when it has slept does not have it while it
// sleeps, however long it has run before.
func TestUnseenBehindTimer(t *testing.T) {
	tried(t, func() error {
		p := &stockProgram{}
		rec := p.recorded(t, func() {
			var mu sync.Mutex
			var over atomic.Bool
			side(4, func(i int) {
				for n := 0; i == 0 && !over.Load(); n++ {
					for began := time.Now(); time.Since(began) < time.Duration(n%3*6)*tenth; {
						p.ops.Add(1)
					}
					time.Sleep(15 * tenth)
					mu.Lock()
					p.span("compact", 5*tenth)
					mu.Unlock()
				}
				for n := 0; i > 0 && n < 80; n++ {
					p.span("prepare", tenth*time.Duration(8+(n+i)%7))
					mu.Lock()
					p.span("write", 2*tenth)
					mu.Unlock()
					mark.LogProgress("done")
				}
				over.Store(over.Load() || i > 0)
			})
		})
		told := hidden.Completed(rec)
		if told == nil {
			return errors.New("the operations are not told")
		}
		locks, early, sleeps := 0, 0, make([]bool, rec.Count)
		held := make([]bool, rec.Count)
		for _, e := range told.Likely.Events {
			switch {
			case e.Kind == trace.EvOperate:
				held[e.G] = e.What == 'l'
			case e.Kind == trace.EvOpen && rec.Regions[rec.Spans[e.Ref].Region].Name == "compact":
				if locks++; sleeps[e.G] {
					early++
				}
				held[e.G], sleeps[e.G] = false, false // the wait within it is another one
			case e.Kind == trace.EvWait && e.Arg == trace.WaitTimer:
				sleeps[e.G] = held[e.G]
			}
		}
		if early > 0 {
			return fmt.Errorf("%d of %d locks told to be taken before the sleep", early, locks)
		}
		return nil
	})
}
