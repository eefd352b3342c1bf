package replay

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/infer"
)

// TestPauses: what requests wait for in pauses is decided by time; what they sleep for each time,
// each n-th time, or within spans that not all of them have, is not.
func TestPauses(t *testing.T) {
	slow(t, "records programs for seconds")
	const ms = time.Millisecond
	for name, tt := range map[string]struct {
		request func(p *stockProgram, lock *sync.Mutex, n int)
		want    bool
	}{
		"deadlines": {func(p *stockProgram, _ *sync.Mutex, n int) {
			for late := true; late; n = rand.IntN(5) {
				ctx, cancel := context.WithTimeout(t.Context(), 4*ms)
				over := time.NewTimer(time.Duration(1+n%3*4) * ms)
				select {
				case <-over.C:
					late = false
				case <-ctx.Done():
				}
				cancel()
			}
		}, true},
		"answers that may be late": {func(p *stockProgram, _ *sync.Mutex, _ int) {
			answer, d := make(chan int, 1), time.Duration(1+rand.IntN(3)*4)*ms
			go func() {
				p.span("answer", d)
				answer <- 1
			}()
			select {
			case <-answer:
			case <-time.After(4 * ms):
				p.span("give up", ms)
			}
		}, true},
		"back-off": {func(p *stockProgram, lock *sync.Mutex, _ int) {
			for !lock.TryLock() {
				time.Sleep(ms)
			}
			p.span("inside", 2*ms)
			lock.Unlock()
		}, true},
		"of helpers": {func(p *stockProgram, lock *sync.Mutex, _ int) {
			side(2, func(int) {
				for !lock.TryLock() {
					time.Sleep(2 * ms)
				}
				p.span("inside", 2*ms)
				lock.Unlock()
			})
		}, true},
		"each time": {func(p *stockProgram, _ *sync.Mutex, _ int) {
			time.Sleep(ms)
			p.span("work", 2*ms)
		}, false},
		"seldom, but long": {func(p *stockProgram, _ *sync.Mutex, n int) {
			p.span("work", ms)
			if n == 3 || n == 17 { // of forty rounds, most of the time
				time.Sleep(40 * ms)
			}
		}, true},
		"each third time": {func(p *stockProgram, _ *sync.Mutex, n int) {
			if n%3 == 0 {
				time.Sleep(2 * ms)
			}
			p.span("work", 2*ms)
		}, false},
		"in spans": {func(p *stockProgram, _ *sync.Mutex, _ int) {
			if rand.IntN(3) == 0 {
				p.span("load", 3*ms)
			}
			p.span("work", 2*ms)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			tried(t, func() error {
				p := &stockProgram{}
				var lock sync.Mutex
				rec := p.recorded(t, func() {
					side(3, func(int) {
						for n := range 40 {
							p.span("think", ms)
							tt.request(p, &lock, n)
							mark.LogProgress("done")
						}
					})
				})
				if got := doubt.Pauses(infer.NewProgram(rec, true))["done"].Part; (got > doubt.MaxUndecided) != tt.want {
					return fmt.Errorf("%.2f of the time for pauses, want more than %g: %t", got, doubt.MaxUndecided, tt.want)
				}
				return nil
			})
		})
	}
}
