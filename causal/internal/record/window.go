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

// ErrTraced is returned while somebody else takes an execution trace: the process can have one.
var ErrTraced = errors.New("the program is being traced by others")

const (
	// MaxBytes bounds a window.
	MaxBytes = 64 << 20
	// reserve is for what the runtime writes until it has stopped.
	reserve = 16 << 20
)

// A Window is what was recorded.
type Window struct {
	// Begun is when the trace was on, Length for how long.
	Begun  time.Time
	Length time.Duration
	// Cut is true if the window was ended early, since it had become too large.
	Cut bool
	// Goroutines is how many there were at the beginning.
	Goroutines int
	// Starting and Stopping are how long it took to switch the trace on and off. The rest of the
	// program runs on for most of it.
	Starting, Stopping time.Duration

	recorded *buffer
}

// Bytes returns the size of the trace.
func (w *Window) Bytes() int { return w.recorded.n }

// Reader returns a reader of the trace, from its beginning.
func (w *Window) Reader() io.Reader { return w.recorded.reader() }

// turn is held by who records.
var turn = make(chan struct{}, 1)

// Take records for so long, or until there are as many bytes, at most [MaxBytes]. It waits while
// another call records, and returns [ErrTraced] if somebody else does. When ctx ends before, nothing is
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
	begin := time.Now()
	if err := trace.Start(w.recorded); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTraced, err)
	}
	w.Begun = time.Now()
	w.Starting = w.Begun.Sub(begin)
	over := time.NewTimer(d)
	defer over.Stop()
	var err error
	select {
	case <-over.C:
	case <-full:
		w.Cut = true
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	end := time.Now()
	w.Length = end.Sub(w.Begun)
	trace.Stop() // returns when all has been written
	w.Stopping = time.Since(end)
	if err == nil && w.recorded.lost {
		err = fmt.Errorf("trace: more than %d bytes before it had stopped: must be fewer", w.recorded.limit+reserve)
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}

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

// chunk is by how much a buffer grows.
const chunk = 256 << 10

// Write implements [io.Writer]. It never fails, since that would not end the trace.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lost || b.n+len(p) > b.limit+reserve {
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
