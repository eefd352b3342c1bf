package workloads

import (
	"context"
	"time"
)

// ticking is four workers that wait for a ticker before each piece of work: it lets one go on each
// 3 ms.
func ticking(ctx context.Context, p *Program) {
	ticker := time.NewTicker(3 * ms)
	defer ticker.Stop()
	p.clients(ctx, 4, 0.4, func(length *lengths) {
		<-ticker.C
		p.IO(ctx, "work", length.Of(7*ms))
	})
}

// paced is three loops that sleep until a fixed time has passed since they began the last turn.
// They share a lock.
func paced(ctx context.Context, p *Program) {
	lock := p.mutex()
	each(3, func(i int) {
		length := p.Lengths(i, 0.4)
		for due := time.Now(); ctx.Err() == nil; time.Sleep(time.Until(due)) {
			p.IO(ctx, "work", length.Of(4*ms))
			lock.Lock()
			p.IO(ctx, "note", ms)
			lock.Unlock()
			p.progress(ctx)
			if due = due.Add(8 * ms); time.Until(due) < -40*ms { // it does not make up for more
				due = time.Now()
			}
		}
	})
}
