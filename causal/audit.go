package causal

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
)

// An AuditKind is what happened to a plan.
type AuditKind string

// The kinds of an [AuditEvent]. Each plan that is started ends by one of the last four, which
// are named as the state that it leaves.
const (
	AuditReceived AuditKind = "received" // a source has brought it
	AuditRejected AuditKind = "rejected" // it is not valid, or may not be put in force
	AuditIgnored  AuditKind = "ignored"  // it is for other processes
	AuditStarted  AuditKind = "started"  // it is in force; delays follow in its window
	AuditPanicked AuditKind = "panicked" // our own code did; the application goes on
	AuditStopped  AuditKind = AuditKind(StateStopped)
	AuditExpired  AuditKind = AuditKind(StateExpired)
	AuditSpent    AuditKind = AuditKind(StateSpent)
	AuditAborted  AuditKind = AuditKind(StateAborted)
)

// An AuditEvent is one thing that happened to a plan, and who had asked for it. What is not known
// is empty: a document that is not a plan has no id.
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

// AuditName is the name of an [AuditEvent] as a log record, or as an event of a span.
const AuditName = "otelprof.causal.plan"

// The keys of an event's attributes, besides [PlanHashKey].
const (
	AuditKindKey      = attribute.Key("otelprof.causal.plan_event")
	PlanIDKey         = attribute.Key("otelprof.causal.plan_id")
	PlanGenerationKey = attribute.Key("otelprof.causal.plan_generation")
	PlanAuthorKey     = attribute.Key("otelprof.causal.plan_author")
	PlanReasonKey     = attribute.Key("otelprof.causal.plan_reason")
	PlanSourceKey     = attribute.Key("otelprof.causal.plan_source")
	PlanSpentKey      = attribute.Key("otelprof.causal.plan_spent") // s
	PlanMessageKey    = attribute.Key("otelprof.causal.plan_message")
)

// Attributes returns what is known, for an OpenTelemetry log record or an event of a span.
func (e AuditEvent) Attributes() []attribute.KeyValue {
	kv := []attribute.KeyValue{AuditKindKey.String(string(e.Kind))}
	for _, text := range []attribute.KeyValue{
		PlanIDKey.String(e.PlanID), PlanHashKey.String(e.PlanHash), PlanAuthorKey.String(e.Author),
		PlanReasonKey.String(e.PlanReason), PlanSourceKey.String(e.Source), PlanMessageKey.String(e.Message),
	} {
		if text.Value.AsString() != "" {
			kv = append(kv, text)
		}
	}
	if e.Generation > 0 {
		kv = append(kv, PlanGenerationKey.Int64(int64(e.Generation)))
	}
	if e.Spent > 0 {
		kv = append(kv, PlanSpentKey.Float64(e.Spent.Seconds()))
	}
	return kv
}

// Level is how much attention the event wants: a panic is an error; a plan that is rejected or
// aborted a warning.
func (e AuditEvent) Level() slog.Level {
	switch e.Kind {
	case AuditPanicked:
		return slog.LevelError
	case AuditRejected, AuditAborted:
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
	switch e.Kind {
	case AuditReceived, AuditStarted:
		return "causal: plan " + string(e.Kind), about
	case AuditIgnored:
		return "causal: plan ignored", append(about, slog.String("reason", e.Message))
	case AuditRejected:
		return "causal: plan rejected", []slog.Attr{source, slog.String("error", e.Message)}
	case AuditPanicked:
		return "causal: panic", []slog.Attr{slog.String("value", e.Message), slog.String("stack", e.stack)}
	}
	return "causal: plan ended", append(about,
		slog.String("state", string(e.Kind)), slog.String("reason", e.Message), slog.Duration("spent", e.Spent))
}

const (
	// keptEvents is how many events a status has.
	keptEvents = 32
	// longestMessage is what is kept of one, in bytes: a document can be wrong in many places.
	longestMessage = 2000
	// queuedEvents is how many wait for those who are told.
	queuedEvents = 256
)

// An audit keeps the latest events and tells them, in their order, on a goroutine of its own
// that lives only while there are any: neither a controller nor the application ever waits
// for a log.
type audit struct {
	tell []func(AuditEvent)

	mu      sync.Mutex
	recent  []AuditEvent
	queue   []AuditEvent
	dropped uint64
	sources []SourceStatus // by name
	told    chan struct{}  // closed when the queue is empty; nil if it is
}

func newAudit(log *slog.Logger, tell []func(AuditEvent)) *audit {
	write := func(e AuditEvent) {
		message, attrs := e.line()
		log.LogAttrs(context.Background(), e.Level(), message, attrs...)
	}
	return &audit{tell: append([]func(AuditEvent){write}, tell...)}
}

// add books an event that happens now.
func (a *audit) add(e AuditEvent) {
	e.Time = time.Now()
	e.Message = cut(e.Message, longestMessage)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.recent = append(a.recent, e)
	a.recent = a.recent[max(0, len(a.recent)-keptEvents):]
	if len(a.queue) == queuedEvents {
		a.dropped++
		return
	}
	a.queue = append(a.queue, e)
	if a.told == nil {
		a.told = make(chan struct{})
		go a.deliver()
	}
}

// cut bounds a text, in bytes.
func cut(text string, atMost int) string {
	if len(text) <= atMost {
		return text
	}
	return strings.ToValidUTF8(text[:atMost], "") + " …"
}

func (a *audit) deliver() {
	for {
		e, ok := a.next()
		if !ok {
			return
		}
		for _, tell := range a.tell {
			a.call(tell, e)
		}
	}
}

func (a *audit) next() (e AuditEvent, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.queue) == 0 {
		close(a.told)
		a.told = nil
		return e, false
	}
	e, a.queue = a.queue[0], a.queue[1:]
	return e, true
}

// call tells one event. Who panics has not got it.
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

// wait waits until all events have been told, d at most.
func (a *audit) wait(d time.Duration) {
	a.mu.Lock()
	told := a.told
	a.mu.Unlock()
	if told == nil {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-told:
	case <-timer.C:
	}
}

// latest returns the latest events, the oldest first, and how many were not told.
func (a *audit) latest() (events []AuditEvent, dropped uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.recent), a.dropped
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
	s.Error = cut(err.Error(), longestError)
}

// followed returns the sources that have been heard of.
func (a *audit) followed() []SourceStatus {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.sources)
}
