package workloads

import (
	"context"
	"time"
)

// answered are programs in which a goroutine starts others and waits for their answers.
func answered() []Workload {
	return []Workload{
		{
			Name: "quorum", About: "5 clients, 3 ms each, and a write to replicas of 4, 5 and 7 ms, of which two must answer", Class: Outside,
			Regions: []string{"mid", "slow", "think"}, Run: quorum, Varies: true,
		},
		{
			Name: "results", About: "4 clients, 4.5 ms each beside three goroutines of 3, 5 and 6 ms, whose results come by a channel", Class: Outside,
			Regions: []string{"own", "five", "six"}, Run: results, Varies: true,
		},
		{
			Name: "futures", About: "2 ms, then 5 ms, and 3 ms and 4 ms, side by side, each a goroutine that closes a channel, and 2 ms", Class: Outside,
			Regions: []string{"b", "c", "d"}, Run: futures, Varies: true,
		},
	}
}

// replicate starts a goroutine for each of some spans, with an answer by a channel that has room
// for all.
func (p *Program) replicate(ctx context.Context, names []string, lengths []time.Duration) channel[string] {
	answers := newChannel[string](p.Types, len(names))
	for i, name := range names {
		go func() {
			p.IO(ctx, name, lengths[i])
			answers.Send(name)
		}()
	}
	return answers
}

// quorum has 5 clients go on when two of three replicas have answered.
func quorum(ctx context.Context, p *Program) {
	p.clients(ctx, 5, 0.5, func(length *lengths) {
		p.IO(ctx, "think", length.Of(3*ms))
		answers := p.replicate(ctx, []string{"fast", "mid", "slow"}, []time.Duration{length.Of(4 * ms), length.Of(5 * ms), length.Of(7 * ms)})
		answers.Receive()
		answers.Receive()
	})
}

// results has 4 clients work beside three goroutines, and then take the results, which often are
// there by then.
func results(ctx context.Context, p *Program) {
	p.clients(ctx, 4, 0.4, func(length *lengths) {
		answers := p.replicate(ctx, []string{"three", "five", "six"}, []time.Duration{length.Of(3 * ms), length.Of(5 * ms), length.Of(6 * ms)})
		p.IO(ctx, "own", length.Of(4500*us))
		for range 3 {
			answers.Receive()
		}
	})
}

// futures is rounds of goroutines that wait for each other's results: b and c for a, d for c, and
// the round for b and then for d.
func futures(ctx context.Context, p *Program) {
	for length := p.Lengths(0, 0.5); ctx.Err() == nil; {
		start := func(name string, d time.Duration, after ...channel[int]) channel[int] {
			over := newChannel[int](p.Types, 0)
			go func() {
				for _, x := range after {
					x.Receive()
				}
				p.IO(ctx, name, d)
				over.Close()
			}()
			return over
		}
		lengths := [4]time.Duration{length.Of(2 * ms), length.Of(5 * ms), length.Of(3 * ms), length.Of(4 * ms)}
		e := length.Of(2 * ms)
		a := start("a", lengths[0])
		b, c := start("b", lengths[1], a), start("c", lengths[2], a)
		d := start("d", lengths[3], c)
		b.Receive()
		d.Receive()
		p.IO(ctx, "e", e)
		p.progress(ctx)
	}
}
