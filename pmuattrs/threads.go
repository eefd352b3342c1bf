package pmuattrs

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelprof/otelprof/internal/perf"
)

const (
	// maxThreads bounds how many threads are counted at the same time. No more than a
	// quarter of the files that the process may have open are used for it.
	maxThreads = 1000
	// retryAfter is how long a thread that could not be counted is left alone.
	retryAfter = time.Second
)

// threads has the counters of each OS thread that asks for them. They are opened at the first
// Read of a thread and kept: opening costs as much as a hundred readings.
//
// A goroutine that ends while it is locked ends its thread, and the kernel may give the
// thread's ID to a new one. Two readings through counters of a thread that has ended are
// never taken: such counters stand still, Read notices that, and the new thread gets its own;
// see internal/perf. What the ended thread had open is closed when others are opened later.
//
// If the kernel refuses a thread its counters, say because too many files are open, no thread
// has any from then on: everything is closed, the error goes to [otel.Handle], once, and the
// program runs on without counters.
//
// Read may be called by any goroutine that is locked to its thread, the other methods by any.
type threads struct {
	usage  *threadUsage // in place of counters
	events []Event      // what to open

	off     atomic.Pointer[error]              // why nothing is counted any more
	slots   atomic.Pointer[map[int]threadSlot] // by thread ID; copied on write
	full    atomic.Int64                       // until when no more threads are taken
	refused atomic.Uint64
	reaped  atomic.Uint64

	mu     sync.Mutex // held to change slots
	limit  int
	reapAt int64
}

// A threadSlot has no group if the thread could not be counted.
type threadSlot struct {
	group *Group
	retry int64 // when to try again
}

func (s threadSlot) close() error {
	if s.group == nil {
		return nil
	}
	return s.group.Close()
}

// threadStats are counts since the hook was made, but for Open.
type threadStats struct {
	// Open is how many threads have counters now.
	Open int
	// Reaped is how many groups were closed because their threads had ended.
	Reaped uint64
	// Refused is how many readings failed for errTooManyThreads or perf.ErrNotScheduled.
	Refused uint64
}

// now is a monotonic time in nanoseconds.
func now() int64 { return int64(time.Since(epoch)) }

var epoch = time.Now()

// newThreads finds out, on the calling thread, what can be counted, like [OpenBest] does, and
// returns its results: an error may say what is missing although there are counters.
func newThreads(events ...Event) (*threads, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	counters, reason := OpenBest(events...)
	t := &threads{}
	slots := map[int]threadSlot{}
	switch c := counters.(type) {
	case *Group:
		t.events = c.Events()
		t.limit = max(1, min(maxThreads, perf.FileLimit()/4/len(t.events)))
		slots[perf.Thread()] = threadSlot{group: c}
	case *threadUsage:
		t.usage = c
	default:
		return nil, reason
	}
	t.slots.Store(&slots)
	return t, reason
}

// Source returns what is read.
func (t *threads) Source() Source {
	if t.usage != nil {
		return SourceUsage
	}
	return SourceHardware
}

// Events returns what is counted. It must not be modified.
func (t *threads) Events() []Event {
	if t.usage != nil {
		return t.usage.Events()
	}
	return t.events
}

// Read fills r with the counts of the calling OS thread, to which the goroutine must be
// locked. Beyond what [Group.Read] or threadUsage.Read takes it costs about 200 ns, for the
// thread's ID, and it takes no lock that other threads want. After an error r holds nothing.
func (t *threads) Read(r *Reading) error {
	if off := t.off.Load(); off != nil {
		*r = Reading{}
		return *off
	}
	if t.usage != nil {
		return t.usage.Read(r)
	}
	thread := perf.Thread()
	slot, ok := (*t.slots.Load())[thread]
	if ok && slot.group != nil {
		err := slot.group.Read(r)
		if err == nil {
			return nil
		}
		return t.replace(slot.group, thread, err, r)
	}
	*r = Reading{}
	switch {
	case ok && now() < slot.retry:
		t.refused.Add(1)
		return perf.ErrNotScheduled
	case !ok && now() < t.full.Load():
		t.refused.Add(1)
		return errTooManyThreads
	}
	return t.open(thread, r)
}

// replace is called when the group of the thread has failed.
func (t *threads) replace(group *Group, thread int, err error, r *Reading) error {
	switch {
	case errors.Is(err, perf.ErrExited): // it belonged to an earlier thread of this ID
		t.reaped.Add(1)
		t.drop(group, thread, threadSlot{})
		return t.open(thread, r)
	case errors.Is(err, ErrClosed): // by Close, or that thread's, by reap, just now
		return t.open(thread, r)
	case errors.Is(err, perf.ErrNotScheduled):
		t.drop(group, thread, threadSlot{retry: now() + int64(retryAfter)})
		t.refused.Add(1)
		return err
	}
	t.disable(err)
	return err
}

// Stats returns the counts so far.
func (t *threads) Stats() threadStats {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := threadStats{Reaped: t.reaped.Load(), Refused: t.refused.Load()}
	for _, slot := range *t.slots.Load() {
		if slot.group != nil {
			s.Open++
		}
	}
	return s
}

// Close stops counting on all threads. Later readings fail with [ErrClosed].
func (t *threads) Close() error {
	closed := fmt.Errorf("pmuattrs: threads: %w", ErrClosed)
	t.off.CompareAndSwap(nil, &closed)
	return t.closeAll()
}
