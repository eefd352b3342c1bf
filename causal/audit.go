package causal

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/internal/asynclog"
	"github.com/otelprof/otelprof/internal/naming"
)

// An AuditKind is what happened to a plan: one of the constants or, of a plan that was started and
// has ended, the [State] that it leaves, as in AuditKind(StateStopped).
type AuditKind string

// What happens to a plan before it ends.
const (
	AuditReceived AuditKind = "received" // a source has brought it
	AuditRejected AuditKind = "rejected" // it is not valid, or may not be put in force
	AuditIgnored  AuditKind = "ignored"  // it is for other processes
	AuditStarted  AuditKind = "started"  // it is in force; delays follow in its window
	AuditPanicked AuditKind = "panicked" // otelprof's own code did; the application goes on
)

// An AuditEvent is one thing that happened to a plan, and where the plan came from. What is not
// known is empty: a document that is not a plan has no id. As a log record or a span's event it has
// the name otelprof.causal.plan.
type AuditEvent struct {
	Time time.Time `json:"time"`
	Kind AuditKind `json:"kind"`
	// PlanID, Generation, PlanHash, Author and PlanReason are the plan's own.
	PlanID     string `json:"plan_id,omitempty"`
	Generation uint64 `json:"generation,omitempty"`
	PlanHash   string `json:"plan_hash,omitempty"`
	Author     string `json:"author,omitempty"`
	PlanReason string `json:"plan_reason,omitempty"`
	// Source is where it came from, see [Source].
	Source string `json:"source,omitempty"`
	// Spent is the sum of the delays that were inserted under the plan.
	Spent time.Duration `json:"spent_ns,omitempty"`
	// Message is why, in plain words.
	Message string `json:"message,omitempty"`

	stack string // of a panic
}

// The keys of an event's attributes that no other package has.
const (
	planIDKey         = attribute.Key("otelprof.causal.plan_id")
	planGenerationKey = attribute.Key("otelprof.causal.plan_generation")
	planAuthorKey     = attribute.Key("otelprof.causal.plan_author")
	planReasonKey     = attribute.Key("otelprof.causal.plan_reason")
	planSourceKey     = attribute.Key("otelprof.causal.plan_source")
	planSpentKey      = attribute.Key("otelprof.causal.plan_spent") // s
	planMessageKey    = attribute.Key("otelprof.causal.plan_message")
)

// Attributes returns what is known, for an OpenTelemetry log record or an event of a span.
func (e AuditEvent) Attributes() []attribute.KeyValue {
	kv := []attribute.KeyValue{naming.PlanEventKindKey.String(string(e.Kind))}
	for _, text := range []attribute.KeyValue{
		planIDKey.String(e.PlanID), naming.PlanHashKey.String(e.PlanHash), planAuthorKey.String(e.Author),
		planReasonKey.String(e.PlanReason), planSourceKey.String(e.Source), planMessageKey.String(e.Message),
	} {
		if text.Value.AsString() != "" {
			kv = append(kv, text)
		}
	}
	if e.Generation > 0 {
		kv = append(kv, planGenerationKey.Int64(int64(min(e.Generation, math.MaxInt64))))
	}
	if e.Spent > 0 {
		kv = append(kv, planSpentKey.Float64(e.Spent.Seconds()))
	}
	return kv
}

// Level is the log level of the event: a panic is an error; a plan that is rejected or
// aborted a warning.
func (e AuditEvent) Level() slog.Level {
	switch e.Kind {
	case AuditPanicked:
		return slog.LevelError
	case AuditRejected, AuditKind(StateAborted):
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// line is the event as a record of package slog.
func (e AuditEvent) line() (message string, attrs []slog.Attr) {
	source := slog.String("source", e.Source)
	about := []slog.Attr{
		slog.String("id", e.PlanID), slog.Uint64("generation", e.Generation), slog.String("hash", e.PlanHash),
		slog.String("author", e.Author), slog.String("plan_reason", e.PlanReason), source,
	}
	if e.PlanID == "" { // what came was no plan
		about = []slog.Attr{source}
	}
	switch e.Kind {
	case AuditReceived, AuditStarted:
		return "causal: plan " + string(e.Kind), about
	case AuditIgnored:
		return "causal: plan ignored", append(about, slog.String("reason", e.Message))
	case AuditRejected:
		return "causal: plan rejected", append(about, slog.String("error", e.Message))
	case AuditPanicked:
		return "causal: panic", append(about, slog.String("value", e.Message), slog.String("stack", e.stack))
	}
	return "causal: plan ended", append(about,
		slog.String("state", string(e.Kind)), slog.String("reason", e.Message), slog.Duration("spent", e.Spent))
}

const (
	// keptEvents is how many events a status has.
	keptEvents = 32
	// longestMessage is what is kept of one, in bytes: a document can be wrong in many places.
	longestMessage = 2000
	// queuedEvents bounds the events that wait for listeners.
	queuedEvents = 256
)

// An audit keeps the latest events and logs them, see [asynclog.Queue]: neither a controller nor
// the application ever waits for a log.
type audit struct {
	tell  []func(AuditEvent)
	queue *asynclog.Queue[AuditEvent]

	mu      sync.Mutex
	recent  []AuditEvent
	dropped uint64
	sources []SourceStatus // by name
}

func newAudit(log *slog.Logger, tell []func(AuditEvent)) *audit {
	write := func(e AuditEvent) {
		message, attrs := e.line()
		log.LogAttrs(context.Background(), e.Level(), message, attrs...)
	}
	a := &audit{tell: append([]func(AuditEvent){write}, tell...)}
	a.queue = asynclog.NewQueue(queuedEvents, a.deliver)
	return a
}

// add books an event that happens now.
func (a *audit) add(e AuditEvent) {
	e.Time = time.Now()
	e.Message = naming.Cut(e.Message, longestMessage)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.recent = append(a.recent, e)
	a.recent = a.recent[max(0, len(a.recent)-keptEvents):]
	if !a.queue.Put(e) {
		a.dropped++
	}
}

func (a *audit) deliver(e AuditEvent) {
	for _, tell := range a.tell {
		a.call(tell, e)
	}
}

// call delivers one event to one listener. If the listener panics, the event counts as dropped.
func (a *audit) call(tell func(AuditEvent), e AuditEvent) {
	defer func() {
		if recover() != nil {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.dropped++
		}
	}()
	tell(e)
}

// wait waits until all events have been delivered, d at most.
func (a *audit) wait(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	a.queue.Wait(ctx)
}

// latest returns the latest events, the oldest first, how many were dropped, and the sources that
// have been heard of.
func (a *audit) latest() (events []AuditEvent, dropped uint64, sources []SourceStatus) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.recent), a.dropped, slices.Clone(a.sources)
}

// A SourceStatus is whether a source of plans answers, and why not.
type SourceStatus struct {
	Name string `json:"name"`
	// Answered is when it answered last, zero if it never has.
	Answered time.Time `json:"answered,omitzero"`
	// Error is why it did not answer last, cut off at 256 bytes, "" if it did.
	Error string `json:"error,omitempty"`
	// Missed counts the polls in a row that were not answered; the first of them was at Since.
	Missed uint64    `json:"missed,omitempty"`
	Since  time.Time `json:"since,omitzero"`
}

const (
	// maxSources bounds those in a status; a program has three as a rule.
	maxSources = 16
	// longestError bounds what a source says of itself, in bytes.
	longestError = 256
)

// Heard is for sources: one has answered, or it has not, for the reason err. It is for
// [Status] only; see [Controller.Renew] for the lease.
func (c *Controller) Heard(a Source, err error) { c.audit.heard(a.Name, err, time.Now()) }

func (a *audit) heard(name string, err error, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, known := slices.BinarySearchFunc(a.sources, name, func(s SourceStatus, name string) int { return strings.Compare(s.Name, name) })
	if !known {
		if len(a.sources) >= maxSources {
			return
		}
		a.sources = slices.Insert(a.sources, at, SourceStatus{Name: name})
	}
	s := &a.sources[at]
	if err == nil {
		*s = SourceStatus{Name: name, Answered: now}
		return
	}
	if s.Missed++; s.Missed == 1 {
		s.Since = now
	}
	s.Error = naming.Cut(err.Error(), longestError)
}

// panicked books a panic, with the stack as far as it has room in a log.
func (a *audit) panicked(p *plan.Plan, value any) {
	stack := make([]byte, 4096)
	e := about(p, "", AuditPanicked, fmt.Sprint(value))
	e.stack = string(stack[:runtime.Stack(stack, false)])
	a.add(e)
}

// about is an event of a plan, nil if there is none.
func about(p *plan.Plan, source string, kind AuditKind, message string) AuditEvent {
	e := AuditEvent{Kind: kind, Source: source, Message: message}
	if p != nil {
		e.PlanID, e.Generation, e.PlanHash, e.Author, e.PlanReason = p.ID, p.Generation, p.Hash(), p.Author, p.Reason
	}
	return e
}
