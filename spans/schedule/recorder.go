package schedule

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/pprof/profile"

	"github.com/otelprof/otelprof/internal/clock/ending"
	"github.com/otelprof/otelprof/internal/traced/flight"
	"github.com/otelprof/otelprof/spans"
)

var (
	// ErrNotRecording is returned for a snapshot while the recorder is off.
	ErrNotRecording = errors.New("schedule: not recording")
	// ErrTooLarge is returned for a snapshot of more bytes than twice [WithMaxBytes].
	ErrTooLarge = errors.New("schedule: snapshot too large")
)

// A Recorder keeps the latest events of the Go scheduler, and the starts and ends of regions among
// them, which package spans writes down while the recorder is on, into the program's own traces,
// too. Its hook is for sessions that take long. Any goroutine may call its methods.
type Recorder struct {
	config config
	on     atomic.Bool
	slow   *slow
	// snapshots were taken, failed were not.
	snapshots, failed atomic.Uint64

	// switching is held by Start and Shutdown.
	switching sync.Mutex
	// turn is held by the goroutine that uses flight: one at a time, so that memory is bounded.
	turn   chan struct{}
	flight *flight.Recorder // nil while off
	// recording ends when the recorder is switched off.
	recording context.Context
	end       context.CancelCauseFunc
}

// NewRecorder returns a recorder that is off. It returns an error that wraps [ErrConfig] if an
// option's value is not allowed.
func NewRecorder(opts ...Option) (*Recorder, error) {
	c, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	return &Recorder{config: c, turn: make(chan struct{}, 1), slow: newSlow(c.threshold)}, nil
}

// Start begins to record. It does nothing while the recorder is on. The process can have one flight
// recorder; if another one is on, Start is an error, and until Shutdown a flight recorder of the
// program's own cannot be started. trace.Start is left to the program.
func (r *Recorder) Start() error {
	r.switching.Lock()
	defer r.switching.Unlock()
	if r.on.Load() {
		return nil
	}
	on, err := flight.Start(r.config.window, r.config.maxBytes)
	if err != nil {
		return fmt.Errorf("schedule: start: %w", err)
	}
	flight.Keep(on)
	r.turn <- struct{}{}
	r.flight = on
	r.recording, r.end = context.WithCancelCause(context.Background())
	<-r.turn
	if r.config.threshold > 0 {
		r.slow.watch(r.recording, r)
	}
	r.on.Store(true)
	return nil
}

// Shutdown ends recording, and with [ErrNotRecording] a snapshot that is being taken. What was
// recorded is gone; [Recorder.Slow] keeps its report. It does nothing while the recorder is off. If
// the runtime hangs, it returns soon after ctx has ended.
func (r *Recorder) Shutdown(ctx context.Context) error {
	if err := ending.Within(ctx, r.stop); err != nil {
		return fmt.Errorf("schedule: shutdown: %w", err)
	}
	return nil
}

func (r *Recorder) stop() error {
	r.switching.Lock()
	defer r.switching.Unlock()
	if !r.on.Swap(false) {
		return nil
	}
	r.end(ErrNotRecording)
	r.slow.watching.Wait()
	r.turn <- struct{}{}
	flight.Keep(nil)
	r.flight.Stop()
	r.flight = nil
	<-r.turn
	return nil
}

// Recording reports whether the recorder is on.
func (r *Recorder) Recording() bool { return r.on.Load() }

// Hook returns the hook that looks for sessions that take long, see [WithThreshold].
func (r *Recorder) Hook() spans.Hook { return hook{r} }

type hook struct{ r *Recorder }

// OnStart implements [spans.Hook].
func (h hook) OnStart(ctx context.Context, _ *spans.Span) context.Context { return ctx }

// OnEnd implements [spans.Hook].
func (h hook) OnEnd(s *spans.Span) {
	if h.r.config.threshold > 0 && s.Parent() == nil && h.r.on.Load() {
		h.r.slow.ended(s)
	}
}

// Snapshot reads what has been recorded and returns where the time went. It takes about 0.05 s for
// each megabyte, on the caller's goroutine, ends with ctx, and waits while another snapshot is
// taken.
func (r *Recorder) Snapshot(ctx context.Context) (report *Report, err error) {
	err = r.read(ctx, func(ctx context.Context, events io.Reader) error {
		taken := time.Now()
		if report, err = Analyze(ctx, events); err != nil {
			return err
		}
		report.Taken = taken
		return nil
	})
	if err != nil {
		return nil, err
	}
	return report, nil
}

// OffCPU reads what has been recorded, as Snapshot does and at the same cost, and returns where
// regions waited, see the function OffCPU.
func (r *Recorder) OffCPU(ctx context.Context) (p *profile.Profile, err error) {
	err = r.read(ctx, func(ctx context.Context, events io.Reader) error {
		p, err = OffCPU(ctx, events)
		return err
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// read calls f with the events, one caller at a time. It ends with ctx or the recording.
func (r *Recorder) read(ctx context.Context, f func(context.Context, io.Reader) error) error {
	select {
	case r.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("schedule: wait for another snapshot: %w", context.Cause(ctx))
	}
	defer func() { <-r.turn }()
	if r.flight == nil {
		return ErrNotRecording
	}
	if err := r.readFlight(ctx, f); err != nil {
		r.failed.Add(1)
		return err
	}
	r.snapshots.Add(1)
	return nil
}

// readFlight is read for the holder of the turn.
func (r *Recorder) readFlight(ctx context.Context, f func(context.Context, io.Reader) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	recording := r.recording
	defer context.AfterFunc(recording, func() { cancel(context.Cause(recording)) })()
	events := &limitedBuffer{limit: 2 * r.config.maxBytes}
	if _, err := r.flight.WriteTo(events); err != nil {
		return fmt.Errorf("schedule: snapshot: %w", err)
	}
	return f(ctx, &events.Buffer)
}

// A limitedBuffer takes limit bytes.
type limitedBuffer struct {
	bytes.Buffer
	limit int
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.limit {
		return 0, fmt.Errorf("%w: must be at most %d bytes, twice the maximum: take a shorter window or a higher maximum", ErrTooLarge, b.limit)
	}
	return b.Buffer.Write(p)
}

// Stats count what a recorder has done.
type Stats struct {
	// Snapshots were taken, those for slow sessions included; Failed ones were not.
	Snapshots uint64 `json:"snapshots"`
	Failed    uint64 `json:"failed"`
	// SlowSessions took longer than the threshold, Suppressed of them have no report: the last one
	// was less than a minute ago.
	SlowSessions uint64 `json:"slow_sessions"`
	Suppressed   uint64 `json:"suppressed"`
}

// Stats returns the counts so far.
func (r *Recorder) Stats() Stats {
	return Stats{
		Snapshots: r.snapshots.Load(), Failed: r.failed.Load(),
		SlowSessions: r.slow.sessions.Load(), Suppressed: r.slow.suppressed.Load(),
	}
}

// Slow returns the report on the last slow session that has one, see [WithThreshold]; nil if none
// has.
func (r *Recorder) Slow() *Report { return r.slow.report.Load() }
