package otlpfile

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/otelprof/otelprof/internal/otlpjson"
)

// logsOf groups records by resource and scope, in the order of their first record.
func logsOf(records []sdklog.Record) *otlpjson.Logs {
	out := &otlpjson.Logs{}
	g := newGrouping(func(r *resource.Resource) *otlpjson.ResourceLogs {
		rl := &otlpjson.ResourceLogs{Resource: resourceOf(r), SchemaURL: r.SchemaURL()}
		out.ResourceLogs = append(out.ResourceLogs, rl)
		return rl
	}, func(rl *otlpjson.ResourceLogs, scope instrumentation.Scope) *otlpjson.ScopeLogs {
		sl := &otlpjson.ScopeLogs{Scope: otlpjson.ScopeOf(scope), SchemaURL: scope.SchemaURL}
		rl.ScopeLogs = append(rl.ScopeLogs, sl)
		return sl
	})
	for i := range records {
		r := &records[i]
		sl := g.of(r.Resource(), r.InstrumentationScope())
		sl.Records = append(sl.Records, recordOf(r))
	}
	return out
}

func recordOf(r *sdklog.Record) otlpjson.LogRecord {
	attributes := make([]attribute.KeyValue, 0, r.AttributesLen())
	r.WalkAttributes(func(kv attribute.KeyValue) bool {
		attributes = append(attributes, kv)
		return true
	})
	return otlpjson.LogRecord{
		Time:              otlpjson.Nanos(r.Timestamp()),
		ObservedTime:      otlpjson.Nanos(r.ObservedTimestamp()),
		EventName:         r.EventName(),
		Severity:          int(r.Severity()),
		SeverityText:      r.SeverityText(),
		Body:              otlpjson.ValueOf(r.Body()),
		Attributes:        otlpjson.Attributes(attributes),
		DroppedAttributes: count32(r.DroppedAttributes()),
		TraceID:           r.TraceID(),
		SpanID:            r.SpanID(),
		Flags:             uint32(r.TraceFlags()),
	}
}
