package doubt

import (
	"cmp"
	"math"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/hidden"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A client may choose among servers by what these have to do: the least loaded, one that is idle
// (join the shortest queue). Which one that is changes with how fast they are, and what decides it,
// an atomic counter as a rule, is not in a trace: a replay keeps the choices of the recording.
//
// That a choice depends on the load shows in the recording. A client that takes servers by chance,
// in turn or by a key meets as many requests at its server as there are at one drawn by how often
// each is asked; the sum over requests of what it meets less that has the mean zero, and as its
// variance the sum of the draws' variances. Of 2,300 requests to the least loaded of three workers
// (workload routed of integration/accuracy) that sum was -46 standard deviations, and each met 41 %
// fewer than due. In no other of 81 workloads were there more than 19 % fewer, but where waits are
// not kept, or clients let each other go on, who are no servers. Workers of one channel are idle
// when they take a request, and who takes it is decided anew.
const (
	// lessLoad is which part fewer requests must be met than are due, and loadSigmas by how many
	// standard deviations that is.
	lessLoad   = 0.25
	loadSigmas = 5
	// mostServers bounds the work for each request.
	mostServers = 64
)

// A request is a wait for a goroutine's answer.
type request struct {
	client, server int32 // goroutines
	from, at       int64 // ns
}

// Balanced returns, by progress point, which part of the window the goroutines that visit it wait
// for servers that they choose by their load, at most 1 each; nil for none. Waits count that are
// kept in the order of the recording, and waits for servers each of which works on the elements of
// a channel of its own: which channel an element is sent to is as in the recording. It takes one
// pass over the events and one over the ops, and n*s for n requests to s servers.
func Balanced(p *model.Program) map[string]float64 {
	waited := map[int32]int64{}
	kept, sources := keptAt(p)
	for site, all := range requestsAt(p) {
		if apart(all, sources, kept[site]) && balances(all) {
			for _, r := range all {
				waited[r.client] += r.at - r.from
			}
		}
	}
	return cond.ByPoint(p, waited)
}

// requestsAt returns the waits for goroutines that end them, by place in the program, in the order
// in which they began.
func requestsAt(p *model.Program) map[int32][]request {
	of := cond.UsedAt(p)
	type begun struct {
		site int32
		at   int64
	}
	waits := slices.Repeat([]begun{{site: trace.None}}, int(p.Rec.Count))
	all := map[int32][]request{}
	for e := range p.Rec.All() {
		switch e.Kind {
		case trace.EvWait:
			if e.Arg == trace.WaitReceive || e.Arg == trace.WaitSelect {
				waits[e.G] = begun{of[e.Site], e.At}
			}
		case trace.EvReady:
			if w := waits[e.G]; w.site >= 0 && e.By >= 0 {
				all[w.site] = append(all[w.site], request{e.G, e.By, w.at, e.At})
			}
			waits[e.G].site = trace.None
		}
	}
	for _, of := range all {
		slices.SortStableFunc(of, func(a, b request) int { return cmp.Compare(a.from, b.from) })
	}
	return all
}

// keptAt returns at which places most waits are kept in the order of the recording, and by
// goroutine which object it serves, or else from which one it last received something, none for no
// object.
func keptAt(p *model.Program) (kept map[int32]bool, sources []int32) {
	of := cond.UsedAt(p)
	sources = slices.Repeat([]int32{trace.None}, len(p.Lists))
	waits, others := map[int32]int{}, map[int32]int{}
	for at, o := range p.All() {
		switch o.Kind {
		case model.OpWait:
			waits[of[o.Site]]++
		case model.OpReceive:
			sources[at.List] = o.Arg
			others[of[o.Site]]++
		}
	}
	for i := range p.Lists {
		if l := &p.Lists[i]; l.Serves >= 0 {
			sources[i] = l.Serves
		}
	}
	kept = map[int32]bool{}
	for site, n := range waits {
		kept[site] = n > others[site]
	}
	return kept, sources
}

// apart reports whether requests are of clients to several servers that are no clients, none of
// which takes its work from where another one does. Where waits are not kept it must be known from
// where each takes it.
func apart(all []request, sources []int32, kept bool) bool {
	clients, servers, from := map[int32]bool{}, map[int32]bool{}, map[int32]bool{}
	for _, r := range all {
		clients[r.client] = true
	}
	for _, r := range all {
		if servers[r.server] {
			continue
		}
		source := sources[r.server]
		if clients[r.server] || source >= 0 && from[source] || source < 0 && !kept || len(servers) == mostServers {
			return false
		}
		servers[r.server] = true
		from[source] = true
	}
	return len(servers) > 1
}

// balances reports whether requests meet fewer others at their servers than by chance.
func balances(all []request) bool {
	of := map[int32]int{} // by goroutine: its place in the slices below
	for _, r := range all {
		if _, known := of[r.server]; !known {
			of[r.server] = len(of)
		}
	}
	if len(all) < hidden.LeastHandovers*len(of) {
		return false
	}
	part, load := make([]float64, len(of)), make([]float64, len(of))
	for _, r := range all {
		part[of[r.server]] += 1 / float64(len(all))
	}
	ends := slices.Clone(all)
	slices.SortFunc(ends, func(a, b request) int { return cmp.Compare(a.at, b.at) })
	due, less, variance := 0.0, 0.0, 0.0
	for _, r := range all {
		for ; len(ends) > 0 && ends[0].at <= r.from; ends = ends[1:] {
			load[of[ends[0].server]]--
		}
		mean, square := 0.0, 0.0
		for i, n := range load {
			mean += part[i] * n
			square += part[i] * n * n
		}
		due, less, variance = due+mean, less+mean-load[of[r.server]], variance+square-mean*mean
		load[of[r.server]]++
	}
	return less > lessLoad*due && less > loadSigmas*math.Sqrt(variance)
}
