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
	type answer struct {
		to    chan int
		marks mark.Object
	}
	type worker struct {
		asks  chan *answer
		marks *mark.Object
		load  atomic.Int64
	}
	least := func(all []*worker, _, _ int) *worker {
		least := all[0]
		for _, w := range all[1:] {
			if w.load.Load() < least.load.Load() {
				least = w
			}
		}
		return least
	}
	for name, tt := range map[string]struct {
		choose func(all []*worker, client, n int) *worker
		marked bool
		want   bool
	}{
		"least loaded":             {least, false, true},
		"least loaded, with marks": {least, true, true},
		"by chance":                {func(all []*worker, _, _ int) *worker { return all[rand.IntN(len(all))] }, false, false},
		"by chance, with marks":    {func(all []*worker, _, _ int) *worker { return all[rand.IntN(len(all))] }, true, false},
		"in turn":                  {func(all []*worker, client, n int) *worker { return all[(client+n)%len(all)] }, false, false},
		"one channel":              {nil, false, false},
		"one channel, with marks":  {nil, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			tried(t, func() error {
				p := &stockProgram{}
				rec := p.recorded(t, func() {
					marked := func(o *mark.Object, op mark.Op, capacity int, wait func()) {
						if tt.marked {
							o.Begin(op, capacity)
							defer o.Done(op, capacity)
						}
						wait()
					}
					workers := make([]*worker, 3)
					one, marksOfOne := make(chan *answer, 8), &mark.Object{}
					for i := range workers {
						w := &worker{asks: make(chan *answer, 8), marks: &mark.Object{}}
						if tt.choose == nil {
							w.asks, w.marks = one, marksOfOne
						}
						workers[i] = w
						go func() {
							for {
								var a *answer
								if marked(w.marks, mark.Receive, 8, func() { a = <-w.asks }); a == nil {
									return
								}
								p.span("serve", time.Duration(1000+i/2*1000+rand.IntN(500))*time.Microsecond)
								w.load.Add(-1)
								marked(&a.marks, mark.Send, 1, func() { a.to <- i })
							}
						}()
					}
					side(6, func(client int) {
						a := &answer{to: make(chan int, 1)}
						for n := range 60 {
							p.span("think", time.Duration(500+rand.IntN(1000))*time.Microsecond)
							w := workers[0]
							if tt.choose != nil {
								w = tt.choose(workers, client, n)
							}
							w.load.Add(1)
							marked(w.marks, mark.Send, 8, func() { w.asks <- a })
							marked(&a.marks, mark.Receive, 1, func() { <-a.to })
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
