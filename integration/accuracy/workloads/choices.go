package workloads

import (
	"context"
	"sync"
	"time"
)

// collecting is three workers, and one goroutine that takes their results, each 25 ms what there is
// of a report as well.
func collecting(ctx context.Context, p *Program) {
	jobs, results, reports := newChannel[int](p.Types, 3), newChannel[int](p.Types, 0), newChannel[int](p.Types, 0)
	var all sync.WaitGroup
	all.Go(func() {
		defer jobs.Close()
		for i := 0; ctx.Err() == nil; i++ {
			jobs.Send(i)
		}
	})
	workers := p.waitGroup()
	for i := range 3 {
		workers.Go(func() {
			length := p.Lengths(i, 0.5)
			for job, ok := jobs.Receive(); ok; job, ok = jobs.Receive() {
				p.IO(ctx, "work", length.Of(6*ms))
				results.Send(job)
			}
		})
	}
	stop := make(chan struct{})
	all.Go(func() {
		length := p.Lengths(3, 0.3)
		defer reports.Close()
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(length.Of(25 * ms)):
			}
			reports.Send(i)
		}
	})
	all.Go(func() {
		length := p.Lengths(4, 0.5)
		for {
			_, result, ok := receiveEither(p.Types, results, reports)
			switch {
			case !ok:
				return
			case result:
				p.IO(ctx, "collect", length.Of(2*ms))
				p.progress(ctx)
			default:
				p.IO(ctx, "report", length.Of(4*ms))
			}
		}
	})
	<-ctx.Done()
	workers.Wait()
	close(stop)
	all.Wait()
}

// retried is four clients that ask two servers, and ask again if there is no answer within 10 ms.
// Each sixth answer takes longer.
func retried(ctx context.Context, p *Program) {
	type ask struct{ answer channel[int] }
	asks := newChannel[ask](p.Types, 4)
	var servers sync.WaitGroup
	for i := range 2 {
		servers.Go(func() {
			length, n := p.Lengths(i, 0.4), i
			for a, ok := asks.Receive(); ok; a, ok = asks.Receive() {
				d := 3 * ms
				if n++; n%6 == 0 {
					d = 14 * ms
				}
				p.IO(ctx, "serve", length.Of(d))
				a.answer.Send(n)
			}
		})
	}
	each(4, func(i int) {
		for length := p.Lengths(2+i, 0.4); ctx.Err() == nil; {
			p.IO(ctx, "think", length.Of(8*ms))
			for late := true; late; {
				a := ask{newChannel[int](p.Types, 1)}
				asks.Send(a)
				_, _, late = a.answer.ReceiveWithin(10 * ms)
			}
			p.progress(ctx)
		}
	})
	asks.Close()
	servers.Wait()
}

// backoff is four clients that look whether a place is free, and look again after a sleep that
// doubles.
func backoff(ctx context.Context, p *Program) {
	place := newChannel[int](p.Types, 1)
	place.Send(1)
	p.clients(ctx, 4, 0.4, func(length *lengths) {
		p.IO(ctx, "outside", length.Of(7*ms))
		for pause := ms; ; pause = min(2*pause, 8*ms) {
			if _, free := place.TryReceive(); free {
				break
			}
			time.Sleep(length.Of(pause))
		}
		p.IO(ctx, "inside", length.Of(2500*us))
		place.Send(1)
	})
}

// deadlines is five clients that give up a call after 8 ms, and try again. One in three takes
// longer.
func deadlines(ctx context.Context, p *Program) {
	p.clients(ctx, 5, 0.9, func(length *lengths) {
		p.IO(ctx, "think", length.Of(5*ms))
		for late := true; late; {
			within, cancel := context.WithTimeout(ctx, 8*ms)
			late = !p.called(within, "call", length.Of(6*ms))
			cancel()
			if late && ctx.Err() == nil {
				time.Sleep(2 * ms)
			}
			late = late && ctx.Err() == nil
		}
	})
}

// timeouts is four clients that wait for a call on a goroutine of its own, for 7 ms at most, and go
// on without it. Varied by half, one in ten takes longer.
func timeouts(ctx context.Context, p *Program) {
	var calls sync.WaitGroup
	p.clients(ctx, 4, 0.5, func(length *lengths) {
		answer := newChannel[int](p.Types, 1)
		d := length.Of(5 * ms)
		calls.Go(func() {
			p.IO(ctx, "call", d)
			answer.Send(1)
		})
		answer.ReceiveWithin(7 * ms)
		p.IO(ctx, "after", length.Of(2*ms))
	})
	calls.Wait()
}

// called is a span that waits for d, unless that is made faster, or until ctx ends; it reports
// whether d was over first.
func (p *Program) called(ctx context.Context, region string, d time.Duration) bool {
	_, span := p.tracer.Start(ctx, region)
	defer span.End()
	answer := time.NewTimer(time.Duration(p.share(region, float64(d))))
	defer answer.Stop()
	select {
	case <-answer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// hedged (hedged requests) is four clients that ask one replica, and, if it has not answered within
// 5 ms, another one. The first answer counts.
func hedged(ctx context.Context, p *Program) {
	var started sync.WaitGroup
	each(4, func(i int) {
		length := p.Lengths(i, 0.9)
		for ctx.Err() == nil {
			in, request := p.tracer.Start(ctx, "request")
			answers := newChannel[int](p.Types, 2)
			ask := func(d time.Duration) {
				started.Go(func() {
					p.IO(in, "replica", d)
					answers.Send(i)
				})
			}
			first, second := length.Of(6*ms), length.Of(6*ms)
			ask(first)
			if _, _, late := answers.ReceiveWithin(5 * ms); late {
				ask(second)
				answers.Receive()
			}
			request.End()
			p.progress(ctx)
			p.IO(ctx, "use", length.Of(3*ms))
		}
	})
	started.Wait()
}

// priority is two workers that take urgent jobs first, of three clients, and others, of four, when
// there are none.
func priority(ctx context.Context, p *Program) {
	type job struct {
		region string
		d      time.Duration
		done   channel[int]
	}
	urgent, others := newChannel[job](p.Types, 8), newChannel[job](p.Types, 8)
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for {
				j, ok := urgent.TryReceive()
				if !ok {
					if j, _, ok = receiveEither(p.Types, urgent, others); !ok {
						return
					}
				}
				p.IO(ctx, j.region, j.d)
				j.done.Send(1)
			}
		})
	}
	each(7, func(i int) {
		queue, region, d := urgent, "urgent", 2*ms
		if i > 2 {
			queue, region, d = others, "other", 3*ms
		}
		length, done := p.Lengths(i, 0.4), newChannel[int](p.Types, 1)
		for ctx.Err() == nil {
			p.IO(ctx, "think", length.Of(6*ms))
			queue.Send(job{region, length.Of(d), done})
			done.Receive()
			if i > 2 {
				p.progress(ctx)
			}
		}
	})
	urgent.Close()
	others.Close()
	workers.Wait()
}
