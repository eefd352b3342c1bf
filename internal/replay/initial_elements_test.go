package replay

import (
	"testing"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

// TestInitialElements has three clients, who think for 2 ms, and a server that takes 3 ms for each
// and is always busy, so that its channel is never empty: of the two requests that are there at
// first the levels show one. With 0.15 ms each client comes each 2.15 ms, and waits for itself.
func TestInitialElements(t *testing.T) {
	const (
		rounds, clients, think, served = 300, 3, 2 * ms, 3 * ms
		server, asks, answers          = 9, 1, 10
	)
	b := trace.NewRecorder(0, 2)
	b.Running(0, server)
	for client := range int64(clients) {
		b.Running(0, client)
	}
	var all script
	awaits := func(at, client int64) {
		b.Operate(at, client, 'R', answers+uint64(client), 1)
		b.Wait(at+1, client, trace.WaitReceive)
	}
	for client := range int64(clients) {
		all.add(1+client, func(at int64) { awaits(at, client) })
	}
	for round := range int64(rounds) {
		client := (round + clients - 1) % clients
		all.add(round*served+10, func(at int64) {
			if round > 0 {
				b.Ready(at, server, -1)
				b.Start(at, server, 1)
				b.Close(at+1, server, uint64(round))
			}
			b.Operate(at+2, server, 's', answers+uint64(client), 1)
			b.Ready(at+3, client, server)
			b.Operate(at+4, server, 'r', asks, 4)
			b.Open(at+5, server, uint64(round+1), 0, trace.Region{Name: "serve"})
			b.Wait(at+6, server, trace.WaitTimer)
			b.Start(at+10, client, 0)
			b.Operate(at+11, client, 'r', answers+uint64(client), 1)
			b.Visit(at+12, client, "done")
			b.Wait(at+13, client, trace.WaitTimer)
		})
		all.add(round*served+10+think, func(at int64) {
			b.Ready(at, client, -1)
			b.Start(at, client, 0)
			b.Operate(at+1, client, 's', asks, 4)
			awaits(at+2, client)
		})
	}
	all.play()
	rec := recorded(t, b, rounds*served)
	before, after := Predict(rec, "done", Speedup{trace.Region{Name: "serve"}, 0.95})
	if got := 1 - after/before; !isNear(got, 1-2.15/9, 0.01) {
		t.Errorf("served 95 %% faster: %.3f less time, want %.3f", got, 1-2.15/9)
	}
}
