package infer

import (
	"cmp"
	"maps"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A call of another process is a span's wait, though the goroutine that reads the connection is
// another one, as in net/http and gRPC: what has spans writes a request, or hands it over, and
// waits for the reader, which has no spans. The answer comes so long after the request, whenever
// the reader began to read.
//
//	client (spans)  open .. writes .. waits ............................ goes on .. close
//	reader (none)   waits for the network (since long before) .......... hands over, waits again
//	                          |<----------- the call: of the span ----------->|
//
// Left as it is the reader's wait would be a time on its own, as long as it was: a span half as
// long would still be answered when it was. With net/http the reader is readLoop of persistConn,
// and the client waits in roundTrip (net/http/transport.go); with HTTP/2 and gRPC one reader has
// many clients, which is why the request is looked for on the side of the goroutine that is let go
// on.
//
// What is found is held against how often it is found: half of a reader's waits must be of this
// kind (evidence), as keep-alives, window updates and answers to requests from before the window
// are not. A server that pushes what it likes, of which a client with spans waits for the next
// piece, is taken for one that answers. TestWire has the case "to another process by way of one".

// A result ends the wait of a goroutine for another one.
type result struct {
	// at is when the wait ended, begun when it began.
	at, begun int64
	to        int32
	// last is when the goroutine that ends the wait had last gone on after a wait of its own: what
	// came to it then is what it hands over.
	last int64
}

// results returns what goroutines ended each other's waits with, by the one that did, in order of
// time. It goes through all events once. Waits for locks and for room are left out: a reader that
// gives back a lock hands nothing over.
func results(r *trace.Recording) [][]result {
	classes := trace.BySite(r.Sites, trace.Classify)
	all, begun, wentOn := make([][]result, r.Count), make([]int64, r.Count), make([]int64, r.Count)
	for e := range r.All() {
		switch e.Kind {
		case trace.EvWait:
			begun[e.G] = 0
			if e.Arg != trace.WaitTimer && e.Arg != trace.WaitNetwork && !classes[e.Site][trace.Admission] {
				begun[e.G] = e.At
			}
		case trace.EvReady:
			if e.By >= 0 && begun[e.G] > 0 {
				all[e.By] = append(all[e.By], result{e.At, begun[e.G], e.G, wentOn[e.By]})
			}
			// Waits that began before the window have no beginning, and no result.
			begun[e.G], wentOn[e.G] = 0, e.At
		}
	}
	return all
}

// calls has the answers of other processes come as long after their requests as they did. It comes
// behind the wires within the process, which have taken the reads that they explain. A reader with
// spans, or one whose list serves already, is not asked. Readers are in the order of their numbers,
// so that pools have the same numbers each time.
func (c *connector) calls() {
	type answer struct{ request, arrival model.Place }
	results := results(c.p.Rec)
	answers, all := map[int32][]answer{}, map[int32]int{} // by where readers read
	for l := range c.p.Lists {
		if c.spanned[l] || c.p.Lists[l].Serves >= 0 {
			continue
		}
		for k := range c.p.Lists[l].Ops {
			o := &c.p.Lists[l].Ops[k]
			// A reader that holds a lock or a span while it reads cannot be taken for any of its
			// kind.
			if o.Kind != model.OpOut || o.Reason != trace.WaitNetwork || o.Site == 0 || !o.Free {
				continue
			}
			all[c.readers[o.Site]]++
			if from, ok := c.asked(results[l], o); ok {
				answers[c.readers[o.Site]] = append(answers[c.readers[o.Site]], answer{from, model.Place{List: int32(l), Op: int32(k)}})
			}
		}
	}
	for _, reader := range slices.Sorted(maps.Keys(answers)) {
		told := answers[reader]
		if all[reader] < leastArrivals || float64(len(told)) < evidence*float64(all[reader]) {
			continue
		}
		for _, a := range told {
			c.join(a.request, a.arrival)
		}
	}
}

// asked returns the op before a goroutine with spans began to wait for what has come to a reader,
// which hands it over. Results are the reader's, in order of time. It reports false if the reader
// has waited for something else between arrival and hand-over, or the goroutine has done nothing
// since its last span began by which a request can have gone out: then it waits for whatever comes.
func (c *connector) asked(results []result, arrival *model.Op) (model.Place, bool) {
	// The first that the reader let go on after the arrival has the answer. Others it lets go on as
	// well, to write a window update for one.
	n, _ := slices.BinarySearchFunc(results, arrival.At, func(r result, at int64) int { return cmp.Compare(r.at, at) })
	if n == len(results) || results[n].last != arrival.At || !c.spanned[results[n].to] {
		return model.Place{}, false
	}
	l := &c.p.Lists[results[n].to]
	// The last op that was over when the wait began. The answer's lag counts from there.
	last := l.FirstAt(0, results[n].begun+1) - 1
	for k := last; k >= 0; k-- {
		switch l.Ops[k].Kind {
		case model.OpWake, model.OpSend, model.OpWrite, model.OpSpawn:
			return model.Place{List: results[n].to, Op: last}, true
		case model.OpOpen:
			return model.Place{}, false
		}
	}
	return model.Place{}, false
}
