package otlpjson

import (
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/trace"
)

// Traces are spans by resource and scope.
type Traces struct {
	ResourceSpans []*ResourceSpans `json:"resourceSpans"`
}

// ResourceSpans are those of one resource.
type ResourceSpans struct {
	Resource   Resource      `json:"resource"`
	ScopeSpans []*ScopeSpans `json:"scopeSpans"`
	SchemaURL  string        `json:"schemaUrl,omitempty"`
}

// NewScope begins the spans of a scope.
func (rs *ResourceSpans) NewScope(scope instrumentation.Scope) *ScopeSpans {
	ss := &ScopeSpans{Scope: ScopeOf(scope), SchemaURL: scope.SchemaURL}
	rs.ScopeSpans = append(rs.ScopeSpans, ss)
	return ss
}

// ScopeSpans are those of one scope.
type ScopeSpans struct {
	Scope     Scope  `json:"scope"`
	Spans     []Span `json:"spans"`
	SchemaURL string `json:"schemaUrl,omitempty"`
}

// A Span is one that has ended.
type Span struct {
	TraceID           trace.TraceID `json:"traceId,omitzero"`
	SpanID            trace.SpanID  `json:"spanId,omitzero"`
	TraceState        string        `json:"traceState,omitempty"`
	ParentSpanID      trace.SpanID  `json:"parentSpanId,omitzero"`
	Flags             uint32        `json:"flags,omitempty"`
	Name              string        `json:"name,omitempty"`
	Kind              int           `json:"kind,omitempty"` // the numbers of trace.SpanKind
	Start             uint64        `json:"startTimeUnixNano,omitempty,string"`
	End               uint64        `json:"endTimeUnixNano,omitempty,string"`
	Attributes        []KeyValue    `json:"attributes,omitempty"`
	DroppedAttributes uint32        `json:"droppedAttributesCount,omitempty"`
	Events            []Event       `json:"events,omitempty"`
	DroppedEvents     uint32        `json:"droppedEventsCount,omitempty"`
	Links             []Link        `json:"links,omitempty"`
	DroppedLinks      uint32        `json:"droppedLinksCount,omitempty"`
	Status            Status        `json:"status,omitzero"`
}

// An Event is one of a span.
type Event struct {
	Time              uint64     `json:"timeUnixNano,omitempty,string"`
	Name              string     `json:"name,omitempty"`
	Attributes        []KeyValue `json:"attributes,omitempty"`
	DroppedAttributes uint32     `json:"droppedAttributesCount,omitempty"`
}

// A Link leads to another span.
type Link struct {
	TraceID           trace.TraceID `json:"traceId,omitzero"`
	SpanID            trace.SpanID  `json:"spanId,omitzero"`
	TraceState        string        `json:"traceState,omitempty"`
	Attributes        []KeyValue    `json:"attributes,omitempty"`
	DroppedAttributes uint32        `json:"droppedAttributesCount,omitempty"`
	Flags             uint32        `json:"flags,omitempty"`
}

// A Status is a span's outcome.
type Status struct {
	Message string     `json:"message,omitempty"`
	Code    StatusCode `json:"code,omitempty"`
}

// A StatusCode is OTLP's, whose numbers are not those of the SDK.
type StatusCode int

const (
	statusOK    StatusCode = 1
	statusError StatusCode = 2
)

// StatusOf is the SDK's status.
func StatusOf(code codes.Code, message string) Status {
	s := Status{Message: message}
	switch code {
	case codes.Ok:
		s.Code = statusOK
	case codes.Error:
		s.Code = statusError
	}
	return s
}
