package stacks

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrConfig is wrapped by errors about options and parameters.
	ErrConfig = errors.New("stacks: configuration")
	// ErrBusy is returned while other code in this process holds the CPU profile.
	ErrBusy = errors.New("stacks: cpu profile: already taken in this process")
	// ErrClosed is returned after Shutdown.
	ErrClosed = errors.New("stacks: profiler: closed")
)

// maxRate is the highest rate, in Hz. Kernels count time in ticks, of 4 ms most often: of
// samples asked for more often than every fifth of a hundredth, some never come.
const maxRate = 200

// An Option sets how a [Profiler] samples.
type Option interface{ apply(config) config }

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

type config struct {
	hz        int
	window    time.Duration
	history   time.Duration
	unsampled bool
	spans     bool
	paused    bool
	service   string
	source    source
}

func newConfig(opts []Option) (config, error) {
	c := config{hz: 100, window: 5 * time.Second, history: 5 * time.Minute}
	for _, o := range opts {
		if o != nil {
			c = o.apply(c)
		}
	}
	var errs []error
	reject := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...))
	}
	if c.hz < 1 || c.hz > maxRate {
		reject("rate %d Hz: must be in [1, %d]", c.hz, maxRate)
	}
	if c.window < time.Second || c.window > time.Minute {
		reject("window %v: must be in [1s, 1m]", c.window)
	}
	if c.history < c.window || c.history > time.Hour {
		reject("history %v: must be in [%v, 1h], from one window on", c.history, c.window)
	}
	return c, errors.Join(errs...)
}

// WithRate sets how many samples are taken in a second of processor time, in [1, 200].
// Default: 100.
func WithRate(hz int) Option {
	return optionFunc(func(c config) config { c.hz = hz; return c })
}

// WithWindow sets how long samples are gathered until they are scaled to the processor time
// that the process took, and how often the profiler tries again while other code holds the CPU
// profile; in [1s, 1m]. Default: 5 s.
func WithWindow(d time.Duration) Option {
	return optionFunc(func(c config) config { c.window = d; return c })
}

// WithHistory sets for how long samples are kept, from one window to an hour. Default: 5
// minutes.
func WithHistory(d time.Duration) Option {
	return optionFunc(func(c config) config { c.history = d; return c })
}

// WithUnsampled also labels spans that do not record since the sampler left them out, which costs
// as much for them as for the others. Default: their samples count for the recording span around
// them, or for none.
func WithUnsampled() Option {
	return optionFunc(func(c config) config { c.unsampled = true; return c })
}

// WithSpanLabels labels goroutines in sampled spans with the span's name and its IDs as well, as
// span_name, trace_id and span_id, whether or not this profiler takes samples: samples of
// [Profiler.Profile] and of [Profiler.ServeHTTP] are then those of single spans, and profilers
// outside of the process can identify which span a stack is in. It takes one allocation of 240
// bytes for each sampled span. The name of the span stands in crash traces of programs that show
// labels. Labels of the application's own with these keys are out of sight until the span ends; all
// others stay. Default: a goroutine's label is the number of its region.
func WithSpanLabels() Option {
	return optionFunc(func(c config) config { c.spans = true; return c })
}

// WithService sets the name of the service, which recordings have beside the PID and the host, see
// [Origin]. Default: they have those two only.
func WithService(name string) Option {
	return optionFunc(func(c config) config { c.service = name; return c })
}

// WithPaused waits for [Profiler.Resume] before it takes samples. Default: sampling begins at
// once.
func WithPaused() Option {
	return optionFunc(func(c config) config { c.paused = true; return c })
}
