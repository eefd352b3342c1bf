package workloads

import (
	"context"
	"sync"
	"time"
)

// compacted is 6 clients that write under a lock, which a goroutine has for 4 ms each time that it
// has slept for 10 ms.
func compacted(ctx context.Context, p *Program) {
	lock := p.mutex()
	var compactor sync.WaitGroup
	compactor.Go(func() {
		for length := p.Lengths(6, 0.3); ctx.Err() == nil; {
			time.Sleep(10 * ms)
			lock.Lock()
			p.IO(ctx, "compact", length.Of(4*ms))
			lock.Unlock()
		}
	})
	p.clients(ctx, 6, 0.4, func(length *lengths) {
		p.IO(ctx, "prepare", length.Of(5*ms))
		lock.Lock()
		p.IO(ctx, "write", length.Of(800*us))
		lock.Unlock()
	})
	compactor.Wait()
}
