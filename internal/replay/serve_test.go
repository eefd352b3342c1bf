package replay

import "testing"

// TestPlacesOfTasks has a goroutine start four tasks of 2 ms, two at a time: it sends to a channel of two places before each of them, and
// the task receives when it is done, as in a group with a limit. Nobody serves there.
func TestPlacesOfTasks(t *testing.T) {
	const (
		rounds = 100
		period = 5 * ms
	)
	b := NewRecorder(0, 2)
	b.Running(0, 0)
	var all script
	for round := range int64(rounds) {
		begins := round*period + 10
		places, group := uint64(2*round+1), uint64(2*round+2)
		task := func(n int64) int64 { return 1 + 4*round + n }
		start := func(at, n int64) { // by the goroutine, once it has a place
			b.Operate(at, 0, 'g', group, 1)
			b.Create(at+1, task(n), 0)
		}
		work := func(at, n int64) {
			b.Start(at, task(n), 1)
			b.Open(at+1, task(n), uint64(task(n)), 0, Region{Name: "task"})
			b.Wait(at+2, task(n), waitTimer)
		}
		done := func(at, n int64) {
			b.Ready(at, task(n), -1)
			b.Start(at+1, task(n), 1)
			b.Close(at+2, task(n), uint64(task(n)))
			b.Operate(at+3, task(n), 'r', places, 2)
		}
		end := func(at, n int64) {
			b.Operate(at, task(n), 'g', group, -1)
			b.End(at+1, task(n))
		}
		all.add(begins, func(at int64) {
			for n := range int64(2) {
				b.Operate(at+3*n, 0, 's', places, 2)
				start(at+3*n+1, n)
			}
			b.Operate(at+10, 0, 'S', places, 2)
			b.Wait(at+11, 0, waitOther)
		})
		all.add(begins+20, func(at int64) { work(at, 0) })
		all.add(begins+30, func(at int64) { work(at, 1) })
		all.add(begins+2*ms+20, func(at int64) {
			done(at, 0)
			b.Ready(at+4, 0, task(0))
			end(at+5, 0)
			done(at+10, 1)
			end(at+15, 1)
			b.Start(at+20, 0, 0)
			b.Operate(at+21, 0, 's', places, 2)
			start(at+22, 2)
			b.Operate(at+24, 0, 's', places, 2)
			start(at+25, 3)
			b.Operate(at+27, 0, 'V', group, 0)
			b.Wait(at+28, 0, waitOther)
			work(at+30, 2)
			work(at+40, 3)
		})
		all.add(begins+4*ms+60, func(at int64) {
			done(at, 2)
			end(at+5, 2)
			done(at+10, 3)
			end(at+15, 3)
			b.Ready(at+14, 0, task(3))
			b.Start(at+20, 0, 0)
			b.Operate(at+21, 0, 'v', group, 0)
			b.Visit(at+22, 0, "done")
			b.Wait(at+23, 0, waitTimer)
		})
		all.add(begins+period-10, func(at int64) {
			b.Ready(at, 0, -1)
			b.Start(at+1, 0, 0)
		})
	}
	all.play()
	rec := recorded(t, b, rounds*period+ms)
	before, after := rec.Predict("done", Speedup{Region{Name: "task"}, 0.5})
	if got, want := 1-after/before, 0.4; !isNear(got, want, 0.01) {
		t.Errorf("tasks of half the time: %.3f less time between visits, want %.3f", got, want)
	}
}
