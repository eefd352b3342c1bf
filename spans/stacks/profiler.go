package stacks

import (
	"context"
	"fmt"
	"sync"
	"time"
	"unsafe"

	"go.opentelemetry.io/otel"

	"github.com/otelprof/otelprof/internal/clock/ending"
	"github.com/otelprof/otelprof/spans"
)

// A Profiler takes samples of what the processors do for this process, without a break, and
// counts each for the region of its goroutine:
//
//	p, err := stacks.NewProfiler()
//	if err != nil {
//		return err
//	}
//	defer p.Shutdown(ctx)
//	tp := spans.WrapTracerProvider(base, spans.WithHook(p.Hook()))
//
// A process has one CPU profile. While the profiler has it, that is but for a moment in each
// window, runtime/pprof and net/http/pprof answer that it is in use; mount [Profiler.ServeHTTP] as
// /debug/pprof/profile in place of net/http/pprof's. While other code holds the profile, the
// profiler waits, [Profiler.Stats] reports [Busy], and it tries again with every window.
//
// At 100 Hz a sample takes some ten microseconds in each 10 ms of processor time, so about a
// thousandth. Methods may be called by any goroutine.
type Profiler struct {
	config config
	origin Origin // of its recordings
	hook   *hook
	stop   chan struct{} // closed by Shutdown
	done   chan struct{} // closed when run has returned

	// control is held while sampling is switched on or off, and mu while samples are added or
	// looked at. A goroutine that needs both locks control first.
	control sync.Mutex
	closed  bool
	paused  bool
	guests  int           // callers that need samples although it may be paused
	reading chan struct{} // closed when no more samples come, nil while it is off
	broken  sync.Once
	// refreshed is when samples were last got for a reader.
	refreshed time.Time

	mu      sync.Mutex
	sampler *sampler
	history []*window // the oldest first
	stats   Stats
}

// A State is what a [Profiler] does.
type State string

const (
	// Running is the state in which samples are taken.
	Running State = "running"
	// Paused is the state after [Profiler.Pause].
	Paused State = "paused"
	// Busy is the state while other code in the process holds the CPU profile.
	Busy State = "busy"
	// Closed is the state after [Profiler.Shutdown].
	Closed State = "closed"
)

// Stats are how a [Profiler] is doing. Counts are since [NewProfiler].
type Stats struct {
	State State `json:"state"`
	// Reason is why it is busy.
	Reason string        `json:"reason,omitempty"`
	Since  time.Time     `json:"since"`
	Hz     int           `json:"hz"`
	Window time.Duration `json:"window_ns"`
	// Samples were taken in windows that have ended, Lost ones could not be kept by the runtime.
	Samples int64 `json:"samples"`
	Lost    int64 `json:"lost"`
	// CPU is the processor time of the process in these windows, and Sampled what the samples
	// stand for when each counts as its period. CPU is 0 where it is not known.
	CPU     time.Duration `json:"cpu_ns"`
	Sampled time.Duration `json:"sampled_ns"`
	// Pauses is how often other code held the CPU profile.
	Pauses uint64 `json:"pauses"`
	// Elsewhere is how many spans ended on another goroutine than they began, Foreign how many
	// found labels of the application's in place of their own, and left them.
	Elsewhere uint64 `json:"elsewhere"`
	Foreign   uint64 `json:"foreign"`
	// SessionsRefused is how many sessions had no tree, since too many were open.
	SessionsRefused uint64 `json:"sessions_refused"`
}

// NewProfiler starts a profiler, with one goroutine and, while samples are taken, another. The
// error wraps [ErrConfig]. A CPU profile that other code holds is no error.
func NewProfiler(opts ...Option) (*Profiler, error) {
	c, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	if c.source == nil {
		c.source = new(runtimeSource)
	}
	h := newHook(c.unsampled, c.spans)
	p := &Profiler{
		config:  c,
		origin:  thisProcess(c.service),
		hook:    h,
		stop:    make(chan struct{}),
		done:    make(chan struct{}),
		paused:  c.paused,
		sampler: newSampler(c.hz, h),
		stats:   Stats{State: Paused, Since: time.Now(), Hz: c.hz, Window: c.window},
	}
	if !p.paused {
		p.begin()
	}
	go p.run()
	return p, nil
}

// Hook returns what labels the goroutines: without it all samples count for no region. A
// provider has room for one profiler's.
//
// The label is one number. Labels of the application's own stay beside it, and at its end a span
// gives the goroutine back exactly what it had at its start. Goroutines that are started inside a
// span inherit its label. A span that ends on another goroutine leaves that one alone; the one on
// which it began gets its labels back when it next starts or ends a span, and until then its
// samples count for the span that has ended.
//
// A span that records costs some 100 ns and no allocation. If the application has labels of its own
// they are merged, which takes about 500 ns and seven allocations. Spans that do not record, and
// all while no samples are taken, cost some 20 ns.
func (p *Profiler) Hook() spans.Hook { return p.hook }

// run ends windows and tries again.
func (p *Profiler) run() {
	defer close(p.done)
	tick := time.NewTicker(p.config.window)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
			p.turn()
		}
	}
}

func (p *Profiler) turn() {
	p.control.Lock()
	defer p.control.Unlock()
	switch {
	case p.closed:
	case p.flush():
		p.mu.Lock()
		p.endWindow()
		p.beginWindow()
		p.mu.Unlock()
	case !p.paused || p.guests > 0:
		p.begin()
	}
}

// begin switches sampling on. Control is held for it, and for all down to ended.
func (p *Profiler) begin() {
	if p.reading != nil {
		return
	}
	if err := p.config.source.take(); err != nil {
		p.become(Busy, err.Error())
		return
	}
	p.mu.Lock()
	p.beginWindow()
	p.mu.Unlock()
	p.start()
	p.become(Running, "")
	p.hook.on.Store(true)
}

func (p *Profiler) start() {
	p.config.source.start(p.config.hz)
	p.reading = make(chan struct{})
	go p.read(p.reading)
}

// flush gets the samples that the runtime still keeps, which it hands out when they are many, or
// at the end: so it ends the profile and begins the next one. It reports whether sampling is on.
// In between other code can have it.
func (p *Profiler) flush() bool {
	if !p.finish() {
		return false
	}
	if err := p.config.source.take(); err != nil {
		p.lose(err.Error())
		return false
	}
	p.start()
	return true
}

// finish takes the last samples. It reports false if there was nothing to end.
func (p *Profiler) finish() bool {
	if p.reading == nil {
		return false
	}
	ours := p.config.source.stop()
	<-p.reading
	if !ours {
		p.lose("they stopped ours")
	}
	return ours
}

// end switches sampling off.
func (p *Profiler) end(next State) {
	p.hook.on.Store(false)
	if p.finish() {
		p.ended()
	}
	p.become(next, "")
}

// lose takes note that other code has ended our profile, or holds the next one.
func (p *Profiler) lose(reason string) {
	p.hook.on.Store(false)
	p.ended()
	p.become(Busy, reason)
}

func (p *Profiler) ended() {
	p.reading = nil
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endWindow()
}

func (p *Profiler) become(s State, reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stats.State != s {
		p.stats.Since = time.Now()
		if s == Busy {
			p.stats.Pauses++
		}
	}
	p.stats.State, p.stats.Reason = s, reason
}

func (p *Profiler) read(done chan<- struct{}) {
	for first := true; ; {
		data, tags, eof := p.config.source.read()
		if len(data) > 0 {
			p.take(data, tags, first)
			first = false
		}
		if eof {
			letGo := p.config.source.letGo() // that of this profile: another one may follow done
			close(done)
			letGo()
			return
		}
	}
}

// take adds samples. What panics on the runtime's data must not take the application along.
func (p *Profiler) take(data []uint64, tags []unsafe.Pointer, first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() {
		if v := recover(); v != nil {
			p.broken.Do(func() { otel.Handle(fmt.Errorf("stacks: samples: %v: must be in the runtime's format", v)) })
		}
	}()
	p.sampler.take(data, tags, first)
}

// Pause ends sampling, and lets others have the CPU profile, until [Profiler.Resume]. It waits for
// the samples that are under way.
func (p *Profiler) Pause() {
	p.control.Lock()
	defer p.control.Unlock()
	p.paused = true
	if p.guests == 0 && !p.closed {
		p.end(Paused)
	}
}

// Resume begins to sample again. The error wraps [ErrBusy] if other code holds the CPU profile: the
// profiler then tries again by itself.
func (p *Profiler) Resume() error {
	p.control.Lock()
	defer p.control.Unlock()
	if p.closed {
		return ErrClosed
	}
	p.paused = false
	p.begin()
	return p.busy()
}

func (p *Profiler) busy() error {
	if s := p.Stats(); s.State == Busy {
		return fmt.Errorf("%w: %s", ErrBusy, s.Reason)
	}
	return nil
}

// Shutdown ends sampling and all goroutines of the profiler. What was sampled can still be read. If
// the runtime hangs, Shutdown returns soon after ctx has ended.
func (p *Profiler) Shutdown(ctx context.Context) error {
	if err := ending.Within(ctx, p.close); err != nil {
		return fmt.Errorf("stacks: shutdown: %w", err)
	}
	return nil
}

func (p *Profiler) close() error {
	p.control.Lock()
	was := p.closed
	p.closed = true
	if !was {
		p.end(Closed)
		close(p.stop)
	}
	p.control.Unlock()
	<-p.done
	return nil
}

// Stats returns how the profiler is doing.
func (p *Profiler) Stats() Stats {
	p.mu.Lock()
	s := p.stats
	p.mu.Unlock()
	h := p.hook
	s.Elsewhere, s.Foreign = h.elsewhere.Load(), h.foreign.Load()
	s.SessionsRefused = h.sessions.refused.Load()
	return s
}
