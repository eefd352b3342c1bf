package causal

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/causal/internal/engine/admission"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/clock/rest"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
)

// latest is the profile as it was computed last. To compute one takes up to seconds of a processor:
// a tenth of a millisecond for each number with an interval.
type latest struct {
	mu      sync.Mutex
	known   bool
	of      profileVersion
	profile profile.Profile

	asked     bool          // a reader takes what there is
	computing chan struct{} // for them; closed when it has been, nil while it is not
	next      time.Time     // when it may be again
}

// A profileVersion changes with a profile, but for how long delays were.
type profileVersion struct {
	run         *engine.Run
	state       State
	reason      string
	regions     int
	experiments int
	iterations  int
	ended       bool
	withheld    admission.Withheld
	recordings  int
}

// version returns the version of what is known now.
func (c *Controller) version() profileVersion {
	c.mu.Lock()
	v := profileVersion{run: c.last, state: c.state, reason: c.reason}
	c.mu.Unlock()
	v.recordings = c.recorder.Status().Recordings
	if run := v.run; run != nil {
		v.withheld = run.Guard.Counts()
		v.regions, v.experiments, v.iterations, v.ended = run.Progressed()
	}
	return v
}

// get returns the profile of a version, if that is the one which was computed last.
func (l *latest) get(v profileVersion) (profile.Profile, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.profile, l.known && l.of == v
}

func (l *latest) put(v profileVersion, p profile.Profile) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known, l.of, l.profile = true, v, p
}

// Profile returns what has been measured under the plan in force, or the last one, and what
// recordings tell. It takes up to seconds of a processor if something has been measured since the
// last call.
func (c *Controller) Profile() profile.Profile {
	c.recorder.SawLook()
	p := c.current(rest.NewWorker(c.ending))
	// The caller may change what it gets, as [profile.Merge] does.
	p.Curves = slices.Clone(p.Curves)
	for i := range p.Curves {
		p.Curves[i].Effects = slices.Clone(p.Curves[i].Effects)
	}
	p.Changes, p.Tallies, p.Notes = slices.Clone(p.Changes), slices.Clone(p.Tallies), slices.Clone(p.Notes)
	return p
}

// current returns the profile, which must not be changed. What it computes rests as the worker
// does.
func (c *Controller) current(w *rest.Worker) profile.Profile {
	v := c.version()
	p, ok := c.latest.get(v)
	if !ok {
		p = c.compute(w.Due)
		c.latest.put(v, p)
	}
	if v.run != nil {
		p.Delay = time.Duration(v.run.Guard.Spent.Load())
	}
	return p
}

// compute returns what has been measured under the plan in force, or the last one, and what
// recordings tell. compute calls due now and then, to rest.
func (c *Controller) compute(due func()) profile.Profile {
	c.mu.Lock()
	r, state, reason := c.last, c.state, c.reason
	c.mu.Unlock()
	var p profile.Profile
	if r != nil {
		p = r.Profile(due)
	}
	due()
	c.study.addTo(&p)
	due()
	p.FinishResting(due)
	if r != nil && state != StateRunning && state != StateWaiting && reason != programEnds {
		p.Notes = slices.Insert(p.Notes, 0, fmt.Sprintf("the experiments have ended, %s: %s", state, reason))
	}
	return p
}

// Latest returns a profile that may be older than that of [Controller.Profile], so that it takes 5
// ms at most however much there is to compute: that is done on a goroutine of its own, with 5 % of
// one core on average. After [Controller.Shutdown] it is not older. Metric readers use it. The
// profile must not be changed.
func (c *Controller) Latest() profile.Profile {
	c.recorder.SawExport()
	p, current := c.latest.get(c.version())
	if current {
		return p
	}
	done := c.begin()
	if done == nil {
		return p
	}
	soon := time.NewTimer(latestWithin)
	defer soon.Stop()
	select {
	case <-done:
	case <-soon.C:
	}
	c.latest.mu.Lock()
	defer c.latest.mu.Unlock()
	return c.latest.profile
}

// latestCore is the share of one core that computing profiles takes at most.
const latestCore = 0.05

// latestWithin is how long Latest waits for what is being computed.
const latestWithin = 5 * time.Millisecond

// begin has the profile computed, unless that would be too often. It returns a channel that is
// closed when it is, or nil.
func (c *Controller) begin() (done chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := &c.latest
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = true
	if l.computing == nil && !c.closed && !time.Now().Before(l.next) {
		l.computing = make(chan struct{})
		c.background.Go(c.renew)
	}
	return l.computing
}

// renew computes the profile for readers that take what there is.
func (c *Controller) renew() {
	defer sched.Exempt()() // it is not the program's
	begin, w := time.Now(), rest.NewWorker(c.ending)
	defer func() {
		l := &c.latest
		l.mu.Lock()
		defer l.mu.Unlock()
		close(l.computing)
		l.computing = nil
		l.next = time.Now().Add(time.Duration(float64(time.Since(begin)-w.Rested) * (1/latestCore - 1)))
	}()
	c.contained(w)
}

// contained computes the profile, and goes on where that panics.
func (c *Controller) contained(w *rest.Worker) {
	defer func() {
		if v := recover(); v != nil {
			otel.Handle(fmt.Errorf("causal: profile: panic: %v", v))
		}
	}()
	c.current(w)
}

// end computes the profile for the last time, for readers that collect it when the controller has
// been closed.
func (l *latest) end(c *Controller) {
	l.mu.Lock()
	asked := l.asked
	l.mu.Unlock()
	if asked {
		c.contained(rest.NewWorker(c.ending))
	}
}
