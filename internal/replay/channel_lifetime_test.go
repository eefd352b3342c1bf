package replay

import (
	"testing"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

// TestAnswerThatComesTooLate has two goroutines answer a request, after 2 ms and after 4 ms, on a
// channel of its own. The first answer is taken, and used for 5 ms; the other one stays in the
// channel. Where the replay has the same request once more, that is not its answer.
func TestAnswerThatComesTooLate(t *testing.T) {
	const (
		rounds  = 100
		period  = 7 * ms
		starter = 0
	)
	b := trace.NewRecorder(0, 2)
	b.Running(0, starter)
	var all script
	for round := range int64(rounds) {
		begins := round*period + 10
		channel := uint64(round + 1)
		replicas := []struct {
			name  string
			takes int64
		}{{"fast", 2 * ms}, {"slow", 4 * ms}}
		all.add(begins, func(at int64) {
			b.Operate(at, starter, 'c', channel, 2)
			for n := range replicas {
				b.Create(at+1+int64(n), 1+2*round+int64(n), starter)
			}
			b.Operate(at+3, starter, 'R', channel, 2)
			b.Wait(at+4, starter, trace.WaitReceive)
		})
		for n, replica := range replicas {
			g := 1 + 2*round + int64(n)
			all.add(begins+10+int64(5*n), func(at int64) {
				b.Start(at, g, 1)
				b.Open(at+1, g, uint64(3*round+2)+uint64(n), 0, trace.Region{Name: replica.name})
				b.Wait(at+2, g, trace.WaitTimer)
			})
			all.add(begins+replica.takes, func(at int64) {
				b.Ready(at, g, -1)
				b.Start(at+1, g, 1)
				b.Close(at+2, g, uint64(3*round+2)+uint64(n))
				b.Operate(at+3, g, 's', channel, 2)
				if n == 0 {
					b.Ready(at+4, starter, g)
				}
				b.End(at+5, g)
			})
		}
		all.add(begins+2*ms+10, func(at int64) {
			b.Start(at, starter, 0)
			b.Operate(at+1, starter, 'r', channel, 2)
			b.Open(at+2, starter, uint64(3*round+1), 0, trace.Region{Name: "use"})
			b.Wait(at+3, starter, trace.WaitTimer)
		})
		all.add(begins+period-10, func(at int64) {
			b.Ready(at, starter, -1)
			b.Start(at+1, starter, 0)
			b.Close(at+2, starter, uint64(3*round+1))
			b.Visit(at+3, starter, "done")
		})
	}
	all.play()
	rec := recorded(t, b, rounds*period+ms)
	before, after := Predict(rec, "done", Speedup{trace.Region{Name: "use"}, 0.9})
	if got, want := 1-after/before, 4.5/7; !isNear(got, want, 0.01) {
		t.Errorf("90 %% faster: %.3f less time between visits, want %.3f", got, want)
	}
}
