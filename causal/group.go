package causal

import (
	"context"
	"fmt"
	"sync"
)

// A Group runs functions that belong to one task, each in a goroutine, and collects the first
// error. It is a drop-in for Group of golang.org/x/sync/errgroup that hands virtual time over in
// experiments of [profile.ModeOverlap]: from the caller of Go to the function, from all functions
// to the caller of Wait, and, where their number is limited, from a function that ends to the Go
// that has waited for that.
//
// The zero Group has no limit and cancels nothing. It must not be copied after first use, nor used
// again after Wait.
//
// It costs what [WaitGroup] does and, where there is a limit, two operations of a [Chan].
type Group struct {
	wg     WaitGroup
	cancel context.CancelCauseFunc
	limit  Chan[struct{}] // with an element for each goroutine; zero for no limit

	failed sync.Once
	err    error
}

// GroupWithContext returns a Group and a context from ctx, which is canceled when a function
// returns an error, with that as the cause, or when Wait returns.
func GroupWithContext(ctx context.Context) (*Group, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	return &Group{cancel: cancel}, ctx
}

// SetLimit limits the number of goroutines that run at the same time to n. A negative n is for no
// limit, and zero lets none begin. It panics if goroutines are running under the limit before.
func (g *Group) SetLimit(n int) {
	if n < 0 {
		g.limit = Chan[struct{}]{}
		return
	}
	if running := g.limit.Len(); running != 0 {
		panic(fmt.Errorf("causal: group limit: %d goroutines are running: must be 0", running))
	}
	g.limit = NewChan[struct{}](n)
}

// Go calls f in a new goroutine, once the limit allows it. A panic of f is not recovered.
func (g *Group) Go(f func() error) {
	if g.limit.items != nil {
		g.limit.Send(struct{}{})
	}
	g.start(f)
}

// TryGo is like Go, but if it would have to wait it does nothing. It reports whether it called
// f.
func (g *Group) TryGo(f func() error) bool {
	if g.limit.items != nil && !g.limit.TrySend(struct{}{}) {
		return false
	}
	g.start(f)
	return true
}

func (g *Group) start(f func() error) {
	limit := g.limit
	g.wg.Go(func() {
		if limit.items != nil {
			defer limit.Receive()
		}
		if err := f(); err != nil {
			g.failed.Do(func() {
				g.err = err
				if g.cancel != nil {
					g.cancel(err)
				}
			})
		}
	})
}

// Wait waits until all functions have returned, and returns the first error, if any.
func (g *Group) Wait() error {
	g.wg.Wait()
	if g.cancel != nil {
		g.cancel(g.err)
	}
	return g.err
}
