package engine

import (
	"context"
	"io"
	"time"

	"github.com/otelprof/otelprof/causal/internal/design"
	"github.com/otelprof/otelprof/causal/internal/engine/classes"
	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/internal/record"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/clock/rest"
	"github.com/otelprof/otelprof/spans/schedule"
)

// A work is what a region does in its own time: the self time of its spans, without waits for locks
// and for processors.
type work struct {
	own       float64 // ns for each span
	self      float64 // the same with waits for locks and for processors
	computing float64 // part of that in which it computes, in [0, 1]
	experiment.Waits
	// awaited is which part of its own time others wait for, in [0, 1], since its spans give them
	// something before their ends.
	awaited float64
	// served is what goroutines without spans did while its spans waited, as a multiple of own.
	served float64
	// overtaken is the part of its spans that others have answered in place of.
	overtaken float64
	// timedOut is the part of its spans that a timer has ended the wait for.
	timedOut float64
	// holdsUp is the part of its spans behind whose ends the same goroutine soon ends others.
	holdsUp float64
}

// A Workload is what regions do, from a recording of the warm-up.
type Workload map[profile.Region]Split

// A Split is how the self time of a region divides.
type Split struct {
	Own, Computing float64 // part of self time; and of own
	queued, asking float64 // part of self time in which they wait for other goroutines, and for what is outside
	// awaited is what others waited for a span before its end, and served what goroutines without
	// spans did while it waited for them, ns.
	awaited, served float64
	// Parts of spans.
	overtaken, timedOut, holdsUp, interleaved float64
	// Each is what is a span's own, ns, 0 of too few spans. Spans that waited for long are cut by
	// the ends of a recording more often than others, so that the part is too large where many
	// wait.
	Each float64
	// busy is the part of the time in which no processor is idle, and processor the wait for one,
	// ns.
	busy, processor float64
}

// enough spans in a recording have a mean.
const enough = 100

// RecordWork records the program for so long, and returns what its regions do.
func RecordWork(ctx context.Context, d time.Duration) (Workload, error) {
	w, err := record.TakeOwn(ctx, d)
	if err != nil {
		return nil, err
	}
	report, err := schedule.Analyze(ctx, restingReader{w.Reader(), rest.NewWorker(ctx).DueOrOver})
	if err != nil {
		return nil, err
	}
	all := Workload{}
	for _, r := range report.Regions {
		s := splitOf(r.Self, r.Helped, r.Count)
		s.busy, s.processor = report.Busy, float64(report.ProcessorWait)
		s.awaited, s.served = float64(r.Awaited)/float64(r.Count), float64(r.Served)/float64(r.Count)
		s.overtaken, s.timedOut = float64(r.Overtaken)/float64(r.Count), float64(r.TimedOut)/float64(r.Count)
		s.interleaved = float64(r.Interleaved) / float64(r.Count)
		all[profile.Region{Scope: r.Scope, Name: r.Name}] = s
	}
	for _, r := range report.Moves {
		key := profile.Region{Scope: r.Scope, Name: r.Name}
		s, known := all[key]
		if !known {
			s = unknownSplit
		}
		others, _ := report.Region(r.Scope, r.Name)
		s.holdsUp = float64(r.HoldsUp) / float64(r.Count+others.Count)
		all[key] = s
	}
	return all, nil
}

// A restingReader leaves the processor to others now and then: what reads it computes for
// milliseconds.
type restingReader struct {
	io.Reader
	due func() error // the error where no more is wanted
}

func (r restingReader) Read(p []byte) (int, error) {
	if err := r.due(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// lockReasons are the reasons of waits for those of package sync, wait groups and condition
// variables included, and queueReasons those and channels; askReasons are those of waits for other
// processes, which may queue there.
var (
	lockReasons  = []schedule.Reason{"sync", "cond"}
	queueReasons = append([]schedule.Reason{"chan send", "chan receive"}, lockReasons...)
	askReasons   = []schedule.Reason{"network", "select"}
)

// mostQueued is for which part of its self time a region may wait for other goroutines, until a
// hold at the ends of its spans may be no hold of what they wait for; and which part of its spans
// may end while the goroutine is in others that began later: a hold at one end holds up all of
// them.
const mostQueued = 0.02

func blockedBy(self schedule.Split, reasons []schedule.Reason) (sum float64) {
	for _, r := range reasons {
		sum += float64(self.Blocked[r])
	}
	return sum
}

// splitOf takes all but waits for locks and for processors for a region's own: a call by HTTP waits
// by select for what a server takes, and a timer may be waited for at a channel. What goroutines do
// that it has started is its own, too.
func splitOf(self schedule.Split, helped time.Duration, spans uint64) Split {
	sum := float64(self.Sum())
	waits := blockedBy(self, lockReasons)
	own := sum - float64(self.Runnable) - waits + min(float64(helped), waits)
	if sum <= 0 || own <= 0 {
		return unknownSplit
	}
	s := Split{Own: own / sum, Computing: float64(self.Running) / own, queued: blockedBy(self, queueReasons) / sum, asking: blockedBy(self, askReasons) / sum}
	if spans >= enough {
		s.Each = own / float64(spans)
	}
	return s
}

// childrenElsewhere is how many times its self time a region's own must be in a recording, for more
// than chance, to have waits in it for children on other goroutines, at channels: a recording has
// all times by goroutine.
const childrenElsewhere = 1.25

// of returns the own time of a span that has so much self time, ns, and which part of it the span
// computes, in [0, 1].
func (s Split) of(self float64) (own, computing float64) {
	own, computing = s.Own*self, s.Computing
	if s.Each > 0 {
		own = s.Each
	}
	if self > 0 && own > childrenElsewhere*self {
		own, computing = self, min(1, computing*own/self)
	}
	return own, computing
}

// unknownSplit is all of the self time, of which it is not known what is waited for.
var unknownSplit = Split{Own: 1, queued: 1}

// leastWarm is how many spans of a region the warm-up must have for what it does.
const leastWarm = 5

// workOf returns what a region does: as in the recording of the warm-up, or its mean self time in
// that, divided so. Later on, waits for processors that others use may be another part of it. A
// region that has hardly run then is taken as it is now.
func (run *Run) workOf(key profile.Region) work {
	c := classes.Intern(key)
	run.mu.Lock()
	now, before := run.warm[c], run.before[c]
	s, known := run.warmed.work[key]
	run.mu.Unlock()
	n := now.Count - before.Count
	if n < leastWarm {
		now = c.Usage()
		n = now.Count - before.Count
	}
	if n <= 0 {
		return work{}
	}
	if !known {
		s = unknownSplit
	}
	self := float64(now.Self+now.Renamed-before.Self-before.Renamed) / float64(n)
	own, computing := s.of(self)
	w := work{own: own, self: self, computing: computing, Waits: experiment.Waits{Inside: max(s.queued, s.interleaved) > mostQueued, Outside: s.asking > mostQueued}}
	if own > 0 {
		w.Behind = min(1-w.computing, s.busy, s.processor/(profile.Near*own))
		w.awaited, w.served = min(1, s.awaited/own), s.served/own
		w.overtaken, w.timedOut, w.holdsUp = s.overtaken, s.timedOut, max(s.holdsUp, s.interleaved)
	}
	return w
}

// settling is how long a program takes to forget what the last arm has done: several times as long
// as its longest requests, but for a few that are far longer than most, such as long polls.
func (run *Run) settling() time.Duration {
	cooloff := time.Duration(run.Plan.Timing.Cooloff)
	if run.Plan.Mode != profile.ModeSlowdown {
		return cooloff
	}
	p99, mean := run.Breaker.Normal()
	return max(cooloff, min(design.SettlingRequests*p99, design.SettlingMeans*mean, time.Duration(run.Plan.Timing.MaxExperiment)))
}
