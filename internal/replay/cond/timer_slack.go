package cond

import (
	"slices"
	"strings"

	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Timers of the runtime are late (timer slack): while the program is idle it waits for timers and
// the network together, in whole milliseconds. On Linux netpoll in runtime/netpoll_epoll.go has
// epoll wait for 1 ms if less is left, and else for the whole ones of what is left:
//
//	asked for 3.6 ms    epoll waits 3 ms, 0.6 are left, epoll waits 1 ms    0.4 ms late
//
// A region that sleeps for half as long is late by as much as before, so that half of the recorded
// wait would be too short. By how much shows where it is known for how long a goroutine has asked
// to sleep: the one that a trace starts to read samples, each time for 100 ms (traceStartReadCPU in
// runtime/tracecpu.go). On average its lateness is that of other timers of this program. It is not
// known for one timer alone, so that a sleep of 2 ms and one of 2.1 ms are taken to be equally
// late. TestTimersStayLate has a timer, a timer in a select statement and the network, which has no
// slack.

const (
	// AskedBySampler is for how long that goroutine sleeps, ns, as in the runtime of Go 1.26.
	AskedBySampler = 100_000_000
	// leastSleeps is how many of its sleeps a mean takes: half a second of recording.
	leastSleeps = 5
)

// Tardiness returns how late timers are on average, ns; 0 where that is not known. Sleeps that are
// later than MostLate found no processor, and are left out. So is one that something else cut
// short.
func Tardiness(p *model.Program) int64 {
	sampler := trace.BySite(p.Rec.Sites, func(s trace.Site) bool {
		return slices.ContainsFunc(s.Frames, func(f trace.Frame) bool { return strings.HasPrefix(f.Func, "runtime.traceStartReadCPU") })
	})
	var sum, n int64
	for _, o := range p.All() {
		// Timers run on any goroutine, which may stand in the trace as the waker: then the wait is
		// a token's.
		if (o.Kind == model.OpOut || o.Kind == model.OpWait) && AskedBySampler <= o.D && o.D <= AskedBySampler+MostLate && sampler[o.Site] {
			sum, n = sum+o.D-AskedBySampler, n+1
		}
	}
	if n < leastSleeps {
		return 0
	}
	return sum / n
}
