package main

import (
	"context"
	"sync"
	"time"
)

// compacted is 6 clients that write under a lock, which a goroutine has for 4 ms each time that it has slept for 10 ms.
func compacted(ctx context.Context, p *program) {
	lock := p.mutex()
	var compactor sync.WaitGroup
	compactor.Go(func() {
		for length := p.lengths(6, 0.3); ctx.Err() == nil; {
			time.Sleep(10 * ms)
			lock.Lock()
			p.io(ctx, "compact", length.of(4*ms))
			lock.Unlock()
		}
	})
	each(6, func(i int) {
		for length := p.lengths(i, 0.4); ctx.Err() == nil; {
			p.io(ctx, "prepare", length.of(5*ms))
			lock.Lock()
			p.io(ctx, "write", length.of(800*us))
			lock.Unlock()
			p.progress(ctx)
		}
	})
	compactor.Wait()
}
