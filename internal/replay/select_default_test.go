package replay

import (
	"testing"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

// TestOffers has a ticker put a token into a bucket of two each 3 ms, where there is room. A worker
// with one works for 4 ms: one that is twice as fast waits for the ticker then, and takes each
// token. The ticker waits as by time.Sleep, in a select statement with another case, or offers by a
// type of package causal, which marks where it begins.
func TestOffers(t *testing.T) {
	for name, way := range map[string]struct{ selects, begins bool }{"sleeps": {}, "selects": {selects: true}, "causal": {begins: true}, "causal, selects": {true, true}} {
		t.Run(name, func(t *testing.T) { offers(t, way.selects, way.begins) })
	}
}

func offers(t *testing.T, selects, begins bool) {
	t.Helper()
	const timer, quit = 8, 9
	const ticker, worker, bucket = 1, 2, 7
	b := trace.NewRecorder(0, 2)
	waits := func(at, g int64) {
		b.Add(trace.Event{Kind: trace.EvWait, At: at, G: b.Goroutine(g), By: trace.NoWaker, Site: 0, Arg: trace.WaitTimer})
	}
	var all script
	room := 0 // all tokens are there at first
	for i := range int64(300) {
		at := 3 * ms * i
		all.add(at+1, func(int64) {
			if i > 0 {
				b.Ready(at, ticker, -1)
				b.Start(at, ticker, 0)
				if selects {
					b.Operate(at, ticker, 'r', timer, 0)
				}
			}
			if begins {
				b.Operate(at+1, ticker, 'Y', bucket, 0)
			}
			if room > 0 {
				room--
				b.Operate(at+1, ticker, 'q', bucket, 2)
			} else {
				b.Operate(at+1, ticker, 'y', 0, 0)
			}
			if selects {
				b.Operate(at+2, ticker, 'Y', quit, 0)
			}
			waits(at+2, ticker)
		})
	}
	for i := range int64(225) {
		at := 4*ms*i + 5
		all.add(at, func(int64) {
			if i > 0 {
				b.Ready(at, worker, -1)
				b.Start(at, worker, 1)
				b.Close(at, worker, uint64(i))
				b.Visit(at, worker, "done")
			}
			room++
			b.Operate(at+1, worker, 'r', bucket, 2)
			b.Open(at+2, worker, uint64(i+1), 0, trace.Region{Name: "work"})
			waits(at+3, worker)
		})
	}
	b.Running(0, ticker)
	b.Running(0, worker)
	all.play()
	rec := recorded(t, b, 900*ms)
	for by, want := range map[float64]float64{0.1: 0.1, 0.5: 0.25, 0.9: 0.25} {
		before, after := Predict(rec, "done", Speedup{trace.Region{Name: "work"}, by})
		if got := 1 - after/before; !isNear(got, want, 0.01) {
			t.Errorf("work %.0f %% faster: %.3f less time between visits, want %.3f", 100*by, got, want)
		}
	}
}
