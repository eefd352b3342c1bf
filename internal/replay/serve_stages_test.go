package replay

import (
	"testing"

	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// TestStagesOfRequests has two clients, whose requests go through two stages of two workers each,
// as
//
//	ctx, root := tracer.Start(ctx, "request")
//	first <- request{ctx}  ->  span "parse" of ctx, second <- request  ->  span "store" of ctx, answer
//
// All spans are children of the request: what the second stage does is neither the work of the
// worker that sent it, nor of the next one, but of the client.
func TestStagesOfRequests(t *testing.T) {
	const (
		rounds, period               = 100, 5 * ms
		first, second, answers       = 1, 2, 10 // channels
		parser, writer               = 2, 4     // the first of two
		request, parse, store, kinds = 1, 2, 3, 4
	)
	b := trace.NewRecorder(0, 2)
	for client := range int64(2) {
		b.Running(client, client)
	}
	for worker := range int64(4) {
		b.Waiting(0, parser+worker)
	}
	var all script
	for round := range int64(rounds) {
		for client := range int64(2) {
			begins := round*period + client*period/2 + 10
			span := func(kind int64) uint64 { return uint64(kinds*(2*round+client) + kind) }
			p, w := parser+client, writer+client // those that have waited for longer
			work := func(at, g int64, from uint64, kind int64, name string) {
				b.Start(at, g, 1)
				b.Operate(at+1, g, 'r', from, 4)
				b.Open(at+2, g, span(kind), span(request), trace.Region{Name: name})
				b.Wait(at+3, g, trace.WaitTimer)
			}
			done := func(at, g int64, kind int64, to uint64, next int64) {
				b.Ready(at, g, -1)
				b.Start(at+1, g, 1)
				b.Close(at+2, g, span(kind))
				b.Operate(at+3, g, 's', to, 4)
				b.Ready(at+4, next, g)
			}
			again := func(at, g int64, from uint64) {
				b.Operate(at, g, 'R', from, 4)
				b.Wait(at+1, g, trace.WaitReceive)
			}
			all.add(begins, func(at int64) {
				b.Open(at, client, span(request), 0, trace.Region{Name: "request"})
				b.Operate(at+1, client, 's', first, 4)
				b.Ready(at+2, p, client)
				again(at+3, client, answers+uint64(client))
				work(at+10, p, first, parse, "parse")
			})
			all.add(begins+ms, func(at int64) {
				done(at, p, parse, second, w)
				again(at+5, p, first)
				work(at+10, w, second, store, "store")
			})
			all.add(begins+2*ms, func(at int64) {
				done(at, w, store, answers+uint64(client), client)
				again(at+5, w, second)
				b.Start(at+10, client, client)
				b.Operate(at+11, client, 'r', answers+uint64(client), 4)
				b.Close(at+12, client, span(request))
				b.Visit(at+13, client, "done")
				b.Wait(at+14, client, trace.WaitTimer)
			})
			all.add(begins+period-20, func(at int64) {
				b.Ready(at, client, -1)
				b.Start(at+1, client, client)
			})
		}
	}
	all.play()
	p := infer.NewProgram(recorded(t, b, rounds*period+ms), true)
	for i := range p.Lists {
		if serves, want := p.Lists[i].Serves >= 0, i >= parser; serves != want {
			t.Errorf("goroutine %d serves: %t, want %t", i, serves, want)
		}
	}
}
