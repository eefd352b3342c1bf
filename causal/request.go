package causal

import (
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/internal/runtimemode/sched"
	"github.com/otelprof/otelprof/spans"
)

// A request is what a local root span and everything below it do in this process, on any goroutine. Where the process
// calls itself, the root that answers is below the span that called, and no request of its own. What a request is delayed by
// is one sum, and if its root is a health check nothing below is delayed.
type request struct {
	root   *spans.Span
	exempt bool
	sched  sched.Request
	open   atomic.Int64 // spans
}

// A membership joins a span to the request that it works for. Spans on the goroutine of the one that began to work there share one.
type membership struct {
	*request
	by     *spans.Span
	caller *spans.Span // in this process, of a local root that answers it
	on     sched.Goroutine
	before sched.Request
}

// membershipOf returns the membership for which a span works, nil if its root is older than the plan.
func membershipOf(r *spans.Span) *membership {
	for ; r != nil; r = r.Parent() {
		if m := live.membership().Get(r); m != nil {
			return m
		}
	}
	return nil
}

// traceOf is what the regions of one trace have in common: its session, or else its local root. Where the process calls
// itself, that is the first of them.
func traceOf(r *spans.Span) any {
	r = topOf(r)
	if s := r.Session(); s != nil {
		return s
	}
	return rootOf(r)
}

// topOf is the first of the local roots that a region is below.
func topOf(r *spans.Span) *spans.Span {
	if m := membershipOf(r); m != nil {
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

// delayed is how much was inserted so far in the trace of r. Where no session adds it up, the
// spans above know what was inserted below them.
func delayed(r *spans.Span) (sum time.Duration) {
	if s := r.Session(); s != nil {
		return s.Delay()
	}
	for ; r != nil; r = r.Parent() {
		sum += r.Delay()
	}
	return sum
}

// startMember has the span work for its request, which is another one if the span is a health check.
func (c *Controller) startMember(r *spans.Span) {
	if client(r) {
		live.calls.add(r)
	}
	root := r.Parent() == nil
	if !root && !sched.Present {
		return
	}
	var caller *spans.Span
	if root {
		caller = live.calls.find(r.RemoteParent())
	}
	m := membershipOf(r.Parent())
	if caller != nil {
		live.answered.Add(1)
		m = membershipOf(caller)
	}
	switch {
	case m == nil && !root:
		return // begun before the plan
	case (m == nil || !m.exempt) && c.exemptsNow(r):
		m = newMembership(r, true)
	case m == nil:
		m = newMembership(r, false)
	}
	m.open.Add(1)
	before := m.sched.Join(caller != nil)
	if root || before != m.sched {
		m = &membership{request: m.request, by: r, caller: caller, on: sched.Here(), before: before}
	}
	live.membership().Set(r, m)
}

func newMembership(r *spans.Span, exempt bool) *membership {
	return &membership{request: &request{root: r, exempt: exempt, sched: sched.Open(exempt)}}
}

// exemptsNow reports whether nothing below a span that starts may be delayed. Of those below others, which are many, only the
// plan in force is asked, which remembers.
func (c *Controller) exemptsNow(r *spans.Span) bool {
	if r.Parent() == nil {
		return c.exempts(r)
	}
	run := c.run.Load()
	return run != nil && run.verdict(r).exempt
}

// endMember follows the end of a span.
func endMember(r *spans.Span) {
	if live.calls.known.Load() != 0 && client(r) {
		live.calls.remove(r)
	}
	if !sched.Present && r.Parent() != nil {
		return
	}
	m := live.membership().Get(r)
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

func client(r *spans.Span) bool {
	k := r.Kind()
	return k == trace.SpanKindClient || k == trace.SpanKindProducer
}

// callerOf returns the span of this process that a local root answers, nil if there is none.
func callerOf(r *spans.Span) *spans.Span {
	if r.Parent() != nil {
		return nil
	}
	if m := membershipOf(r); m != nil && m.by == r {
		return m.caller
	}
	return nil
}

// callTable is safe for concurrent use. The zero value is ready.
type callTable struct {
	known  atomic.Int64 // how many there are
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
		t.known.Add(1)
	}
}

func (t *callTable) remove(r *spans.Span) {
	id := r.SpanContext().SpanID()
	s := t.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[id] == r {
		delete(s.of, id)
		t.known.Add(-1)
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
