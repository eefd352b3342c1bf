package main

import (
	"context"
	"sync"
	"time"
)

// tinyLock is two kinds of work that share a lock for 5 µs. Only one of them counts.
func tinyLock(ctx context.Context, p *program) {
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
			p.io(ctx, "other", 3*ms)
			count()
		}
	})
	for ctx.Err() == nil {
		p.io(ctx, "work", 5*ms)
		count()
		p.progress(ctx)
	}
	other.Wait()
}

// transfers is 6 clients that hold two of four locks at a time.
func transfers(ctx context.Context, p *program) {
	var accounts [4]sync.Locker
	for i := range accounts {
		accounts[i] = p.mutex()
	}
	each(6, func(i int) {
		for length := p.lengths(i, 0.4); ctx.Err() == nil; {
			p.io(ctx, "outside", length.of(4*ms))
			from, to := length.IntN(4), length.IntN(3)
			if to >= from {
				to++
			}
			first, second := accounts[min(from, to)], accounts[max(from, to)]
			first.Lock()
			second.Lock()
			p.io(ctx, "inside", length.of(3*ms))
			second.Unlock()
			first.Unlock()
			p.progress(ctx)
		}
	})
}

// lru is 8 clients of a cache under an RWMutex. What they do not find, each third time, they load and write.
func lru(ctx context.Context, p *program) {
	cache := p.rwMutex()
	each(8, func(i int) {
		length := p.lengths(i, 0.3)
		for n := i; ctx.Err() == nil; n++ {
			cache.RLock()
			p.io(ctx, "read", length.of(3*ms))
			cache.RUnlock()
			if n%3 == 1 {
				p.io(ctx, "load", length.of(5*ms))
				cache.Lock()
				p.io(ctx, "write", length.of(2*ms))
				cache.Unlock()
			}
			p.progress(ctx)
		}
	})
}

// singleFlight is 5 clients of a value that is good for 8 uses: one client that finds it used up loads it, and
// the others wait for that one.
func singleFlight(ctx context.Context, p *program) {
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
			p.io(ctx, "load", d)
			lock.Lock()
			loading, uses = false, 8
			loaded.Broadcast()
		}
		uses--
	}
	each(5, func(i int) {
		for length := p.lengths(i, 0.4); ctx.Err() == nil; {
			use(length.of(6 * ms))
			p.io(ctx, "use", length.of(4*ms))
			p.progress(ctx)
		}
	})
}

// onceEach is rounds of four goroutines that all need something which the first of them makes.
func onceEach(ctx context.Context, p *program) {
	length := p.lengths(0, 0.3)
	for ctx.Err() == nil {
		d := length.of(4 * ms)
		made := p.once(func() { p.io(ctx, "make", d) })
		all := p.waitGroup()
		for range 4 {
			before, after := length.of(2*ms), length.of(4*ms)
			all.Go(func() {
				p.io(ctx, "before", before)
				made()
				p.io(ctx, "after", after)
			})
		}
		all.Wait()
		p.progress(ctx)
	}
}

// oversubscribed is 6 goroutines that compute most of the time.
func oversubscribed(ctx context.Context, p *program) {
	each(6, func(int) {
		for ctx.Err() == nil {
			p.cpu(ctx, "c", 1200*us)
			p.cpu(ctx, "w", 800*us)
			p.io(ctx, "rest", 3*ms)
			p.progress(ctx)
		}
	})
}

// reload is six readers of what a goroutine replaces each 12 ms, under an RWMutex.
func reload(ctx context.Context, p *program) {
	config := p.rwMutex()
	var reloader sync.WaitGroup
	reloader.Go(func() {
		for length := p.lengths(6, 0.3); ctx.Err() == nil; {
			time.Sleep(length.of(12 * ms))
			config.Lock()
			p.io(ctx, "reload", length.of(3*ms))
			config.Unlock()
		}
	})
	each(6, func(i int) {
		for length := p.lengths(i, 0.4); ctx.Err() == nil; {
			config.RLock()
			p.io(ctx, "read", length.of(2*ms))
			config.RUnlock()
			p.io(ctx, "answer", length.of(3*ms))
			p.progress(ctx)
		}
	})
	reloader.Wait()
}

// sharded is six clients of a cache in four shards, and a goroutine that goes through all of them, again and again.
func sharded(ctx context.Context, p *program) {
	var shards [4]sync.Locker
	for i := range shards {
		shards[i] = p.mutex()
	}
	var refresher sync.WaitGroup
	refresher.Go(func() {
		for length := p.lengths(6, 0.3); ctx.Err() == nil; time.Sleep(length.of(8 * ms)) {
			for _, shard := range shards {
				shard.Lock()
				p.io(ctx, "refresh", length.of(2*ms))
				shard.Unlock()
			}
		}
	})
	each(6, func(i int) {
		for length := p.lengths(i, 0.4); ctx.Err() == nil; {
			p.io(ctx, "outside", length.of(3*ms))
			shard := shards[length.IntN(4)]
			shard.Lock()
			p.io(ctx, "look up", length.of(ms))
			shard.Unlock()
			p.progress(ctx)
		}
	})
	refresher.Wait()
}

// someLock is eight clients, a third of whose requests need a lock.
func someLock(ctx context.Context, p *program) {
	locks := p.locks(p.types)
	each(8, func(i int) {
		length := p.lengths(i, 0.4)
		for n := i; ctx.Err() == nil; n++ {
			p.io(ctx, "common", length.of(5*ms))
			if n%3 == 0 {
				lock := locks.any()
				lock.Lock()
				p.io(ctx, "locked", length.of(3*ms))
				lock.Unlock()
			} else {
				p.io(ctx, "free", length.of(2*ms))
			}
			p.progress(ctx)
		}
	})
}

// enclosed is clients whose spans begin before the lock that they wait for, and end behind it.
func enclosed(ctx context.Context, p *program) {
	locks := p.locks(p.types)
	each(6, func(i int) {
		length := p.lengths(i, 0.4)
		for ctx.Err() == nil {
			p.io(ctx, "think", length.of(5*ms))
			_, span := p.tracer.Start(ctx, "enclosing")
			lock := locks.any()
			lock.Lock()
			p.outside("enclosing", length.of(2*ms))
			lock.Unlock()
			span.End()
			p.progress(ctx)
		}
	})
}
