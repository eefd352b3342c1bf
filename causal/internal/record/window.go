// Package record takes execution traces of this process, one at a time, for a few seconds each.
package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/trace"
	"sync"
	"time"
)

// ErrTraced is returned while others take an execution trace and have a flight recorder on: the process can have one of each.
var ErrTraced = errors.New("the program is being traced by others")

const (
	// MaxBytes bounds a window.
	MaxBytes = 64 << 20
	// maxReserve is for what the runtime writes until it has stopped: as much again as the window may have, but not more than this.
	maxReserve = 16 << 20
)

// A Window is what was recorded.
type Window struct {
	// Begun is when the trace was on, Length for how long.
	Begun  time.Time
	Length time.Duration
	// Cut is true if the window was ended early, since it had become too large.
	Cut bool
	// Shared is true if others traced the process meanwhile, so that the window is from a flight recorder. One that
	// becomes too large is then without its beginning.
	Shared bool
	// Goroutines is how many there were at the beginning.
	Goroutines int
	// Starting and Stopping are how long it took to switch the trace on and off. The rest of the
	// program runs on for most of it.
	Starting, Stopping time.Duration
	// Stopped is for how long the world was stopped where the trace began, or a little longer; 0 for not at all.
	Stopped time.Duration

	// Load is what became of processor time meanwhile.
	Load Load

	recorded *buffer
}

// A Load is what became of processor time; what the system does not tell is zero.
type Load struct{ CPU, Others, Stolen, Throttled, Waited time.Duration }

// Bytes returns the size of the trace.
func (w *Window) Bytes() int { return w.recorded.n }

// Reader returns a reader of the trace, from its beginning.
func (w *Window) Reader() io.Reader { return w.recorded.reader() }

// turn is held by the goroutine that records.
var turn = make(chan struct{}, 1)

// Take records for so long, or until there are as many bytes, at most [MaxBytes]. It waits while
// another call records. While others take an execution trace it records beside them, by a flight recorder; while they have one of
// these on, too, it returns [ErrTraced]. When ctx ends before, nothing is
// recorded, and Take returns its cause.
func Take(ctx context.Context, d time.Duration, limit int) (*Window, error) {
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-turn }()
	full := make(chan struct{})
	w := &Window{Goroutines: runtime.NumGoroutine(), recorded: &buffer{limit: min(limit, MaxBytes), full: full}}
	begin, stopped := time.Now(), pausesSince()
	stop, err := w.start(d)
	if err != nil {
		return nil, err
	}
	w.Begun = time.Now()
	w.Starting, w.Stopped = w.Begun.Sub(begin), stopped()
	loaded := loadSince(root)
	over := time.NewTimer(d)
	defer over.Stop()
	select {
	case <-over.C:
	case <-full:
		w.Cut = true
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	end := time.Now()
	w.Length = end.Sub(w.Begun)
	w.Load = loaded()
	if e := stop(); err == nil {
		err = e
	}
	w.Stopping = time.Since(end)
	if err == nil && w.recorded.lost {
		err = fmt.Errorf("trace: more than %d bytes before it had stopped: must be fewer", w.recorded.limit+w.recorded.reserve())
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}

// start switches a trace on, or beside that of others a flight recorder. What stop returns has been written.
func (w *Window) start(d time.Duration) (stop func() error, err error) {
	taken := trace.Start(w.recorded)
	if taken == nil {
		return func() error { trace.Stop(); return nil }, nil
	}
	flight := trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: d + flightReserve, MaxBytes: uint64(w.recorded.limit)})
	if err := flight.Start(); err != nil {
		return nil, fmt.Errorf("%w: %w; %w", ErrTraced, taken, err)
	}
	w.Shared = true
	return func() error {
		_, err := flight.WriteTo(w.recorded)
		flight.Stop()
		return err
	}, nil
}

// flightReserve is for how much longer than the window a flight recorder keeps what it has seen.
const flightReserve = 5 * time.Second

// A buffer takes what the runtime writes. It says when it has become as large as it should, and takes
// a reserve more: a trace that ends in the middle cannot be read.
type buffer struct {
	limit int
	full  chan<- struct{} // closed when the limit is reached

	mu     sync.Mutex
	chunks [][]byte
	n      int
	lost   bool
}

func (b *buffer) reserve() int { return min(b.limit, maxReserve) }

// chunk is by how much a buffer grows.
const chunk = 256 << 10

// Write implements [io.Writer]. It never fails, since that would not end the trace.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lost || b.n+len(p) > b.limit+b.reserve() {
		b.lost = true
		return len(p), nil
	}
	if before := b.n; before < b.limit && before+len(p) >= b.limit {
		close(b.full)
	}
	b.n += len(p)
	for rest := p; len(rest) > 0; {
		last := len(b.chunks) - 1
		if last < 0 || len(b.chunks[last]) == cap(b.chunks[last]) {
			b.chunks = append(b.chunks, make([]byte, 0, chunk))
			last++
		}
		fits := min(len(rest), cap(b.chunks[last])-len(b.chunks[last]))
		b.chunks[last] = append(b.chunks[last], rest[:fits]...)
		rest = rest[fits:]
	}
	return len(p), nil
}

// reader returns what was written.
func (b *buffer) reader() io.Reader {
	b.mu.Lock()
	defer b.mu.Unlock()
	return &reader{chunks: b.chunks}
}

// A reader reads the chunks of a buffer that is not written any more.
type reader struct {
	chunks [][]byte
	at     int // in the first
}

// Len returns how many bytes there are to read, so that who reads them knows how much there will be.
func (r *reader) Len() int {
	n := -r.at
	for _, c := range r.chunks {
		n += len(c)
	}
	return n
}

// Read implements [io.Reader].
func (r *reader) Read(p []byte) (n int, err error) {
	for len(r.chunks) > 0 && r.at == len(r.chunks[0]) {
		r.chunks, r.at = r.chunks[1:], 0
	}
	if len(r.chunks) == 0 {
		return 0, io.EOF
	}
	n = copy(p, r.chunks[0][r.at:])
	r.at += n
	return n, nil
}
