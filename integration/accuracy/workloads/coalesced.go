package workloads

import (
	"context"
	"sync"
	"time"
)

// coalesced is 6 clients whose requests are gathered for 3 ms by a timer, which the first of them
// sets, and then answered together.
func coalesced(ctx context.Context, p *Program) {
	var (
		lock     = p.mutex()
		gathered channel[int]
		flushes  sync.WaitGroup
		length   = p.Lengths(6, 0.3)
	)
	join := func() channel[int] {
		lock.Lock()
		defer lock.Unlock()
		if gathered == nil {
			all, d := newChannel[int](p.Types, 0), length.Of(4*ms)
			gathered = all
			flushes.Add(1)
			time.AfterFunc(3*ms, func() {
				defer flushes.Done()
				lock.Lock()
				gathered = nil
				lock.Unlock()
				p.IO(ctx, "flush", d)
				all.Close()
			})
		}
		return gathered
	}
	p.clients(ctx, 6, 0.5, func(length *lengths) {
		p.IO(ctx, "prepare", length.Of(5*ms))
		join().Receive()
	})
	flushes.Wait()
}
