package workloads

import (
	"context"
)

// bounded is two producers and two consumers of a queue of three places, by a lock and two
// condition variables.
func bounded(ctx context.Context, p *Program) {
	lock := p.mutex()
	notFull, notEmpty := p.cond(lock), p.cond(lock)
	items, closed := 0, false
	consumers := p.waitGroup()
	for i := range 2 {
		consumers.Go(func() {
			for length := p.Lengths(i, 0.4); ; {
				lock.Lock()
				for items == 0 && !closed {
					notEmpty.Wait()
				}
				if items == 0 {
					lock.Unlock()
					return
				}
				items--
				notFull.Signal()
				lock.Unlock()
				p.IO(ctx, "consume", length.Of(7*ms))
				p.progress(ctx)
			}
		})
	}
	each(2, func(i int) {
		for length := p.Lengths(2+i, 0.4); ctx.Err() == nil; {
			p.IO(ctx, "produce", length.Of(5*ms))
			lock.Lock()
			for items == 3 {
				notFull.Wait()
			}
			items++
			notEmpty.Signal()
			lock.Unlock()
		}
	})
	lock.Lock()
	closed = true
	notEmpty.Broadcast()
	lock.Unlock()
	consumers.Wait()
}

// pubSub is a publisher and four subscribers that are notified of each issue, and take the latest
// one when they are done with another.
func pubSub(ctx context.Context, p *Program) {
	lock := p.mutex()
	published := p.cond(lock)
	issue, closed := 0, false
	subscribers := p.waitGroup()
	for i := range 4 {
		subscribers.Go(func() {
			length, read := p.Lengths(i, 0.5), 0
			for {
				lock.Lock()
				for issue == read && !closed {
					published.Wait()
				}
				read = issue
				over := closed
				lock.Unlock()
				if over {
					return
				}
				p.IO(ctx, "read", length.Of(5*ms))
				p.progress(ctx)
			}
		})
	}
	for length := p.Lengths(4, 0.3); ctx.Err() == nil; {
		p.IO(ctx, "publish", length.Of(4*ms))
		lock.Lock()
		issue++
		published.Broadcast()
		lock.Unlock()
	}
	lock.Lock()
	closed = true
	published.Broadcast()
	lock.Unlock()
	subscribers.Wait()
}

// barrier is four goroutines that do a piece of work each, and wait for each other. One of them has
// more to do.
func barrier(ctx context.Context, p *Program) {
	lock := p.mutex()
	all := p.cond(lock)
	came, round, over := 0, 0, false
	meet := func() bool {
		lock.Lock()
		defer lock.Unlock()
		came++
		if came == 4 {
			came, round, over = 0, round+1, ctx.Err() != nil
			all.Broadcast()
			p.progress(ctx)
			return !over
		}
		for mine := round; mine == round; {
			all.Wait()
		}
		return !over
	}
	each(4, func(i int) {
		region, d := "equal", 4*ms
		if i == 0 {
			region, d = "longer", 5*ms
		}
		for length := p.Lengths(i, 0.6); ; {
			p.IO(ctx, region, length.Of(d))
			if !meet() {
				return
			}
		}
	})
}
