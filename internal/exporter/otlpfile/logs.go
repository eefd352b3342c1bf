package otlpfile

import (
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/otelprof/otelprof/internal/otlpattr"
)

// logsOf groups records by resource and scope, in the order of their first record.
func logsOf(records []sdklog.Record) plog.Logs {
	out := plog.NewLogs()
	g := newGrouping(func(r *resource.Resource) plog.ResourceLogs {
		rl := out.ResourceLogs().AppendEmpty()
		putResource(rl.Resource(), r)
		rl.SetSchemaUrl(r.SchemaURL())
		return rl
	}, func(rl plog.ResourceLogs, scope instrumentation.Scope) plog.LogRecordSlice {
		sl := rl.ScopeLogs().AppendEmpty()
		putScope(sl.Scope(), scope)
		sl.SetSchemaUrl(scope.SchemaURL)
		return sl.LogRecords()
	})
	for i := range records {
		r := &records[i]
		putRecord(g.of(r.Resource(), r.InstrumentationScope()).AppendEmpty(), r)
	}
	return out
}

func putRecord(dst plog.LogRecord, r *sdklog.Record) {
	dst.SetTimestamp(timestamp(r.Timestamp()))
	dst.SetObservedTimestamp(timestamp(r.ObservedTimestamp()))
	dst.SetEventName(otlpattr.UTF8(r.EventName()))
	dst.SetSeverityNumber(plog.SeverityNumber(r.Severity())) // the same numbers
	dst.SetSeverityText(otlpattr.UTF8(r.SeverityText()))
	otlpattr.PutValue(dst.Body(), r.Body())
	attributes := make([]attribute.KeyValue, 0, r.AttributesLen())
	r.WalkAttributes(func(kv attribute.KeyValue) bool {
		attributes = append(attributes, kv)
		return true
	})
	otlpattr.Put(dst.Attributes(), attributes)
	dst.SetDroppedAttributesCount(count32(r.DroppedAttributes()))
	dst.SetTraceID([16]byte(r.TraceID()))
	dst.SetSpanID([8]byte(r.SpanID()))
	dst.SetFlags(plog.LogRecordFlags(r.TraceFlags()))
}
