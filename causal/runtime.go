package causal

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/internal/sched"
	"github.com/otelprof/otelprof/otelhdr"
)

// A Handover is how what somebody owes or has saved is handed over in experiments of [ModeOverlap].
type Handover string

const (
	// HandoverWrappers is by [Mutex] and the other types of this package: waits for anything else are
	// not seen, and delays are inserted at ends of spans and by those types.
	HandoverWrappers Handover = "wrappers"
	// HandoverRuntime is by Go's scheduler, in programs built by "otelprof build": it sees each wait, of all
	// goroutines, and inserts the delays.
	HandoverRuntime Handover = "runtime"
)

// NoteRuntime is a note of profiles whose experiments of [ModeOverlap] had [HandoverRuntime].
const NoteRuntime = "runtime mode: Go's scheduler saw who waited for whom, and inserted the delays"

// wrappersOnly is for tests of what the wrappers do, in programs where the scheduler would do it.
var wrappersOnly bool

// scheduling reports whether the scheduler carries out overlaps.
func scheduling() bool { return sched.Present && !wrappersOnly }

// handover is that of this program.
func handover() Handover {
	if scheduling() {
		return HandoverRuntime
	}
	return HandoverWrappers
}

// inForce is the overlap that the scheduler carries out, if any: there is one scheduler.
var inForce atomic.Pointer[scheduled]

// A scheduled is an overlap of which the scheduler keeps the ledgers. We tell it where the region
// begins and ends and where to pay, and look after what it spends.
type scheduled struct {
	run     *run
	region  *class
	before  int64        // ends of its spans
	latency *observation // whose setting has the distributions of durations
}

// longestPayment bounds one payment, for which a processor is held.
const longestPayment = 10 * time.Millisecond

// beginScheduled puts an arm in force that delays somebody.
func (run *run) beginScheduled(a arm) influence {
	for i := range run.progress {
		run.progress[i].reset()
	}
	region := internClass(run.seen()[a.spared])
	s := &scheduled{run: run, region: region, before: region.count.Load(), latency: run.observes(ledger.NewSetting(len(run.plan.Progress)))}
	if !run.observe(nil) {
		return s // another controller has the scheduler
	}
	limits := run.guard.limits
	left := time.Duration(limits.Total) - time.Duration(run.guard.spent.Load())
	sched.Start(a.speedup, min(longestPayment, time.Duration(limits.PerSpan)), left)
	run.scheduled.Store(s)
	inForce.Store(s)
	return s
}

// restScheduled ends what the scheduler does for the run.
func (run *run) restScheduled() {
	if s := run.scheduled.Swap(nil); s != nil && inForce.CompareAndSwap(s, nil) {
		sched.Stop()
	}
}

func (s *scheduled) delays() int64 { return sched.Read().Delays }

func (s *scheduled) growth() time.Duration {
	growth, _ := sched.Growth()
	return growth
}

func (s *scheduled) latencies() []*otelhdr.Snapshot {
	return s.latency.latencies()
}

// look tells what the scheduler has counted. That processors were short does not matter, for it
// knows who waited for one; nor do locks of package sync.
func (s *scheduled) look(e *experiment) {
	c := sched.Read()
	paid := int64(c.Paid + c.Slept)
	e.counts = ledger.Counts{Owed: paid, Paid: paid, Left: int64(c.Left), Pays: c.Points, Foreign: c.Foreign}
	e.ends = s.region.count.Load() - s.before
	e.residual = c.Left / time.Duration(max(1, c.Points))
	e.busy = 0
	if _, running := sched.Growth(); !running || inForce.Load() != s {
		e.spoiled = "a limit has ended its delays, or another controller has the scheduler"
	}
}

// superviseEvery is how often what the scheduler spends is held against the limits. It can not ask before
// each delay, as spans do.
const superviseEvery = 5 * time.Millisecond

// supervise books the scheduler's delays and ends them when a limit is reached, until ctx ends.
func (run *run) supervise(ctx context.Context) {
	defer sched.Exempt()()
	ticker := time.NewTicker(superviseEvery)
	defer ticker.Stop()
	var (
		last   *scheduled
		booked time.Duration
	)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		s := run.scheduled.Load()
		if s != last {
			last, booked = s, 0
		}
		if s == nil {
			continue
		}
		paid := sched.Read().Paid
		if run.scheduled.Load() != s {
			continue // the counters may be the next one's
		}
		spent := paid - booked
		if spent <= 0 {
			continue
		}
		booked = paid
		if rule := run.guard.reserve(time.Now(), spent); rule != ruleNone {
			run.guard.withhold(rule)
			sched.Stop()
			if rule.fatal() {
				run.end(rule)
			}
		}
	}
}

// growthAt is the growth at a visit, by whatever is in force.
func (run *run) growthAt(now int64) int64 {
	if run.scheduled.Load() != nil {
		growth, _ := sched.Growth()
		return int64(growth)
	}
	if o := run.overlap.Load(); o != nil {
		return o.observation.setting.Growth().At(now)
	}
	return 0
}

// point has the calling goroutine pay, if it is the scheduler that keeps its ledger, and returns the
// delay.
func point() time.Duration {
	if !sched.Present || inForce.Load() == nil {
		return 0
	}
	return sched.Point()
}
