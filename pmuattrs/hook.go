package pmuattrs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"

	"github.com/otelprof/otelprof/internal/clock/ending"
	"github.com/otelprof/otelprof/internal/goroutine"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
	"github.com/otelprof/otelprof/spans"
)

var _ spans.Hook = (*Hook)(nil)

// A Hook counts what the CPU does in a random sample of spans, and sets the counts as attributes of
// theirs. A goroutine is locked to its thread while a span of the sample is open, for counters
// belong to threads: no other goroutine runs on the thread then. What goroutines that it starts do
// is not counted, nor is time in which it waits. A locked goroutine has a thread to itself, of
// which Go allows 10,000 in all: while 1000 such spans of a process are open no further one is
// measured.
//
//	hook, err := pmuattrs.NewHook(pmuattrs.WithRegions("price *", 10))
//	if err != nil {
//		return err
//	}
//	tp := spans.WrapTracerProvider(base, spans.WithHook(hook))
//
// Where there are no counters, or the kernel refuses them, CPU time, page faults and context
// switches of the thread take their place. Attributes of a span that was counted:
//
//	pmu.<event>    int     how often, for each event: pmu.cycles
//	pmu.ipc        double  instructions per cycle, if both were counted
//	pmu.source     string  [Source]: hw or rusage
//	pmu.user_only  bool    whether what the kernel did is left out
//	pmu.valid      bool    true
//
// A span that was begun to be counted and could not be has pmu.valid=false and pmu.source, and
// [Hook.Stats] counts the reasons, also where there are no counters for one: that it ended on
// another goroutine or thread than it began, or that others had the counters for a part of the
// time. If it was another goroutine, spans of that name are left alone from then on, and the
// goroutine that is still locked is unlocked when it next starts or ends a span. With [WithoutLock]
// goroutines are not locked, and only spans that never stop are counted.
//
// A span that is not in the sample costs some ten nanoseconds, one that is about two microseconds,
// and what it costs to wait while locked. A provider has room for one Hook; a second one does
// nothing. Methods may be called by any goroutine.
type Hook struct {
	unlocked  bool
	rate      rate
	rules     rules
	threads   threadReader
	reason    error
	attribute attributeKeys
	regions   *regions
	outcomes  [outcomes]atomic.Uint64
	moving    atomic.Uint64
}

// threadReader is what a hook needs of threads.
type threadReader interface {
	Source() Source
	Events() []Event
	Read(r *Reading) error
	Stats() threadStats
	Close() error
}

// NewHook finds out what can be counted and returns a hook that does, to be given to
// [spans.WithHook]. The error wraps [ErrConfig] if an option's value is not allowed, and
// [ErrNotSupported] on systems that have neither counters nor the usage of threads.
func NewHook(opts ...HookOption) (*Hook, error) {
	c, err := newHookConfig(opts)
	if err != nil {
		return nil, err
	}
	threads, reason := newThreads(c.events...)
	if threads == nil {
		return nil, fmt.Errorf("pmuattrs: hook: %w", reason)
	}
	return newHook(c, threads, reason), nil
}

func newHook(c hookConfig, threads threadReader, reason error) *Hook {
	return &Hook{
		unlocked: c.unlocked, rate: c.rate, rules: c.rules, threads: threads, reason: reason,
		attribute: newAttributeKeys(threads.Source(), threads.Events()),
		regions:   newRegions(threads.Source(), threads.Events()),
	}
}

// Source returns where the counts come from.
func (h *Hook) Source() Source { return h.threads.Source() }

// Events returns what is counted. It must not be modified.
func (h *Hook) Events() []Event { return h.threads.Events() }

// Reason returns why not everything that was asked for is counted: which events the machine
// does not have, or why there are no counters at all. It is nil if nothing is missing.
func (h *Hook) Reason() error { return h.reason }

// Shutdown closes the counters of all threads. Spans that are open end as ones that could not be
// counted, and later ones are not measured. If the kernel hangs, it returns soon after ctx has
// ended.
func (h *Hook) Shutdown(ctx context.Context) error {
	if err := ending.Within(ctx, h.threads.Close); err != nil {
		return fmt.Errorf("pmuattrs: shutdown: %w", err)
	}
	return nil
}

// A measurement is one span of the sample while it is open.
type measurement struct {
	hook       *Hook
	name       *nameState
	goroutine  goroutine.ID // that is locked
	watch      sched.Watch  // of one that is not
	begin, end Reading
	attributes []attribute.KeyValue
}

var (
	started = spans.NewSlot[measurement]()
	// pool has measurements for spans to come: a thousand bytes each.
	pool = sync.Pool{New: func() any { return &measurement{attributes: make([]attribute.KeyValue, 0, maxAttributes)} }}
)

// OnStart implements [spans.Hook].
func (h *Hook) OnStart(ctx context.Context, r *spans.Span) context.Context {
	owed.pay()
	if h.chooses(r) {
		h.begin(r)
	}
	return ctx
}

// OnEnd implements [spans.Hook].
func (h *Hook) OnEnd(r *spans.Span) {
	if m := started.Get(r); m != nil && m.hook == h {
		h.end(r, m)
	}
	owed.pay()
}

func (h *Hook) begin(r *spans.Span) {
	n := h.named(r)
	switch {
	case n == nil:
		return
	case n.moves.Load():
		h.moving.Add(1)
		return
	}
	if !h.unlocked && !held.take() {
		h.outcomes[crowded].Add(1)
		return
	}
	m := pool.Get().(*measurement)
	m.hook, m.name, m.goroutine = h, n, goroutine.Current()
	runtime.LockOSThread()
	if err := h.threads.Read(&m.begin); err != nil {
		runtime.UnlockOSThread()
		if !h.unlocked {
			held.give(1)
		}
		pool.Put(m)
		h.outcomes[unread].Add(1)
		return
	}
	started.Set(r, m)
	if h.unlocked {
		// What happens before this happens to a locked goroutine, whose thread runs no other.
		m.watch.Begin()
		runtime.UnlockOSThread()
	}
}

func (h *Hook) end(r *spans.Span, m *measurement) {
	deltas, outcome := m.finish()
	started.Set(r, nil)
	h.outcomes[outcome].Add(1)
	h.regions.of(r, m.name).record(&deltas, outcome)
	if r.IsRecording() {
		m.attributes = h.attribute.append(m.attributes[:0], &deltas, outcome)
		r.SetAttributes(m.attributes...)
	}
	pool.Put(m)
}

// finish takes the second reading, and unlocks the goroutine if it is the one that was locked.
func (m *measurement) finish() (Deltas, outcome) {
	if m.hook.unlocked {
		return m.finishUnlocked()
	}
	if goroutine.Current() != m.goroutine {
		m.name.moves.Store(true)
		owed.add(m.goroutine)
		return Deltas{}, otherGoroutine
	}
	deltas, outcome := m.since()
	// Where goroutines cannot be distinguished, only being on the same thread proves that it is the
	// same one.
	m.unlock(goroutine.Known() || outcome != unread && outcome != otherThread)
	return deltas, outcome
}

// finishUnlocked takes the second reading if no other goroutine can have run on the thread
// meanwhile. It is locked for that: else the reading might be of another thread's counters, which
// some CPUs answer with a signal.
func (m *measurement) finishUnlocked() (Deltas, outcome) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	times, ok := m.watch.End()
	switch {
	case !ok:
		return Deltas{}, otherGoroutine
	case times.Stops != 0:
		return Deltas{}, stopped
	}
	return m.since()
}

// since takes the second reading.
func (m *measurement) since() (Deltas, outcome) {
	if err := m.hook.threads.Read(&m.end); err != nil {
		return Deltas{}, unread
	}
	deltas, err := m.end.Since(m.begin)
	switch {
	case err == nil:
		return deltas, counted
	case errors.Is(err, errUnrelated):
		return Deltas{}, otherThread
	case errors.Is(err, ErrMultiplexed):
		return Deltas{}, multiplexed
	}
	return Deltas{}, implausible
}

// unlock undoes the lock of begin. A goroutine that may have another's lock on its hands must not:
// it would undo one that the application has taken. That one keeps its thread until it ends, and
// spans of the name lock no other.
func (m *measurement) unlock(own bool) {
	held.give(1)
	if own {
		runtime.UnlockOSThread()
		return
	}
	m.name.moves.Store(true)
}

// chooses draws whether a span is measured. Most are not, so it comes before all else: the
// random number costs some four nanoseconds.
func (h *Hook) chooses(r *spans.Span) bool {
	limit := h.rate
	if len(h.rules) != 0 {
		limit = h.rateOf(r)
	}
	return rand.Uint64() < uint64(limit)
}

// rateOf is what the rules say about a span, remembered for its name.
func (h *Hook) rateOf(r *spans.Span) rate {
	n := h.named(r)
	switch {
	case n == nil:
		return 0
	case n.name == r.Name():
		return n.rate
	}
	return h.rules.of(r, h.rate) // one of the many names that share a place, see spans.NameSlot
}

// named returns what is known of the span's name, nil if the provider has another hook of
// this kind.
func (h *Hook) named(r *spans.Span) *nameState {
	n := names.Get(r)
	if n == nil {
		// If several goroutines come here at once, the last one's is kept. They are equal.
		n = &nameState{hook: h, name: r.Name(), rate: h.rules.of(r, h.rate)}
		names.Set(r, n)
	}
	if n.hook != h {
		return nil
	}
	return n
}

// Stats returns the counts so far.
func (h *Hook) Stats() Stats {
	of := func(o outcome) uint64 { return h.outcomes[o].Load() }
	threads := h.threads.Stats()
	return Stats{
		Counted:        of(counted),
		OtherGoroutine: of(otherGoroutine),
		OtherThread:    of(otherThread),
		Multiplexed:    of(multiplexed),
		Implausible:    of(implausible),
		Unread:         of(unread),
		Stopped:        of(stopped),
		Crowded:        of(crowded),
		Moving:         h.moving.Load(),
		Threads:        threads.Open,
		Reaped:         threads.Reaped,
		Refused:        threads.Refused,
	}
}

// Regions returns what was counted in each region of which a span was in the sample, by scope
// and name. It copies all histograms: some microseconds for each region.
func (h *Hook) Regions() []RegionCounters {
	live := h.regions.known.All()
	all := make([]RegionCounters, len(live))
	for i, r := range live {
		c := RegionCounters{
			Scope: r.key.Scope, Name: r.key.Name, Source: h.regions.source,
			Invalid: r.invalid.Load(), Counts: make([]EventCounts, len(r.counts)),
		}
		for j, e := range h.regions.events {
			c.Counts[j] = EventCounts{e, r.counts[j].Snapshot(nil)}
		}
		if len(c.Counts) != 0 {
			c.Spans = c.Counts[0].Count()
		}
		all[i] = c
	}
	slices.SortStableFunc(all, func(a, b RegionCounters) int {
		return cmp.Or(cmp.Compare(a.Scope.Name, b.Scope.Name), cmp.Compare(a.Scope.Version, b.Scope.Version), cmp.Compare(a.Name, b.Name))
	})
	return all
}
