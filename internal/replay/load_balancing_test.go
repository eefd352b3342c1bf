package replay

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/infer"
)

// TestBalanced: clients who ask the least loaded of three workers are in doubt, since which one
// that is changes with a faster worker. Clients who choose by something else are not, nor are
// workers that take their work from one channel.
func TestBalanced(t *testing.T) {
	slow(t, "records programs for seconds")
	type worker struct {
		asks chan chan int
		load atomic.Int64
	}
	for name, tt := range map[string]struct {
		choose func(all []*worker, client, n int) *worker
		want   bool
	}{
		"least loaded": {func(all []*worker, _, _ int) *worker {
			least := all[0]
			for _, w := range all[1:] {
				if w.load.Load() < least.load.Load() {
					least = w
				}
			}
			return least
		}, true},
		"by chance":   {func(all []*worker, _, _ int) *worker { return all[rand.IntN(len(all))] }, false},
		"in turn":     {func(all []*worker, client, n int) *worker { return all[(client+n)%len(all)] }, false},
		"one channel": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			tried(t, func() error {
				p := &stockProgram{}
				rec := p.recorded(t, func() {
					workers := make([]*worker, 3)
					one := make(chan chan int, 8)
					for i := range workers {
						w := &worker{asks: make(chan chan int, 8)}
						if tt.choose == nil {
							w.asks = one
						}
						workers[i] = w
						go func() {
							for answer := range w.asks {
								p.span("serve", time.Duration(1000+i/2*1000+rand.IntN(500))*time.Microsecond)
								w.load.Add(-1)
								answer <- i
							}
						}()
					}
					side(6, func(client int) {
						answer := make(chan int, 1)
						for n := range 60 {
							p.span("think", time.Duration(500+rand.IntN(1000))*time.Microsecond)
							w := workers[0]
							if tt.choose != nil {
								w = tt.choose(workers, client, n)
							}
							w.load.Add(1)
							w.asks <- answer
							<-answer
							mark.LogProgress("done")
						}
					})
					close(one)
					for _, w := range workers {
						if w.asks != one {
							close(w.asks)
						}
					}
				})
				if got := doubt.Balanced(infer.NewProgram(rec, true))["done"]; got > doubt.MaxUndecided != tt.want {
					return fmt.Errorf("part of the time in waits for servers chosen by load: %.2f, want above %.1f: %t", got, doubt.MaxUndecided, tt.want)
				}
				return nil
			})
		})
	}
}

// TestCalledThroughAnother: clients wait for a goroutine that waits for timers, which they have set
// themselves. Those are not in a trace, so that the time is in doubt.
func TestCalledThroughAnother(t *testing.T) {
	tried(t, func() error {
		p := &stockProgram{}
		rec := p.recorded(t, func() {
			answers := make(chan chan int, 8)
			go func() {
				for done := range answers {
					done <- 1
				}
			}()
			side(6, func(int) {
				done := make(chan int, 1)
				for range 60 {
					p.span("think", time.Duration(1000+rand.IntN(1000))*time.Microsecond)
					time.AfterFunc(time.Duration(1000+rand.IntN(2000))*time.Microsecond, func() { answers <- done })
					<-done
					mark.LogProgress("done")
				}
			})
			close(answers)
		})
		program := infer.NewProgram(rec, true)
		if got := cond.ByPoint(program, program.UncalledFor)["done"]; got < doubt.MaxUndecided {
			return fmt.Errorf("part of the time in waits for timers of unknown origin: %.2f, want %.1f or more", got, doubt.MaxUndecided)
		}
		return nil
	})
}
