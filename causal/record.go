package causal

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/otelprof/otelprof/causal/internal/record"
)

// ModeReplay is the mode of answers for which nothing is delayed: a few seconds of the program
// are recorded, and simulated with a region that is faster. No plan asks for it.
const ModeReplay Mode = "replay"

// EnvReplay is the environment variable whose value "off" forbids recordings, whatever the program
// says.
const EnvReplay = "OTELPROF_REPLAY"

// The shortest and the longest window that [Controller.Record] takes.
const (
	MinWindow = 100 * time.Millisecond
	MaxWindow = 30 * time.Second
)

// WithReplay switches recordings on: a few seconds of the Go scheduler's events, spans and operations on
// this package's types now and then, from which it is computed what would be if regions were faster.
// Nothing is delayed, and between recordings it costs one atomic load for each span.
//
// The first begins 2 s after the first span has ended, the next a minute after the last began while
// there is interest, that is within 5 minutes of a call of [Controller.Profile], and else 5 minutes after. A
// recording takes 3 s, or less where that would be more than 16 MiB. Since numbers take five, the first five
// take 1.5 s and come one after the other if there is interest. Analyses take at most 5 % of one core
// on average, or recordings are rarer. There is none without spans, among
// more than 20,000 goroutines, while experiments delay the program, or while others take an
// execution trace of the process, which can be only one; [Status] says so. By default, if this
// option is not used, there are none but those of [Controller.Record].
func WithReplay(on bool) Option {
	return optionFunc(func(c config) config { c.replay = on; return c })
}

// Record records the program for d, in [MinWindow, MaxWindow], or until there are 64 MiB, and analyses
// that, which takes about as long again for each 10 MiB. What was found is in the [Controller.Profile]
// afterwards, as curves of [ModeReplay], together with that of all other recordings. It waits while
// another recording goes on, and ends with ctx.
//
// Errors wrap [ErrRecording], and [ErrTraced] while others trace the process.
func (c *Controller) Record(ctx context.Context, d time.Duration) error {
	if d < MinWindow || d > MaxWindow {
		return fmt.Errorf("%w: window %v: must be in [%v, %v]", ErrRecording, d, MinWindow, MaxWindow)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.mu.Lock()
	if c.closed || !c.recordable {
		c.mu.Unlock()
		if c.recordable {
			return fmt.Errorf("%w: %s", ErrRecording, programEnds)
		}
		return fmt.Errorf("%w: %s is off", ErrRecording, EnvReplay)
	}
	c.background.Add(1)
	c.mu.Unlock()
	defer c.background.Done()
	defer context.AfterFunc(c.ending, func() { cancel(errors.New(programEnds)) })()
	if err := c.recorder.Record(ctx, d); err != nil {
		return fmt.Errorf("%w: %w", ErrRecording, err)
	}
	return nil
}

// A study is where recordings go, and where answers come from.
type study interface {
	// add analyses a recording, on the calling goroutine, and ends with ctx.
	add(ctx context.Context, w *record.Window) error
	// addTo adds what is known by now to a profile. It may be called while add is.
	addTo(p *Profile)
}

// mostGoroutines is among how many recordings are made without being asked for: when a trace ends, the
// runtime looks at each, and a goroutine that runs goes without its processor for 5 ms at most.
const mostGoroutines = 20_000

// keepAway says why no recording should be made now, "" if one may be.
func (c *Controller) keepAway() string {
	if n := runtime.NumGoroutine(); n > mostGoroutines {
		return fmt.Sprintf("%d goroutines: a recording of its own accord is made among at most %d", n, mostGoroutines)
	}
	if run := c.run.Load(); run != nil && run.begun.Load() {
		return "experiments delay the program"
	}
	return ""
}

// A RecordingStatus tells of the recordings for replay.
type RecordingStatus struct {
	// On tells whether recordings are made of their own accord.
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

// A RecordingInfo tells what one recording took.
type RecordingInfo struct {
	Begun  time.Time     `json:"begun"`
	Length time.Duration `json:"length_ns"`
	Bytes  int           `json:"bytes"`
	// Cut is true if it was ended early, since it had become too large.
	Cut        bool `json:"cut,omitempty"`
	Goroutines int  `json:"goroutines"`
	// Starting and Stopping are how long it took to switch the trace on and off, Analysis how long
	// it took to read and simulate it, on one goroutine, and CPU the processor time of that.
	Starting time.Duration `json:"starting_ns"`
	Stopping time.Duration `json:"stopping_ns"`
	Analysis time.Duration `json:"analysis_ns"`
	CPU      time.Duration `json:"analysis_cpu_ns"`
}

func (c *Controller) recording() RecordingStatus {
	s := c.recorder.Status()
	return RecordingStatus{
		On: c.replay, Phase: string(s.Phase), Recordings: s.Recordings, Failed: s.Failed, Reason: s.Reason, Next: s.Next,
		Last: (*RecordingInfo)(s.Last),
	}
}
