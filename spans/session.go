package spans

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"
)

// A Session is what one local root span, or one [StartSession], does in this process. It
// is carried by the context. Spans append themselves to it, without a lock, when they end; the
// record is made by a worker when the session itself has ended. All methods may be called
// by any goroutine, and on a nil Session, where they do nothing.
type Session struct {
	id    SessionID
	root  *Span  // the first root; nil for one made by StartSession, which End ends
	given *given // nil for most

	finished  atomic.Pointer[Span] // ended spans not yet taken by the worker, newest first
	started   atomic.Int64         // spans admitted or refused, but for the root
	delay     atomic.Int64         // inserted in this session, ns
	end       atomic.Int64         // 0 while it is open
	errors    atomic.Int32         // ended spans whose status is Error, refused ones included
	crowded   atomic.Int32         // spans for which there was no room, see room.go
	queued    atomic.Bool
	lost      atomic.Bool // no further record is made
	settled   atomic.Bool // the worker has taken the first record in hand
	discarded atomic.Bool

	attributes atomic.Pointer[sessionAttributes]
	room       atomic.Pointer[room] // nil for a few spans

	next  *Session    // in the worker's queue
	faded atomic.Bool // its record stays as it is, and later spans are counted; set before lost

	// Of the worker only.
	unwanted bool  // no record is made
	kept     *kept // nil before the first record
}

// given is what a session has that does not begin with a local root here.
type given struct {
	origin   SessionID
	name     string // of one made by StartSession
	start    int64  // likewise
	provider atomic.Pointer[TracerProvider]
}

// kept is what the worker has of a session of which it makes records, and that is few of a busy
// program.
type kept struct {
	taken    []*Span
	first    [1]*Span // what taken begins as
	revision int
	again    int64 // when the next record may be made, of one that has many
	watched  bool  // it is or was among the complete sessions
}

type sessionAttributes struct {
	mu sync.Mutex
	kv []attribute.KeyValue
}

type sessionKey struct{}

// sessionSpan stands in the context between the span that was current when a session was
// started explicitly and the spans of that session.
type sessionSpan struct {
	trace.Span
	session *Session
}

// StartSession begins a session that is not bound to one root span: a batch job, a command.
// Spans started with the context it returns belong to it, those of nested local roots too,
// until [Session.End]. If ctx already carries a session, the new one has the same origin. The
// attributes tag it, as those of [Session.SetAttributes] do.
func StartSession(ctx context.Context, name string, kv ...attribute.KeyValue) (context.Context, *Session) {
	s := &Session{}
	s.id.renew()
	s.given = &given{name: name, start: now(), origin: s.id}
	if outer := SessionFromContext(ctx); outer != nil {
		s.given.origin = outer.Origin()
	}
	s.SetAttributes(kv...)
	ctx = context.WithValue(ctx, sessionKey{}, s)
	return trace.ContextWithSpan(ctx, sessionSpan{Span: trace.SpanFromContext(ctx), session: s}), s
}

// SessionFromContext returns the session that a span started with ctx would belong to, nil
// if it would begin one of its own.
func SessionFromContext(ctx context.Context) *Session {
	if _, s := liveIn(trace.SpanFromContext(ctx)); s != nil {
		return s
	}
	s, _ := ctx.Value(sessionKey{}).(*Session)
	return s
}

// ID returns the session's ID.
func (s *Session) ID() SessionID {
	if s == nil {
		return SessionID{}
	}
	return s.id
}

// Origin returns the ID of the session in which the work began, see [SessionRecord.Origin].
func (s *Session) Origin() SessionID {
	if s == nil {
		return SessionID{}
	}
	if s.given != nil {
		return s.given.origin
	}
	return s.id
}

// Delay returns the time that hooks have inserted in the session so far.
func (s *Session) Delay() time.Duration {
	if s == nil {
		return 0
	}
	return time.Duration(s.delay.Load())
}

// SetAttributes tags the session. Of a key the last value counts.
func (s *Session) SetAttributes(kv ...attribute.KeyValue) {
	if s == nil || len(kv) == 0 {
		return
	}
	s.attributes.CompareAndSwap(nil, new(sessionAttributes))
	a := s.attributes.Load()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range kv {
		if i := slices.IndexFunc(a.kv, func(has attribute.KeyValue) bool { return has.Key == one.Key }); i >= 0 {
			a.kv[i] = one
		} else {
			a.kv = append(a.kv, one)
		}
	}
}

// Discard leaves the session out of the store. Its spans are measured all the same.
func (s *Session) Discard() {
	if s != nil {
		s.discarded.Store(true)
	}
}

// End ends a session made by [StartSession]. Others end with their root span.
func (s *Session) End() {
	if s != nil && s.root == nil && s.given != nil {
		s.close(now())
	}
}

// keeps reports whether a local root of this name gets a session.
func (p *TracerProvider) keeps(ctx context.Context, name string) (keep bool) {
	if p.filter == nil {
		return true
	}
	defer func() {
		if recover() != nil {
			p.drops.hookPanics.Add(1)
			keep = true
		}
	}()
	return p.filter(ctx, name)
}

// begin makes s the session of a local root.
func (s *Session) begin(ctx context.Context, p *TracerProvider, root *Span) {
	s.id.renew()
	s.root = root
	if p.trusted {
		if origin, err := ParseSessionID(baggage.FromContext(ctx).Member(baggageKey).Value()); err == nil {
			s.given = &given{origin: origin}
		}
	}
}

// start is when it began, on the line of now.
func (s *Session) start() int64 {
	if s.root != nil {
		return s.root.start
	}
	return s.given.start
}

// of returns the session's provider, nil as long as no span has begun in one that [StartSession]
// made.
func (s *Session) of() *TracerProvider {
	if s.root != nil {
		return s.root.tracer.provider
	}
	return s.given.provider.Load()
}

// begun is the number of spans that began in the session, its root among them.
func (s *Session) begun(others int64) int64 {
	if s.root != nil {
		return others + 1
	}
	return others
}

// admit counts a span that starts, but for the session's root, and reports whether there is room
// for it.
func (s *Session) admit(p *TracerProvider) bool {
	if s.root == nil && s.given.provider.Load() == nil {
		s.given.provider.CompareAndSwap(nil, p)
	}
	p = s.of() // whose room and limits they are, also of another provider's span
	n := s.begun(s.started.Add(1))
	if n <= int64(p.maxSpans) {
		if s.hold(p, n) {
			return true
		}
		s.crowded.Add(1)
	}
	p.drops.sessionFull.Add(1)
	return false
}

// ended appends a span that has ended, with the delay inserted in it.
//
// The list is pushed at its head by compare-and-swap. The push happens-before the swap that takes
// the head out, so the worker sees all that was written to the spans. At is the time, if it is
// known.
func (s *Session) ended(r *Span, delay, at int64) {
	if delay != 0 {
		r.addDelay(delay)
	}
	if r.Failed() {
		s.errors.Add(1)
	}
	if s.root == r && s.declined(at) {
		return
	}
	for !s.lost.Load() { // or it would pin spans that no worker takes
		head := s.finished.Load()
		r.next = head
		if s.finished.CompareAndSwap(head, r) {
			break
		}
	}
	switch {
	case s.root == r:
		s.close(r.end.Load())
	case s.end.Load() != 0:
		s.enqueue() // late: the record is made once more
	}
}

// declined gives up the session, whose root has ended, if the store certainly does not want it, and
// reports whether it has.
func (s *Session) declined(at int64) bool {
	p := s.of()
	if s.discarded.Load() || !p.worker.declines(s, at) {
		return false
	}
	s.drop()
	p.drops.unwanted.add()
	return true
}

// close ends the session, once. A span that is pushed before the worker takes the list is
// in the first record; one that is pushed later finds end set, and enqueues the session again.
func (s *Session) close(at int64) {
	if at == 0 { // by chance; it stands for open
		at = 1
	}
	if s.end.CompareAndSwap(0, at) {
		s.enqueue()
	}
}

func (s *Session) enqueue() {
	p := s.of()
	if p == nil {
		return
	}
	if s.lost.Load() {
		if s.faded.Load() {
			p.drops.revisions.Add(1)
		}
		return
	}
	if !s.queued.CompareAndSwap(false, true) {
		return
	}
	why := &p.drops.queueFull
	switch {
	case s.discarded.Load():
		why = &p.drops.discarded
	case p.worker.offer(s):
		return
	}
	// Once the worker has the session it is counted there, and only the spans that came
	// late are lost.
	if s.settled.Load() {
		why = &p.drops.revisions
		s.faded.Store(true)
	}
	s.drop()
	why.Add(1)
}

// drop gives up the session, which is not in the worker's queue.
func (s *Session) drop() {
	s.lost.Store(true)
	if s.finished.Load() != nil {
		unlink(s.finished.Swap(nil))
	}
	s.leave()
}

// draw is a number by which a [Ring] chooses its sample: uniform, and another one for each session.
func (s *Session) draw() uint64 { return binary.LittleEndian.Uint64(s.id[:8]) }

// forget lets go of what the worker has taken; later spans find their way to nothing.
func (s *Session) forget() {
	s.unwanted = true
	if s.kept != nil {
		s.kept.taken, s.kept.first[0] = nil, nil
	}
	s.lost.Store(true)
}

// rootName is the name of the session's root as it is now, or the one given to StartSession.
func (s *Session) rootName() string {
	if s.root != nil {
		return s.root.Name()
	}
	return s.given.name
}

// renew makes id a new one. It writes in place: a processor waits to copy what it has just written
// in halves.
func (id *SessionID) renew() {
	binary.LittleEndian.PutUint64(id[:8], rand.Uint64())
	binary.LittleEndian.PutUint64(id[8:], rand.Uint64()|1) // never zero
}
