package workloads

import (
	"context"
	"sync/atomic"
	"time"
)

// ticking is four workers that wait for a ticker before each piece of work: it lets one go on each
// 3 ms.
func ticking(ctx context.Context, p *Program) {
	ticker := time.NewTicker(3 * ms)
	defer ticker.Stop()
	each(4, func(i int) {
		for length := p.Lengths(i, 0.4); ctx.Err() == nil; {
			<-ticker.C
			p.IO(ctx, "work", length.Of(7*ms))
			p.progress(ctx)
		}
	})
}

// paced is three loops that sleep until a fixed time has passed since they began the last turn, and
// a fourth that does as much as it can. They share a lock.
func paced(ctx context.Context, p *Program) {
	lock := p.mutex()
	var turns atomic.Int64
	each(3, func(i int) {
		length := p.Lengths(i, 0.4)
		for due := time.Now(); ctx.Err() == nil; time.Sleep(time.Until(due)) {
			p.IO(ctx, "work", length.Of(4*ms))
			lock.Lock()
			p.IO(ctx, "note", ms)
			lock.Unlock()
			turns.Add(1)
			p.progress(ctx)
			if due = due.Add(8 * ms); time.Until(due) < -40*ms { // it does not make up for more
				due = time.Now()
			}
		}
	})
}
