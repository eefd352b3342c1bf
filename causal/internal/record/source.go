package record

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"github.com/otelprof/otelprof/internal/traced/flight"
)

// A source is a flight recorder that a window is read from.
type source struct {
	*flight.Recorder

	after uint64 // the last generation of events before the window, 0 if the recorder was started for it
}

// open starts a flight recorder, or has part in the one that this process keeps for its schedule.
func open(age time.Duration, bytes int) (*source, error) {
	own, err := flight.Start(age, bytes)
	if err == nil {
		return &source{Recorder: own}, nil
	}
	kept := flight.Kept()
	if kept == nil {
		return nil, fmt.Errorf("%w: %w", ErrTraced, err)
	}
	before := later{to: io.Discard}
	if _, err := kept.WriteTo(&before); err != nil {
		return nil, err
	}
	return &source{Recorder: kept, after: before.generation}, nil
}

func (s *source) close() {
	if s.after == 0 {
		s.Stop()
	}
}

func (s *source) writeTo(w io.Writer) error {
	_, err := s.WriteTo(&later{after: s.after, to: w})
	return err
}

// wait waits until the window is over or, if cut, full. A flight recorder shows how much it has
// when it is read, which ends a generation of events: [untilLook] has that be seldom.
func (s *source) wait(ctx context.Context, d time.Duration, limit int) (cut bool, err error) {
	begin := time.Now()
	over, look := time.NewTimer(d), time.NewTimer(firstLook)
	defer over.Stop()
	defer look.Stop()
	for {
		select {
		case <-over.C:
			return false, nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-look.C:
			var size counter
			if err := s.writeTo(&size); err != nil {
				return false, err
			}
			if int(size) >= limit {
				return true, nil
			}
			look.Reset(untilLook(time.Since(begin), int(size), limit))
		}
	}
}

const (
	firstLook = 50 * time.Millisecond
	leastLook = 10 * time.Millisecond
	mostLook  = 500 * time.Millisecond
)

// untilLook returns when to look again how full a window is, of which there are so many bytes: when
// it is full at the rate so far.
func untilLook(elapsed time.Duration, size, limit int) time.Duration {
	full := float64(elapsed) * float64(limit-size) / float64(max(size, 1))
	return max(leastLook, time.Duration(min(full, float64(elapsed), float64(mostLook))))
}

// A counter counts what is written.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// A later lets the header of a trace pass, and the batches of events of the generations after one.
type later struct {
	after, generation uint64
	to                io.Writer
}

// Write takes the header, a batch, or the one byte that ends a generation.
func (l *later) Write(p []byte) (int, error) {
	const header = 'g' // "go 1.26 trace"
	if len(p) > 1 && p[0] != header {
		l.generation, _ = binary.Uvarint(p[1:])
	}
	if l.generation != 0 && l.generation <= l.after {
		return len(p), nil
	}
	return l.to.Write(p)
}
