package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// A figure compares two sides at one operation.
type figure struct {
	name       string
	ours, peer func() *side
	perTrace   int  // spans in a trace, a divisor of batch
	records    bool // the operation is a record of a metric, not a trace
	goroutines int
	procs      int // GOMAXPROCS
	// callerOnly takes the wall time until the caller has done, not the processor time of
	// all; our worker needs a processor of its own then.
	callerOnly bool
	target     target
}

// A target is what a figure promises; a field that is zero promises nothing.
type target struct {
	deltaNs, deltaAllocs, deltaBytes float64 // at most
	x                                float64 // at least
}

// allocsTolerance is how much more than deltaAllocs still keeps the promise, which is given in
// whole allocations of a span: a trace adds some of its own, shared by its spans.
const allocsTolerance = 0.5

// maxDropped is the part of the sessions that may be lost: a session that is dropped costs
// less, so with more of them the figure would flatter us.
const maxDropped = 0.01

var (
	idleTarget      = target{x: 0.93, deltaAllocs: 2}
	fullTarget      = target{x: 0.80, deltaAllocs: 2, deltaBytes: 300}
	rootTarget      = target{x: 0.75}
	keepAllTarget   = target{x: 0.70}
	unsampledTarget = target{x: 0.65, deltaAllocs: 2, deltaBytes: 300}
	grafanaTarget   = target{x: 1.6}
)

func figures() []figure {
	with := func(of func(sdktrace.Sampler) *side, s sdktrace.Sampler) func() *side {
		return func() *side { return of(s) }
	}
	always, never := sdktrace.AlwaysSample(), sdktrace.NeverSample()
	var list []figure
	add := func(name string, ours, peer func(sdktrace.Sampler) *side, s sdktrace.Sampler, perTrace, goroutines int, t target) {
		list = append(list, figure{
			name: name, ours: with(ours, s), peer: with(peer, s),
			perTrace: perTrace, goroutines: goroutines, procs: goroutines, target: t,
		})
	}
	// callers is add for what a caller with a processor to spare waits for.
	callers := func(name string, ours, peer func(sdktrace.Sampler) *side, s sdktrace.Sampler, perTrace int, t target) {
		add(name, ours, peer, s, perTrace, 1, t)
		last := &list[len(list)-1]
		last.procs, last.callerOnly = 2, true
	}

	add("span_idle", idle, bare, always, batch, 1, idleTarget)
	add("span_idle_2g", idle, bare, always, batch, 2, idleTarget)
	add("span_regions", regions, bare, always, batch, 1, target{})
	add("span_full", full, bare, always, batch, 1, fullTarget)
	add("span_full_keepall", keepAll, bare, always, batch, 1, keepAllTarget)
	callers("span_full_caller", full, bare, always, batch, target{})
	add("span_full_2g", full, bare, always, batch, 2, fullTarget)
	add("span_full_root", full, bare, always, 1, 1, rootTarget)
	add("span_full_root_2g", full, bare, always, 1, 2, rootTarget)
	add("span_vs_grafana", full, grafana, always, 1, 1, grafanaTarget)
	callers("span_vs_grafana_caller", full, grafana, always, 1, target{})
	add("span_vs_grafana_2g", full, grafana, always, 1, 2, grafanaTarget)
	add("span_child_vs_grafana", full, grafana, always, batch, 1, grafanaTarget)
	add("span_unsampled", full, bare, never, batch, 1, unsampledTarget)
	add("span_unsampled_2g", full, bare, never, batch, 2, unsampledTarget)
	add("span_unsampled_vs_grafana", full, grafana, never, 1, 1, grafanaTarget)
	return slices.Concat(list, pmuFigures(), stacksFigures(), causalFigures(), replayFigures(), recordFigures())
}

// String writes the target without blanks, "none" if it promises nothing.
func (t target) String() string {
	var parts []string
	add := func(sign, what string, value float64) {
		if value != 0 {
			parts = append(parts, fmt.Sprintf("%s%s%g", what, sign, value))
		}
	}
	add("<=", "delta_ns", t.deltaNs)
	add("<=", "delta_allocs", t.deltaAllocs)
	add("<=", "delta_bytes", t.deltaBytes)
	add(">=", "x", t.x)
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ",")
}

// holds reports "yes", "no", or "-" where nothing is promised.
func (t target) holds(r result) string {
	if t == (target{}) {
		return "-"
	}
	tolerance := allocsTolerance
	if t.deltaAllocs < 1 { // none
		tolerance = 0
	}
	within := func(limit, tolerance, value float64) bool { return limit == 0 || value <= limit+tolerance }
	return yes(r.dropped <= maxDropped &&
		within(t.deltaNs, 0, r.delta.ns) &&
		within(t.deltaAllocs, tolerance, r.delta.allocs) &&
		within(t.deltaBytes, 0, r.delta.bytes) &&
		r.x >= t.x)
}

// yes is whether a promise is kept.
func yes(kept bool) string {
	if kept {
		return "yes"
	}
	return "no"
}

// clock names what is measured.
func (f figure) clock() string {
	if f.callerOnly {
		return "caller"
	}
	return "cpu"
}

// spansPerSession writes the number of spans of an operation, "-" if there are none.
func (f figure) spansPerSession() string {
	if f.records {
		return "-"
	}
	return strconv.Itoa(f.perTrace)
}

// share writes a part of the sessions, "-" if there are none.
func (r result) share(part float64) string {
	if !r.sessions {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*part)
}

// line writes the figure and its result as one line.
func (f figure) line(r result) string {
	return fmt.Sprintf("ratio %s ours=%.0f peer=%.0f peer_name=%s x=%.2f delta_ns=%+.0f delta_allocs=%+.2f delta_bytes=%+.0f"+
		" ours_allocs=%.2f peer_allocs=%.2f x_lo=%.2f x_hi=%.2f spans_per_session=%s goroutines=%d gomaxprocs=%d clock=%s busy=%.2f dropped=%s kept=%s"+
		" target=%v holds=%s",
		f.name, r.ours.ns, r.peer.ns, r.peerName, r.x, r.delta.ns, r.delta.allocs, r.delta.bytes,
		r.ours.allocs, r.peer.allocs, r.xLo, r.xHi, f.spansPerSession(), f.goroutines, f.procs, f.clock(), r.ours.busy, r.share(r.dropped), r.share(r.kept),
		f.target, f.target.holds(r))
}
