package otlpfile

import (
	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/otelprof/otelprof/internal/otlpjson"
)

// logsOf groups records by resource and scope, in the order of their first record.
func logsOf(records []sdklog.Record) *otlpjson.Logs {
	out := &otlpjson.Logs{}
	g := otlpjson.NewGrouping[attribute.Distinct]((*otlpjson.ResourceLogs).NewScope)
	for i := range records {
		r := &records[i]
		sl := g.Of(r.Resource().Equivalent(), r.InstrumentationScope(), func() *otlpjson.ResourceLogs {
			rl := &otlpjson.ResourceLogs{Resource: resourceOf(r.Resource()), SchemaURL: r.Resource().SchemaURL()}
			out.ResourceLogs = append(out.ResourceLogs, rl)
			return rl
		})
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
