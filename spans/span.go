package spans

import (
	"context"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/naming"
)

// A Region is all spans of one instrumentation scope and one name, and the key of what is measured
// of them.
type Region struct {
	Scope instrumentation.Scope
	Name  string
}

// A Span is the live record of one span while it is measured. Hooks get it at start and end. Its
// methods may be called by any goroutine, also after the end.
//
// It lies in the wrapper of the span that it is of. Every span of a program is one, so a word less
// is worth having.
type Span struct {
	tracer  *tracer
	stats   *regionStats // of the name given at start
	parent  *Span
	session *Session
	ctx     context.Context // that the span's own continues
	name    string          // given at start
	remote  trace.SpanID    // of the parent in another process, or across a connection of this one
	renamed atomic.Pointer[string]

	start   int64        // on the line of now
	end     atomic.Int64 // stateOpen, stateEnding, or the end time once that is known
	self    int64        // ns, written before the end time is
	cover   cover        // its times are since start
	status  atomic.Uint32
	refused bool // the session's record is full
	// unsampled is set if the sampler is known to follow this span, which it has left out.
	unsampled bool
	recorded  bool // it is one of the SDK that records until it ends
	slots     slots

	next *Span // in the session's list of ended spans
	// index is the place in the session's record. Of the worker only.
	index int
}

const (
	stateOpen   = 0
	stateEnding = -1
)

// isTime reports whether the end of a span is a time and not a state. Times before the
// process started are negative.
func isTime(end int64) bool { return end != stateOpen && end != stateEnding }

// SpanFromContext returns the live record of the current span, nil if there is none.
func SpanFromContext(ctx context.Context) *Span {
	r, _ := liveIn(trace.SpanFromContext(ctx))
	return r
}

// Name returns the span's name, the last one given by SetName.
func (r *Span) Name() string {
	if p := r.renamed.Load(); p != nil {
		return *p
	}
	return r.name
}

// Folded reports whether spans of its name, the last one given, are measured under the region
// "other": there were more names than [WithMaxRegions]. What hooks keep by name should do the same.
func (r *Span) Folded() bool {
	return r.lastStats().overflow != nil
}

// StartName returns the name that the span was started with.
func (r *Span) StartName() string { return r.name }

// Scope returns the instrumentation scope of the tracer that started the span.
func (r *Span) Scope() instrumentation.Scope { return r.tracer.scope }

// Region returns what the span is measured under, as long as there are not too many names, see
// [Span.Folded].
func (r *Span) Region() Region { return Region{r.Scope(), r.Name()} }

// Kind returns the span's kind. For a span that is not recording, it is the kind of the
// first span of its name.
func (r *Span) Kind() trace.SpanKind {
	if rec, ok := r.inner().(sdktrace.ReadOnlySpan); ok {
		return rec.SpanKind()
	}
	return r.stats.kind
}

// Start returns when the span started: the timestamp given by the caller, if there was one.
func (r *Span) Start() time.Time { return wallTime(r.start) }

// Ended reports whether the span's end time is known.
func (r *Span) Ended() bool { return isTime(r.end.Load()) }

// Duration returns how long the span took, or how long it is open. Never negative.
func (r *Span) Duration() time.Duration {
	return time.Duration(max(0, r.endOrNow()-r.start))
}

// SelfTime returns the part of Duration in which no child was open and no wait marked by
// [Span.BeginWait]. It is in [0, Duration]. Of children that are made one after the other, with
// timestamps that overlap, each is taken off: it is too small by their overlap.
func (r *Span) SelfTime() time.Duration {
	if r.Ended() {
		return time.Duration(r.self)
	}
	return time.Duration(r.selfAt(now()))
}

// selfAt is the self time of a span that is open until at. Children that are open then, or
// begin later, do not change it once it has been taken.
func (r *Span) selfAt(at int64) int64 {
	duration := max(0, at-r.start)
	return min(max(0, duration-r.cover.total(at-r.start)), duration)
}

func (r *Span) endOrNow() int64 {
	if end := r.end.Load(); isTime(end) {
		return end
	}
	return now()
}

// Delay returns the time that hooks have inserted in the spans below, see [AfterEnder].
// Where children ran side by side it is the sum over all of them.
func (r *Span) Delay() time.Duration { return time.Duration(r.delay()) }

// AddDelay is for hooks that insert time in the middle of the span, and not at its end: it
// counts as what [AfterEnder] returns for a span below. Call it between [Span.BeginWait] and
// [Span.EndWait], so that it is not self time.
func (r *Span) AddDelay(d time.Duration) {
	if d <= 0 {
		return
	}
	at := now()
	r.hold(interval{at - int64(d), at})
	r.addDelay(int64(d))
	if r.session != nil {
		r.session.delay.Add(int64(d))
	}
}

// Deadline returns the deadline of the context in which the span was started.
func (r *Span) Deadline() (deadline time.Time, ok bool) {
	return r.ctx.Deadline()
}

// Parent returns the span that was current when this one started, nil for a local root.
func (r *Span) Parent() *Span { return r.parent }

// RemoteParent returns the span ID of the parent if that came by propagation, zero if there is
// none. The parent may be of this process all the same, if that calls itself.
func (r *Span) RemoteParent() trace.SpanID { return r.remote }

// Attributes returns the attributes that the span has now, nil if it is not recording.
func (r *Span) Attributes() []attribute.KeyValue {
	if rec, ok := r.inner().(sdktrace.ReadOnlySpan); ok && r.inner().IsRecording() {
		return rec.Attributes()
	}
	return nil
}

// Session returns the session that the span belongs to, nil if there is none.
func (r *Span) Session() *Session { return r.session }

// SessionID returns the ID of the session, zero if there is none.
func (r *Span) SessionID() SessionID {
	if r.session == nil {
		return SessionID{}
	}
	return r.session.id
}

// SpanContext returns the span's context.
func (r *Span) SpanContext() trace.SpanContext { return r.inner().SpanContext() }

// Failed reports whether the span's status is Error.
func (r *Span) Failed() bool { return codes.Code(r.status.Load()) == codes.Error }

// IsRecording reports whether the span takes attributes.
func (r *Span) IsRecording() bool {
	if r.recorded && r.end.Load() == stateOpen {
		return true // without the lock that the SDK's span would take
	}
	return r.inner().IsRecording()
}

// SetAttributes sets attributes of the span. It does nothing on a span that is not
// recording or has ended. The caller may use the slice again.
func (r *Span) SetAttributes(kv ...attribute.KeyValue) {
	if !r.recorded { // the SDK copies them, another provider may not
		if !r.IsRecording() {
			return
		}
		kv = slices.Clone(kv)
	}
	r.inner().SetAttributes(kv...)
}

// BeginWait marks the beginning of a wait, for a lock or a channel say: the time until
// [Span.EndWait] is not self time. Waits may nest and overlap.
func (r *Span) BeginWait() { r.cover.beginWait(now() - r.start) }

// EndWait marks the end of a wait.
func (r *Span) EndWait() { r.cover.end(now() - r.start) }

// tryEnd reports whether this call is the first End.
func (r *Span) tryEnd() bool { return r.end.CompareAndSwap(stateOpen, stateEnding) }

// setStatus follows the SDK's rules: Ok is final, Unset is ignored, and so is what comes
// after the end.
func (r *Span) setStatus(code codes.Code) {
	if code != codes.Unset && codes.Code(r.status.Load()) != codes.Ok && !r.Ended() {
		r.status.Store(uint32(code))
	}
}

// beforeEnd runs while the inner span still takes attributes.
func (r *Span) beforeEnd() {
	if mark.Enabled() {
		r.markEnd()
	}
	p := r.tracer.provider
	if len(p.hooks.all) != 0 {
		p.hooks.onEnd(r)
	}
	if d := r.delay(); d != 0 {
		r.inner().SetAttributes(naming.DelayKey.Int64(d))
	}
}

// afterEnd runs when the inner span has ended, at end, for which the clock was read at a time, or
// not if that is 0.
func (r *Span) afterEnd(end, at int64) {
	p := r.tracer.provider
	if !isTime(end) { // by chance one of the two states
		end = 1
	}
	r.self = r.selfAt(end)
	// The end is stored before the span is pushed to its session, so that the goroutine that
	// takes it from there sees it.
	r.end.Store(end)

	below := r.delay()
	var left, inserted int64 // when the caller's parent goes on, if it was held
	if len(p.hooks.enders) != 0 {
		if d := int64(p.hooks.afterEnd(r)); d > 0 {
			inserted = d
			left = now()
			at = left
			r.parent.hold(interval{left - d, left}) // which need not be behind end, that may be any time
			if r.session != nil {
				r.session.delay.Add(d)
			}
		}
	}
	if r.parent != nil {
		r.parent.cover.end(end - r.parent.start)
		if inserted > 0 {
			r.parent.cover.beginWait(left - inserted - r.parent.start)
			r.parent.cover.end(left - r.parent.start)
		}
		if below+inserted > 0 {
			r.parent.addDelay(below + inserted)
		}
	}
	r.lastStats().record(r.measured(end), r.self, r.Failed())
	switch {
	case r.session == nil:
	case !r.refused:
		r.session.ended(r, inserted, at)
	case r.Failed():
		r.session.errors.Add(1)
	}
}

// measured is the duration that the histogram of the region gets: without what hooks inserted
// below.
func (r *Span) measured(end int64) int64 {
	return max(max(0, end-r.start)-r.heldUp(), r.self)
}

// lastStats are the statistics of the last name.
func (r *Span) lastStats() *regionStats {
	if renamed := r.renamed.Load(); renamed != nil {
		return r.tracer.statsOf(*renamed, r)
	}
	return r.stats
}

func (r *Span) countPanic(v any) {
	if v != nil {
		r.tracer.provider.drops.hookPanics.Add(1)
	}
}

// hold books a delay in the span and in those around it that are open.
func (r *Span) hold(d interval) {
	for ; r != nil; r = r.parent {
		if r.Ended() {
			continue
		}
		r.makeHeld().add(d)
	}
}

// held returns what is known of delays, nil if there were none.
func (r *Span) held() *held { return (*held)(r.slots.get(heldSlot)) }

// makeHeld is held, but for a delay to be added.
func (r *Span) makeHeld() *held {
	if h := r.held(); h != nil {
		return h
	}
	making.Lock()
	defer making.Unlock()
	h := r.held()
	if h == nil {
		h = &held{}
		r.slots.set(heldSlot, unsafe.Pointer(h))
	}
	return h
}

// heldUp is for how long the span was held up so far, ns.
func (r *Span) heldUp() int64 {
	if h := r.held(); h != nil {
		return h.sum()
	}
	return 0
}

// delay is the sum of the delays in the span and below, ns.
func (r *Span) delay() int64 {
	if h := r.held(); h != nil {
		return h.delay.Load()
	}
	return 0
}

func (r *Span) addDelay(ns int64) { r.makeHeld().delay.Add(ns) }
