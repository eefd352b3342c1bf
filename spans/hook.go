package spans

import (
	"context"
	"time"
)

// A Hook sees every span start and end. Its methods run on the goroutine that starts or
// ends the span, inside the span's life, so their cost is the application's. They are
// called by any number of goroutines. A panic in a hook is recovered and counted as
// [Dropped.HookPanics]; the other hooks are called all the same.
type Hook interface {
	// OnStart is called after the span has started; ctx contains it. The context it returns
	// is the one that the caller of Start gets, with the span put back if it has gone;
	// return ctx to leave it as it is.
	OnStart(ctx context.Context, r *Span) context.Context
	// OnEnd is called at End, once, before the span ends: attributes can still be set.
	OnEnd(r *Span)
}

// An AfterEnder is a Hook that is also called when the span has ended.
type AfterEnder interface {
	Hook
	// AfterEnd is called when the end time is taken: [Span.Duration] and
	// [Span.SelfTime] are final, attributes cannot be set any more, and the time it takes is
	// not the span's. It returns how long it held the caller up on purpose; that time is no
	// span's self time, and it is taken off the durations of the spans above.
	AfterEnd(r *Span) time.Duration
}

// hooks are the hooks of one provider.
type hooks struct {
	all    []Hook
	enders []AfterEnder
}

func newHooks(all []Hook) hooks {
	h := hooks{all: all}
	for _, hook := range all {
		if e, ok := hook.(AfterEnder); ok {
			h.enders = append(h.enders, e)
		}
	}
	return h
}

func (h *hooks) onStart(ctx context.Context, r *Span) context.Context {
	for _, hook := range h.all {
		ctx = r.startHook(ctx, hook)
	}
	return ctx
}

func (h *hooks) onEnd(r *Span) {
	for _, hook := range h.all {
		r.endHook(hook)
	}
}

func (h *hooks) afterEnd(r *Span) (delay time.Duration) {
	for _, hook := range h.enders {
		delay += r.afterEndHook(hook)
	}
	return delay
}

// The three calls below recover each for itself, so that one hook that panics does not cost
// the next one its turn. To ask for a panic only where there is one saves two nanoseconds.

func (r *Span) startHook(ctx context.Context, hook Hook) (next context.Context) {
	next = ctx
	returned := false
	defer func() {
		if !returned {
			r.countPanic(recover())
		}
	}()
	c := hook.OnStart(ctx, r)
	returned = true
	if c != nil {
		next = c
	}
	return next
}

func (r *Span) endHook(hook Hook) {
	returned := false
	defer func() {
		if !returned {
			r.countPanic(recover())
		}
	}()
	hook.OnEnd(r)
	returned = true
}

func (r *Span) afterEndHook(hook AfterEnder) (delay time.Duration) {
	returned := false
	defer func() {
		if !returned {
			r.countPanic(recover())
		}
	}()
	delay = max(0, hook.AfterEnd(r))
	returned = true
	return delay
}
