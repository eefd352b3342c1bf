package delivery

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// ErrConfig is wrapped by errors about settings.
var ErrConfig = errors.New("delivery: config")

// batchConfig are the settings of the SDK's batch processor, under the same names.
type batchConfig struct {
	queue   int           // OTEL_BSP_MAX_QUEUE_SIZE
	batch   int           // OTEL_BSP_MAX_EXPORT_BATCH_SIZE
	delay   time.Duration // OTEL_BSP_SCHEDULE_DELAY
	timeout time.Duration // OTEL_BSP_EXPORT_TIMEOUT
}

func batchConfigFromEnv() (batchConfig, error) {
	var errs []error
	number := func(name string, value, limit int) int {
		text := os.Getenv(name)
		if text == "" {
			return value
		}
		v, err := strconv.Atoi(text)
		if err != nil || v < 1 || v > limit {
			errs = append(errs, fmt.Errorf("%w: %s %q: must be an integer in [1, %d]", ErrConfig, name, text, limit))
			return value
		}
		return v
	}
	const dayMs = 24 * 60 * 60 * 1000
	c := batchConfig{
		queue:   number("OTEL_BSP_MAX_QUEUE_SIZE", sdktrace.DefaultMaxQueueSize, 1e6),
		batch:   number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", sdktrace.DefaultMaxExportBatchSize, 1e6),
		delay:   time.Duration(number("OTEL_BSP_SCHEDULE_DELAY", sdktrace.DefaultScheduleDelay, dayMs)) * time.Millisecond,
		timeout: time.Duration(number("OTEL_BSP_EXPORT_TIMEOUT", sdktrace.DefaultExportTimeout, dayMs)) * time.Millisecond,
	}
	c.batch = min(c.batch, c.queue)
	return c, errors.Join(errs...)
}

// A Batcher is a span processor that exports in batches, from one goroutine. Unlike the
// SDK's it counts every span, see [Batcher.Stats], and ends its last exports when the context
// of Shutdown ends. OnEnd never waits: when the queue is full, spans are dropped and counted.
type Batcher struct {
	exporter *SpanExporter
	cfg      batchConfig

	queue chan sdktrace.ReadOnlySpan
	flush chan chan struct{}
	stop  chan struct{}
	done  chan struct{} // closed when the worker has returned

	ctx    context.Context // of all exports
	cancel context.CancelFunc

	stopped    atomic.Bool
	once       sync.Once
	ended      atomic.Uint64 // added first, so that no sum of parts is above it
	full       atomic.Uint64
	unfinished atomic.Uint64
	closeErr   error // the exporter's, valid after done
}

// NewBatcher returns a processor that exports to e, with the settings of the OTEL_BSP_*
// environment. A value that is not in range is an error. It starts one goroutine, which
// Shutdown ends.
func NewBatcher(e *SpanExporter) (*Batcher, error) {
	cfg, err := batchConfigFromEnv()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	b := &Batcher{
		exporter: e,
		cfg:      cfg,
		queue:    make(chan sdktrace.ReadOnlySpan, cfg.queue),
		flush:    make(chan chan struct{}),
		stop:     make(chan struct{}),
		done:     make(chan struct{}),
		ctx:      ctx,
		cancel:   cancel,
	}
	go b.run()
	return b, nil
}

// OnStart does nothing.
func (b *Batcher) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd queues a sampled span.
func (b *Batcher) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	b.ended.Add(1)
	if b.stopped.Load() {
		b.unfinished.Add(1)
		return
	}
	select {
	case b.queue <- s:
	default:
		b.full.Add(1)
	}
}

// ForceFlush exports what has ended before the call. It returns when that is done, with an
// error if exports fail at present, or when ctx ends.
func (b *Batcher) ForceFlush(ctx context.Context) error {
	ack := make(chan struct{})
	select {
	case b.flush <- ack:
	case <-b.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: flush: %w", b.exporter.monitor.cfg.Name, ctx.Err())
	}
	select {
	case <-ack:
	case <-ctx.Done():
		return fmt.Errorf("%s: flush: %w", b.exporter.monitor.cfg.Name, ctx.Err())
	}
	return b.exporter.ForceFlush(ctx)
}

// Shutdown exports what has ended and shuts the exporter down. When ctx ends, exports in
// flight are cancelled, what is left is counted as unfinished, and Shutdown returns. A second
// call waits for the first and does not repeat its error.
func (b *Batcher) Shutdown(ctx context.Context) error {
	first := false
	b.once.Do(func() {
		first = true
		b.stopped.Store(true)
		close(b.stop)
	})
	select {
	case <-b.done:
		if !first {
			return nil
		}
		return b.closeErr
	case <-ctx.Done():
		b.cancel()
		return errors.Join(b.exporter.monitor.Err(), fmt.Errorf("%s: shutdown: %w", b.exporter.monitor.cfg.Name, ctx.Err()))
	}
}

// Stats returns the counts so far. For every Stats, Ended is the number of sampled spans
// that had ended.
func (b *Batcher) Stats() Stats {
	s := b.exporter.Stats()
	s.QueueFull = b.full.Load()
	s.Unfinished = b.unfinished.Load()
	left := b.ended.Load() - s.Ended()
	select {
	case <-b.done:
		// A span that passed OnEnd's check before Shutdown may have come to the queue
		// after the worker's last look.
		s.Unfinished += left
	default:
		s.Queued = left
	}
	return s
}

func (b *Batcher) run() {
	defer close(b.done)
	defer b.cancel()
	timer := time.NewTimer(b.cfg.delay)
	defer timer.Stop()
	batch := make([]sdktrace.ReadOnlySpan, 0, b.cfg.batch)
	for {
		select {
		case s := <-b.queue:
			if batch = append(batch, s); len(batch) == b.cfg.batch {
				batch = b.export(batch)
				timer.Reset(b.cfg.delay)
			}
		case <-timer.C:
			batch = b.export(batch)
			timer.Reset(b.cfg.delay)
		case ack := <-b.flush:
			batch = b.export(b.drain(batch, len(b.queue)))
			close(ack)
		case <-b.stop:
			b.export(b.drain(batch, b.cfg.queue))
			b.closeErr = b.exporter.Shutdown(b.ctx)
			return
		}
	}
}

// drain takes at most n spans from the queue, exports full batches and returns the rest.
func (b *Batcher) drain(batch []sdktrace.ReadOnlySpan, n int) []sdktrace.ReadOnlySpan {
	for range n {
		select {
		case s := <-b.queue:
			if batch = append(batch, s); len(batch) == b.cfg.batch {
				batch = b.export(batch)
			}
		default:
			return batch
		}
	}
	return batch
}

// export returns the emptied batch.
func (b *Batcher) export(batch []sdktrace.ReadOnlySpan) []sdktrace.ReadOnlySpan {
	switch {
	case len(batch) == 0:
	case b.ctx.Err() != nil:
		b.unfinished.Add(uint64(len(batch)))
	default:
		ctx, cancel := context.WithTimeout(b.ctx, b.cfg.timeout)
		_ = b.exporter.ExportSpans(ctx, batch) // always nil: the monitor has it
		cancel()
	}
	clear(batch) // let go of the spans
	return batch[:0]
}
