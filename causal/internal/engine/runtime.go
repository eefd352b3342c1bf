package engine

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine/admission"
	"github.com/otelprof/otelprof/causal/internal/engine/classes"
	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/internal/engine/virtualtime"
	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
	"github.com/otelprof/otelprof/otelhdr"
)

// Scheduling reports whether the scheduler carries out overlaps.
func Scheduling() bool { return sched.Present && !Live.WrappersOnly }

// Handover is the [profile.Handover] of this program.
func Handover() profile.Handover {
	if Scheduling() {
		return profile.HandoverRuntime
	}
	return profile.HandoverWrappers
}

// A Scheduled is an overlap of which the scheduler keeps the ledgers: the experiment of runtime
// mode, whose other parts are listed in internal/runtimemode. The run gives the scheduler the
// limits and where to pay, spans (runtime_span.go) tell it where the region begins and ends.
type Scheduled struct {
	still
	run     *Run
	region  *classes.Class
	before  classes.Usage            // of the region
	latency *virtualtime.Observation // whose setting has the distributions of durations
	spared  atomic.Int64             // goroutines that pay nothing any more in it, see payAgain

	mu      sync.Mutex
	over    bool // what it has spent is booked
	booked  time.Duration
	late    time.Duration
	refused sched.Refusals
}

// LongestPayment bounds one payment, for which a processor is held.
const LongestPayment = 10 * time.Millisecond

// beginScheduled puts an arm in force that inserts delays.
func (run *Run) beginScheduled(a experiment.Arm) Influence {
	for i := range run.Progress {
		run.Progress[i].Reset()
	}
	region := classes.Intern(run.Seen()[a.Spared])
	s := &Scheduled{run: run, region: region, before: region.Usage(), latency: run.observes(ledger.NewSetting(len(run.Plan.Progress))), late: sched.Late()}
	if !virtualtime.Observe(run, nil) {
		return s // another controller has the scheduler
	}
	// A goroutine that stops the run either finds it in force, and stops the scheduler, or did so
	// before the look below.
	Live.Scheduled.Store(s)
	run.Put(s)
	sched.Start(a.Speedup, run.Guard.Scheduled(run.processors, LongestPayment))
	if Live.Scheduled.Load() != s {
		sched.Stop()
	}
	return s
}

// Rest ends what the scheduler does.
func (s *Scheduled) Rest() {
	if Live.Scheduled.CompareAndSwap(s, nil) {
		sched.Stop()
		s.book(true)
	}
}

// book adds what the scheduler has spent and refused since the last time to the books of the guard;
// for good if it is over, for then the counters are the next one's.
func (s *Scheduled) book(over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || !over && Live.Scheduled.Load() != s {
		return
	}
	s.over = over
	spent, late, refused := sched.Read().Spent, sched.Late(), sched.Refused()
	g := s.run.Guard
	g.Late.Add(int64(late - s.late))
	g.Spent.Add(int64(spent - s.booked))
	for r, n := range map[admission.Rule]int64{
		admission.RulePerSpan:  refused.PerSpan - s.refused.PerSpan,
		admission.RulePerTrace: refused.PerTrace - s.refused.PerTrace,
		admission.RuleDuty:     refused.Duty - s.refused.Duty,
		admission.RuleTotal:    refused.Total - s.refused.Total,
		admission.RuleIdle:     refused.Idle - s.refused.Idle,
	} {
		g.Withheld[r].Add(uint64(n))
	}
	s.booked, s.late, s.refused = spent, late, refused
}

// Delays implements Influence.
func (s *Scheduled) Delays() int64 {
	s.book(false)
	return sched.Read().Delays
}

// GrowthAt implements Influence.
func (s *Scheduled) GrowthAt(int64) int64 {
	growth, _ := sched.Growth()
	return int64(growth)
}

// Latencies implements Influence.
func (s *Scheduled) Latencies() []*otelhdr.Snapshot {
	return s.latency.Latencies()
}

// Look adds what the scheduler has counted. That processors were short does not matter, for it
// knows which goroutine waited for one; nor do locks of package sync.
func (s *Scheduled) Look(e *experiment.Experiment) {
	c := sched.Read()
	paid := int64(c.Paid + c.Slept)
	e.Counts = ledger.Counts{Owed: paid, Paid: paid, Left: int64(c.Left), Pays: c.Points}
	s.region.Ran(e, s.before)
	if s.region.Unforeseen.Load() {
		e.Unforeseen = s.region.From.Load().Key.Name
	}
	e.Residual = c.Left / time.Duration(max(1, c.Points))
	e.Busy = 0
	r := sched.Refused()
	e.Arrivals, e.Unpaid = r.Arrivals, r.Unpaid
	if e.Spoiled == "" && float64(r.Idle) > admission.MaxWithheld*float64(r.Arrivals) {
		e.Spoiled = fmt.Sprintf("%d of %d requests came on a connection that was idle, and idle connections are not delayed", r.Idle, r.Arrivals)
	}
	if _, running := sched.Growth(); !running || Live.Scheduled.Load() != s {
		e.Spoiled = "a limit has ended its delays, or another controller has the scheduler"
	}
	if n := s.spared.Load(); n > 0 {
		e.Spoiled = fmt.Sprintf("delays of %d goroutines are over, since spans that are not delayed ended on others", n)
	}
}

// superviseEvery is how often what the scheduler spends is booked. It asks for duty and the budgets
// itself, before each delay; the plan's time and its source are looked at here.
const superviseEvery = 5 * time.Millisecond

// Supervise books the scheduler's delays and ends them when a limit is reached, until ctx ends.
func (run *Run) Supervise(ctx context.Context) {
	defer sched.Exempt()()
	ticker := time.NewTicker(superviseEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		s, at := run.InForce().(*Scheduled)
		if !at {
			continue
		}
		s.book(false)
		switch _, running := sched.Growth(); {
		case !running && run.Guard.Withheld[admission.RuleTotal].Load() > 0:
			run.End(admission.RuleTotal)
		default:
			if rule := run.Guard.Expired(time.Now()); rule != admission.RuleNone {
				run.End(rule)
			}
		}
	}
}

// Point has the calling goroutine pay, if it is the scheduler that keeps its ledger, and returns
// the delay.
func Point() time.Duration {
	if !sched.Present || Live.Scheduled.Load() == nil {
		return 0
	}
	return sched.Point()
}
