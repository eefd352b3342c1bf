package highrate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/otelprof/otelprof/internal/clock/ending"
	"github.com/otelprof/otelprof/internal/perf"
	"github.com/otelprof/otelprof/spans/stacks"
)

// ErrNotSupported is for a system without perf events.
var ErrNotSupported = perf.ErrNotSupported

// period is the CPU time that a sample stands for.
const period = time.Millisecond

// readEvery is how often the rings are read. At 1000 Hz they hold four times as much of the
// deepest stacks.
const readEvery = 50 * time.Millisecond

// A Profiler samples from [NewProfiler] to [Profiler.Shutdown]. Any goroutine may call its methods.
type Profiler struct {
	stop    chan struct{}
	stopped chan struct{}
	once    sync.Once
	closing error // of stopping, once stopped is closed

	mu      sync.Mutex
	sampler *perf.Sampler
	symbols *symbols
	stats   Stats
	before  cpu // as of the start
}

// Stats show how good a profile is.
type Stats struct {
	// Samples are in the tree, Lost are not: the kernel found no room for them.
	Samples uint64 `json:"samples"`
	Lost    uint64 `json:"lost"`
	// Throttled is how often the kernel suspended a thread's samples for the rest of a tick.
	Throttled uint64 `json:"throttled"`
	// Malformed is how often a ring held what is no record, and was skipped.
	Malformed uint64 `json:"malformed"`
	// Unfollowed threads started while the profiler did, and may be missing.
	Unfollowed int `json:"unfollowed"`
	// Kernel reports that time in the kernel is sampled too.
	Kernel bool `json:"kernel"`
	// Period is the CPU time that a sample stands for.
	Period time.Duration `json:"period_ns"`
	// Elapsed is the time since [NewProfiler], up to the last sample read.
	Elapsed time.Duration `json:"elapsed_ns"`
	// CPU is what the process has used in Elapsed by the account of getrusage, in user mode only
	// unless Kernel is set.
	CPU time.Duration `json:"cpu_ns"`
}

// NewProfiler begins to sample. It takes about 10 µs for each thread and CPU. Errors wrap what is
// in the way, with a remedy in their text.
func NewProfiler() (*Profiler, error) {
	sampler, err := perf.OpenSampler(period)
	if err != nil {
		return nil, fmt.Errorf("highrate: samples at %d Hz: %w", int64(time.Second/period), err)
	}
	before, err := usedCPU()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("highrate: CPU time of the process: %w", err), sampler.Close())
	}
	p := &Profiler{
		stop:    make(chan struct{}),
		stopped: make(chan struct{}),
		sampler: sampler,
		symbols: newSymbols(),
		stats:   Stats{Unfollowed: sampler.Unfollowed(), Kernel: sampler.Kernel(), Period: period},
		before:  before,
	}
	go p.run()
	return p, nil
}

func (p *Profiler) run() {
	defer close(p.stopped)
	tick := time.NewTicker(readEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.mu.Lock()
			p.read()
			p.mu.Unlock()
		case <-p.stop:
			p.mu.Lock()
			p.read()
			p.closing = p.sampler.Close()
			p.sampler = nil
			p.mu.Unlock()
			return
		}
	}
}

// read takes the samples out of the rings; mu is held.
func (p *Profiler) read() {
	if p.sampler == nil {
		return
	}
	p.sampler.Read(p.symbols.add)
	counts := p.sampler.Counts()
	s := &p.stats
	s.Samples, s.Lost, s.Throttled, s.Malformed = counts.Samples, counts.Lost, counts.Throttled, counts.Malformed
	// What can be asked for once can be asked for again.
	if now, err := usedCPU(); err == nil {
		s.Elapsed, s.CPU = now.at.Sub(p.before.at), now.user-p.before.user
		if s.Kernel {
			s.CPU += now.system - p.before.system
		}
	}
}

// Tree returns a copy of the tree of all samples since [NewProfiler], for the process.
func (p *Profiler) Tree() *stacks.Tree {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.read()
	return p.symbols.tree.Clone()
}

// Stats returns the counts since [NewProfiler].
func (p *Profiler) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.read()
	return p.stats
}

// Shutdown ends sampling, after a last look at the rings. Tree and Stats keep their last answer. If
// the kernel hangs, it returns soon after ctx has ended. A second call does nothing.
func (p *Profiler) Shutdown(ctx context.Context) error {
	p.once.Do(func() { close(p.stop) })
	err := ending.Within(ctx, func() error { <-p.stopped; return p.closing })
	if err != nil {
		return fmt.Errorf("highrate: shutdown: %w", err)
	}
	return nil
}

// cpu is what the process has used of its CPUs up to a moment.
type cpu struct {
	at           time.Time
	user, system time.Duration
}

func usedCPU() (cpu, error) {
	user, system, err := perf.ProcessCPU()
	return cpu{at: time.Now(), user: user, system: system}, err
}
