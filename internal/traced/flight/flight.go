// Package flight holds the process's one flight recorder for the parts of this module that record
// execution traces. It leaves trace.Start, of which the process has one, too, to the program. Marks
// are written while a recorder of this package is on, see package mark.
package flight

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime/trace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelprof/otelprof/internal/mark"
)

var (
	// ErrTaken is returned while the program has a flight recorder of its own on.
	ErrTaken = errors.New("flight: the program has a flight recorder of its own on")
	// ErrEnded is returned when a call of trace.Stop without a trace.Start before it has ended the
	// recorder: Go counts it as that of the flight recorder.
	ErrEnded = errors.New("flight: ended by a call of trace.Stop without a trace that was started: call it only after trace.Start")
)

// A Recorder is a flight recorder that is on. Any goroutine may call its methods.
type Recorder struct {
	flight  *trace.FlightRecorder
	unmark  func()
	mu      sync.Mutex // held while flight is used
	stopped bool
}

// Start switches one on, which keeps events for so long at least, and about as many bytes and those
// of a second at most.
func Start(age time.Duration, bytes int) (*Recorder, error) {
	r := &Recorder{flight: trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: age, MaxBytes: uint64(bytes)})}
	if err := r.flight.Start(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTaken, err)
	}
	r.unmark = mark.Want()
	return r, nil
}

// WriteTo writes what the recorder has, whole batches of events.
func (r *Recorder) WriteTo(w io.Writer) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return 0, errors.New("flight: stopped")
	}
	n, err := r.flight.WriteTo(w)
	if err == nil && (!trace.IsEnabled() || r.restarted()) {
		err = ErrEnded
	}
	return n, err
}

// Stop switches the recorder off, and nothing else.
func (r *Recorder) Stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return
	}
	r.stopped = true
	r.unmark()
	_, _ = r.flight.WriteTo(io.Discard) // so that restarted knows
	r.release()
}

// release gives the flight recorder back. Once Go has counted a Stop of the program's as the
// recorder's, it would count the recorder's as that of the program's trace: then that comes first.
func (r *Recorder) release() {
	if trace.IsEnabled() && r.restarted() {
		time.AfterFunc(poll, r.release)
		return
	}
	r.flight.Stop()
}

// poll is how often release looks.
const poll = 50 * time.Millisecond

// restarted reports whether the runtime's tracer was ended and started again meanwhile: a flight
// recorder takes the header of the second trace for an error, which it keeps. After WriteTo the
// field is not written while the tracer is on. Without such a field it is not known.
func (r *Recorder) restarted() bool {
	err := reflect.ValueOf(r.flight).Elem().FieldByName("err")
	return err.IsValid() && err.Kind() == reflect.Interface && !err.IsNil()
}

var kept atomic.Pointer[Recorder]

// Keep makes r the one that [Kept] returns, nil for none. It is for recorders that are on for long.
func Keep(r *Recorder) { kept.Store(r) }

// Kept returns the recorder that is on for long, from which others can read what they record, or
// nil.
func Kept() *Recorder { return kept.Load() }
