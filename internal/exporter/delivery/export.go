package delivery

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"sync"
	"time"

	"github.com/otelprof/otelprof/internal/clock/rest"
	"github.com/otelprof/otelprof/internal/http/own"
)

const (
	// mostRest bounds the rests of one export: on a machine that is busy each takes longer, and the
	// last export is to end soon.
	mostRest = 200 * time.Millisecond
	// mostRefusals bounds the exports that are refused in the search for items at fault: ten of
	// them find one among 512.
	mostRefusals = 32
)

// An exporter is what the exporters of all signals have in common.
type exporter[E interface{ Shutdown(context.Context) error }] struct {
	inner   E
	monitor *Monitor
	once    sync.Once
}

// ForceFlush flushes the inner exporter, if it holds data back. The error has the number of items
// that have not been delivered, if exports fail at present.
func (e *exporter[E]) ForceFlush(ctx context.Context) error {
	var err error
	if f, ok := any(e.inner).(interface{ ForceFlush(context.Context) error }); ok {
		err = f.ForceFlush(ctx)
	}
	return errors.Join(e.monitor.Err(), err)
}

// Shutdown shuts the inner exporter down, within ctx. The error is like ForceFlush's. A
// second call does nothing.
func (e *exporter[E]) Shutdown(ctx context.Context) error {
	var err error
	e.once.Do(func() {
		err = errors.Join(e.monitor.Err(), e.inner.Shutdown(ctx))
		e.monitor.messages.wait(ctx)
	})
	return err
}

// Stats returns the counts so far. Items in a queue before the exporter are not among them, see
// [Batcher.Stats].
func (e *exporter[E]) Stats() Stats { return e.monitor.Stats() }

// A piecewise exporter takes large exports in pieces, which take a processor for half a millisecond
// each, about, and waits for no answer.
type piecewise interface {
	AtOnce() int // items, 1 at least
}

// An export is of many items T, a slice or metrics, to one exporter.
type export[T any] struct {
	monitor *Monitor
	do      func(context.Context, T) error
	// split yields items in pieces of at most the given number, each with its number of items, and
	// name describes one item.
	split func(items T, n, most int) iter.Seq2[T, int]
	name  func(item T) string

	taken    bool
	refusals int
	alone    []refused
}

// refused is the error of one item alone.
type refused struct {
	name string
	err  error
}

// run exports the pieces, rests between them, and reports to the monitor. A piece that is refused
// for what is in it, see [Config.Refused], is halved, until the items at fault are alone: they are
// lost, and the rest arrives. After a piece that fails otherwise the others are not tried, and
// count as failed with it.
func (e *export[T]) run(ctx context.Context, items int, pieces iter.Seq2[T, int]) {
	ctx = own.Context(ctx)
	rested, left := time.Duration(0), items
	for piece, n := range pieces {
		begun := time.Now()
		if err := e.piece(ctx, piece, n, &left); err != nil {
			e.monitor.Observe(ctx, left+len(e.alone), err)
			return
		}
		if left > 0 && rested < mostRest {
			rested += rest.For(ctx, time.Since(begun))
		}
	}
	if len(e.alone) > 0 && !e.taken { // nothing is taken: that does not depend on the item
		e.monitor.Observe(ctx, len(e.alone), e.alone[0].err)
		return
	}
	for _, r := range e.alone {
		e.monitor.refused(ctx, r)
	}
	if items > 0 {
		e.monitor.recovered(ctx)
	}
}

// contained has a panic of an exporter, which may be the program's, be an error: the goroutine is
// ours, and the program could not recover it.
func contained(call func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return call()
}

// piece exports a piece of n items, and takes from left what is taken or at fault.
func (e *export[T]) piece(ctx context.Context, piece T, n int, left *int) error {
	err := contained(func() error { return e.do(ctx, piece) })
	if _, part := e.monitor.rejected(err); err == nil || part {
		e.monitor.took(ctx, n, err)
		e.taken = true
		*left -= n
		return nil
	}
	if e.monitor.cfg.Refused == nil || !e.monitor.cfg.Refused(err) || e.refusals == mostRefusals {
		return err
	}
	e.refusals++
	if n == 1 {
		e.alone = append(e.alone, refused{e.name(piece), err})
		*left--
		return nil
	}
	for half, n := range e.split(piece, n, (n+1)/2) {
		if err := e.piece(ctx, half, n, left); err != nil {
			return err
		}
	}
	return nil
}

// sliced yields items in pieces of at most most, each with its number of items.
func sliced[T any](items []T, _, most int) iter.Seq2[[]T, int] {
	return func(yield func([]T, int) bool) {
		for len(items) > 0 {
			piece := items[:min(most, len(items))]
			if items = items[len(piece):]; !yield(piece, len(piece)) {
				return
			}
		}
	}
}

// short is a name for a message, of 64 bytes at most, more or less.
func short(kind, name string) string {
	if len(name) > 64 {
		name = name[:64] + "…"
	}
	return kind + " " + strconv.QuoteToGraphic(name)
}
