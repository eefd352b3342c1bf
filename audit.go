package otelprof

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	otellog "go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/internal/naming"
)

// An audit gives what happens to plans to OpenTelemetry: each event is a log record, and an
// event of a span that lasts from the plan's arrival to its end. The spans do not come from
// the wrapped provider: they are no regions.
type audit struct {
	logger otellog.Logger
	tracer trace.Tracer
	spans  map[string]trace.Span // of plans that have not ended, by hash
}

func newAudit(logs *sdklog.LoggerProvider, traces trace.TracerProvider) *audit {
	return &audit{logs.Logger(naming.CausalScope), traces.Tracer(naming.CausalScope), map[string]trace.Span{}}
}

// take takes one event after the other.
func (a *audit) take(e causal.AuditEvent) {
	attributes := e.Attributes()
	span := a.span(e)
	ctx := trace.ContextWithSpan(context.Background(), span)

	var r otellog.Record
	r.SetEventName(naming.PlanEvent)
	r.SetTimestamp(e.Time)
	r.SetSeverity(severity(e.Level()))
	r.SetSeverityText(e.Level().String())
	r.SetBody(attribute.StringValue(sentence(e)))
	r.AddAttributes(attributes...)
	a.logger.Emit(ctx, r)

	span.AddEvent(naming.PlanEvent, trace.WithTimestamp(e.Time), trace.WithAttributes(attributes...))
	if e.Level() >= slog.LevelWarn {
		span.SetStatus(codes.Error, e.Message)
	}
	if ends(e.Kind) {
		span.SetAttributes(attributes...)
		span.End(trace.WithTimestamp(e.Time))
		delete(a.spans, e.PlanHash)
	}
}

// span returns the one of the event's plan. A document that is no plan has one for itself.
func (a *audit) span(e causal.AuditEvent) trace.Span {
	if s, ok := a.spans[e.PlanHash]; ok {
		return s
	}
	_, s := a.tracer.Start(context.Background(), naming.PlanEvent,
		trace.WithTimestamp(e.Time), trace.WithAttributes(e.Attributes()...))
	if !ends(e.Kind) {
		a.spans[e.PlanHash] = s
	}
	return s
}

func ends(k causal.AuditKind) bool {
	switch k {
	case causal.AuditReceived, causal.AuditStarted, causal.AuditPanicked:
		return false
	}
	return true
}

func severity(l slog.Level) otellog.Severity {
	switch {
	case l >= slog.LevelError:
		return otellog.SeverityError
	case l >= slog.LevelWarn:
		return otellog.SeverityWarn
	}
	return otellog.SeverityInfo
}

// sentence is an event for people.
func sentence(e causal.AuditEvent) string {
	s := "causal plan " + string(e.Kind)
	if e.PlanID != "" {
		s = "causal plan " + e.PlanID + " " + string(e.Kind)
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	return s
}
