package infer

import (
	"math"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A ticker, or a loop that sleeps until its next turn is due, has its waits end at even times. Work
// in between that is faster makes the wait longer, and brings nothing:
//
//	ticks           0         3         6         9
//	recorded        |work|wait|work  |wa|work|wait|
//	faster          |w|  wait |wo|  wait|w|  wait |      still one each 3 ms
//	time.Sleep(1)   |work|wait|work  |wait|work|wait|    faster work counts here
//
// The runtime keeps the grid: a ticker's next time is its last one plus the period, or a multiple
// of it (unlockAndRun in runtime/time.go), however late it was. Where waits begin when the ones
// before are over, lateness adds up instead. cond.Even holds the jitter of the ends against that of
// the lengths. TestTimetable has both, TestEven what only seems even.
//
// Waits at even times become waits for the times of a table, each for the next. A tick that found
// the last one not taken is dropped (sendTime in time/sleep.go), and is not in the table. So a
// goroutine that was sometimes slower than its ticker is given no more ticks in a faster program,
// where it would have them all: then an answer is too low.

// timetables finds the waits for timers that end at even intervals, independently of the work in
// between: of all goroutines that wait at a site, as for a ticker that they share, or else of each
// for itself.
func timetables(p *model.Program) {
	type waits struct {
		at     []model.Place // by list, in order
		others int           // that something else than a timer ended
	}
	sites := map[int32]*waits{}
	var order []int32
	for at, o := range p.All() {
		switch {
		case o.Site == 0:
		// A ticker's channel ends a receive or a select statement, a sleep ends for the timer
		// alone.
		case o.Timed():
			w := trace.Entry(sites, o.Site)
			if len(w.at) == 0 {
				order = append(order, o.Site)
			}
			w.at = append(w.at, at)
		case o.Kind == model.OpWait || o.Kind == model.OpReceive || o.Kind == model.OpSend:
			trace.Entry(sites, o.Site).others++
		}
	}
	for _, site := range order {
		w := sites[site]
		if 20*w.others > len(w.at) { // a choice, which is not the timer's alone
			continue
		}
		// A channel may be shared by goroutines, which take turns at its ticks; time.Sleep has no
		// channel.
		if p.Op(w.at[0]).Reason != trace.WaitTimer && tabulate(p, w.at) {
			continue
		}
		// Each list's waits are together, as lists were read one after the other.
		for len(w.at) > 0 {
			n := slices.IndexFunc(w.at, func(at model.Place) bool { return at.List != w.at[0].List })
			if n < 0 {
				n = len(w.at)
			}
			tabulate(p, w.at[:n])
			w.at = w.at[n:]
		}
	}
}

// tabulate makes a timetable of waits, if they have one: of cond.LeastTimes at least. It changes
// the waits in place. Behind the last time the table begins anew, one interval later, for replays
// that go on. It takes n log n.
func tabulate(p *model.Program, all []model.Place) bool {
	if len(all) < cond.LeastTimes {
		return false
	}
	times, lengths := make([]int64, len(all)), make([]float64, len(all))
	for i, at := range all {
		o := p.Op(at)
		times[i], lengths[i] = o.At-p.Rec.Start, float64(o.D)
	}
	slices.Sort(times)
	interval, ok := cond.Even(times, lengths)
	if !ok {
		return false
	}
	n := len(times)
	table := model.Timetable{Times: times, Span: times[n-1] - times[0] + max(1, int64(math.Round(interval)))}
	for _, at := range all {
		o := p.Op(at)
		o.Kind, o.Arg = model.OpDue, int32(len(p.Tables))
	}
	p.Tables = append(p.Tables, table)
	return true
}
