package pmuattrs

import (
	"errors"
	"maps"

	"go.opentelemetry.io/otel"

	"github.com/otelprof/otelprof/internal/perf"
)

// open gives the calling thread a group and reads it.
func (t *threads) open(thread int, r *Reading) error {
	group, err := t.opened(thread)
	switch {
	case err == nil:
		return group.Read(r)
	case errors.Is(err, errTooManyThreads), errors.Is(err, perf.ErrNotScheduled):
		t.refused.Add(1)
	default:
		t.disable(err)
	}
	return err
}

func (t *threads) opened(thread int) (*Group, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if off := t.off.Load(); off != nil {
		return nil, *off
	}
	t.reap()
	slots := *t.slots.Load()
	if _, known := slots[thread]; !known && len(slots) >= t.limit {
		t.full.Store(now() + int64(retryAfter))
		return nil, errTooManyThreads
	}
	group, err := Open(t.events...)
	switch {
	case err == nil:
		t.set(thread, threadSlot{group: group})
	case errors.Is(err, perf.ErrNotScheduled):
		t.set(thread, threadSlot{retry: now() + int64(retryAfter)})
	}
	return group, err
}

// reap closes what ended threads had open. If a new thread has the ID of an ended one, that
// is left to the new one's Read.
func (t *threads) reap() {
	if now() < t.reapAt {
		return
	}
	t.reapAt = now() + int64(retryAfter)
	left := maps.Clone(*t.slots.Load())
	maps.DeleteFunc(left, func(thread int, slot threadSlot) bool {
		if perf.Alive(thread) {
			return false
		}
		_ = slot.close() // nothing depends on it
		if slot.group != nil {
			t.reaped.Add(1)
		}
		return true
	})
	t.slots.Store(&left)
}

// drop closes a group that cannot be read any more.
func (t *threads) drop(group *Group, thread int, slot threadSlot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if (*t.slots.Load())[thread].group == group { // not closed by closeAll
		_ = group.Close() // nothing depends on it
		t.set(thread, slot)
	}
}

// set changes one slot; mu is held.
func (t *threads) set(thread int, slot threadSlot) {
	next := maps.Clone(*t.slots.Load())
	next[thread] = slot
	t.slots.Store(&next)
}

// disable ends all counting for an error that other threads would have as well.
func (t *threads) disable(err error) {
	if t.off.CompareAndSwap(nil, &err) {
		_ = t.closeAll() // err has more
		otel.Handle(err)
	}
}

// closeAll closes all groups; off is set, so that no more are opened.
func (t *threads) closeAll() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var errs []error
	for _, slot := range *t.slots.Load() {
		errs = append(errs, slot.close())
	}
	t.slots.Store(&map[int]threadSlot{})
	return errors.Join(errs...)
}
