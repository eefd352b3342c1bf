// Package record takes execution traces of this process, one at a time, for a few seconds each.
package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/trace"
	"time"
)

// ErrTraced is returned while the program has a flight recorder of its own on: the process can have
// one.
var ErrTraced = errors.New("the program has a flight recorder of its own on: switch it off, or use WithSchedule in its place")

const (
	// MaxBytes bounds a window.
	MaxBytes = 64 << 20
	// maxReserve is for what the runtime writes until the end of a window that is full is noticed:
	// as much again as the window may have, but not more than this.
	maxReserve = 16 << 20
)

// A Window is what was recorded.
type Window struct {
	// Begun is when the trace was on, Length for how long.
	Begun  time.Time
	Length time.Duration
	// Cut is true if the window was ended early, since it had become too large.
	Cut bool
	// Shared is true if a trace was on before the window, which goes on.
	Shared bool
	// Goroutines is how many there were at the beginning.
	Goroutines int
	// Starting and Stopping are how long it took to switch the trace on and off. The rest of the
	// program runs on for most of it.
	Starting, Stopping time.Duration
	// Stopped is for how long the world was stopped where the trace began, or a little longer; 0
	// for not at all.
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
// another call records. It records by a flight recorder, so that the program can take an execution
// trace meanwhile; while the program has a flight recorder on, Take returns [ErrTraced]. When ctx
// ends before, nothing is recorded, and Take returns its cause.
func Take(ctx context.Context, d time.Duration, limit int) (w *Window, err error) {
	err = Between(ctx, func() error {
		w, err = take(ctx, d, limit)
		return err
	})
	return w, err
}

// Busy reports whether a window is recorded.
func Busy() bool { return len(turn) > 0 }

// Between calls f while no window is recorded. When ctx ends before, it returns its cause.
func Between(ctx context.Context, f func() error) error {
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-turn }()
	return f()
}

func take(ctx context.Context, d time.Duration, limit int) (*Window, error) {
	limit = min(limit, MaxBytes)
	most := limit + min(limit, maxReserve)
	w := &Window{Goroutines: runtime.NumGoroutine(), Shared: trace.IsEnabled(), recorded: &buffer{limit: most}}
	begin, stopped := time.Now(), pausesSince()
	from, err := open(d+flightReserve, most)
	if err != nil {
		return nil, err
	}
	w.Begun = time.Now()
	w.Starting, w.Stopped = w.Begun.Sub(begin), stopped()
	loaded := loadSince(root)
	w.Cut, err = from.wait(ctx, d, limit)
	end := time.Now()
	w.Length = end.Sub(w.Begun)
	w.Load = loaded()
	if err == nil {
		err = from.writeTo(w.recorded)
	}
	from.close()
	w.Stopping = time.Since(end)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// flightReserve is for how much longer than the window a flight recorder keeps what it has seen.
const flightReserve = 5 * time.Second

// A buffer takes what a window is written of, up to a limit: a trace that ends in the middle cannot
// be read.
type buffer struct {
	limit  int
	chunks [][]byte
	n      int
}

// chunk is by how much a buffer grows.
const chunk = 256 << 10

// Write implements [io.Writer].
func (b *buffer) Write(p []byte) (int, error) {
	if b.n+len(p) > b.limit {
		return 0, fmt.Errorf("trace: more than %d bytes before it had stopped: must be fewer", b.limit)
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
	return &reader{chunks: b.chunks}
}

// A reader reads the chunks of a buffer that is not written any more.
type reader struct {
	chunks [][]byte
	at     int // in the first
}

// Len returns how many bytes there are to read, so that who reads them knows how much there will
// be.
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
