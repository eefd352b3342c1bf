package otlpjson

import (
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/trace"
)

// Logs are records by resource and scope.
type Logs struct {
	ResourceLogs []*ResourceLogs `json:"resourceLogs"`
}

// ResourceLogs are those of one resource.
type ResourceLogs struct {
	Resource  Resource     `json:"resource"`
	ScopeLogs []*ScopeLogs `json:"scopeLogs"`
	SchemaURL string       `json:"schemaUrl,omitempty"`
}

// NewScope begins the records of a scope.
func (rl *ResourceLogs) NewScope(scope instrumentation.Scope) *ScopeLogs {
	sl := &ScopeLogs{Scope: ScopeOf(scope), SchemaURL: scope.SchemaURL}
	rl.ScopeLogs = append(rl.ScopeLogs, sl)
	return sl
}

// ScopeLogs are those of one scope.
type ScopeLogs struct {
	Scope     Scope       `json:"scope"`
	Records   []LogRecord `json:"logRecords"`
	SchemaURL string      `json:"schemaUrl,omitempty"`
}

// A LogRecord is a record.
type LogRecord struct {
	Time              uint64        `json:"timeUnixNano,omitempty,string"`
	ObservedTime      uint64        `json:"observedTimeUnixNano,omitempty,string"`
	Severity          int           `json:"severityNumber,omitempty"` // the numbers of log.Severity
	SeverityText      string        `json:"severityText,omitempty"`
	Body              Value         `json:"body,omitzero"`
	Attributes        []KeyValue    `json:"attributes,omitempty"`
	DroppedAttributes uint32        `json:"droppedAttributesCount,omitempty"`
	Flags             uint32        `json:"flags,omitempty"`
	TraceID           trace.TraceID `json:"traceId,omitzero"`
	SpanID            trace.SpanID  `json:"spanId,omitzero"`
	EventName         string        `json:"eventName,omitempty"`
}
