package main

import (
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
	"github.com/otelprof/otelprof/spans"
)

// books are what requests were delayed by, beside what they may be.
type books struct {
	mu       sync.Mutex
	plans    []limited
	of       map[trace.TraceID]time.Duration // what open requests were delayed by
	requests tally                           // the worst is the one that is most above its limit
	streams  tally
	health   tally
	idle     tally
	at       map[net.Conn]lap
	late     func() lateness
}

// A lap is what the goroutine of a connection had been delayed by, and all delays had been too long
// by, when its state changed last.
type lap struct {
	spent time.Duration
	late  lateness
}

// A lateness is by how much all delays until now were longer than they were to be: those of the
// scheduler, which also knows it for each request, and delays of the controller, at ends of spans.
type lateness struct{ scheduled, controlled time.Duration }

func (l lateness) sum() time.Duration { return l.scheduled + l.controlled }

// limited is a plan and when it began.
type limited struct {
	at       time.Time
	perTrace time.Duration
}

// A tally is what was seen of one claim.
type tally struct {
	seen, broken int
	worst, of    time.Duration // the largest, and what it may be
}

func (c *tally) see(spent, limit time.Duration) {
	c.seen++
	if c.seen == 1 || spent-limit > c.worst-c.of {
		c.worst, c.of = spent, limit
	}
	if spent > limit {
		c.broken++
	}
}

func newBooks(late func() lateness) *books {
	return &books{of: map[trace.TraceID]time.Duration{}, at: map[net.Conn]lap{}, late: late}
}

// begins notes a plan.
func (b *books) begins(p *plan.Plan) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.plans = append(b.plans, limited{time.Now(), time.Duration(p.Limits.PerTrace)})
}

// limit is the largest per_trace since a time, b.mu held.
func (b *books) limit(since time.Time) (most time.Duration) {
	for _, p := range slices.Backward(b.plans) {
		most = max(most, p.perTrace)
		if p.at.Before(since) {
			break
		}
	}
	return most
}

type keptRegion struct {
	http.ResponseWriter
	region *spans.Span
	own    time.Duration // what of the scheduler's delays of the request was too long when its handler returned
	then   lateness
}

// Unwrap is for http.ResponseController.
func (k *keptRegion) Unwrap() http.ResponseWriter { return k.ResponseWriter }

// within notes the span that a request is answered in by f, and by how much its delays were too
// long then.
func (b *books) within(w http.ResponseWriter, r *http.Request, f func()) {
	for inner := w; ; {
		if k, ok := inner.(*keptRegion); ok {
			k.region = regionOf(r.Context())
			f()
			k.own, k.then = sched.LateHere(), b.late()
			return
		}
		u, ok := inner.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			f()
			return
		}
		inner = u.Unwrap()
	}
}

// around books what a request was delayed by when its span has ended.
func (b *books) around(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kept := &keptRegion{ResponseWriter: w}
		began, late := time.Now(), b.late()
		top := r.Header.Get("Traceparent") == ""
		h.ServeHTTP(kept, r)
		if kept.region == nil {
			return
		}
		now := b.late()
		own := kept.own + now.scheduled - kept.then.scheduled + now.controlled - late.controlled
		b.answered(kept.region, r.URL.Path, top, began, own)
	})
}

func (b *books) answered(r *spans.Span, path string, top bool, began time.Time, late time.Duration) {
	defer sched.Exempt()()
	b.mu.Lock()
	defer b.mu.Unlock()
	id := r.SpanContext().TraceID()
	spent := b.of[id] + r.Session().Delay()
	if !top {
		b.of[id] = spent
		return // the request that asked for this one goes on
	}
	delete(b.of, id)
	limit := b.limit(began) + time.Millisecond + max(0, late)
	switch {
	case strings.HasSuffix(path, "/healthz"):
		b.health.see(spent, 0)
	case strings.HasSuffix(path, "/stream"):
		b.streams.see(spent, limit)
	default:
		b.requests.see(spent, limit)
	}
}

// connection is called on the goroutine of a connection: when it has read a request, and when it
// has answered.
func (b *books) connection(c net.Conn, state http.ConnState) {
	if !sched.Present {
		return
	}
	_, now := sched.Books() // of the experiment in force
	defer sched.Exempt()()  // the test's own locks delay no goroutine
	late := b.late()
	b.mu.Lock()
	defer b.mu.Unlock()
	last := b.at[c]
	spent := now - last.spent
	if now < last.spent {
		spent = now // another experiment
	}
	switch b.at[c] = (lap{now, late}); state {
	case http.StateActive:
		b.idle.see(spent, 0)
	case http.StateIdle:
		b.requests.see(spent, b.limit(time.Now().Add(-time.Second))+time.Millisecond+max(0, late.sum()-last.late.sum()))
	case http.StateClosed, http.StateHijacked:
		delete(b.at, c)
	}
}
