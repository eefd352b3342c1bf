// Package requests knows which spans work for one request of this process, on any goroutine, also
// where the process calls itself.
package requests

import (
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/internal/runtimemode/sched"
	"github.com/otelprof/otelprof/spans"
)

// A Request is what a local root span and everything below it do in this process, on any goroutine.
// Where the process calls itself, the root that answers is below the span that called, and no
// request of its own. What a request is delayed by is one sum, and if its root is a health check
// nothing below is delayed.
type Request struct {
	root   *spans.Span
	Exempt bool
	sched  sched.Request
	open   atomic.Int64 // spans
}

// A Membership joins a span to the request that it works for. Spans on the goroutine of the one
// that began to work there share one.
type Membership struct {
	*Request
	by     *spans.Span
	caller *spans.Span // in this process, of a local root that answers it
	on     sched.Goroutine
	before sched.Request
}

var (
	// memberships are at hand of spans: of all in programs of "otelprof build", and elsewhere of
	// local roots. A span has few inline slots, so that this one is taken only in programs that
	// have opted in to experiments.
	memberships = sync.OnceValue(spans.NewSlot[Membership])
	// Calls are the open spans that call others.
	Calls callTable
	// Answered is how many calls of itself the process has answered.
	Answered atomic.Uint64
)

func init() {
	if sched.Present {
		memberships()
	}
}

// MembershipOf returns the membership for which a span works, nil if its root is older than the
// plan.
func MembershipOf(r *spans.Span) *Membership {
	for ; r != nil; r = r.Parent() {
		if m := memberships().Get(r); m != nil {
			return m
		}
	}
	return nil
}

// TraceOf is what the regions of one trace have in common: its session, or else its local root.
// Where the process calls itself, that is the first of them.
func TraceOf(r *spans.Span) any {
	r = TopOf(r)
	if s := r.Session(); s != nil {
		return s
	}
	return rootOf(r)
}

// TopOf is the first of the local roots that a region is below.
func TopOf(r *spans.Span) *spans.Span {
	if m := MembershipOf(r); m != nil {
		return m.root
	}
	return rootOf(r)
}

func rootOf(r *spans.Span) *spans.Span {
	for r.Parent() != nil {
		r = r.Parent()
	}
	return r
}

// Delayed is how much was inserted so far in the trace of r. Where no session adds it up, the
// spans above know what was inserted below them.
func Delayed(r *spans.Span) (sum time.Duration) {
	if s := r.Session(); s != nil {
		return s.Delay()
	}
	for ; r != nil; r = r.Parent() {
		sum += r.Delay()
	}
	return sum
}

// Start has the span work for its request, which is another one if the span is exempt, as health
// checks are.
func Start(r *spans.Span, exempt func(*spans.Span) bool) {
	if Client(r) {
		Calls.add(r)
	}
	root := r.Parent() == nil
	if !root && !sched.Present {
		return
	}
	var caller *spans.Span
	if root {
		caller = Calls.find(r.RemoteParent())
	}
	m := MembershipOf(r.Parent())
	if caller != nil {
		Answered.Add(1)
		m = MembershipOf(caller)
	}
	switch {
	case m == nil && !root:
		return // begun before the plan
	case (m == nil || !m.Exempt) && exempt(r):
		m = newMembership(r, true)
	case m == nil:
		m = newMembership(r, false)
	}
	m.open.Add(1)
	before := m.sched.Join(caller != nil)
	if root || before != m.sched {
		m = &Membership{Request: m.Request, by: r, caller: caller, on: sched.Here(), before: before}
	}
	memberships().Set(r, m)
}

func newMembership(r *spans.Span, exempt bool) *Membership {
	return &Membership{Request: &Request{root: r, Exempt: exempt, sched: sched.Open(exempt)}}
}

// End follows the end of a span.
func End(r *spans.Span) {
	if Calls.Known.Load() != 0 && Client(r) {
		Calls.remove(r)
	}
	if !sched.Present && r.Parent() != nil {
		return
	}
	m := memberships().Get(r)
	if m == nil {
		return
	}
	if m.by == r && m.on == sched.Here() {
		m.before.Join(false)
	}
	if m.open.Add(-1) == 0 {
		m.sched.Close()
	}
}

// Client reports whether a span calls others.
func Client(r *spans.Span) bool {
	k := r.Kind()
	return k == trace.SpanKindClient || k == trace.SpanKindProducer
}

// CallerOf returns the span of this process that a local root answers, nil if there is none.
func CallerOf(r *spans.Span) *spans.Span {
	if r.Parent() != nil {
		return nil
	}
	if m := MembershipOf(r); m != nil && m.by == r {
		return m.caller
	}
	return nil
}

// callTable is safe for concurrent use. The zero value is ready.
type callTable struct {
	Known  atomic.Int64 // how many there are
	shards [64]callShard
}

type callShard struct {
	mu sync.Mutex
	of map[trace.SpanID]*spans.Span
}

// mostCalls is how many a shard holds. Those beyond are not known.
const mostCalls = 256

func (t *callTable) shard(id trace.SpanID) *callShard { return &t.shards[id[7]%64] }

func (t *callTable) add(r *spans.Span) {
	id := r.SpanContext().SpanID()
	s := t.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[trace.SpanID]*spans.Span{}
	}
	if id.IsValid() && len(s.of) < mostCalls && s.of[id] == nil {
		s.of[id] = r
		t.Known.Add(1)
	}
}

func (t *callTable) remove(r *spans.Span) {
	id := r.SpanContext().SpanID()
	s := t.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[id] == r {
		delete(s.of, id)
		t.Known.Add(-1)
	}
}

// Clear forgets all calls: some never end, and there is no plan any more.
func (t *callTable) Clear() {
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		t.Known.Add(-int64(len(s.of)))
		s.of = nil
		s.mu.Unlock()
	}
}

// find returns the open span with this ID, nil if there is none here.
func (t *callTable) find(id trace.SpanID) *spans.Span {
	if !id.IsValid() {
		return nil
	}
	s := t.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of[id]
}
