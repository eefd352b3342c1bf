package causal

import (
	"context"
	"slices"
	"time"

	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/otelhdr"
)

const (
	// A window is the least that makes one sample, in time and in visits.
	window       = time.Second
	windowVisits = 10
	// longestTurn is how long a turn waits for progress points that are visited more rarely.
	longestTurn = time.Minute
)

// quantiles are those of latency, with the least number of spans in a window for each to mean
// something.
var quantiles = []struct {
	metric Metric
	at     float64
	least  uint64
}{{MetricLatencyP50, 50, 20}, {MetricLatencyP90, 90, 50}, {MetricLatencyP99, 99, 200}}

// windows are those of one turn. Each progress point has windows of its own, and each quantile of
// its latency: who is visited rarely keeps nobody else waiting.
type windows struct {
	v      *virtual
	o      *observation
	visits []visitWindow // by progress point
	slow   [][]latencies // by quantile and progress point, at the beginning of the window
}

// A visitWindow is the one of a progress point, and how many have ended in this turn.
type visitWindow struct {
	opened
	ended int
}

// opened is when a window began.
type opened struct {
	progress ledger.Progress
	at       int64
	looked   loadMark
}

// latencies are the distributions at one progress point at a moment.
type latencies struct {
	actual  *otelhdr.Snapshot
	virtual []*otelhdr.Snapshot
}

// observe takes windows until the turn is over, or an experiment wants its own. Patient is whether the
// turn waits for progress points that are visited rarely: those who have had no turn yet should not.
func (v *virtual) observe(ctx context.Context, o *observation, patient bool) {
	if !sleep(ctx, settling) || live.observation.Load() != o {
		return
	}
	began, waited := time.Now(), mutexWait()
	w := v.newWindows(o)
	for {
		if !sleep(ctx, window) || live.observation.Load() != o {
			return
		}
		live.ledgers.sweep(clock.Now() - int64(forgetAfter))
		long := time.Since(began)
		waiting := w.look(long > longestTurn)
		if long > longestTurn || long >= turn && (!waiting || !patient) && w.some() {
			break
		}
	}
	v.note(o.setting.Counts(), time.Since(began), waited)
}

func (v *virtual) newWindows(o *observation) *windows {
	w := &windows{v: v, o: o, visits: make([]visitWindow, len(o.points)), slow: make([][]latencies, len(quantiles))}
	now := w.now()
	for point := range w.visits {
		w.visits[point].opened = now
	}
	for q := range w.slow {
		w.slow[q] = w.latencies()
	}
	return w
}

func (w *windows) now() opened {
	return opened{progress: w.o.setting.Progress(), at: clock.Now(), looked: w.v.load.mark()}
}

func (w *windows) latencies() []latencies {
	all := make([]latencies, len(w.o.points))
	for point := range all {
		all[point].actual, all[point].virtual = w.o.setting.Latency(point)
	}
	return all
}

// look ends the windows that have had enough visits, or all that have any, and reports whether a
// progress point waits for the end of its first.
func (w *windows) look(all bool) (waiting bool) {
	now, slow := w.now(), w.latencies()
	w.v.mu.Lock()
	defer w.v.mu.Unlock()
	for point, name := range w.o.points {
		first := w.visits[point].opened
		count, reductions := now.progress.Since(first.progress, point)
		if count == 0 { // it begins behind a visit
			w.visits[point].opened = now
			continue
		}
		if count < windowVisits && !all {
			waiting = waiting || w.visits[point].ended == 0
			continue
		}
		w.visits[point] = visitWindow{now, w.visits[point].ended + 1}
		w.v.facts.windows++
		saturated := w.v.load.since(first.looked) > saturation
		if saturated {
			w.v.facts.saturated++
		} else {
			w.v.periods[name] = time.Duration((now.at - first.at) / int64(count))
		}
		for k, h := range w.o.setting.Hypotheses() {
			if saturated {
				w.v.ask(h, name, MetricThroughput) // which gets no answer
			} else {
				w.v.ask(h, name, MetricThroughput, reductions[k])
			}
		}
		w.addLatency(point, slow[point], saturated)
	}
	return waiting
}

// addLatency books by which part the quantiles of durations would have been shorter in the windows that
// have had enough spans for them.
func (w *windows) addLatency(point int, is latencies, saturated bool) {
	for i, q := range quantiles {
		was := w.slow[i][point]
		if saturated || was.actual == nil || is.actual == nil {
			w.slow[i][point] = is
			continue
		}
		if is.actual.Count()-was.actual.Count() < q.least {
			continue
		}
		w.slow[i][point] = is
		took := quantile(is.actual.Since(was.actual, nil), q.at)
		if took == 0 {
			continue
		}
		for k, h := range w.o.setting.Hypotheses() {
			w.v.ask(h, w.o.points[point], q.metric, 1-quantile(is.virtual[k].Since(was.virtual[k], nil), q.at)/took)
		}
	}
}

// some reports whether a window has ended.
func (w *windows) some() bool {
	return slices.ContainsFunc(w.visits, func(v visitWindow) bool { return v.ended > 0 })
}

func quantile(s *otelhdr.Snapshot, percent float64) float64 { return float64(s.Percentile(percent)) }
