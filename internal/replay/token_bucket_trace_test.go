package replay

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/infer"
)

// tickingPrograms do something at even intervals, of which the trace shows a part.
var tickingPrograms = map[string]struct {
	bucket bool
	run    func(p *stockProgram, over <-chan struct{})
}{
	"a bucket": {true, func(p *stockProgram, over <-chan struct{}) {
		tokens := make(chan struct{}, 2)
		go ticks(over, tenth*20, func() {
			select {
			case tokens <- struct{}{}:
			default:
			}
		})
		side(2, func(i int) {
			for n := range 60 {
				<-tokens
				p.span("work", tenth*time.Duration(10+n*n*7%41+i))
				mark.LogProgress("done")
			}
		})
	}},
	"a bucket that calls of a timer fill": {true, func(p *stockProgram, over <-chan struct{}) {
		tokens := make(chan struct{}, 2)
		var fill func()
		fill = func() {
			select {
			case tokens <- struct{}{}:
			default:
			}
			select {
			case <-over:
			default:
				time.AfterFunc(tenth*20, fill)
			}
		}
		fill()
		side(2, func(i int) {
			for n := range 60 {
				<-tokens
				p.span("work", tenth*time.Duration(10+n*n*7%41+i))
				mark.LogProgress("done")
			}
		})
	}},
	"a broadcast that not all wait for": {true, func(p *stockProgram, over <-chan struct{}) {
		var mu sync.Mutex
		turn := sync.NewCond(&mu)
		go ticks(over, tenth*20, turn.Broadcast)
		side(2, func(i int) {
			for n := range 40 {
				p.span("work", tenth*time.Duration(10+n*n*7%41+i))
				mu.Lock()
				turn.Wait()
				mu.Unlock()
				mark.LogProgress("done")
			}
		})
	}},
	"a refresh": {false, func(p *stockProgram, over <-chan struct{}) {
		var mu sync.Mutex
		go ticks(over, tenth*20, func() {
			mu.Lock()
			time.Sleep(5 * tenth)
			mu.Unlock()
		})
		side(2, func(i int) {
			for n := range 60 {
				mu.Lock()
				p.ops.Add(1)
				mu.Unlock()
				p.span("work", tenth*time.Duration(10+n*n*7%41+i))
				mark.LogProgress("done")
			}
		})
	}},
	"batches": {false, func(p *stockProgram, over <-chan struct{}) {
		items := make(chan chan struct{}, 4)
		go func() {
			flush := time.NewTicker(20 * tenth)
			defer flush.Stop()
			var batch []chan struct{}
			for {
				select {
				case <-over:
					return
				case item := <-items:
					batch = append(batch, item)
				case <-flush.C:
					for _, item := range batch {
						select {
						case item <- struct{}{}:
						default:
						}
					}
					batch = nil
				}
			}
		}()
		side(2, func(i int) {
			done := make(chan struct{}, 1)
			for n := range 40 {
				p.span("work", tenth*time.Duration(10+n*n*7%41+i))
				items <- done
				<-done
				mark.LogProgress("done")
			}
		})
	}},
	"a heartbeat": {false, func(p *stockProgram, over <-chan struct{}) {
		beats := make(chan struct{}, 1)
		go ticks(over, tenth*20, func() {
			select {
			case beats <- struct{}{}:
			default:
			}
		})
		go func() {
			for {
				select {
				case <-over:
					return
				case <-beats:
					time.Sleep(tenth * 15)
				}
			}
		}()
		side(2, func(i int) {
			for n := range 60 {
				p.span("work", tenth*time.Duration(10+n*n*7%41+i))
				mark.LogProgress("done")
			}
		})
	}},
}

// ticks calls f at even intervals.
func ticks(over <-chan struct{}, d time.Duration, f func()) {
	ticker := time.NewTicker(d)
	defer ticker.Stop()
	for {
		select {
		case <-over:
			return
		case <-ticker.C:
			f()
		}
	}
}

// TestBucketOfTrace distinguishes token buckets from similar programs, in traces.
func TestBucketOfTrace(t *testing.T) {
	slow(t, "records programs for seconds")
	for name, tt := range tickingPrograms {
		t.Run(name, func(t *testing.T) {
			tried(t, func() error {
				p := &stockProgram{}
				over := make(chan struct{})
				defer close(over)
				rec := p.recorded(t, func() { tt.run(p, over) })
				if b := doubt.FindBuckets(infer.NewProgram(rec, true), rec); (b != nil && !b.Slower) != tt.bucket {
					return fmt.Errorf("%+v, want a bucket: %t", b, tt.bucket)
				}
				return nil
			})
		})
	}
}
