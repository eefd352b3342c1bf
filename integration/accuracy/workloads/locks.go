package workloads

import (
	"context"
	"sync"
	"time"
)

// tinyLock is two kinds of work that share a lock for 5 µs. Only one of them counts.
func tinyLock(ctx context.Context, p *Program) {
	lock := p.mutex()
	total := 0
	count := func() {
		lock.Lock()
		defer lock.Unlock()
		began := time.Now()
		for time.Since(began) < 5*us {
			total++
		}
	}
	var other sync.WaitGroup
	other.Go(func() {
		for ctx.Err() == nil {
			p.IO(ctx, "other", 3*ms)
			count()
		}
	})
	for ctx.Err() == nil {
		p.IO(ctx, "work", 5*ms)
		count()
		p.progress(ctx)
	}
	other.Wait()
}

// transfers is 6 clients that hold two of four locks at a time.
func transfers(ctx context.Context, p *Program) {
	var accounts [4]sync.Locker
	for i := range accounts {
		accounts[i] = p.mutex()
	}
	p.clients(ctx, 6, 0.4, func(length *lengths) {
		p.IO(ctx, "outside", length.Of(4*ms))
		from, to := length.IntN(4), length.IntN(3)
		if to >= from {
			to++
		}
		first, second := accounts[min(from, to)], accounts[max(from, to)]
		first.Lock()
		second.Lock()
		p.IO(ctx, "inside", length.Of(3*ms))
		second.Unlock()
		first.Unlock()
	})
}

// lru is 8 clients of a cache under an RWMutex. What they do not find, each third time, they load
// and write.
func lru(ctx context.Context, p *Program) {
	cache := p.rwMutex()
	each(8, func(i int) {
		length := p.Lengths(i, 0.3)
		for n := i; ctx.Err() == nil; n++ {
			cache.RLock()
			p.IO(ctx, "read", length.Of(3*ms))
			cache.RUnlock()
			if n%3 == 1 {
				p.IO(ctx, "load", length.Of(5*ms))
				cache.Lock()
				p.IO(ctx, "write", length.Of(2*ms))
				cache.Unlock()
			}
			p.progress(ctx)
		}
	})
}

// singleFlight is 5 clients of a value that is good for 8 uses: one client that finds it used up
// loads it, and the others wait for that one.
func singleFlight(ctx context.Context, p *Program) {
	var (
		lock    = p.mutex()
		loaded  = p.cond(lock)
		loading bool
		uses    int
	)
	use := func(d time.Duration) {
		lock.Lock()
		defer lock.Unlock()
		for uses == 0 {
			if loading {
				loaded.Wait()
				continue
			}
			loading = true
			lock.Unlock()
			p.IO(ctx, "load", d)
			lock.Lock()
			loading, uses = false, 8
			loaded.Broadcast()
		}
		uses--
	}
	p.clients(ctx, 5, 0.4, func(length *lengths) {
		use(length.Of(6 * ms))
		p.IO(ctx, "use", length.Of(4*ms))
	})
}

// onceEach is rounds of four goroutines that all need something which the first of them makes.
func onceEach(ctx context.Context, p *Program) {
	length := p.Lengths(0, 0.3)
	for ctx.Err() == nil {
		d := length.Of(4 * ms)
		made := p.once(func() { p.IO(ctx, "make", d) })
		all := p.waitGroup()
		for range 4 {
			before, after := length.Of(2*ms), length.Of(4*ms)
			all.Go(func() {
				p.IO(ctx, "before", before)
				made()
				p.IO(ctx, "after", after)
			})
		}
		all.Wait()
		p.progress(ctx)
	}
}

// oversubscribed is 6 goroutines that compute most of the time.
func oversubscribed(ctx context.Context, p *Program) {
	each(6, func(int) {
		for ctx.Err() == nil {
			p.CPU(ctx, "c", 1200*us)
			p.CPU(ctx, "w", 800*us)
			p.IO(ctx, "rest", 3*ms)
			p.progress(ctx)
		}
	})
}

// reload is six readers of what a goroutine replaces each 12 ms, under an RWMutex.
func reload(ctx context.Context, p *Program) {
	config := p.rwMutex()
	var reloader sync.WaitGroup
	reloader.Go(func() {
		for length := p.Lengths(6, 0.3); ctx.Err() == nil; {
			time.Sleep(length.Of(12 * ms))
			config.Lock()
			p.IO(ctx, "reload", length.Of(3*ms))
			config.Unlock()
		}
	})
	p.clients(ctx, 6, 0.4, func(length *lengths) {
		config.RLock()
		p.IO(ctx, "read", length.Of(2*ms))
		config.RUnlock()
		p.IO(ctx, "answer", length.Of(3*ms))
	})
	reloader.Wait()
}

// sharded is six clients of a cache in four shards, and a goroutine that goes through all of them,
// again and again.
func sharded(ctx context.Context, p *Program) {
	var shards [4]sync.Locker
	for i := range shards {
		shards[i] = p.mutex()
	}
	var refresher sync.WaitGroup
	refresher.Go(func() {
		for length := p.Lengths(6, 0.3); ctx.Err() == nil; time.Sleep(length.Of(8 * ms)) {
			for _, shard := range shards {
				shard.Lock()
				p.IO(ctx, "refresh", length.Of(2*ms))
				shard.Unlock()
			}
		}
	})
	p.clients(ctx, 6, 0.4, func(length *lengths) {
		p.IO(ctx, "outside", length.Of(3*ms))
		shard := shards[length.IntN(4)]
		shard.Lock()
		p.IO(ctx, "look up", length.Of(ms))
		shard.Unlock()
	})
	refresher.Wait()
}

// someLock is eight clients, a third of whose requests need a lock.
func someLock(ctx context.Context, p *Program) {
	locks := p.locks(p.Types)
	each(8, func(i int) {
		length := p.Lengths(i, 0.4)
		for n := i; ctx.Err() == nil; n++ {
			p.IO(ctx, "common", length.Of(5*ms))
			if n%3 == 0 {
				lock := locks.any()
				lock.Lock()
				p.IO(ctx, "locked", length.Of(3*ms))
				lock.Unlock()
			} else {
				p.IO(ctx, "free", length.Of(2*ms))
			}
			p.progress(ctx)
		}
	})
}

// enclosed is clients whose spans begin before the lock that they wait for, and end behind it.
func enclosed(ctx context.Context, p *Program) {
	locks := p.locks(p.Types)
	p.clients(ctx, 6, 0.4, func(length *lengths) {
		p.IO(ctx, "think", length.Of(5*ms))
		_, span := p.tracer.Start(ctx, "enclosing")
		lock := locks.any()
		lock.Lock()
		p.outside("enclosing", length.Of(2*ms))
		lock.Unlock()
		span.End()
	})
}
