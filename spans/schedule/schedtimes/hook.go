// Package schedtimes measures for each span how long its goroutine ran, waited for a processor and
// was blocked, in programs that were built by "otelprof build": there Go's scheduler keeps account
// of it.
//
// Package spans/schedule knows what goroutines were blocked by, and the parts of a span on other
// goroutines, for the latest seconds. This one knows the times only, of all spans.
package schedtimes

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"

	"github.com/otelprof/otelprof/internal/glob"
	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
	"github.com/otelprof/otelprof/spans"
)

var (
	// ErrConfig is wrapped by errors about options.
	ErrConfig = errors.New("schedtimes: configuration")
	// ErrNotSupported is returned in programs that were built by go, and not by otelprof.
	ErrNotSupported = errors.New(`schedtimes: the scheduler keeps no account: must be built by "otelprof build"`)
)

var _ spans.Hook = (*Hook)(nil)

// A Hook sets three attributes on spans, in ns: otelprof.running_ns, for which the goroutine had a
// processor of Go's or was in a system call or in C, where it may have waited for the operating
// system; otelprof.runnable_ns, for which it could have run, but others had the processors;
// otelprof.blocked_ns, for which it waited for a channel, a lock, a timer, the network or other
// goroutines. They add up to the time for which the span was open, less about a microsecond that
// the SDK takes before and after. Spans have them that are recorded and end on the goroutine that
// they began on. What other goroutines do for a span is in the attributes of their own spans.
//
// A span that is timed costs about half a microsecond, most of it the SDK's for three attributes.
// While one is open, each change of status of its goroutine costs a look at the clock; other
// goroutines pay a branch. Of two hooks of a provider the first one that wants a span has it.
// Methods may be called by any goroutine.
type Hook struct {
	patterns     []string // all names if there are none
	timed, moved atomic.Uint64
}

// NewHook returns a hook, to be given to [spans.WithHook]. It returns an error that wraps
// [ErrConfig] if an option's value is not allowed, and [ErrNotSupported] in programs whose
// scheduler keeps no account.
func NewHook(opts ...Option) (*Hook, error) {
	c, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	if !sched.Present {
		return nil, ErrNotSupported
	}
	return &Hook{patterns: c.patterns}, nil
}

// Stats count spans since [NewHook].
type Stats struct {
	// Timed spans have the attributes.
	Timed uint64
	// OtherGoroutine is how many have none because they ended on another goroutine than they began.
	OtherGoroutine uint64
}

// Stats returns the counts so far.
func (h *Hook) Stats() Stats { return Stats{h.timed.Load(), h.moved.Load()} }

// A timing is one span while it is open.
type timing struct {
	hook       *Hook
	watch      sched.Watch
	attributes [3]attribute.KeyValue
}

var (
	timings spans.Slot[timing]
	choices spans.NameSlot[choice]
	pool    = sync.Pool{New: func() any { return new(timing) }}
)

// There are few places that cost nothing, so none is taken in vain.
func init() {
	if sched.Present {
		timings, choices = spans.NewSlot[timing](), spans.NewNameSlot[choice]()
	}
}

// OnStart implements [spans.Hook].
func (h *Hook) OnStart(ctx context.Context, r *spans.Span) context.Context {
	if !sched.Present || !r.IsRecording() || !h.chooses(r) {
		return ctx
	}
	t := pool.Get().(*timing)
	t.hook = h
	timings.Set(r, t)
	t.watch.Begin()
	return ctx
}

// OnEnd implements [spans.Hook].
func (h *Hook) OnEnd(r *spans.Span) {
	if !sched.Present { // a Hook that is not from NewHook, for which there is no slot
		return
	}
	t := timings.Get(r)
	if t == nil || t.hook != h {
		return
	}
	times, ok := t.watch.End()
	timings.Set(r, nil)
	if ok {
		h.timed.Add(1)
		t.attributes = [...]attribute.KeyValue{
			naming.RunningKey.Int64(int64(times.Running)),
			naming.RunnableKey.Int64(int64(times.Runnable)),
			naming.BlockedKey.Int64(int64(times.Blocked)),
		}
		r.SetAttributes(t.attributes[:]...)
	} else {
		h.moved.Add(1)
	}
	pool.Put(t)
}

// choice is what a hook thinks of the spans of one name.
type choice struct {
	hook *Hook
	name string
	yes  bool
}

// chooses reports whether a span is to be timed: one of no hook's yet, whose name matches.
func (h *Hook) chooses(r *spans.Span) bool {
	if timings.Get(r) != nil {
		return false
	}
	if h.patterns == nil {
		return true
	}
	c := choices.Get(r)
	if c == nil {
		c = &choice{h, r.Name(), h.matches(r.Name())}
		choices.Set(r, c)
	}
	if c.hook == h && c.name == r.Name() {
		return c.yes
	}
	return h.matches(r.Name()) // one of the many names that share a place, see spans.NameSlot
}

func (h *Hook) matches(name string) bool {
	return slices.ContainsFunc(h.patterns, func(p string) bool { return glob.Match(p, name) })
}
