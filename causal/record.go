package causal

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/trace"
	"time"

	"github.com/otelprof/otelprof/causal/internal/record"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/internal/traced/flight"
	"github.com/otelprof/otelprof/spans"
)

// The shortest and the longest window that [Controller.Record] takes.
const (
	MinWindow = 100 * time.Millisecond
	MaxWindow = 30 * time.Second
)

// WithReplay switches recordings on: a few seconds of the Go scheduler's events, spans and
// operations on this package's types now and then, from which it is computed what would be if
// regions were faster. Nothing is delayed, and between recordings it costs one atomic load for each
// span.
//
// The first begins 2 s after the first span has ended, the next a minute after the last began while
// there is interest, that is within 5 minutes of a call of [Controller.Profile] or
// [Controller.Latest], and else 5 minutes after. A recording takes 3 s, or less where that would be
// more than 1 MiB. The first five take 1 s and come one after the other within 5 minutes of a call
// of Profile, and up to five more while the interval of the region that matters most is wider than
// 4 points and still shrinks, or while the simulation of nothing changed meets fewer than five
// windows within 3 %. Analyses take at most 5 % of one core on average, or recordings are rarer.
// Experiments of a plan wait for a recording to end. There is none without spans, among more than
// 20,000 goroutines, within an hour of two in a row that stopped the world for more than 5 ms, with
// less than 128 MiB of memory left to GOMEMLIMIT, to the limit of any of the process's control
// groups or on the machine, or while the program has an execution trace or a flight recorder of its
// own on (runtime/trace), or if the environment variable OTELPROF_REPLAY is off; [Status] has the
// reason. The program's trace.Start never fails for a recording; for its flight recorder see
// [StartFlightRecorder]. Default: there are none but those of [Controller.Record].
func WithReplay() Option {
	return optionFunc(func(c config) config { c.replay = true; return c })
}

// Record records the program for d, in [MinWindow, MaxWindow], or until there are as many bytes as
// half of the memory that is left suffices to analyse, 64 MiB at most and 8 MiB where it is not
// known how much is left; with less than 128 MiB left it is an error. It analyses that, which takes
// about as long again for each 10 MiB. What was found is in the [Controller.Profile] afterwards, as
// curves of [profile.ModeReplay], together with that of all other recordings. It waits while
// another recording goes on, and ends with ctx.
//
// A recording that the simulation of nothing changed misses by over 3 % widens the numbers, or has
// no part in them. Then Record takes one more, so that five calls give numbers if two of three
// recordings can be simulated; it does not take a third.
//
// Errors wrap [ErrRecording], and [ErrTraced] while the program has a flight recorder of its own
// on.
func (c *Controller) Record(ctx context.Context, d time.Duration) error {
	ctx, done, err := c.mayRecord(ctx, d)
	if err != nil {
		return err
	}
	defer done()
	err = c.recorder.Record(ctx, d)
	if err == nil && c.study.missed() {
		err = c.recorder.Record(ctx, d)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRecording, err)
	}
	return nil
}

// mayRecord checks whether a recording of this length may be made. The context that it returns ends
// with the program, too, which waits for done.
func (c *Controller) mayRecord(ctx context.Context, d time.Duration) (_ context.Context, done func(), err error) {
	if d < MinWindow || d > MaxWindow {
		return nil, nil, fmt.Errorf("%w: window %v: must be in [%v, %v]", ErrRecording, d, MinWindow, MaxWindow)
	}
	if why := record.NoMemory(); why != "" {
		return nil, nil, fmt.Errorf("%w: %s", ErrRecording, why)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.recordable:
		return nil, nil, fmt.Errorf("%w: %s is off", ErrRecording, naming.EnvReplay)
	case c.closed:
		return nil, nil, fmt.Errorf("%w: %s", ErrRecording, programEnds)
	}
	c.background.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.ending, func() { cancel(errors.New(programEnds)) })
	return ctx, func() {
		stop()
		cancel(nil)
		c.background.Done()
	}, nil
}

// A study is where recordings go, and where answers come from.
type study interface {
	// add analyses a recording, on the calling goroutine, and ends with ctx.
	add(ctx context.Context, w *record.Window) error
	// addTo adds what is known by now to a profile. It may be called while add is.
	addTo(p *profile.Profile)
	// waitsOf returns what a session waited for.
	waitsOf(s *spans.SessionRecord) SessionWaits
	// enough reports whether further recordings would hardly make the numbers better, and missed
	// whether the last recording has no part in any, since the simulation of nothing changed did
	// not meet it.
	enough() bool
	missed() bool
}

// keepAway returns why no recording should be made now, "" if one may be.
func (c *Controller) keepAway() string {
	if n := runtime.NumGoroutine(); n > record.MostGoroutines {
		return fmt.Sprintf("%d goroutines: a recording of its own accord is made among at most %d", n, record.MostGoroutines)
	}
	if record.Busy() { // whose trace is not the program's
		return "another recording is being made"
	}
	if trace.IsEnabled() && flight.Kept() == nil {
		return "the program has an execution trace or a flight recorder on (runtime/trace): a recording of its own accord is made without"
	}
	return record.NoMemory()
}

// A RecordingStatus is the state of the recordings for replay.
type RecordingStatus struct {
	// On is whether recordings are made of their own accord.
	On bool `json:"on"`
	// Phase is what is being done: "waiting", "recording" or "analysing".
	Phase string `json:"phase"`
	// Recordings is how many have been analysed, Failed how many could not be made or read.
	Recordings int `json:"recordings"`
	Failed     int `json:"failed"`
	// Reason is why there was none when the last was due, or why it could not be read.
	Reason string `json:"reason,omitempty"`
	// Next is when the next may begin, zero before the first span has ended.
	Next time.Time `json:"next,omitzero"`
	// Last is the last one that was analysed, nil if there is none.
	Last *RecordingInfo `json:"last,omitempty"`
}

// A RecordingInfo is what one recording took.
type RecordingInfo struct {
	Begun  time.Time     `json:"begun"`
	Length time.Duration `json:"length_ns"`
	Bytes  int           `json:"bytes"`
	// Cut is true if it was ended early, since it had become too large.
	Cut bool `json:"cut,omitempty"`
	// Shared is true if the process was being traced already when it began: that trace has gone on.
	Shared     bool `json:"shared,omitempty"`
	Goroutines int  `json:"goroutines"`
	// Starting and Stopping are how long it took to switch the trace on and off, Analysis how long
	// it took to read and simulate it, on one goroutine, with rests about half of the time, and CPU
	// the processor time of that.
	Starting time.Duration `json:"starting_ns"`
	Stopping time.Duration `json:"stopping_ns"`
	Analysis time.Duration `json:"analysis_ns"`
	CPU      time.Duration `json:"analysis_cpu_ns"`
	// Stopped is for how long all goroutines were stopped to switch the trace on, or a little
	// longer; 0 if they were not.
	Stopped time.Duration `json:"stopped_ns"`
}

func (c *Controller) recording() RecordingStatus {
	s := c.recorder.Status()
	return RecordingStatus{
		On: c.replay, Phase: string(s.Phase), Recordings: s.Recordings, Failed: s.Failed, Reason: s.Reason, Next: s.Next,
		Last: (*RecordingInfo)(s.Last),
	}
}
