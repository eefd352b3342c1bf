package replay

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/mark"
)

// TestUnseenBehindTimer: a goroutine that takes a lock when it has slept does not have it while it sleeps, however long it has run before.
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
		told := rec.completed()
		if told == nil {
			return errors.New("the operations are not told")
		}
		locks, early, sleeps := 0, 0, make([]bool, rec.count)
		held := make([]bool, rec.count)
		for _, e := range told.likely.events {
			switch {
			case e.kind == evOperate:
				held[e.g] = e.what == 'l'
			case e.kind == evOpen && rec.regions[rec.spans[e.ref].region].Name == "compact":
				if locks++; sleeps[e.g] {
					early++
				}
				held[e.g], sleeps[e.g] = false, false // the wait within it is another one
			case e.kind == evWait && e.arg == waitTimer:
				sleeps[e.g] = held[e.g]
			}
		}
		if early > 0 {
			return fmt.Errorf("%d of %d locks told to be taken before the sleep", early, locks)
		}
		return nil
	})
}
