package schedule

import (
	"golang.org/x/exp/trace"

	replaytrace "github.com/otelprof/otelprof/internal/replay/trace"
)

// What is written to the network is there for whoever reads it, before the regions end that are
// open where it is written: a proxy passes something on, a server answers and tidies up. A client
// waits for the answer, so that what it gives is nothing that goes on without it.
//
//	passes on   |-- 4 ms --write|            awaited for 4 ms
//	asks        |-- 1 ms --write..waits..|   awaited for nothing

// forAnswers are waits in which an answer may come, from the network or by another goroutine that
// reads it.
var forAnswers = []class{forCond, forReceive, forSelect, forNetwork}

// sends reports whether a system call writes to the network. Datagrams to an address are not in it.
func (a *analysis) sends(s trace.Stack) bool {
	if s == trace.NoStack {
		return false
	}
	sends, known := a.senders[s]
	if !known {
		for f := range s.Frames() {
			sends = sends || replaytrace.WritesToNetwork(f.Func)
		}
		a.senders[s] = sends
	}
	return sends
}

// sent is for how long the region, which ends now, has been open when its goroutine last wrote to
// the network without waiting for an answer, 0 if it did not.
func (r *region) sent() int64 {
	return max(0, int64(r.goroutine.wrote-r.began))
}
